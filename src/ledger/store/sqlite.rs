//! The ledger in one SQLite file, for one machine.
//!
//! Every run opens the file, so opening reads little: which program's file it is, and its version. Beside it are
//! SQLite's `-wal` and `-shm`, and `.lock`. In `.lock`, one byte is locked for each claim whose owner is alive.

mod files;
mod migrate;
mod seed;
#[cfg(test)]
mod tests;

use std::{any::Any, collections::BTreeSet, fs::File, io, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, ToSql, Transaction, TransactionBehavior,
    config::DbConfig,
    params_from_iter,
    types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef},
};

use super::{
    Access, Durability, Store, StoreError, Trouble, Tx, Wish,
    migrations::SQLITE_VERSION,
    sql::{Engine, Sql, Value},
};
use crate::host::{Locked, RangeLock, open_plain};
use files::{Files, is, told, unconfirmed};

pub(in crate::ledger) use files::real;

#[derive(Debug)]
pub(crate) struct SqliteStore {
    conn: Connection,
    files: Files,
    journal: Journal,
    /// What `synchronous` is set for.
    set_for: Durability,
    /// The lock file. The first use opens it.
    lock: Option<RangeLock>,
    /// The claims whose lock this process holds. The kernel does not report a process's own locks to it.
    held: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    /// The write-ahead file, which every opening reads.
    WriteAhead,
    /// Another one, because the file system does not support that, or nothing is written.
    Other,
}

/// The length, in pages, from which an opening checkpoints the write-ahead file. SQLite then overwrites the file,
/// which is faster than appending, and keeps it short for the openings, which read all of it.
const LONG: u64 = 128;

/// The length, in bytes, from which the next writing transaction checkpoints and truncates the write-ahead file.
const TOO_LONG: u64 = 8 << 20;

/// The longest wait for other processes.
const PATIENCE: Duration = Duration::from_secs(5);

impl SqliteStore {
    /// Opens the ledger at `path`. [`Wish::Write`] creates a missing one, and migrates an earlier version or
    /// specification 004's own table.
    pub(crate) fn open(path: &Utf8Path, wish: Wish) -> Result<Self, StoreError> {
        let files = Files::of(path);
        files.are_plain(path)?;
        let (conn, journal) = open_database(&files, wish)?;
        let mut store = Self {
            conn,
            journal,
            set_for: Durability::Disk,
            lock: None,
            held: BTreeSet::new(),
            files,
        };
        if wish != Wish::Read && store.written_ahead() > LONG {
            store.checkpoint("RESTART");
        }
        Ok(store)
    }

    /// Fails if what stands at one of the ledger's paths is no regular file. There need not be a ledger at `path`.
    pub(crate) fn check_files(path: &Utf8Path) -> Result<(), StoreError> {
        Files::of(path).are_plain(path)
    }

    /// Every file that may belong to the ledger at this path, which is without symbolic links.
    pub(crate) fn files(real: &Utf8Path) -> Vec<Utf8PathBuf> {
        Files::at(real.to_owned()).all(SQLITE_VERSION)
    }

    /// The length of the write-ahead file in pages.
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

    /// Sets what the next transaction must survive.
    fn set_for(&mut self, durability: Durability) -> Result<(), StoreError> {
        // Only with the write-ahead file does the database stay consistent when the last writes are lost.
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

    /// Checkpoints the write-ahead file in the mode `way` of SQLite. If another process prevents this, the next
    /// run does it.
    fn checkpoint(&mut self, way: &str) {
        if self.journal == Journal::Other || self.set_for(Durability::Disk).is_err() {
            return;
        }
        let text = format!("PRAGMA wal_checkpoint({way})");
        let moved = self
            .conn
            .busy_timeout(Duration::ZERO)
            .and_then(|()| self.conn.query_row(&text, [], |_| Ok(())));
        // The time-out is restored in any case.
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

    fn is_remote(&self) -> bool {
        false
    }

    fn begin(&mut self, access: Access) -> Result<Tx<'_>, StoreError> {
        let behavior = match access {
            Access::Read => TransactionBehavior::Deferred,
            Access::Write(durability) => {
                if self.files.write_ahead_length() > TOO_LONG {
                    self.checkpoint("TRUNCATE");
                }
                self.set_for(durability)?;
                TransactionBehavior::Immediate
            }
        };
        let place = self.files.place();
        let begun = self.conn.transaction_with_behavior(behavior);
        let transaction = begun.map_err(|error| self.files.told(&error))?;
        Ok(Tx::new(
            Engine::Sqlite,
            place,
            Inside { transaction, place },
        ))
    }

    fn hold(&mut self, claim: u64) -> Result<(), StoreError> {
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => self.files.open_lock()?,
        };
        let taken = self.lock.insert(lock).take(claim);
        match taken.map_err(|error| self.files.refused(&error))? {
            Locked::Ours => {
                self.held.insert(claim);
                Ok(())
            }
            Locked::Theirs => {
                let why = format!("another process holds the claim {claim}");
                Err(Trouble::Busy.with(self.files.place(), why))
            }
        }
    }

    fn release(&mut self, claim: u64) {
        if self.held.remove(&claim)
            && let Some(lock) = &self.lock
            && let Err(error) = lock.give_back(claim)
        {
            // The lock ends with the process.
            tracing::debug!(claim, %error, "a lock was not released");
        }
    }

