//! What is being done, and what nobody knows the end of, as the chain tells it: every claim has to say the
//! same.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    canonical::{canonical, sha256},
    chain::Body,
    record::{Claim, ClaimKey, ClaimState, Effects, Event, Link, Seq},
    words::{Ask, Attempt, OnDuplicate},
};

/// The claims that there must be, by their number.
#[derive(Debug, Default)]
pub(super) struct Opened(BTreeMap<Seq, Claim>);

impl Opened {
    /// What becomes of them with that link.
    pub(super) fn follow(&mut self, link: &Link, body: &Body) {
        let moved = |state| move |claim: &mut Claim| claim.state = state;
        if let Some(seq) = body.claim {
            if link.is(Event::Dispatched) {
                self.0.get_mut(&seq).map(moved(ClaimState::Dispatched));
            } else if link.is(Event::Unknown) {
                self.0.get_mut(&seq).map(moved(ClaimState::Unknown));
            } else {
                self.0.remove(&seq);
            }
        }
        if link.is(Event::Reserved) || link.is(Event::TakenOver) {
            let claimed = body.claimed.as_ref().or(body.request_hash.as_ref());
            let claim = Claim {
                key: ClaimKey {
                    session_id: link.session_id.clone(),
                    request_hash: claimed.cloned().unwrap_or_default(),
                },
                operation_id: link.operation_id.clone(),
                seq: link.seq,
                state: ClaimState::Reserved,
                effects: effects(body),
            };
            self.0.insert(link.seq, claim);
        }
    }

    /// The claim with that number.
    pub(super) fn get(&self, seq: Seq) -> Option<&Claim> {
        self.0.get(&seq)
    }

    /// The newest claim of that key.
    pub(super) fn of(&self, key: &ClaimKey) -> Option<&Claim> {
        self.0.values().rev().find(|claim| claim.key == *key)
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

/// What doing it twice would mean; the worst where nobody knows.
fn effects(body: &Body) -> Effects {
    let name = body.effects.as_deref();
    name.and_then(Effects::read).unwrap_or(Effects::Once)
}

/// What is claimed: the request; where duplicates are repeated, the delivery, which is none, and the
/// operation alone where the caller names neither.
pub(super) fn claim_key(ask: &Ask<'_>, request_hash: &str) -> ClaimKey {
    let who = &ask.who;
    let claimed = match ask.on_duplicate {
        OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => request_hash.to_owned(),
        OnDuplicate::Repeat => match (who.idempotency_key, who.task_id) {
            (None, None) => who.operation_id.to_owned(),
            (Some(key), _) => delivery(&json!({"idempotency_key": key})),
            (None, Some(task_id)) => delivery(&json!({
                "request_id": who.request_id,
                "task_id": task_id,
                "attempt": match who.attempt {
                    Attempt::Said(attempt) => Some(attempt),
                    Attempt::Unsaid => None,
                },
            })),
        },
    };
    ClaimKey {
        session_id: who.session_id.to_owned(),
        request_hash: claimed,
    }
}

fn delivery(named: &Value) -> String {
    format!("delivery:{}", sha256(canonical(named)))
}
