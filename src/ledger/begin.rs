//! Before something is done: three questions in one transaction. Is it the same delivery? The same
//! request? Is the old answer still good? If not, it is claimed, so that nobody else does it
//! (R-004-35 … R-004-40, R-004-58).

use std::{thread, time::Duration};

use crate::task::Failure;

use super::{
    Ledger,
    chain::{self, Body},
    record::{
        Claim, ClaimKey, ClaimState, Effects, Event, Head, Link, Row, RowOutcome, RowState, Seq,
        Session,
    },
    request::Hashes,
    row,
    store::{Delivery, Durability, Tx, Which, read, write},
    validity::{World, judge},
    words::{
        Again, Answered, Ask, Attempt, Begun, LedgerError, Miss, OnDuplicate, Running, Unless, Why,
    },
};

/// What one look at the record comes to.
enum Step {
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
struct Known {
    /// The old answer that was judged, and how.
    judged: Option<(String, Result<(), Miss>)>,
    /// A claim whose owner is dead.
    dead: Option<Seq>,
}

/// Between two looks at a claim that somebody else has.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);

impl Ledger<'_> {
    /// Asks whether something is to be done, and claims it if so. `go_on` is asked while another run of
    /// the same is waited for.
    pub(crate) fn begin(
        &mut self,
        ask: &Ask<'_>,
        world: &dyn World,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Begun, LedgerError> {
        self.absorb_outbox();
        let hashes = ask.asked.hashes(&self.key(ask)?);
        let lock = lock_of(ask.who.operation_id);
        self.store.hold(lock)?;
        let begun = self.settle(ask, &hashes, lock, world, go_on);
        if !matches!(begun, Ok(Begun::Run(_))) {
            self.store.release(lock);
        }
        begun
    }

    fn settle(
        &mut self,
        ask: &Ask<'_>,
        hashes: &Hashes,
        lock: u64,
        world: &dyn World,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Begun, LedgerError> {
        let begun = self.host.moment();
        let mut known = Known::default();
        let mut pause = SHORTEST;
        loop {
            go_on().map_err(LedgerError::Stopped)?;
            match self.look(ask, hashes, &known)? {
                Step::Run(running) => {
                    let held = Some(lock);
                    return Ok(Begun::Run(Running { held, ..running }));
                }
                Step::Answered(answered) => return Ok(Begun::Answered(answered)),
                Step::Judge(row, link) => {
                    let verdict = judge(&row, link.as_ref(), ask, world);
                    known.judged = Some((row.id, verdict));
                }
                Step::Unknown { operation } => return Err(LedgerError::Unknown { operation }),
                Step::Claimed(claim) => {
                    if !self.store.held(lock_of(&claim.operation_id))? {
                        known.dead = Some(claim.seq);
                        continue;
                    }
                    let waited = begun.passed();
                    if waited >= ask.patience {
                        return Err(LedgerError::InFlight {
                            operation: claim.operation_id,
                            waited: ask.patience,
                        });
                    }
                    tracing::info!(
                        "{} is doing the same: it is waited for.",
                        claim.operation_id
                    );
                    thread::sleep(pause.min(ask.patience.saturating_sub(waited)));
                    pause = (pause * 3 / 2).min(LONGEST);
                }
            }
        }
    }

    fn look(&mut self, ask: &Ask<'_>, hashes: &Hashes, known: &Known) -> Result<Step, LedgerError> {
        let (actor, now) = (self.actor.clone(), self.host.timestamp());
        // What is decided here is only ever needed while this machine runs: nothing has happened yet.
        write(&mut *self.store, Durability::Process, |tx| {
            let mut look = Look {
                tx,
                ask,
                hashes,
                known,
                stamp: chain::Stamp {
                    operation_id: ask.who.operation_id,
                    session_id: ask.who.session_id,
                    at: now,
                    actor: &actor,
                },
            };
            look.session()?;
            if let Some(step) = look.same_delivery()? {
                return Ok(step);
            }
            match look.same_request()? {
                Found::Step(step) => Ok(step),
                Found::Why(why) => look.claim(why),
            }
        })
    }

    /// The key for secrets, if there are any.
    pub(super) fn key(&mut self, ask: &Ask<'_>) -> Result<[u8; 32], LedgerError> {
        if !ask.asked.has_secrets() {
            return Ok([0; 32]);
        }
        let host = self.host;
        let fresh = || {
            let mut key = [0; 32];
            let halves = host.random_bytes().into_iter().chain(host.random_bytes());
            for (to, from) in key.iter_mut().zip(halves) {
                *to = from;
            }
            key
        };
        write(&mut *self.store, Durability::Disk, |tx| {
            Ok(tx.secret_key(&fresh)?)
        })
    }

    /// Why the last attempt at a task failed, and which attempt comes now where nobody counts
    /// (R-000-64 … R-000-66).
    pub(crate) fn last_failure(
        &mut self,
        session_id: &str,
        task_id: &str,
    ) -> Result<Option<Row>, LedgerError> {
        let which = Which::Task {
            session_id,
            task_id,
        };
        let rows = read::<_, LedgerError>(&mut *self.store, |tx| Ok(tx.rows(&which, 20)?))?;
        let ran = |row: &Row| {
            matches!(
                row.state,
                Some(
                    RowState::Failed
                        | RowState::RolledBack
                        | RowState::Partial
                        | RowState::Cancelled
                        | RowState::Done
                )
            )
        };
        let last = rows.into_iter().find(ran);
        Ok(last.filter(|row| row.outcome == RowOutcome::Error))
    }
}

/// The number of the lock that whoever does an operation holds while it lives.
pub(super) fn lock_of(operation_id: &str) -> u64 {
    let hash = blake3::hash(operation_id.as_bytes());
    let bytes = hash.as_bytes().first_chunk().copied().unwrap_or_default();
    // Offsets of files and PostgreSQL's numbers are signed.
    u64::from_be_bytes(bytes) >> 2
}

/// One look, inside a transaction.
struct Look<'t, 'a> {
    tx: &'t mut dyn Tx,
    ask: &'t Ask<'a>,
    hashes: &'t Hashes,
    known: &'t Known,
    stamp: chain::Stamp<'t>,
}

enum Found {
    Step(Step),
    Why(Why),
}

impl Look<'_, '_> {
    /// A session belongs to the context it was opened in.
    fn session(&mut self) -> Result<(), LedgerError> {
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
    fn same_delivery(&mut self) -> Result<Option<Step>, LedgerError> {
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
    fn same_request(&mut self) -> Result<Found, LedgerError> {
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
            return Ok(Found::Step(Step::Judge(Box::new(row), link)));
        };
        Ok(match (ask.on_duplicate, verdict) {
            (OnDuplicate::Repeat, _) => Found::Why(Why::Repeat),
            (OnDuplicate::Reuse { .. }, Ok(())) => Found::Step(self.again(Again::Reused, row)?),
            (OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_), Err(miss)) => {
                Found::Why(Why::Miss(miss))
            }
            (OnDuplicate::Suppress(_), Ok(())) => Found::Step(self.again(Again::Suppressed, row)?),
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
        let (head, step_index) = row::record(self.tx, event, self.stamp, row)?;
        Ok(Step::Answered(Box::new(Answered {
            how,
            original,
            request_hash: self.hashes.request_hash.clone(),
            head,
            step_index,
        })))
    }

    /// Claims the request, if nobody has.
    fn claim(&mut self, why: Why) -> Result<Step, LedgerError> {
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