    fn held(&mut self, claim: u64) -> Result<bool, StoreError> {
        if self.held.contains(&claim) {
            return Ok(true);
        }
        let theirs = match &self.lock {
            Some(lock) => lock.is_theirs(claim),
            // This check does not create the file.
            None => match open_plain(self.files.lock(), File::options().read(true)) {
                Ok(file) => RangeLock::new(file).is_theirs(claim),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
        };
        theirs.map_err(|error| self.files.refused(&error))
    }

    fn closing(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

struct Inside<'a> {
    transaction: Transaction<'a>,
    place: &'a str,
}

impl Sql for Inside<'_> {
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
        done.map_err(|error| unconfirmed(place, &error))
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

type Result<T, E = rusqlite::Error> = std::result::Result<T, E>;

/// The characters that a path in a URI must escape.
const NOT_IN_URI: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#').add(b' ');

/// Opens a database to read or to write it.
fn open_database(files: &Files, wish: Wish) -> Result<(Connection, Journal), StoreError> {
    let told = |error: rusqlite::Error| files.told(&error);
    if wish == Wish::Read {
        let mut conn = to_read(files).map_err(told)?;
        migrate::ensure(&mut conn, files, wish)?;
        return Ok((conn, Journal::Other));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = match connect(files.place(), flags) {
        // The file may exist by now: another process may just have made it.
        Err(error) if wish == Wish::Write && is(&error, ErrorCode::CannotOpen) => {
            files.make()?;
            connect(files.place(), flags)
        }
        conn => conn,
    };
    let mut conn = conn.map_err(told)?;
    // If SQLite cannot open a file for writing, it opens the file for reading. A file that another process made
    // between these two attempts can be written.
    if conn.is_readonly(rusqlite::MAIN_DB).map_err(told)? {
        conn = connect(files.place(), flags).map_err(told)?;
    }
    if conn.is_readonly(rusqlite::MAIN_DB).map_err(told)? {
        return Err(Trouble::ReadOnly.with(files.place(), "the file is read-only"));
    }
    migrate::ensure(&mut conn, files, wish)?;
    let journal = write_ahead(&conn, files).map_err(told)?;
    Ok((conn, journal))
}

/// Sets the write-ahead journal if the file system supports it: a transaction needs one sync, and readers do not
/// wait. A ledger that was copied from another file system, or that an earlier version made, loses it.
fn write_ahead(conn: &Connection, files: &Files) -> Result<Journal> {
    let mode = |text: &str| {
        let mode: String = conn.query_row(text, [], |row| row.get(0))?;
        Ok(match mode.as_str() {
            "wal" => Journal::WriteAhead,
            _ => Journal::Other,
        })
    };
    let found = mode("PRAGMA journal_mode")?;
    let wanted = match (found, files.supports_write_ahead()) {
        (Journal::Other, true) => Some("PRAGMA journal_mode = WAL"),
        (Journal::WriteAhead, false) => Some("PRAGMA journal_mode = DELETE"),
        (Journal::WriteAhead, true) | (Journal::Other, false) => None,
    };
    let journal = match wanted.map_or(Ok(found), mode) {
        // The mode stays as it is while another process uses the file, and where the disk is full.
        Err(error) if is(&error, ErrorCode::DatabaseBusy) || is(&error, ErrorCode::DiskFull) => {
            found
        }
        journal => journal?,
    };
    // `SqliteStore::open` decides when the journal is checkpointed.
    conn.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
    Ok(journal)
}

/// Opens the database for reading. Without a write-ahead file, a run that is killed leaves a journal at any time, and only a
/// connection that may write applies it. If the files beside the database cannot be created, no process can write, and
/// everything is in the database. It is then opened as immutable.
fn to_read(files: &Files) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = |place: &str, flags| {
        let conn = connect(place, flags)?;
        // The first statement opens the files beside the database.
        let mode: String = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        conn.query_row("PRAGMA user_version", [], |_| Ok(()))?;
        conn.execute_batch("PRAGMA query_only = ON")?;
        Ok((conn, mode == "wal"))
    };
    let had_journal = files.has_rollback_journal();
    let found = match read(files.place(), flags) {
        Ok((conn, true)) => return Ok(conn),
        found => found.map(|(conn, _)| conn),
    };
    let writing = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let may_write = match &found {
        Ok(_) => true,
        Err(error) => is(error, ErrorCode::ReadOnly),
    };
    if may_write && let Ok((conn, _)) = read(files.place(), writing) {
        return Ok(conn);
    }
    let apart = |error: &_| is(error, ErrorCode::CannotOpen) || is(error, ErrorCode::ReadOnly);
    match found {
        Err(error)
            if apart(&error)
                && files.exists()
                && !had_journal
                && files.write_ahead_length() == 0 =>
        {
            let path = utf8_percent_encode(files.place(), NOT_IN_URI);
            let uri = format!("file:{path}?immutable=1");
            read(&uri, flags | OpenFlags::SQLITE_OPEN_URI).map(|(conn, _)| conn)
        }
        found => found,
    }
}

fn connect(place: &str, flags: OpenFlags) -> Result<Connection> {
    let conn = Connection::open_with_flags(place, flags)?;
    conn.busy_timeout(PATIENCE)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A ledger has neither triggers nor views, so those of another program are not run.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Without this, a statement with a limit is compiled again when its values are known.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
}
