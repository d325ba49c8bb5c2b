//! What only a person can say: whether something happened, whether an answer is good. Each decision is a
//! link that says who, when and why.

mod resolve;

use super::{
    Ledger,
    chain::{self, Body, Stamp},
    naming::{Name, NameError, Told, find},
    record::{Event, Head, Row, Seq},
    store::{Durability, StoreError, Tx, Which, write},
};

pub(crate) use resolve::{Case, Happened};

/// Why a decision is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecisionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{0} is of before oneact: it is never reused, and no link can be about it")]
    History(String),
    #[error("{row} was taken back before, by link {by}")]
    RevokedBefore { row: String, by: Seq },
    #[error("operation {operation} is at work: nothing is to be decided before it ends")]
    AtWork { operation: String },
    #[error(
        "operation {operation} died before anything happened: the next run of the same does it"
    )]
    NothingHappened { operation: String },
    #[error(
        "what operation {operation} does may be done twice: the next run of the same does it again"
    )]
    MayRepeat { operation: String },
    #[error("operation {operation} is not open: it ended as `{state}`")]
    Ended {
        operation: String,
        state: &'static str,
    },
    #[error("operation {operation} was settled by somebody else meanwhile")]
    Settled { operation: String },
    #[error(
        "link {link} does not say what operation {operation} was, so that it cannot be known again; only --did-not is possible"
    )]
    Forgotten { operation: String, link: Seq },
}

/// What was taken back.
#[derive(Debug)]
pub(crate) struct Revoked {
    pub(crate) row: Told,
    pub(crate) link: Head,
    /// Answers that were given from it, and are not taken back.
    pub(crate) left: Vec<Told>,
    /// Answers that were given from it, and were taken back with it.
    pub(crate) along: Vec<Told>,
    /// The row whose answer it is itself.
    pub(crate) source: Option<String>,
}

/// What becomes of answers that were given from one that is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dependants {
    Listed,
    Revoked,
}

/// What a person found of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Review {
    Accept,
    /// It is taken back as well.
    Reject,
}

/// A recorded review.
#[derive(Debug)]
pub(crate) struct Reviewed {
    pub(crate) row: Told,
    pub(crate) link: Head,
    /// The link that took the answer back; none if it stands, or was taken back before.
    pub(crate) revoked: Option<Seq>,
}

impl Ledger<'_> {
    /// Takes an answer back: it is neither reused nor replayed any more.
    pub(crate) fn revoke(
        &mut self,
        name: Name<'_>,
        dependants: Dependants,
        note: Option<&str>,
    ) -> Result<Revoked, DecisionError> {
        let (actor, at) = (self.actor.clone(), self.host.timestamp());
        let (revoked, head) =
            write::<_, DecisionError>(&mut *self.store, Durability::Disk, |tx| {
                let row = find(tx, name)?;
                if let Some(by) = taken_back(tx, &row)? {
                    return Err(DecisionError::RevokedBefore { row: row.id, by });
                }
                let link = take_back(tx, &row, &actor, at, note)?;
                let mut head = link.clone();
                let reuses = tx.rows(&Which::ReusesOf(&row.id), usize::MAX)?;
                let reuses = reuses.into_iter().filter(|row| row.revoked_by.is_none());
                let (mut left, mut along) = (Vec::new(), Vec::new());
                for reuse in reuses {
                    match dependants {
                        Dependants::Listed => left.push(Told::of(&reuse)),
                        Dependants::Revoked => {
                            head = take_back(tx, &reuse, &actor, at, note)?;
                            along.push(Told::of(&reuse));
                        }
                    }
                }
                let revoked = Revoked {
                    row: Told::of(&row),
                    source: row.reused_from,
                    link,
                    left,
                    along,
                };
                Ok((revoked, head))
            })?;
        self.publish(&head);
        Ok(revoked)
    }

    /// Records what a person found of an answer.
    pub(crate) fn review(
        &mut self,
        name: Name<'_>,
        review: Review,
        note: Option<&str>,
    ) -> Result<Reviewed, DecisionError> {
        let (actor, at) = (self.actor.clone(), self.host.timestamp());
        let (reviewed, head) =
            write::<_, DecisionError>(&mut *self.store, Durability::Disk, |tx| {
                let row = find(tx, name)?;
                let reason = match review {
                    Review::Accept => "accepted",
                    Review::Reject => "rejected",
                };
                let link = about(tx, Event::Reviewed, &row, &actor, at, (Some(reason), note))?;
                let taken = match (review, row.revoked_by) {
                    (Review::Reject, None) => Some(take_back(tx, &row, &actor, at, note)?),
                    (Review::Accept | Review::Reject, _) => None,
                };
                let revoked = taken.as_ref().map(|link| link.seq);
                let head = taken.unwrap_or_else(|| link.clone());
                let reviewed = Reviewed {
                    row: Told::of(&row),
                    link,
                    revoked,
                };
                Ok((reviewed, head))
            })?;
        self.publish(&head);
        Ok(reviewed)
    }
}

/// The link that took a row back.
fn taken_back(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Seq>, StoreError> {
    let by = match row.revoked_by {
        Some(by) => tx.link(by)?,
        None => None,
    };
    Ok(by
        .filter(|link| link.takes_back(&row.id))
        .map(|link| link.seq))
}

fn take_back(
    tx: &mut Tx<'_>,
    row: &Row,
    actor: &str,
    at: jiff::Timestamp,
    note: Option<&str>,
) -> Result<Head, DecisionError> {
    let link = about(tx, Event::Revoked, row, actor, at, (None, note))?;
    tx.revoke(&row.id, link.seq)?;
    Ok(link)
}

/// A link about a row.
fn about(
    tx: &mut Tx<'_>,
    event: Event,
    row: &Row,
    actor: &str,
    at: jiff::Timestamp,
    (reason, note): (Option<&str>, Option<&str>),
) -> Result<Head, DecisionError> {
    let Some(seq) = row.seq else {
        return Err(DecisionError::History(row.id.clone()));
    };
    // Whose answer it is its link says, and not the row, which may have been changed.
    let link = tx.link(seq)?.and_then(|link| Some((link.body()?, link)));
    let ours = link.filter(|(body, _)| body.row.as_ref().is_some_and(|seal| seal.id == row.id));
    let (operation_id, session_id, request_hash) = match &ours {
        Some((body, link)) => (&link.operation_id, &link.session_id, &body.request_hash),
        None => (&row.operation_id, &row.session_id, &None),
    };
    let stamp = Stamp {
        operation_id,
        session_id,
        at,
        actor,
    };
    let body = Body {
        request_hash: request_hash.clone(),
        reason: reason.map(ToOwned::to_owned),
        note: note.map(ToOwned::to_owned),
        about: Some(row.id.clone()),
        ..Body::default()
    };
    Ok(chain::append(tx, event, stamp, &body)?)
}
