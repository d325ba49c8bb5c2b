//! The lock of a root: one plan at a time. And why a plan must stop.

use std::{thread, time::Duration};

use crate::task::{Failure, Fault};

use super::Desk;
use crate::tree::Root;

const POLL: Duration = Duration::from_millis(2);

/// The root's lock. It is released when it is dropped and when the process ends in any way.
#[must_use]
pub(super) struct Lock<'a>(&'a Root);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// Waits for the root's lock until `stopped` gives a reason to end.
pub(super) fn locked<'a>(
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

/// Why a plan must stop now: a signal, or the end of its time (R-001-173).
pub(super) fn stopped(desk: Desk<'_>, given: Duration) -> Option<Failure> {
    if let Some(interrupt) = desk.host.interrupts().caught() {
        let message = format!("cancelled by {}", interrupt.name());
        return Some(Failure::new(Fault::Cancelled, message));
    }
    let given = desk.budget.map_or(given, |budget| budget.min(given));
    (desk.begun.passed() > given).then(|| {
        let message = format!("the plan took longer than its time limit of {given:?}");
        Failure::new(Fault::ToolTimeout, message)
    })
}
