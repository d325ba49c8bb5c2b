//! Where the record is kept: a database of SQLite or of PostgreSQL.
//!
//! What both do alike is written once: the columns of the tables ([`columns`]), the questions ([`which`]) and the
//! steps of a transaction ([`tx`]). A database opens itself, runs statements, and holds the locks of claims.

mod columns;
mod postgres;
mod rules;
mod sql;
mod sqlite;
#[cfg(test)]
pub(super) mod tests;
mod tx;
mod which;

use std::any::Any;

use super::record::Seq;

pub(super) use columns::{Record, Sealed};
pub(crate) use postgres::PostgresStore;
pub(super) use sqlite::real;
pub(crate) use sqlite::{SqliteStore, Wish};
pub(crate) use tx::Tx;
pub(crate) use which::{Begin, Delivery, Earlier, Which};

/// Why the ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Somebody else has held it for too long.
    #[error("the ledger {place} is locked: {why}. Try again")]
    Busy { place: String, why: String },
    /// It cannot be reached or opened.
    #[error("the ledger {place} cannot be opened: {why}")]
    Unreachable { place: String, why: String },
    /// There is none that could be used as it is, until a run makes it or brings it up to date.
    #[error("the ledger {place} cannot be opened: {why}")]
    NotYet { place: String, why: String },
    /// It may be read and not written.
    #[error("the ledger {place} cannot be written: {why}")]
    ReadOnly { place: String, why: String },
    /// A database of another program.
    #[error("{place} is no ledger: {why}. Name another file, or move it away")]
    Foreign { place: String, why: String },
    /// Written by a later program.
    #[error(
        "the ledger {place} has schema version {found}, and this program knows {known}: a newer oneact wrote it. Use that one"
    )]
    Newer {
        place: String,
        found: i64,
        known: i64,
    },
    /// A migration that was changed after it was applied, or is not complete.
    #[error(
        "the ledger {place} cannot be used by this program: {why}. Use the oneact that wrote it, or restore it from its backup"
    )]
    HalfMigrated { place: String, why: String },
    /// The file is damaged.
    #[error(
        "the ledger {place} is damaged: {why}. `oneact verify` says where; restore it from a backup"
    )]
    Corrupt { place: String, why: String },
    #[error("no space is left for the ledger {place}")]
    Full { place: String },
    /// The connection ended before the transaction was asked to be kept: none of it was.
    #[error(
        "the connection to the ledger {place} was lost: {why}. Nothing was recorded; try again"
    )]
    Lost { place: String, why: String },
    /// The connection ended after that and before the answer: it may have been kept.
    #[error(
        "the connection to the ledger {place} was lost while a record was being kept: {why}. Whether it was kept is not known: read it again"
    )]
    Unconfirmed { place: String, why: String },
    /// The chain or a row would break a rule of the database.
    #[error("the ledger {place} refused a record: {why}")]
    Refused { place: String, why: String },
}

impl StoreError {
    /// Whether it is the same until a person has done something about it.
    pub(crate) fn lasts(&self) -> bool {
        match self {
            Self::ReadOnly { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::HalfMigrated { .. }
            | Self::Corrupt { .. }
            | Self::Refused { .. } => true,
            Self::Busy { .. }
            | Self::Unreachable { .. }
            | Self::NotYet { .. }
            | Self::Full { .. }
            | Self::Lost { .. }
            | Self::Unconfirmed { .. } => false,
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

/// A ledger's database. One transaction after the other; writers of other processes wait.
pub(crate) trait Store {
    /// For people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Runs `work` in one transaction that no other writer comes between: all of it is kept or, where
    /// it fails, nothing.
    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut Tx<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Runs `work` on one unchanging view.
    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut Tx<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError>;

    /// Takes the lock of a claim, for as long as this process (or its connection) lives.
    fn hold(&mut self, claim: Seq) -> Result<(), StoreError>;

    /// Gives the lock of a claim back.
    fn release(&mut self, claim: Seq);

    /// Whether the owner of that claim is alive.
    fn held(&mut self, claim: Seq) -> Result<bool, StoreError>;

    /// For the end of the process: what closes it when dropped, unless the system does that by itself.
    fn closing(self: Box<Self>) -> Box<dyn Any>;
}

/// Which links about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    All,
    Newest(usize),
    From(Seq),
}

/// Runs `work` in a writing transaction and gives what it gave.
pub(crate) fn write<T, E: From<StoreError>>(
    store: &mut dyn Store,
    durability: Durability,
    mut work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut came = None;
    let done = store.write(durability, &mut |tx| match work(tx) {
        Ok(value) => {
            came = Some(Ok(value));
            Ok(())
        }
        Err(error) => {
            came = Some(Err(error));
            Err(taken_back())
        }
    });
    outcome(done, came)
}

/// Runs `work` on one unchanging view and gives what it gave.
pub(crate) fn read<T, E: From<StoreError>>(
    store: &mut dyn Store,
    mut work: impl FnMut(&mut Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let mut came = None;
    let done = store.read(&mut |tx| match work(tx) {
        Ok(value) => {
            came = Some(Ok(value));
            Ok(())
        }
        Err(error) => {
            came = Some(Err(error));
            Err(taken_back())
        }
    });
    outcome(done, came)
}

/// What ends a transaction whose own error is told elsewhere.
fn taken_back() -> StoreError {
    StoreError::Refused {
        place: String::new(),
        why: "the work failed".to_owned(),
    }
}

fn outcome<T, E: From<StoreError>>(
    done: Result<(), StoreError>,
    came: Option<Result<T, E>>,
) -> Result<T, E> {
    match (done, came) {
        // An error of the work says more than that of the transaction it ended.
        (_, Some(Err(error))) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), Some(Ok(value))) => Ok(value),
        (Ok(()), None) => Err(taken_back().into()),
    }
}
