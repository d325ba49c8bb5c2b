//! Where the record is kept: a database of SQLite or of PostgreSQL.
//!
//! What both do alike is written once: the columns of the tables ([`columns`]), the questions ([`which`]) and the
//! steps of a transaction ([`tx`]). A database opens itself, runs statements, and holds the locks of claims.

mod columns;
mod field;
mod postgres;
mod rows;
mod sql;
mod sqlite;
#[cfg(test)]
pub(super) mod tests;
mod tx;

use std::any::Any;

use super::record::Seq;

pub(super) use columns::{Record, Sealed};
pub(crate) use postgres::PostgresStore;
pub(crate) use rows::Which;
pub(super) use sqlite::real;
pub(crate) use sqlite::{SqliteStore, Wish};
pub(crate) use tx::Tx;

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub(crate) struct StoreError {
    pub(crate) trouble: Trouble,
    /// The ledger, for people.
    pub(crate) place: String,
    pub(crate) why: String,
}

/// What is wrong with a ledger that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Somebody else has held it for too long.
    Busy,
    /// It cannot be reached or opened.
    Unreachable,
    /// There is none that could be used as it is, until a run makes it or brings it up to date.
    NotYet,
    /// It may be read and not written.
    ReadOnly,
    /// A database of another program.
    Foreign,
    /// Written by a later program.
    Newer,
    /// A migration that was changed after it was applied, or is not complete.
    HalfMigrated,
    /// The file is damaged.
    Corrupt,
    Full,
    /// The connection ended before the transaction was asked to be kept: none of it was.
    Lost,
    /// The connection ended after that and before the answer: it may have been kept.
    Unconfirmed,
    /// The chain or a row would break a rule of the database.
    Refused,
}

impl Trouble {
    /// That trouble with that ledger.
    pub(crate) fn with(self, place: &str, why: impl Into<String>) -> StoreError {
        StoreError {
            trouble: self,
            place: place.to_owned(),
            why: why.into(),
        }
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
            Trouble::Busy => format!("the ledger {place} is locked: {why}. Try again"),
            Trouble::Unreachable | Trouble::NotYet => {
                format!("the ledger {place} cannot be opened: {why}")
            }
            Trouble::ReadOnly => format!("the ledger {place} cannot be written: {why}"),
            Trouble::Foreign => {
                format!("{place} is no ledger: {why}. Name another file, or move it away")
            }
            Trouble::Newer => {
                format!("the ledger {place} has {why}: a newer oneact wrote it. Use that one")
            }
            Trouble::HalfMigrated => format!(
                "the ledger {place} cannot be used by this program: {why}. Use the oneact that wrote it, or restore it from its backup"
            ),
            Trouble::Corrupt => format!(
                "the ledger {place} is damaged: {why}. `oneact verify` says where; restore it from a backup"
            ),
            Trouble::Full => format!("no space is left for the ledger {place}"),
            Trouble::Lost => format!(
                "the connection to the ledger {place} was lost: {why}. Nothing was recorded; try again"
            ),
            Trouble::Unconfirmed => format!(
                "the connection to the ledger {place} was lost while a record was being kept: {why}. Whether it was kept is not known: read it again"
            ),
            Trouble::Refused => format!("the ledger {place} refused a record: {why}"),
        }
    }

    /// Whether it is the same until a person has done something about it.
    pub(crate) fn lasts(&self) -> bool {
        match self.trouble {
            Trouble::ReadOnly
            | Trouble::Foreign
            | Trouble::Newer
            | Trouble::HalfMigrated
            | Trouble::Corrupt
            | Trouble::Refused => true,
            Trouble::Busy
            | Trouble::Unreachable
            | Trouble::NotYet
            | Trouble::Full
            | Trouble::Lost
            | Trouble::Unconfirmed => false,
        }
    }
}

/// How safe a transaction must be when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Also after a power failure.
    Disk,
    /// After a crash of this program, but not of the machine: what it says is only ever needed while the
    /// machine runs.
    Process,
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It sees one unchanging view.
    Read,
    /// No other writer comes between.
    Write(Durability),
}

/// A ledger's database. One transaction after the other; writers of other processes wait.
pub(crate) trait Store {
    /// For people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Begins a transaction. What it did is kept when it is committed; dropped before that, it leaves nothing.
    fn begin(&mut self, access: Access) -> Result<Tx<'_>, StoreError>;

    /// Takes the lock of a claim, for as long as this process (or its connection) lives.
    fn hold(&mut self, claim: Seq) -> Result<(), StoreError>;

    /// Gives the lock of a claim back.
    fn release(&mut self, claim: Seq);

    /// Whether the owner of that claim is alive.
    fn held(&mut self, claim: Seq) -> Result<bool, StoreError>;

    /// For the end of the process: what closes it when dropped, unless the system does that by itself.
    fn closing(self: Box<Self>) -> Box<dyn Any>;
}

/// Runs `work` in a writing transaction and gives what it gave: all of it is kept or, where it fails, nothing.
pub(crate) fn write<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    durability: Durability,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    let mut tx = store.begin(Access::Write(durability))?;
    let value = work(&mut tx)?;
    tx.commit()?;
    Ok(value)
}

/// Runs `work` on one unchanging view and gives what it gave.
pub(crate) fn read<'s, T, E: From<StoreError>>(
    store: &'s mut dyn Store,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, E>,
) -> Result<T, E> {
    work(&mut store.begin(Access::Read)?)
}

/// The ledger is of a later version than this program knows.
fn newer(place: &str, found: i64, known: i64) -> StoreError {
    let why = format!("schema version {found}, and this program knows {known}");
    Trouble::Newer.with(place, why)
}
