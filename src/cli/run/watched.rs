//! The thread that ends the process shortly after a signal or after `--timeout`, if the run itself does not end.
//!
//! Either the run or this thread writes the answer: [`Watched::speaks`] decides this once.

use std::{
    borrow::Cow,
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
    cli::{logs, print_unless, streams::ready, terminal::Shown, told::told},
    host::{Host, Interrupt, Interrupts},
    perform::{Answer, Arrived, RunEvent, Settings, overdue},
    task::{Course, Reach},
    telemetry::Telemetry,
};

use super::{Form, unread, waits_in_vain};

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
pub(in crate::cli) fn end_after_signal(interrupts: Interrupts) {
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
    pub(super) shown: Shown,
    telemetry: Option<Telemetry>,
    form: Form,
    /// Whether the run or the thread has begun to write the answer.
    spoken: AtomicBool,
    /// The exit code of the run, once it has written its answer whole.
    pub(super) written: OnceLock<u8>,
    /// The number of bytes of the answer that the reader has taken.
    pub(super) taken: AtomicUsize,
}

impl Watched {
    pub(super) fn new(
        host: Host,
        settings: Settings,
        arrived: Arrived,
        (shown, form): (Shown, Form),
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

    /// The answer as it is written to stdout.
    pub(super) fn text<'a>(&self, answer: &'a Answer) -> Cow<'a, [u8]> {
        match self.form {
            Form::Document => Cow::Borrowed(&answer.line),
            Form::Text => {
                let operation = self.arrived.operation.as_str();
                let text = told(answer, operation, self.arrived.begun.passed());
                Cow::Owned(text.into_bytes())
            }
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
            self.send(&answer);
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
