//! Operations without an answer.

use super::Reading;
use crate::ledger::{
    begin::lock_of,
    claims::linked,
    record::{Claim, ClaimState, Effects},
    store::{StoreError, Tx},
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
    pub(super) fn judged(&mut self, claims: Vec<(Claim, String)>) -> Vec<Open> {
        let mut open = Vec::new();
        for (claim, since) in claims {
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
                (ClaimState::Dispatched | ClaimState::Reserved, _) => How::Died,
            };
            open.push(Open {
                operation_id: claim.operation_id,
                since,
                how,
            });
        }
        open
    }
}

/// The open claims of a session, or of all sessions, as the links record them, and when each was made.
pub(super) fn open(
    tx: &mut Tx<'_>,
    session_id: Option<&str>,
) -> Result<Vec<(Claim, String)>, StoreError> {
    let mut claims = tx.claims()?;
    claims.retain(|claim| session_id.is_none_or(|id| claim.key.session_id == id));
    let mut open = Vec::new();
    for claim in claims {
        if let Some(claim) = linked(tx, &claim)? {
            let link = tx.stored_link(claim.seq)?;
            open.push((claim, link.map(|link| link.at).unwrap_or_default()));
        }
    }
    Ok(open)
}
