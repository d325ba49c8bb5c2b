//! Undoes one change by what is on the disk alone, so that it can be tried again after any crash.
//!
//! Changes of others are never lost: a file that is not as the plan left it stays, and the answer names it. Only
//! the original is restored: a regular file with exactly its content.

use rustix::{fs::RenameFlags, io::Errno};

use crate::{
    plan::files::{Attributes, Dir, Facts, FileError, Kind, Root, there},
    task::{Bounds, RelPath},
};

use super::{
    content::{held, is_between, is_original, is_result, own, still, with_content},
    entry::{Entry, Post, Pre, Way},
    stage::hash,
};

/// The message if neither the slot nor the backup can be put back.
const NOTHING: &str = "nothing was put back";

/// `None`: the file is as it was before the plan. Otherwise it stays, because others have changed it.
type Undone = Option<Conflict>;

/// A change that was not undone, because others have changed the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub(crate) struct Conflict {
    pub(crate) path: RelPath,
    /// For people.
    what: String,
}

impl Conflict {
    /// Whether one of these conflicts is about that file, which may have two paths.
    pub(crate) fn any_at(conflicts: &[Self], path: &RelPath, other: Option<&RelPath>) -> bool {
        let about = |conflict: &Self| conflict.path == *path || Some(&conflict.path) == other;
        conflicts.iter().any(about)
    }

    /// What the record of a plan that was taken back says of one of its changes: something of it was spared.
    pub(super) fn recorded(entry: &Entry, spared: &[RelPath]) -> Option<Self> {
        let kept = entry.kept().filter(|path| spared.contains(path));
        let kept: Vec<&str> = kept.map(RelPath::as_str).collect();
        let what = "it was changed since, and stays as it is; what the plan kept for it stays as";
        (!kept.is_empty()).then(|| conflict(entry.path(), format!("{what} {}", kept.join(" and "))))
    }

    pub(crate) fn told(conflicts: &[Self]) -> String {
        let each: Vec<String> = conflicts.iter().map(Self::to_string).collect();
        each.join("; ")
    }
}

pub(crate) fn undo(root: &Root, entry: &Entry) -> Result<Undone, FileError> {
    let path = entry.path();
    let Some(slot) = entry.slot().or(entry.to()) else {
        return Ok(None);
    };
    let change = Change { root, path, slot };
    match entry {
        Entry::MakeDir { ino, .. } => change.undo_dir(*ino),
        Entry::Create { post, .. } => change.undo_create(post),
        Entry::Modify { pre, post, way, .. } => match way {
            Way::Exchange => change.undo_modify(pre, post),
            Way::InPlace => change.undo_in_place(pre),
        },
        Entry::Delete { pre, .. } | Entry::Rename { pre, .. } => change.undo_move(pre),
        Entry::RemoveDir { .. } => change.undo_remove_dir(),
    }
}

/// What the undoing of a change left that is not as before: attributes that a backup did not have, and what others
/// wrote to the slot or the backup, or put there. It is told from the disk alone, because a recovery that was killed
/// may have put it there itself.
pub(super) fn left(root: &Root, entry: &Entry) -> Result<Undone, FileError> {
    let stays = |what: String| Ok(Some(conflict(entry.path(), what)));
    let (post, pre) = match entry {
        Entry::Create { post, .. } => (Some(post), None),
        Entry::Modify { pre, post, .. } => (Some(post), Some(pre)),
        Entry::Delete { pre, .. } | Entry::Rename { pre, .. } => (None, Some(pre)),
        Entry::MakeDir { .. } | Entry::RemoveDir { .. } => return Ok(None),
    };
    let here = root.look(entry.path())?;
    let copied = pre.is_some_and(|pre| !is(here, pre.facts.ino));
    // A renamed file whose backup was put back, because others have changed it, is still at its new path.
    let slot = entry.slot().or(entry.to().filter(|_| copied));
    for at in slot.into_iter().chain(pre.map(|pre| &pre.backup)) {
        let Some(dir) = held(root, at)? else {
            continue;
        };
        let found = dir.look(at.name())?;
        // The original that others changed in its place has its backup as a second name.
        let known = found.is_none_or(|found| here.is_some_and(|here| found.is_file_of(&here)))
            || pre.map_or(Ok(false), |pre| is_original(root, at, pre))?
            || post
                .map_or(Ok(None), |post| own(&dir, at.name(), post))?
                .is_some();
        if !known {
            return stays(format!(
                "it is as before; what others wrote meanwhile is kept as {at}"
            ));
        }
    }
    let attributes = pre
        .and_then(|pre| pre.attributes.as_ref())
        .filter(|_| copied);
    if attributes.is_some_and(|was| digest(root, entry.path()).is_ok_and(|is| is != *was)) {
        return stays(
            "its content is as before, but not its owner, permissions or extended attributes: it has those of its backup, or others have made it again"
                .to_owned(),
        );
    }
    Ok(None)
}

