//! The end of a server in two steps. The server is told to end after its last answer. oneact waits for the end after it
//! has printed the envelope, because Python servers take 150–240 ms to end. Until the server is told to end, it can be
//! called again.

use tokio::runtime::Runtime;

use super::{report::ServerReport, session::Session, spec::ServerSpec};
use crate::task::Secrets;

/// A server after its call. Dropping this ends the server, as [`Closing::finish`] does.
#[derive(Debug, Default)]
#[must_use = "the server's end is waited for by `finish`"]
pub(crate) struct Closing {
    /// The session is dropped before the runtime that drives its handles.
    live: Option<(Session, Runtime)>,
    report: ServerReport,
    secrets: Secrets,
}

impl Closing {
    pub(super) fn new(runtime: Runtime, session: Session) -> Self {
        Self {
            live: Some((session, runtime)),
            report: ServerReport::default(),
            secrets: Secrets::default(),
        }
    }

    /// Tells the server to end: closes its stdin. A borrowed server is given back.
    pub(crate) fn tell(&mut self) {
        if let Some((session, _)) = &mut self.live {
            session.part();
        }
    }

    /// Whether the server was started in this way, still runs, and was not told to end.
    pub(super) fn serves(&self, spec: &ServerSpec) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|(session, _)| session.spec.starts_as(spec) && session.link.is_up())
    }

    /// Whether the server still runs and was not told to end.
    pub(crate) fn is_up(&self) -> bool {
        let live = self.live.as_ref();
        live.is_some_and(|(session, _)| session.link.is_up())
    }

    /// The server, for another call.
    pub(super) fn resume(mut self) -> Option<(Runtime, Session)> {
        let (mut session, runtime) = self.live.take()?;
        session.turn();
        if let Some(remote) = session.link.remote() {
            runtime.block_on(remote.look());
        }
        Some((runtime, session))
    }

    /// The secrets of the spec, and the tokens that were fetched.
    pub(crate) fn secrets(&self) -> Secrets {
        match &self.live {
            Some((session, _)) => session.link.wire.secrets.clone(),
            None => self.secrets.clone(),
        }
    }

    pub(crate) fn report(&self) -> ServerReport {
        match &self.live {
            Some((session, _)) => session.report(),
            None => self.report.clone(),
        }
    }

    /// Waits for the server's end, sends signals after its grace, and kills the processes that it left behind. Takes at
    /// most half a second more than the grace. A process that is stuck in the kernel is given up after at most three more
    /// seconds.
    pub(crate) fn finish(mut self) -> ServerReport {
        self.end();
        std::mem::take(&mut self.report)
    }

    pub(super) fn end(&mut self) {
        if let Some((mut session, runtime)) = self.live.take() {
            runtime.block_on(session.stop());
            (self.report, self.secrets) = (session.report(), session.link.wire.secrets.clone());
            drop(session);
            // A look-up of a host name may still be going on.
            runtime.shutdown_background();
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.end();
    }
}
