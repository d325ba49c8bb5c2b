//! stdout: written whole, or it is said why not.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// What a pipe that has room takes without blocking (`PIPE_BUF`).
const PIECE: usize = 4096;
/// How often it is asked whether the waiting for a reader is to end.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Writes all bytes, and counts those that the reader has taken. While the pipe is full, `stop` ends the waiting.
/// The standard library ignores the error of a stdout that cannot be written to; this function returns it.
pub(super) fn write(bytes: &[u8], taken: &AtomicUsize, stop: &dyn Fn() -> bool) -> io::Result<()> {
    let out = rustix::stdio::stdout();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut ready = [PollFd::new(&out, PollFlags::OUT)];
        match poll(&mut ready, Some(&TURN)) {
            Ok(0) | Err(Errno::INTR) if stop() => return Err(io::ErrorKind::Interrupted.into()),
            Ok(0) | Err(Errno::INTR) => continue,
            // Where one cannot wait, one can only write.
            Ok(_) | Err(_) => {}
        }
        match rustix::io::write(out, rest.get(..PIECE).unwrap_or(rest)) {
            Ok(written) => {
                rest = rest.get(written..).unwrap_or_default();
                taken.fetch_add(written, Ordering::Relaxed);
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
