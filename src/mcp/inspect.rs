//! A look at a server: started, greeted, asked for its tools, told to end. Nothing is called.

use std::time::Duration;

use tokio::time::Instant;

use crate::task::{Protocol, Repeatable};

use super::{
    alarm::Alarm,
    closing::Closing,
    era::{self, Opening, Setting},
    error::CallError,
    report::ServerReport,
    session::{Limits, Session},
    spec::ServerSpec,
    tools::{self, ToolListing},
};
use crate::host::Host;

/// What the look has shown.
#[derive(Debug)]
pub(crate) struct Inspection {
    /// The tools it lists.
    pub(crate) result: Result<Vec<ToolListing>, CallError>,
    /// From its start until requests could be sent; none if that never came. In the modern era
    /// there is no handshake: its first answer tells.
    pub(crate) ready_after: Option<Duration>,
    /// Its end is in it too.
    pub(crate) report: ServerReport,
}

/// Looks at a server; the handshake and the listing may each take its startup timeout. Must not be
/// called from async code.
pub(crate) fn inspect(server: &ServerSpec, host: &Host) -> Inspection {
    let (runtime, mut session) = match super::open(server, host) {
        Ok(opened) => opened,
        Err(error) => {
            return Inspection {
                result: Err(error),
                ready_after: None,
                report: ServerReport::default(),
            };
        }
    };
    let mut ready_after = None;
    let result = runtime.block_on(look(&mut session, server, host, &mut ready_after));
    let mut closing = Closing::new(runtime, session, server);
    closing.tell();
    Inspection {
        result,
        ready_after,
        report: closing.finish(),
    }
}

async fn look(
    session: &mut Session,
    server: &ServerSpec,
    host: &Host,
    ready_after: &mut Option<Duration>,
) -> Result<Vec<ToolListing>, CallError> {
    let alarm = Alarm::new(host).map_err(|source| CallError::SpawnFailed {
        server: server.name.clone(),
        operation: "listen for signals",
        source,
    })?;
    // Found out anew: what a look learns is to be true now.
    let at = Setting::new(server, host, &alarm, None);
    era::negotiate(session, Opening::Call(Repeatable::Once), &at).await?;
    let ready = session.started.elapsed();
    let greeted = server.protocol != Protocol::Modern;
    *ready_after = greeted.then_some(ready);
    let limits = Limits {
        idle: None,
        total: server.startup_timeout,
        until: Instant::now() + server.startup_timeout,
    };
    let tools = tools::all(session, &limits, &alarm).await?;
    ready_after.get_or_insert_with(|| session.started.elapsed());
    Ok(tools)
}