/// The slot and the backup of a change, without a second name of the file at its path: this would not keep anything,
/// and plans refuse a file with two names.
pub(super) fn apart<'e>(root: &Root, entry: &'e Entry) -> impl Iterator<Item = &'e RelPath> {
    let file = |path: &RelPath| root.look(path).ok().flatten();
    let here = file(entry.path());
    let is_here = move |at: &&RelPath| {
        here.zip(file(at))
            .is_some_and(|(here, at)| at.is_file_of(&here))
    };
    entry.kept().filter(move |at| !is_here(at))
}

fn digest(root: &Root, path: &RelPath) -> Result<String, FileError> {
    let dir = root.parent(path)?;
    let (file, facts) = dir.open(path.name())?;
    Ok(Attributes::of(&dir, path.name(), &file, &facts)?.digest())
}

struct Change<'a> {
    root: &'a Root,
    path: &'a RelPath,
    /// Of a renamed file, its new path.
    slot: &'a RelPath,
}

impl Change<'_> {
    fn undo_dir(&self, ino: u64) -> Result<Undone, FileError> {
        if is(self.root.look(self.slot)?, ino) {
            return Ok(None);
        }
        let now = self.root.look(self.path)?;
        if now.is_none() {
            return Ok(None);
        }
        if !is(now, ino) {
            return self.stays("another directory or file is there; it stays");
        }
        match self.root.parent(self.path)?.remove_dir(self.path.name()) {
            Err(error) if error.errno == Errno::NOTEMPTY => {
                self.stays("the directory contains files of others; it stays")
            }
            removed => removed.map(|()| None),
        }
    }

    fn undo_create(&self, post: &Post) -> Result<Undone, FileError> {
        if self.root.look(self.path)?.is_none() {
            return Ok(None);
        }
        let slot = self.slot;
        let Some(ours) = self.ours(self.path, post)? else {
            if self.ours(slot, post)?.is_some() {
                return Ok(None);
            }
            return self.stays("the created file has been changed since; it stays");
        };
        let (dir, aside) = self.dirs()?;
        match self.root.look(slot)? {
            None => {}
            // A plan that was killed while it gave the file its name has left the other one.
            Some(_) if is_result(&aside, slot.name(), post)? => aside.remove(slot.name())?,
            Some(_) => {
                let what = format!("the created file stays: somebody put something else at {slot}");
                return self.stays(what);
            }
        }
        dir.move_to(self.path.name(), &aside, slot.name())?;
        // A program that wrote to the file after the check has written to the file that was moved to the slot.
        if still(&aside, slot.name(), &ours, &post.sha256)? {
            return Ok(None);
        }
        aside.put_at(slot.name(), &dir, self.path.name())?;
        self.stays("the created file was replaced meanwhile; it stays")
    }

    fn undo_modify(&self, pre: &Pre, post: &Post) -> Result<Undone, FileError> {
        let Some(ours) = self.ours(self.path, post)? else {
            return self.as_before(pre);
        };
        let kept = self.kept(pre)?;
        if kept == Original::Gone {
            return self.differs(pre, NOTHING);
        }
        let (dir, aside) = self.dirs()?;
        let (name, slot) = (self.path.name(), self.slot.name());
        if kept == Original::InBackup {
            // If the slot is empty, the file was replaced by a rename over it.
            if aside.look(slot)?.is_none() {
                return self.put_back(pre, kept);
            }
            let from = self.root.parent(&pre.backup)?;
            match from.exchange(pre.backup.name(), &aside, slot) {
                Err(error) if error.is_unsupported() => return self.put_back(pre, kept),
                exchanged => exchanged?,
            }
        }
        let original = aside.look(slot)?;
        match aside.exchange(slot, &dir, name) {
            Err(error) if error.is_unsupported() => return self.put_back(pre, kept),
            exchanged => exchanged?,
        }
        let out = |facts: &Facts| -> Result<bool, FileError> {
            Ok(aside.look(slot)?.is_some_and(|now| now.same(facts)))
        };
        if !out(&ours)? {
            give_back(&aside, slot, &dir, name, || {
                original.as_ref().map_or(Ok(false), &out)
            })?;
            return self.stays("the changed file was replaced meanwhile; it stays");
        }
        match kept {
            Original::InBackup => self.instead(&pre.backup),
            Original::InSlot | Original::Gone => Ok(None),
        }
    }

    /// Renames the original over the file, where the file system cannot exchange two names.
    fn put_back(&self, pre: &Pre, kept: Original) -> Result<Undone, FileError> {
        let (dir, aside) = self.dirs()?;
        let slot = self.slot.name();
        if kept == Original::InBackup {
            // If there is something in the slot, an undo was killed while it copied the backup.
            let from = self.root.parent(&pre.backup)?;
            from.link_or_copy(pre.backup.name(), &aside, slot)?;
        }
        aside.rename(slot, &dir, self.path.name(), RenameFlags::empty())?;
        Ok(None)
    }

    /// The new content may be written partly or completely. The backup is written over it, and the file gets its
    /// old modification time.
    fn undo_in_place(&self, pre: &Pre) -> Result<Undone, FileError> {
        let (dir, name) = (self.root.parent(self.path)?, self.path.name());
        match dir.look(name)? {
            Some(facts) if facts.ino == pre.facts.ino => {}
            _ => return self.stays("another file is there; it stays"),
        }
        let theirs = || self.stays("the file was changed by somebody else; it stays");
        let whole = |path: &RelPath| self.root.read(path, Bounds::MAX_FILE_BYTES);
        let now = match whole(self.path) {
            Err(error) if error.errno == Errno::FBIG => return theirs(),
            other => other?,
        };
        if hash(&now) != pre.sha256 {
            let (old, new) = (there(whole(&pre.backup))?, there(whole(self.slot))?);
            let Some((old, new)) = old.zip(new) else {
                return theirs();
            };
            if hash(&old) != pre.sha256 {
                let what = format!("its backup {} is not its original; both stay", pre.backup);
                return self.stays(what);
            }
            if !is_between(&now, &old, &new) {
                return theirs();
            }
            dir.overwrite(name, &old)?;
        }
        dir.set_modified(name, pre.facts.mtime)?;
        Ok(None)
    }

    /// Of a file that was moved: into its slot, or to its new path.
    fn undo_move(&self, pre: &Pre) -> Result<Undone, FileError> {
        if self.root.look(self.path)?.is_some() {
            return self.as_before(pre);
        }
        let Some(dir) = there(self.root.parent(self.path))? else {
            return self.differs(pre, "its directory is gone");
        };
        let name = self.path.name();
        let put = match self.kept(pre)? {
            Original::InSlot => {
                let aside = self.root.parent(self.slot)?;
                aside.move_to(self.slot.name(), &dir, name)
            }
            Original::InBackup => {
                let from = self.root.parent(&pre.backup)?;
                from.put_at(pre.backup.name(), &dir, name)
            }
            Original::Gone => return self.differs(pre, NOTHING),
        };
        match put {
            Ok(_) if self.root.look(self.slot)?.is_some() => self.instead(self.slot),
            Err(error) if error.errno == Errno::EXIST => self.as_before(pre),
            Err(error) if error.errno == Errno::XDEV => self.differs(pre, NOTHING),
            put => put.map(|_| None),
        }
    }

    fn undo_remove_dir(&self) -> Result<Undone, FileError> {
        match self.root.look(self.slot)?.map(|facts| facts.kind) {
            None => Ok(None),
            Some(Kind::Dir) if self.root.dir(Some(self.slot))?.list()?.is_empty() => {
                let (dir, aside) = self.dirs()?;
                match aside.move_to(self.slot.name(), &dir, self.path.name()) {
                    Err(error) if error.errno == Errno::EXIST => {
                        self.stays("something else was put there; it stays")
                    }
                    moved => moved.map(|_| None),
                }
            }
            Some(Kind::Dir) => {
                let dir = self.root.parent(self.path)?;
                dir.ensure_dir(self.path.name(), 0o777)?;
                self.stays(format!(
                    "somebody put files into the directory after it was set aside; they are kept in {}",
                    self.slot
                ))
            }
            Some(_) => self.stays(format!(
                "the directory no longer exists; what is at {} is not a directory",
                self.slot
            )),
        }
    }

    /// The directories of the path and of the slot.
    fn dirs(&self) -> Result<(Dir<'_>, Dir<'_>), FileError> {
        Ok((self.root.parent(self.path)?, self.root.parent(self.slot)?))
    }

    /// The file at the path is not the one that the plan put there. It is the original, or others have changed it.
    /// Only the content tells, because file systems give the inode number of a removed file to a new one.
    fn as_before(&self, pre: &Pre) -> Result<Undone, FileError> {
        let fits = |facts: &Facts| (facts.kind, facts.bytes) == (pre.facts.kind, pre.facts.bytes);
        let dir = there(self.root.parent(self.path))?;
        let found = dir.map_or(Ok(None), |dir| {
            with_content(&dir, self.path.name(), &pre.sha256, fits)
        });
        match found? {
            Some(_) => Ok(None),
            None => self.differs(pre, "it was changed since, and stays as it is"),
        }
    }

    /// The conflict of a path that does not have its original; `what` is the reason.
    fn differs(&self, pre: &Pre, what: &str) -> Result<Undone, FileError> {
        let (slot, backup) = (self.slot, &pre.backup);
        let kept = match self.kept(pre)? {
            Original::InSlot => format!("its original is kept as {slot}"),
            Original::InBackup => format!("its original is kept as {backup}"),
            Original::Gone => format!("neither {slot} nor {backup} is its original"),
        };
        self.stays(format!("{what}; {kept}"))
    }

    fn kept(&self, pre: &Pre) -> Result<Original, FileError> {
        Ok(if is_original(self.root, self.slot, pre)? {
            Original::InSlot
        } else if is_original(self.root, &pre.backup, pre)? {
            Original::InBackup
        } else {
            Original::Gone
        })
    }

    /// The file at a path, if it is exactly the file that the plan made.
    fn ours(&self, path: &RelPath, post: &Post) -> Result<Option<Facts>, FileError> {
        let dir = there(self.root.parent(path))?;
        dir.map_or(Ok(None), |dir| own(&dir, path.name(), post))
    }

    /// The backup was restored. The file that somebody had put in the place of the original is kept.
    fn instead(&self, other: &RelPath) -> Result<Undone, FileError> {
        self.stays(format!(
            "it was restored from its backup; the original, which others have changed, is kept as {other}"
        ))
    }

    /// The answer if others have changed the file; `what` says what stays.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "it is what each change answers then"
    )]
    fn stays(&self, what: impl Into<String>) -> Result<Undone, FileError> {
        Ok(Some(conflict(self.path, what)))
    }
}

