//! While something is done, and when it is: the claim is settled and the answer recorded, also where the
//! database is gone by then (R-004-41, R-004-50, C-37).

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::{
    Ledger,
    chain::{self, Body, Stamp},
    record::{Claim, ClaimKey, ClaimState, Effects, Event, Head, Row, RowState, Seq},
    row,
    store::{Dropped, Durability, Which, read, write},
    words::{Ask, Ended, LedgerError, OnDuplicate, Recorded, Running, Why},
};

/// An answer that is yet to be recorded: a file of the outbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    row: Row,
    actor: String,
    /// Milliseconds since 1970.
    at: i64,
    claimed_hash: String,
    claim: Seq,
}

impl Ledger<'_> {
    /// Says, before anything can happen, that it may happen from here on. What changes nothing needs no
    /// such record.
    pub(crate) fn dispatch(&mut self, ask: &Ask<'_>, running: &Running) -> Result<(), LedgerError> {
        if ask.effects == Effects::None {
            return Ok(());
        }
        let key = key(ask, running);
        let (actor, now) = (self.actor.clone(), self.host.timestamp());
        write(&mut *self.store, Durability::Disk, |tx| {
            let ours = tx.claim(&key)?.filter(|claim| claim.seq == running.claim);
            let Some(claim) = ours else {
                return Err(LedgerError::InFlight {
                    operation: "of another run".to_owned(),
                    waited: ask.patience,
                });
            };
            let body = Body {
                request_hash: Some(running.request_hash.clone()),
                entry_digest: Some(ask.entry_digest.clone()),
                ..Body::default()
            };
            chain::append(tx, Event::Dispatched, stamp(ask, &actor, now), &body)?;
            tx.put_claim(&Claim {
                state: ClaimState::Dispatched,
                ..claim
            })?;
            Ok(())
        })
    }

    /// Records how it ended. Where the ledger cannot be written any more the answer waits in the outbox
    /// for the next start; where that cannot be written either, the claim stays, and says that nobody
    /// knows.
    pub(crate) fn finish(
        &mut self,
        ask: &Ask<'_>,
        mut running: Running,
        ended: &Ended,
    ) -> Recorded {
        let letter = Letter {
            row: row::done(ask, &running, ended),
            actor: self.actor.clone(),
            at: ended.at.as_millisecond(),
            claimed_hash: key(ask, &running).request_hash,
            claim: running.claim,
        };
        let recorded = match self.take_in(&letter) {
            Ok(head) => {
                self.publish(&head);
                Recorded {
                    head: Some(head),
                    notes: Vec::new(),
                }
            }
            Err(error) => {
                let kept = keep(&self.outbox, &letter);
                let what = match &kept {
                    Ok(()) => "The answer waits in the outbox for the next run.".to_owned(),
                    Err(why) => format!(
                        "Nor could it be kept for later ({why}): what was done is not recorded."
                    ),
                };
                tracing::error!("{error}; {what}");
                Recorded {
                    head: None,
                    notes: vec![format!("The answer could not be recorded: {error}. {what}")],
                }
            }
        };
        if let Some(lock) = running.held.take() {
            self.store.release(lock);
        }
        recorded
    }

    /// Takes up what a dead owner left unknown, where there is evidence of how it ended: whoever has it
    /// says so with [`Ledger::finish`], or that nothing came of it with [`Ledger::undone`].
    pub(crate) fn take_up(
        &mut self,
        ask: &Ask<'_>,
        operation_id: &str,
    ) -> Result<Option<Running>, LedgerError> {
        let hashes = ask.asked.hashes(&self.key(ask)?);
        let claims = read::<_, LedgerError>(&mut *self.store, |tx| Ok(tx.claims()?))?;
        let left = claims
            .into_iter()
            .find(|claim| claim.operation_id == operation_id && claim.state == ClaimState::Unknown);
        Ok(left.map(|claim| Running {
            request_hash: hashes.request_hash,
            inputs_hash: hashes.inputs_hash,
            claim: claim.seq,
            why: Why::TakenOver,
            attempt: 1,
            held: None,
        }))
    }

    /// Nothing came of it: it may be done again.
    pub(crate) fn undone(&mut self, ask: &Ask<'_>, running: &Running) -> Result<(), LedgerError> {
        let key = key(ask, running);
        let (actor, now) = (self.actor.clone(), self.host.timestamp());
        write(&mut *self.store, Durability::Disk, |tx| {
            if tx.drop_claim(&key, running.claim)? == Dropped::Ours {
                let body = Body {
                    request_hash: Some(running.request_hash.clone()),
                    reason: Some("undone".to_owned()),
                    ..Body::default()
                };
                chain::append(tx, Event::Resolved, stamp(ask, &actor, now), &body)?;
            }
            Ok(())
        })
    }

    /// Settles the claim and records the answer, in one transaction.
    fn take_in(&mut self, letter: &Letter) -> Result<Head, LedgerError> {
        let at = jiff::Timestamp::from_millisecond(letter.at).unwrap_or_default();
        write(&mut *self.store, Durability::Disk, |tx| {
            let key = ClaimKey {
                session_id: letter.row.session_id.clone(),
                request_hash: letter.claimed_hash.clone(),
            };
            let mut row = letter.row.clone();
            let stays = row.state == Some(RowState::Unknown);
            let claim = tx.claim(&key)?.filter(|claim| claim.seq == letter.claim);
            let event = match tx.drop_claim(&key, letter.claim)? {
                Dropped::Ours => {
                    // Whether it happened nobody knows: nobody does it again until a person has said.
                    if let Some(claim) = claim.filter(|_| stays) {
                        tx.put_claim(&Claim {
                            state: ClaimState::Unknown,
                            ..claim
                        })?;
                    }
                    event(row.state)
                }
                Dropped::TakenOver => {
                    row.state = Some(RowState::Late);
                    Event::Late
                }
            };
            let stamp = Stamp {
                operation_id: &letter.row.operation_id,
                session_id: &letter.row.session_id,
                at,
                actor: &letter.actor,
            };
            Ok(row::record(tx, event, stamp, row)?.0)
        })
    }

    /// Of several that start at once, one takes a letter in.
    fn take_in_once(&mut self, letter: &Letter) -> Result<(), LedgerError> {
        let which = Which::operation(&letter.row.operation_id);
        let rows = read::<_, LedgerError>(&mut *self.store, |tx| Ok(tx.rows(&which, 1)?))?;
        if rows.is_empty() {
            self.take_in(letter)?;
        }
        Ok(())
    }

    /// Takes in what earlier runs could not record. What cannot be taken in stays, and is told of.
    pub(super) fn absorb_outbox(&mut self) {
        let Ok(entries) = fs::read_dir(&self.outbox) else {
            return;
        };
        let letters = entries
            .flatten()
            .filter_map(|entry| Utf8PathBuf::try_from(entry.path()).ok())
            .filter(|path| path.extension() == Some("json"));
        for path in letters {
            let read = fs::read(&path).map_err(|error| error.to_string());
            let letter = read.and_then(|bytes| {
                serde_json::from_slice::<Letter>(&bytes).map_err(|error| error.to_string())
            });
            let taken = letter.and_then(|letter| {
                self.take_in_once(&letter)
                    .map_err(|error| error.to_string())?;
                fs::remove_file(&path).map_err(|error| error.to_string())
            });
            match taken {
                Ok(()) => tracing::info!("Recorded what was left in the outbox as {path}."),
                Err(why) => tracing::warn!("{path} could not be recorded: {why}"),
            }
        }
    }
}

