//! Stages the changes: the new contents are written into slots, and the tree is not changed.

use std::thread;

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::{
    plan::{
        files::{Attributes, Facts, FileError, Inherited, Kept, Kind},
        record::Weakness,
    },
    task::{RelPath, hexadecimal},
};

use super::{
    entry::{Entry, Post, Pre, Way},
    folder::{BackupNames, Folder, Mark},
    journal::{Event, JOURNAL, Journal},
};

/// The entries of a plan, collected while their content is made.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(super) folder: Folder<'a>,
    pub(super) journal: Journal,
    pub(crate) entries: Vec<Entry>,
    /// Slots that were written. They must be on the disk before the first change.
    pub(super) made: Vec<RelPath>,
    pub(super) names: Names,
    /// The changes of the parts before this one, which are made.
    pub(super) earlier: Option<Earlier>,
}

/// The names that were given so far.
#[derive(Debug)]
pub(super) struct Names {
    mount: u64,
    /// How many slots are in the report directory. A rename needs none.
    slots: usize,
    /// How many slots are beside files on other file systems.
    beside: usize,
    backups: BackupNames,
}

/// The changes of earlier parts, with how each was made.
#[derive(Debug)]
pub(super) struct Earlier {
    pub(super) entries: Vec<Entry>,
    pub(super) captures: Vec<Option<Weakness>>,
    pub(super) threads: usize,
}

/// A file as it was read, before anything was changed.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) facts: Facts,
    /// Differs from that of its directory if the file is a mount point.
    pub(crate) mount: u64,
    pub(crate) sha256: String,
    /// The digest of its attributes.
    pub(crate) attributes: String,
}

#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) post: Post,
    pub(crate) facts: Facts,
    pub(crate) kept: Kept,
    pub(crate) way: Way,
}

/// SHA-256 in lower-case hexadecimal (R-001-102).
pub(crate) fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// From this size on, a file is hashed while it is written.
const LARGE: usize = 1 << 20;

/// Does the work, and returns the hash of the bytes as well.
fn hashed_beside<T>(bytes: &[u8], work: impl FnOnce() -> T) -> (T, String) {
    thread::scope(|scope| {
        let is_large = bytes.len() >= LARGE;
        let hashing = is_large.then(|| thread::Builder::new().spawn_scoped(scope, || hash(bytes)));
        let done = work();
        let hashed = hashing.and_then(|thread| thread.ok()?.join().ok());
        (done, hashed.unwrap_or_else(|| hash(bytes)))
    })
}

/// The hash of a symbolic link: that of where it leads, with its digits in reverse. Nobody can make a file that has it.
pub(crate) fn hash_of_link(to: &str) -> String {
    hash(to.as_bytes()).chars().rev().collect()
}

/// Ends a plan before its first change. The journal states this, because on a full disk the answer may not be recorded.
/// If the journal cannot be written either, it is removed. A person must then settle the request.
pub(super) fn end_unchanged(folder: &Folder<'_>, journal: &mut Journal) -> Result<(), FileError> {
    folder.clear(&[])?;
    let stated = journal.record(&folder.dir, &Event::NothingChanged);
    stated.or_else(|_| folder.dir.remove(JOURNAL))
}

impl<'a> Stage<'a> {
    /// `mark` says which run applies the plan. The journal is made first, because nothing is known about a plan
    /// without one.
    pub(crate) fn open(folder: Folder<'a>, mark: &Mark) -> Result<Self, FileError> {
        let journal = Journal::begin(&folder.dir, &mark.operation_id, &mark.sanction)?;
        folder.mark(mark)?;
        folder.make_slots()?;
        let mount = folder.dir.mount()?;
        Ok(Self {
            folder,
            journal,
            entries: Vec::new(),
            made: Vec::new(),
            names: Names {
                mount,
                slots: 0,
                beside: 0,
                backups: BackupNames::default(),
            },
            earlier: None,
        })
    }

    /// Stages a directory that will be made. `mount` is the mount that it will be in.
    pub(crate) fn make_dir(
        &mut self,
        path: RelPath,
        mount: u64,
        inherited: &Inherited,
    ) -> Result<Kept, FileError> {
        let slot = self.slot(&path, mount)?;
        let dir = self.folder.beside(&slot)?;
        dir.make_dir(slot.name(), 0o777)?;
        let kept = inherited.give(&self.folder.root.dir(Some(&slot))?)?;
        let ino = dir.look(slot.name())?.map_or(0, |facts| facts.ino);
        self.entries.push(Entry::MakeDir { path, slot, ino });
        Ok(kept)
    }

