//! The lock of a root: one plan at a time.

use std::{thread, time::Duration};

use crate::{
    plan::files::Root,
    task::{Failure, Fault},
};

const POLL: Duration = Duration::from_millis(2);

/// The root's lock. It is released when it is dropped and when the process ends in any way.
#[must_use]
pub(in crate::plan) struct Lock<'a>(&'a Root);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// Waits for the root's lock until `stopped` gives a reason to end.
pub(in crate::plan) fn locked<'a>(
    root: &'a Root,
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Lock<'a>, Failure> {
    while !root.try_lock()? {
        if let Some(failure) = stopped() {
            if failure.fault == Fault::Cancelled {
                return Err(failure);
            }
            let message = format!(
                "another plan was at work below {} until the time limit of this plan; send this plan again later",
                root.path()
            );
            return Err(Failure::new(Fault::InFlight, message));
        }
        thread::sleep(POLL);
    }
    Ok(Lock(root))
}
