//! `oneact supervise`: performs the tasks on stdin, one per line, and writes an envelope per line. Only
//! `oneact serve catalog` starts it, for the servers that live as long as its session.

use std::{
    mem,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use rustix::{
    buffer::spare_capacity,
    event::{PollFd, PollFlags},
    io::Errno,
};

use crate::{
    host::{Host, Interrupts},
    perform::{Arrived, Seen, broken, keep, perform_with},
    task::Course,
};

use super::{
    Stop, logs, print,
    settings::RunArgs,
    stop,
    streams::ready,
    terminal::{Bar, Shows},
};

/// Performs tasks until stdin ends, a signal comes, or oneact has a defect.
pub(super) fn run(args: &RunArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let settings = args.settings()?;
    let host = Host::new(args.clock.clone(), args.seed, interrupts);
    let kept = keep(&settings, &host).map_err(|failure| stop(1)(failure.message))?;
    let bar = Bar::new(Shows::Lines);
    let mut tasks = Tasks::default();
    while let Some(task) = tasks.next(&host)? {
        let begun = host.moment();
        let arrived = Arrived::read(Ok(task), begun, &host);
        let course = Course::default();
        let answer = panic::catch_unwind(AssertUnwindSafe(|| {
            let watch = |seen: Seen<'_>| bar.show(seen);
            perform_with(Some(&kept), &arrived, &settings, &host, (&course, &watch))
        }));
        let defect = answer.is_err();
        let answer = answer.unwrap_or_else(|_| broken(&arrived, &host));
        let printed = print(&answer.line);
        if let Some(failure) = &answer.outcome().failure {
            logs::failed(failure);
        }
        if printed.is_err() || defect {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of stdin.
#[derive(Default)]
struct Tasks {
    read: Vec<u8>,
}

impl Tasks {
    /// The next line. None at the end of stdin, and after a signal.
    fn next(&mut self, host: &Host) -> Result<Option<Vec<u8>>, Stop> {
        let wake = host.interrupts().wake()?;
        let stdin = rustix::stdio::stdin();
        loop {
            if host.interrupts().caught().is_some() {
                return Ok(None);
            }
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let rest = self.read.split_off(end + 1);
                return Ok(Some(mem::replace(&mut self.read, rest)));
            }
            let mut files = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::new(wake, PollFlags::IN),
            ];
            ready(&mut files, || None)?;
            if host.interrupts().caught().is_some() {
                return Ok(None);
            }
            self.read.reserve(1);
            match rustix::io::read(stdin, spare_capacity(&mut self.read)) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(Errno::INTR | Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
