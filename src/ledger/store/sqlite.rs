//! The ledger in one SQLite file, for one machine.
//!
//! It is opened by every run, so opening asks for little: whose file it is and of which version. Beside the
//! file stand SQLite's own `-wal` and `-shm`, and `.lock`, whose locked bytes say which owners of claims live.

mod files;
mod holds;
mod migrate;
mod open;
mod seed;
#[cfg(test)]
mod tests;

use std::{any::Any, mem, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::{
    Connection, ToSql, Transaction, TransactionBehavior, params_from_iter,
    types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef},
};

use super::{
    Access, Durability, Seq, Store, StoreError, Tx,
    sql::{Engine, Sql, Value},
};
use files::{Files, told};
use holds::Holds;

pub(in crate::ledger) use files::real;
pub(crate) use open::Wish;

/// A ledger in a file.
#[derive(Debug)]
pub(crate) struct SqliteStore {
    conn: Connection,
    files: Files,
    journal: Journal,
    /// What `synchronous` is set for.
    set_for: Durability,
    holds: Holds,
}

/// Where SQLite writes first what it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    /// In a file of its own, which every opening reads anew.
    WriteAhead,
    /// Into the database, where the file system does not serve the other, or nothing is to be written.
    Other,
}

/// From this length on, in pages, the write-ahead file is moved into the database before something is written,
/// and written from its beginning again: whoever comes next reads all of it. What is written over is on the disk
/// sooner than what is added.
const LONG: u64 = 128;

/// From this length on, in bytes, it is moved before the next transaction that writes, and made empty.
const TOO_LONG: u64 = 8 << 20;

/// How long others are waited for.
const PATIENCE: Duration = Duration::from_secs(5);

impl SqliteStore {
    /// Opens the ledger at `path`. To write, it is made where it is not, and brought up to date where it is
    /// of an earlier version or of specification 004's own schema.
    pub(crate) fn open(path: &Utf8Path, wish: Wish) -> Result<Self, StoreError> {
        let files = Files::of(path);
        files.are_plain(path)?;
        let (conn, journal) = open::open(&files, wish)?;
        let mut store = Self {
            conn,
            journal,
            set_for: Durability::Disk,
            holds: Holds::of(&files),
            files,
        };
        if wish != Wish::Read && store.written_ahead() > LONG {
            store.move_ahead("RESTART");
        }
        Ok(store)
    }

    /// Every file that may belong to the ledger at `path`.
    pub(crate) fn files(path: &Utf8Path) -> Vec<Utf8PathBuf> {
        Files::of(path).all(migrate::VERSION)
    }

    /// How many pages are written ahead.
    fn written_ahead(&self) -> u64 {
        let pages = |row: &rusqlite::Row<'_>| row.get::<_, i64>(1);
        match self.journal {
            Journal::WriteAhead => self
                .conn
                .query_row("PRAGMA wal_checkpoint(NOOP)", [], pages)
                .map_or(0, |pages| u64::try_from(pages).unwrap_or_default()),
            Journal::Other => 0,
        }
    }

    /// Sets how safe the next transaction must be.
    fn set_for(&mut self, durability: Durability) -> Result<(), StoreError> {
        // Only a write-ahead file stays whole when its end is lost.
        let durability = match self.journal {
            Journal::WriteAhead => durability,
            Journal::Other => Durability::Disk,
        };
        if durability != self.set_for {
            let text = match durability {
                Durability::Disk => "PRAGMA synchronous = FULL",
                Durability::Process => "PRAGMA synchronous = OFF",
            };
            let done = self.conn.execute_batch(text);
            done.map_err(|error| told(self.files.place(), &error))?;
            self.set_for = durability;
        }
        Ok(())
    }

    /// Moves what was written ahead into the database, in that way of SQLite's; unless somebody is in the
    /// way: then it is the next one's.
    fn move_ahead(&mut self, way: &str) {
        if self.journal == Journal::Other || self.set_for(Durability::Disk).is_err() {
            return;
        }
        let text = format!("PRAGMA wal_checkpoint({way})");
        let moved = self
            .conn
            .busy_timeout(Duration::ZERO)
            .and_then(|()| self.conn.query_row(&text, [], |_| Ok(())));
        // Whatever came of it: others are waited for again.
        let patient = self.conn.busy_timeout(PATIENCE);
        if let Err(error) = moved.and(patient) {
            tracing::debug!(ledger = self.files.place(), %error, "the write-ahead file stays");
        }
    }
}

impl Store for SqliteStore {
    fn place(&self) -> &str {
        self.files.place()
    }

    fn begin(&mut self, access: Access) -> Result<Tx<'_>, StoreError> {
        let behavior = match access {
            Access::Read => TransactionBehavior::Deferred,
            Access::Write(durability) => {
                if self.files.write_ahead_length() > TOO_LONG {
                    self.move_ahead("TRUNCATE");
                }
                self.set_for(durability)?;
                TransactionBehavior::Immediate
            }
        };
        let begun = self.conn.transaction_with_behavior(behavior);
        Ok(Tx::new(Inside {
            transaction: begun.map_err(|error| self.files.told(&error))?,
            place: self.files.place(),
        }))
    }

    fn hold(&mut self, claim: Seq) -> Result<(), StoreError> {
        self.holds.hold(claim)
    }

    fn release(&mut self, claim: Seq) {
        self.holds.release(claim);
    }

    fn held(&mut self, claim: Seq) -> Result<bool, StoreError> {
        self.holds.held(claim)
    }

    /// Nothing waits to be written: SQLite would only give back its memory, piece by piece.
    fn closing(self: Box<Self>) -> Box<dyn Any> {
        mem::forget(self);
        Box::new(())
    }
}

/// An open transaction.
struct Inside<'a> {
    transaction: Transaction<'a>,
    place: &'a str,
}

impl Sql for Inside<'_> {
    fn engine(&self) -> Engine {
        Engine::Sqlite
    }

    fn place(&self) -> &str {
        self.place
    }

    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError> {
        let found = || {
            let mut statement = self.transaction.prepare_cached(statement)?;
            let columns = 0..statement.column_count();
            let rows = statement.query_map(params_from_iter(values), |row| {
                columns
                    .clone()
                    .map(|at| row.get(at))
                    .collect::<rusqlite::Result<_>>()
            })?;
            rows.collect::<rusqlite::Result<_>>()
        };
        found().map_err(|error| told(self.place, &error))
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let place = self.place;
        let done = self.transaction.commit();
        done.map_err(|error| told(place, &error))
    }

    fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        migrate::flaw(&self.transaction).map_err(|error| told(self.place, &error))
    }
}

impl FromSql for Value {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Int(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(_) => Self::Text(value.as_str()?.to_owned()),
            ValueRef::Blob(bytes) => Self::Bytes(bytes.to_owned()),
        })
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
