//! The judgements of people on answers. The last one about an answer counts.

use serde::{Deserialize, Serialize};

use super::{
    super::store::{Record, Result, Seq, Tx, Value},
    body::Body,
    link::{Event, Link, Testified},
    spelling::word,
};
use crate::task::{ReviewDecision, ReviewState};

/// A judgement on an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Judgement {
    /// The link that recorded it.
    pub(crate) seq: Seq,
    pub(crate) session_id: String,
    /// The row of the answer, where it was made.
    pub(crate) row_id: String,
    pub(crate) state: ReviewState,
    /// Who: `uid:1000`.
    pub(crate) actor: String,
    pub(crate) at: String,
}

impl Record for Judgement {
    const TABLE: [&'static str; 2] = ["reviews", "public.oneact_reviews"];
}

impl Testified for Judgement {
    fn made_by(link: &Link, body: &Body) -> Option<Self> {
        link.is(Event::Reviewed).then(|| Self {
            seq: link.seq,
            session_id: link.session_id.clone(),
            row_id: body.about.clone().unwrap_or_default(),
            state: body.reason.as_deref().and_then(word).unwrap_or_default(),
            actor: link.actor.clone(),
            at: link.at.clone(),
        })
    }
}

impl From<Judgement> for ReviewDecision {
    fn from(judgement: Judgement) -> Self {
        Self {
            state: judgement.state,
            by: judgement.actor,
            at: judgement.at,
            link: judgement.seq,
        }
    }
}

impl Tx<'_> {
    /// The last judgement on the answer of a row.
    pub(crate) fn review(&mut self, row_id: &str) -> Result<Option<Judgement>> {
        self.one(
            "WHERE row_id = ?1 ORDER BY seq DESC LIMIT 1",
            &[row_id.into()],
        )
    }

    /// The judgements of a session from the link `from` on, in their order.
    pub(crate) fn reviews(&mut self, session_id: &str, from: Seq) -> Result<Vec<Judgement>> {
        self.all(
            "WHERE session_id = ?1 AND seq >= ?2 ORDER BY seq",
            &[session_id.into(), Value::since(from)],
        )
    }
}
