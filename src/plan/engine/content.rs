//! Whether a file contains what the journal names. Only the content tells: a file system gives the inode number of a
//! removed file to a new one, and a program can set the time of a file.

use std::io::{self, Read};

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::{
    host::user_id,
    plan::{
        change::{Change, ChangeKind, Version, of_files},
        hash::hash_of_link,
    },
    task::{RelPath, hexadecimal},
    tree::{self, Dir, Facts, FileError, Root, there},
};

/// How many bytes are read at a time.
const BLOCK: usize = 256 * 1024;

/// Whether a regular file with the content of the original is there.
pub(super) fn is_original(
    root: &Root,
    path: &RelPath,
    before: &Version,
) -> Result<bool, FileError> {
    let Some(dir) = held(root, path)? else {
        return Ok(false);
    };
    // Somebody may have given a copy another owner, or more permissions such as set-user-ID. A backup of a file of
    // another user may belong to this user.
    let then = &before.facts;
    let fits = |facts: &Facts| {
        (facts.kind, facts.bytes) == (then.kind, then.bytes)
            && facts.mode & !then.mode == 0
            && [then.uid, user_id()].contains(&facts.uid)
    };
    Ok(with_content(&dir, path.name(), &before.sha256, fits)?.is_some())
}

/// The directory of a slot or a backup, unless it is gone or others put something else in its place.
pub(super) fn held<'r>(root: &'r Root, path: &RelPath) -> Result<Option<Dir<'r>>, FileError> {
    match root.parent(path) {
        Err(error) if matches!(error.errno, Errno::NOTDIR | Errno::LOOP) => Ok(None),
        opened => there(opened),
    }
}

/// Whether every file is as it was before the plan: somebody undid the plan after it was finished.
/// A file that the plan made and that is gone says nothing by itself: somebody may have used it.
pub(crate) fn is_undone(root: &Root, changes: &[Change]) -> Result<bool, FileError> {
    if !of_files(changes).any(|change| change.before.is_some()) {
        return Ok(false);
    }
    for change in of_files(changes) {
        let is_gone = root.look(change.result_path())?.is_none();
        let as_before = match (&change.before, &change.after) {
            (None, _) => is_gone,
            (Some(before), Some(after))
                if before.sha256 == after.sha256 && change.new_path().is_none() =>
            {
                false
            }
            (Some(before), _) => {
                (change.new_path().is_none() || is_gone) && is_original(root, &change.path, before)?
            }
        };
        if !as_before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The changes with the inode numbers that the files have now: by their content, since they have no lasting ones on some
/// file systems, and others in a copied root.
pub(super) fn adopted(root: &Root, changes: &[Change]) -> Result<Vec<Change>, FileError> {
    changes.iter().map(|change| adopt(root, change)).collect()
}

fn adopt(root: &Root, change: &Change) -> Result<Change, FileError> {
    let mut change = change.clone();
    let Some(after) = &mut change.after else {
        return Ok(change);
    };
    for at in [&change.slot, &change.path] {
        let Some(dir) = held(root, at)? else { continue };
        let now = match change.kind {
            ChangeKind::MakeDir => dir
                .look(at.name())?
                .filter(|facts| facts.kind == tree::FileKind::Dir),
            ChangeKind::Create | ChangeKind::Modify => is_result(&dir, at.name(), after)?,
            ChangeKind::Delete | ChangeKind::Rename { .. } | ChangeKind::RemoveDir => None,
        };
        after.facts.ino = now.map_or(after.facts.ino, |facts| facts.ino);
    }
    Ok(change)
}

/// Whether a file is the same by content, kind, owner and permissions. Some file systems change its size, time or inode
/// number when oneact renames it or gives it a second name.
pub(crate) fn same_content(dir: &Dir<'_>, name: &str, then: &Version) -> Result<bool, FileError> {
    let kept = |facts: &Facts| (facts.kind, facts.mode, facts.uid, facts.gid);
    let fits = |facts: &Facts| facts.has_content() && kept(facts) == kept(&then.facts);
    Ok(with_content(dir, name, &then.sha256, fits)?.is_some())
}

/// Whether it is still this version of the file.
pub(super) fn still(dir: &Dir<'_>, name: &str, then: &Version) -> Result<bool, FileError> {
    let same = dir.look(name)?.is_some_and(|now| now.same(&then.facts));
    Ok(same || same_content(dir, name, then)?)
}

/// The file, if it has the content that the plan wrote.
pub(crate) fn is_result(
    dir: &Dir<'_>,
    name: &str,
    after: &Version,
) -> Result<Option<Facts>, FileError> {
    let fits = |facts: &Facts| facts.has_content() && facts.bytes == after.facts.bytes;
    with_content(dir, name, &after.sha256, fits)
}

/// The file, if it is exactly the file that the plan put there.
pub(super) fn own(dir: &Dir<'_>, name: &str, after: &Version) -> Result<Option<Facts>, FileError> {
    let known = (after.facts.ino, after.facts.bytes);
    let fits = |facts: &Facts| facts.has_content() && (facts.ino, facts.bytes) == known;
    with_content(dir, name, &after.sha256, fits)
}

/// The file, if it `fits` and has this content. The facts are from before it was read, so that a later write
/// shows.
pub(super) fn with_content(
    dir: &Dir<'_>,
    name: &str,
    hash: &str,
    fits: impl FnOnce(&Facts) -> bool,
) -> Result<Option<Facts>, FileError> {
    let Some(facts) = dir.look_afresh(name)?.filter(fits) else {
        return Ok(None);
    };
    Ok((sha256(dir, name)? == hash).then_some(facts))
}

/// The SHA-256 of a file or a symbolic link, in lower-case hexadecimal.
pub(super) fn sha256(dir: &Dir<'_>, name: &str) -> Result<String, FileError> {
    if dir
        .look(name)?
        .is_some_and(|facts| facts.kind == tree::FileKind::Link)
    {
        return Ok(hash_of_link(&dir.read_link(name)?));
    }
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
