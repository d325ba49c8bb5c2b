//! Before something is done: three questions in one transaction. Is it the same delivery? The same
//! request? Is the old answer still good? If not, it is claimed, so that nobody else does it
//! (R-004-35 … R-004-40, R-004-58).

use std::{ops::ControlFlow, thread, time::Duration};

use sha2::{Digest, Sha256};

use crate::task::Failure;

use super::{
    Ledger,
    canonical::sha256,
    chain::{self, Body, Stamp},
    look::{Known, Look, Step},
    past::{FEW, Past, examined, first_believed},
    record::{Effects, Event, Link, Row, RowOutcome, Seq},
    request::Hashes,
    store::{Durability, StoreError, Tx, Which, read, write},
    validity::{World, judge},
    words::{Ask, Begun, LedgerError, Running},
};

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
        let known = Known {
            examined: self.examined(ask, &hashes)?,
            ..Known::default()
        };
        let lock = lock_of(ask.who.operation_id);
        self.store.hold(lock)?;
        let begun = self.settle(ask, &hashes, (lock, known), world, go_on);
        if !matches!(begun, Ok(Begun::Run(_))) {
            self.store.release(lock);
        }
        begun
    }

    /// Examines the newest links, where something must not happen twice. Others write meanwhile.
    fn examined(&mut self, ask: &Ask<'_>, hashes: &Hashes) -> Result<Vec<Seq>, LedgerError> {
        if ask.effects != Effects::Once {
            return Ok(Vec::new());
        }
        let session_id = ask.who.session_id;
        read(&mut *self.store, |tx| {
            Ok(examined(tx, session_id, &hashes.request_hash)?)
        })
    }

    fn settle(
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
            match self.look(ask, hashes, &known)? {
                Step::Run(running) => {
                    let held = Some(lock);
                    return Ok(Begun::Run(Running { held, ..running }));
                }
                Step::Answered(answered) => return Ok(Begun::Answered(answered)),
                Step::Judge(row) => {
                    let verdict = judge(&row, ask, world);
                    known.judged.push((*row, verdict));
                }
                Step::Unknown { operation } => return Err(LedgerError::Unknown { operation }),
                Step::Claimed(claim) => {
                    // Of our own number we have the lock: with a fixed seed a run that died had it, too.
                    let own = claim.operation_id == ask.who.operation_id;
                    if own || !self.store.held(lock_of(&claim.operation_id))? {
                        // Its last act may have been a letter.
                        self.absorb_outbox();
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
        let head = &self.head;
        // What is decided here is only ever needed while this machine runs: nothing has happened yet.
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
            let mut look = Look {
                tx,
                ask,
                hashes,
                known,
                past,
                stamp: stamp(ask, &actor, now),
            };
            if !look.is_open()? {
                return look.claim_first();
            }
            if let Some(step) = look.same_delivery()? {
                return Ok(step);
            }
            match look.same_request()? {
                ControlFlow::Break(step) => Ok(step),
                ControlFlow::Continue(why) => look.claim(why),
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
        let kept = read::<_, LedgerError>(&mut *self.store, |tx| Ok(kept_key(tx)?))?;
        if let Some(key) = kept {
            return Ok(key);
        }
        let (actor, now) = (self.actor.clone(), self.host.timestamp());
        write(&mut *self.store, Durability::Disk, |tx| {
            // Somebody else may have been faster.
            if let Some(key) = kept_key(tx)? {
                return Ok(key);
            }
            let key = fresh();
            tx.put_secret_key(&key)?;
            // The key is the ledger's: its link stays, also where this request is refused after all.
            let body = Body {
                key: Some(sha256(key)),
                ..Body::default()
            };
            chain::append(tx, Event::Keyed, stamp(ask, &actor, now), &body)?;
            Ok(key)
        })
    }

    /// Why the last attempt at a task failed, and which attempt comes now where nobody counts
    /// (R-000-64 … R-000-66).
    pub(crate) fn last_failure(
        &mut self,
        session_id: &str,
        task_id: &str,
    ) -> Result<Option<Row>, LedgerError> {
        let which = Which::Runs {
            session_id,
            task_id,
        };
        let last = read::<_, LedgerError>(&mut *self.store, |tx| {
            let rows = tx.rows(&which, FEW)?;
            Ok(first_believed(tx, rows)?)
        })?;
        Ok(last.filter(|row| row.outcome == RowOutcome::Error))
    }
}

/// The key for secrets. Under another one everything with a secret in it would be done again.
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
            "its key for secrets is gone, which link {} made",
            link.seq
        ))),
        (Some(_), _) => {
            Err(tx.damaged("its key for secrets is not the one that was made".to_owned()))
        }
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

/// The number of the lock that whoever does an operation holds while it lives.
pub(super) fn lock_of(operation_id: &str) -> u64 {
    let hash = Sha256::digest(operation_id);
    let bytes = hash.first_chunk().copied().unwrap_or_default();
    // Offsets of files and PostgreSQL's numbers are signed.
    u64::from_be_bytes(bytes) >> 2
}
