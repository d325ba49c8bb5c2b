//! `oneact run`: a task in, an envelope out, an exit code.

use std::{
    io,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use crate::{
    host::{Host, Interrupts},
    perform::{Answer, Settings, broken, perform},
    task::{Failure, Fault},
};

use super::{bar::Bar, flags::RunArgs, logs, preview, print_unless, settings, stderr, stdin};

/// Performs the task on stdin.
pub(super) fn run(args: &RunArgs, interrupts: Interrupts) -> ExitCode {
    let host = Host::new(args.clock.clone(), args.seed, interrupts);
    match settings::settle(args) {
        Ok(settings) => answer(&stdin::read(&host, settings.budget), &settings, &host),
        Err(problem) => answer(&Err(unusable(&problem)), &settings::nowhere(), &host),
    }
}

/// Answers a command line that cannot be used: an envelope, and the reason for people.
pub(super) fn refuse(error: &clap::Error, interrupts: Interrupts) -> ExitCode {
    let said = error.to_string();
    let what = said.lines().next().unwrap_or("bad flags");
    let failure = unusable(what.trim_start_matches("error: "));
    let host = Host::new(None, None, interrupts);
    let code = answer(&Err(failure), &settings::nowhere(), &host);
    stderr::tell(error);
    code
}

fn unusable(what: &str) -> Failure {
    let message = format!("the command line cannot be used: {what}; see `oneact --help`");
    Failure::new(Fault::InvalidUsage, message)
}

/// Performs and prints: one envelope also when something panics.
fn answer(input: &Result<Vec<u8>, Failure>, settings: &Settings, host: &Host) -> ExitCode {
    panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let bar = Bar::new();
    let caught = |work: &dyn Fn() -> Answer| panic::catch_unwind(AssertUnwindSafe(work));
    let nobody = || Err(Failure::new(Fault::Internal, "internal error (see stderr)"));
    let answer = caught(&|| perform(input, settings, host, &|seen| bar.show(seen)))
        .or_else(|_| caught(&|| broken(input, host)))
        .unwrap_or_else(|_| broken(&nobody(), host));
    bar.clear();
    // Signals are heeded until the last server has ended; they change nothing of what is printed.
    let interrupts = host.interrupts();
    let code = answer.exit_code(interrupts.caught());
    let before = interrupts.count();
    let printed = print_unless(&answer.line, &|| interrupts.count() != before);
    tracing::debug!("answer written");
    if let Some(failure) = &answer.outcome().failure {
        logs::failed(failure);
    }
    if let Some(preview) = &answer.outcome().preview {
        preview::show(preview);
    }
    // Only now: it waits for servers that are still ending.
    drop(answer);
    match (printed, interrupts.caught()) {
        (Ok(()), _) => ExitCode::from(code),
        (Err(error), Some(interrupt)) if error.kind() == io::ErrorKind::Interrupted => {
            ExitCode::from(128 + interrupt.number())
        }
        (Err(_), _) => ExitCode::FAILURE,
    }
}