    /// Stages the new content of a file. `mount` is that of its directory; a file with another mount is a mount
    /// point.
    pub(crate) fn write(
        &mut self,
        path: RelPath,
        seen: Option<Seen>,
        bytes: &[u8],
        attributes: &Attributes,
        mount: u64,
    ) -> Result<Written, FileError> {
        let way = match &seen {
            Some(seen) if seen.mount != mount => Way::InPlace,
            _ => Way::Exchange,
        };
        let slot = match way {
            Way::Exchange => self.slot(&path, mount)?,
            Way::InPlace => self.own_slot()?,
        };
        let written = self.fill(&slot, bytes, attributes, way)?;
        let post = written.post.clone();
        let entry = match seen {
            None => Entry::Create { path, slot, post },
            Some(seen) => Entry::Modify {
                pre: self.pre(&path, seen)?,
                path,
                slot,
                post,
                way,
            },
        };
        self.entries.push(entry);
        Ok(written)
    }

    /// Stages a new symbolic link.
    pub(crate) fn link(
        &mut self,
        path: RelPath,
        to: &str,
        attributes: &Attributes,
        mount: u64,
    ) -> Result<Written, FileError> {
        let slot = self.slot(&path, mount)?;
        let dir = self.folder.beside(&slot)?;
        dir.make_link(to, slot.name())?;
        attributes.date_link(&dir, slot.name())?;
        let facts = dir.look(slot.name())?;
        let facts = facts.ok_or_else(|| dir.failed("look at", slot.name(), Errno::NOENT))?;
        let post = Post {
            ino: facts.ino,
            bytes: facts.bytes,
            sha256: hash_of_link(to),
            attributes: None,
        };
        let written = Written {
            post: post.clone(),
            facts,
            kept: Kept::new(),
            way: Way::Exchange,
        };
        self.entries.push(Entry::Create { path, slot, post });
        Ok(written)
    }

    pub(crate) fn delete(
        &mut self,
        path: RelPath,
        seen: Seen,
        mount: u64,
    ) -> Result<(), FileError> {
        let slot = self.slot(&path, mount)?;
        let pre = self.pre(&path, seen)?;
        self.entries.push(Entry::Delete { path, slot, pre });
        Ok(())
    }

    pub(crate) fn rename(
        &mut self,
        path: RelPath,
        to: RelPath,
        seen: Seen,
    ) -> Result<(), FileError> {
        let pre = self.pre(&path, seen)?;
        self.entries.push(Entry::Rename { path, to, pre });
        Ok(())
    }

    /// Stages the removal of a directory that will be empty. A directory in another mount is left out: it contains
    /// slots, and would not be empty.
    pub(crate) fn remove_dir(&mut self, path: RelPath) -> Result<(), FileError> {
        let root = self.folder.root;
        let found = root.look(&path)?.map(|facts| facts.kind);
        if found == Some(Kind::Dir) && root.dir(Some(&path))?.mount()? == self.names.mount {
            let slot = self.own_slot()?;
            self.entries.push(Entry::RemoveDir { path, slot });
        }
        Ok(())
    }

    pub(crate) fn abandon(mut self) -> Result<Folder<'a>, FileError> {
        end_unchanged(&self.folder, &mut self.journal)?;
        Ok(self.folder)
    }

    fn slot(&mut self, path: &RelPath, mount: u64) -> Result<RelPath, FileError> {
        if mount == self.names.mount {
            return self.own_slot();
        }
        self.names.beside += 1;
        self.folder.slot_beside(path, self.names.beside)
    }

    fn own_slot(&mut self) -> Result<RelPath, FileError> {
        let slot = self.folder.slot(self.names.slots)?;
        self.names.slots += 1;
        Ok(slot)
    }

    fn fill(
        &mut self,
        slot: &RelPath,
        bytes: &[u8],
        attributes: &Attributes,
        way: Way,
    ) -> Result<Written, FileError> {
        let dir = self.folder.beside(slot)?;
        let (made, sha256) = hashed_beside(bytes, || {
            dir.write_new(slot.name(), bytes, attributes.initial_mode())
        });
        let (file, made) = made?;
        let kept = attributes.give(&dir, slot.name(), &file, &made)?;
        self.made.push(slot.clone());
        let facts = dir.facts_of(slot.name(), &file)?;
        let post = Post {
            ino: facts.ino,
            bytes: facts.bytes,
            sha256,
            attributes: Some(Attributes::of(&dir, slot.name(), &file, &facts)?.digest()),
        };
        Ok(Written {
            post,
            facts,
            kept,
            way,
        })
    }

    fn pre(&mut self, path: &RelPath, seen: Seen) -> Result<Pre, FileError> {
        let backup = self.folder.backup(path, &mut self.names.backups)?;
        Ok(Pre {
            facts: seen.facts,
            sha256: seen.sha256,
            backup,
            attributes: Some(seen.attributes),
        })
    }
}