fn is(facts: Option<Facts>, ino: u64) -> bool {
    facts.is_some_and(|facts| facts.ino == ino)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Original {
    InSlot,
    InBackup,
    /// Neither the slot nor the backup contains the original.
    Gone,
}

/// Puts a file that was taken by mistake back to its path. A file that somebody put there in the meantime is newer
/// and is put back after it, so that the newest stays. `ours` tells whether the slot contains the file that oneact
/// left at the path.
pub(super) fn give_back(
    aside: &Dir<'_>,
    slot: &str,
    dir: &Dir<'_>,
    name: &str,
    ours: impl FnOnce() -> Result<bool, FileError>,
) -> Result<(), FileError> {
    let mut last = aside.look(slot)?;
    aside.exchange(slot, dir, name)?;
    if ours()? {
        return Ok(());
    }
    loop {
        let newer = aside.look(slot)?;
        aside.exchange(slot, dir, name)?;
        let replaced = aside.look(slot)?;
        if replaced
            .zip(last)
            .is_some_and(|(now, then)| now.same(&then))
        {
            return Ok(());
        }
        last = newer;
    }
}

fn conflict(path: &RelPath, what: impl Into<String>) -> Conflict {
    Conflict {
        path: path.clone(),
        what: what.into(),
    }
}
