//! Operations whose outcome is unknown: a person or the journal of a file plan settles them (R-004-58).

use jiff::Timestamp;

use super::{
    answer,
    chain::{self, Stamp},
    finish::event,
    names,
    place::Ledger,
    record::{Body, Claim, ClaimState, Event, Head, Row, StateChange, Which, changes},
    store::{Durability, StoreError, Tx, read, write},
    words::{Ask, Ended, LedgerError, Who},
};

/// The reason of the link that records that no change of a plan remains.
pub(crate) const UNDONE: &str = "undone";

/// The facts of an operation that is not settled.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) operation_id: String,
    pub(crate) session_id: String,
    pub(crate) task_id: Option<String>,
    pub(crate) action: Option<String>,
    pub(crate) claimed_at: String,
    /// The root of a file plan.
    pub(crate) home: Option<String>,
    /// Who settles it: `uid:1000`.
    pub(crate) by: String,
}

/// An operation whose outcome is unknown.
pub(crate) struct Unsettled {
    pub(crate) claim: Claim,
    pub(crate) case: Case,
    /// The row that the owner of the claim recorded, if there is one.
    row: Option<Row>,
}

/// How an operation is settled.
pub(crate) enum How {
    /// With this answer, which that event records.
    Answered(Event, Box<Row>),
    /// It may be performed, for that reason.
    NotMade(&'static str),
}

impl Ledger<'_> {
    /// The operation of that id whose outcome is unknown and which performed the request of `ask`. None if it is settled, or
    /// if it performed another request: another content of the same delivery learns nothing from it.
    pub(crate) fn left_unknown(
        &mut self,
        ask: &Ask<'_>,
        operation_id: &str,
    ) -> Result<Option<Unsettled>, LedgerError> {
        let hashes = ask.asked.hashes(&self.key(ask)?);
        let actor = self.actor.clone();
        let left = read::<_, StoreError>(&mut *self.store, |tx| {
            let mut claims = tx.claims_named(operation_id)?.into_iter();
            let claim = claims.find(|claim| {
                claim.operation_id == operation_id && claim.state == ClaimState::Unknown
            });
            let Some(claim) = claim else {
                return Ok(None);
            };
            let row = row_of(tx, operation_id)?;
            Ok(Some(unsettled(claim, row, &actor)))
        })?;
        Ok(left.filter(|left| left.claim.request_hash == hashes.request_hash))
    }

    /// Records the answer that the journal of a plan shows for an operation that left none. False if another run has
    /// settled the operation meanwhile.
    pub(crate) fn settle_as_made(
        &mut self,
        left: &Unsettled,
        ask: &Ask<'_>,
        ended: Ended,
    ) -> Result<bool, LedgerError> {
        let base = match left.recorded() {
            Some(row) => row,
            None => self.own(left, ask)?.unwrap_or_else(|| left.facts()),
        };
        let row = Row {
            started_at: left.case.claimed_at.clone(),
            duration_ms: 0,
            revoked_by: None,
            ..answer::answered(base, ended)
        };
        let how = How::Answered(event(row.state), Box::new(row));
        let now = self.host.timestamp();
        Ok(self.settle(left, &how, now, None)?.is_some())
    }

    /// The row of an operation of the same delivery as `ask`. None if `ask` is another delivery: the claim does not say
    /// what the names of its own delivery are.
    fn own(&mut self, left: &Unsettled, ask: &Ask<'_>) -> Result<Option<Row>, LedgerError> {
        let (who, claimed) = (&ask.who, &left.claim);
        let name = names::name_of(who);
        if name.is_none() || name != claimed.delivery || !names::fits_attempt(who, claimed.attempt)
        {
            return Ok(None);
        }
        // With a key, the other names may differ.
        let is_keyed = who.idempotency_key.is_some();
        let named = Who {
            operation_id: &left.case.operation_id,
            request_id: who.request_id.filter(|_| !is_keyed),
            task_id: if is_keyed {
                left.case.task_id.as_deref()
            } else {
                who.task_id
            },
            ..*who
        };
        let hashes = ask.asked.hashes(&self.key(ask)?);
        let asked = Ask {
            who: named,
            ..ask.clone()
        };
        Ok(Some(Row {
            entry_digest: claimed.entry_digest.clone(),
            reason: claimed.reason.clone(),
            attempt: claimed.attempt,
            ..answer::asked(&asked, &hashes)
        }))
    }

