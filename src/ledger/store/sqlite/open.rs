//! Opens a database to read or to write it.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    Journal, PATIENCE,
    files::{Files, is},
    migrate,
};
use crate::ledger::store::{StoreError, Trouble, Wish};

type Result<T, E = rusqlite::Error> = std::result::Result<T, E>;

/// The characters that a path in a URI must escape.
const NOT_IN_URI: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#').add(b' ');

pub(super) fn open(files: &Files, wish: Wish) -> Result<(Connection, Journal), StoreError> {
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
/// wait.
fn write_ahead(conn: &Connection, files: &Files) -> Result<Journal> {
    let mode = |text: &str| {
        let mode: String = conn.query_row(text, [], |row| row.get(0))?;
        Ok(match mode.as_str() {
            "wal" => Journal::WriteAhead,
            _ => Journal::Other,
        })
    };
    let mut journal = mode("PRAGMA journal_mode")?;
    if journal == Journal::Other && files.shares_memory() {
        journal = match mode("PRAGMA journal_mode = WAL") {
            // The mode stays as it is while another process reads.
            Err(error) if is(&error, ErrorCode::DatabaseBusy) => Journal::Other,
            journal => journal?,
        };
    }
    // `SqliteStore::open` decides when the journal is checkpointed.
    conn.query_row("PRAGMA wal_autocheckpoint = 0", [], |_| Ok(()))?;
    Ok(journal)
}

/// Opens the database for reading. If the files beside it cannot be created, no process can write, and everything
/// is in the database. It is then opened as immutable.
fn to_read(files: &Files) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read = |place: &str, flags| {
        let conn = connect(place, flags)?;
        // The first statement opens the files beside the database.
        conn.query_row("PRAGMA user_version", [], |_| Ok(()))?;
        Ok(conn)
    };
    let apart = |error: &_| is(error, ErrorCode::CannotOpen) || is(error, ErrorCode::ReadOnly);
    match read(files.place(), flags) {
        Err(error) if apart(&error) && files.exists() && files.write_ahead_length() == 0 => {
            let path = utf8_percent_encode(files.place(), NOT_IN_URI);
            let uri = format!("file:{path}?immutable=1");
            read(&uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        conn => conn,
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
