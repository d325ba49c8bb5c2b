//! One change taken back, by what is on the disk alone: so it can be tried again after any crash.
//!
//! Somebody else's work is never destroyed: where a file is not as the plan left it, it stays, and the
//! answer says so. Nothing but the original is put back: a regular file with its content, to the byte.

use std::io::{self, Read};

use rustix::{fs::RenameFlags, io::Errno};
use sha2::{Digest, Sha256};

use crate::{
    plan::files::{Dir, Facts, FileError, Kind, Root, there},
    task::{Bounds, RelPath, hexadecimal},
};

use super::{
    journal::{Entry, Post, Pre, Way},
    stage::hash,
};

/// Read at a time, in bytes.
const BLOCK: usize = 256 * 1024;

/// What a kernel writes at once, in bytes.
const PAGE: usize = 4096;

/// What somebody else has changed since, so that it stays; `None`: it is as before the plan.
type Undone = Option<Conflict>;

/// What somebody else has changed, so that it was not taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub(crate) struct Conflict {
    pub(crate) path: RelPath,
    /// For people.
    what: String,
}

impl Conflict {
    /// Whether one of these is about that file, which may have had another path.
    pub(crate) fn any_at(conflicts: &[Self], path: &RelPath, other: Option<&RelPath>) -> bool {
        let about = |conflict: &Self| conflict.path == *path || Some(&conflict.path) == other;
        conflicts.iter().any(about)
    }

    pub(crate) fn told(conflicts: &[Self]) -> String {
        let each: Vec<String> = conflicts.iter().map(Self::to_string).collect();
        each.join("; ")
    }
}

pub(crate) fn undo(root: &Root, entry: &Entry) -> Result<Undone, FileError> {
    match entry {
        Entry::MakeDir { path, slot, ino } => undo_dir(root, path, slot, *ino),
        Entry::Create { path, slot, post } => undo_create(root, path, slot, post),
        Entry::Modify {
            path,
            slot,
            pre,
            post,
            way,
        } => match way {
            Way::Exchange => undo_modify(root, path, slot, pre, post),
            Way::InPlace => undo_in_place(root, path, slot, pre),
        },
        Entry::Delete { path, slot, pre } => undo_delete(root, path, slot, pre),
        Entry::Rename { path, to, pre } => undo_rename(root, path, to, pre),
        Entry::RemoveDir { path, slot } => undo_remove_dir(root, path, slot),
    }
}

fn undo_dir(root: &Root, path: &RelPath, slot: &RelPath, ino: u64) -> Result<Undone, FileError> {
    if root.look(slot)?.is_some_and(|facts| facts.ino == ino) {
        return Ok(None);
    }
    match root.look(path)? {
        Some(facts) if facts.ino == ino => match root.parent(path)?.remove_dir(path.name()) {
            Ok(()) => Ok(None),
            Err(error) if error.errno == Errno::NOTEMPTY => {
                stays(path, "the directory holds files of others; it stays")
            }
            Err(error) => Err(error),
        },
        None => Ok(None),
        Some(_) => stays(path, "another directory or file stands there; it stays"),
    }
}

fn undo_create(
    root: &Root,
    path: &RelPath,
    slot: &RelPath,
    post: &Post,
) -> Result<Undone, FileError> {
    let staged = root.look(slot)?;
    if root.look(path)?.is_none() {
        return Ok(None);
    }
    let Some(ours) = ours(root, path, post)? else {
        if staged.is_some_and(|facts| facts.ino == post.ino) {
            return Ok(None);
        }
        return stays(path, "the created file was changed since; it stays");
    };
    if staged.is_some() {
        let what = format!("the created file stays: somebody put something else at {slot}");
        return stays(path, what);
    }
    let (dir, aside) = (root.parent(path)?, root.parent(slot)?);
    dir.move_to(path.name(), &aside, slot.name())?;
    // Whoever wrote to it since it was looked at has written to what was moved aside.
    if aside.look(slot.name())?.is_some_and(|now| now.same(&ours)) {
        return Ok(None);
    }
    aside.move_to(slot.name(), &dir, path.name())?;
    stays(path, "the created file was exchanged meanwhile; it stays")
}

