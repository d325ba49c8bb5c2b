//! Stages the changes: the new contents are written into slots, and the tree is not changed.

use std::thread;

use jiff::Timestamp;
use rustix::io::Errno;
use uuid::Uuid;

use crate::{
    plan::{
        change::{Change, ChangeKind, DiffSummary, Version},
        hash::{hash, hash_of_link},
        planned::{After, Original, Planned},
        record::Run,
    },
    task::RelPath,
    tree::{self, Attributes, Beside, FileError, Inherited, Kept, Weakness},
};

use super::{
    folder::{BackupNames, Folder, Mark},
    journal::{Event, Journal},
};

/// What a plan has until it ends: its report directory, its journal, and what it has changed.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) folder: Folder<'a>,
    pub(super) journal: Journal,
    /// Those of all parts so far, in the order in which they are made.
    pub(super) changes: Vec<Change>,
    /// How many of them are made, and how.
    pub(super) captures: Vec<Option<Weakness>>,
    /// The mount of the report directory.
    mount: u64,
    /// How many slots are in the report directory.
    slots: usize,
    /// The slots beside files on other mounts.
    pub(super) beside: Vec<RelPath>,
    backups: BackupNames,
}

/// The changes of a part, collected while their content is made.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    pub(super) work: Work<'a>,
    pub(crate) changes: Vec<Change>,
    /// Slots that were written. They must be on the disk before the first change.
    pub(super) made: Vec<RelPath>,
    /// The time that written files get; none = the moment at which they are written.
    clock: Option<Timestamp>,
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

impl Work<'_> {
    /// Appends an event that a crash may still lose.
    pub(super) fn append(&mut self, event: &Event) -> Result<(), FileError> {
        self.journal.append(&self.folder.dir, event)
    }

    /// Appends an event, and waits until it is on the disk.
    pub(super) fn record(&mut self, event: &Event) -> Result<(), FileError> {
        self.journal.record(&self.folder.dir, event)
    }
}

impl<'a> Stage<'a> {
    /// `mark` says which run applies the plan. The journal is made first, because nothing is known about a plan
    /// without one.
    pub(crate) fn open(
        folder: Folder<'a>,
        mark: &Mark,
        run: Run,
        clock: Option<Timestamp>,
    ) -> Result<Self, FileError> {
        let journal = Journal::begin(&folder.dir, &mark.operation_id, &mark.sanction, run)?;
        folder.mark(mark)?;
        folder.make_slots()?;
        let work = Work {
            mount: folder.dir.mount()?,
            folder,
            journal,
            changes: Vec::new(),
            captures: Vec::new(),
            slots: 0,
            beside: Vec::new(),
            backups: BackupNames::default(),
        };
        Ok(Self::of(work, clock))
    }

    /// The stage of the next part.
    pub(super) fn of(work: Work<'a>, clock: Option<Timestamp>) -> Self {
        Self {
            work,
            changes: Vec::new(),
            made: Vec::new(),
            clock,
        }
    }

    /// The changes of the parts before this one, which are made.
    pub(crate) fn made_changes(&self) -> &[Change] {
        &self.work.changes
    }

    /// Stages a directory that will be made. `mount` is the mount that it will be in.
    pub(crate) fn make_dir(
        &mut self,
        path: &RelPath,
        mount: u64,
        inherited: &Inherited,
    ) -> Result<(), FileError> {
        let made = |change: &Change| change.kind == ChangeKind::MakeDir && change.path == *path;
        if self.work.changes.iter().chain(&self.changes).any(made) {
            return Ok(());
        }
        let slot = self.slot(path, mount)?;
        let dir = self.work.folder.beside(&slot)?;
        let after = Version {
            facts: inherited.make_dir((&dir, self.beside(&slot)), slot.name())?,
            sha256: String::new(),
            attributes: String::new(),
        };
        let change = Change::of_dir(path.clone(), ChangeKind::MakeDir, slot, Some(after));
        self.changes.push(change);
        Ok(())
    }

    /// Stages the removal of a directory that will be empty. A directory in another mount is left out: it contains
    /// slots, and would not be empty.
    pub(crate) fn remove_dir(&mut self, path: RelPath) -> Result<(), FileError> {
        let root = self.work.folder.root;
        let found = root.look(&path)?.map(|facts| facts.kind);
        if found == Some(tree::FileKind::Dir) && root.dir(Some(&path))?.mount()? == self.work.mount
        {
            let slot = self.own_slot()?;
            let change = Change::of_dir(path, ChangeKind::RemoveDir, slot, None);
            self.changes.push(change);
        }
        Ok(())
    }

