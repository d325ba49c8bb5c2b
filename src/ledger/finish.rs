//! Settles the claim and records the answer, even if the database has become unusable (R-004-41, R-004-50, C-37).

use std::{error::Error, fs, io, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::{
    answer,
    begin::lock_of,
    chain::Stamp,
    place::Ledger,
    record::{Body, Event, Head, KNOTS, Row, RowState, StateChange, Told, Which, changes},
    store::{Durability, Seq, StoreError, Trouble, Tx, write_in},
    words::{ApprovalNote, Ask, Ended, Recorded, Running},
};
use crate::host;

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
    claim: Seq,
    change: StateChange,
    told: Told,
    /// What the answer says about an approval.
    #[serde(default)]
    approval: Option<ApprovalNote>,
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
            claim: running.claim,
            change: ask.change,
        };
        let keep = || keep(&self.outbox, &letter);
        // The run may be ended while the network is silent. If the machine fails as well, a person decides.
        let kept = self.store.is_remote().then(keep);
        let session = ask.who.session_id;
        if let Some(lock) = running.held {
            self.store.release_with_commit(lock);
        }
        let taken = write_in(&mut *self.store, session, Durability::Disk, |tx| {
            tx.expect(|tx| {
                tx.ends(session)?;
                tx.next_step(session)?;
                tx.claim(running.claim)?;
                letter.recorded(tx).map(drop)
            })?;
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
                let kept = kept.and_then(|path| match host::sync_placed(path) {
                    // Another run has recorded the letter meanwhile.
                    Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
                    synced => synced,
                });
                let what = match kept {
                    Ok(()) => "The answer is in the outbox; the next run records it.".to_owned(),
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
        if head.is_some() {
            self.tie(ask);
        }
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
    pub(crate) fn absorb_outbox(&mut self) {
        self.absorb_letters(Duration::ZERO);
    }

    /// The same before the questions of a run. Behind a network, each run leaves a letter while it ends, and whether a run
    /// lives is a question to the server. New letters are therefore left, unless their run turns out to be dead.
    pub(super) fn absorb_old_letters(&mut self) {
        self.absorb_letters(if self.store.is_remote() {
            Duration::from_secs(5)
        } else {
            Duration::ZERO
        });
    }

    fn absorb_letters(&mut self, least_age: Duration) {
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
            if is_younger(&path, least_age) {
                continue;
            }
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
                Err(why) => {
                    tracing::warn!("{path} could not be recorded: {why}");
                    // Each of the others would have to wait as long.
                    let trouble = why.downcast_ref::<StoreError>().map(|error| error.trouble);
                    if let Some(Trouble::Busy | Trouble::Lost | Trouble::Unreachable) = trouble {
                        return;
                    }
                }
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
        if bytes.iter().all(|byte| *byte == 0) {
            fs::remove_file(path)?;
            return Err("it was blank, as after a power failure, and was removed".into());
        }
        let letter: Letter = serde_json::from_slice(&bytes)?;
        if letter.ledger != self.called() {
            return Ok(Some(letter.ledger));
        }
        if self.store.held(lock_of(&letter.row.operation_id))? {
            // Its run is recording the answer itself.
            return Ok(None);
        }
        let session = &letter.row.session_id;
        if session == KNOTS {
            return Err("it names no session".into());
        }
        // Of several runs that start at once, one records the letter.
        let taken = write_in(&mut *self.store, session, Durability::Disk, |tx| {
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
        let rows = tx.rows(&Which::operation(&row.operation_id), usize::MAX)?;
        let Some(row) = rows.iter().find(|row| same(row)) else {
            return Ok(None);
        };
        row.seq.map_or(Ok(None), |seq| tx.of(seq))
    }

    fn taken_in(&self, tx: &mut Tx<'_>) -> Result<Head, StoreError> {
        let mut row = self.row.clone();
        let claim = tx.claim(self.claim)?;
        let claim = claim.filter(|claim| claim.is_open_of(&row.session_id, &row.operation_id));
        let event = match (&claim, &self.approval) {
            (Some(_), Some(ApprovalNote::Requests { .. })) => Event::ApprovalRequested,
            (Some(_), _) => event(row.state),
            (None, _) => {
                row.state = Some(RowState::Late);
                Event::Late
            }
        };
        let stamp = Stamp {
            operation_id: &self.row.operation_id,
            session_id: &self.row.session_id,
            at: jiff::Timestamp::from_millisecond(self.at).unwrap_or_default(),
            actor: &self.actor,
        };
        let body = Body {
            claim: claim.map(|claim| claim.seq),
            changes: changes(self.change),
            told: Some(self.told),
            ..Body::default()
        };
        let body = match &self.approval {
            Some(note) => note.told(body, &row),
            None => body,
        };
        let (head, _) = answer::add_row(tx, event, stamp, row, body)?;
        Ok(head)
    }
}

/// The operation of a letter that is not completely written (see [`host::place`]).
fn unfinished(path: &Utf8Path) -> Option<&str> {
    let name = path.file_name()?.strip_prefix('.')?;
    name.strip_suffix(".json.oneact")
}

fn is_younger(letter: &Utf8Path, age: Duration) -> bool {
    let written = fs::metadata(letter).and_then(|letter| letter.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|since| since < age))
}

/// Writes a letter atomically, without a sync. Returns its path.
fn keep(outbox: &Utf8Path, letter: &Letter) -> io::Result<Utf8PathBuf> {
    fs::create_dir_all(outbox)?;
    if outbox.is_symlink() {
        return Err(io::Error::other("the outbox is a symbolic link"));
    }
    let text = serde_json::to_vec(letter)?;
    let path = outbox.join(format!("{}.json", letter.row.operation_id));
    host::place_unsynced(&path, &text)?;
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
