//! The review of an answer: the terms in the answer itself, and the decisions that the links record. Only a row that its
//! link seals has terms that count, and only a link with the right hash decides.

use jiff::Timestamp;

use crate::task::{
    Blocks, Release, Review, ReviewDecision, ReviewRule, ReviewState, ReviewTerms, release,
};

use super::{
    record::{Event, Link, Row, RowOutcome, word},
    store::{StoreError, Tx},
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
pub(super) fn terms(row: &Row, rule: Option<ReviewRule>) -> Option<ReviewTerms> {
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
pub(super) fn origin(row: &Row) -> &str {
    row.reused_from.as_deref().unwrap_or(&row.id)
}

/// The row that a link reviews, and the decision.
pub(super) fn decision(link: &Link) -> Option<(String, ReviewDecision)> {
    let body = link.body().filter(|_| link.is(Event::Reviewed))?;
    let state = body.reason.as_deref().and_then(word::<ReviewState>)?;
    let decision = ReviewDecision {
        state,
        by: link.actor.clone(),
        at: link.at.clone(),
        link: link.seq,
    };
    Some((body.about?, decision)).filter(|_| !state.is_open())
}

/// The last decision about an answer, by all links of its request.
pub(super) fn last(tx: &mut Tx<'_>, row: &Row) -> Result<Option<ReviewDecision>, StoreError> {
    let links = tx.links_about(&row.session_id, &row.request_hash, 0, usize::MAX)?;
    let mut decisions = links.iter().rev().filter_map(decision);
    let last = decisions.find(|(about, _)| about == origin(row));
    Ok(last.map(|(_, decision)| decision))
}

/// Whether that decision withdraws the answer.
pub(super) fn withdraws(row: &Row, decision: &ReviewDecision) -> bool {
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
