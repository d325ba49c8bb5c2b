//! Asks three questions in one transaction. Is it the same delivery? Is it the same request? Is the old answer
//! still good? Without a good answer, the request is claimed, so that no other run performs it (R-004-35 …
//! R-004-40, R-004-58).
//!
//! The open claim of a key, of which there is at most one, names the operation that has the request.

use std::{thread, time::Duration};

use sha2::{Digest, Sha256};

use super::{
    canonical::sha256,
    chain::{self, Stamp},
    place::Ledger,
    questions::{self, Known, QuestionEnd, Questions, Stop, Turn},
    record::{Body, Effects, Event, Row, RowOutcome, Which},
    request::Hashes,
    store::{Access, Durability, StoreError, Tx, read, write, write_as},
    validity::{World, judge},
    words::{Ask, LedgerError, Reply, Running},
};
use crate::task::Failure;

/// The shortest and the longest pause between two checks of another run's claim.
const SHORTEST: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(250);

impl Ledger<'_> {
    /// Returns an old answer, or claims the request. While another run performs the same request, this one waits
    /// for at most `ask.patience`, or until `go_on` fails.
    pub(crate) fn begin(
        &mut self,
        ask: &Ask<'_>,
        world: &dyn World,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Reply, LedgerError> {
        self.absorb_old_letters();
        let hashes = ask.asked.hashes(&self.key(ask)?);
        let lock = lock_of(ask.who.operation_id);
        self.store.hold(lock)?;
        let begun = self.answer_or_claim(ask, &hashes, lock, world, go_on);
        if !matches!(begun, Ok(Reply::Run(_))) {
            self.store.release(lock);
        }
        if let Ok(Reply::Answered(_)) = begun {
            self.tie(ask);
        }
        begun
    }

    /// Ties the chains of the sessions together, if it is time. If others write just now, a later run does it.
    pub(super) fn tie(&mut self, ask: &Ask<'_>) {
        let stamp = stamp(ask, &self.actor, self.host.timestamp());
        if chain::is_due(self.untied_since.as_deref(), stamp.at) {
            let tied = write_as(&mut *self.store, Access::IfFree, |tx| {
                Ok((chain::tie(tx, stamp)?, Durability::Process))
            });
            if let Err::<_, StoreError>(error) = tied {
                tracing::debug!(%error, "the chains of the sessions were not tied together");
            }
        }
    }

    /// Takes the steps of [`begin`](Self::begin) before the questions about a request with effects, and adds a link in a
    /// transaction that is dropped, so the database says whether a run may write. Returns the name of the ledger, for
    /// people.
    pub(super) fn try_out(mut self, operation_id: &str) -> Result<String, LedgerError> {
        let lock = lock_of(operation_id);
        self.store.hold(lock)?;
        self.store.release(lock);
        let mut tx = self.store.begin(Access::Session(operation_id))?;
        self.head.agrees_with(&mut tx)?;
        let stamp = Stamp {
            operation_id,
            session_id: operation_id,
            at: self.host.timestamp(),
            actor: &self.actor,
        };
        chain::append(&mut tx, Event::Reserved, stamp, &Body::default())?;
        // What only adds something may be sent with this question.
        tx.session("")?;
        drop(tx);
        Ok(self.store.place().to_owned())
    }

    /// Asks the questions until the request is answered or claimed.
    fn answer_or_claim(
        &mut self,
        ask: &Ask<'_>,
        hashes: &Hashes,
        lock: u64,
        world: &dyn World,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Reply, LedgerError> {
        let begun = self.host.moment();
        let mut known = Known::default();
        let mut pause = SHORTEST;
        loop {
            go_on().map_err(LedgerError::Stopped)?;
            match self.questions(ask, hashes, &known)? {
                Ok(running) => {
                    let held = Some(lock);
                    return Ok(Reply::Run(Running { held, ..running }));
                }
                Err(QuestionEnd::Answered(answered)) => return Ok(Reply::Answered(answered)),
                Err(QuestionEnd::Judge(row, usable)) => {
                    let verdict = judge(&row, &usable, ask, world);
                    known.judged.push((*row, verdict));
                }
                Err(QuestionEnd::Unknown { operation }) => {
                    return Err(LedgerError::Unknown { operation });
                }
                Err(QuestionEnd::Claimed(claim)) => {
                    // This run holds the lock of its own id. With a fixed seed, a dead run may have had the same
                    // id.
                    let own = claim.operation_id == ask.who.operation_id;
                    if own || !self.store.held(lock_of(&claim.operation_id))? {
                        // The dead owner may have left its answer in the outbox.
                        self.absorb_outbox();
                        known.dead.push(claim.operation_id.clone());
                        continue;
                    }
                    let waited = begun.passed();
                    if waited >= ask.patience {
                        return Err(LedgerError::InFlight {
                            by: format!("operation {}", claim.operation_id),
                            waited: ask.patience,
                        });
                    }
                    tracing::info!(
                        "Operation {} is performing the same request, delivery or action; this run waits for it.",
                        claim.operation_id
                    );
                    thread::sleep(pause.min(ask.patience.saturating_sub(waited)));
                    pause = (pause * 3 / 2).min(LONGEST);
                }
            }
        }
    }

    fn questions(
        &mut self,
        ask: &Ask<'_>,
        hashes: &Hashes,
        known: &Known,
    ) -> Result<Result<Running, QuestionEnd>, LedgerError> {
        let (head, actor, now) = (&self.head, &self.actor, self.host.timestamp());
        let untied_since = &mut self.untied_since;
        write_as(
            &mut *self.store,
            Access::Session(ask.who.session_id),
            |tx| {
                tx.expect(|tx| {
                    if ask.effects != Effects::None {
                        head.expect(tx)?;
                    }
                    questions::of_a_new_request(tx, ask, hashes)
                })?;
                if ask.effects != Effects::None {
                    head.agrees_with(tx)?;
                }
                let mut questions = Questions {
                    tx,
                    ask,
                    hashes,
                    known,
                    stamp: stamp(ask, actor, now),
                    since: 0,
                    turn: Turn::Same,
                };
                let step = match questions.decide() {
                    Ok(running) => Ok(running),
                    Err(Stop::End(end)) => Err(end),
                    Err(Stop::Error(error)) => return Err(error),
                };
                *untied_since = tx.ends(ask.who.session_id)?.untied_since;
                let durability = match step {
                    // The caller is told of its link (durable before told).
                    Err(QuestionEnd::Answered(_)) => Durability::Disk,
                    // Nothing has been performed yet.
                    _ => Durability::Process,
                };
                Ok((step, durability))
            },
        )
    }

    /// The key for hashes of secrets and fences, which the first request with one makes. Without any, it is all zeros.
    pub(crate) fn key(&mut self, ask: &Ask<'_>) -> Result<[u8; 32], LedgerError> {
        if !ask.asked.needs_key() {
            return Ok([0; 32]);
        }
        if let Some(key) = read(&mut *self.store, Tx::secret_key)? {
            return Ok(key);
        }
        let (host, actor) = (self.host, &self.actor);
        write::<_, LedgerError>(&mut *self.store, Durability::Disk, |tx| {
            // Another run may have made it meanwhile.
            if let Some(key) = tx.secret_key()? {
                return Ok(key);
            }
            // With another key, each request with a secret would be performed again.
            if tx.had_secret_key()? {
                let why = "its key for secrets is missing".to_owned();
                return Err(tx.damaged(why).into());
            }
            let mut key = [0; 32];
            let halves = host.random_bytes().into_iter().chain(host.random_bytes());
            for (to, from) in key.iter_mut().zip(halves) {
                *to = from;
            }
            tx.put_secret_key(&key)?;
            // The key belongs to the ledger, so its link stays even if this request is refused.
            let body = Body {
                key: Some(sha256(key)),
                ..Body::default()
            };
            chain::append(tx, Event::Keyed, stamp(ask, actor, host.timestamp()), &body)?;
            Ok(key)
        })
    }

    /// The last answer for a task, if it is a failure (R-000-64 … R-000-66).
    pub(crate) fn last_failure(
        &mut self,
        session_id: &str,
        task_id: &str,
    ) -> Result<Option<Row>, LedgerError> {
        let which = Which::runs(session_id, task_id);
        let last = read::<_, StoreError>(&mut *self.store, |tx| tx.row(&which))?;
        Ok(last.filter(|row| row.outcome == RowOutcome::Error))
    }
}

pub(crate) fn stamp<'s>(ask: &'s Ask<'_>, actor: &'s str, at: jiff::Timestamp) -> Stamp<'s> {
    Stamp {
        operation_id: ask.who.operation_id,
        session_id: ask.who.session_id,
        at,
        actor,
    }
}

/// The number of the lock that the process of an operation holds as long as it lives: of a byte of SQLite's lock file, or an
/// advisory lock of PostgreSQL. The kernel or the server releases it however the process ends, so if nobody holds it, the
/// operation is dead.
pub(crate) fn lock_of(operation_id: &str) -> u64 {
    let hash = Sha256::digest(operation_id);
    let bytes = hash.first_chunk().copied().unwrap_or_default();
    // File offsets and PostgreSQL's numbers are signed.
    u64::from_be_bytes(bytes) >> 2
}
