//! What can end a wait for an answer: a limit, a signal, or the end of the server.

use std::{future::pending, io, time::Duration};

use tokio::{
    net::UnixStream,
    select,
    task::yield_now,
    time::{Instant, sleep_until},
};

use super::{error::Limit, wire::End};
use crate::host::{Host, Interrupt, Interrupts};

#[derive(Debug)]
pub(super) enum Halt {
    Signal(Interrupt),
    Late(Limit, Duration),
    End(End),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) idle: Option<Duration>,
    pub(super) total: Duration,
    pub(super) until: Instant,
}

impl Limits {
    /// A total limit that begins now.
    pub(super) fn within(total: Duration) -> Self {
        Self {
            idle: None,
            total,
            until: Instant::now() + total,
        }
    }

    /// The same, but not later than `end`, the end of the run's time.
    pub(super) fn ending(self, end: Option<Instant>) -> Self {
        Self {
            until: end.map_or(self.until, |end| end.min(self.until)),
            ..self
        }
    }
}

/// Waits for a signal that stops the run.
#[derive(Debug)]
pub(super) struct Alarm {
    wake: UnixStream,
    interrupts: Interrupts,
}

impl Alarm {
    pub(super) fn new(host: &Host) -> io::Result<Self> {
        let interrupts = host.interrupts().clone();
        let wake = UnixStream::from_std(interrupts.wake()?.try_clone()?)?;
        Ok(Self { wake, interrupts })
    }

    pub(super) async fn rung(&self) -> Interrupt {
        loop {
            // This fails only when the runtime shuts down.
            if self.wake.readable().await.is_err() {
                return pending().await;
            }
            // The byte is never read, so the socket stays readable after a signal.
            match self.interrupts.caught() {
                Some(interrupt) => return interrupt,
                None => yield_now().await,
            }
        }
    }

    /// Waits for `work`, a limit or a signal.
    pub(super) async fn unless_stopped<T>(
        &self,
        limits: Limits,
        work: impl Future<Output = T>,
    ) -> Result<T, Halt> {
        select! {
            biased;
            signal = self.rung() => Err(Halt::Signal(signal)),
            done = work => Ok(done),
            () = sleep_until(limits.until) => Err(Halt::Late(Limit::Total, limits.total)),
        }
    }
}
