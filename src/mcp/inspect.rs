//! Examines a server without calling a tool.

use std::time::Duration;

use super::{
    begin::open,
    closing::Closing,
    era::{self, Setting},
    error::CallError,
    report::ServerReport,
    session::Session,
    spec::ServerSpec,
    tools::{self, ToolListing},
    wait::Limits,
};
use crate::{host::Host, task::Secrets};

#[derive(Debug)]
pub(crate) struct Inspection {
    pub(crate) result: Result<Vec<ToolListing>, CallError>,
    /// The time from the start until the server was ready, or none.
    pub(crate) ready_after: Option<Duration>,
    pub(crate) report: ServerReport,
    /// Those of the spec, and the tokens that were fetched.
    pub(crate) secrets: Secrets,
}

/// Starts a server, greets it, lists its tools and ends it. No tool is called. The handshake and the list may each take the startup timeout. Must not be called from async code.
pub(crate) fn inspect(server: &ServerSpec, host: &Host) -> Inspection {
    let (runtime, mut session) = match open(server, host) {
        Ok(opened) => opened,
        Err(error) => {
            return Inspection {
                result: Err(error),
                ready_after: None,
                report: ServerReport::default(),
                secrets: server.secrets.clone(),
            };
        }
    };
    let mut ready_after = None;
    let result = runtime.block_on(look(&mut session, server, host, &mut ready_after));
    let secrets = session.link.wire.secrets.clone();
    let mut closing = Closing::new(runtime, session);
    if result.is_ok() {
        closing.tell();
    }
    Inspection {
        result,
        ready_after,
        report: closing.finish(),
        secrets,
    }
}

async fn look(
    session: &mut Session,
    server: &ServerSpec,
    host: &Host,
    ready_after: &mut Option<Duration>,
) -> Result<Vec<ToolListing>, CallError> {
    // Found out anew: what a look learns is to be true now.
    let at = Setting::new(server, host, None);
    era::negotiate(session, &at).await?;
    *ready_after = Some(session.started.elapsed());
    session.limits = Limits::within(server.startup_timeout);
    tools::all(session).await
}
