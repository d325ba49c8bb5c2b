//! Why a ledger cannot be used.

use std::fs::File;

use camino::Utf8Path;

use crate::host;

/// The result of a step of a transaction.
pub(crate) type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub(crate) struct StoreError {
    pub(crate) trouble: Trouble,
    /// The name of the ledger, for people.
    pub(crate) place: String,
    pub(crate) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Busy,
    Unreachable,
    /// There is no ledger yet. The next run creates it, or takes the table of specification 004 over.
    NotYet,
    /// This user may not read it.
    Unreadable,
    ReadOnly,
    Foreign,
    Newer,
    /// Its schema is neither that of this program nor a later one.
    HalfMigrated,
    Corrupt,
    Full,
    /// The connection ended before the commit was sent: nothing was kept.
    Lost,
    /// The connection ended after the commit was sent and before the answer, or a commit failed with an error of the disk:
    /// the transaction may have been kept.
    Unconfirmed,
    Refused,
}

impl Trouble {
    /// The error for the ledger at `place`.
    pub(crate) fn with(self, place: &str, why: impl Into<String>) -> StoreError {
        StoreError {
            trouble: self,
            place: place.to_owned(),
            why: shortened(why.into()),
        }
    }
}

/// The beginning of a message. A database can send one of any length.
fn shortened(why: String) -> String {
    /// The characters that are shown.
    const MOST: usize = 2000;
    match why.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", why.get(..end).unwrap_or_default()),
        None => why,
    }
}

impl StoreError {
    fn sentence(&self) -> String {
        let Self {
            trouble,
            place,
            why,
        } = self;
        match trouble {
            Trouble::Unreachable | Trouble::Unconfirmed if self.is_full() => {
                format!("no space is left for the ledger {place}: {why}")
            }
            Trouble::Busy => format!("the ledger {place} is locked: {why}. Try again"),
            Trouble::Unreachable | Trouble::NotYet => {
                format!("the ledger {place} cannot be opened: {why}")
            }
            Trouble::Unreadable => format!("the ledger {place} cannot be read: {why}"),
            Trouble::ReadOnly => format!("the ledger {place} cannot be written: {why}"),
            Trouble::Foreign => {
                format!("{place} is not a ledger: {why}. Name another file, or move this one away")
            }
            Trouble::Newer => {
                format!(
                    "the ledger {place} has {why}: a newer version of oneact wrote it. Use that version"
                )
            }
            Trouble::HalfMigrated => format!(
                "the ledger {place} cannot be used by this program: {why}. Use the version of oneact that wrote it, or restore the ledger from its backup"
            ),
            Trouble::Corrupt => format!(
                "the ledger {place} is damaged: {why}. `oneact verify` shows where. Restore the ledger from a backup"
            ),
            Trouble::Full => format!("no space is left for the ledger {place}"),
            Trouble::Lost => format!(
                "the connection to the ledger {place} was lost: {why}. Nothing was recorded; try again"
            ),
            Trouble::Unconfirmed => format!(
                "the ledger {place} did not confirm a record: {why}. The record may have been stored; read the ledger again"
            ),
            Trouble::Refused => format!("the ledger {place} refused a record: {why}"),
        }
    }

    /// Whether the disk of the ledger is full. A file system in user space may answer some other error then.
    pub(crate) fn is_full(&self) -> bool {
        let is_vague = matches!(self.trouble, Trouble::Unreachable | Trouble::Unconfirmed);
        let dir = Utf8Path::new(&self.place).parent();
        let is_full = |dir: &Utf8Path| File::open(dir).is_ok_and(host::is_full);
        self.trouble == Trouble::Full || is_vague && dir.is_some_and(is_full)
    }

    /// Whether the error lasts until a person acts.
    pub(crate) fn lasts(&self) -> bool {
        matches!(
            self.trouble,
            Trouble::Unreadable
                | Trouble::ReadOnly
                | Trouble::Foreign
                | Trouble::Newer
                | Trouble::HalfMigrated
                | Trouble::Corrupt
                | Trouble::Refused
        )
    }
}