    /// Stages the change of a file: its new content is written into its slot; of a file that is renamed, a copy of it.
    pub(crate) fn file(
        &mut self,
        planned: &Planned<'_>,
        diff: DiffSummary,
        checkpoint: Uuid,
    ) -> Result<&Change, FileError> {
        let path = planned.path.clone();
        let slot = self.slot(&path, planned.mount)?;
        let before = planned.before.map(|before| before.version.clone());
        let mut degraded = Kept::new();
        let (kind, after) = match &planned.after {
            After::Written {
                bytes, attributes, ..
            } => {
                let attributes = attributes.clone().stamped(self.clock);
                let (version, lost) = self.fill(&slot, bytes, &attributes)?;
                degraded = lost;
                let kind = before
                    .as_ref()
                    .map_or(ChangeKind::Create, |_| ChangeKind::Modify);
                (kind, Some(version))
            }
            After::Linked { to } => {
                let version = self.fill_link(&slot, to)?;
                (ChangeKind::Create, Some(version))
            }
            After::Deleted => (ChangeKind::Delete, None),
            After::Renamed { to } => {
                if let Some(original) = planned.before {
                    self.keep(&slot, original)?;
                }
                let to = (*to).clone();
                (ChangeKind::Rename { to }, before.clone())
            }
        };
        let backup = before.as_ref();
        let backup = backup.map(|_| self.work.folder.backup(&path, &mut self.work.backups));
        self.changes.push(Change {
            path,
            kind,
            before,
            after,
            slot,
            backup: backup.transpose()?,
            actions: planned.actions.to_vec(),
            checkpoint,
            diff,
            degraded,
            through_link: planned.link.cloned(),
        });
        self.changes
            .last()
            .ok_or_else(|| FileError::of("stage", &planned.path)(Errno::NOENT))
    }

    /// The copy of a file that is renamed, which becomes its backup.
    fn keep(&mut self, slot: &RelPath, original: &Original) -> Result<(), FileError> {
        let facts = &original.version.facts;
        if facts.kind == tree::FileKind::Link {
            let to = String::from_utf8_lossy(&original.bytes);
            return self.work.folder.beside(slot)?.make_link(&to, slot.name());
        }
        let attributes = original.attributes.clone().dated_like(facts);
        match self.fill(slot, &original.bytes, &attributes) {
            // The file of somebody else: its copy is nobody else's.
            Err(error) if error.errno == Errno::PERM => {
                self.work.folder.beside(slot)?.remove(slot.name())?;
                self.fill(slot, &original.bytes, &attributes.private())
                    .map(drop)
            }
            filled => filled.map(drop),
        }
    }

    fn slot(&mut self, path: &RelPath, mount: u64) -> Result<RelPath, FileError> {
        if mount == self.work.mount {
            return self.own_slot();
        }
        let number = self.work.beside.len();
        let slot = self.work.folder.slot_beside(path, number)?;
        // Before it is made, so that it is found after a crash.
        let event = Event::Beside(slot.clone());
        self.work.append(&event)?;
        self.work.beside.push(slot.clone());
        Ok(slot)
    }

    fn beside(&self, slot: &RelPath) -> Beside {
        if self.work.beside.contains(slot) {
            Beside::Files
        } else {
            Beside::Nothing
        }
    }

    fn own_slot(&mut self) -> Result<RelPath, FileError> {
        let slot = self.work.folder.slot(self.work.slots)?;
        self.work.slots += 1;
        Ok(slot)
    }

    fn fill(
        &mut self,
        slot: &RelPath,
        bytes: &[u8],
        attributes: &Attributes,
    ) -> Result<(Version, Kept), FileError> {
        let (dir, beside) = (self.work.folder.beside(slot)?, self.beside(slot));
        let (made, sha256) = hashed_beside(bytes, || {
            attributes.write_new((&dir, beside), slot.name(), bytes)
        });
        let (file, lost) = made?;
        self.made.push(slot.clone());
        let facts = dir.facts_of(slot.name(), &file)?;
        let version = Version {
            sha256,
            attributes: Attributes::of(&dir, slot.name(), &file, &facts)?.digest(),
            facts,
        };
        Ok((version, lost))
    }

    fn fill_link(&self, slot: &RelPath, to: &str) -> Result<Version, FileError> {
        let dir = self.work.folder.beside(slot)?;
        dir.make_link(to, slot.name())?;
        Attributes::default()
            .stamped(self.clock)
            .date_link(&dir, slot.name())?;
        let facts = dir.look(slot.name())?;
        Ok(Version {
            facts: facts.ok_or_else(|| dir.failed("look at", slot.name(), Errno::NOENT))?,
            sha256: hash_of_link(to),
            attributes: String::new(),
        })
    }
}
