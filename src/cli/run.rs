//! `oneact run`: reads a task, prints an envelope and returns an exit code.

use std::{
    cell::Cell,
    io,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    host::{Host, Interrupts, Moment},
    perform::{Arrived, Settings, broken, perform},
    task::{Failure, Fault},
};

use super::{
    Stop, logs, print_unless,
    settings::{self, TaskArgs},
    stdin, streams,
    terminal::{self, Bar, Shows},
    watch::Watched,
};

/// How long the run waits, after a signal, for a reader that takes nothing.
const READER: Duration = Duration::from_secs(5);

pub(super) fn run(TaskArgs { file, run }: &TaskArgs, interrupts: Interrupts) -> ExitCode {
    let host = Host::new(run.clock.clone(), run.seed, interrupts);
    let begun = host.moment();
    match run.settings() {
        Ok(settings) => {
            let input = match file {
                Some(path) if path != "-" => stdin::read_file(path),
                Some(_) | None => stdin::read(&host, begun, settings.limits.budget),
            };
            let bar = Bar::new(if run.progress {
                Shows::Lines
            } else {
                Shows::Bar
            });
            answer(input, settings, begun, host, &bar)
        }
        Err(Stop { why, .. }) => {
            let bar = Bar::new(Shows::Bar);
            answer(Err(unusable(&why)), settings::nowhere(), begun, host, &bar)
        }
    }
}

/// Answers a command line that cannot be used: with an envelope on stdout, and with the reason on stderr.
pub(super) fn refuse(error: &clap::Error, interrupts: Interrupts) -> ExitCode {
    let said = error.to_string();
    let what = said.lines().next().unwrap_or("bad flags");
    let failure = unusable(what.trim_start_matches("error: "));
    let host = Host::new(None, None, interrupts);
    let begun = host.moment();
    let bar = Bar::new(Shows::Bar);
    let code = answer(Err(failure), settings::nowhere(), begun, host, &bar);
    streams::tell(error);
    code
}

/// Decides when the run stops waiting for the reader of the envelope: at the second signal from now on, or when
/// the reader has taken nothing for [`READER`] after the first one. Callers often send a signal first and then
/// read.
fn waits_in_vain<'a>(host: &'a Host, taken: &'a AtomicUsize) -> impl Fn() -> bool + 'a {
    let interrupts = host.interrupts();
    let before = interrupts.count();
    let idle: Cell<Option<(usize, Moment)>> = Cell::new(None);
    move || match interrupts.count().saturating_sub(before) {
        0 => false,
        1 => {
            let taken = taken.load(Ordering::Relaxed);
            let (_, since) = idle
                .take()
                .filter(|(earlier, _)| *earlier == taken)
                .unwrap_or_else(|| (taken, host.moment()));
            let waited = since.passed();
            idle.set(Some((taken, since)));
            waited >= READER
        }
        _ => true,
    }
}

fn unusable(what: &str) -> Failure {
    let message = format!("the command line cannot be used: {what}; see `oneact --help`");
    Failure::new(Fault::InvalidUsage, message)
}

/// Performs the task and prints one envelope, also after a panic or if the run does not end.
fn answer(
    input: Result<Vec<u8>, Failure>,
    settings: Settings,
    begun: Moment,
    host: Host,
    bar: &Bar,
) -> ExitCode {
    panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let arrived = panic::catch_unwind(AssertUnwindSafe(|| Arrived::read(input, begun, &host)));
    let arrived = arrived.unwrap_or_else(|_| {
        let failure = Failure::new(Fault::Internal, "internal error (see stderr)");
        Arrived::read(Err(failure), begun, &host)
    });
    let watched = Arc::new(Watched::new(host, settings, arrived));
    watched.watch();
    let Watched {
        host,
        settings,
        arrived,
        course,
        taken,
        ..
    } = &*watched;
    let answer = panic::catch_unwind(AssertUnwindSafe(|| {
        perform(arrived, settings, host, course, &|seen| bar.show(seen))
    }))
    .unwrap_or_else(|_| broken(arrived, host));
    bar.clear();
    // Signals are handled until the last server has ended. They do not change the answer any more.
    let interrupts = host.interrupts();
    let code = answer.exit_code(interrupts.caught());
    watched.exits_with(code);
    if !watched.speaks() {
        // The watching thread writes the answer and ends this process.
        loop {
            thread::park();
        }
    }
    let printed = print_unless(&answer.line, taken, &waits_in_vain(host, taken));
    tracing::debug!("answer written");
    if let Some(failure) = &answer.outcome().failure {
        logs::failed(failure);
    }
    if let Some(preview) = &answer.outcome().preview {
        terminal::show(preview);
    }
    // The drop waits for servers that are still ending, so it comes after the answer.
    drop(answer);
    match (printed, interrupts.caught()) {
        (Ok(()), _) => ExitCode::from(code),
        (Err(error), Some(interrupt)) if error.kind() == io::ErrorKind::Interrupted => {
            ExitCode::from(128 + interrupt.number())
        }
        (Err(_), _) => ExitCode::FAILURE,
    }
}
