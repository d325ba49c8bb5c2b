//! `oneact run`: reads a task, prints an envelope and returns an exit code. A thread ends the process shortly after a
//! signal or after `--timeout`, if the run itself does not end.
//!
//! Either the run or this thread writes the answer: [`Watched::speaks`] decides this once.

use std::{
    borrow::Cow,
    cell::Cell,
    io::{self, IsTerminal as _},
    panic::{self, AssertUnwindSafe},
    process::{self, ExitCode},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use camino::Utf8Path;
use clap::error::{ContextKind, ContextValue};
use rustix::event::{PollFd, PollFlags};

use crate::{
    host::{Host, Interrupt, Interrupts, Moment},
    people,
    perform::{Answer, Arrived, Reply, Settings, Through, broken, overdue, perform},
    task::{Course, Failure, Fault, Nameable, Reach},
};

use super::{
    Stop, logs, print_unless,
    settings::{self, PlaceArgs, RunArgs, TaskArgs},
    streams::{self, ready},
    terminal::{self, Bar, Shows},
    told::told,
};

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
    let (input, settings) = match run.settings() {
        Ok(mut settings) => (read(&mut settings, &host, begun), settings),
        Err(Stop { why, .. }) => {
            let reply = run.reply.unwrap_or_default();
            let settings = Settings {
                reply,
                ..settings::nowhere()
            };
            (Err(unusable(&why, "oneact")), settings)
        }
    };
    let bar = Bar::new(if run.progress {
        Shows::Lines
    } else {
        Shows::Bar
    });
    answer(input, settings, begun, host, &bar, form)
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
    let bar = Bar::new(Shows::Bar);
    let settings = Settings {
        reply,
        ..settings::nowhere()
    };
    answer(Err(failure), settings, begun, host, &bar, form)
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
    bar: &Bar,
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
    let watched = Arc::new(Watched::new(host, settings, arrived, form));
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
    .unwrap_or_else(|_| broken(arrived, settings.reply, host));
    bar.clear();
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
    // The drop waits for servers that are still ending, so it comes after the answer.
    drop(answer);
    ExitCode::from(printed.map_or_else(|_| unread(interrupts), |()| code))
}

/// The exit code of a run whose answer nobody has taken whole. Some callers close stdout with their signal.
fn unread(interrupts: &Interrupts) -> u8 {
    let interrupt = interrupts.caught();
    interrupt.map_or(1, |interrupt| 128 + interrupt.number())
}

/// How long a run may take to end by itself after a signal or a timeout. In this time servers end, also on a busy
/// machine, and an unfinished plan is undone.
const GRACE: Duration = Duration::from_secs(5);

/// How much longer a plan may take while it changes files.
const LONGER: Duration = Duration::from_secs(5);

/// The interval at which a plan that is changing files is checked.
const LOOK: Duration = Duration::from_millis(20);

fn start_watching(watch: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().name("watch".to_owned());
    if let Err(error) = thread.spawn(watch) {
        tracing::warn!("cannot start the thread that ends an overdue run: {error}");
    }
}

/// Starts a thread that ends the process shortly after a signal, if the verb itself does not end. The verb prints no
/// envelope, so the reason is only on stderr.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "where the main thread does not come to its end, nobody returns an exit code"
)]
pub(super) fn end_after_signal(interrupts: Interrupts) {
    start_watching(move || {
        let Ok(wake) = interrupts.wake() else { return };
        if ready(&mut [PollFd::new(wake, PollFlags::IN)], || None).is_err() {
            return;
        }
        thread::sleep(GRACE);
        let signal = interrupts.caught().unwrap_or(Interrupt::TERMINATE);
        let name = signal.name();
        tracing::error!(
            "the command did not end within {GRACE:?} after {name}, so its process was ended"
        );
        process::exit((128 + signal.number()).into());
    });
}

