//! Asks three questions in one transaction. Is it the same delivery? Is it the same request? Is the old answer
//! still good? Without a good answer, the request is claimed, so that no other run performs it (R-004-35 …
//! R-004-40, R-004-58).

use std::{thread, time::Duration};

use sha2::{Digest, Sha256};

use crate::task::Failure;

use super::{
    Ledger,
    canonical::sha256,
    chain::{self, Body, Stamp},
    past::{FEW, Past, examined},
    questions::{Known, Questions, Step, Turn},
    record::{Effects, Event, Link, Row, RowOutcome},
    request::Hashes,
    store::{Access, Durability, StoreError, Tx, Which, read, write},
    validity::{World, judge},
    words::{Ask, Begun, LedgerError, Running},
};

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
    ) -> Result<Begun, LedgerError> {
        self.absorb_outbox();
        let hashes = ask.asked.hashes(&self.key(ask)?);
        // Before a once-only call, the newest links are examined. Other runs can write meanwhile.
        let examined = match ask.strictest {
            Effects::None | Effects::Idempotent => Vec::new(),
            Effects::Once => read(&mut *self.store, |tx| examined(tx, ask.who.session_id))?,
        };
        let known = Known {
            examined,
            ..Known::default()
        };
        let lock = lock_of(ask.who.operation_id);
        self.store.hold(lock)?;
        let begun = self.answer_or_claim(ask, &hashes, (lock, known), world, go_on);
        if !matches!(begun, Ok(Begun::Run(_))) {
            self.store.release(lock);
        }
        begun
    }

    /// Takes the steps of [`begin`](Self::begin) before the questions about a request with effects, and adds a link in a
    /// transaction that is dropped, so the database says whether a run may write. Returns the name of the ledger, for
    /// people.
    pub(super) fn try_out(mut self, operation_id: &str) -> Result<String, LedgerError> {
        let lock = lock_of(operation_id);
        self.store.hold(lock)?;
        self.store.release(lock);
        let mut tx = self.store.begin(Access::Write(Durability::Disk))?;
        self.head.agrees_with(&mut tx)?;
        let stamp = Stamp {
            operation_id,
            session_id: "",
            at: self.host.timestamp(),
            actor: &self.actor,
        };
        chain::append(&mut tx, Event::Reserved, stamp, &Body::default())?;
        drop(tx);
        Ok(self.store.place().to_owned())
    }

    /// Asks the questions until the request is answered or claimed.
    fn answer_or_claim(
        &mut self,
        ask: &Ask<'_>,
        hashes: &Hashes,
        (lock, mut known): (u64, Known),
        world: &dyn World,
        go_on: &dyn Fn() -> Result<(), Failure>,
    ) -> Result<Begun, LedgerError> {
        let begun = self.host.moment();
        let mut pause = SHORTEST;
        loop {
            go_on().map_err(LedgerError::Stopped)?;
            match self.questions(ask, hashes, &known)? {
                Step::Run(running) => {
                    let held = Some(lock);
                    return Ok(Begun::Run(Running { held, ..running }));
                }
                Step::Answered(answered) => return Ok(Begun::Answered(answered)),
                Step::Judge(row, usable) => {
                    let verdict = judge(&row, &usable, ask, world);
                    known.judged.push((*row, verdict));
                }
                Step::Unknown { operation } => return Err(LedgerError::Unknown { operation }),
                Step::Claimed(claim) => {
                    // This run holds the lock of its own id. With a fixed seed, a dead run may have had the same
                    // id.
                    let own = claim.operation_id == ask.who.operation_id;
                    if own || !self.store.held(lock_of(&claim.operation_id))? {
                        // The dead owner may have left its answer in the outbox.
                        self.absorb_outbox();
                        known.dead.push(claim.seq);
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
                        "Operation {} is performing the same request or delivery; this run waits for it.",
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
    ) -> Result<Step, LedgerError> {
        let (head, actor, now) = (&self.head, &self.actor, self.host.timestamp());
        // Nothing has been performed yet, so this need not survive a power failure.
        write(&mut *self.store, Durability::Process, |tx| {
            if ask.effects != Effects::None {
                head.agrees_with(tx)?;
            }
            let session_id = ask.who.session_id;
            let past = Past::of(
                tx,
                session_id,
                &hashes.request_hash,
                (ask.effects, &known.examined),
            )?;
            let questions = Questions {
                tx,
                ask,
                hashes,
                known,
                past,
                stamp: stamp(ask, actor, now),
                since: 0,
                turn: Turn::Same,
                found: 0,
            };
            questions.decide()
        })
    }

    /// The key for hashes of secrets, which the first request with secrets makes. Without secrets it is all zeros.
    pub(super) fn key(&mut self, ask: &Ask<'_>) -> Result<[u8; 32], LedgerError> {
        if !ask.asked.has_secrets() {
            return Ok([0; 32]);
        }
        if let Some(key) = read(&mut *self.store, kept_key)? {
            return Ok(key);
        }
        let (host, actor) = (self.host, &self.actor);
        write(&mut *self.store, Durability::Disk, |tx| {
            // Another run may have made it meanwhile.
            if let Some(key) = kept_key(tx)? {
                return Ok(key);
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
        let last = read::<_, StoreError>(&mut *self.store, |tx| {
            let rows = tx.rows(&which, FEW)?;
            Past::default().first_believed(tx, rows)
        })?;
        Ok(last.filter(|row| row.outcome == RowOutcome::Error))
    }
}

/// The stored key for hashes of secrets. With another key, each request with a secret would be performed again.
fn kept_key(tx: &mut Tx<'_>) -> Result<Option<[u8; 32]>, StoreError> {
    let (key, keyed) = (tx.secret_key()?, tx.keyed()?);
    let said = keyed
        .as_ref()
        .and_then(Link::body)
        .and_then(|body| body.key);
    match (key, &keyed) {
        (None, None) => Ok(None),
        (Some(key), Some(_)) if said == Some(sha256(key)) => Ok(Some(key)),
        (None, Some(link)) => Err(tx.damaged(format!(
            "its key for secrets, which link {} made, is missing",
            link.seq
        ))),
        (Some(_), _) => Err(tx.damaged("its key for secrets is not the original one".to_owned())),
    }
}

pub(super) fn stamp<'s>(ask: &'s Ask<'_>, actor: &'s str, at: jiff::Timestamp) -> Stamp<'s> {
    Stamp {
        operation_id: ask.who.operation_id,
        session_id: ask.who.session_id,
        at,
        actor,
    }
}

/// The number of the lock that the process of an operation holds as long as it lives.
pub(super) fn lock_of(operation_id: &str) -> u64 {
    let hash = Sha256::digest(operation_id);
    let bytes = hash.first_chunk().copied().unwrap_or_default();
    // File offsets and PostgreSQL's numbers are signed.
    u64::from_be_bytes(bytes) >> 2
}
