//! Reads the task, and writes to stdout and stderr.
//!
//! stdin is read to its end, until a signal comes, or until the run's time is over. A file must be a regular file, so
//! that the run never waits for a pipe or a device. stdout is written completely, or the error is returned. A full
//! stderr pipe does not block the run: text that does not fit is dropped.

use std::{
    io::{self, IsTerminal, Read as _, Write as _},
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
    host::{self, Host, Interrupts, Moment},
    task::{Failure, Fault, visible_json},
};

/// A pipe that has room takes at least this many bytes without blocking (`PIPE_BUF`).
const PIECE: usize = 4096;

/// How often `stop` is called while the pipe is full.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Writes all bytes to stdout, or reports the error on stderr. A reader that has read enough, as `head` does, is no error.
pub(super) fn print(bytes: &[u8]) -> io::Result<()> {
    match write(bytes, &AtomicUsize::new(0), &|| false) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.inspect_err(unwritten),
    }
}

/// Like [`print()`] for an answer, which somebody must read, and counts the bytes that the reader has taken. `stop`
/// ends the waiting for a slow reader.
pub(super) fn print_unless(
    bytes: &[u8],
    taken: &AtomicUsize,
    stop: &dyn Fn() -> bool,
) -> io::Result<()> {
    write(bytes, taken, stop).inspect_err(unwritten)
}

fn unwritten(error: &io::Error) {
    tracing::error!(%error, "cannot write to stdout: the reader has closed it, or the disk is full");
}

/// Writes all bytes, and counts those that the reader has taken. While the pipe is full, `stop` ends the waiting.
/// Control characters that JSON leaves unescaped are escaped here, because the text may quote foreign text.
/// The standard library ignores the error of a stdout that cannot be written to; this function returns it.
fn write(bytes: &[u8], taken: &AtomicUsize, stop: &dyn Fn() -> bool) -> io::Result<()> {
    let text = std::str::from_utf8(bytes).map(visible_json);
    let out = rustix::stdio::stdout();
    let mut rest = text.as_ref().map_or(bytes, |text| text.as_bytes());
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

/// Prints a text for a person to stderr, with no line of another thread between. It never blocks the run: what does not fit
/// is dropped. If stderr is gone, nothing can be done.
pub(super) fn tell(text: &str) {
    let mut stderr = io::stderr().lock();
    let mut rest = text.as_bytes();
    while !rest.is_empty() && has_room() {
        match stderr.write(rest.get(..PIECE).unwrap_or(rest)) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
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

/// What came of waiting for stdin.
pub(super) enum StdinPart {
    /// That many bytes; 0 at the end.
    Read(usize),
    Signal,
    TimeOver,
}

/// Waits for stdin and reads a part of it, until a signal comes or the time that is `left` is over.
pub(super) fn read_part(
    bytes: &mut Vec<u8>,
    interrupts: &Interrupts,
    left: impl Fn() -> Option<Duration>,
) -> io::Result<StdinPart> {
    let (stdin, wake) = (rustix::stdio::stdin(), interrupts.wake()?);
    loop {
        let mut files = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        if !ready(&mut files, &left)? {
            return Ok(StdinPart::TimeOver);
        }
        if interrupts.caught().is_some() {
            return Ok(StdinPart::Signal);
        }
        bytes.reserve(1);
        match rustix::io::read(stdin, spare_capacity(bytes)) {
            // A signal came; or the pipe is non-blocking and another reader took the bytes.
            Err(Errno::INTR | Errno::WOULDBLOCK) => {}
            // stdin is closed or only open for writing: there is nothing to read.
            Err(Errno::BADF) => return Ok(StdinPart::Read(0)),
            read => return Ok(StdinPart::Read(read?)),
        }
    }
}

/// Reads stdin to its end, or until a signal comes, the budget is spent, or there are more than `MAX_BYTES`.
pub(super) fn read_task(
    host: &Host,
    begun: Moment,
    budget: Option<Duration>,
) -> Result<Vec<u8>, Failure> {
    let interrupts = host.interrupts();
    let wake = interrupts.wake().map_err(|error| {
        let message = format!(
            "cannot listen for signals: {error}; is the limit of open files (`ulimit -n`) too low?"
        );
        Failure::new(Fault::InvalidUsage, message)
    })?;
    let is_terminal = rustix::stdio::stdin().is_terminal();
    if is_terminal {
        tracing::warn!(
            "reading a task from the terminal; press Ctrl-D to end it (see `oneact --help`)"
        );
    }
    let failed = |error: io::Error| {
        let message = format!("cannot read the task from stdin: {error}");
        Failure::new(Fault::InvalidJson, message)
    };
    let mut silence = (budget.is_none() && !is_terminal).then_some(SILENCE);
    let mut bytes = Vec::with_capacity(BLOCK);
    loop {
        let left = || match budget {
            Some(budget) => Some(budget.saturating_sub(begun.passed())),
            None => silence,
        };
        let part = read_part(&mut bytes, interrupts, left);
        if is_terminal && matches!(part, Ok(StdinPart::Read(0)) | Err(_)) {
            // If the terminal has gone away, its signal may follow the end of the input.
            let wake = PollFd::new(wake, PollFlags::IN);
            ready(&mut [wake], || Some(HANGUP)).map_err(failed)?;
        }
        if let Some(interrupt) = interrupts.caught() {
            let message = format!("cancelled by {} before the task was read", interrupt.name());
            return Err(Failure::new(Fault::Cancelled, message));
        }
        match part.map_err(failed)? {
            StdinPart::TimeOver if silence.take().is_some() => {
                tracing::warn!("waiting for a task on stdin; close stdin after the task");
            }
            StdinPart::TimeOver | StdinPart::Signal => {
                let message = "the task was not complete within the time of --timeout; close stdin after the task";
                return Err(Failure {
                    // The caller has to close stdin, so the same call does not help.
                    recoverable: false,
                    ..Failure::new(Fault::ToolTimeout, message)
                });
            }
            // The JSON reader refuses more than MAX_BYTES.
            StdinPart::Read(read) if read == 0 || bytes.len() > MAX_BYTES => return Ok(bytes),
            StdinPart::Read(_) => {}
        }
    }
}

/// Reads the document that `what` names: at most one byte more than a task may have. The JSON reader then refuses it.
pub(super) fn read_file(what: &str, path: &Utf8Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = host::open_named(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        let remedy = match error.kind() {
            io::ErrorKind::InvalidInput => format!("; give {what} on stdin"),
            _ => String::new(),
        };
        let message = format!("cannot read {what} from {path}: {error}{remedy}");
        Failure::new(Fault::InvalidUsage, message)
    })?;
    Ok(bytes)
}
