//! One plan at a time on one root.

use std::{thread, time::Duration};

use crate::{
    plan::files::Root,
    task::{Failure, Fault},
};

/// How often a held lock is asked for.
const POLL: Duration = Duration::from_millis(2);

/// The root's lock; free again when dropped, and when the process ends however it does.
#[must_use]
pub(crate) struct Lock<'a>(&'a Root);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// Waits for its turn, as long as `stopped` lets it.
pub(crate) fn locked<'a>(
    root: &'a Root,
    stopped: &dyn Fn() -> Option<Failure>,
) -> Result<Lock<'a>, Failure> {
    while !root.try_lock()? {
        if let Some(failure) = stopped() {
            if failure.fault == Fault::Cancelled {
                return Err(failure);
            }
            let message = format!(
                "another plan was at work below {} all the time; send this one again later",
                root.path()
            );
            return Err(Failure::new(Fault::InFlight, message));
        }
        thread::sleep(POLL);
    }
    Ok(Lock(root))
}
