//! Operations without an answer.

use crate::{
    ledger::{Claim, ClaimState, Effects, begin::lock_of},
    people::Reading,
};

/// An operation without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) operation_id: String,
    pub(crate) since: String,
    pub(crate) how: How,
}

/// The state of an operation without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    AtWork,
    /// Its owner died before anything could happen.
    Died,
    /// Its owner died after it may have happened.
    Unknown,
}

impl Reading {
    /// What is known of these claims now.
    pub(super) fn judged(&mut self, claims: Vec<Claim>) -> Vec<Open> {
        let judged = claims.into_iter().map(|claim| {
            // If this is not known, the owner counts as alive.
            let mut alive = || {
                let held = self.store.held(lock_of(&claim.operation_id));
                held.unwrap_or(true)
            };
            let how = match (claim.state, claim.effects) {
                (ClaimState::Unknown, _) => How::Unknown,
                _ if alive() => How::AtWork,
                // The next run of the same request decides the same.
                (ClaimState::Dispatched, Effects::Once) => How::Unknown,
                _ => How::Died,
            };
            Open {
                operation_id: claim.operation_id,
                since: claim.claimed_at,
                how,
            }
        });
        judged.collect()
    }
}
