//! `oneact run`: reads a task, prints an envelope and returns an exit code.

mod watched;

use std::{
    cell::Cell,
    io::{self, IsTerminal as _},
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use camino::Utf8Path;
use clap::error::{ContextKind, ContextValue};

use crate::{
    host::{Host, Interrupts, Moment},
    people,
    perform::{Arrived, Reply, Settings, Through, broken, perform},
    task::{Failure, Fault, Nameable},
};

use super::{
    Stop, logs, print_unless,
    settings::{self, PlaceArgs, RunArgs, TaskArgs},
    signs::Signs,
    stop, streams,
    terminal::{self, Shown},
};

use watched::Watched;
pub(super) use watched::end_after_signal;

/// How long the run waits, after a signal, for a reader that takes nothing.
const READER: Duration = Duration::from_secs(5);

/// What is written to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The document that `--reply` names.
    Document,
    /// Text for the person who typed the call.
    Text,
}

impl Form {
    /// The form of the answer to `oneact call`, with the `--reply` that was given.
    pub(super) fn of_call(reply: Option<Reply>) -> Self {
        if reply.is_none() && io::stdout().is_terminal() {
            Self::Text
        } else {
            Self::Document
        }
    }
}

pub(super) fn run(args: &TaskArgs, interrupts: Interrupts) -> ExitCode {
    let read = |settings: &mut Settings, host: &Host, begun| match (&args.approved, &args.file) {
        (Some(id), _) => stored(id, args.run.within.as_deref(), settings, host),
        (None, Some(path)) if path != "-" => streams::read_task_file(path),
        (None, _) => streams::read_task(host, begun, settings.limits.budget),
    };
    performed(&args.run, interrupts, Form::Document, read)
}

/// Performs the task that `read` returns.
pub(super) fn performed(
    run: &RunArgs,
    interrupts: Interrupts,
    form: Form,
    read: impl FnOnce(&mut Settings, &Host, Moment) -> Result<Vec<u8>, Failure>,
) -> ExitCode {
    let host = Host::new(run.clock.clone(), run.seed, interrupts);
    let begun = host.moment();
    let shown = run.progress.map_or(Ok(Shown::bar()), |channel| {
        let signs = Signs::start(channel, begun);
        signs
            .map(Shown::Signs)
            .map_err(|why| stop(2)(format!("--progress: {why}")))
    });
    let settings = run.settings();
    let (input, settings, shown) = match shown.and_then(|shown| Ok((shown, settings?))) {
        Ok((shown, mut settings)) => (read(&mut settings, &host, begun), settings, shown),
        Err(Stop { why, .. }) => {
            let reply = run.reply.unwrap_or_default();
            let settings = Settings {
                reply,
                ..settings::nowhere()
            };
            (Err(unusable(&why, "oneact")), settings, Shown::bar())
        }
    };
    answer(input, settings, begun, host, shown, form)
}

/// Performs the stored call of an approved request in that project, for the person who approved it.
pub(super) fn approved(id: &str, places: PlaceArgs, interrupts: Interrupts) -> ExitCode {
    let run = RunArgs {
        places,
        ..RunArgs::default()
    };
    let read = |settings: &mut Settings, host: &Host, _| stored(id, None, settings, host);
    performed(&run, interrupts, Form::of_call(None), read)
}

/// The stored task of a request for an approval, which is performed in its session.
fn stored(
    id: &str,
    within: Option<&str>,
    settings: &mut Settings,
    host: &Host,
) -> Result<Vec<u8>, Failure> {
    let (approved, task) = people::approved(&settings.project, id, host)?;
    let session = approved.session();
    if within.is_some_and(|within| within != session.id) {
        let message = format!("{id} was requested in another session, not in this one");
        return Err(Failure::new(Fault::ApprovalMismatch, message));
    }
    // What was requested by `oneact call` can be a tool without an entry.
    if settings.through == Through::Command {
        settings.nameable = Nameable::Tools;
    }
    settings.session = Some(session);
    settings.approved = Some(approved);
    Ok(task)
}

