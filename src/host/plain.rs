//! Opens files at places where others may have put something else. Only regular files are opened, and opening never
//! waits for a pipe or a device. Symbolic links are followed only to a file that the operator named.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io::{self, Read, Write as _},
    os::{
        fd::AsFd,
        unix::fs::{
            DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
        },
    },
    path::{Path, PathBuf},
};

use camino::Utf8Path;
use rustix::{
    fs::{Mode, OFlags, fstatvfs},
    io::Errno,
    process::umask,
};
use tempfile::{Builder, NamedTempFile};

use super::environment::user_id;

/// Opens a regular file with these options.
pub fn open_plain(path: impl AsRef<Path>, options: &mut OpenOptions) -> io::Result<File> {
    open(path, options, OFlags::NOFOLLOW)
}

/// Opens a file that the operator named, to read it.
pub fn open_named(path: impl AsRef<Path>) -> io::Result<File> {
    open(path, File::options().read(true), OFlags::empty())
}

fn open(path: impl AsRef<Path>, options: &mut OpenOptions, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NONBLOCK;
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(no_plain_file())
    }
}

/// Reads a regular file of at most `most` bytes. A longer file is an error.
pub fn read_plain(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read(&open_plain(path, File::options().read(true))?, most)
}

/// The same of a file that the operator named.
pub fn read_named(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read(&open_named(path)?, most)
}

/// The first buffer for a file, in bytes.
const SMALL: usize = 4096;

