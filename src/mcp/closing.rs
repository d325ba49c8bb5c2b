//! The end of a server, split in two: told to end when the answer is in, waited for once the
//! envelope is out. Python servers take 150–240 ms to end; nobody should wait for that twice.

use std::time::Duration;

use tokio::runtime::Runtime;

use super::{
    report::ServerReport,
    session::{Session, millis},
};
use crate::host::Moment;

/// A server that has been told to end: its stdin is closed. Dropping this waits for its end, as
/// [`Closing::finish`] does.
#[derive(Debug)]
#[must_use = "the server's end is waited for by `finish`"]
pub(crate) struct Closing {
    live: Option<Live>,
    report: ServerReport,
}

#[derive(Debug)]
struct Live {
    session: Session,
    runtime: Runtime,
    grace: Duration,
    told: Moment,
}

impl Closing {
    /// For a call that never had a server.
    pub(super) fn nothing() -> Self {
        Self {
            live: None,
            report: ServerReport::default(),
        }
    }

    /// Closes the server's stdin.
    pub(super) fn tell(runtime: Runtime, session: Session, grace: Duration, told: Moment) -> Self {
        session.wire.close_stdin();
        Self {
            live: Some(Live {
                session,
                runtime,
                grace,
                told,
            }),
            report: ServerReport::default(),
        }
    }

    /// What is known by now.
    pub(crate) fn report(&self) -> ServerReport {
        self.live
            .as_ref()
            .map_or_else(|| self.report.clone(), |live| live.session.report())
    }

    /// Waits for the server's end, helping after its grace, and kills what it left behind. Takes
    /// half a second more than the grace at most, unless a process is stuck in the kernel: that
    /// one is given up after another second.
    pub(crate) fn finish(mut self) -> ServerReport {
        self.end();
        std::mem::take(&mut self.report)
    }

    pub(super) fn end(&mut self) {
        let Some(Live {
            mut session,
            runtime,
            grace,
            told,
        }) = self.live.take()
        else {
            return;
        };
        runtime.block_on(session.stop(grace));
        session.timings.shutdown = millis(told.elapsed());
        self.report = session.report();
        // Its handles go before the runtime that drives them.
        drop(session);
        drop(runtime);
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.end();
    }
}
