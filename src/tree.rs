//! Accesses the tree by directory handles. No other code of a plan accesses files (invariant 4).

mod attributes;
mod dir;
mod names;
mod probe;
mod root;
mod view;

use std::{
    fs::{self, File},
    io,
    os::fd::AsFd,
    thread,
};

use jiff::Timestamp;
use rustix::{
    fs::{
        AtFlags, FileType, Statx, StatxAttributes, StatxFlags, Timespec, fstatfs, makedev, statx,
        syncfs,
    },
    io::Errno,
    process::geteuid,
};
use serde::{Deserialize, Serialize};

use crate::{
    host::{Locked, RangeLock},
    task::{Failure, Fault, RelPath},
};

pub(crate) use attributes::{Attributes, Beside, Inherited, Kept};
pub(crate) use dir::Dir;
pub(crate) use names::Weakness;
pub(crate) use probe::lacks;
pub(crate) use root::{Jail, Root, jailed};
pub(crate) use view::{Located, View};

/// An error of the file system, with the operation and the path.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{path}`: {}", words(*errno, path))]
pub(crate) struct FileError {
    /// A verb: `open`, `rename`.
    pub(crate) operation: &'static str,
    pub(crate) path: String,
    pub(crate) errno: Errno,
}

impl FileError {
    pub(crate) fn of<E: Into<io::Error>>(
        operation: &'static str,
        path: impl ToString,
    ) -> impl FnOnce(E) -> Self {
        move |error| Self {
            operation,
            path: path.to_string(),
            errno: Errno::from_io_error(&error.into()).unwrap_or(Errno::IO),
        }
    }

    pub(crate) fn fault(&self) -> Fault {
        match self.errno {
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Fault::DiskFull,
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Fault::PermissionDenied,
            Errno::NOENT => Fault::FileNotFound,
            Errno::EXIST | Errno::NOTEMPTY => Fault::FileExists,
            Errno::LOOP | Errno::XDEV => Fault::PathOutside,
            Errno::NOTDIR | Errno::ISDIR => Fault::NotAFile,
            Errno::NAMETOOLONG if RelPath::parse(&self.path).is_err() => Fault::PathOutside,
            _ => Fault::FileSystem,
        }
    }
}

/// Parses a path that was put together, which may be too long. The error says the same as of a path in a plan.
pub(crate) fn joined(operation: &'static str, path: &str) -> Result<RelPath, FileError> {
    RelPath::parse(path).map_err(|_| FileError::of(operation, path)(Errno::NAMETOOLONG))
}

/// `None` if nothing is there.
pub(crate) fn there<T>(found: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.errno == Errno::NOENT => Ok(None),
        Err(error) => Err(error),
    }
}

/// The innermost directory on the path that exists; `None` = the root.
pub(crate) fn innermost<T>(
    path: &RelPath,
    look: impl Fn(&RelPath) -> Result<Option<T>, FileError>,
) -> Result<Option<RelPath>, FileError> {
    let mut innermost = None;
    for dir in path.ancestors() {
        if look(&dir)?.is_none() {
            break;
        }
        innermost = Some(dir);
    }
    Ok(innermost)
}

