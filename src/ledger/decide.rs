//! Decisions of a person: whether an operation happened, and whether an answer is good. The link of each one says
//! who decided, when and why.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::task::{IMPROVISED, ReviewState};

use super::{
    Ledger,
    answer::{self, Beside},
    begin::lock_of,
    chain::{self, Body, Change, Stamp, instant},
    claims::{linked, opened},
    naming::{CANDIDATES, CommandError, Name, only, origin, sealed, settled},
    past::{FEW, Past},
    record::{Claim, ClaimState, Effects, Event, Head, Link, Row, Seq},
    store::{Durability, StoreError, Tx, Which, read, write},
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

#[derive(Clone, Copy)]
pub(crate) enum Happened<'a> {
    /// It happened. The function makes the answer that repetitions get.
    Yes(&'a dyn Fn(&Case) -> String),
    /// It did not happen, so it may be performed.
    No,
}

/// The facts of an operation that a person settles.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) operation_id: String,
    pub(crate) session_id: String,
    pub(crate) task_id: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) claimed_at: String,
    /// The root of a file plan.
    pub(crate) home: Option<String>,
    /// The person: `uid:1000`.
    pub(crate) by: String,
}

#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) case: Case,
    pub(crate) link: Head,
    /// The answer's number in its session; none if nothing happened.
    pub(crate) step_index: Option<u64>,
}

struct Found {
    claim: Claim,
    case: Case,
    body: Body,
    /// The row that the owner of the claim recorded, if there is one.
    row: Option<Row>,
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
            if let Some(by) = revoked_by(tx, &row)? {
                return Err(CommandError::RevokedBefore { row: row.id, by });
            }
            let link = revoke_row(tx, &row, person)?;
            let mut head = link.clone();
            let steps = made_in(tx, &row)?;
            let mut reuses = Vec::new();
            for made in [&row].into_iter().chain(&steps) {
                reuses.extend(tx.rows(&Which::reuses_of(&made.id), usize::MAX)?);
            }
            let mut tasks = Vec::new();
            for used in [&row].into_iter().chain(&reuses) {
                tasks.extend(task_of(tx, used)?);
            }
            let (mut left, mut along) = (Vec::new(), steps);
            for answer in reuses.into_iter().chain(tasks) {
                // A changed row may name an answer that it never repeated.
                if let Some(answer) = Past::default().believed(tx, answer)?
                    && answer.id != row.id
                    && left.iter().chain(&along).all(|known| known.id != answer.id)
                    && revoked_by(tx, &answer)?.is_none()
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
                revoked: revoked_by(tx, &row)?,
                row,
                link: link.clone(),
            };
            Ok((reviewed, link))
        })
    }

    /// The operation that a person may settle. `operation` may be the beginning of its id.
    pub(crate) fn unsettled(&mut self, operation: &str) -> Result<Case, CommandError> {
        Ok(self.found(operation)?.case)
    }

    fn found(&mut self, operation: &str) -> Result<Found, CommandError> {
        self.absorb_outbox();
        let actor = self.actor.clone();
        let found = read(&mut *self.store, |tx| open(tx, operation, &actor))?;
        self.must_be_open(&found.claim)?;
        Ok(found)
    }

    /// Settles an operation whose outcome is unknown. `operation` may be the beginning of its id.
    pub(crate) fn resolve(
        &mut self,
        operation: &str,
        happened: Happened<'_>,
        note: Option<&str>,
    ) -> Result<Resolved, CommandError> {
        let found = self.found(operation)?;
        let operation = found.case.operation_id.clone();
        let answer = match happened {
            Happened::Yes(_) if found.row.is_none() && found.body.request_hash.is_none() => {
                let link = found.claim.seq;
                return Err(CommandError::Forgotten { operation, link });
            }
            Happened::Yes(answer) => Some(answer(&found.case)),
            Happened::No => None,
        };
        let (link, step_index) = self.decide(note, |tx, person| {
            if linked(tx, &found.claim)?.as_ref() != Some(&found.claim) {
                return Err(CommandError::Settled { operation });
            }
            tx.drop_claim(&found.claim.key, None)?;
            let stamp = person.stamp(&operation, &found.case.session_id);
            if let Some(answer) = &answer {
                let row = vouched(&found, answer, person.at);
                let beside = Beside {
                    claim: Some(found.claim.seq),
                    note,
                    change: Change::State,
                    approval: None,
                };
                let (head, step) = answer::record(tx, Event::Resolved, stamp, row, beside)?;
                return Ok(((head.clone(), Some(step)), head));
            }
            let body = Body {
                request_hash: found.body.request_hash.clone(),
                reason: Some("did_not_happen".to_owned()),
                note: note.map(ToOwned::to_owned),
                about: Some(operation.clone()),
                claim: Some(found.claim.seq),
                ..Body::default()
            };
            let head = chain::append(tx, Event::Resolved, stamp, &body)?;
            Ok(((head.clone(), None), head))
        })?;
        Ok(Resolved {
            case: found.case,
            link,
            step_index,
        })
    }

    /// Records a decision. `work` returns its result and the last link.
    pub(super) fn decide<T, E: From<StoreError>>(
        &mut self,
        note: Option<&str>,
        work: impl FnOnce(&mut Tx<'_>, Person<'_>) -> Result<(T, Head), E>,
    ) -> Result<T, E> {
        let person = Person {
            actor: &self.actor,
            at: self.host.timestamp(),
            note,
        };
        let (result, head) = write(&mut *self.store, Durability::Disk, |tx| work(tx, person))?;
        self.publish(&head);
        Ok(result)
    }

    /// Fails unless the owner is dead, and the operation may have happened and must not happen twice.
    fn must_be_open(&mut self, claim: &Claim) -> Result<(), CommandError> {
        let operation = claim.operation_id.clone();
        if claim.state == ClaimState::Unknown {
            return Ok(());
        }
        if self.store.held(lock_of(&operation))? {
            return Err(CommandError::AtWork { operation });
        }
        match (claim.state, claim.effects) {
            (ClaimState::Reserved, _) => Err(CommandError::NothingHappened { operation }),
            (_, Effects::Once) => Ok(()),
            (_, Effects::None | Effects::Idempotent) => Err(CommandError::MayRepeat { operation }),
        }
    }
}

