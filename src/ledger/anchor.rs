//! Copies of links outside the ledger: the head file, and anchors. A chain that was cut short or computed anew is
//! consistent in itself. Only a copy of a link that the chain does not contain shows the change.

use std::{
    error::Error,
    fs::File,
    io::{self, BufReader, Write as _},
    mem,
    os::unix::fs::FileExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::Builder;

use crate::host;

use super::{
    Ledger, LedgerError,
    canonical::canonical,
    chain::instant,
    record::{Head, Seq},
    signature::{KeyError, PublicKey, Purpose, SignatureError, SigningKey, check},
    store::{StoreError, Trouble, Tx, read},
};

/// A copy of a link's number and hash: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) seq: Seq,
    pub(crate) entry_hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<String>,
    /// SSHSIG, over the canonical JSON of everything above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<String>,
}

/// Why a file of anchors cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnchorError {
    #[error("the anchor {path} cannot be read: {why}")]
    Unreadable { path: Utf8PathBuf, why: String },
    #[error(
        "{path} contains no anchor: neither a line of `oneact verify --anchor-out` nor an envelope with `output.content.oneact.ledger`"
    )]
    None { path: Utf8PathBuf },
}

/// The file beside the ledger that names its last link.
#[derive(Debug, Clone)]
pub(super) struct HeadFile {
    path: Utf8PathBuf,
    sign_key: Option<Utf8PathBuf>,
}

/// The size of a disk's atomic write, in bytes.
const SECTOR: usize = 512;

/// The size limit of a head file, in bytes.
const LONGEST: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Written {
    Note(Note),
    Nothing,
    /// Empty or all zeros, as after a power failure: the file is written without a sync.
    Blank,
    /// Why it cannot be read.
    Unreadable(String),
    /// Why it cannot be opened now.
    Unopened(String),
}

impl Note {
    fn text(&self) -> String {
        let value = json!({
            "seq": self.seq, "entry_hash": self.entry_hash, "at": self.at, "host": self.host,
        });
        canonical(&value)
    }

    /// The key that signed it, or why the signature is refused; none without a signature.
    pub(super) fn signer(
        &self,
        signers: &[PublicKey],
    ) -> Option<Result<PublicKey, SignatureError>> {
        let signature = self.signature.as_ref()?;
        Some(check(signature, &self.text(), signers, Purpose::Ledger))
    }

    fn of(value: Value) -> Option<Self> {
        let mut note: Self = serde_json::from_value(value).ok()?;
        note.entry_hash.make_ascii_lowercase();
        let hash = note.entry_hash.bytes();
        (hash.len() == 64 && hash.clone().all(|byte| byte.is_ascii_hexdigit())).then_some(note)
    }
}

/// The anchors of a file: lines of `--anchor-out`, envelopes, or both. Other JSON is skipped.
pub(crate) fn read_anchors(path: &Utf8Path) -> Result<Vec<Note>, AnchorError> {
    let unreadable = |why: String| AnchorError::Unreadable {
        path: path.to_owned(),
        why,
    };
    let file = host::open_named(path).map_err(|error| unreadable(error.to_string()))?;
    let values = serde_json::Deserializer::from_reader(BufReader::new(file)).into_iter::<Value>();
    let mut notes = Vec::new();
    for value in values {
        let mut value = value.map_err(|error| unreadable(error.to_string()))?;
        let told = value.pointer_mut("/output/content/oneact/ledger");
        let told = told.map(Value::take);
        notes.extend(Note::of(told.unwrap_or(value)));
    }
    if notes.is_empty() {
        let path = path.to_owned();
        return Err(AnchorError::None { path });
    }
    Ok(notes)
}

