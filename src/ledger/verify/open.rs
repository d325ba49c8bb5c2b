//! What is being done, and what nobody knows the end of, as the chain tells it: every claim has to say the
//! same.

use std::collections::BTreeMap;

use super::page::is;
use crate::ledger::{
    chain::Body,
    record::{Claim, ClaimKey, ClaimState, Effects, Event, Link, Seq},
};

/// The claims that there must be, by their number.
#[derive(Debug, Default)]
pub(super) struct Opened(BTreeMap<Seq, Claim>);

impl Opened {
    /// What becomes of them with that link.
    pub(super) fn follow(&mut self, link: &Link, body: &Body) {
        let moved = |state| move |claim: &mut Claim| claim.state = state;
        if let Some(seq) = body.claim {
            if is(link, Event::Dispatched) {
                self.0.get_mut(&seq).map(moved(ClaimState::Dispatched));
            } else if is(link, Event::Unknown) {
                self.0.get_mut(&seq).map(moved(ClaimState::Unknown));
            } else {
                self.0.remove(&seq);
            }
        }
        if is(link, Event::Reserved) || is(link, Event::TakenOver) {
            let claimed = body.claimed.as_ref().or(body.request_hash.as_ref());
            let claim = Claim {
                key: ClaimKey {
                    session_id: link.session_id.clone(),
                    request_hash: claimed.cloned().unwrap_or_default(),
                },
                operation_id: link.operation_id.clone(),
                seq: link.seq,
                state: ClaimState::Reserved,
                effects: Effects::read(body.effects.as_deref().unwrap_or_default()),
            };
            self.0.insert(link.seq, claim);
        }
    }

    /// What the chain says of the claim with that number; it is asked once.
    pub(super) fn take(&mut self, seq: Seq) -> Option<Claim> {
        self.0.remove(&seq)
    }

    /// The first that nobody asked for.
    pub(super) fn left(&self) -> Option<&Claim> {
        self.0.values().next()
    }
}