fn words(errno: Errno, path: &str) -> String {
    match errno {
        Errno::NOSPC => "no space is left on the disk; free some and try again".to_owned(),
        Errno::DQUOT => "the disk quota is used up; free some space and try again".to_owned(),
        Errno::ACCESS => format!("{}; check owner and mode", io::Error::from(errno)),
        Errno::PERM => {
            format!(
                "{}; check the owner and the attributes (lsattr)",
                io::Error::from(errno)
            )
        }
        Errno::LOOP => "a symbolic link is on the path, or was put there meanwhile".to_owned(),
        Errno::XDEV => "the path leads out of the root, or to another file system".to_owned(),
        Errno::NAMETOOLONG => match RelPath::parse(path) {
            Ok(_) => io::Error::from(errno).to_string(),
            Err(why) => why.to_owned(),
        },
        // Also of a pipe or a device.
        Errno::ISDIR => "it is not a regular file".to_owned(),
        _ => io::Error::from(errno).to_string(),
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::new(error.fault(), error.to_string())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// Syncs the whole file system: few flushes, but it also waits for data of other programs.
    FileSystem,
    /// Syncs each file and directory of the plan, several at once.
    Each,
}

/// With more unwritten data than this, a sync of the whole file system takes longer than one of each file.
const MUCH_KIB: u64 = 32 * 1024;

impl Barrier {
    /// Chooses by the amount of unwritten data (`Dirty` and `Writeback` of /proc/meminfo). A sync of a whole file system in
    /// user space does not reach the program that keeps its files.
    pub(crate) fn fitting(dir: &Dir<'_>) -> Self {
        if is_of_kind(dir.fd(), FUSE) {
            return Self::Each;
        }
        let told = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let waiting: u64 = told
            .lines()
            .filter(|line| line.starts_with("Dirty:") || line.starts_with("Writeback:"))
            .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
            .sum();
        if waiting > MUCH_KIB {
            Self::Each
        } else {
            Self::FileSystem
        }
    }
}

/// How many flushes of files and directories wait for the disk at the same time, at least.
const AT_ONCE: usize = 16;

/// Waits until these files, and the names in these directories (`None` = the root), are on the disk. Directories that do not
/// exist yet, or no longer, are left out. `own` is a directory on the file system of all, if it is synced as a whole. An error is final: the kernel may have dropped the pages it could not write.
pub(crate) fn durable(
    own: &Dir<'_>,
    barrier: Barrier,
    files: &[RelPath],
    dirs: &[Option<RelPath>],
    threads: usize,
) -> Result<(), FileError> {
    if barrier == Barrier::FileSystem {
        return syncfs(own.fd()).map_err(FileError::of("sync the file system of", own.name(".")));
    }
    let root = own.root;
    let files = files.iter().map(Flush::Data);
    let flushes: Vec<Flush<'_>> = files.chain(dirs.iter().map(Flush::Names)).collect();
    at_once(&flushes, threads.max(AT_ONCE), |flush| match flush {
        Flush::Data(path) => {
            let dir = root.parent(path)?;
            let (file, _) = dir.open(path.name())?;
            dir.sync_data(path.name(), &file)
        }
        Flush::Names(dir) => there(root.dir(dir.as_ref()))?.map_or(Ok(()), |dir| dir.sync()),
    })
}

/// What is waited for.
enum Flush<'p> {
    Data(&'p RelPath),
    Names(&'p Option<RelPath>),
}

/// Does the work for each item on several threads, or on this one if none can be started. Returns the first error in the
/// order of the list.
fn at_once<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> Result<(), FileError> + Sync,
) -> Result<(), FileError> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    let each = |items: &[T]| items.iter().try_for_each(&work);
    thread::scope(|scope| {
        let workers: Vec<_> = items
            .chunks(share)
            .map(|items| {
                let worker = thread::Builder::new().spawn_scoped(scope, move || each(items));
                (items, worker)
            })
            .collect();
        workers.into_iter().try_for_each(|(items, worker)| {
            let Ok(worker) = worker else {
                return each(items);
            };
            let done = worker.join();
            done.unwrap_or_else(|_| Err(FileError::of("sync", "files")(Errno::IO)))
        })
    })
}

/// The facts about a file: kind, size, time, owner, identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) kind: FileKind,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970, as far as they can be counted (until 2262).
    pub(crate) mtime: i64,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) nlink: u64,
    /// The mount that it is in: nothing can be renamed or linked into another one, not even where both show the same file
    /// system (bind mounts). It differs from that of its directory if the file is a mount point. It is no fact of the file.
    #[serde(skip)]
    pub(crate) mount: u64,
    /// Whether it is immutable or append-only (chattr(1)), so that a change could be impossible to undo.
    #[serde(skip)]
    pub(crate) is_locked: bool,
}

/// POSIX's kinds of files, as far as a plan tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileKind {
    File,
    Dir,
    Link,
    Other,
}

/// Why nothing shows that this user or root wrote an open file, and that it is no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Anonymous {
    #[error("belongs to another user")]
    OtherOwner,
    #[error(
        "could be a copy: the file system keeps no birth times, which would show that it is not"
    )]
    NoBirthTimes,
    #[error("can be written to by other users")]
    OthersWrite,
}

/// Identifies a file among all that its file system ever had; a copy has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Birth {
    pub(crate) ino: u64,
    /// Nanoseconds since 1970.
    pub(crate) born: i64,
}

/// A lock that no program can pass which writes to a database, as DuckDB locks the whole file; `None` if one has it open.
pub(crate) fn held_still(dir: &Dir<'_>, name: &str) -> Result<Option<RangeLock>, FileError> {
    let (file, _) = dir.open(name)?;
    let lock = RangeLock::new(file);
    let locked = lock
        .share(0)
        .map_err(FileError::of("lock", dir.name(name)))?;
    Ok((locked == Locked::Ours).then_some(lock))
}

impl Birth {
    /// An access control list shows in the bits of the group.
    pub(crate) fn of(file: &File) -> Result<Result<Self, Anonymous>, Errno> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME | StatxFlags::UID | StatxFlags::MODE;
        let found = match statx(file.as_fd(), "", AtFlags::EMPTY_PATH, wanted) {
            Err(Errno::NOSYS) => return Ok(Err(Anonymous::NoBirthTimes)),
            found => found?,
        };
        if found.stx_uid != geteuid().as_raw() && found.stx_uid != 0 {
            return Ok(Err(Anonymous::OtherOwner));
        }
        let known = StatxFlags::from_bits_retain(found.stx_mask).contains(wanted);
        let seconds = found.stx_btime.tv_sec.checked_mul(1_000_000_000);
        let born = seconds.and_then(|born| born.checked_add(i64::from(found.stx_btime.tv_nsec)));
        Ok(match born.filter(|_| known) {
            None => Err(Anonymous::NoBirthTimes),
            Some(_) if found.stx_mode & 0o022 != 0 => Err(Anonymous::OthersWrite),
            Some(born) => Ok(Self {
                ino: found.stx_ino,
                born,
            }),
        })
    }
}

