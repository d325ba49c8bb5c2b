//! While something is done, and when it is: the claim is settled and the answer recorded, also where the
//! database is gone by then (R-004-41, R-004-50, C-37).

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::host;

use super::{
    Ledger,
    begin::stamp,
    chain::{self, Body, Change, Stamp},
    past::{claim_key, open, settle},
    record::{Claim, ClaimKey, ClaimState, Effects, Event, Head, Row, RowState, Seq},
    row::{self, Beside},
    store::{Durability, StoreError, Tx, Which, read, write},
    words::{Ask, Ended, LedgerError, Recorded, Running, Why},
};

/// The longest letter that is taken in, in bytes.
const LONGEST: u64 = 256 << 20;

/// An answer that is yet to be recorded: a file of the outbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    /// The ledger that is to have it; told only where it has to wait.
    ledger: String,
    row: Row,
    actor: String,
    /// Milliseconds since 1970.
    at: i64,
    claimed_hash: String,
    claim: Seq,
    change: Change,
}

impl Ledger<'_> {
    /// Says, before anything can happen, that it may happen from here on. What changes nothing needs no
    /// such record.
    pub(crate) fn dispatch(&mut self, ask: &Ask<'_>, running: &Running) -> Result<(), LedgerError> {
        if ask.effects == Effects::None {
            return Ok(());
        }
        let key = claim_key(ask, &running.hashes.request_hash);
        let (actor, now) = (self.actor.clone(), self.host.timestamp());
        write(&mut *self.store, Durability::Disk, |tx| {
            let ours = open(
                tx,
                &key.session_id,
                &running.hashes.request_hash,
                running.claim,
            )?;
            let Some(claim) = ours else {
                return Err(LedgerError::InFlight {
                    operation: "of another run".to_owned(),
                    waited: ask.patience,
                });
            };
            let body = Body {
                request_hash: Some(running.hashes.request_hash.clone()),
                entry_digest: Some(ask.entry_digest.clone()),
                claim: Some(running.claim),
                changes: chain::changes(ask.change),
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
    pub(crate) fn finish(&mut self, ask: &Ask<'_>, mut running: Running, ended: Ended) -> Recorded {
        let mut letter = Letter {
            ledger: String::new(),
            actor: self.actor.clone(),
            at: ended.at.as_millisecond(),
            row: row::done(ask, &running, ended),
            claimed_hash: claim_key(ask, &running.hashes.request_hash).request_hash,
            claim: running.claim,
            change: ask.change,
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
                letter.ledger = self.called();
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
            hashes,
            claim: claim.seq,
            why: Why::TakenOver,
            attempt: 1,
            held: None,
        }))
    }

    /// Nothing came of it: it may be done again.
    pub(crate) fn undone(&mut self, ask: &Ask<'_>, running: &Running) -> Result<(), LedgerError> {
        let key = claim_key(ask, &running.hashes.request_hash);
        let (actor, now) = (self.actor.clone(), self.host.timestamp());
        write(&mut *self.store, Durability::Disk, |tx| {
            if let Some(claim) = settle(tx, &key, &running.hashes.request_hash, running.claim)? {
                let body = Body {
                    request_hash: Some(running.hashes.request_hash.clone()),
                    reason: Some("undone".to_owned()),
                    about: Some(claim.operation_id),
                    claim: Some(claim.seq),
                    ..Body::default()
                };
                chain::append(tx, Event::Resolved, stamp(ask, &actor, now), &body)?;
            }
            Ok(())
        })
    }

    /// Settles the claim and records the answer, in one transaction.
    fn take_in(&mut self, letter: &Letter) -> Result<Head, LedgerError> {
        write(&mut *self.store, Durability::Disk, |tx| {
            Ok(letter.taken_in(tx)?)
        })
    }

    /// Of several that start at once, one takes a letter in.
    fn take_in_once(&mut self, letter: &Letter) -> Result<(), LedgerError> {
        let taken = write::<_, LedgerError>(&mut *self.store, Durability::Disk, |tx| {
            if letter.is_in(tx)? {
                return Ok(None);
            }
            Ok(Some(letter.taken_in(tx)?))
        })?;
        if let Some(head) = taken {
            self.publish(&head);
        }
        Ok(())
    }

    /// What letters call this ledger: as it is seen from the state directory, which may be moved with it.
    fn called(&self) -> String {
        let place = self.store.place();
        let state_dir = self.outbox.parent().map(Utf8Path::canonicalize_utf8);
        let within = match &state_dir {
            Some(Ok(dir)) => Utf8Path::new(place).strip_prefix(dir).ok(),
            Some(Err(_)) | None => None,
        };
        within.map_or(place, Utf8Path::as_str).to_owned()
    }

    /// Takes in what earlier runs could not record. What cannot be taken in stays, and is told of.
    pub(super) fn absorb_outbox(&mut self) {
        // A link may lead to the letters of somebody else.
        if self.outbox.is_symlink() {
            tracing::warn!("{} is a symbolic link and is not read.", self.outbox);
            return;
        }
        let Ok(entries) = fs::read_dir(&self.outbox) else {
            return;
        };
        let letters = entries
            .flatten()
            .filter_map(|entry| Utf8PathBuf::try_from(entry.path()).ok())
            .filter(|path| path.extension() == Some("json"));
        for path in letters {
            match self.absorb(&path) {
                Ok(Absorbed::Recorded) => {
                    tracing::info!("Recorded what was left in the outbox as {path}.");
                }
                Ok(Absorbed::Others(ledger)) => {
                    tracing::info!("{path} waits for the ledger {ledger}, which is not this one.");
                }
                Err(why) => tracing::warn!("{path} could not be recorded: {why}"),
            }
        }
    }

    fn absorb(&mut self, path: &Utf8Path) -> Result<Absorbed, String> {
        let bytes = match host::read_plain(path, LONGEST) {
            Ok(bytes) => bytes,
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Absorbed::Recorded);
            }
            Err(error) => return Err(error.to_string()),
        };
        let letter: Letter = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if letter.ledger != self.called() {
            return Ok(Absorbed::Others(letter.ledger));
        }
        self.take_in_once(&letter)
            .map_err(|error| error.to_string())?;
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(Absorbed::Recorded),
        }
    }
}

