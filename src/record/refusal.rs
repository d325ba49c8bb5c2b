//! The answers to requests that the ledger refuses.

use crate::{
    executor::Executed,
    ledger::LedgerError,
    task::{Failure, Fault, Outcome, Phase, State},
};

/// The answer if an approval is needed but could not be recorded.
pub(super) fn unrecordable() -> Executed {
    let message = "the task needs an approval or a grant, but the ledger is switched off (`none`), so neither can be recorded";
    let mut failure = Failure::new(Fault::LedgerUnavailable, message);
    failure.recoverable = false;
    Outcome::nothing_done(State::Rejected, Phase::Inputs, Some(failure)).into()
}

pub(super) fn refused(error: LedgerError) -> Executed {
    let review = match &error {
        LedgerError::ReviewOpen(review) => Some((**review).clone()),
        _ => None,
    };
    let failure = Failure::from(error);
    let state = match failure.fault {
        Fault::Cancelled => State::Cancelled,
        Fault::RequestInFlight | Fault::ReviewOpen => State::Pending,
        Fault::IdempotencyConflict | Fault::ContextChanged => State::Rejected,
        _ => State::Failed,
    };
    let outcome = Outcome::nothing_done(state, Phase::Inputs, Some(failure));
    Outcome { review, ..outcome }.into()
}
