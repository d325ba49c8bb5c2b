//! The schema of the SQLite database: how a database is recognized and created, and how a table of specification 004 is
//! taken over.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, TransactionBehavior, params};

use super::{
    files::Files,
    seed::{self, all},
};
use crate::ledger::store::{
    access::Wish,
    error::{StoreError, Trouble},
    migrations::{SQLITE, check},
};

type Result<T, E = rusqlite::Error> = std::result::Result<T, E>;

/// SQLite's `application_id` of a ledger, which `file` shows: "ona1". Databases of other programs do not have it.
const APPLICATION: i64 = 1_869_504_817;

/// The page size of a new file, in bytes. An answer makes small changes on many pages.
pub(super) const PAGE: u32 = 2048;

/// Which program's database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// A ledger of that version.
    Ours(i64),
    Empty,
    /// The table `agent_actions` of specification 004, and nothing else.
    Seed,
    Foreign,
}

/// Finds out which program's database it is. For a ledger this reads little.
fn found(conn: &Connection) -> Result<Owner> {
    let number = |text: &str| conn.query_row(text, [], |row| row.get(0));
    let application: i64 = number("PRAGMA application_id")?;
    let version: i64 = number("PRAGMA user_version")?;
    if application == APPLICATION {
        return Ok(Owner::Ours(version));
    }
    if application != 0 {
        return Ok(Owner::Foreign);
    }
    if number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(Owner::Empty);
    }
    if seed::is_one(conn)? {
        return Ok(Owner::Seed);
    }
    // Another process may have made it a ledger meanwhile.
    if number("PRAGMA application_id")? == APPLICATION {
        return Ok(Owner::Ours(number("PRAGMA user_version")?));
    }
    Ok(Owner::Foreign)
}

/// Which program's database it is. A ledger has this program's schema, or a later one that is only read.
fn checked(conn: &Connection, files: &Files, wish: Wish) -> Result<Owner, StoreError> {
    let half = |why: &str| Err(Trouble::HalfMigrated.with(files.place(), why));
    let version = match found(conn).map_err(|error| files.told(&error))? {
        Owner::Foreign => return Err(foreign(files)),
        Owner::Ours(..=0) => return half("it has no version"),
        Owner::Ours(version) => version,
        other => return Ok(other),
    };
    let text = "SELECT version, checksum FROM schema_migrations ORDER BY version";
    let applied = all(conn, text, |row| Ok((row.get(0)?, row.get(1)?)));
    let applied: Vec<(i64, String)> = applied.map_err(|error| files.told(&error))?;
    if applied.last().map(|(last, _)| *last) != Some(version) {
        return half(&format!(
            "it states version {version}, but another schema was applied"
        ));
    }
    check(files.place(), &applied, &SQLITE, wish)?;
    Ok(Owner::Ours(version))
}

/// Makes sure that the database can be used for `wish`. Only [`Wish::Write`] creates it, or takes a table over.
pub(super) fn ensure(conn: &mut Connection, files: &Files, wish: Wish) -> Result<(), StoreError> {
    let not_yet = |why: &str| Err(Trouble::NotYet.with(files.place(), why));
    match (checked(conn, files, wish)?, wish) {
        (Owner::Ours(_) | Owner::Foreign, _) => Ok(()),
        (Owner::Empty | Owner::Seed, Wish::Write) => migrate(conn, files),
        (Owner::Empty, Wish::Read | Wish::Decide) => {
            not_yet("it is empty: nothing was recorded yet")
        }
        (Owner::Seed, Wish::Read | Wish::Decide) => {
            not_yet("it has the table of specification 004; the next run takes it over")
        }
    }
}

fn migrate(conn: &mut Connection, files: &Files) -> Result<(), StoreError> {
    let told = |error: rusqlite::Error| files.told(&error);
    conn.pragma_update(None, "page_size", PAGE).map_err(told)?;
    let begun = conn.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = begun.map_err(told)?;
    match found(&transaction).map_err(told)? {
        // Another process was faster.
        Owner::Ours(_) => Ok(()),
        Owner::Seed => seed::take_over(&transaction, apply),
        Owner::Empty => apply(&transaction),
        Owner::Foreign => return Err(foreign(files)),
    }
    .map_err(told)?;
    transaction.commit().map_err(told)?;
    checked(conn, files, Wish::Write).map(drop)
}

fn apply(conn: &Connection) -> Result<()> {
    conn.execute_batch(SQLITE.text)?;
    conn.execute(
        "INSERT INTO schema_migrations (version, name, checksum, oneact_version, applied_at) \
         VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
        params![
            SQLITE.version,
            SQLITE.name,
            SQLITE.checksum,
            env!("CARGO_PKG_VERSION")
        ],
    )?;
    conn.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {};",
        SQLITE.version
    ))
}

fn foreign(files: &Files) -> StoreError {
    Trouble::Foreign.with(files.place(), "it is a database of another program")
}

/// A table, an index, a trigger or a view: its type, its name, and the text that made it.
type Part = (String, String, Option<String>);

/// The first difference from a database that this program makes: in pages and indexes, in tables, or in the
/// applied migrations.
pub(super) fn flaw(conn: &Connection) -> Result<Option<String>> {
    let said: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        return Ok(Some(said));
    }
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != SQLITE.version {
        return Ok(Some(format!(
            "it has schema version {version}, but this program knows only the tables of version {}: \
             run `verify` of the program that made it",
            SQLITE.version
        )));
    }
    let (there, made) = (parts(conn)?, parts(&fresh()?)?);
    let added = there
        .difference(&made)
        .map(|part| (part, "is not the one that oneact creates"));
    let gone = made
        .difference(&there)
        .map(|part| (part, "was changed or is missing"));
    if let Some(((kind, name, _), what)) = added.chain(gone).next() {
        return Ok(Some(format!("the {kind} `{name}` {what}")));
    }
    let text = "SELECT version, name, checksum FROM schema_migrations ORDER BY version";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let applied: Vec<(i64, String, String)> = all(conn, text, read)?;
    let known = (
        SQLITE.version,
        SQLITE.name.to_owned(),
        SQLITE.checksum.to_owned(),
    );
    Ok((applied != [known])
        .then(|| "schema_migrations does not name the schema that was applied".to_owned()))
}

/// An empty ledger in memory.
fn fresh() -> Result<Connection> {
    let conn = Connection::open_in_memory()?;
    conn.execute_batch(SQLITE.text)?;
    Ok(conn)
}

fn parts(conn: &Connection) -> Result<BTreeSet<Part>> {
    all(conn, "SELECT type, name, sql FROM sqlite_schema", |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
}
