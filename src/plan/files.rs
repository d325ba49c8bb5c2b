//! Accesses the tree by directory handles. No other code of a plan accesses files (invariant 4).
//!
//! Every call that changes something goes through [`Faults::before`], so that tests and
//! `oneact selftest` can stop the process, or have the call fail, at each of them.

mod attributes;
mod dir;
mod facts;
mod faults;
mod root;
mod view;

use std::{fs, io, thread};

use rustix::{fs::syncfs, io::Errno};

use crate::task::{Failure, Fault, RelPath};

use faults::{Call, Waiting};

pub(crate) use attributes::{Attributes, Inherited, Kept};
pub(crate) use dir::Dir;
pub(crate) use facts::{Birth, Facts, Kind, Mounted};
pub(crate) use faults::Faults;
pub(crate) use root::{Root, jailed};
pub(crate) use view::{Located, View};

/// An error of the file system, with the operation and the path.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} `{path}`: {}", words(*errno))]
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
            _ => Fault::FileSystem,
        }
    }
}

/// Parses a path that was put together, which may be too long.
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

fn words(errno: Errno) -> String {
    match errno {
        Errno::NOSPC => "no space is left on the disk; free some and try again".to_owned(),
        Errno::DQUOT => "the disk quota is used up; free some space and try again".to_owned(),
        Errno::ACCESS | Errno::PERM => {
            format!("{}; check owner and mode", io::Error::from(errno))
        }
        Errno::LOOP => "a symbolic link is on the path, or was put there meanwhile".to_owned(),
        Errno::XDEV => "the path leads out of the root, or to another file system".to_owned(),
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
    /// Chooses by the amount of unwritten data (`Dirty` and `Writeback` of /proc/meminfo).
    pub(crate) fn fitting(root: &Root) -> Self {
        if root.faults.waiting == Waiting::Each {
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

/// Waits until these files, and the names in these directories (`None` = the root), are on the disk.
/// An error is final: the kernel may have dropped the pages it could not write.
pub(crate) fn durable(
    root: &Root,
    barrier: Barrier,
    files: &[RelPath],
    dirs: &[Option<RelPath>],
    threads: usize,
) -> Result<(), FileError> {
    match barrier {
        Barrier::FileSystem => {
            let mut synced = root.faults.before(Call::Sync);
            if root.faults.barriers() {
                synced = synced.and_then(|()| syncfs(root.fd()));
            }
            synced.map_err(FileError::of("sync the file system of", root.path()))
        }
        Barrier::Each => {
            at_once(files, threads, |path| {
                let dir = root.parent(path)?;
                let (file, _) = dir.open(path.name())?;
                dir.sync_data(path.name(), &file)
            })?;
            at_once(dirs, threads, |dir| root.dir(dir.as_ref())?.sync())
        }
    }
}

/// Does the work for each item on several threads. Returns the first error in the order of the list.
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
            .map(|items| scope.spawn(move || each(items)))
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err(FileError::of("sync", "files")(Errno::IO)))
        })
    })
}
