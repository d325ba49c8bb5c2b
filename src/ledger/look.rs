//! One look at the record, inside a transaction: the three questions, and the claim.

mod same;

use super::{
    chain::{self, Body, SessionSeal},
    past::{FEW, Past, claim_key},
    record::{
        Claim, ClaimKey, ClaimState, Effects, Event, Head, Row, RowOutcome, RowState, Seq, Session,
    },
    request::Hashes,
    row::{self, Beside},
    store::{Delivery, Tx, Which},
    words::{Again, Answered, Ask, Attempt, LedgerError, Miss, Running, Why},
};
use crate::task::{OnDuplicate, Unless};

/// What one look at the record comes to.
pub(super) enum Step {
    Run(Running),
    Answered(Box<Answered>),
    /// An old answer: to be judged outside the transaction, which may mean reading files.
    Judge(Box<Row>),
    /// Somebody has it: alive or dead is found out outside the transaction.
    Claimed(Claim),
    /// Whoever had it died when it may have happened.
    Unknown {
        operation: String,
    },
}

/// What was found out between two looks.
#[derive(Default)]
pub(super) struct Known {
    /// The old answers that were judged, as they were then. That of the same delivery need not be that of the same
    /// request.
    pub(super) judged: Vec<(Row, Result<(), Miss>)>,
    /// A claim whose owner is dead.
    pub(super) dead: Option<Seq>,
    /// Those of the newest links that tell of the request.
    pub(super) examined: Vec<Seq>,
}

/// One look, inside a transaction.
pub(super) struct Look<'t, 'd, 'a> {
    pub(super) tx: &'t mut Tx<'d>,
    pub(super) ask: &'t Ask<'a>,
    pub(super) hashes: &'t Hashes,
    pub(super) known: &'t Known,
    /// What the links say of the request.
    pub(super) past: Past,
    pub(super) stamp: chain::Stamp<'t>,
}

