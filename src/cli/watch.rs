//! A thread that ends the process shortly after a signal or after `--timeout`, if the run itself does not end.
//!
//! Either the run or this thread writes the answer: [`Watched::speaks`] decides this once.

use std::{
    process,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags};

use crate::{
    host::Host,
    perform::{Arrived, Settings, overdue},
    task::{Course, Reach},
};

use super::{logs, print, streams::ready};

/// How long a run may take to end by itself after a signal or a timeout. In this time servers end, also on a busy
/// machine, and an unfinished plan is undone.
const GRACE: Duration = Duration::from_secs(5);

/// How much longer a plan may take while it changes files.
const LONGER: Duration = Duration::from_secs(5);

/// The interval at which a plan that is changing files is checked.
const LOOK: Duration = Duration::from_millis(20);

/// A run, with everything that the watching thread needs.
pub(super) struct Watched {
    pub(super) host: Host,
    pub(super) settings: Settings,
    pub(super) arrived: Arrived,
    pub(super) course: Course,
    /// Whether the run or the thread has begun to write the answer.
    spoken: AtomicBool,
    /// The exit code of the answer that the run wrote.
    exit: AtomicU8,
    /// The number of bytes of the answer that the reader has taken.
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

    /// Starts the watching thread. If no thread can be started, nothing ends the run early.
    pub(super) fn watch(self: &Arc<Self>) {
        let watched = Arc::clone(self);
        let watch = thread::Builder::new().name("watch".to_owned());
        if let Err(error) = watch.spawn(move || watched.end()) {
            tracing::warn!("cannot start the thread that ends an overdue run: {error}");
        }
    }

    /// Whether the caller must write the answer: true only for the first call.
    pub(super) fn speaks(&self) -> bool {
        !self.spoken.swap(true, Ordering::AcqRel)
    }

    /// Sets the exit code of the answer that the run writes next.
    pub(super) fn exits_with(&self, code: u8) {
        self.exit.store(code, Ordering::Release);
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
            let code = answer.exit_code(self.host.interrupts().caught());
            let code = print(&answer.line).map_or(1, |()| code);
            if let Some(failure) = &answer.outcome().failure {
                logs::failed(failure);
            }
            process::exit(code.into());
        }
        // Wait while a reader takes the answer.
        let mut before = None;
        while before != Some(self.taken.load(Ordering::Relaxed)) {
            before = Some(self.taken.load(Ordering::Relaxed));
            thread::sleep(GRACE);
        }
        process::exit(self.exit.load(Ordering::Acquire).into());
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
