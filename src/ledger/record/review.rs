//! The judgements of people on answers. The last one about an answer counts.

use super::{
    super::store::{
        StoreError, Tx,
        columns::{Column, Kind, Record, SEQ, column},
        sql::{Engine, Value},
    },
    Seq, Word,
};
use crate::task::{ReviewDecision, ReviewState};

/// A judgement on an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("session_id", Kind::Text, |r| &mut r.session_id),
        column("row_id", Kind::Text, |r| &mut r.row_id),
        column("state", Kind::Text, |r| &mut r.state),
        column("actor", Kind::Text, |r| &mut r.actor),
        column("at", Kind::Text, |r| &mut r.at),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["reviews", "public.oneact_reviews"])
    }
}

impl Word for ReviewState {}

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
    pub(crate) fn review(&mut self, row_id: &str) -> Result<Option<Judgement>, StoreError> {
        self.one(
            "WHERE row_id = ?1 ORDER BY seq DESC LIMIT 1",
            &[row_id.into()],
        )
    }

    /// The judgements of a session from the link `from` on, in their order.
    pub(crate) fn reviews(
        &mut self,
        session_id: &str,
        from: Seq,
    ) -> Result<Vec<Judgement>, StoreError> {
        self.all(
            "WHERE session_id = ?1 AND seq >= ?2 ORDER BY seq",
            &[session_id.into(), Value::since(from)],
        )
    }
}
