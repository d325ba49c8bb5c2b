//! The database file: created for its owner alone, brought to this version's schema, and left
//! untouched if it is somebody else's or a later version's.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::{DATABASE, schema};
use crate::{host, servers::tool::ToolError};

/// How long a call waits for others that write.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open database of this version's schema.
#[derive(Debug)]
pub(super) struct Database {
    path: PathBuf,
    connection: Connection,
}

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot {operation} the database {}: {source}", path.display())]
    Sqlite {
        operation: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error(
        "the database {} is of version {found}, and this oneact knows versions up to {}; update oneact, or name another \
         file by {DATABASE}",
        path.display(),
        schema::VERSION
    )]
    Newer { path: PathBuf, found: i64 },
    #[error("{} is a database of another program; name another file by {DATABASE}", path.display())]
    Foreign { path: PathBuf },
}

impl From<DatabaseError> for ToolError {
    fn from(error: DatabaseError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Database {
    /// Opens the database if there is one.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, DatabaseError> {
        match path.try_exists() {
            Ok(false) => Ok(None),
            _ => Self::open(path).map(Some),
        }
    }

    /// Opens the database, creating it and its folder if they are not there.
    pub(super) fn open(path: &Path) -> Result<Self, DatabaseError> {
        let io = |operation, path: &Path| {
            let path = path.to_owned();
            move |source| DatabaseError::Io {
                operation,
                path,
                source,
            }
        };
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(io("create the folder", folder))?;
        // One at a time: a switch to the write-ahead log does not wait for another one's.
        let turn = File::open(folder).map_err(io("open", folder))?;
        turn.lock().map_err(io("lock", folder))?;
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let mut beside = path.as_os_str().to_owned();
            beside.push(suffix);
            // SQLite would follow a link, and wait for a pipe.
            host::is_plain_or_free(&beside).map_err(io("open", Path::new(&beside)))?;
        }
        create(path).map_err(io("create", path))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(sqlite("open", path))?;
        let mut database = Self {
            path: path.to_owned(),
            connection,
        };
        database.prepare()?;
        Ok(database)
    }

    /// Does `work` in one transaction that reads.
    pub(super) fn read<T>(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        self.within(operation, TransactionBehavior::Deferred, work)
    }

    /// Does `work` in one transaction that writes, all of it or nothing.
    pub(super) fn write<T>(
        &mut self,
        operation: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        self.within(operation, TransactionBehavior::Immediate, work)
    }

    fn within<T>(
        &mut self,
        operation: &'static str,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
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

    /// Refuses what is not ours before anything is written, then brings the schema up to date.
    fn prepare(&mut self) -> Result<(), DatabaseError> {
        let failed = |operation| sqlite(operation, &self.path);
        self.connection
            .busy_timeout(PATIENCE)
            .map_err(failed("open"))?;
        match schema::state(&self.connection).map_err(failed("read"))? {
            schema::State::Current => {}
            schema::State::Newer(found) => {
                let path = self.path.clone();
                return Err(DatabaseError::Newer { path, found });
            }
            schema::State::Foreign => {
                return Err(DatabaseError::Foreign {
                    path: self.path.clone(),
                });
            }
            schema::State::Empty => {
                self.connection
                    .pragma_update(None, "journal_mode", "wal")
                    .map_err(failed("set up"))?;
                self.write("set up", schema::create)?;
            }
        }
        // With the log, a power cut loses nothing that was committed.
        self.connection
            .pragma_update(None, "synchronous", "full")
            .map_err(sqlite("open", &self.path))
    }
}

fn sqlite(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(rusqlite::Error) -> DatabaseError + use<> {
    let path = path.to_owned();
    move |source| DatabaseError::Sqlite {
        operation,
        path,
        source,
    }
}

/// Creates the file for its owner alone; SQLite gives its log the same rights. It is never opened
/// here once it is a database: to close it would drop SQLite's locks.
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
