//! The removal of a scratch directory with all that tools have left in it.

use std::{
    ffi::CString,
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
};

use camino::Utf8Path;
use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, ResolveFlags, openat, openat2, unlinkat},
    io::Errno,
    path::Arg,
};

use super::held::MARK;
use crate::assets::error::StoreError;

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Removes the directory and all that is in it. A directory that does not exist counts as removed. If a file system is
/// mounted on or in it, this fails.
pub(super) fn remove_tree(dir: &Utf8Path) -> Result<(), StoreError> {
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Ok(());
    };
    let remove = || {
        let parent = openat(
            CWD,
            parent.as_std_path(),
            DIRECTORY | OFlags::PATH,
            Mode::empty(),
        )?;
        let top = enter(&parent, name)?;
        // Without its mark, a directory is not removed by the next run, so the mark is removed last.
        empty(&top, Some(MARK))?;
        empty(&top, None)?;
        unlinkat(parent, name, AtFlags::REMOVEDIR)
    };
    match remove() {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::XDEV) => {
            let why = "a file system is mounted on or in it; unmount it and remove the directory";
            Err(StoreError::io("remove", dir)(io::Error::other(why)))
        }
        Err(errno) => Err(StoreError::io("remove", dir)(errno)),
    }
}

/// Removes all that is in the directory, except for the spared file.
fn empty(dir: &OwnedFd, spared: Option<&str>) -> Result<(), Errno> {
    let names = Dir::read_from(dir)?.map(|entry| Ok(entry?.file_name().to_owned()));
    for name in names.collect::<Result<Vec<CString>, Errno>>()? {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") || spared.is_some_and(|spared| bytes == spared.as_bytes())
        {
            continue;
        }
        match unlinkat(dir, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => {
                empty(&enter(dir, &name)?, None)?;
                unlinkat(dir, &name, AtFlags::REMOVEDIR)?;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Opens a directory, and makes it writable if a tool has changed its mode. Neither a link nor a mount point is entered:
/// the files of another file system do not belong to a run.
fn enter(at: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    let path = openat2(at, name, DIRECTORY | OFlags::PATH, Mode::empty(), resolve)?;
    let itself = format!("/proc/self/fd/{}", path.as_raw_fd());
    // If this fails, the removal reports why.
    let _ = fs::set_permissions(itself, Permissions::from_mode(0o700));
    openat(path, ".", DIRECTORY, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use camino::Utf8PathBuf;

    use super::*;

    /// A directory with a file in it, below so many directories, of which the tool has locked the innermost.
    fn deep(levels: usize) -> (tempfile::TempDir, Utf8PathBuf) {
        let keep = tempfile::tempdir().unwrap();
        let top = Utf8PathBuf::from_path_buf(keep.path().join("top")).unwrap();
        fs::create_dir(&top).unwrap();
        fs::write(top.join(MARK), "").unwrap();
        fs::write(keep.path().join("kept"), "kept").unwrap();
        symlink(keep.path(), top.join("link")).unwrap();
        let mut dir = top.clone();
        for _ in 0..levels {
            dir.push("0");
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("file"), "").unwrap();
        }
        fs::set_permissions(&dir, Permissions::from_mode(0o500)).unwrap();
        (keep, top)
    }

    #[test]
    fn a_tree_is_removed_with_what_a_tool_has_locked_and_no_link_is_followed() {
        let (keep, top) = deep(100);
        remove_tree(&top).unwrap();
        let left = keep.path().read_dir().unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"]);
    }

    #[test]
    fn the_mark_is_removed_last_whatever_is_in_its_place() {
        let (_keep, top) = deep(3);
        let dir = enter(CWD, top.as_str()).unwrap();
        empty(&dir, Some(MARK)).unwrap();
        assert!(top.join(MARK).exists());
        fs::remove_file(top.join(MARK)).unwrap();
        fs::create_dir_all(top.join(MARK).join("below")).unwrap();
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        remove_tree(&top).unwrap();
    }
}