fn undo_modify(
    root: &Root,
    path: &RelPath,
    slot: &RelPath,
    pre: &Pre,
    post: &Post,
) -> Result<Undone, FileError> {
    let (staged, now) = (root.look(slot)?, root.look(path)?);
    let is = |facts: Option<Facts>, ino: u64| facts.is_some_and(|facts| facts.ino == ino);
    // Never made, or taken back already. A second name of the new content in the slot does not say so.
    if is(staged, post.ino) && !is(now, post.ino) || staged.is_none() && is(now, pre.facts.ino) {
        return Ok(None);
    }
    let Some(ours) = ours(root, path, post)? else {
        return stays(path, "the changed file was changed again since; it stays");
    };
    let (dir, aside) = (root.parent(path)?, root.parent(slot)?);
    let kept = kept(root, slot, pre)?;
    match kept {
        Original::InSlot => {}
        Original::InBackup => {
            let from = root.parent(&pre.backup)?;
            if staged.is_none() {
                // Made by a rename over it: the original is in its backup alone.
                from.link(pre.backup.name(), &aside, slot.name())?;
                aside.rename(slot.name(), &dir, path.name(), RenameFlags::empty())?;
                return Ok(None);
            }
            from.exchange(pre.backup.name(), &aside, slot.name())?;
        }
        Original::Gone => return Ok(Some(gone(path, slot, pre))),
    }
    let original = aside.look(slot.name())?;
    aside.exchange(slot.name(), &dir, path.name())?;
    let out = |facts: &Facts| -> Result<bool, FileError> {
        Ok(aside.look(slot.name())?.is_some_and(|now| now.same(facts)))
    };
    if !out(&ours)? {
        give_back(&aside, slot.name(), &dir, path.name(), || {
            original.as_ref().map_or(Ok(false), &out)
        })?;
        return stays(path, "the changed file was exchanged meanwhile; it stays");
    }
    Ok(match kept {
        Original::InBackup => Some(instead(path, &pre.backup)),
        Original::InSlot | Original::Gone => None,
    })
}

/// Half of it may be written: then, and where all of it is, the backup is put over it. As old as it was,
/// since it is as it was.
fn undo_in_place(
    root: &Root,
    path: &RelPath,
    slot: &RelPath,
    pre: &Pre,
) -> Result<Undone, FileError> {
    let dir = root.parent(path)?;
    match dir.look(path.name())? {
        Some(facts) if facts.same(&pre.facts) => return Ok(None),
        Some(facts) if facts.ino == pre.facts.ino => {}
        _ => return stays(path, "another file stands there; it stays"),
    }
    let whole = |path: &RelPath| root.read(path, Bounds::MAX_FILE_BYTES);
    let now = match whole(path) {
        Err(error) if error.errno == Errno::FBIG => {
            return stays(path, "the file was changed by somebody else; it stays");
        }
        other => other?,
    };
    if hash(&now) != pre.sha256 {
        let (old, new) = (whole(&pre.backup)?, whole(slot)?);
        if hash(&old) != pre.sha256 {
            let what = format!("its backup {} is not its original; both stay", pre.backup);
            return stays(path, what);
        }
        if !is_between(&now, &old, &new) {
            return stays(path, "the file was changed by somebody else; it stays");
        }
        dir.overwrite(path.name(), &old)?;
    }
    dir.set_modified(path.name(), pre.facts.mtime)?;
    Ok(None)
}

/// Whether a file can be what an unfinished writing of `new` over `old` leaves: every page is of one of
/// the two.
pub(super) fn is_between(now: &[u8], old: &[u8], new: &[u8]) -> bool {
    let page_of = |bytes: &[u8], at: usize, length: usize| {
        let start = (at * PAGE).min(bytes.len());
        let end = (start + length).min(bytes.len());
        bytes.get(start..end).unwrap_or_default().to_vec()
    };
    now.len() <= old.len().max(new.len())
        && now.chunks(PAGE).enumerate().all(|(at, page)| {
            page == page_of(old, at, page.len()) || page == page_of(new, at, page.len())
        })
}

fn undo_delete(
    root: &Root,
    path: &RelPath,
    slot: &RelPath,
    pre: &Pre,
) -> Result<Undone, FileError> {
    let (staged, now) = (root.look(slot)?, root.look(path)?);
    if now.is_some_and(|facts| facts.ino == pre.facts.ino) {
        return Ok(None);
    }
    if staged.is_none() && now.is_some() {
        return as_before(root, path, pre);
    }
    let Some(dir) = there(root.parent(path))? else {
        return stays(
            path,
            "its directory is gone; the file is kept in its backup",
        );
    };
    let backup = &pre.backup;
    let taken = format!("another file was put there; the deleted one is kept as {backup}");
    match kept(root, slot, pre)? {
        Original::InSlot => move_back(root, slot, path, taken),
        Original::InBackup if now.is_some() => stays(path, taken),
        Original::InBackup => {
            let from = root.parent(backup)?;
            from.link(backup.name(), &dir, path.name())?;
            Ok(staged.map(|_| instead(path, slot)))
        }
        Original::Gone => Ok(Some(gone(path, slot, pre))),
    }
}

fn undo_rename(root: &Root, path: &RelPath, to: &RelPath, pre: &Pre) -> Result<Undone, FileError> {
    let (here, there) = (root.look(path)?, root.look(to)?);
    if here.is_some_and(|facts| facts.ino == pre.facts.ino) {
        return Ok(None);
    }
    if here.is_some() && there.is_none() {
        return as_before(root, path, pre);
    }
    if there.is_none_or(|facts| facts.kind != Kind::File || facts.ino != pre.facts.ino) {
        return stays(to, "the renamed file was exchanged since; it stays");
    }
    let taken = format!("another file was put there; the renamed one stays as {to}");
    move_back(root, to, path, taken)
}

