//! Operations without an answer.

use crate::ledger::{Claim, ClaimState, Effects, Store, begin::lock_of};

/// An operation without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unanswered {
    pub(crate) operation_id: String,
    pub(crate) since: String,
    pub(crate) state: UnansweredState,
}

/// The state of an operation without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnansweredState {
    AtWork,
    /// Its owner died before anything could happen.
    Died,
    /// Its owner died after it may have happened.
    Unknown,
}

/// What is known of these claims now.
pub(super) fn unanswered(store: &mut dyn Store, claims: Vec<Claim>) -> Vec<Unanswered> {
    let each = claims.into_iter().map(|claim| {
        // If this is not known, the owner counts as alive.
        let mut alive = || store.held(lock_of(&claim.operation_id)).unwrap_or(true);
        let state = match (claim.state, claim.effects) {
            (ClaimState::Unknown, _) => UnansweredState::Unknown,
            _ if alive() => UnansweredState::AtWork,
            // The next run of the same request decides the same.
            (ClaimState::Dispatched, Effects::Once) => UnansweredState::Unknown,
            _ => UnansweredState::Died,
        };
        Unanswered {
            operation_id: claim.operation_id,
            since: claim.claimed_at,
            state,
        }
    });
    each.collect()
}
