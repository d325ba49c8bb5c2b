//! An operation that died when it may have happened: a person has looked, and says whether it did.

use jiff::Timestamp;

use super::DecisionError;
use crate::ledger::{
    Ledger,
    begin::lock_of,
    chain::{self, Body, Change, Stamp, instant},
    naming::{CANDIDATES, NameError, only},
    past::{FEW, first_believed, linked},
    record::{Claim, ClaimState, Effects, Event, Head, Link, Row},
    row::{self, Beside},
    store::{Durability, StoreError, Tx, Which, read, write},
};

/// What a person found out.
#[derive(Clone, Copy)]
pub(crate) enum Happened<'a> {
    /// It happened. The answer that is given from now on, made from what is known of it.
    Yes(&'a dyn Fn(&Case) -> String),
    /// It did not: it may be done.
    No,
}

/// What is known of the operation.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) operation_id: String,
    pub(crate) session_id: String,
    pub(crate) task_id: Option<String>,
    /// The catalog entries.
    pub(crate) action: Option<String>,
    /// When it was claimed.
    pub(crate) claimed_at: String,
    /// Who says it: `uid:1000`
    pub(crate) by: String,
}

/// A settled operation.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) case: Case,
    pub(crate) link: Head,
    /// The step that the answer became.
    pub(crate) step_index: Option<u64>,
}

/// A claim, and what its link says.
struct Found {
    claim: Claim,
    case: Case,
    body: Body,
    /// What its owner recorded, where it lived.
    row: Option<Row>,
}

impl Ledger<'_> {
    /// Settles an operation of which nobody knows whether it happened. `operation` may be the beginning
    /// of its id.
    pub(crate) fn resolve(
        &mut self,
        operation: &str,
        happened: Happened<'_>,
        note: Option<&str>,
    ) -> Result<Resolved, DecisionError> {
        self.absorb_outbox();
        let actor = self.actor.clone();
        let found = read(&mut *self.store, |tx| find(tx, operation, &actor))?;
        self.must_be_open(&found.claim)?;
        let at = self.host.timestamp();
        let answer = match happened {
            Happened::Yes(answer) => {
                let link = found.claim.seq;
                let forgotten = found.row.is_none() && found.case.action.is_none();
                let operation = found.case.operation_id.clone();
                if forgotten {
                    return Err(DecisionError::Forgotten { operation, link });
                }
                Some(answer(&found.case))
            }
            Happened::No => None,
        };
        let (link, step_index) = write(&mut *self.store, Durability::Disk, |tx| {
            if linked(tx, &found.claim)?.as_ref() != Some(&found.claim) {
                let operation = found.case.operation_id.clone();
                return Err(DecisionError::Settled { operation });
            }
            tx.drop_claim(&found.claim.key, found.claim.seq)?;
            let stamp = Stamp {
                operation_id: &found.case.operation_id,
                session_id: &found.case.session_id,
                at,
                actor: &actor,
            };
            if let Some(answer) = &answer {
                let row = vouched(&found, answer, at);
                let beside = Beside {
                    claim: Some(found.claim.seq),
                    note,
                    change: Change::State,
                };
                let (head, step) = row::record(tx, Event::Resolved, stamp, row, beside)?;
                Ok((head, Some(step)))
            } else {
                let body = Body {
                    request_hash: found.body.request_hash.clone(),
                    reason: Some("did_not_happen".to_owned()),
                    note: note.map(ToOwned::to_owned),
                    about: Some(found.case.operation_id.clone()),
                    claim: Some(found.claim.seq),
                    ..Body::default()
                };
                Ok((chain::append(tx, Event::Resolved, stamp, &body)?, None))
            }
        })?;
        self.publish(&link);
        Ok(Resolved {
            case: found.case,
            link,
            step_index,
        })
    }

    /// Only what may have happened, must not happen twice, and is nobody's any more.
    fn must_be_open(&mut self, claim: &Claim) -> Result<(), DecisionError> {
        let operation = claim.operation_id.clone();
        if claim.state == ClaimState::Unknown {
            return Ok(());
        }
        if self.store.held(lock_of(&operation))? {
            return Err(DecisionError::AtWork { operation });
        }
        match (claim.state, claim.effects) {
            (ClaimState::Reserved, _) => Err(DecisionError::NothingHappened { operation }),
            (_, Effects::Once) => Ok(()),
            (_, Effects::None | Effects::Idempotent) => Err(DecisionError::MayRepeat { operation }),
        }
    }
}