fn undo_remove_dir(root: &Root, path: &RelPath, slot: &RelPath) -> Result<Undone, FileError> {
    match root.look(slot)?.map(|facts| facts.kind) {
        None => Ok(None),
        Some(Kind::Dir) => {
            let holds = root.dir(Some(slot))?.list()?;
            if holds.is_empty() {
                return move_back(root, slot, path, "something else was put there; it stays");
            }
            // The directory was empty when it was set aside.
            root.parent(path)?.ensure_dir(path.name(), 0o777)?;
            stays(
                path,
                format!(
                    "somebody put files into it while it was set aside; they are kept in {slot}"
                ),
            )
        }
        Some(_) => {
            let what = format!("the directory is gone; what is at {slot} is no directory");
            stays(path, what)
        }
    }
}

/// What stands at a path is the original, or the file of somebody else. Whether the change was made is not known.
fn as_before(root: &Root, path: &RelPath, pre: &Pre) -> Result<Undone, FileError> {
    if is_original(root, path, pre)? {
        return Ok(None);
    }
    let what = format!(
        "another file stands there; the original is kept as {}",
        pre.backup
    );
    stays(path, what)
}

/// Moves what is at `from` back to its path. Where others have put something there, that stays: `taken`
/// says so.
fn move_back(
    root: &Root,
    from: &RelPath,
    path: &RelPath,
    taken: impl Into<String>,
) -> Result<Undone, FileError> {
    let (aside, dir) = (root.parent(from)?, root.parent(path)?);
    match aside.move_to(from.name(), &dir, path.name()) {
        Ok(()) => Ok(None),
        Err(error) if error.errno == Errno::EXIST => stays(path, taken),
        Err(error) => Err(error),
    }
}

/// Where the original of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Original {
    InSlot,
    InBackup,
    /// What is in their places is something else.
    Gone,
}

fn kept(root: &Root, slot: &RelPath, pre: &Pre) -> Result<Original, FileError> {
    Ok(if is_original(root, slot, pre)? {
        Original::InSlot
    } else if is_original(root, &pre.backup, pre)? {
        Original::InBackup
    } else {
        Original::Gone
    })
}

/// Whether a regular file is there that has the content of the original. Inode and time alone do not say
/// so: whoever writes to a file can set its time.
fn is_original(root: &Root, path: &RelPath, pre: &Pre) -> Result<bool, FileError> {
    let Some(dir) = there(root.parent(path))? else {
        return Ok(false);
    };
    // Somebody may have added permissions to a copy, for example set-user-ID.
    let fits = |facts: &Facts| {
        (facts.kind, facts.bytes) == (Kind::File, pre.facts.bytes)
            && facts.mode & !pre.facts.mode == 0
    };
    Ok(with_content(&dir, path.name(), &pre.sha256, fits)?.is_some())
}

fn gone(path: &RelPath, slot: &RelPath, pre: &Pre) -> Conflict {
    let backup = &pre.backup;
    let what = format!("neither {slot} nor {backup} is its original; nothing was put back");
    conflict(path, what)
}

/// The backup was put back. What somebody had put in the place of the original is kept.
fn instead(path: &RelPath, other: &RelPath) -> Conflict {
    let what = format!(
        "it was put back from its backup; what others made of the original is kept as {other}"
    );
    conflict(path, what)
}

/// What is at a path, if it is what the plan put there, to the byte.
fn ours(root: &Root, path: &RelPath, post: &Post) -> Result<Option<Facts>, FileError> {
    there(root.parent(path))?.map_or(Ok(None), |dir| own(&dir, path.name(), post))
}

/// The same in a directory.
pub(super) fn own(dir: &Dir<'_>, name: &str, post: &Post) -> Result<Option<Facts>, FileError> {
    let fits = |facts: &Facts| (facts.ino, facts.bytes) == (post.ino, post.bytes);
    with_content(dir, name, &post.sha256, fits)
}

/// A file that fits and has this content. The facts are those before it was read: what has other facts later was
/// written to meanwhile.
fn with_content(
    dir: &Dir<'_>,
    name: &str,
    hash: &str,
    fits: impl FnOnce(&Facts) -> bool,
) -> Result<Option<Facts>, FileError> {
    let Some(facts) = dir.look(name)?.filter(fits) else {
        return Ok(None);
    };
    Ok((sha256(dir, name)? == hash).then_some(facts))
}

/// Puts what was taken by mistake back to its path. Whatever somebody put there in the meantime is newer,
/// and goes back after it: the newest stays. `ours` tells whether the slot holds what we had left at the
/// path.
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

/// The SHA-256 of a file, in lower-case hexadecimal.
pub(super) fn sha256(dir: &Dir<'_>, name: &str) -> Result<String, FileError> {
    let (mut file, _) = dir.open(name)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(hexadecimal(&hash.finalize())),
            Ok(read) => hash.update(block.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FileError::of("read", dir.name(name))(error)),
        }
    }
}

/// Others have changed what is at that path: it stays.
fn stays(path: &RelPath, what: impl Into<String>) -> Result<Undone, FileError> {
    Ok(Some(conflict(path, what)))
}

fn conflict(path: &RelPath, what: impl Into<String>) -> Conflict {
    Conflict {
        path: path.clone(),
        what: what.into(),
    }
}
