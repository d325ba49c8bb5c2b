//! One look at the record, inside a transaction: the three questions, and the claim.

use super::{
    chain::{self, Body},
    record::{
        Claim, ClaimKey, ClaimState, Effects, Event, Head, Link, Row, RowOutcome, RowState, Seq,
        Session,
    },
    request::Hashes,
    row,
    store::{Delivery, Tx, Which},
    words::{Again, Answered, Ask, Attempt, LedgerError, Miss, OnDuplicate, Running, Unless, Why},
};

/// What one look at the record comes to.
pub(super) enum Step {
    Run(Running),
    Answered(Box<Answered>),
    /// An old answer, and the link it must agree with: to be judged outside the transaction, which may
    /// mean reading files.
    Judge(Box<Row>, Option<Link>),
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
    /// The old answer that was judged, and how.
    pub(super) judged: Option<(String, Result<(), Miss>)>,
    /// A claim whose owner is dead.
    pub(super) dead: Option<Seq>,
}

/// One look, inside a transaction.
pub(super) struct Look<'t, 'a> {
    pub(super) tx: &'t mut dyn Tx,
    pub(super) ask: &'t Ask<'a>,
    pub(super) hashes: &'t Hashes,
    pub(super) known: &'t Known,
    pub(super) stamp: chain::Stamp<'t>,
}

pub(super) enum Found {
    Step(Box<Step>),
    Why(Why),
}

