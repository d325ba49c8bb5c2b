//! Waiting until what was written cannot be lost any more.

use std::{fs, thread};

use rustix::{fs::syncfs, io::Errno};

use crate::task::RelPath;

use super::{
    FileError, Root,
    faults::{Call, Waiting},
};

/// How it is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// The whole file system at once: few flushes, but it waits for everybody's data.
    FileSystem,
    /// Each file and directory of ours, several at once.
    Each,
}

/// Beyond so much data of others in memory, waiting for all of it would cost more than waiting for each
/// file of ours.
const MUCH_KIB: u64 = 32 * 1024;

impl Barrier {
    /// By how busy the machine is with writing (`Dirty` and `Writeback` of /proc/meminfo).
    pub(crate) fn fitting(root: &Root) -> Self {
        if root.faults.waiting() == Waiting::Each {
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
            root.faults
                .before(Call::Sync)
                .map_err(FileError::of("sync the file system of", root.path()))?;
            if !root.faults.barriers() {
                return Ok(());
            }
            syncfs(root.fd()).map_err(FileError::of("sync the file system of", root.path()))
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

/// Does it to each, on so many threads; the first error in the order of the list is the answer.
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