/// Writes a letter, whole or not at all.
fn keep(outbox: &Utf8Path, letter: &Letter) -> Result<(), std::io::Error> {
    fs::create_dir_all(outbox)?;
    let text = serde_json::to_vec(letter)?;
    let mut file = NamedTempFile::new_in(outbox)?;
    std::io::Write::write_all(&mut file, &text)?;
    file.as_file().sync_all()?;
    file.persist(outbox.join(format!("{}.json", letter.row.operation_id)))?;
    fs::File::open(outbox)?.sync_all()
}

fn key(ask: &Ask<'_>, running: &Running) -> ClaimKey {
    ClaimKey {
        session_id: ask.who.session_id.to_owned(),
        request_hash: match ask.on_duplicate {
            OnDuplicate::Repeat => ask.who.operation_id.to_owned(),
            OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => running.request_hash.clone(),
        },
    }
}

fn stamp<'s>(ask: &'s Ask<'_>, actor: &'s str, at: jiff::Timestamp) -> Stamp<'s> {
    Stamp {
        operation_id: ask.who.operation_id,
        session_id: ask.who.session_id,
        at,
        actor,
    }
}

fn event(state: Option<RowState>) -> Event {
    match state {
        Some(RowState::Done | RowState::Partial) => Event::Succeeded,
        Some(RowState::RolledBack) => Event::RolledBack,
        Some(RowState::Cancelled) => Event::Cancelled,
        Some(RowState::Unknown) => Event::Unknown,
        Some(RowState::Pending) => Event::Pending,
        Some(RowState::Rejected) => Event::Rejected,
        _ => Event::Failed,
    }
}