/// The open claim whose operation begins so.
fn find(tx: &mut Tx<'_>, name: &str, actor: &str) -> Result<Found, DecisionError> {
    let mut claims = tx.claims()?;
    claims.retain(|claim| claim.operation_id.starts_with(name));
    // Also those that ended: an id is cut to a beginning that no other has.
    let open = claims.iter().map(|claim| claim.operation_id.clone());
    let mut operations: Vec<String> = open.collect();
    if !name.is_empty() {
        let ended = tx.rows(&Which::operation(name), CANDIDATES)?;
        operations.extend(ended.into_iter().map(|row| row.operation_id));
    }
    let operation = only(name, None, operations, Clone::clone)?;
    // How it stands the links say.
    let claim = claims.iter().find(|claim| claim.operation_id == operation);
    let claim = claim.map(|claim| linked(tx, claim)).transpose()?;
    let Some(claim) = claim.flatten() else {
        return Err(closed(tx, &operation)?);
    };
    let link = tx.link(claim.seq)?;
    let body = link.as_ref().and_then(Link::body).unwrap_or_default();
    let mut rows = tx.rows(&Which::operation(&claim.operation_id), FEW)?;
    rows.retain(|row| {
        row.operation_id == claim.operation_id
            && row.session_id == claim.key.session_id
            && Some(&row.request_hash) == body.request_hash.as_ref()
    });
    let row = first_believed(tx, rows)?;
    let case = Case {
        operation_id: claim.operation_id.clone(),
        session_id: claim.key.session_id.clone(),
        task_id: row
            .as_ref()
            .map_or_else(|| body.task.clone(), |row| row.task_id.clone()),
        action: row
            .as_ref()
            .map_or_else(|| body.action.clone(), |row| row.action_type.clone()),
        claimed_at: link.map(|link| link.at).unwrap_or_default(),
        by: actor.to_owned(),
    };
    Ok(Found {
        claim,
        case,
        body,
        row,
    })
}

/// Why an operation is not open: what came of it.
fn closed(tx: &mut Tx<'_>, operation: &str) -> Result<DecisionError, StoreError> {
    let ended = tx.rows(&Which::operation(operation), 1)?.into_iter().next();
    let ended = ended.and_then(|row| Some((row.operation_id, row.state?)));
    let nothing = || NameError::Nothing {
        text: operation.to_owned(),
        session: None,
    };
    Ok(ended.map_or_else(
        || nothing().into(),
        |(operation, state)| DecisionError::Ended {
            operation,
            state: state.name(),
        },
    ))
}

/// The row of an answer that a person vouches for. Where its owner died before it could record anything, it has what
/// the chain knows.
fn vouched(found: &Found, answer: &str, at: Timestamp) -> Row {
    let hash = &found.body.request_hash;
    let known = || Row {
        operation_id: found.case.operation_id.clone(),
        session_id: found.case.session_id.clone(),
        task_id: found.case.task_id.clone(),
        action_type: found.case.action.clone(),
        request_hash: hash
            .as_ref()
            .unwrap_or(&found.claim.key.request_hash)
            .clone(),
        entry_digest: found.body.entry_digest.clone(),
        ..Row::default()
    };
    let recorded = found.row.clone();
    let base = recorded.unwrap_or_else(|| row::unrecorded(known()));
    row::resolved(base, answer, instant(at))
}
