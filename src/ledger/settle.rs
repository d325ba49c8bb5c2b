//! Operations whose outcome is unknown: a person or the journal of a file plan settles them (R-004-58).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{
    Ledger,
    answer::{self, Beside},
    begin::lock_of,
    chain::{self, Body, Change, instant},
    claims::{self, linked, opened},
    decide::Person,
    finish::event,
    naming::{CANDIDATES, CommandError, only, settled},
    past::{FEW, Past},
    record::{Claim, ClaimState, Effects, Event, Head, Link, Row},
    store::{Durability, StoreError, Tx, Which, read, write},
    words::{Ask, Ended, LedgerError, Who},
};

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

/// An operation whose outcome is unknown, as the links tell it.
pub(crate) struct Unsettled {
    claim: Claim,
    pub(crate) case: Case,
    /// The body of the link of the claim.
    claimed: Body,
    /// The row that the owner of the claim recorded, if there is one.
    row: Option<Row>,
}

/// How an operation is settled.
enum How {
    /// With this answer, which that event records.
    Answered(Event, Box<Row>),
    /// It may be performed, for that reason.
    NotMade(&'static str),
}

impl Ledger<'_> {
    /// The operation that a person may settle. `operation` may be the beginning of its id.
    pub(crate) fn unsettled(&mut self, operation: &str) -> Result<Case, CommandError> {
        Ok(self.found(operation)?.case)
    }

