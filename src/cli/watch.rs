//! The end of every run: where it heeds neither a signal nor its `--timeout`, a thread of its own ends the
//! process a little later, with an answer if there was none.
//!
//! Who writes the answer is decided once, by [`Watched::speaks`]: the run, or this thread in its place.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use crate::{
    host::Host,
    perform::{Arrived, Settings, overdue},
    task::{Course, Reach},
};

use super::{logs, print};

/// How long a run may take to end by itself, after a signal or when its time is up: servers are given a moment,
/// also on a busy machine, and what a plan has done so far is taken back.
const GRACE: Duration = Duration::from_secs(5);

/// How much longer a plan may take while it changes files.
const LONGER: Duration = Duration::from_secs(5);

/// The time between two looks at a plan that is changing files.
const LOOK: Duration = Duration::from_millis(20);

/// A run, and what the watching thread needs of it.
pub(super) struct Watched {
    pub(super) host: Host,
    pub(super) settings: Settings,
    pub(super) arrived: Arrived,
    pub(super) course: Course,
    /// Whether somebody writes the answer, or has.
    spoken: AtomicBool,
    /// The exit code of the answer that the run wrote.
    exit: AtomicU8,
    /// How many bytes of the answer its reader has taken.
    pub(super) taken: AtomicUsize,
}

impl Watched {
    pub(super) fn new(host: Host, settings: Settings, arrived: Arrived) -> Self {
        Self {
            host,
            settings,
            arrived,
            course: Course::default(),
            spoken: AtomicBool::new(false),
            exit: AtomicU8::new(1),
            taken: AtomicUsize::new(0),
        }
    }

    /// Starts the thread that watches the run. If no thread can be started, nothing ends the run early.
    pub(super) fn watch(self: &Arc<Self>) {
        let watched = Arc::clone(self);
        let watch = thread::Builder::new().name("watch".to_owned());
        if let Err(error) = watch.spawn(move || watched.end()) {
            tracing::warn!("nothing watches over the end of this run: {error}");
        }
    }

    /// Whether the caller is to write the answer: true for the first caller alone.
    pub(super) fn speaks(&self) -> bool {
        !self.spoken.swap(true, Ordering::AcqRel)
    }

    /// The exit code of the answer that the run writes next.
    pub(super) fn exits_with(&self, code: u8) {
        self.exit.store(code, Ordering::Release);
    }

    /// Waits until the run should have ended, and ends it.
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
                // The plan ended after all: the run has time to write its answer.
                thread::sleep(GRACE);
            }
        }
        if self.speaks() {
            let answer = overdue(
                &self.arrived,
                self.course.now(),
                self.settings.budget,
                self.settings.reply,
                &self.host,
            );
            let code = answer.exit_code(self.host.interrupts().caught());
            let code = print(&answer.line).map_or(1, |()| code);
            if let Some(failure) = &answer.outcome().failure {
                logs::failed(failure);
            }
            process::exit(code.into());
        }
        // A reader is taking the answer, or nothing happens any more.
        let mut before = None;
        while before != Some(self.taken.load(Ordering::Relaxed)) {
            before = Some(self.taken.load(Ordering::Relaxed));
            thread::sleep(GRACE);
        }
        process::exit(self.exit.load(Ordering::Acquire).into());
    }

    /// Until a little after a signal, or after the end of the run's time.
    fn wait(&self) {
        let begun = self.arrived.begun;
        let last = self.settings.budget.map(|budget| budget + GRACE);
        let left = || last.map(|last| last.saturating_sub(begun.passed()));
        let Ok(wake) = self.host.interrupts().wake() else {
            // Without it no signal is noticed.
            match left() {
                Some(left) => return thread::sleep(left),
                None => loop {
                    thread::park();
                },
            }
        };
        let mut ready = [PollFd::new(wake, PollFlags::IN)];
        loop {
            let most = left().and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut ready, most.as_ref()) {
                Err(Errno::INTR) => {}
                Ok(0) => return,
                // Where one cannot wait for a signal, one can wait for the time alone.
                Ok(_) | Err(_) => break,
            }
        }
        thread::sleep(left().map_or(GRACE, |left| left.min(GRACE)));
    }
}
