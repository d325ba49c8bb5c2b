//! The databases of the ledger: SQLite and PostgreSQL.
//!
//! Both share the columns of the tables ([`columns`]), the steps of a transaction ([`tx`]) and the queries for
//! rows ([`rows`]). Each has its own code to open it, to run statements, and to hold the locks of claims.

mod columns;
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
    /// There is no ledger yet, or the next run has to migrate it.
    NotYet,
    ReadOnly,
    Foreign,
    Newer,
    /// Its migrations are not complete, or not those of this program.
    HalfMigrated,
    Corrupt,
    Full,
    /// The connection ended before the commit was sent: nothing was kept.
    Lost,
    /// The connection ended after the commit was sent and before the answer: the transaction may have been kept.
    Unconfirmed,
    Refused,
}

impl Trouble {
    /// The error for the ledger at `place`.
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
                "the connection to the ledger {place} was lost while a record was being stored: {why}. It is not known whether the record was stored; read the ledger again"
            ),
            Trouble::Refused => format!("the ledger {place} refused a record: {why}"),
        }
    }

    /// Whether the error lasts until a person acts.
    pub(crate) fn lasts(&self) -> bool {
        matches!(
            self.trouble,
            Trouble::ReadOnly
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
pub(crate) enum Access {
    /// All reads see the same state.
    Read,
    /// No other transaction writes meanwhile.
    Write(Durability),
}

/// A ledger's database. It has one transaction at a time, and writers of other processes wait.
pub(crate) trait Store {
    /// The name of the ledger, for people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Begins a transaction. If it is dropped without a commit, it leaves nothing.
    fn begin(&mut self, access: Access) -> Result<Tx<'_>, StoreError>;

    /// Takes the lock of a claim, for as long as this process or its connection lives.
    fn hold(&mut self, claim: Seq) -> Result<(), StoreError>;

    fn release(&mut self, claim: Seq);

    /// Whether the owner of that claim is alive.
    fn held(&mut self, claim: Seq) -> Result<bool, StoreError>;

    /// The value that closes the database when it is dropped at the end of the process, if that is needed.
    fn closing(self: Box<Self>) -> Box<dyn Any>;
}

/// Runs `work` in a writing transaction and returns its result. If it fails, nothing of it is kept.
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
    /// To write. The ledger is created or migrated if needed.
    Write,
    /// To write into a ledger of this program's version. Nothing is created or migrated.
    Decide,
    /// To read. Nothing is created or changed. The ledger may be read-only, or of a later version.
    Read,
}

/// A version of a database's schema. Once released, it never changes.
struct Migration {
    version: i64,
    name: &'static str,
    text: &'static str,
    /// SHA-256 of the text. It is a constant, because every opening compares it.
    checksum: &'static str,
}

/// How far a database is migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Older(i64),
    /// This program's version, or a later one that is only read.
    Current,
}

/// Compares the versions and checksums that were applied to a database with the known ones.
fn standing(
    place: &str,
    applied: &[(i64, String)],
    known: &[Migration],
    wish: Wish,
) -> Result<Standing, StoreError> {
    let half = |why: String| Err(Trouble::HalfMigrated.with(place, why));
    let (Some((found, _)), Some(newest)) = (applied.last(), known.last()) else {
        return half("it does not state which migrations were applied".to_owned());
    };
    let (found, newest) = (*found, newest.version);
    for Migration {
        version, checksum, ..
    } in known
    {
        let same = |(other, sum): &(i64, String)| other == version && sum == checksum;
        if *version <= found && !applied.iter().any(same) {
            return half(format!(
                "another build of oneact made version {version} of its schema"
            ));
        }
    }
    if found > newest && wish != Wish::Read {
        let why = format!("schema version {found}, but this program knows only version {newest}");
        return Err(Trouble::Newer.with(place, why));
    }
    Ok(if found < newest {
        Standing::Older(found)
    } else {
        Standing::Current
    })
}
