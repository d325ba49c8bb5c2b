//! Reads the task, and writes to stdout and stderr.
//!
//! stdin is read to its end, until a signal comes, or until the run's time is over. A file must be a regular file, so
//! that the run never waits for a pipe or a device. stdout is written completely, or the error is returned. A full
//! stderr pipe does not block the run: text that does not fit is dropped.

use std::{
    io::{self, IsTerminal, Read as _, Write},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use camino::Utf8Path;
use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{
    envelope::MAX_BYTES,
    host::{self, Host, Moment},
    task::{Failure, Fault, visible_lines},
};

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

    /// Writes all of it, with no line of another thread between.
    fn write_all(&mut self, mut words: &[u8]) -> io::Result<()> {
        let _alone = io::stderr().lock();
        while !words.is_empty() {
            let written = self.write(words)?;
            words = words.get(written..).unwrap_or_default();
        }
        Ok(())
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

/// Prints a line for a person.
pub(super) fn say(line: &str) {
    // If stderr is gone, nothing can be done.
    let _ = Stderr.write_all(format!("oneact: {}\n", visible_lines(line)).as_bytes());
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

/// The initial capacity of the buffer, in bytes. Most tasks fit.
const BLOCK: usize = 16 * 1024;

/// The longest time between the end of a terminal and its signal.
const HANGUP: Duration = Duration::from_millis(200);

/// After this time without a byte, a run that may wait for ever says what it waits for.
const SILENCE: Duration = Duration::from_secs(2);

/// Reads stdin to its end, or until a signal comes, the budget is spent, or there are more than `MAX_BYTES`.
pub(super) fn read_task(
    host: &Host,
    begun: Moment,
    budget: Option<Duration>,
) -> Result<Vec<u8>, Failure> {
    let wake = host.interrupts().wake().map_err(|error| {
        let message = format!(
            "cannot listen for signals: {error}; is the limit of open files (`ulimit -n`) too low?"
        );
        Failure::new(Fault::InvalidUsage, message)
    })?;
    let stdin = rustix::stdio::stdin();
    let is_terminal = stdin.is_terminal();
    if is_terminal {
        tracing::warn!(
            "reading a task from the terminal; press Ctrl-D to end it (see `oneact --help`)"
        );
    }
    let failed = |error: io::Error| {
        Failure::new(
            Fault::InvalidJson,
            format!("cannot read the task from stdin: {error}"),
        )
    };
    let cancelled = || match host.interrupts().caught() {
        Some(interrupt) => Err(Failure::new(
            Fault::Cancelled,
            format!("cancelled by {} before the task was read", interrupt.name()),
        )),
        None => Ok(()),
    };
    let mut silence = (budget.is_none() && !is_terminal).then_some(SILENCE);
    let mut bytes = Vec::with_capacity(BLOCK);
    loop {
        let left = || match budget {
            Some(budget) => Some(budget.saturating_sub(begun.passed())),
            None => silence,
        };
        let mut files = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        if !ready(&mut files, left).map_err(failed)? {
            if silence.take().is_some() {
                tracing::warn!("waiting for a task on stdin; close stdin after the task");
                continue;
            }
            let message = "the task was not complete within the time of --timeout; close stdin after the task";
            return Err(Failure {
                // The caller has to close stdin, so the same call does not help.
                recoverable: false,
                ..Failure::new(Fault::ToolTimeout, message)
            });
        }
        cancelled()?;
        bytes.reserve(1);
        let read = match rustix::io::read(stdin, spare_capacity(&mut bytes)) {
            // A signal came; or the pipe is non-blocking and another reader took the bytes.
            Err(Errno::INTR | Errno::WOULDBLOCK) => continue,
            // stdin is closed or only open for writing: there is nothing to read.
            Err(Errno::BADF) => Ok(0),
            read => read,
        };
        if is_terminal && matches!(read, Ok(0) | Err(_)) {
            // If the terminal has gone away, its signal may follow the end of the input.
            let wake = PollFd::new(wake, PollFlags::IN);
            ready(&mut [wake], || Some(HANGUP)).map_err(failed)?;
            cancelled()?;
        }
        let read = read.map_err(|errno| failed(errno.into()))?;
        if read == 0 || bytes.len() > MAX_BYTES {
            // The JSON reader refuses more than MAX_BYTES.
            return Ok(bytes);
        }
    }
}

/// Reads at most one byte more than a task may have. The JSON reader then refuses the task.
pub(super) fn read_task_file(path: &Utf8Path) -> Result<Vec<u8>, Failure> {
    read_file("the task", path)
}

/// The same of another document, which `what` names.
pub(super) fn read_file(what: &str, path: &Utf8Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = host::open_named(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let message = format!("cannot read {what} from {path}: {error}");
            let else_ = match error.kind() {
                io::ErrorKind::InvalidInput => format!("; give {what} on stdin"),
                _ => String::new(),
            };
            Err(Failure::new(Fault::InvalidUsage, message + &else_))
        }
    }
}