fn read(file: &File, most: u64) -> io::Result<Vec<u8>> {
    // Most files are small, so one read gets all of it and another one finds the end.
    let mut bytes = Vec::with_capacity(SMALL);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads to the end in blocks of at most `room` bytes. An interrupted read is repeated.
pub fn each_block<E>(
    reader: &mut dyn Read,
    room: usize,
    failed: impl Fn(io::Error) -> E,
    mut see: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut block = vec![0; room];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(read) => see(block.get(..read).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Puts a file in its place completely or not at all, and waits until it is on the disk. It replaces a file that is there,
/// with the mode and the group of that file if they are given. The new file has a fixed name until then, so that the next
/// call removes what a killed process has left. The caller holds a lock of the directory.
pub fn place(path: impl AsRef<Path>, bytes: &[u8], like: Option<&Metadata>) -> io::Result<()> {
    let path = path.as_ref();
    let file = beside(path, bytes, 0o600, like)?;
    file.persist(path)?;
    sync_dir(path)
}

/// The same without waiting for the disk: after a power failure, the file can be missing, blank or cut short. [`sync_placed`] waits.
pub fn place_unsynced(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    unsynced(path, bytes, 0o600, None)?.persist(path)?;
    Ok(())
}

/// Waits until a file is on the disk, and its name.
pub fn sync_placed(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    File::open(path)?.sync_all()?;
    sync_dir(path)
}

/// The same as [`place`], but if something is in the place, it stays, and the result is `false`. The umask limits who may read the file.
pub fn place_new(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<bool> {
    let path = path.as_ref();
    if path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    if !persist_new(beside(path, bytes, 0o666, None)?, path)? {
        return Ok(false);
    }
    sync_dir(path)?;
    Ok(true)
}

/// Gives a complete file its name, and says whether it has it: if something is there, it stays. On a file system that can
/// neither rename without replacing nor make hard links, a file that is made there at that moment is replaced.
pub fn persist_new(file: NamedTempFile, path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    let Err(refused) = file.persist_noclobber(path) else {
        return Ok(true);
    };
    if refused.error.kind() == io::ErrorKind::AlreadyExists || path.symlink_metadata().is_ok() {
        return Ok(false);
    }
    refused.file.persist(path)?;
    Ok(true)
}

/// The complete new file of [`place`], on the disk.
fn beside(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    like: Option<&Metadata>,
) -> io::Result<NamedTempFile> {
    let file = unsynced(path, bytes, mode, like)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn unsynced(
    path: &Path,
    bytes: &[u8],
    mode: u32,
    like: Option<&Metadata>,
) -> io::Result<NamedTempFile> {
    let new = new_at(path);
    match new.symlink_metadata() {
        Ok(left) if left.is_file() && left.uid() == user_id() => fs::remove_file(&new)?,
        Ok(_) => {
            let message = format!("{} is in the way: remove it", new.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Err(_) => {}
    }
    let mut file = Builder::new()
        .prefix(new.file_name().unwrap_or_default())
        .rand_bytes(0)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory(path))?;
    file.write_all(bytes)?;
    if let Some(like) = like {
        fchown(file.as_file(), None, Some(like.gid()))?;
        file.as_file().set_permissions(like.permissions())?;
    }
    Ok(file)
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// The directory that contains the path.
fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// Where the new file of [`place`] is until it is complete.
pub fn new_at(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".oneact");
    path.with_file_name(name)
}

/// Checks that a path is free or names a regular file, for programs that open the path themselves.
pub fn is_plain_or_free(path: impl AsRef<Path>) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(no_plain_file()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The path without symbolic links, as far as it exists. Links whose target does not exist are followed, too.
pub fn resolved(path: &Path) -> PathBuf {
    within(path, LINKS)
}

/// The most links that a path is followed through, as the kernel counts them.
const LINKS: u32 = 40;

fn within(path: &Path, links: u32) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let Some(parent) = path.parent() else {
        return path.to_owned();
    };
    let Some(name) = path.file_name() else {
        // The last component is `..`.
        let mut above = within(parent, links);
        above.pop();
        return above;
    };
    match fs::read_link(path) {
        Ok(target) if links > 0 => within(&parent.join(target), links - 1),
        _ => within(parent, links).join(name),
    }
}

/// Whether the file system of an open file has no space left, or so little that a write may have failed for it.
pub fn is_full(file: impl AsFd) -> bool {
    /// Less than a transaction of SQLite needs, in bytes.
    const LITTLE: u64 = 128 * 1024;
    fstatvfs(file)
        .is_ok_and(|disk| disk.f_blocks > 0 && disk.f_bavail.saturating_mul(disk.f_frsize) < LITTLE)
}

/// Whether no file descriptor was left. A later attempt may succeed.
pub fn is_out_of_files(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

/// Makes a state directory, which only its user may enter, unless it is there. Git passes over what is in it.
pub fn make_state_dir(dir: &Utf8Path) -> io::Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut options = File::options();
    let options = options.write(true).create_new(true).mode(0o600);
    // Nothing that oneact does depends on this file.
    let file = options.open(dir.join(".gitignore"));
    let _ = file.and_then(|mut file| file.write_all(b"*\n"));
    Ok(())
}

/// Removes the owner's bits from the umask, so that this process and its servers can use the files that they make.
/// Call it at the start of the process, before another thread makes files.
pub fn keep_own_files() {
    let umasked = umask(Mode::RWXU | Mode::RWXG | Mode::RWXO);
    umask(umasked - Mode::RWXU);
}

fn no_plain_file() -> io::Error {
    let message = "it is no regular file, but a link, a directory, a pipe, a socket or a device";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn only_a_regular_file_is_opened_and_nothing_is_waited_for() {
        let keep = tempfile::tempdir().unwrap();
        let at = |name: &str| keep.path().join(name);
        fs::write(at("file"), "abc").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("none"), at("dangling")).unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        assert_eq!(read_plain(at("file"), 3).unwrap(), b"abc");
        assert!(read_plain(at("file"), 2).is_err());
        assert_eq!(read_named(at("link"), 3).unwrap(), b"abc");
        assert!(read_named(at("link"), 2).is_err());
        for odd in ["link", "dangling", "zero", "pipe", "."] {
            assert!(read_plain(at(odd), 9).is_err(), "{odd}");
            assert_eq!(open_named(at(odd)).is_ok(), odd == "link", "{odd}");
            let options = &mut File::options();
            assert!(open_plain(at(odd), options.write(true)).is_err(), "{odd}");
            assert!(is_plain_or_free(at(odd)).is_err(), "{odd}");
        }
        for good in ["file", "none"] {
            is_plain_or_free(at(good)).unwrap();
        }
    }

    #[test]
    fn a_new_file_is_placed_whole_and_never_over_another_or_a_link() {
        let keep = tempfile::tempdir().unwrap();
        let at = |name: &str| keep.path().join(name);
        // A killed process has left a part of the file.
        fs::write(new_at(&at("file")), "a").unwrap();
        assert!(place_new(at("file"), b"abc").unwrap());
        assert!(!place_new(at("file"), b"def").unwrap());
        assert_eq!(fs::read(at("file")).unwrap(), b"abc");
        symlink(at("none"), at("dangling")).unwrap();
        assert!(!place_new(at("dangling"), b"abc").unwrap());
        let mut left: Vec<_> = fs::read_dir(keep.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["dangling", "file"]);
        fs::write(at("made"), "").unwrap();
        let mode = |name: &str| fs::metadata(at(name)).unwrap().mode();
        assert_eq!(mode("file"), mode("made"));
    }
}
