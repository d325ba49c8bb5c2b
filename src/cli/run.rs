//! `oneact run`: a task in, an envelope out, an exit code.

use std::{
    io::{self, IsTerminal, Read},
    os::fd::AsFd,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use rustix::event::{PollFd, PollFlags, poll};

use crate::{
    envelope::MAX_BYTES,
    host::{Host, Interrupt},
    perform::{Answer, Settings, broken, perform},
    task::{Failure, Fault, State},
};

use super::{bar::Bar, flags::RunArgs, print, settings};

/// Performs the task on stdin.
pub(super) fn run(args: &RunArgs) -> ExitCode {
    let host = match Host::new(args.clock.clone(), args.seed) {
        Ok(host) => host,
        Err(error) => {
            tracing::error!(%error, "cannot catch signals");
            return ExitCode::FAILURE;
        }
    };
    let settings = settings::settle(args);
    answer(|| read(&host), &settings, &host)
}

/// Answers a command line that cannot be used: an envelope, and the reason for people.
pub(super) fn refuse(error: &clap::Error) -> ExitCode {
    // Nothing can be done when even stderr is gone; the envelope says the same.
    let _ = error.print();
    let Ok(host) = Host::new(None, None) else {
        return ExitCode::from(2);
    };
    let said = error.to_string();
    let what = said
        .lines()
        .next()
        .unwrap_or("bad flags")
        .trim_start_matches("error: ")
        .to_owned();
    let failure = Failure::new(
        Fault::InvalidUsage,
        format!("the command line cannot be used: {what}; see `oneact --help`"),
    );
    answer(|| Err(failure.clone()), &settings::nowhere(), &host)
}

/// Reads, performs, prints: one envelope also when something panics.
fn answer(
    input: impl Fn() -> Result<Vec<u8>, Failure>,
    settings: &Settings,
    host: &Host,
) -> ExitCode {
    panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let bar = Bar::new();
    let input = input();
    let caught = |work: &dyn Fn() -> Answer| panic::catch_unwind(AssertUnwindSafe(work));
    let nobody = || Err(Failure::new(Fault::Internal, "internal error (see stderr)"));
    let answer = caught(&|| perform(&input, settings, host, &|seen| bar.show(seen)))
        .or_else(|_| caught(&|| broken(&input, host)))
        .unwrap_or_else(|_| broken(&nobody(), host));
    bar.clear();
    let mut line = answer.json.clone();
    line.push(b'\n');
    if print(&line).is_err() {
        return ExitCode::FAILURE;
    }
    exit_code(&answer, host.interrupts().caught())
}

/// The exit code is a function of how the run ended (invariant 6).
fn exit_code(answer: &Answer, interrupt: Option<Interrupt>) -> ExitCode {
    match answer.state {
        State::Done | State::Planned => ExitCode::SUCCESS,
        State::Rejected => ExitCode::from(2),
        State::Failed if answer.recoverable => ExitCode::from(75),
        State::Failed => ExitCode::FAILURE,
        State::Cancelled => {
            ExitCode::from(128 + interrupt.unwrap_or(Interrupt::Terminate).number())
        }
    }
}

/// Reads stdin to its end, or until a signal comes, or until it is too much.
fn read(host: &Host) -> Result<Vec<u8>, Failure> {
    let mut stdin = io::stdin().lock();
    if stdin.is_terminal() {
        tracing::warn!(
            "reading a task from this terminal; end it with Ctrl-D (`oneact --help` explains)"
        );
    }
    let failed = |error: io::Error| {
        Failure::new(
            Fault::InvalidJson,
            format!("cannot read the task from stdin: {error}"),
        )
    };
    let mut bytes = Vec::new();
    let mut block = vec![0; 64 * 1024];
    loop {
        wait(host, stdin.as_fd()).map_err(failed)?;
        if let Some(interrupt) = host.interrupts().caught() {
            return Err(Failure::new(
                Fault::Cancelled,
                format!("cancelled by {} before the task was read", interrupt.name()),
            ));
        }
        let read = match stdin.read(&mut block) {
            // Somebody made the pipe non-blocking, and another reader was quicker.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            read => read.map_err(failed)?,
        };
        if read == 0 || bytes.len() > MAX_BYTES {
            // One byte too many is enough: the reader of JSON refuses it by its size.
            return Ok(bytes);
        }
        bytes.extend(block.iter().take(read));
    }
}

/// Waits until stdin can be read, or a signal has come.
fn wait(host: &Host, stdin: impl AsFd) -> io::Result<()> {
    let mut ready = [
        PollFd::new(&stdin, PollFlags::IN),
        PollFd::new(host.interrupts().wake(), PollFlags::IN),
    ];
    loop {
        match poll(&mut ready, None) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
