//! Writes to stdout and stderr. stdout is written completely, or the error is returned. A full stderr pipe does
//! not block the run: text that does not fit is dropped.

use std::{
    io::{self, Write},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::task::visible_lines;

/// A pipe that has room takes at least this many bytes without blocking (`PIPE_BUF`).
const PIECE: usize = 4096;

/// How often `stop` is called while the pipe is full.
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
            // If waiting is impossible, try to write.
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

/// Waits until one of the files is ready, or until the time that is `left` is over. `None` means no limit. Whether one
/// is ready.
pub(super) fn ready(
    files: &mut [PollFd<'_>],
    left: impl Fn() -> Option<Duration>,
) -> io::Result<bool> {
    loop {
        let most = left().and_then(|left| Timespec::try_from(left).ok());
        match poll(files, most.as_ref()) {
            Err(Errno::INTR) => {}
            count => return Ok(count? > 0),
        }
    }
}

/// How long a write to a full stderr waits for a reader. While it stays full, later writes do
/// not wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether the last write found stderr full.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// stderr, which never blocks the run.
#[derive(Debug)]
pub(super) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, words: &[u8]) -> io::Result<usize> {
        if !has_room() {
            return Ok(words.len());
        }
        let piece = words.get(..PIECE).unwrap_or(words);
        io::stderr().write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Prints why the command line cannot be used. The arguments that it quotes may be foreign text.
pub(super) fn tell(error: &clap::Error) {
    // If stderr is gone, nothing can be done.
    let _ = Stderr.write_all(visible_lines(&error.render().to_string()).as_bytes());
}

fn has_room() -> bool {
    let stderr = io::stderr();
    let patience = if UNREAD.load(Ordering::Relaxed) {
        Duration::ZERO
    } else {
        PATIENCE
    };
    // If waiting is impossible, try to write.
    let file = PollFd::new(&stderr, PollFlags::OUT);
    let room = ready(&mut [file], || Some(patience)).unwrap_or(true);
    UNREAD.store(!room, Ordering::Relaxed);
    room
}
