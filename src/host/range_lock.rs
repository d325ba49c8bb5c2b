//! Locks on single bytes of a file (`F_OFD_SETLK`). The kernel releases them however their owner ends.

use std::{fs::File, io};

use nix::{
    fcntl::{FcntlArg, fcntl},
    libc::{F_RDLCK, F_UNLCK, F_WRLCK, SEEK_SET, c_int, c_short, flock, off_t},
};

/// Exclusive locks on bytes of a file. The bytes need not exist. The locks belong to this open file description:
/// closing it releases them, and every other one on the machine sees them.
#[derive(Debug)]
pub struct RangeLock {
    file: File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locked {
    Ours,
    /// Another open file description has the lock.
    Theirs,
}

impl RangeLock {
    /// Locks on bytes of `file`. [`RangeLock::take`] needs a file open for writing, [`RangeLock::is_theirs`] one
    /// open for reading. Child processes do not inherit files that the standard library opens.
    pub fn new(file: File) -> Self {
        Self { file }
    }

    /// Locks that byte, without waiting.
    pub fn take(&self, byte: u64) -> io::Result<Locked> {
        self.lock(F_WRLCK, byte)
    }

    /// The same, shared with others that share it. The file is open for reading.
    pub fn share(&self, byte: u64) -> io::Result<Locked> {
        self.lock(F_RDLCK, byte)
    }

    fn lock(&self, kind: c_int, byte: u64) -> io::Result<Locked> {
        match fcntl(&self.file, FcntlArg::F_OFD_SETLK(&lock(kind, byte)?)) {
            Ok(_) => Ok(Locked::Ours),
            Err(nix::Error::EAGAIN | nix::Error::EACCES) => Ok(Locked::Theirs),
            Err(error) => Err(error.into()),
        }
    }

    /// Locks that byte, and waits until nobody else has it.
    pub fn wait_for(&self, byte: u64) -> io::Result<()> {
        loop {
            match fcntl(&self.file, FcntlArg::F_OFD_SETLKW(&lock(F_WRLCK, byte)?)) {
                Err(nix::Error::EINTR) => {}
                locked => return Ok(locked.map(drop)?),
            }
        }
    }

    pub fn give_back(&self, byte: u64) -> io::Result<()> {
        fcntl(&self.file, FcntlArg::F_OFD_SETLK(&lock(F_UNLCK, byte)?))?;
        Ok(())
    }

    /// Whether another open file description has locked that byte. Locks of this one do not count.
    pub fn is_theirs(&self, byte: u64) -> io::Result<bool> {
        let mut found = lock(F_WRLCK, byte)?;
        fcntl(&self.file, FcntlArg::F_OFD_GETLK(&mut found))?;
        Ok(c_int::from(found.l_type) != F_UNLCK)
    }
}

/// The description of a lock, or of unlocking, for one byte.
fn lock(kind: c_int, byte: u64) -> io::Result<flock> {
    let narrow = |number: c_int| c_short::try_from(number).map_err(io::Error::other);
    Ok(flock {
        l_type: narrow(kind)?,
        l_whence: narrow(SEEK_SET)?,
        l_start: off_t::try_from(byte).map_err(io::Error::other)?,
        l_len: 1,
        // The kernel requires 0 for locks of open file descriptions.
        l_pid: 0,
    })
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::process::ExitStatusExt as _,
        path::Path,
        process::{Command, Stdio},
        thread,
        time::Duration,
    };

    use super::*;

    fn opened(path: &Path) -> RangeLock {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        RangeLock::new(file.unwrap())
    }

    #[test]
    fn a_locked_byte_is_seen_by_another_opening_and_no_other_byte_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let (ours, other) = (opened(&path), opened(&path));
        assert_eq!(ours.take(7).unwrap(), Locked::Ours);
        assert!(other.is_theirs(7).unwrap());
        assert!(!other.is_theirs(8).unwrap());
        assert!(!ours.is_theirs(7).unwrap());
        assert_eq!(other.take(7).unwrap(), Locked::Theirs);
        assert_eq!(other.take(8).unwrap(), Locked::Ours);
        ours.give_back(7).unwrap();
        assert_eq!(other.take(7).unwrap(), Locked::Ours);
    }

    /// Soon: another test may be about to start a program, and have a copy of ours until it has.
    fn assert_free(path: &Path) {
        for _ in 0..500 {
            if !opened(path).is_theirs(1).unwrap() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the lock is still held");
    }

    #[test]
    fn locks_end_with_their_opening() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let ours = opened(&path);
        ours.take(1).unwrap();
        drop(ours);
        assert_free(&path);
    }

    #[test]
    fn a_program_that_we_start_does_not_keep_our_locks() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let ours = opened(&path);
        ours.take(1).unwrap();
        let mut child = Command::new("sleep")
            .arg("60")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(ours);
        assert_free(&path);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(nix::libc::SIGKILL));
    }

    #[test]
    fn a_byte_beyond_what_files_can_have_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(opened(&dir.path().join("lock")).take(u64::MAX).is_err());
    }
}
