//! Settles the claim and records the answer, even if the database has become unusable (R-004-41, R-004-50, C-37).

use std::{error::Error, fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::host;

use super::{
    Ledger,
    answer::{self, Beside},
    begin::lock_of,
    chain::{Change, Stamp, Told},
    claims::{claim_key, settle},
    past::Past,
    record::{Claim, ClaimKey, ClaimState, Event, Head, Row, RowState, Seq},
    store::{Durability, StoreError, Tx, Which, write},
    words::{Ask, Ended, Note, Recorded, Running},
};

/// The size limit of a letter, in bytes.
const LONGEST: u64 = 256 << 20;

/// An answer that is not recorded yet: a file of the outbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Letter {
    /// The ledger it belongs to. Empty until the letter is written.
    ledger: String,
    row: Row,
    actor: String,
    /// Milliseconds since 1970.
    at: i64,
    claimed_hash: String,
    claim: Seq,
    change: Change,
    told: Told,
    /// What the answer says about an approval.
    #[serde(default)]
    approval: Option<Note>,
}

impl Ledger<'_> {
    /// Records the end. If the ledger cannot be written, the answer waits in the outbox for the next run. If the
    /// outbox cannot be written either, the claim stays, and its outcome is unknown.
    pub(crate) fn finish(&mut self, ask: &Ask<'_>, running: Running, ended: Ended) -> Recorded {
        let letter = Letter {
            ledger: self.called(),
            actor: self.actor.clone(),
            at: ended.at.as_millisecond(),
            approval: ended.approval.clone(),
            told: ended.told,
            row: answer::done(ask, &running, ended),
            claimed_hash: claim_key(ask, &running.hashes.request_hash).request_hash,
            claim: running.claim,
            change: ask.change,
        };
        let keep = || keep(&self.outbox, &letter);
        // The run may be ended while the network is silent.
        let kept = self.store.is_remote().then(keep);
        let taken = write(&mut *self.store, Durability::Disk, |tx| {
            // Another run records the letter if the connection of this one was lost meanwhile.
            let known = match &kept {
                Some(Ok(_)) => letter.recorded(tx)?,
                Some(Err(_)) | None => None,
            };
            known.map_or_else(|| letter.taken_in(tx), Ok)
        });
        let (head, notes) = match taken {
            Ok(head) => {
                self.publish(&head);
                if let Some(Ok(path)) = kept {
                    // If it stays, the next run finds that it is recorded.
                    let _ = fs::remove_file(path);
                }
                (Some(head), Vec::new())
            }
            Err(error) => {
                let kept = kept.filter(Result::is_ok).unwrap_or_else(keep);
                let what = match kept {
                    Ok(_) => "The answer is in the outbox; the next run records it.".to_owned(),
                    Err(why) => format!(
                        "It could not be written to the outbox either ({why}), so it is not recorded. If the same request is refused from now on, settle it with `oneact resolve {}`.",
                        letter.row.operation_id
                    ),
                };
                tracing::error!("{error}; {what}");
                let note = format!("The answer could not be recorded: {error}. {what}");
                (None, vec![note])
            }
        };
        self.let_go(running);
        Recorded { head, notes }
    }

    /// Ends a run without an answer. A later run may perform the request.
    pub(crate) fn let_go(&mut self, mut running: Running) {
        if let Some(lock) = running.held.take() {
            self.store.release(lock);
        }
    }

    /// The name of this ledger in letters: relative to the state directory, if it is inside. Both may be moved
    /// together.
    fn called(&self) -> String {
        let place = self.store.place();
        let state_dir = self.outbox.parent().map(Utf8Path::canonicalize_utf8);
        let within = match &state_dir {
            Some(Ok(dir)) => Utf8Path::new(place).strip_prefix(dir).ok(),
            Some(Err(_)) | None => None,
        };
        within.map_or(place, Utf8Path::as_str).to_owned()
    }

    /// Records the letters of earlier runs. A letter that cannot be recorded stays and is logged.
    pub(super) fn absorb_outbox(&mut self) {
        // A symbolic link may lead to another user's letters.
        if self.outbox.is_symlink() {
            tracing::warn!("{} is a symbolic link and is not read.", self.outbox);
            return;
        }
        let Ok(entries) = fs::read_dir(&self.outbox) else {
            return;
        };
        let paths = entries
            .flatten()
            .filter_map(|entry| Utf8PathBuf::try_from(entry.path()).ok());
        for path in paths {
            if let Some(operation) = unfinished(&path) {
                // A run was killed while it wrote the letter.
                if matches!(self.store.held(lock_of(operation)), Ok(false)) {
                    let _ = fs::remove_file(&path);
                }
                continue;
            }
            if path.extension() != Some("json") {
                continue;
            }
            match self.absorb(&path) {
                Ok(None) => tracing::info!("Recorded the answer {path} from the outbox."),
                Ok(Some(ledger)) => {
                    tracing::info!("{path} belongs to the ledger {ledger}, not to this one.");
                }
                Err(why) => tracing::warn!("{path} could not be recorded: {why}"),
            }
        }
    }

    /// Records a letter and removes it. Returns the name of its ledger if that is another one.
    fn absorb(&mut self, path: &Utf8Path) -> Result<Option<String>, Box<dyn Error>> {
        let bytes = match host::read_plain(path, LONGEST) {
            // Another run was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let letter: Letter = serde_json::from_slice(&bytes)?;
        if letter.ledger != self.called() {
            return Ok(Some(letter.ledger));
        }
        if self.store.held(lock_of(&letter.row.operation_id))? {
            // Its run is recording the answer itself.
            return Ok(None);
        }
        // Of several runs that start at once, one records the letter.
        let taken = write(&mut *self.store, Durability::Disk, |tx| {
            let known = letter.recorded(tx)?;
            known.map_or_else(|| letter.taken_in(tx), Ok)
        })?;
        self.publish(&taken);
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(None),
        }
    }
}