/// What became of a letter.
enum Absorbed {
    Recorded,
    /// It is that ledger's.
    Others(String),
}

impl Letter {
    /// Whether it was taken in before. Other answers of its operation are none of its business: a person
    /// may have given one in the place of this.
    fn is_in(&self, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
        let row = &self.row;
        let same = |other: &Row| {
            other.operation_id == row.operation_id
                && other.timestamp == row.timestamp
                && other.request_hash == row.request_hash
                && other.response_sha256 == row.response_sha256
        };
        let rows = tx.rows(&Which::operation(&row.operation_id), usize::MAX)?;
        Ok(rows.iter().any(same))
    }

    fn taken_in(&self, tx: &mut Tx<'_>) -> Result<Head, StoreError> {
        let key = ClaimKey {
            session_id: self.row.session_id.clone(),
            request_hash: self.claimed_hash.clone(),
        };
        let mut row = self.row.clone();
        let ours = settle(tx, &key, &row.request_hash, self.claim)?;
        let claim = ours.as_ref().map(|claim| claim.seq);
        let event = if let Some(claim) = ours {
            // Whether it happened nobody knows, or it is not good: nobody does it again until a person has
            // said.
            if row.state == Some(RowState::Unknown) {
                tx.put_claim(&Claim {
                    state: ClaimState::Unknown,
                    ..claim
                })?;
            }
            event(row.state)
        } else {
            row.state = Some(RowState::Late);
            Event::Late
        };
        let stamp = Stamp {
            operation_id: &self.row.operation_id,
            session_id: &self.row.session_id,
            at: jiff::Timestamp::from_millisecond(self.at).unwrap_or_default(),
            actor: &self.actor,
        };
        let beside = Beside {
            claim,
            change: self.change,
            ..Beside::default()
        };
        Ok(row::record(tx, event, stamp, row, beside)?.0)
    }
}

/// Writes a letter, whole or not at all.
fn keep(outbox: &Utf8Path, letter: &Letter) -> io::Result<()> {
    fs::create_dir_all(outbox)?;
    if outbox.is_symlink() {
        return Err(io::Error::other("the outbox is a symbolic link"));
    }
    let text = serde_json::to_vec(letter)?;
    let mut file = NamedTempFile::new_in(outbox)?;
    io::Write::write_all(&mut file, &text)?;
    file.as_file().sync_all()?;
    file.persist(outbox.join(format!("{}.json", letter.row.operation_id)))?;
    fs::File::open(outbox)?.sync_all()
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
