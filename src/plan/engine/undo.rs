//! Undoes one change by what is on the disk alone, so that it can be tried again after any crash.
//!
//! Changes of others are never lost: a file that is not as the plan left it stays, and the answer names it. Only
//! the original is restored: a regular file with exactly its content.

use rustix::{fs::RenameFlags, io::Errno};

use crate::{
    plan::change::{Change, ChangeKind, Version},
    task::RelPath,
    tree::{self, Dir, Facts, FileError, Root, there},
};

use super::content::{held, is_original, is_result, own, still, with_content};

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
    /// Whether one of these conflicts is about that change.
    pub(crate) fn any_about(conflicts: &[Self], change: &Change) -> bool {
        let about = |conflict: &Self| change.places().any(|place| *place == conflict.path);
        conflicts.iter().any(about)
    }

    /// What the record of a plan that was taken back says of one of its changes: something of it was spared.
    pub(super) fn recorded(change: &Change, spared: &[RelPath]) -> Option<Self> {
        let kept = change.kept().filter(|path| spared.contains(path));
        let kept: Vec<&str> = kept.map(RelPath::as_str).collect();
        let what = "it was changed since, and stays as it is; what the plan kept for it stays as";
        (!kept.is_empty()).then(|| conflict(&change.path, format!("{what} {}", kept.join(" and "))))
    }

    pub(crate) fn told(conflicts: &[Self]) -> String {
        let each: Vec<String> = conflicts.iter().map(Self::to_string).collect();
        each.join("; ")
    }
}

/// Takes one change back, if it was made.
pub(crate) fn undo(root: &Root, change: &Change) -> Result<Undone, FileError> {
    let path = &change.path;
    let aside = change.new_path().unwrap_or(&change.slot);
    let place = Undoer {
        root,
        change,
        path,
        aside,
    };
    match (&change.kind, &change.before, &change.after) {
        (ChangeKind::MakeDir, _, Some(after)) => place.undo_dir(after.facts.ino),
        (ChangeKind::Create, _, Some(after)) => place.undo_create(after),
        (ChangeKind::Modify, Some(before), Some(after)) => place.undo_modify(before, after),
        (ChangeKind::Delete | ChangeKind::Rename { .. }, Some(before), _) => {
            place.undo_move(before)
        }
        (ChangeKind::RemoveDir, ..) => place.undo_remove_dir(),
        _ => Ok(None),
    }
}

/// What was found beside a change that is undone: something that neither the plan nor the original put there is left alone,
/// because a recovery that was killed may have put it there itself.
pub(super) fn left(root: &Root, change: &Change) -> Result<Undone, FileError> {
    let stays = |what: String| Ok(Some(conflict(&change.path, what)));
    if change.reported().is_none() {
        return Ok(None);
    }
    let here = root.look(&change.path)?;
    let before = change.before.as_ref();
    let copied = before.filter(|before| !is(here, before.facts.ino));
    // A renamed file whose copy was put back, because others have changed it, is still at its new path.
    let renamed = change.new_path().filter(|_| copied.is_some());
    for at in change.kept().chain(renamed) {
        let Some(dir) = held(root, at)? else {
            continue;
        };
        let Some(found) = dir.look(at.name())? else {
            continue;
        };
        let known = here.is_some_and(|here| found.is_file_of(&here))
            || before.map_or(Ok(false), |before| is_original(root, at, before))?
            || change
                .after
                .as_ref()
                .map_or(Ok(None), |after| is_result(&dir, at.name(), after))?
                .is_some();
        if !known {
            return stays(format!(
                "it is as before; what others wrote meanwhile is kept as {at}"
            ));
        }
    }
    let kept = |facts: Facts| (facts.mode, facts.uid, facts.gid);
    if let (Some(before), Some(here)) = (copied, here)
        && kept(before.facts) != kept(here)
    {
        return stays(
            "its content is as before, but not its owner or permissions: it has those of its backup, or others have made it again"
                .to_owned(),
        );
    }
    Ok(None)
}

/// The slot and the backup of a change, without a second name of the file at its path: this would not keep anything,
/// and plans refuse a file with two names.
pub(super) fn apart<'c>(root: &Root, change: &'c Change) -> impl Iterator<Item = &'c RelPath> {
    let file = |path: &RelPath| root.look(path).ok().flatten();
    let here = file(&change.path);
    let is_here = move |at: &&RelPath| {
        here.zip(file(at))
            .is_some_and(|(here, at)| at.is_file_of(&here))
    };
    change.kept().filter(move |at| !is_here(at))
}

struct Undoer<'a> {
    root: &'a Root,
    change: &'a Change,
    path: &'a RelPath,
    /// Where the other file is: the slot; of a renamed file, its new path.
    aside: &'a RelPath,
}

