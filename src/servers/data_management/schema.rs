//! The tables, and which version of them a database has (`user_version`).

use rusqlite::{Connection, Transaction};

/// The version this program writes.
pub(super) const VERSION: i64 = 1;

/// Marks a database as oneact's (`application_id`): the letters `1act`.
const APPLICATION: i64 = 0x3161_6374;

const TABLES: &str = "
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
";

/// What a database file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing yet.
    Empty,
    Current,
    /// Tables of a later version than this program knows.
    Newer(i64),
    /// Tables of another program.
    Foreign,
}

/// Looks, and writes nothing.
pub(super) fn state(connection: &Connection) -> rusqlite::Result<State> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    let (application, version) = (number("application_id")?, number("user_version")?);
    Ok(match (application, version) {
        (0, 0) if tables == 0 => State::Empty,
        (APPLICATION, VERSION) => State::Current,
        (APPLICATION, newer) if newer > VERSION => State::Newer(newer),
        _ => State::Foreign,
    })
}

/// Makes the tables of an empty database.
pub(super) fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)
}
