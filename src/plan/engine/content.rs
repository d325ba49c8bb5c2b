//! Whether a file contains what the journal names. Only the content tells: a file system gives the inode number of a
//! removed file to a new one, and a program can set the time of a file.

use std::io::{self, Read};

use rustix::{fs::RenameFlags, io::Errno};
use sha2::{Digest, Sha256};

use crate::{
    host::user_id,
    plan::files::{Dir, Facts, FileError, Kind, Root, there},
    task::{RelPath, hexadecimal},
};

use super::{
    entry::{Entry, Post, Pre, Way},
    stage::hash_of_link,
};

/// How many bytes are read at a time.
const BLOCK: usize = 256 * 1024;

/// How many bytes the kernel writes at once.
const PAGE: usize = 4096;

/// Whether a regular file with the content of the original is there.
pub(super) fn is_original(root: &Root, path: &RelPath, pre: &Pre) -> Result<bool, FileError> {
    let Some(dir) = held(root, path)? else {
        return Ok(false);
    };
    // Somebody may have given a copy another owner, or more permissions such as set-user-ID. A backup of a file of
    // another user may belong to this user.
    let fits = |facts: &Facts| {
        (facts.kind, facts.bytes) == (pre.facts.kind, pre.facts.bytes)
            && facts.mode & !pre.facts.mode == 0
            && [pre.facts.uid, user_id()].contains(&facts.uid)
    };
    Ok(with_content(&dir, path.name(), &pre.sha256, fits)?.is_some())
}

/// The directory of a slot or a backup, unless it is gone or others put something else in its place.
pub(super) fn held<'r>(root: &'r Root, path: &RelPath) -> Result<Option<Dir<'r>>, FileError> {
    match root.parent(path) {
        Err(error) if matches!(error.errno, Errno::NOTDIR | Errno::LOOP) => Ok(None),
        opened => there(opened),
    }
}

/// Whether every file is as it was before the plan: somebody undid the plan after it was finished.
pub(crate) fn is_undone(root: &Root, entries: &[Entry]) -> Result<bool, FileError> {
    for entry in entries {
        let as_before = match entry {
            Entry::MakeDir { .. } | Entry::RemoveDir { .. } => true,
            Entry::Create { path, .. } => root.look(path)?.is_none(),
            // If only permissions were changed, the content does not show whether that was undone.
            Entry::Modify { pre, post, .. } if pre.sha256 == post.sha256 => false,
            Entry::Modify { path, pre, .. } | Entry::Delete { path, pre, .. } => {
                is_original(root, path, pre)?
            }
            Entry::Rename { path, to, pre } => {
                is_original(root, path, pre)? && root.look(to)?.is_none()
            }
        };
        if !as_before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The entries with the inode numbers that the files have now: by their content, since they have no lasting ones on some
/// file systems, and others in a copied root.
pub(super) fn adopted(root: &Root, entries: &[Entry]) -> Result<Vec<Entry>, FileError> {
    entries.iter().map(|entry| adopt(root, entry)).collect()
}

fn adopt(root: &Root, entry: &Entry) -> Result<Entry, FileError> {
    let mut entry = entry.clone();
    match &mut entry {
        Entry::MakeDir { path, slot, ino } => {
            for at in [path, slot] {
                let found = root.look(at)?.filter(|found| found.kind == Kind::Dir);
                *ino = found.map_or(*ino, |found| found.ino);
            }
        }
        Entry::Modify {
            path,
            pre,
            way: Way::InPlace,
            ..
        } => {
            let found = root.look(path)?;
            pre.facts.ino = found.map_or(pre.facts.ino, |found| found.ino);
        }
        Entry::Create { path, slot, post }
        | Entry::Modify {
            path, slot, post, ..
        } => {
            for at in [slot, path] {
                let fits = |found: &Facts| found.has_content() && found.bytes == post.bytes;
                let dir = held(root, at)?;
                let found = dir.map_or(Ok(None), |dir| {
                    with_content(&dir, at.name(), &post.sha256, fits)
                })?;
                post.ino = found.map_or(post.ino, |found| found.ino);
            }
        }
        Entry::Delete { .. } | Entry::Rename { .. } | Entry::RemoveDir { .. } => {}
    }
    Ok(entry)
}

/// Makes a kept backup a file of its own. It is a second name of its file until the plan changes that file, and others
/// may have moved the file to another path.
pub(super) fn separate(root: &Root, entry: &Entry) -> Result<(), FileError> {
    let Some(pre) = entry.pre() else {
        return Ok(());
    };
    let Some(dir) = held(root, &pre.backup)? else {
        return Ok(());
    };
    let name = pre.backup.name();
    let file = |path: &RelPath| root.look(path).ok().flatten();
    let names = entry.kept().filter_map(file);
    let names = names.filter(|kept| kept.ino == pre.facts.ino).count();
    let is_elsewhere = |kept: &Facts| kept.ino == pre.facts.ino && kept.nlink > names as u64;
    if !dir.look(name)?.is_some_and(|kept| is_elsewhere(&kept)) {
        return Ok(());
    }
    // No backup has such a name, which is short however long that of the file is.
    let (mut number, mut copy) = (0, "own".to_owned());
    while dir
        .look(&copy)?
        .is_some_and(|found| found.kind == Kind::Dir)
    {
        number += 1;
        copy = format!("own.{number}");
    }
    dir.remove(&copy)?;
    dir.copy(name, &dir, &copy)?;
    dir.rename(&copy, &dir, name, RenameFlags::empty())
}

/// Whether a file is the same by content, kind, owner and permissions. Some file systems change its size, time or inode
/// number when oneact renames it or gives it a second name.
pub(crate) fn same_content(
    dir: &Dir<'_>,
    name: &str,
    then: &Facts,
    hash: &str,
) -> Result<bool, FileError> {
    let kept = |facts: &Facts| (facts.kind, facts.mode, facts.uid, facts.gid);
    let fits = |facts: &Facts| facts.has_content() && kept(facts) == kept(then);
    Ok(with_content(dir, name, hash, fits)?.is_some())
}

/// Whether it is still the file with these facts and this content.
pub(super) fn still(
    dir: &Dir<'_>,
    name: &str,
    then: &Facts,
    hash: &str,
) -> Result<bool, FileError> {
    let same = dir.look(name)?.is_some_and(|now| now.same(then));
    Ok(same || same_content(dir, name, then, hash)?)
}

/// Whether a regular file with the content that the plan wrote is there.
pub(crate) fn is_result(dir: &Dir<'_>, name: &str, post: &Post) -> Result<bool, FileError> {
    let fits = |facts: &Facts| facts.has_content() && facts.bytes == post.bytes;
    Ok(with_content(dir, name, &post.sha256, fits)?.is_some())
}

/// The file, if it is exactly the file that the plan put there.
pub(super) fn own(dir: &Dir<'_>, name: &str, post: &Post) -> Result<Option<Facts>, FileError> {
    let fits =
        |facts: &Facts| facts.has_content() && (facts.ino, facts.bytes) == (post.ino, post.bytes);
    with_content(dir, name, &post.sha256, fits)
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
        .is_some_and(|facts| facts.kind == Kind::Link)
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

/// Whether a file can be the result of an unfinished write of `new` over `old`: every page is from one of the two.
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
