//! The removal of a scratch directory with all that tools have left in it.

use std::{
    ffi::{CString, OsString},
    fs::{self, Permissions},
    io,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::{ffi::OsStringExt, fs::PermissionsExt},
    },
    path::PathBuf,
};

use camino::Utf8Path;
use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, renameat, unlinkat},
    io::Errno,
    path::Arg,
};

use super::{MARK, StoreError};

/// The most files and directories that a run removes of what a dead run left, because it does so before it answers.
pub(super) const MOST_SWEPT: u64 = 1000;

/// Removes the directory and all that is in it. A directory that does not exist counts as removed.
pub(super) fn remove_tree(dir: &Utf8Path) -> Result<(), StoreError> {
    remove_some(dir, &mut Room(u64::MAX))
}

/// The same, but at most as many files and directories as there is room for. If there are more, this fails, and the
/// directory keeps its mark.
pub(super) fn remove_some(dir: &Utf8Path, room: &mut Room) -> Result<(), StoreError> {
    if has_mount(dir) {
        let busy = "a file system is mounted on or in it; unmount it and remove the directory";
        let busy = io::Error::new(io::ErrorKind::ResourceBusy, busy);
        return Err(StoreError::io("remove", dir)(busy));
    }
    let mut remove = || {
        let top = enter(CWD, dir.as_str())?;
        // Without its mark, a directory is not removed by the next run, so the mark is removed last.
        empty(&top, Some(MARK), room)?;
        empty(&top, None, &mut Room(u64::MAX))?;
        unlinkat(CWD, dir.as_str(), AtFlags::REMOVEDIR)
    };
    match remove() {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::CANCELED) => {
            let problem =
                io::Error::other("so many files are left in it that they are removed in parts");
            Err(StoreError::io("remove", dir)(problem))
        }
        Err(errno) => Err(StoreError::io("remove", dir)(errno)),
    }
}