impl Look<'_, '_> {
    /// A session belongs to the context it was opened in.
    pub(super) fn session(&mut self) -> Result<(), LedgerError> {
        let who = &self.ask.who;
        match self.tx.session(who.session_id)? {
            Some(session) if session.context != who.context => Err(LedgerError::ContextChanged {
                session: session.session_id,
                opened: session.context,
                now: who.context.to_owned(),
            }),
            Some(_) => Ok(()),
            None => Ok(self.tx.open_session(&Session {
                session_id: who.session_id.to_owned(),
                context: who.context.to_owned(),
                profile: who.profile.to_owned(),
                principal: self.stamp.actor.to_owned(),
                opened_at: chain::instant(self.stamp.at),
                steps: 0,
            })?),
        }
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
                    attempt: match who.attempt {
                        Attempt::Said(attempt) => Some(attempt),
                        Attempt::Unsaid => None,
                    },
                },
                format!("task `{task_id}`"),
            ),
            (None, None) => return Ok(None),
        };
        // Rows that only repeat another, and those of which nothing came, say nothing new.
        let told = |row: &Row| {
            matches!(
                row.state,
                Some(
                    RowState::Done
                        | RowState::Partial
                        | RowState::Failed
                        | RowState::RolledBack
                        | RowState::Reused
                        | RowState::Suppressed
                )
            )
        };
        let rows = self.tx.rows(&Which::Delivery(delivery), 20)?;
        let Some(row) = rows.into_iter().find(told) else {
            return Ok(None);
        };
        let counted = matches!(who.attempt, Attempt::Said(_)) || who.idempotency_key.is_some();
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
                None => return Ok(Some(Step::Judge(Box::new(row), None))),
                Some(Err(_)) => return Ok(None),
                Some(Ok(())) => {}
            }
        }
        self.again(Again::Replayed, row).map(Some)
    }

    /// How that old answer was judged, if it was.
    fn verdict(&self, row: &Row) -> Option<Result<(), Miss>> {
        let (id, verdict) = self.known.judged.as_ref()?;
        (*id == row.id).then_some(*verdict)
    }

    /// Questions 2 and 3. A success of the same request in this session.
    pub(super) fn same_request(&mut self) -> Result<Found, LedgerError> {
        let ask = self.ask;
        let which = Which::Request {
            session_id: ask.who.session_id,
            action_type: &row::action_type(&ask.asked),
            request_hash: &self.hashes.request_hash,
        };
        let Some(row) = self.tx.rows(&which, 1)?.into_iter().next() else {
            return Ok(Found::Why(self.first_or_retry()?));
        };
        let Some(verdict) = self.verdict(&row) else {
            if ask.on_duplicate == OnDuplicate::Repeat {
                return Ok(Found::Why(Why::Repeat));
            }
            let link = match row.seq {
                Some(seq) => self.tx.links(seq, 1)?.into_iter().next(),
                None => None,
            };
            return Ok(Found::Step(Box::new(Step::Judge(Box::new(row), link))));
        };
        Ok(match (ask.on_duplicate, verdict) {
            (OnDuplicate::Repeat, _) => Found::Why(Why::Repeat),
            (OnDuplicate::Reuse { .. }, Ok(())) => {
                Found::Step(Box::new(self.again(Again::Reused, row)?))
            }
            (OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_), Err(miss)) => {
                Found::Why(Why::Miss(miss))
            }
            (OnDuplicate::Suppress(_), Ok(())) => {
                Found::Step(Box::new(self.again(Again::Suppressed, row)?))
            }
        })
    }

    fn first_or_retry(&mut self) -> Result<Why, LedgerError> {
        let who = &self.ask.who;
        let Some(task_id) = who.task_id else {
            return Ok(Why::New);
        };
        let which = Which::Task {
            session_id: who.session_id,
            task_id,
        };
        let before = self.tx.rows(&which, 1)?.into_iter().next();
        Ok(match before {
            Some(row) if row.outcome == RowOutcome::Error => Why::Retry,
            _ => Why::New,
        })
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
        let (head, _) = row::record(self.tx, event, self.stamp, row)?;
        Ok(Step::Answered(Box::new(Answered {
            how,
            original,
            request_hash: self.hashes.request_hash.clone(),
            head,
        })))
    }

    /// Claims the request, if nobody has.
    pub(super) fn claim(&mut self, why: Why) -> Result<Step, LedgerError> {
        let ask = self.ask;
        let request_hash = match ask.on_duplicate {
            OnDuplicate::Repeat => ask.who.operation_id.to_owned(),
            OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => {
                self.hashes.request_hash.clone()
            }
        };
        let key = ClaimKey {
            session_id: ask.who.session_id.to_owned(),
            request_hash,
        };
        let Some(theirs) = self.tx.claim(&key)? else {
            return self.put(key, Event::Reserved, why, None);
        };
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
        let about = Some(theirs.operation_id);
        self.put(key, Event::TakenOver, Why::TakenOver, about)
    }

    fn put(
        &mut self,
        key: ClaimKey,
        event: Event,
        why: Why,
        about: Option<String>,
    ) -> Result<Step, LedgerError> {
        let body = Body {
            request_hash: Some(self.hashes.request_hash.clone()),
            entry_digest: Some(self.ask.entry_digest.clone()),
            reason: Some(why.name().to_owned()),
            about,
            action: Some(row::action_type(&self.ask.asked)),
            home: self.ask.home.clone(),
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
        let attempt = self.attempt()?;
        Ok(Step::Run(Running {
            claim: seq,
            why,
            attempt,
            ..self.nothing()
        }))
    }

    /// As said, or one more than the last.
    fn attempt(&mut self) -> Result<u32, LedgerError> {
        let who = &self.ask.who;
        match (who.attempt, who.task_id) {
            (Attempt::Said(attempt), _) => Ok(attempt),
            (Attempt::Unsaid, None) => Ok(1),
            (Attempt::Unsaid, Some(task_id)) => {
                let which = Which::Task {
                    session_id: who.session_id,
                    task_id,
                };
                let before = self.tx.rows(&which, 1)?.into_iter().next();
                Ok(before.map_or(1, |row| row.attempt.saturating_add(1)))
            }
        }
    }

    fn nothing(&self) -> Running {
        Running {
            request_hash: self.hashes.request_hash.clone(),
            inputs_hash: self.hashes.inputs_hash.clone(),
            claim: 0,
            why: Why::New,
            attempt: 1,
            held: None,
        }
    }
}
