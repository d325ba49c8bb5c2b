//! The thread that ends the process shortly after a signal or after `--timeout`, if the run itself does not end.
//!
//! Either the run or this thread writes the answer: [`Watched::speaks`] decides this once.

use std::{
    borrow::Cow,
    cell::Cell,
    io::{self, IsTerminal as _},
    process,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags};

use crate::{
    host::{Host, Interrupt, Interrupts, Moment},
    perform::{Answer, Arrived, Reply, RunEvent, Settings, overdue},
    task::{Course, Reach},
    telemetry::Telemetry,
};

use super::{
    ended::code_or_signal,
    logs,
    streams::{print_unless, ready},
    terminal::{self, ProgressDisplay},
    told::told,
};

/// What is written to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// The document that `--reply` names.
    Document,
    /// Text for the person who typed the call.
    Text,
}

impl AnswerForm {
    /// The form of the answer to `oneact call`, with the `--reply` that was given.
    pub(super) fn of_call(reply: Option<Reply>) -> Self {
        if reply.is_none() && io::stdout().is_terminal() {
            Self::Text
        } else {
            Self::Document
        }
    }
}

/// How long the run waits, after a signal, for a reader that takes nothing.
const READER: Duration = Duration::from_secs(5);

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
    pub(super) shown: ProgressDisplay,
    telemetry: Option<Telemetry>,
    form: AnswerForm,
    /// Whether the run or the thread has begun to write the answer.
    spoken: AtomicBool,
    /// The exit code of the run, once it has written its answer whole.
    pub(super) written: OnceLock<u8>,
    /// The number of bytes of the answer that the reader has taken.
    taken: AtomicUsize,
}

impl Watched {
    pub(super) fn new(
        host: Host,
        settings: Settings,
        arrived: Arrived,
        (shown, form): (ProgressDisplay, AnswerForm),
    ) -> Self {
        let telemetry = Telemetry::of_environment(arrived.trace(&settings), arrived.begun, &host);
        let arrived = match telemetry.as_ref().and_then(Telemetry::trace) {
            Some(trace) => arrived.within(trace.clone()),
            None => arrived,
        };
        Self {
            host,
            settings,
            arrived,
            course: Course::default(),
            shown,
            telemetry,
            form,
            spoken: AtomicBool::new(false),
            written: OnceLock::new(),
            taken: AtomicUsize::new(0),
        }
    }

    /// Prints the answer, after the reason of a failure and the preview: in merged streams, the answer comes last. Returns the exit code, also if nobody has taken all of the answer:
    /// some callers close stdout with their signal.
    pub(super) fn print(&self, answer: &Answer, code: u8) -> Result<u8, u8> {
        if let Some(failure) = &answer.outcome().failure {
            logs::failed(failure);
        }
        if let Some(preview) = &answer.outcome().preview {
            terminal::show(preview, answer.outcome().state);
        }
        let text = match self.form {
            AnswerForm::Document => Cow::Borrowed(&answer.line),
            AnswerForm::Text => {
                let operation = self.arrived.operation.as_str();
                let text = told(answer, operation, self.arrived.begun.passed());
                Cow::Owned(text.into_bytes())
            }
        };
        let printed = print_unless(&text, &self.taken, &self.waits_in_vain());
        let interrupts = self.host.interrupts();
        printed
            .map(|()| code)
            .map_err(|_| code_or_signal(1, interrupts))
    }

    /// Decides when the run stops waiting for the reader of the envelope: at the second signal from now on, or when
    /// the reader has taken nothing for [`READER`] after the first one. Callers often send a signal first and then
    /// read.
    fn waits_in_vain(&self) -> impl Fn() -> bool {
        let interrupts = self.host.interrupts();
        let before = interrupts.count();
        let idle: Cell<Option<(usize, Moment)>> = Cell::new(None);
        move || match interrupts.count().saturating_sub(before) {
            0 => false,
            1 => {
                let taken = self.taken.load(Ordering::Relaxed);
                let (_, since) = idle
                    .take()
                    .filter(|(earlier, _)| *earlier == taken)
                    .unwrap_or_else(|| (taken, self.host.moment()));
                idle.set(Some((taken, since)));
                since.passed() >= READER
            }
            _ => true,
        }
    }

    /// Shows and records what the run does.
    pub(super) fn see(&self, seen: RunEvent<'_>) {
        self.shown.show(seen);
        if let (Some(telemetry), RunEvent::Begins(activity)) = (&self.telemetry, seen) {
            telemetry.begins(activity, &self.host);
        }
    }

    /// Sends what was recorded of the run to the collector, if there is one.
    pub(super) fn send(&self, answer: &Answer) {
        if let Some(telemetry) = &self.telemetry {
            telemetry.send(answer.outcome(), &self.host);
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
            self.shown.end();
            let answer = overdue(
                &self.arrived,
                self.course.now(),
                self.settings.budget,
                self.settings.reply,
                &self.host,
            );
            let code = answer.exit_code(self.host.interrupts().caught());
            let printed = self.print(&answer, code);
            self.send(&answer);
            process::exit(printed.unwrap_or_else(|code| code).into());
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
            code_or_signal(1, self.host.interrupts())
        });
        process::exit(code.into());
    }

    /// Waits until the grace after a signal or after the run's time is over.
    fn wait(&self) {
        let begun = self.arrived.begun;
        let last = self.settings.budget.map(|budget| budget + GRACE);
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
