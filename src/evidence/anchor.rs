//! Copies of links outside the ledger: the head file, and anchors. A chain that was cut short or computed anew is
//! consistent in itself. Only a copy of a link that the chain does not contain shows the change.

use std::{
    fs::File,
    io::{self, BufReader, Write as _},
    mem,
    os::unix::fs::FileExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::Builder;

use super::{
    Purpose,
    canonical::canonical,
    signature::{PublicKey, SignatureError, check},
};
use crate::{
    host,
    ledger::{Head, LedgerError, Seq, StoreError, Trouble, Tx},
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

/// The file beside the ledger that names a link of it.
#[derive(Debug, Clone)]
pub(crate) struct HeadFile {
    path: Utf8PathBuf,
    pub(super) sign_key: Option<Utf8PathBuf>,
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
    pub(super) fn text(&self) -> String {
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
    pub(crate) fn new(path: Utf8PathBuf) -> Self {
        let sign_key = None;
        Self { path, sign_key }
    }

    pub(crate) fn path(&self) -> &Utf8Path {
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
    pub(crate) fn agrees_with(&self, tx: &mut Tx<'_>) -> Result<(), LedgerError> {
        let place = tx.place().to_owned();
        self.agrees(place, &mut |seq| tx.of(seq))
    }

    /// Asks the question of [`agrees_with`](Self::agrees_with).
    pub(crate) fn expect(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        match self.read() {
            Written::Note(note) => tx.of::<Head>(note.seq).map(drop),
            _ => Ok(()),
        }
    }

    /// Refuses a ledger that does not exist, although the file names one of its links.
    pub(crate) fn agrees_with_none(&self, place: &str) -> Result<(), LedgerError> {
        self.agrees(place.to_owned(), &mut |_| Ok(None))
    }

    fn agrees(
        &self,
        place: String,
        held: &mut dyn FnMut(Seq) -> Result<Option<Head>, StoreError>,
    ) -> Result<(), LedgerError> {
        let head = self.path.to_string();
        let mut written = self.read();
        // Another run may be writing the file, so a mismatch counts only if two reads return the same.
        loop {
            match &written {
                Written::Nothing => return Ok(()),
                Written::Note(note) => {
                    if held(note.seq)?.is_some_and(|held| held.entry_hash == note.entry_hash) {
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
    pub(super) fn write(&self, note: &Note) -> io::Result<()> {
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