/// Removes all that is in the directory, except for the spared file. The directories in a directory below it are moved
/// up before that directory is removed, so neither the stack nor the number of open files grows with the depth of the
/// tree.
fn empty(top: &OwnedFd, spared: Option<&str>, room: &mut Room) -> Result<(), Errno> {
    let mut moved = 0_u64;
    loop {
        let directories = remove_files(top, spared, room)?;
        if directories.is_empty() {
            return Ok(());
        }
        for name in directories {
            let dir = enter(top, &name)?;
            for inner in remove_files(&dir, None, room)? {
                room.take()?;
                // Only who may write to a directory may move it.
                enter(&dir, &inner)?;
                while let Err(errno) = move_up(&dir, &inner, top, moved) {
                    if !matches!(errno, Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) {
                        return Err(errno);
                    }
                    moved += 1;
                }
                moved += 1;
            }
            room.take()?;
            unlinkat(top, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// How many files and directories may still be removed or moved.
pub(super) struct Room(pub(super) u64);

impl Room {
    fn take(&mut self) -> Result<(), Errno> {
        self.0 = self.0.checked_sub(1).ok_or(Errno::CANCELED)?;
        Ok(())
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.0 == 0
    }

    fn give_back(&mut self) {
        self.0 += 1;
    }
}

/// Replaces nothing but an empty directory, which is to be removed as well.
fn move_up(from: &OwnedFd, name: &CString, to: &OwnedFd, number: u64) -> Result<(), Errno> {
    renameat(from, name, to, number.to_string())
}

/// Removes the files of a directory, and returns the names of the directories in it.
fn remove_files(
    dir: &OwnedFd,
    spared: Option<&str>,
    room: &mut Room,
) -> Result<Vec<CString>, Errno> {
    let names = Dir::read_from(dir)?.map(|entry| Ok(entry?.file_name().to_owned()));
    let mut directories = Vec::new();
    for name in names.collect::<Result<Vec<_>, Errno>>()? {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") || spared.is_some_and(|spared| bytes == spared.as_bytes())
        {
            continue;
        }
        room.take()?;
        match unlinkat(dir, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR) => {
                room.give_back();
                directories.push(name);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(directories)
}

/// Opens a directory, and makes it writable if a tool has changed its mode. Links are not followed.
fn enter(at: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let path = openat(
        at,
        name,
        flags | OFlags::NOFOLLOW | OFlags::PATH,
        Mode::empty(),
    )?;
    let itself = format!("/proc/self/fd/{}", path.as_raw_fd());
    // If this fails, the removal reports why.
    let _ = fs::set_permissions(itself, Permissions::from_mode(0o700));
    openat(path, ".", flags, Mode::empty())
}

/// Whether a file system is mounted on or in a directory (proc(5), `/proc/self/mountinfo`). Its files do not belong to a
/// run.
fn has_mount(dir: &Utf8Path) -> bool {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    dir.canonicalize()
        .is_ok_and(|dir| mount_points(&mounts).any(|point| point.starts_with(&dir)))
}

/// The mount points of a mountinfo file: the fifth field of each line (proc(5)).
fn mount_points(mountinfo: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = mountinfo.split(|byte| *byte == b'\n');
    let fields = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    fields.map(|field| OsString::from_vec(unescaped(field)).into())
}

/// A field of a mountinfo file, in which the kernel writes spaces, tabs, newlines and backslashes as `\` and three
/// octal digits.
fn unescaped(mut field: &[u8]) -> Vec<u8> {
    let mut path = Vec::new();
    while let [first, rest @ ..] = field {
        let digits = rest.split_first_chunk::<3>().filter(|_| *first == b'\\');
        let escaped = digits.and_then(|(digits, rest)| {
            let digits = str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 8).ok()?, rest))
        });
        let (byte, rest) = escaped.unwrap_or((*first, rest));
        path.push(byte);
        field = rest;
    }
    path
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, thread};

    use camino::Utf8PathBuf;
    use rustix::fs::mkdirat;

    use super::*;

    /// A directory with a file in it, below so many directories, of which the tool has locked the innermost.
    fn deep(levels: usize) -> (tempfile::TempDir, Utf8PathBuf) {
        let keep = tempfile::tempdir().unwrap();
        let top = Utf8PathBuf::from_path_buf(keep.path().join("top")).unwrap();
        fs::create_dir(&top).unwrap();
        fs::write(top.join(MARK), "").unwrap();
        fs::write(keep.path().join("kept"), "kept").unwrap();
        symlink(keep.path(), top.join("link")).unwrap();
        let mut dir = enter(CWD, top.as_str()).unwrap();
        for level in 0..levels {
            let mode = if level + 1 == levels { 0o500 } else { 0o700 };
            mkdirat(&dir, "0", Mode::RWXU).unwrap();
            dir = enter(&dir, "0").unwrap();
            fs::write(format!("/proc/self/fd/{}/file", dir.as_raw_fd()), "").unwrap();
            rustix::fs::fchmod(&dir, Mode::from_raw_mode(mode)).unwrap();
        }
        (keep, top)
    }

    #[test]
    fn a_tree_of_any_depth_is_removed_with_a_small_stack_and_few_open_files() {
        let (keep, top) = deep(3_000);
        let small = thread::Builder::new().stack_size(64 << 10);
        let removal = small.spawn(move || remove_tree(&top)).unwrap();
        removal.join().unwrap().unwrap();
        let left: Vec<_> = keep
            .path()
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left, ["kept"], "links are not followed");
    }

    #[test]
    fn the_mark_is_removed_last_whatever_is_in_its_place() {
        let (_keep, top) = deep(3);
        let dir = enter(CWD, top.as_str()).unwrap();
        empty(&dir, Some(MARK), &mut Room(u64::MAX)).unwrap();
        assert!(top.join(MARK).exists());
        fs::remove_file(top.join(MARK)).unwrap();
        fs::create_dir_all(top.join(MARK).join("below")).unwrap();
        remove_tree(&top).unwrap();
        assert!(!top.exists());
        remove_tree(&top).unwrap();
    }

    #[test]
    fn a_removal_goes_on_where_an_earlier_one_ended() {
        let (keep, top) = deep(10);
        let removals = (1..9).find(|_| {
            let removed = remove_some(&top, &mut Room(5));
            assert_eq!(removed.is_err(), top.join(MARK).exists());
            removed.is_ok()
        });
        // Ten directories with a file in each, a link, and nine directories that are moved up.
        assert_eq!(removals, Some(6));
        assert!(keep.path().join("kept").exists());
    }

    #[test]
    fn a_mount_point_is_read_whatever_is_in_its_name() {
        let mounts = b"36 35 98:0 / / rw - ext4 /dev/sda rw\n\
            37 36 0:5 / /a\\040b\\011c\\012d\\134e\\043f rw shared:1 - tmpfs t rw\n\
            38 36 0:6 /x /\xff\\134040 rw - tmpfs t rw\n\
            39 36 0:7 / /odd\\04 rw - tmpfs t rw\n";
        let points: Vec<Vec<u8>> = mount_points(mounts)
            .map(|point| point.into_os_string().into_vec())
            .collect();
        let names = [&b"/"[..], b"/a b\tc\nd\\e#f", b"/\xff\\040", b"/odd\\04"];
        assert_eq!(points, names);
    }
}
