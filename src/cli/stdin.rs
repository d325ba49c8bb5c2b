//! Reads the task. stdin is read to its end, until a signal comes, or until the run's time is over. A file must be
//! a regular file, so that the run never waits for a pipe or a device.

use std::{
    io::{self, IsTerminal, Read as _},
    time::Duration,
};

use camino::Utf8Path;
use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags},
    io::Errno,
};

use crate::{
    envelope::MAX_BYTES,
    host::{self, Host, Moment},
    task::{Failure, Fault},
};

use super::streams::ready;

/// The initial capacity of the buffer, in bytes. Most tasks fit.
const BLOCK: usize = 16 * 1024;

/// Reads stdin to its end, or until a signal comes, the budget is spent, or there are more than `MAX_BYTES`.
pub(super) fn read(
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
    if stdin.is_terminal() {
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
    let left = || budget.map(|budget| budget.saturating_sub(begun.passed()));
    let mut bytes = Vec::with_capacity(BLOCK);
    loop {
        let mut files = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        if !ready(&mut files, left).map_err(failed)? {
            let message = "the task was not complete within the time of --timeout; close stdin after the task";
            return Err(Failure::new(Fault::ToolTimeout, message));
        }
        if let Some(interrupt) = host.interrupts().caught() {
            return Err(Failure::new(
                Fault::Cancelled,
                format!("cancelled by {} before the task was read", interrupt.name()),
            ));
        }
        bytes.reserve(1);
        let read = match rustix::io::read(stdin, spare_capacity(&mut bytes)) {
            // A signal came; or the pipe is non-blocking and another reader took the bytes.
            Err(Errno::INTR | Errno::WOULDBLOCK) => continue,
            // stdin is closed or only open for writing: there is nothing to read.
            Err(Errno::BADF) => 0,
            read => read.map_err(|errno| failed(errno.into()))?,
        };
        if read == 0 || bytes.len() > MAX_BYTES {
            // The JSON reader refuses more than MAX_BYTES.
            return Ok(bytes);
        }
    }
}

/// Reads at most one byte more than a task may have. The JSON reader then refuses the task.
pub(super) fn read_file(path: &Utf8Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = host::open_named(path)
        .and_then(|file| file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) => {
            let message = format!("cannot read the task from {path}: {error}");
            let else_ = match error.kind() {
                io::ErrorKind::InvalidInput => "; give the task on stdin",
                _ => "",
            };
            Err(Failure::new(Fault::InvalidUsage, message + else_))
        }
    }
}