    fn found(&mut self, operation: &str) -> Result<Unsettled, CommandError> {
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
        let at = self.host.timestamp();
        let answer = match happened {
            Happened::Yes(_) if found.row.is_none() && found.claimed.request_hash.is_none() => {
                let link = found.claim.seq;
                return Err(CommandError::Forgotten { operation, link });
            }
            Happened::Yes(answer) => Some(answer(&found.case)),
            Happened::No => None,
        };
        let how = match answer {
            Some(answer) => {
                let row = answer::resolved(found.base(), &answer, instant(at));
                How::Answered(Event::Resolved, Box::new(row))
            }
            None => How::NotMade("did_not_happen"),
        };
        let Some((link, step_index)) = self.settle(&found, &how, at, note)? else {
            return Err(CommandError::Settled { operation });
        };
        Ok(Resolved {
            case: found.case,
            link,
            step_index,
        })
    }

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
            let mut claims = tx.claims()?.into_iter();
            let said = claims.find(|claim| claim.operation_id == operation_id);
            let claim = said.map(|said| linked(tx, &said)).transpose()?.flatten();
            let claim = claim.filter(|claim| {
                claim.operation_id == operation_id && claim.state == ClaimState::Unknown
            });
            let Some(claim) = claim else {
                return Ok(None);
            };
            let row = row_of(tx, operation_id)?;
            unsettled(tx, claim, row, &actor).map(Some)
        })?;
        let is_same = |left: &Unsettled| left.claimed.request_hash == Some(hashes.request_hash);
        Ok(left.filter(is_same))
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

    /// Records that no change of an operation remains, as the journal of its plan shows. Its request may be performed.
    pub(crate) fn settle_as_undone(&mut self, left: &Unsettled) -> Result<(), LedgerError> {
        let now = self.host.timestamp();
        self.settle(left, &How::NotMade("undone"), now, None)?;
        Ok(())
    }

    /// The row of an operation of the same delivery as `ask`. None if `ask` is another delivery: the claim does not say
    /// what the names of its own delivery are.
    fn own(&mut self, left: &Unsettled, ask: &Ask<'_>) -> Result<Option<Row>, LedgerError> {
        let (who, claimed) = (&ask.who, &left.claimed);
        let name = claims::name_of(who);
        if name.is_none() || name != claimed.delivery || !claims::fits_attempt(who, claimed.attempt)
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
            attempt: claimed.attempt.unwrap_or(1),
            ..answer::asked(&asked, &hashes)
        }))
    }

    /// Settles an operation. Returns the link, and the number of the answer in its session; none if somebody has settled it
    /// meanwhile.
    fn settle(
        &mut self,
        left: &Unsettled,
        how: &How,
        at: Timestamp,
        note: Option<&str>,
    ) -> Result<Option<(Head, Option<u64>)>, StoreError> {
        let person = Person {
            actor: &self.actor,
            at,
            note,
        };
        let case = &left.case;
        let stamp = person.stamp(&case.operation_id, &case.session_id);
        let settled = write(&mut *self.store, Durability::Disk, |tx| {
            if linked(tx, &left.claim)?.as_ref() != Some(&left.claim) {
                return Ok(None);
            }
            tx.drop_claim(&left.claim.key, None)?;
            match how {
                How::Answered(event, row) => {
                    let beside = Beside {
                        claim: Some(left.claim.seq),
                        delivery: None,
                        note,
                        change: Change::State,
                        told: None,
                        approval: None,
                    };
                    let row = Row::clone(row);
                    let (head, step) = answer::record(tx, *event, stamp, row, beside)?;
                    Ok(Some((head, Some(step))))
                }
                How::NotMade(reason) => {
                    let body = Body {
                        request_hash: left.claimed.request_hash.clone(),
                        reason: Some((*reason).to_owned()),
                        note: note.map(ToOwned::to_owned),
                        about: Some(case.operation_id.clone()),
                        claim: Some(left.claim.seq),
                        ..Body::default()
                    };
                    let head = chain::append(tx, Event::Resolved, stamp, &body)?;
                    Ok::<_, StoreError>(Some((head, None)))
                }
            }
        })?;
        if let Some((head, _)) = &settled {
            self.publish(head);
        }
        Ok(settled)
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

/// The open claim of the operation whose id begins with `name`.
fn open(tx: &mut Tx<'_>, name: &str, actor: &str) -> Result<Unsettled, CommandError> {
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
    claims.retain(|_, claim| claim.operation_id == operation);
    let matters = |claim: &&Claim| claim.may_have_happened();
    if claims.values().filter(matters).count() > 1 {
        return Err(CommandError::SameId { operation });
    }
    let to_settle = claims.values().find(matters).map(|claim| claim.seq);
    let seq = to_settle.or_else(|| claims.keys().next().copied());
    let claim = seq.and_then(|seq| claims.remove(&seq));
    let row = row_of(tx, &operation)?;
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
    Ok(unsettled(tx, claim, row, actor)?)
}

/// The row that an operation recorded.
fn row_of(tx: &mut Tx<'_>, operation: &str) -> Result<Option<Row>, StoreError> {
    // An operation's own rows come first.
    let mut rows = tx.rows(&Which::operation(operation), FEW)?;
    rows.retain(|row| row.operation_id == operation);
    Past::default().first_believed(tx, rows)
}

/// What the links and the row of its owner tell of an operation that is not settled.
fn unsettled(
    tx: &mut Tx<'_>,
    claim: Claim,
    row: Option<Row>,
    actor: &str,
) -> Result<Unsettled, StoreError> {
    let link = tx.link(claim.seq)?;
    let claimed = link.as_ref().and_then(Link::body).unwrap_or_default();
    let row = row.filter(|row| {
        row.session_id == claim.key.session_id
            && Some(&row.request_hash) == claimed.request_hash.as_ref()
    });
    let (task_id, action) = match &row {
        Some(row) => (&row.task_id, &row.action_type),
        None => (&claimed.task, &claimed.action),
    };
    let case = Case {
        operation_id: claim.operation_id.clone(),
        session_id: claim.key.session_id.clone(),
        task_id: task_id.clone(),
        action: action.clone(),
        claimed_at: link.map(|link| link.at).unwrap_or_default(),
        home: claimed.home.clone(),
        by: actor.to_owned(),
    };
    Ok(Unsettled {
        claim,
        case,
        claimed,
        row,
    })
}

impl Unsettled {
    /// The row of its answer, without the answer. If the owner recorded none, the chain has the facts.
    fn base(&self) -> Row {
        self.recorded().unwrap_or_else(|| self.facts())
    }

    fn recorded(&self) -> Option<Row> {
        self.row.clone().filter(|row| row.request.is_some())
    }

    fn facts(&self) -> Row {
        let hash = self.claimed.request_hash.as_ref();
        let hash = hash.unwrap_or(&self.claim.key.request_hash);
        let step = self.case.operation_id.split_once('.');
        answer::unrecorded(Row {
            operation_id: self.case.operation_id.clone(),
            parent: step.map(|(parent, _)| parent.to_owned()),
            position: step.and_then(|(_, position)| position.parse().ok()),
            session_id: self.case.session_id.clone(),
            task_id: self.case.task_id.clone(),
            action_type: self.case.action.clone(),
            request_hash: hash.clone(),
            entry_digest: self.claimed.entry_digest.clone(),
            reason: self.claimed.reason.clone(),
            attempt: self.claimed.attempt.unwrap_or(1),
            ..Row::default()
        })
    }
}
