//! The ledger in one SQLite file, for one machine.
//!
//! Every run opens the file, so opening reads little: which program's file it is, and its version. Beside it are
//! SQLite's `-wal` and `-shm`, and `.lock`. In `.lock`, one byte is locked for each claim whose owner is alive.

mod files;
mod flush;
mod migrate;
mod seed;
#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, fs::File, io, thread, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, ToSql, Transaction, TransactionBehavior,
    config::DbConfig,
    params_from_iter,
    types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef},
};

use super::{
    access::{Access, Store, Wish},
    error::{StoreError, Trouble},
    sql::{Durability, Engine, Sql, Value},
    tx::Tx,
};
use crate::host::{Locked, RangeLock, open_plain};
use files::{Files, is, told, unconfirmed};
use flush::Flusher;

pub(in crate::ledger) use files::real;

#[derive(Debug)]
pub(crate) struct SqliteStore {
    conn: Connection,
    files: Files,
    journal: Journal,
    flusher: Flusher,
    /// The lock file. The first use opens it.
    lock: Option<RangeLock>,
    /// The claims whose lock this process holds. The kernel does not report a process's own locks to it.
    held: BTreeSet<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    /// The write-ahead file, which every opening reads. SQLite does not sync it; [`Flusher`] does.
    WriteAhead,
    /// Another one, because the file system does not support that, or nothing is written.
    Other,
}

/// The length, in pages, from which an opening checkpoints the write-ahead file. SQLite then overwrites the file,
/// which is faster than appending, and keeps it short for the openings, which read all of it.
const LONG: u64 = 128;

/// The length, in bytes, from which the next writing transaction checkpoints and truncates the write-ahead file.
const TOO_LONG: u64 = 8 << 20;

/// SQLite syncs nothing, and what it does then is safe only with the write-ahead file.
const UNSYNCED: &str = "PRAGMA synchronous = OFF";
const SYNCED: &str = "PRAGMA synchronous = FULL";

/// The number of compiled statements that a connection keeps: all that a process of many runs needs.
const STATEMENTS: usize = 128;

/// The longest wait for other processes, and how often a run that waits tries again.
const PATIENCE: Duration = Duration::from_secs(5);
const OFTEN: Duration = Duration::from_millis(1);
/// The longest wait for what a later run can do.
const MOMENT: Duration = Duration::from_millis(100);

impl SqliteStore {
    /// Opens the ledger at `path`. [`Wish::Write`] creates a missing one, and takes specification 004's own table over.
    pub(crate) fn open(path: &Utf8Path, wish: Wish) -> Result<Self, StoreError> {
        let files = Files::of(path);
        files.are_plain(path)?;
        let (conn, journal) = open_database(&files, wish)?;
        let mut store = Self {
            conn,
            journal,
            flusher: Flusher::default(),
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

    /// Every file that may belong to the ledger at `path`.
    pub(crate) fn files(path: &Utf8Path) -> Vec<Utf8PathBuf> {
        Files::of(path).all()
    }

    /// The length of the write-ahead file in pages.
    fn written_ahead(&self) -> u64 {
        if self.journal == Journal::Other {
            return 0;
        }
        let text = "PRAGMA wal_checkpoint(NOOP)";
        let pages = self.conn.query_row(text, [], |row| row.get(1));
        pages.map_or(0, |pages: i64| u64::try_from(pages).unwrap_or_default())
    }

    /// Checkpoints the write-ahead file in the mode `way` of SQLite. If another process prevents this, the next
    /// run does it.
    fn checkpoint(&mut self, way: &str) {
        if self.journal == Journal::Other {
            return;
        }
        let text = format!("PRAGMA wal_checkpoint({way})");
        // What is moved into the database is synced before it can be overwritten in the file.
        let moved = self
            .conn
            .execute_batch(SYNCED)
            .and_then(|()| self.conn.busy_timeout(Duration::ZERO))
            .and_then(|()| self.conn.query_row(&text, [], |_| Ok(())));
        // The settings are restored in any case.
        let patient = be_patient(&mut self.conn);
        let unsynced = self.conn.execute_batch(UNSYNCED);
        if let Err(error) = moved.and(patient).and(unsynced) {
            tracing::debug!(ledger = self.files.place(), %error, "the write-ahead file stays");
        }
    }
}

impl Store for SqliteStore {
    fn place(&self) -> &str {
        self.files.place()
    }

    fn begin(&mut self, access: Access<'_>) -> Result<Tx<'_>, StoreError> {
        let patient = match access {
            Access::IfFree => self.conn.busy_timeout(MOMENT),
            Access::Read | Access::Session(_) | Access::Write => be_patient(&mut self.conn),
        };
        patient.map_err(|error| self.files.told(&error))?;
        let behavior = match access {
            Access::Read => TransactionBehavior::Deferred,
            Access::Session(_) | Access::Write | Access::IfFree => {
                if self.files.write_ahead_length() > TOO_LONG {
                    self.checkpoint("TRUNCATE");
                }
                TransactionBehavior::Immediate
            }
        };
        let files = &self.files;
        let begun = self.conn.transaction_with_behavior(behavior);
        let inside = Inside {
            transaction: begun.map_err(|error| files.told(&error))?,
            files,
            flusher: match self.journal {
                Journal::WriteAhead => Some(&mut self.flusher),
                Journal::Other => None,
            },
        };
        Ok(Tx::new(Engine::Sqlite, files.place(), inside))
    }

    fn hold(&mut self, owner: u64) -> Result<(), StoreError> {
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => self.files.open_lock()?,
        };
        let taken = self.lock.insert(lock).take(owner);
        match taken.map_err(|error| self.files.refused(&error))? {
            Locked::Ours => {
                self.held.insert(owner);
                Ok(())
            }
            Locked::Theirs => {
                let why = format!("another process holds the lock {owner}");
                Err(Trouble::Busy.with(self.files.place(), why))
            }
        }
    }

    fn release(&mut self, owner: u64) {
        if self.held.remove(&owner)
            && let Some(lock) = &self.lock
            && let Err(error) = lock.give_back(owner)
        {
            // The lock ends with the process.
            tracing::debug!(owner, %error, "a lock was not released");
        }
    }

    fn held(&mut self, owner: u64) -> Result<bool, StoreError> {
        if self.held.contains(&owner) {
            return Ok(true);
        }
        let theirs = match &self.lock {
            Some(lock) => lock.is_theirs(owner),
            // This check does not create the file.
            None => match open_plain(self.files.lock(), File::options().read(true)) {
                Ok(file) => RangeLock::new(file).is_theirs(owner),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            },
        };
        theirs.map_err(|error| self.files.refused(&error))
    }

    /// SQLite itself syncs what is not in the write-ahead file.
    fn sync(&mut self) -> Result<(), StoreError> {
        let write_ahead = open_plain(&self.files.write_ahead, File::options().read(true));
        match write_ahead.and_then(|file| file.sync_data()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.files.refused(&error))
            }
            _ => Ok(()),
        }
    }
}