impl Letter {
    /// The link that records this answer already. Other answers of its operation do not count: a person may have
    /// given one.
    fn recorded(&self, tx: &mut Tx<'_>) -> Result<Option<Head>, StoreError> {
        let row = &self.row;
        let same = |other: &Row| {
            other.operation_id == row.operation_id
                && other.timestamp == row.timestamp
                && other.request_hash == row.request_hash
                && other.response_sha256 == row.response_sha256
        };
        let mut rows = tx.rows(&Which::operation(&row.operation_id), usize::MAX)?;
        rows.retain(same);
        let Some(row) = Past::default().first_believed(tx, rows)? else {
            return Ok(None);
        };
        let link = tx.link_of(&row)?;
        Ok(link.map(|link| Head {
            seq: link.seq,
            entry_hash: link.entry_hash,
        }))
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
            // The outcome is unknown, or the result is not good: a person decides before it is performed again.
            if row.state == Some(RowState::Unknown) {
                tx.put_claim(&Claim {
                    state: ClaimState::Unknown,
                    ..claim
                })?;
            }
            match self.approval {
                Some(Note::Requests { .. }) => Event::ApprovalRequested,
                Some(Note::Ends { .. } | Note::Keeps { .. } | Note::Opens { .. }) | None => {
                    event(row.state)
                }
            }
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
            told: Some(self.told),
            approval: self.approval.as_ref(),
            ..Beside::default()
        };
        Ok(answer::record(tx, event, stamp, row, beside)?.0)
    }
}

/// The operation of a letter that is not completely written (see [`host::place`]).
fn unfinished(path: &Utf8Path) -> Option<&str> {
    let name = path.file_name()?.strip_prefix('.')?;
    name.strip_suffix(".json.oneact")
}

/// Writes a letter atomically, with a sync. Returns its path.
fn keep(outbox: &Utf8Path, letter: &Letter) -> io::Result<Utf8PathBuf> {
    fs::create_dir_all(outbox)?;
    if outbox.is_symlink() {
        return Err(io::Error::other("the outbox is a symbolic link"));
    }
    let text = serde_json::to_vec(letter)?;
    let path = outbox.join(format!("{}.json", letter.row.operation_id));
    host::place(&path, &text, None)?;
    Ok(path)
}

/// The event of the link that records an answer of that state.
pub(super) fn event(state: Option<RowState>) -> Event {
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
