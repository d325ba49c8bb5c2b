//! Decisions of a person: whether an answer is good. The link of each one says who decided, when and why.

use super::naming::{CommandError, Name, origin, sealed};
use crate::{
    ledger::{
        Body, By, Event, Head, Ledger, Row, Seq, StoreError, Tx, Which, chain, names::keyed,
        settle::row_of,
    },
    task::{IMPROVISED, ReviewState},
};

#[derive(Debug)]
pub(crate) struct Revoked {
    pub(crate) row: Row,
    pub(crate) link: Head,
    /// Answers that repeat it or were made of it, and are not revoked.
    pub(crate) left: Vec<Row>,
    /// The answers of its steps; also those that repeated it or were made of it, if that was asked for.
    pub(crate) along: Vec<Row>,
}

/// What happens to the answers that repeat a revoked one or were made of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependants {
    Listed,
    Revoked,
}

/// A person's verdict on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Review {
    Accept,
    /// The answer is not given again, unless a later review accepts it.
    Reject,
}

impl Review {
    const fn state(self) -> ReviewState {
        match self {
            Self::Accept => ReviewState::Accepted,
            Self::Reject => ReviewState::Rejected,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reviewed {
    /// The answer, where it was made.
    pub(crate) row: Row,
    pub(crate) link: Head,
    /// The link that revoked the answer before. A review does not change that.
    pub(crate) revoked: Option<Seq>,
}

impl Ledger<'_> {
    /// Revokes an answer, so that it is neither reused nor replayed.
    pub(crate) fn revoke(
        &mut self,
        name: Name<'_>,
        dependants: Dependants,
        note: Option<&str>,
    ) -> Result<Revoked, CommandError> {
        self.decide(note, |tx, person| {
            let mut row = sealed(tx, name)?;
            // What repeats the opening of a grant is about the same grant.
            if row.action_type.as_deref() == Some(IMPROVISED) {
                row = origin(tx, row)?;
            }
            if let Some(by) = row.revoked_by {
                return Err(CommandError::RevokedBefore { row: row.id, by });
            }
            let link = revoke_row(tx, &row, person)?;
            let mut head = link.clone();
            let steps = made_in(tx, &row)?;
            let mut others = Vec::new();
            for made in [&row].into_iter().chain(&steps) {
                others.extend(tx.rows(&Which::reuses_of(&made.id), usize::MAX)?);
            }
            // The task of each of them.
            let used = [&row].into_iter().chain(&others);
            let parents: Vec<String> = used.filter_map(|used| used.parent.clone()).collect();
            for parent in parents {
                others.extend(row_of(tx, &parent)?);
            }
            let (mut left, mut along) = (Vec::new(), steps);
            for answer in others {
                if answer.id != row.id
                    && left.iter().chain(&along).all(|known| known.id != answer.id)
                    && answer.revoked_by.is_none()
                {
                    match dependants {
                        Dependants::Listed => left.push(answer),
                        Dependants::Revoked => along.push(answer),
                    }
                }
            }
            for answer in &along {
                head = revoke_row(tx, answer, person)?;
            }
            let revoked = Revoked {
                row,
                link,
                left,
                along,
            };
            Ok((revoked, head))
        })
    }

    pub(crate) fn review(
        &mut self,
        name: Name<'_>,
        review: Review,
        note: Option<&str>,
    ) -> Result<Reviewed, CommandError> {
        self.decide(note, |tx, person| {
            let row = sealed(tx, name)?;
            let row = origin(tx, row)?;
            let reason = review.state().name();
            let link = about(tx, Event::Reviewed, &row, person, Some(reason))?;
            let reviewed = Reviewed {
                revoked: row.revoked_by,
                row,
                link: link.clone(),
            };
            Ok((reviewed, link))
        })
    }
}

/// The answers of a task's steps that were made in the task, also in an earlier run of it. Without them, the task would be
/// given the same answers again.
fn made_in(tx: &mut Tx<'_>, row: &Row) -> Result<Vec<Row>, CommandError> {
    let mut made = Vec::new();
    for step in tx.rows(&Which::steps_of(&row.operation_id), usize::MAX)? {
        let own = match &step.reused_from {
            None => Some(step),
            Some(origin) => {
                let key = step.idempotency_key.as_deref().map(keyed);
                match tx.row(&Which::id(origin))? {
                    Some(origin) if delivery_of(tx, &origin)? == key => Some(origin),
                    _ => None,
                }
            }
        };
        made.extend(own.filter(|step| step.revoked_by.is_none()));
    }
    Ok(made)
}

/// The name of the delivery for which an answer was made, as its claim states it. The row of an answer that a person gave
/// does not name it.
fn delivery_of(tx: &mut Tx<'_>, row: &Row) -> Result<Option<String>, StoreError> {
    let claim = tx.link_of(row)?.and_then(|link| link.body()?.claim);
    let claim = claim.map(|claim| tx.claim(claim)).transpose()?.flatten();
    Ok(claim.and_then(|claim| claim.delivery))
}

fn revoke_row(tx: &mut Tx<'_>, row: &Row, person: By<'_>) -> Result<Head, CommandError> {
    let link = about(tx, Event::Revoked, row, person, None)?;
    tx.revoke(&row.id, link.seq)?;
    Ok(link)
}

pub(super) fn about(
    tx: &mut Tx<'_>,
    event: Event,
    row: &Row,
    person: By<'_>,
    reason: Option<&str>,
) -> Result<Head, CommandError> {
    let Some(seq) = row.seq else {
        return Err(CommandError::History(row.id.clone()));
    };
    // The rows of steps and dependants are not compared with their links before. So the link states the operation and the
    // request, if it seals this row.
    let link = tx.link(seq)?.and_then(|link| Some((link.body()?, link)));
    let ours = link.filter(|(body, _)| body.row.as_ref().is_some_and(|seal| seal.id == row.id));
    let (operation_id, session_id, request_hash) = match &ours {
        Some((body, link)) => (&link.operation_id, &link.session_id, &body.request_hash),
        None => (&row.operation_id, &row.session_id, &None),
    };
    let body = Body {
        request_hash: request_hash.clone(),
        reason: reason.map(ToOwned::to_owned),
        note: person.note.map(ToOwned::to_owned),
        about: Some(row.id.clone()),
        ..Body::default()
    };
    let stamp = person.stamp(operation_id, session_id);
    Ok(chain::add_link(tx, event, stamp, &body)?)
}
