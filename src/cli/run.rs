//! `oneact run`: a task in, an envelope out, an exit code.

use std::{
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use crate::{
    host::{Host, Interrupts},
    perform::{Answer, Settings, broken, perform},
    task::{Failure, Fault},
};

use super::{bar::Bar, flags::RunArgs, preview, print, settings, stderr, stdin};

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
    host.interrupts().stand_down();
    tracing::debug!("answer written");
    if print(&answer.line).is_err() {
        return ExitCode::FAILURE;
    }
    if let Some(preview) = &answer.outcome().preview {
        preview::show(preview);
    }
    ExitCode::from(answer.exit_code(host.interrupts().caught()))
}
