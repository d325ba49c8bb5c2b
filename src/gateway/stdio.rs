//! The catalog on stdin and stdout.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use super::{
    caller::Sessions,
    handler::{Handler, Shared},
    offer::Offer,
    settings::Gateway,
    supervisor::Supervisors,
};
use crate::{
    servers::{ServeError, runtime, serve_on},
    task::Failure,
};

/// How long the supervisors may take to end after the client has closed stdin. It is longer than the time after which a
/// supervisor is killed.
const LAST_CALLS: Duration = Duration::from_secs(20);

impl Gateway {
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
    pub(super) gateway: Gateway,
    pub(super) offer: Offer,
}

impl Opened {
    /// Serves until stdin ends, and then until the last supervisor has ended. Blocks. The calling thread starts the
    /// supervisors, which get SIGTERM when it ends.
    pub(crate) fn serve(self) -> Result<(), ServeError> {
        let name = "catalog";
        let runtime = runtime(name)?;
        let supervisors = Arc::new(Supervisors::default());
        let Self { gateway, offer } = self;
        let shared = Arc::clone(&supervisors);
        let served = runtime.block_on(async {
            let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
            let caller = gateway.caller("", &Arc::default(), Sessions::One);
            let handler = |gone| {
                let shared = Arc::new(Shared::new(gateway, offer, shared, gone));
                Ok(Handler::new(shared, caller))
            };
            let served = serve_on(name, handler, stdin, stdout).await;
            if timeout(LAST_CALLS, supervisors.end()).await.is_err() {
                tracing::error!("a call did not end; its process gets SIGTERM once more");
            }
            served
        });
        runtime.shutdown_background();
        served
    }
}