/// A run, with everything that the watching thread needs.
pub(super) struct Watched {
    pub(super) host: Host,
    pub(super) settings: Settings,
    pub(super) arrived: Arrived,
    pub(super) course: Course,
    form: Form,
    /// Whether the run or the thread has begun to write the answer.
    spoken: AtomicBool,
    /// The exit code of the run, once it has written its answer whole.
    written: OnceLock<u8>,
    /// The number of bytes of the answer that the reader has taken.
    pub(super) taken: AtomicUsize,
}

impl Watched {
    pub(super) fn new(host: Host, settings: Settings, arrived: Arrived, form: Form) -> Self {
        Self {
            host,
            settings,
            arrived,
            course: Course::default(),
            form,
            spoken: AtomicBool::new(false),
            written: OnceLock::new(),
            taken: AtomicUsize::new(0),
        }
    }

    /// The answer as it is written to stdout.
    fn text<'a>(&self, answer: &'a Answer) -> Cow<'a, [u8]> {
        match self.form {
            Form::Document => Cow::Borrowed(&answer.line),
            Form::Text => {
                let operation = self.arrived.operation.as_str();
                let text = told(answer, operation, self.arrived.begun.passed());
                Cow::Owned(text.into_bytes())
            }
        }
    }

    /// Starts the watching thread. If no thread can be started, nothing ends the run early.
    pub(super) fn watch(self: &Arc<Self>) {
        let watched = Arc::clone(self);
        start_watching(move || watched.end());
    }

    /// Whether the caller must write the answer: true only for the first call.
    pub(super) fn speaks(&self) -> bool {
        !self.spoken.swap(true, Ordering::AcqRel)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "where the main thread does not come to its end, nobody returns an exit code"
    )]
    fn end(&self) {
        self.wait();
        if self.course.now() == Reach::Changing {
            let since = self.host.moment();
            while self.course.now() == Reach::Changing && since.passed() < LONGER {
                thread::sleep(LOOK);
            }
            if self.course.now() != Reach::Changing {
                // The plan ended in time: the run may write its answer.
                thread::sleep(GRACE);
            }
        }
        if self.speaks() {
            let answer = overdue(
                &self.arrived,
                self.course.now(),
                self.settings.limits.budget,
                self.settings.reply,
                &self.host,
            );
            let interrupts = self.host.interrupts();
            let code = answer.exit_code(interrupts.caught());
            if let Some(failure) = &answer.outcome().failure {
                logs::failed(failure);
            }
            let stop = waits_in_vain(&self.host, &self.taken);
            let printed = print_unless(&self.text(&answer), &self.taken, &stop);
            process::exit(
                printed
                    .map_or_else(|_| unread(interrupts), |()| code)
                    .into(),
            );
        }
        // Wait while a reader takes the answer.
        let mut before = None;
        while before != Some(self.taken.load(Ordering::Relaxed)) {
            before = Some(self.taken.load(Ordering::Relaxed));
            thread::sleep(GRACE);
        }
        let code = self.written.get().copied().unwrap_or_else(|| {
            tracing::error!(
                "the answer could not be written: its reader took nothing of it for {GRACE:?}"
            );
            unread(self.host.interrupts())
        });
        process::exit(code.into());
    }

    /// Waits until the grace after a signal or after the run's time is over.
    fn wait(&self) {
        let begun = self.arrived.begun;
        let last = self.settings.limits.budget.map(|budget| budget + GRACE);
        let left = || last.map(|last| last.saturating_sub(begun.passed()));
        let Ok(wake) = self.host.interrupts().wake() else {
            // Without the socket, signals cannot be noticed.
            match left() {
                Some(left) => return thread::sleep(left),
                None => loop {
                    thread::park();
                },
            }
        };
        // After a signal, or if polling fails, only the time counts.
        if ready(&mut [PollFd::new(wake, PollFlags::IN)], left).unwrap_or(true) {
            thread::sleep(left().map_or(GRACE, |left| left.min(GRACE)));
        }
    }
}