/// Who decides, when, and with which note.
#[derive(Clone, Copy)]
pub(super) struct Person<'a> {
    pub(super) actor: &'a str,
    pub(super) at: Timestamp,
    pub(super) note: Option<&'a str>,
}

impl<'a> Person<'a> {
    pub(super) fn stamp(self, operation_id: &'a str, session_id: &'a str) -> Stamp<'a> {
        Stamp {
            operation_id,
            session_id,
            at: self.at,
            actor: self.actor,
        }
    }
}

fn revoked_by(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Seq>, StoreError> {
    let by = match row.revoked_by {
        Some(by) => tx.link(by)?,
        None => None,
    };
    Ok(by.filter(|link| link.revokes(&row.id)).map(|link| link.seq))
}

/// The answers of a task's steps that were made in the task. Without them, the task would be given the same answers
/// again.
fn made_in(tx: &mut Tx<'_>, row: &Row) -> Result<Vec<Row>, CommandError> {
    let mut made = Vec::new();
    for step in tx.rows(&Which::steps_of(&row.operation_id), usize::MAX)? {
        let step = Past::default().first_believed(tx, vec![step])?;
        if let Some(step) = step.filter(|step| step.reused_from.is_none())
            && revoked_by(tx, &step)?.is_none()
        {
            made.push(step);
        }
    }
    Ok(made)
}

/// The answer of the task of which this is a step.
fn task_of(tx: &mut Tx<'_>, row: &Row) -> Result<Option<Row>, CommandError> {
    let Some(parent) = &row.parent else {
        return Ok(None);
    };
    let tasks = tx.rows(&Which::operation(parent), CANDIDATES)?;
    Ok(tasks.into_iter().find(|task| task.operation_id == *parent))
}

fn revoke_row(tx: &mut Tx<'_>, row: &Row, person: Person<'_>) -> Result<Head, CommandError> {
    let link = about(tx, Event::Revoked, row, person, None)?;
    tx.revoke(&row.id, link.seq)?;
    Ok(link)
}

pub(super) fn about(
    tx: &mut Tx<'_>,
    event: Event,
    row: &Row,
    person: Person<'_>,
    reason: Option<&str>,
) -> Result<Head, CommandError> {
    let Some(seq) = row.seq else {
        return Err(CommandError::History(row.id.clone()));
    };
    // The row may have been changed, so its link states the operation and the request.
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
    Ok(chain::append(tx, event, stamp, &body)?)
}

/// The open claim of the operation whose id begins with `name`.
fn open(tx: &mut Tx<'_>, name: &str, actor: &str) -> Result<Found, CommandError> {
    let mut claims = opened(tx)?;
    claims.retain(|_, claim| claim.operation_id.starts_with(name));
    // Ended operations count, too: a shown short id is unique among all ids.
    let open = claims.values().map(|claim| claim.operation_id.clone());
    let mut operations: Vec<String> = open.collect();
    let mut settled_before = BTreeMap::new();
    if !name.is_empty() {
        if operations.is_empty() {
            settled_before = settled(tx, name)?;
            operations.extend(settled_before.keys().cloned());
        }
        let ended = tx.rows(&Which::operation(name), CANDIDATES)?;
        operations.extend(ended.into_iter().map(|row| row.operation_id));
    }
    let operation = only(name, None, operations, Clone::clone)?;
    let claim = claims
        .into_values()
        .find(|claim| claim.operation_id == operation);
    // An operation's own rows come first.
    let mut rows = tx.rows(&Which::operation(&operation), FEW)?;
    rows.retain(|row| row.operation_id == operation);
    let row = Past::default().first_believed(tx, rows)?;
    if let Some((link, how)) = settled_before.remove(&operation) {
        return Err(CommandError::SettledBefore {
            operation,
            link,
            how,
        });
    }
    let Some(claim) = claim else {
        return Err(match row.and_then(|row| row.state) {
            Some(state) => CommandError::Ended {
                operation,
                state: state.name(),
            },
            None => CommandError::Nothing {
                text: operation,
                session: None,
            },
        });
    };
    let link = tx.link(claim.seq)?;
    let body = link.as_ref().and_then(Link::body).unwrap_or_default();
    let row = row.filter(|row| {
        row.session_id == claim.key.session_id
            && Some(&row.request_hash) == body.request_hash.as_ref()
    });
    let (task_id, action) = match &row {
        Some(row) => (&row.task_id, &row.action_type),
        None => (&body.task, &body.action),
    };
    let case = Case {
        operation_id: operation,
        session_id: claim.key.session_id.clone(),
        task_id: task_id.clone(),
        action: action.clone(),
        claimed_at: link.map(|link| link.at).unwrap_or_default(),
        home: body.home.clone(),
        by: actor.to_owned(),
    };
    Ok(Found {
        claim,
        case,
        body,
        row,
    })
}

/// The row of an answer that a person vouches for. If the owner recorded no row, the chain has the facts.
fn vouched(found: &Found, answer: &str, at: Timestamp) -> Row {
    let hash = found.body.request_hash.as_ref();
    let hash = hash.unwrap_or(&found.claim.key.request_hash);
    let step = found.case.operation_id.split_once('.');
    let known = || Row {
        operation_id: found.case.operation_id.clone(),
        parent: step.map(|(parent, _)| parent.to_owned()),
        position: step.and_then(|(_, position)| position.parse().ok()),
        session_id: found.case.session_id.clone(),
        task_id: found.case.task_id.clone(),
        action_type: found.case.action.clone(),
        request_hash: hash.clone(),
        entry_digest: found.body.entry_digest.clone(),
        ..Row::default()
    };
    let recorded = found.row.clone().filter(|row| row.request.is_some());
    let base = recorded.unwrap_or_else(|| answer::unrecorded(known()));
    answer::resolved(base, answer, instant(at))
}
