//! Opening: whose file is it, of which version, and how is it written.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    Journal, PATIENCE,
    files::{Files, is},
    migrate,
};
use crate::ledger::store::{StoreError, Trouble};

type Result<T, E = rusqlite::Error> = std::result::Result<T, E>;

/// What a ledger is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// It is made where it is not, and brought up to date.
    Write,
    /// To write into one that is there as this program makes it: nothing is made or migrated.
    Decide,
    /// Nothing is made or changed: it may stand where nothing can be written, and be of a later version.
    Read,
}

/// What a path of a URI cannot hold as it is.
const NOT_IN_URI: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#').add(b' ');

pub(super) fn open(files: &Files, wish: Wish) -> Result<(Connection, Journal), StoreError> {
    match wish {
        Wish::Write => to_write(files),
        Wish::Decide => to_decide(files),
        Wish::Read => to_read(files),
    }
}

const WRITABLE: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

fn to_write(files: &Files) -> Result<(Connection, Journal), StoreError> {
    let conn = match connect(files.place(), WRITABLE) {
        // Also where it is there by now: somebody else may just have made it.
        Err(error) if is(&error, ErrorCode::CannotOpen) => {
            files.make()?;
            connect(files.place(), WRITABLE)
        }
        other => other,
    };
    let mut conn = writable(conn, files)?;
    migrate::bring_up(&mut conn, files)?;
    let journal = write_ahead(&conn, files).map_err(|error| files.told(&error))?;
    Ok((conn, journal))
}

fn to_decide(files: &Files) -> Result<(Connection, Journal), StoreError> {
    let told = |error: rusqlite::Error| files.told(&error);
    let conn = writable(connect(files.place(), WRITABLE), files)?;
    let found = migrate::look(&conn).map_err(told)?;
    migrate::current(&conn, found, files)?;
    let journal = write_ahead(&conn, files).map_err(told)?;
    Ok((conn, journal))
}

fn writable(conn: Result<Connection>, files: &Files) -> Result<Connection, StoreError> {
    let told = |error: rusqlite::Error| files.told(&error);
    let conn = conn.map_err(told)?;
    // SQLite opens for reading what it may not write.
    if conn.is_readonly(rusqlite::MAIN_DB).map_err(told)? {
        return Err(Trouble::ReadOnly.with(files.place(), "the file may only be read"));
    }
    Ok(conn)
}

/// Has the changes written ahead where that works: one sync a transaction, and readers wait for nobody.
fn write_ahead(conn: &Connection, files: &Files) -> Result<Journal> {
    let is_it = |mode: String| match mode.as_str() {
        "wal" => Journal::WriteAhead,
        _ => Journal::Other,
    };
    let journal = conn.query_row("PRAGMA journal_mode", [], |row| row.get(0).map(is_it))?;
    let journal = match journal {
        Journal::Other if files.shares_memory() => {
            match conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0).map(is_it)) {
                // While somebody reads it stays as it is.
                Err(error) if is(&error, ErrorCode::DatabaseBusy) => Journal::Other,
                other => other?,
            }
        }
        other => other,
    };
    // When it is moved into the database is our own decision: see `SqliteStore::open`.
    conn.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
    Ok(journal)
}

fn to_read(files: &Files) -> Result<(Connection, Journal), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = |place: &str, flags| {
        let conn = connect(place, flags).map_err(|error| (is_apart(&error), files.told(&error)))?;
        match migrate::look(&conn) {
            Ok(found) => Ok((conn, found)),
            Err(error) => Err((is_apart(&error), files.told(&error))),
        }
    };
    let (conn, found) = match read(files.place(), flags) {
        // What is shared between processes cannot be made here. Nobody writes where nobody can, and all is in
        // the database.
        Err((true, _)) if files.exists() && files.write_ahead_length() == 0 => {
            let path = utf8_percent_encode(files.place(), NOT_IN_URI);
            let uri = format!("file:{path}?immutable=1");
            read(&uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        other => other,
    }
    .map_err(|(_, error)| error)?;
    migrate::readable(&conn, found, files)?;
    Ok((conn, Journal::Other))
}

/// Whether the files beside the database cannot be made.
fn is_apart(error: &rusqlite::Error) -> bool {
    is(error, ErrorCode::CannotOpen) || is(error, ErrorCode::ReadOnly)
}

fn connect(place: &str, flags: OpenFlags) -> Result<Connection> {
    let conn = Connection::open_with_flags(place, flags)?;
    conn.busy_timeout(PATIENCE)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // A ledger has neither: what another put into the file is not run.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Otherwise a statement with a limit is compiled twice: once more when its values are known.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
}