impl Look<'_, '_, '_> {
    /// Whether the session was opened before: it belongs to the context it was opened in.
    pub(super) fn is_open(&mut self) -> Result<bool, LedgerError> {
        let who = &self.ask.who;
        let Some(session) = self.tx.session(who.session_id)? else {
            let used = !self.past.is_empty() || self.tx.is_used(who.session_id)?;
            return if used {
                Err(self.no_session("is gone"))
            } else {
                Ok(false)
            };
        };
        let link = self.tx.link(session.seq)?;
        let opened = link.and_then(|link| link.opens(&link.body()?));
        if opened.as_ref() != Some(&session) {
            return Err(self.no_session("is not what the link that opened it says"));
        }
        if session.context != who.context {
            return Err(LedgerError::ContextChanged {
                session: session.session_id,
                opened: session.context,
                now: who.context.to_owned(),
            });
        }
        Ok(true)
    }

    fn no_session(&self, what: &str) -> LedgerError {
        let session = self.ask.who.session_id;
        let why = format!("the session `{session}` {what}");
        LedgerError::Store(self.tx.damaged(why))
    }

    /// Question 1. What was delivered before is answered as before, success or failure.
    pub(super) fn same_delivery(&mut self) -> Result<Option<Step>, LedgerError> {
        let who = &self.ask.who;
        let (delivery, what) = match (who.idempotency_key, who.task_id) {
            (Some(key), _) => (
                Delivery::Key {
                    session_id: who.session_id,
                    idempotency_key: key,
                },
                format!("idempotency key `{key}`"),
            ),
            (None, Some(task_id)) => (
                Delivery::Task {
                    session_id: who.session_id,
                    request_id: who.request_id,
                    task_id,
                    attempt: who.attempt.said(),
                },
                format!("task `{task_id}`"),
            ),
            (None, None) => return Ok(None),
        };
        let rows = self.tx.rows(&Which::Delivery(delivery), FEW)?;
        let Some(row) = self.first_believed(rows)? else {
            return Ok(None);
        };
        let counted = who.attempt.said().is_some() || who.idempotency_key.is_some();
        if row.outcome == RowOutcome::Error && !counted {
            return Ok(None);
        }
        if row.revoked_by.is_some() {
            return Ok(None);
        }
        if row.request_hash != self.hashes.request_hash {
            return Err(LedgerError::Conflict {
                what,
                operation: row.operation_id,
            });
        }
        // What a plan did may have been undone since: then its answer is none any more.
        if self.ask.on_duplicate == OnDuplicate::Suppress(Unless::FilesChanged)
            && row.outcome == RowOutcome::Success
        {
            match self.verdict(&row) {
                None => return Ok(Some(Step::Judge(Box::new(row)))),
                Some(Err(_)) => return Ok(None),
                Some(Ok(())) => {}
            }
        }
        self.again(Again::Replayed, row).map(Some)
    }

    /// The first of these rows that its link seals.
    fn first_believed(&mut self, rows: Vec<Row>) -> Result<Option<Row>, LedgerError> {
        for row in rows {
            if let Some(row) = self.past.believed(self.tx, row)? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// How that old answer was judged, if it was. What was taken back or pruned since is to be judged again.
    fn verdict(&self, row: &Row) -> Option<Result<(), Miss>> {
        let facts = |row: &Row| (row.id.clone(), row.revoked_by, row.response.is_some());
        let mut judged = self.known.judged.iter();
        let (_, verdict) = judged.find(|(judged, _)| facts(judged) == facts(row))?;
        Some(*verdict)
    }

    /// Gives an old answer again: a row of its own, with the answer byte for byte (R-004-38, R-004-39,
    /// C-38).
    fn again(&mut self, how: Again, original: Row) -> Result<Step, LedgerError> {
        let (event, state) = match how {
            Again::Replayed => (Event::Replayed, RowState::Replayed),
            Again::Reused => (Event::Reused, RowState::Reused),
            Again::Suppressed => (Event::Suppressed, RowState::Suppressed),
        };
        let row = row::again(self.ask, self.hashes, &original, state, self.stamp.at);
        let (head, _) = row::record(self.tx, event, self.stamp, row, Beside::default())?;
        Ok(Step::Answered(Box::new(Answered {
            how,
            original,
            request_hash: self.hashes.request_hash.clone(),
            head,
        })))
    }

    /// Opens the session, and claims the request, which nobody can have in it.
    pub(super) fn claim_first(&mut self) -> Result<Step, LedgerError> {
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let (who, attempt) = (&self.ask.who, self.attempt(None));
        let seal = SessionSeal {
            context: who.context.to_owned(),
            profile: who.profile.to_owned(),
        };
        let turn = (Why::New, attempt);
        let running = self.put(key, Some(seal.clone()), None, turn)?;
        self.tx.open_session(&Session {
            seq: running.claim,
            session_id: who.session_id.to_owned(),
            context: seal.context,
            profile: seal.profile,
            principal: self.stamp.actor.to_owned(),
            opened_at: chain::instant(self.stamp.at),
        })?;
        Ok(Step::Run(running))
    }

    /// Claims the request, if nobody has. Without a reason it has no old answer.
    pub(super) fn claim(&mut self, why: Option<Why>) -> Result<Step, LedgerError> {
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let Some(theirs) = self.past.holder(self.tx, &key)? else {
            let turn = self.turn(why)?;
            return Ok(Step::Run(self.put(key, None, None, turn)?));
        };
        if self.tx.claim(&key)?.as_ref() != Some(&theirs) {
            self.tx.put_claim(&theirs)?;
        }
        if theirs.state == ClaimState::Unknown {
            return Ok(Step::Unknown {
                operation: theirs.operation_id,
            });
        }
        if self.known.dead != Some(theirs.seq) {
            return Ok(Step::Claimed(theirs));
        }
        if (theirs.state, theirs.effects) == (ClaimState::Dispatched, Effects::Once) {
            let body = Body {
                request_hash: Some(self.hashes.request_hash.clone()),
                about: Some(theirs.operation_id.clone()),
                claim: Some(theirs.seq),
                ..Body::default()
            };
            chain::append(self.tx, Event::Unknown, self.stamp, &body)?;
            let operation = theirs.operation_id.clone();
            self.tx.put_claim(&Claim {
                state: ClaimState::Unknown,
                ..theirs
            })?;
            return Ok(Step::Unknown { operation });
        }
        let turn = self.turn(Some(Why::TakenOver))?;
        Ok(Step::Run(self.put(key, None, Some(theirs), turn)?))
    }

    /// Adds the claim and its link, which opens that session, or takes that claim over.
    fn put(
        &mut self,
        key: ClaimKey,
        session: Option<SessionSeal>,
        before: Option<Claim>,
        (why, attempt): (Why, u32),
    ) -> Result<Running, LedgerError> {
        let request_hash = &self.hashes.request_hash;
        let event = match before {
            None => Event::Reserved,
            Some(_) => Event::TakenOver,
        };
        let body = Body {
            request_hash: Some(request_hash.clone()),
            entry_digest: Some(self.ask.entry_digest.clone()),
            reason: Some(why.name().to_owned()),
            claim: before.as_ref().map(|claim| claim.seq),
            about: before.map(|claim| claim.operation_id),
            claimed: (key.request_hash != *request_hash).then(|| key.request_hash.clone()),
            effects: Some(self.ask.effects.name().to_owned()),
            action: Some(row::action_type(&self.ask.asked)),
            home: self.ask.home.clone(),
            session,
            task: self.ask.who.task_id.map(ToOwned::to_owned),
            ..Body::default()
        };
        let Head { seq, .. } = chain::append(self.tx, event, self.stamp, &body)?;
        self.tx.put_claim(&Claim {
            key,
            operation_id: self.ask.who.operation_id.to_owned(),
            seq,
            state: ClaimState::Reserved,
            effects: self.ask.effects,
        })?;
        Ok(Running {
            hashes: self.hashes.clone(),
            claim: seq,
            why,
            attempt,
            held: None,
        })
    }

    /// Why it is done, and as which attempt: as said, or as what was last answered for the task has it.
    fn turn(&mut self, why: Option<Why>) -> Result<(Why, u32), LedgerError> {
        let who = &self.ask.who;
        let last = match (why, who.attempt, who.task_id) {
            (Some(_), Attempt::Said(_), _) | (_, _, None) => None,
            (None, _, Some(task_id)) | (_, Attempt::Unsaid, Some(task_id)) => {
                let which = Which::Task {
                    session_id: who.session_id,
                    task_id,
                };
                let rows = self.tx.rows(&which, FEW)?;
                self.first_believed(rows)?
            }
        };
        let why = why.unwrap_or(match &last {
            Some(row) if row.outcome == RowOutcome::Error => Why::Retry,
            _ => Why::New,
        });
        Ok((why, self.attempt(last.as_ref())))
    }

    /// As said, or the one after the last.
    fn attempt(&self, last: Option<&Row>) -> u32 {
        let next = || last.map_or(1, |row| row.attempt.saturating_add(1));
        self.ask.who.attempt.said().unwrap_or_else(next)
    }
}