/// Answers a command line that cannot be used: with an envelope on stdout, and with the reason on stderr, in one line.
pub(super) fn refuse(
    failure: Failure,
    (form, reply): (Form, Reply),
    interrupts: Interrupts,
) -> ExitCode {
    let host = Host::new(None, None, interrupts);
    let begun = host.moment();
    let settings = Settings {
        reply,
        ..settings::nowhere()
    };
    answer(Err(failure), settings, begun, host, Shown::bar(), form)
}

/// Why a command line cannot be used, in one line. `help` is the command whose help says more.
pub(super) fn misused(error: &clap::Error, hint: Option<&str>, help: &str) -> Failure {
    let said = error.to_string();
    // Arguments that are missing stand in lines of their own.
    let mut lines = said.lines();
    let what = lines.next().unwrap_or("bad flags");
    let missing = lines.take_while(|line| line.starts_with("  ") && !line.contains("tip: "));
    let missing: Vec<&str> = missing.map(str::trim).collect();
    let what = format!("{what} {}", missing.join(", "));
    let tips = said
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("tip: "));
    let what = [what.trim_start_matches("error: ").trim()].into_iter();
    let what: Vec<&str> = match hint {
        // clap would also say how the word is given as a value, which it is not.
        Some(hint) => {
            let similar = tips.filter(|tip| tip.contains("similar"));
            what.chain(similar).chain([hint]).collect()
        }
        None => what.chain(tips).collect(),
    };
    unusable(&what.join("; "), help)
}

/// What a person may have meant whose verb is unknown, but is the name of a file.
pub(super) fn file_hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let is_file = Utf8Path::new(word).is_file();
    is_file.then(|| format!("to perform the task in this file: oneact run {word}"))
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

fn unusable(what: &str, help: &str) -> Failure {
    let message = format!("the command line cannot be used: {what}; see `{help} --help`");
    Failure::new(Fault::InvalidUsage, message)
}

/// Performs the task and prints one envelope, also after a panic or if the run does not end.
fn answer(
    input: Result<Vec<u8>, Failure>,
    settings: Settings,
    begun: Moment,
    host: Host,
    shown: Shown,
    form: Form,
) -> ExitCode {
    panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let arrived = panic::catch_unwind(AssertUnwindSafe(|| {
        let arrived = Arrived::read_in(settings.session.clone(), input, begun, &host);
        // `oneact call` makes a new id for each task, and a stored task has one already: neither binds an approval.
        if settings.nameable == Nameable::Tools || settings.approved.is_some() {
            arrived.numbered()
        } else {
            arrived
        }
    }));
    let arrived = arrived.unwrap_or_else(|_| {
        let failure = Failure::new(Fault::Internal, "internal error (see stderr)");
        Arrived::read(Err(failure), begun, &host)
    });
    let watched = Arc::new(Watched::new(host, settings, arrived, (shown, form)));
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
        perform(arrived, settings, host, course, &|seen| watched.see(seen))
    }))
    .unwrap_or_else(|_| broken(arrived, settings.reply, host));
    watched.shown.end();
    // Signals are handled until the last server has ended. They do not change the answer any more.
    let interrupts = host.interrupts();
    let code = answer.exit_code(interrupts.caught());
    if !watched.speaks() {
        // The watching thread writes the answer and ends this process.
        loop {
            thread::park();
        }
    }
    // In merged streams, the answer comes last.
    if let Some(failure) = &answer.outcome().failure {
        logs::failed(failure);
    }
    if let Some(preview) = &answer.outcome().preview {
        terminal::show(preview, answer.outcome().state);
    }
    let text = watched.text(&answer);
    let printed = print_unless(&text, taken, &waits_in_vain(host, taken));
    if printed.is_ok() {
        // The other thread may end the process while servers are still ending.
        let _ = watched.written.set(code);
        tracing::debug!("answer written");
    }
    watched.send(&answer);
    // The drop waits for servers that are still ending, so it comes after the answer.
    drop(answer);
    ExitCode::from(printed.map_or_else(|_| unread(interrupts), |()| code))
}

/// The exit code of a run whose answer nobody has taken whole. Some callers close stdout with their signal.
fn unread(interrupts: &Interrupts) -> u8 {
    let interrupt = interrupts.caught();
    interrupt.map_or(1, |interrupt| 128 + interrupt.number())
}