struct Inside<'a> {
    transaction: Transaction<'a>,
    files: &'a Files,
    /// None if SQLite itself syncs each transaction.
    flusher: Option<&'a mut Flusher>,
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
        found().map_err(|error| told(self.files.place(), &error))
    }

    fn commit(self: Box<Self>, durability: Durability) -> Result<(), StoreError> {
        let place = self.files.place();
        let mut flusher = self.flusher.filter(|_| durability == Durability::Disk);
        if let Some(flusher) = &mut flusher {
            let prepared = flusher.prepare(self.files);
            prepared.map_err(|error| self.files.refused(&error))?;
        }
        let done = self.transaction.commit();
        done.map_err(|error| unconfirmed(place, &error))?;
        let flushed = flusher.map_or(Ok(()), |flusher| flusher.flush(self.files));
        flushed.map_err(|error| Trouble::Unconfirmed.with(place, error.to_string()))
    }

    fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        migrate::flaw(&self.transaction).map_err(|error| told(self.files.place(), &error))
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
/// wait. A ledger that was copied to a file system without this support loses it.
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
    if journal == Journal::WriteAhead {
        conn.execute_batch(UNSYNCED)?;
    }
    Ok(journal)
}

/// Opens the database for reading. Without a write-ahead file, a run that is killed leaves a journal at any time, and only a
/// connection that may write applies it, so SQLite opens the file for writing if it can. If the files beside the database
/// cannot be created, no process can write, and everything is in the database. It is then opened as immutable.
fn to_read(files: &Files) -> Result<Connection> {
    let read = |place: &str, flags| {
        let conn = connect(place, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        conn.execute_batch("PRAGMA query_only = ON")?;
        // The first statement opens the files beside the database.
        conn.query_row("PRAGMA user_version", [], |_| Ok(()))?;
        Ok(conn)
    };
    let had_journal = files.has_rollback_journal();
    match read(files.place(), OpenFlags::SQLITE_OPEN_READ_WRITE) {
        Err(error)
            if (is(&error, ErrorCode::CannotOpen) || is(&error, ErrorCode::ReadOnly))
                && files.database.exists()
                && !had_journal
                && files.write_ahead_length() == 0 =>
        {
            let path = utf8_percent_encode(files.place(), NOT_IN_URI);
            let uri = format!("file:{path}?immutable=1");
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            read(&uri, flags)
        }
        opened => opened,
    }
}

/// Has the connection wait for other processes. SQLite's own way is to wait ever longer, so that a run that has waited
/// long is behind those that come.
fn be_patient(conn: &mut Connection) -> Result<()> {
    conn.busy_handler(Some(|times: i32| {
        thread::sleep(OFTEN);
        OFTEN * times.unsigned_abs() < PATIENCE
    }))
}

fn connect(place: &str, flags: OpenFlags) -> Result<Connection> {
    let mut conn = Connection::open_with_flags(place, flags)?;
    be_patient(&mut conn)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
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
