//! Makes transactions survive a power failure: the write-ahead file is synced after the commit. Of several processes that
//! wait for this at once, one syncs the file for all.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use super::files::Files;
use crate::host::{self, RangeLock};

/// The byte of the lock file that the process locks which syncs. No claim has this number.
const SYNCS: u64 = i64::MAX as u64 - 1;

/// Where the lock file holds the number of the last sync that began, and of the last one that succeeded: eight bytes each.
const BEGUN: u64 = 0;
const DONE: u64 = 8;

#[derive(Debug, Default)]
pub(super) struct Flusher {
    /// Once there was a commit to sync.
    open: Option<Open>,
}

#[derive(Debug)]
pub(super) struct Open {
    write_ahead: File,
    numbers: File,
    lock: RangeLock,
}

impl Flusher {
    /// Takes what a flush needs, before there is something to sync: a commit cannot be taken back.
    pub(super) fn prepare(&mut self, files: &Files) -> io::Result<&Open> {
        let open = match self.open.take() {
            Some(open) => open,
            None => Open::of(files)?,
        };
        Ok(self.open.insert(open))
    }

    /// Waits until everything that was committed before is on the disk.
    pub(super) fn flush(&mut self, files: &Files) -> io::Result<()> {
        let open = self.prepare(files)?;
        // A sync with a greater number begins after the commit.
        let before = open.number(BEGUN)?;
        open.lock.wait_for(SYNCS)?;
        let synced = open.sync_after(before);
        open.lock.give_back(SYNCS)?;
        synced
    }
}

impl Open {
    fn of(files: &Files) -> io::Result<Self> {
        let numbers = files.lock_file()?;
        if numbers.metadata()?.len() < DONE + 8 {
            // The file gets its block while there is space. If another process has written its number meanwhile, the next
            // sync is made once more.
            numbers.write_all_at(&[0; 8], DONE)?;
        }
        Ok(Self {
            write_ahead: host::open_plain(&files.write_ahead, File::options().read(true))?,
            lock: RangeLock::new(numbers.try_clone()?),
            numbers,
        })
    }

    /// Syncs the file, unless another process has done it since: the last sync has a greater number than `before`.
    fn sync_after(&self, before: u64) -> io::Result<()> {
        if self.number(DONE)? > before {
            return Ok(());
        }
        let own = self.number(BEGUN)? + 1;
        self.numbers.write_all_at(&own.to_le_bytes(), BEGUN)?;
        self.write_ahead.sync_data()?;
        self.numbers.write_all_at(&own.to_le_bytes(), DONE)
    }

    /// A number of the lock file; 0 in a new one.
    fn number(&self, at: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        match self.numbers.read_exact_at(&mut bytes, at) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read.map(|()| u64::from_le_bytes(bytes)),
        }
    }
}