    /// Records that no change of an operation remains, as the journal of its plan shows. Its request may be performed.
    pub(crate) fn settle_as_undone(&mut self, left: &Unsettled) -> Result<(), LedgerError> {
        let now = self.host.timestamp();
        self.settle(left, &How::NotMade(UNDONE), now, None)?;
        Ok(())
    }

    /// Settles an operation. Returns the link, and the number of the answer in its session; none if somebody has settled it
    /// meanwhile.
    pub(crate) fn settle(
        &mut self,
        left: &Unsettled,
        how: &How,
        at: Timestamp,
        note: Option<&str>,
    ) -> Result<Option<(Head, Option<u64>)>, StoreError> {
        let case = &left.case;
        let stamp = Stamp {
            operation_id: &case.operation_id,
            session_id: &case.session_id,
            at,
            actor: &self.actor,
        };
        let settled = write(&mut *self.store, Durability::Disk, |tx| {
            if tx.claim(left.claim.seq)?.as_ref() != Some(&left.claim) {
                return Ok(None);
            }
            let body = Body {
                claim: Some(left.claim.seq),
                note: note.map(ToOwned::to_owned),
                ..Body::default()
            };
            let (head, step) = match how {
                How::Answered(event, row) => {
                    let body = Body {
                        changes: changes(StateChange::State),
                        ..body
                    };
                    let row = Row::clone(row);
                    let (head, step) = answer::add_row(tx, *event, stamp, row, body)?;
                    (head, Some(step))
                }
                How::NotMade(reason) => {
                    let body = Body {
                        request_hash: Some(left.claim.request_hash.clone()),
                        reason: Some((*reason).to_owned()),
                        about: Some(case.operation_id.clone()),
                        ..body
                    };
                    (chain::add_link(tx, Event::Resolved, stamp, &body)?, None)
                }
            };
            Ok::<_, StoreError>(Some((head, step)))
        })?;
        if let Some((head, _)) = &settled {
            self.publish(head);
        }
        Ok(settled)
    }
}

/// The row that an operation recorded.
pub(crate) fn row_of(tx: &mut Tx<'_>, operation: &str) -> Result<Option<Row>, StoreError> {
    let row = tx.row(&Which::operation(operation))?;
    Ok(row.filter(|row| row.operation_id == operation))
}

/// What the claim and the row of its owner tell of an operation that is not settled.
pub(crate) fn unsettled(claim: Claim, row: Option<Row>, actor: &str) -> Unsettled {
    let row = row.filter(|row| {
        (&row.session_id, &row.request_hash) == (&claim.session_id, &claim.request_hash)
    });
    let (task_id, action) = match &row {
        Some(row) => (&row.task_id, &row.action_type),
        None => (&claim.task_id, &claim.action),
    };
    let case = Case {
        operation_id: claim.operation_id.clone(),
        session_id: claim.session_id.clone(),
        task_id: task_id.clone(),
        action: action.clone(),
        claimed_at: claim.claimed_at.clone(),
        home: claim.home.clone(),
        by: actor.to_owned(),
    };
    Unsettled { claim, case, row }
}

impl Unsettled {
    pub(crate) fn recorded(&self) -> Option<Row> {
        self.row.clone().filter(|row| row.request.is_some())
    }

    pub(crate) fn facts(&self) -> Row {
        let step = self.case.operation_id.split_once('.');
        answer::unrecorded(Row {
            operation_id: self.case.operation_id.clone(),
            parent: step.map(|(parent, _)| parent.to_owned()),
            position: step.and_then(|(_, position)| position.parse().ok()),
            session_id: self.case.session_id.clone(),
            task_id: self.case.task_id.clone(),
            action_type: self.case.action.clone(),
            request_hash: self.claim.request_hash.clone(),
            entry_digest: self.claim.entry_digest.clone(),
            reason: self.claim.reason.clone(),
            attempt: self.claim.attempt,
            ..Row::default()
        })
    }
}
