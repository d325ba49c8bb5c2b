//! Requests that a thread waits for.

use std::{future::Future, io, pin::pin, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

/// How often it is asked whether the wait goes on.
const TICK: Duration = Duration::from_millis(50);

/// The runtime on which the requests of a thread are made.
#[derive(Debug)]
pub(crate) struct Waiting(Runtime);

impl Waiting {
    pub(crate) fn new() -> io::Result<Self> {
        Builder::new_current_thread().enable_all().build().map(Self)
    }

    /// The result of the work; none if `go_on` says no before it ends. What the work needs of the runtime must be made when
    /// it is polled first.
    pub(crate) fn wait<T>(
        &self,
        go_on: &dyn Fn() -> bool,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        self.0.block_on(async {
            let mut work = pin!(work);
            while go_on() {
                if let Ok(done) = timeout(TICK, &mut work).await {
                    return Some(done);
                }
            }
            None
        })
    }

    /// Does not wait for a look-up of a name that still runs.
    pub(crate) fn leave(self) {
        self.0.shutdown_background();
    }
}
