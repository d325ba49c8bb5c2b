//! The review of an answer: the terms in the answer itself, and the decisions of people.

use jiff::Timestamp;

use crate::task::{Blocks, Release, Review, ReviewDecision, ReviewRule, ReviewTerms, release};

use super::{
    record::{Row, RowOutcome, Which},
    store::{Result, Seq, Tx},
};

/// Since when a `ttl` counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Usable {
    Since(String),
    /// The answer is withheld, so no time has passed in which it could be used.
    NotYet,
}

/// What is to be reviewed: the strictest of what the answer records and of the present rule of its entry. An answer
/// from before the entry demanded a review records nothing.
pub(crate) fn terms(row: &Row, rule: Option<ReviewRule>) -> Option<ReviewTerms> {
    if row.outcome != RowOutcome::Success {
        return None;
    }
    let recorded = row.response.as_deref().and_then(ReviewTerms::recorded);
    let Some(rule) = rule else {
        return recorded;
    };
    let terms = recorded.unwrap_or_else(|| {
        let since = row.timestamp.parse().unwrap_or(Timestamp::UNIX_EPOCH);
        ReviewTerms::new(rule, &row.operation_id, since)
    });
    Some(ReviewTerms {
        blocks: terms.blocks.max(rule.blocks),
        ..terms
    })
}

/// The row whose review decides about `row`: a repeated answer is reviewed where it was made.
pub(crate) fn origin(row: &Row) -> &str {
    row.reused_from.as_deref().unwrap_or(&row.id)
}

/// The last decision about an answer.
pub(crate) fn last(tx: &mut Tx<'_>, row: &Row) -> Result<Option<ReviewDecision>> {
    Ok(tx.review(origin(row))?.map(ReviewDecision::from))
}

/// The link that withdrew an answer: it was revoked, or rejected in a review. The answer of a task was made of the answers
/// of its steps.
pub(crate) fn withdrawn_by(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Seq>> {
    let own = own_withdrawal(tx, row)?;
    if own.is_some() || row.parent.is_some() {
        return Ok(own);
    }
    for step in tx.rows(&Which::steps_of(&row.operation_id), usize::MAX)? {
        let mut by = own_withdrawal(tx, &step)?;
        // A repeated answer is withdrawn where it was made.
        if by.is_none()
            && let Some(made) = tx.source(&step)?
        {
            by = own_withdrawal(tx, &made)?;
        }
        if by.is_some() {
            return Ok(by);
        }
    }
    Ok(None)
}

fn own_withdrawal(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Seq>> {
    if row.revoked_by.is_some() {
        return Ok(row.revoked_by);
    }
    let decision = last(tx, row)?;
    let decision = decision.filter(|decision| withdraws(row, decision));
    Ok(decision.map(|decision| decision.link))
}

/// Whether that decision withdraws the answer.
fn withdraws(row: &Row, decision: &ReviewDecision) -> bool {
    let blocks = terms(row, None).map_or(Blocks::No, |terms| terms.blocks);
    release(blocks, decision.state) == Release::Withdrawn
}

/// A withheld answer can be used from its acceptance on, so that no review takes longer than its `ttl`.
pub(super) fn usable(row: &Row, review: Option<&Review>) -> Usable {
    match review {
        Some(review) if review.terms.blocks == Blocks::Yes => match &review.decision {
            Some(decision) => Usable::Since(decision.at.clone()),
            None => Usable::NotYet,
        },
        _ => Usable::Since(row.timestamp.clone()),
    }
}