impl<'a> Undoer<'a> {
    fn undo_dir(&self, ino: u64) -> Result<Undone, FileError> {
        if is(self.root.look(self.aside)?, ino) {
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

    fn undo_create(&self, after: &Version) -> Result<Undone, FileError> {
        if self.root.look(self.path)?.is_none() {
            return Ok(None);
        }
        let slot = self.aside;
        let Some(ours) = self.ours(self.path, after)? else {
            if self.ours(slot, after)?.is_some() {
                return Ok(None);
            }
            return self.stays("the created file has been changed since; it stays");
        };
        let (dir, aside) = self.dirs()?;
        match self.root.look(slot)? {
            None => {}
            // A plan that was killed while it gave the file its name has left the other one.
            Some(_) if is_result(&aside, slot.name(), after)?.is_some() => {
                aside.remove(slot.name())?;
            }
            Some(_) => {
                let what = format!("the created file stays: somebody put something else at {slot}");
                return self.stays(what);
            }
        }
        dir.move_to(self.path.name(), &aside, slot.name())?;
        // A program that wrote to the file after the check has written to the file that was moved to the slot.
        let ours = Version {
            facts: ours,
            ..after.clone()
        };
        if still(&aside, slot.name(), &ours)? {
            return Ok(None);
        }
        aside.put_at(slot.name(), &dir, self.path.name())?;
        self.stays("the created file was replaced meanwhile; it stays")
    }

    fn undo_modify(&self, before: &Version, after: &Version) -> Result<Undone, FileError> {
        let Some(ours) = self.ours(self.path, after)? else {
            return self.as_before(before);
        };
        let Some(kept) = self.original(before)? else {
            return self.differs(before, NOTHING);
        };
        let (dir, aside) = self.dirs()?;
        let (name, slot) = (self.path.name(), self.aside.name());
        if kept != self.aside {
            self.put_back(kept, &aside, &dir)?;
            return match aside.look(slot)? {
                Some(_) => self.instead(self.aside),
                None => Ok(None),
            };
        }
        let original = aside.look(slot)?;
        match aside.exchange(slot, &dir, name) {
            Err(error) if error.is_unsupported() => {
                aside.rename(slot, &dir, name, RenameFlags::empty())?;
                return Ok(None);
            }
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
        Ok(None)
    }

    /// Renames a copy of the backup over the file that the plan left.
    fn put_back(&self, backup: &RelPath, aside: &Dir<'_>, dir: &Dir<'_>) -> Result<(), FileError> {
        // A number that no other slot has. An undo that was killed may have left it.
        let copy = format!("{}0000000", self.aside.name());
        aside.remove(&copy)?;
        let from = self.root.parent(backup)?;
        from.copy(backup.name(), aside, &copy)?;
        aside.sync_data(&copy, &aside.open(&copy)?.0)?;
        aside.rename(&copy, dir, self.path.name(), RenameFlags::empty())
    }

    /// Of a file that was moved: into its slot, or to its new path.
    fn undo_move(&self, before: &Version) -> Result<Undone, FileError> {
        if self.root.look(self.path)?.is_some() {
            return self.as_before(before);
        }
        let Some(dir) = there(self.root.parent(self.path))? else {
            return self.differs(before, "its directory is gone");
        };
        let Some(kept) = self.original(before)? else {
            return self.differs(before, NOTHING);
        };
        let (from, name) = (self.root.parent(kept)?, self.path.name());
        let put = if kept == self.aside {
            from.move_to(kept.name(), &dir, name)
        } else {
            from.put_at(kept.name(), &dir, name)
        };
        match put {
            Ok(_) if self.root.look(self.aside)?.is_some() => self.instead(self.aside),
            Err(error) if error.errno == Errno::EXIST => self.as_before(before),
            Err(error) if error.errno == Errno::XDEV => self.differs(before, NOTHING),
            put => put.map(|_| None),
        }
    }

    fn undo_remove_dir(&self) -> Result<Undone, FileError> {
        match self.root.look(self.aside)?.map(|facts| facts.kind) {
            None => Ok(None),
            Some(tree::FileKind::Dir) if self.root.dir(Some(self.aside))?.list()?.is_empty() => {
                let (dir, aside) = self.dirs()?;
                match aside.move_to(self.aside.name(), &dir, self.path.name()) {
                    Err(error) if error.errno == Errno::EXIST => {
                        self.stays("something else was put there; it stays")
                    }
                    moved => moved.map(|_| None),
                }
            }
            Some(tree::FileKind::Dir) => {
                let dir = self.root.parent(self.path)?;
                dir.ensure_dir(self.path.name(), 0o777)?;
                self.stays(format!(
                    "somebody put files into the directory after it was set aside; they are kept in {}",
                    self.aside
                ))
            }
            Some(_) => self.stays(format!(
                "the directory no longer exists; what is at {} is not a directory",
                self.aside
            )),
        }
    }

    /// The directories of the path and of the slot.
    fn dirs(&self) -> Result<(Dir<'_>, Dir<'_>), FileError> {
        Ok((self.root.parent(self.path)?, self.root.parent(self.aside)?))
    }

    /// The file at the path is not the one that the plan put there. It is the original, or others have changed it.
    /// Only the content tells, because file systems give the inode number of a removed file to a new one.
    fn as_before(&self, before: &Version) -> Result<Undone, FileError> {
        let then = (before.facts.kind, before.facts.bytes);
        let fits = |facts: &Facts| (facts.kind, facts.bytes) == then;
        let dir = there(self.root.parent(self.path))?;
        let found = dir.map_or(Ok(None), |dir| {
            with_content(&dir, self.path.name(), &before.sha256, fits)
        });
        match found? {
            Some(_) => Ok(None),
            None => self.differs(before, "it was changed since, and stays as it is"),
        }
    }

    /// The conflict of a path that does not have its original; `what` is the reason.
    fn differs(&self, before: &Version, what: &str) -> Result<Undone, FileError> {
        let kept = if let Some(kept) = self.original(before)? {
            format!("its original is kept as {kept}")
        } else {
            let kept: Vec<&str> = self.change.kept().map(RelPath::as_str).collect();
            format!("neither {} is its original", kept.join(" nor "))
        };
        self.stays(format!("{what}; {kept}"))
    }

    /// Where the original is.
    fn original(&self, before: &Version) -> Result<Option<&'a RelPath>, FileError> {
        for at in [self.aside].into_iter().chain(self.change.kept()) {
            if is_original(self.root, at, before)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The file at a path, if it is exactly the file that the plan made.
    fn ours(&self, path: &RelPath, after: &Version) -> Result<Option<Facts>, FileError> {
        let dir = there(self.root.parent(path))?;
        dir.map_or(Ok(None), |dir| own(&dir, path.name(), after))
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
