//! A step: one answer of a session, with what the ledger says about it beside its row.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use crate::{
    approval::under,
    ledger::{Row, RowState, StoreError, Tx, Which, review},
    task::{Blocks, Review, ReviewDecision, ReviewState, ReviewTerms},
};

#[derive(Debug, Clone)]
pub(crate) struct SessionStep {
    pub(crate) row: Row,
    /// The step whose answer was repeated.
    pub(crate) from: Option<u64>,
    /// The step that opened the grant under which the call was made.
    pub(crate) under: Option<u64>,
    /// The review of the answer, if it demands one or there was one.
    pub(crate) review: Option<Review>,
}

impl SessionStep {
    /// The steps of these rows. `now` decides which reviews are overdue.
    pub(super) fn all(
        tx: &mut Tx<'_>,
        rows: Vec<Row>,
        now: Timestamp,
    ) -> Result<Vec<Self>, StoreError> {
        let decisions = decisions(tx, &rows)?;
        let step = |row: Row| {
            let from = row.reused_from.as_deref().map(Which::id);
            let under = under(&row);
            let under = under.map(|id| Which::operation(&id).within(Some(&row.session_id)));
            let mut number = |which: Option<Which>| match which {
                Some(which) => Ok::<_, StoreError>(tx.steps(&which, 1)?.pop()),
                None => Ok(None),
            };
            Ok(Self {
                from: number(from)?,
                under: number(under)?,
                review: review_of(&row, decisions.get(review::origin(&row)), now),
                row,
            })
        };
        rows.into_iter().map(step).collect()
    }

    /// Whether the step waits for something that is missing.
    pub(crate) fn waits(&self) -> bool {
        self.row.state == Some(RowState::Pending)
    }

    /// The state of the open review of an answer that was made in this step. A revoked answer needs no review.
    pub(crate) fn open_review(&self) -> Option<ReviewState> {
        let made_here = self.row.reused_from.is_none() && self.row.revoked_by.is_none();
        let state = self.review.as_ref().filter(|_| made_here)?.state;
        Some(state).filter(|state| state.is_open())
    }
}

/// The last decisions about the answers of these rows. A row is reviewed after its link, but a repeated answer may have
/// been reviewed before.
fn decisions(tx: &mut Tx<'_>, rows: &[Row]) -> Result<HashMap<String, ReviewDecision>, StoreError> {
    let mut since: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        let from = row.reused_from.as_ref().map_or(row.seq, |_| Some(0));
        if let Some(from) = from {
            let first = since.entry(&row.session_id).or_insert(from);
            *first = from.min(*first);
        }
    }
    let mut decisions = HashMap::new();
    for (session_id, from) in since {
        let judgements = tx.reviews(session_id, from)?.into_iter();
        decisions.extend(judgements.map(|judgement| (judgement.row_id.clone(), judgement.into())));
    }
    Ok(decisions)
}

fn review_of(row: &Row, decision: Option<&ReviewDecision>, now: Timestamp) -> Option<Review> {
    let terms = review::terms(row, None).or_else(|| {
        decision.map(|_| ReviewTerms {
            operation_id: row.operation_id.clone(),
            blocks: Blocks::No,
            since: row.timestamp.clone(),
            until: None,
        })
    });
    Some(Review::new(terms?, decision.cloned(), now))
}