impl HeadFile {
    pub(super) fn new(path: Utf8PathBuf) -> Self {
        let sign_key = None;
        Self { path, sign_key }
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub(super) fn read(&self) -> Written {
        let bytes = match host::read_plain(&self.path, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Written::Nothing,
            Err(error) if host::is_out_of_files(&error) => {
                return Written::Unopened(error.to_string());
            }
            Err(error) => return Written::Unreadable(error.to_string()),
        };
        if bytes.iter().all(|byte| *byte == 0) {
            return Written::Blank;
        }
        let note = serde_json::from_slice(&bytes).ok().and_then(Note::of);
        note.map_or_else(
            || Written::Unreadable("it does not contain what oneact writes there".to_owned()),
            Written::Note,
        )
    }

    /// Refuses a ledger that does not contain the link in the file.
    pub(super) fn agrees_with(&self, tx: &mut Tx<'_>) -> Result<(), LedgerError> {
        let place = tx.place().to_owned();
        self.agrees(place, &mut |seq| tx.entry_hash(seq))
    }

    /// Refuses a ledger that does not exist, although the file names one of its links.
    pub(super) fn agrees_with_none(&self, place: &str) -> Result<(), LedgerError> {
        self.agrees(place.to_owned(), &mut |_| Ok(None))
    }

    fn agrees(
        &self,
        place: String,
        held: &mut dyn FnMut(Seq) -> Result<Option<String>, StoreError>,
    ) -> Result<(), LedgerError> {
        let head = self.path.to_string();
        let mut written = self.read();
        // Another run may be writing the file, so a mismatch counts only if two reads return the same.
        loop {
            match &written {
                Written::Nothing => return Ok(()),
                Written::Note(note) => {
                    if held(note.seq)?.as_ref() == Some(&note.entry_hash) {
                        return Ok(());
                    }
                }
                Written::Blank | Written::Unreadable(_) | Written::Unopened(_) => {}
            }
            let before = mem::replace(&mut written, self.read());
            if before == written {
                break;
            }
        }
        match written {
            Written::Note(Note { seq: link, .. }) => Err(LedgerError::Older { place, link, head }),
            Written::Unreadable(why) => Err(LedgerError::HeadUnreadable { place, head, why }),
            Written::Unopened(why) => Err(Trouble::Unreachable.with(&head, why).into()),
            Written::Nothing | Written::Blank => {
                tracing::warn!(
                    "{head} is blank, as after a power failure: it is not known whether the ledger lost its newest links"
                );
                Ok(())
            }
        }
    }

    /// Writes the file atomically, without a sync: an older head file names an older link, which the ledger
    /// contains too.
    fn write(&self, note: &Note) -> io::Result<()> {
        let mut line = serde_json::to_vec(note)?;
        line.push(b'\n');
        // One write replaces a line of the same length within a sector.
        if let Ok(file) = host::open_plain(&self.path, File::options().write(true))
            && line.len() <= SECTOR
            && file.metadata()?.len() == line.len() as u64
        {
            return file.write_all_at(&line, 0);
        }
        let dir = self.path.parent().unwrap_or(Utf8Path::new("."));
        let mut file = Builder::new().prefix(".ledger.head.").tempfile_in(dir)?;
        file.write_all(&line)?;
        file.persist(&self.path)?;
        Ok(())
    }
}

impl Ledger<'_> {
    /// Sets the key that signs the head.
    pub(crate) fn signed_by(mut self, sign_key: Option<Utf8PathBuf>) -> Self {
        self.head.sign_key = sign_key;
        self
    }

    /// Writes the head file, for a link that is on the disk. The ledger works without it, so a failure is only
    /// logged.
    pub(super) fn publish(&mut self, head: &Head) {
        if let Err(why) = self.try_publish(head) {
            tracing::warn!("{} was not updated: {why}", self.head.path());
        }
    }

    fn try_publish(&mut self, head: &Head) -> Result<(), Box<dyn Error>> {
        match self.head.read() {
            Written::Nothing | Written::Blank => {}
            Written::Unreadable(why) => {
                let why = format!(
                    "it cannot be read ({why}). It is kept as evidence; see `oneact verify`"
                );
                return Err(why.into());
            }
            Written::Unopened(why) => return Err(why.into()),
            // Another run was faster; or the ledger is shorter than it was, and the file is the evidence.
            Written::Note(before) if before.seq >= head.seq => return Ok(()),
            Written::Note(before) => {
                let held = read(&mut *self.store, |tx| tx.entry_hash(before.seq))?;
                if held.as_ref() != Some(&before.entry_hash) {
                    let why = format!(
                        "it names link {}, which the ledger does not contain. It is kept as evidence; see `oneact verify`",
                        before.seq
                    );
                    return Err(why.into());
                }
            }
        }
        let note = self.note(head)?;
        Ok(self.head.write(&note)?)
    }

    fn unsigned(&self, head: &Head) -> Note {
        Note {
            seq: head.seq,
            entry_hash: head.entry_hash.clone(),
            at: Some(instant(self.host.timestamp())),
            host: Some(host::name()),
            signature: None,
        }
    }

    fn note(&self, head: &Head) -> Result<Note, KeyError> {
        let mut note = self.unsigned(head);
        if let Some(key) = &self.head.sign_key {
            note.signature = Some(SigningKey::read(key)?.sign(&note.text()));
        }
        Ok(note)
    }

    /// A copy of the last link, to be kept elsewhere; none if the ledger is empty. Somebody who cannot read the
    /// private key gets it without a signature, and the reason.
    pub(crate) fn anchor(&mut self) -> Result<Option<(Note, Option<KeyError>)>, LedgerError> {
        let Some(head) = read(&mut *self.store, Tx::head)? else {
            return Ok(None);
        };
        Ok(Some(match self.note(&head) {
            Ok(note) => (note, None),
            Err(why) => (self.unsigned(&head), Some(why)),
        }))
    }
}
