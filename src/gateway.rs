//! `oneact serve catalog`: the catalog as an MCP server on stdin and stdout, or over HTTP, in both eras of the protocol.
//!
//! Each action that the context of the launch allows is a tool. Each `tools/call` is one run of oneact in a process of
//! its own, the supervisor of the call. Calls that run at the same time cannot share a process: signals, the adoption
//! of orphans and the sweep of what a server left behind belong to a process.

mod answer;
mod caller;
mod elicit;
mod handler;
mod http;
mod keeper;
mod offer;
mod order;
mod supervisor;
mod told;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use camino::Utf8PathBuf;
use tokio::{sync::Semaphore, time::timeout};

use crate::{
    servers::{ServeError, runtime, serve_on},
    task::Failure,
};

pub(crate) use elicit::{Elicit, Requests};
pub(crate) use http::Door;

use caller::{Caller, Refs, Session, Sessions};
use handler::{Handler, Shared};
use keeper::Keepers;
use offer::Offer;

/// The largest number of calls that are performed at the same time. Others wait for their turn.
const AT_ONCE: u32 = 4;

/// How long the supervisors may take to end after the client has closed stdin. It is longer than the time after which a
/// supervisor is killed.
const LAST_CALLS: Duration = Duration::from_secs(20);

/// The operator's decisions for one session.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) catalog: Utf8PathBuf,
    pub(crate) profile: Option<String>,
    /// The session of all calls, if the operator named one.
    pub(crate) session: Option<String>,
    /// A name that no other process has: JSON-RPC ids begin anew in each process.
    pub(crate) process: String,
    /// The flags of the runs that perform calls.
    pub(crate) flags: Vec<String>,
    pub(crate) elicit: Elicit,
}

impl Gateway {
    /// The caller with this number, which is empty if there is only one.
    fn caller(&self, number: &str, refs: &Arc<Mutex<Refs>>, sessions: Sessions) -> Arc<Caller> {
        let session = Session {
            process: format!("{}{number}", self.process),
            named: self.session.clone(),
            served: match &self.session {
                Some(named) => named.clone(),
                None => format!("sess-{}", self.process),
            },
        };
        Arc::new(Caller::new(session, Arc::clone(refs), sessions))
    }

    /// Reads the catalog. An error means that there is nothing to serve.
    pub(crate) fn open(self) -> Result<Opened, Failure> {
        let offer = Offer::load(&self.catalog, self.profile.as_deref())?;
        Ok(Opened {
            gateway: self,
            offer,
        })
    }
}

/// A gateway whose catalog was read.
pub(crate) struct Opened {
    gateway: Gateway,
    offer: Offer,
}

impl Opened {
    /// Serves until stdin ends, and then until the last supervisor has ended. Blocks. The calling thread starts the
    /// supervisors, which get SIGTERM when it ends.
    pub(crate) fn serve(self) -> Result<(), ServeError> {
        let name = "catalog";
        let runtime = runtime(name)?;
        let calls = Arc::new(Semaphore::new(AT_ONCE as usize));
        let keepers = Arc::new(Keepers::default());
        let Self { gateway, offer } = self;
        let work = (Arc::clone(&calls), Arc::clone(&keepers));
        let served = runtime.block_on(async {
            let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
            let caller = gateway.caller("", &Arc::default(), Sessions::One);
            let handler = |gone| {
                let shared = Arc::new(Shared::new(gateway, offer, work, gone));
                Ok(Handler::new(shared, caller))
            };
            let served = serve_on(name, handler, stdin, stdout).await;
            // A supervisor of one call holds its permit until it was reaped.
            let ended = async {
                keepers.end().await;
                drop(calls.acquire_many(AT_ONCE).await);
            };
            if timeout(LAST_CALLS, ended).await.is_err() {
                tracing::error!("a call did not end; its process gets SIGTERM once more");
            }
            served
        });
        runtime.shutdown_background();
        served
    }
}
