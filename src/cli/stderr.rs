//! stderr for people, and never in the way of a run: what nobody reads is left out.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

/// How long the first words that find stderr full wait for a reader. Those after them do not wait
/// until somebody has read.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};
const NONE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// What a pipe takes without blocking if it takes anything (`PIPE_BUF`).
const PIECE: usize = 4096;

/// Whether the last words found nobody to read them.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// The stream.
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

/// Says why the command line cannot be used, with its colours at a terminal.
pub(super) fn tell(error: &clap::Error) {
    // If stderr is gone, nothing can be done.
    let _ = if io::stderr().is_terminal() {
        error.print()
    } else {
        Stderr.write_all(error.render().to_string().as_bytes())
    };
}

fn has_room() -> bool {
    let stderr = io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    let patience = if UNREAD.load(Ordering::Relaxed) {
        NONE
    } else {
        PATIENCE
    };
    let room = loop {
        match poll(&mut ready, Some(&patience)) {
            Err(Errno::INTR) => {}
            // Where one cannot wait, one can only write.
            Err(_) => break true,
            Ok(count) => break count > 0,
        }
    };
    UNREAD.store(!room, Ordering::Relaxed);
    room
}
