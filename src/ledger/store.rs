//! The databases of the ledger: SQLite and PostgreSQL.
//!
//! Both share the columns of the tables ([`columns`]), the steps of a transaction ([`tx`]) and the queries for
//! rows ([`rows`]). Each has its own code to open it, to run statements, and to hold the locks of claims.

pub(in crate::ledger) mod columns;
mod migrations;
mod postgres;
mod rows;
mod secret_key;
mod sessions;
pub(super) mod sql;
mod sqlite;
#[cfg(test)]
pub(crate) mod tests;
mod tx;

use std::{any::Any, fs::File};

use camino::Utf8Path;

use crate::host;

pub(crate) use columns::{Record, Sealed};
pub(crate) use postgres::PostgresStore;
pub(crate) use rows::Which;
pub(crate) use sessions::Counts;
pub(crate) use sqlite::SqliteStore;
pub(super) use sqlite::real;
pub(crate) use tx::Tx;

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

/// What a committed transaction must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A power failure.
    Disk,
    /// A crash of this program, but not of the machine.
    Process,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access<'a> {
    /// All reads see the same state.
    Read,
    /// No other transaction writes about this session meanwhile.
    Session(&'a str),
    /// No other transaction writes meanwhile.
    Write,
    /// The same, if the others end within a moment.
    IfFree,
}

/// A ledger's database. It has one transaction at a time, and writers of other processes wait: in SQLite all, in PostgreSQL
/// those about the same session.
pub(crate) trait Store: Any {
    /// The name of the ledger, for people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Begins a transaction. If it is dropped without a commit, it leaves nothing.
    fn begin(&mut self, access: Access<'_>) -> Result<Tx<'_>, StoreError>;

    /// Takes the lock of an owner of claims for as long as this process or its connection lives. `owner` is the hash of the
    /// id of its operation.
    fn hold(&mut self, owner: u64) -> Result<(), StoreError>;

    fn release(&mut self, owner: u64);

    /// Releases the lock with the next commit, if that saves a round trip. If the commit fails, [`release`](Self::release)
    /// is still needed.
    fn release_with_commit(&mut self, _: u64) {}

    /// Whether that owner is alive.
    fn held(&mut self, owner: u64) -> Result<bool, StoreError>;

    /// Waits until everything that can be read is on the disk.
    fn sync(&mut self) -> Result<(), StoreError>;

    /// Whether the database is behind a network, which can be silent for longer than a run may take.
    fn is_remote(&self) -> bool {
        false
    }
}

/// Runs `work` in a transaction that writes alone, and returns its result. If it fails, nothing of it is kept.
pub(crate) fn write<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    durability: Durability,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    write_as(store, Access::Write, |tx| Ok((work(tx)?, durability)))
}

/// The same for work about one session.
pub(crate) fn write_in<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    session_id: &str,
    durability: Durability,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    write_as(store, Access::Session(session_id), |tx| {
        Ok((work(tx)?, durability))
    })
}

/// The same with this access, for work that knows only at its end what it must survive.
pub(crate) fn write_as<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    access: Access<'_>,
    work: impl FnOnce(&mut Tx<'s>) -> Result<(T, Durability), E>,
) -> Result<T, E> {
    let mut tx = store.begin(access)?;
    let (value, durability) = work(&mut tx)?;
    tx.commit(durability)?;
    Ok(value)
}

/// Runs `work` in a reading transaction and returns its result.
pub(crate) fn read<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    work(&mut store.begin(Access::Read)?)
}

/// What a ledger is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To write. A missing ledger is created, and the table of specification 004 is taken over.
    Write,
    /// To write into a ledger of this program's version. Nothing is created or taken over.
    Decide,
    /// To read. Nothing is created or changed. The ledger may be read-only, or of a later version.
    Read,
}
