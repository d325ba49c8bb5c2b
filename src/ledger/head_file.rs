//! Copies of links outside the ledger: the head file, and anchors. A chain that was cut short or computed anew is
//! consistent in itself. Only a copy of a link that the chain does not contain shows the change.

use std::{
    fs::File,
    io::{self, Write as _},
    mem,
    os::unix::fs::FileExt as _,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::Builder;

use super::{
    canonical::canonical,
    record::Head,
    store::{Seq, StoreError, Trouble, Tx},
    words::LedgerError,
};
use crate::host;

/// Makes the signature of a text, or says why it cannot.
pub(crate) type Sign = Box<dyn Fn(&str) -> Result<String, String>>;

/// A copy of a link's number and hash: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
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

/// The file beside the ledger that names a link of it.
pub(crate) struct HeadFile {
    path: Utf8PathBuf,
    /// Makes the signature of a text, or says why it cannot.
    pub(super) sign: Option<Sign>,
}

/// The size of a disk's atomic write, in bytes.
const SECTOR: usize = 512;

/// The size limit of a head file, in bytes.
const LONGEST: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    Link(Anchor),
    Nothing,
    /// Empty or all zeros, as after a power failure: the file is written without a sync.
    Blank,
    /// Why it cannot be read.
    Unreadable(String),
    /// Why it cannot be opened now.
    Unopened(String),
}

impl Anchor {
    pub(crate) fn text(&self) -> String {
        let value = json!({
            "seq": self.seq, "entry_hash": self.entry_hash, "at": self.at, "host": self.host,
        });
        canonical(&value)
    }

    pub(crate) fn of(value: Value) -> Option<Self> {
        let mut anchor: Self = serde_json::from_value(value).ok()?;
        anchor.entry_hash.make_ascii_lowercase();
        let hash = anchor.entry_hash.bytes();
        (hash.len() == 64 && hash.clone().all(|byte| byte.is_ascii_hexdigit())).then_some(anchor)
    }
}

impl HeadFile {
    pub(crate) fn new(path: Utf8PathBuf) -> Self {
        Self { path, sign: None }
    }

    pub(crate) fn path(&self) -> &Utf8Path {
        &self.path
    }

    pub(crate) fn read(&self) -> Written {
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
        let note = serde_json::from_slice(&bytes).ok().and_then(Anchor::of);
        note.map_or_else(
            || Written::Unreadable("it does not contain what oneact writes there".to_owned()),
            Written::Link,
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
            Written::Link(note) => tx.of::<Head>(note.seq).map(drop),
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
                Written::Link(note) => {
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
            Written::Link(Anchor { seq: link, .. }) => {
                Err(LedgerError::Older { place, link, head })
            }
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
    pub(super) fn write(&self, note: &Anchor) -> io::Result<()> {
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