/// The mode of a symbolic link in a diff of git.
pub(crate) const LINK_MODE: u32 = 0o120_000;

impl Facts {
    /// What is asked of the kernel for them.
    const ASKED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);

    fn of(found: &Statx) -> Self {
        let mode = u32::from(found.stx_mode);
        let kind = match FileType::from_raw_mode(mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Dir,
            FileType::Symlink => FileKind::Link,
            _ => FileKind::Other,
        };
        let dev = makedev(found.stx_dev_major, found.stx_dev_minor);
        let locked = StatxAttributes::IMMUTABLE | StatxAttributes::APPEND;
        // Linux gives the number of the mount since 5.8.
        let knows_mount = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
        let seconds = found.stx_mtime.tv_sec.saturating_mul(1_000_000_000);
        Self {
            kind,
            dev,
            ino: found.stx_ino,
            bytes: found.stx_size,
            mtime: seconds.saturating_add(i64::from(found.stx_mtime.tv_nsec)),
            mode: mode & 0o7777,
            uid: found.stx_uid,
            gid: found.stx_gid,
            nlink: found.stx_nlink.into(),
            mount: if knows_mount { found.stx_mnt_id } else { dev },
            is_locked: found.stx_attributes.intersects(locked),
        }
    }

    /// The modification time.
    pub(crate) fn modified(&self) -> Timestamp {
        Timestamp::from_nanosecond(self.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// The permission bits as reports write them: `0644`.
    pub(crate) fn octal(&self) -> String {
        format!("{:04o}", self.mode)
    }

    /// What a look at a new symbolic link would tell of its kind.
    pub(crate) fn of_new_link() -> Self {
        Self {
            kind: FileKind::Link,
            dev: 0,
            ino: 0,
            bytes: 0,
            mtime: 0,
            mode: 0o777,
            uid: 0,
            gid: 0,
            nlink: 1,
            mount: 0,
            is_locked: false,
        }
    }

    /// The permission bits; of a symbolic link, [`LINK_MODE`].
    pub(crate) fn git_mode(&self) -> u32 {
        match self.kind {
            FileKind::Link => LINK_MODE,
            FileKind::File | FileKind::Dir | FileKind::Other => self.mode,
        }
    }

    /// Whether it has a content that can be compared: a file, or a link, whose content is where it leads.
    pub(crate) fn has_content(&self) -> bool {
        matches!(self.kind, FileKind::File | FileKind::Link)
    }

    /// Whether it is the same file with, as far as a look tells, the same content, owner and permissions.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let (nlink, mount, is_locked) = (other.nlink, other.mount, other.is_locked);
        Self {
            nlink,
            mount,
            is_locked,
            ..*self
        } == *other
    }

    /// Whether both are names of one file now.
    pub(crate) fn is_file_of(&self, other: &Self) -> bool {
        (self.dev, self.ino) == (other.dev, other.ino)
    }

    /// The same across a restart, after which the file system may have another number.
    pub(crate) fn same_later(&self, other: &Self) -> bool {
        let dev = other.dev;
        Self { dev, ..*self }.same(other)
    }
}

/// File systems in user space.
const FUSE: u32 = 0x6573_5546;
const OVERLAY: u32 = 0x794c_7630;

fn is_of_kind(fd: impl AsFd, kind: u32) -> bool {
    fstatfs(fd).is_ok_and(|found| u32::try_from(found.f_type).is_ok_and(|found| found == kind))
}

fn timespec(nanoseconds: i64) -> Timespec {
    Timespec {
        tv_sec: nanoseconds.div_euclid(1_000_000_000),
        tv_nsec: nanoseconds.rem_euclid(1_000_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_restart_the_number_of_the_file_system_says_nothing() {
        let now = Facts {
            kind: FileKind::File,
            dev: 41,
            ino: 257,
            bytes: 4,
            mtime: 1,
            mode: 0o644,
            uid: 0,
            gid: 0,
            nlink: 2,
            mount: 7,
            is_locked: false,
        };
        let then = Facts { dev: 43, ..now };
        assert!(!now.same(&then) && now.same_later(&then));
        assert!(!now.same_later(&Facts { mtime: 2, ..then }));
        assert!(!now.same_later(&Facts {
            mode: 0o755,
            ..then
        }));
        assert!(now.same_later(&Facts { nlink: 1, ..then }));
    }
}
