//! The database. Only its owner can read it. A database of another program or of another version (`user_version`)
//! is not changed.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::workspace::DATABASE;
use crate::{
    host,
    servers::{files::parent, tool::ToolError},
};

/// How long a call waits for other writers.
const PATIENCE: Duration = Duration::from_secs(20);

/// The `application_id` of oneact's databases: the letters `1act`.
const APPLICATION: i64 = 0x3161_6374;

/// The `user_version` of a database with this schema.
const VERSION: i64 = 2;

const SCHEMA: &str = "
CREATE TABLE document (
    id       TEXT NOT NULL PRIMARY KEY,
    content  TEXT NOT NULL,
    metadata TEXT NOT NULL,
    entries  INTEGER NOT NULL,
    indexed  TEXT NOT NULL
) STRICT;
CREATE VIRTUAL TABLE leaf USING fts5(id UNINDEXED, text, tokenize = 'unicode61 remove_diacritics 2');
CREATE TABLE context (
    key     TEXT NOT NULL PRIMARY KEY,
    data    TEXT NOT NULL,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX context_expires ON context (expires);
CREATE TABLE todo (
    number    INTEGER PRIMARY KEY,
    text      TEXT NOT NULL,
    created   TEXT NOT NULL,
    completed TEXT
) STRICT;
CREATE UNIQUE INDEX todo_open ON todo (text) WHERE completed IS NULL;
";

/// An open database with the current schema.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
}

impl Database {
    /// Opens the database if it exists.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, ToolError> {
        match path.try_exists() {
            Ok(false) => Ok(None),
            _ => Self::open(path).map(Some),
        }
    }

    /// Opens the database. It and its directory are created if they do not exist.
    pub(super) fn open(path: &Path) -> Result<Self, ToolError> {
        let folder = parent(path);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(ToolError::io("create the folder", folder))?;
        // Only one process at a time: switching to the write-ahead log does not wait for another process that does
        // it.
        let turn = File::open(folder).map_err(ToolError::io("open", folder))?;
        turn.lock().map_err(ToolError::io("lock", folder))?;
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut beside = path.as_os_str().to_owned();
            beside.push(suffix);
            // SQLite would follow a link and wait for a pipe.
            host::is_plain_or_free(&beside).map_err(ToolError::io("open", Path::new(&beside)))?;
        }
        create(path).map_err(ToolError::io("create", path))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(sqlite("open", path))?;
        let mut database = Self {
            path: path.to_owned(),
            connection,
        };
        database.prepare()?;
        Ok(database)
    }

    /// Performs `work` in one transaction. A transaction that writes is immediate: it waits for its turn before it
    /// reads.
    pub(super) fn within<T>(
        &mut self,
        operation: &'static str,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, ToolError> {
        let failed = sqlite(operation, &self.path);
        let done = self
            .connection
            .transaction_with_behavior(behavior)
            .and_then(|transaction| {
                let done = work(&transaction)?;
                transaction.commit()?;
                Ok(done)
            });
        done.map_err(failed)
    }

    /// Creates the tables of an empty database. A database of another program or of another version is refused and not
    /// changed.
    fn prepare(&mut self) -> Result<(), ToolError> {
        let failed = |operation| sqlite(operation, &self.path);
        self.connection
            .busy_timeout(PATIENCE)
            .map_err(failed("open"))?;
        let path = self.path.display();
        match marks(&self.connection).map_err(failed("read"))? {
            (0, 0, 0) => {
                self.connection
                    .pragma_update(None, "journal_mode", "wal")
                    .map_err(failed("set up"))?;
                self.within("set up", TransactionBehavior::Immediate, |transaction| {
                    transaction.execute_batch(SCHEMA)?;
                    transaction.pragma_update(None, "application_id", APPLICATION)?;
                    transaction.pragma_update(None, "user_version", VERSION)
                })?;
            }
            (APPLICATION, VERSION, _) => {}
            (APPLICATION, version, _) => {
                return Err(ToolError::Failed(format!(
                    "the database {path} has version {version}, but this oneact reads version {VERSION}; \
                     use the oneact that made it, or name another file with {DATABASE}"
                )));
            }
            _ => {
                return Err(ToolError::Failed(format!(
                    "{path} is a database of another program; name another file with {DATABASE}"
                )));
            }
        }
        // With the write-ahead log, `full` keeps every committed transaction after a power failure.
        self.connection
            .pragma_update(None, "synchronous", "full")
            .map_err(sqlite("open", &self.path))
    }
}

fn sqlite(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(rusqlite::Error) -> ToolError + use<> {
    let path = path.to_owned();
    move |error| {
        let path = path.display();
        ToolError::Failed(format!("cannot {operation} the database {path}: {error}"))
    }
}

/// Creates the file for its owner alone; SQLite gives its log the same mode. An existing database is not opened:
/// closing it would release SQLite's locks.
fn create(path: &Path) -> io::Result<()> {
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

/// The `application_id`, the `user_version` and the number of tables and indexes. Nothing is written.
fn marks(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let application = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    Ok((application, version, tables))
}
