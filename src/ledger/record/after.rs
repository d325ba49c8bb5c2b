//! What a link makes of a claim.

use super::{Claim, ClaimState, Event, Link, word};
use crate::evidence::Body;

impl Claim {
    /// Whether it is open, and of that operation in that session. A database that crashed may have lost a claim, and may have
    /// given its number to another one.
    pub(crate) fn is_open_of(&self, session_id: &str, operation_id: &str) -> bool {
        self.is_open() && self.key.session_id == session_id && self.operation_id == operation_id
    }

    /// The claim after a link that settles or advances it.
    pub(crate) fn after(self, link: &Link, body: &Body) -> Self {
        let event = word(&link.event);
        let state = match event {
            Some(Event::Dispatched) => ClaimState::Dispatched,
            // The outcome is unknown, or the result is not good: a person decides before it is performed again.
            Some(Event::Unknown) => ClaimState::Unknown,
            Some(Event::TakenOver) => ClaimState::TakenOver,
            Some(Event::Resolved) if body.row.is_none() => ClaimState::NotMade,
            Some(Event::Succeeded | Event::Resolved) => ClaimState::Succeeded,
            _ => ClaimState::Ended,
        };
        let (sent, under) = match state {
            ClaimState::Dispatched => (Some(link.seq), body.under.clone()),
            _ => (self.sent, self.under),
        };
        let is_open = matches!(state, ClaimState::Dispatched | ClaimState::Unknown);
        Self {
            state,
            sent,
            under,
            changed: body.changes.as_ref().map(|_| link.seq).or(self.changed),
            ended: (!is_open).then_some(link.seq),
            ..self
        }
    }
}
