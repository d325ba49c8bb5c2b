//! What of a database is not as this program makes it: its pages and indexes, its tables, what was applied to it.

use std::collections::BTreeSet;

use rusqlite::{Connection, Result, Row};

use super::migrate::{STEPS, VERSION};

/// A table, an index, a trigger or a view: its type, its name, and the text that made it.
type Part = (String, String, Option<String>);

/// The first thing that is wrong.
pub(super) fn flaw(conn: &Connection) -> Result<Option<String>> {
    let said: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        return Ok(Some(said));
    }
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        // What a later program makes is not known here.
        return Ok(None);
    }
    let (there, made) = (parts(conn)?, parts(&fresh()?)?);
    let added = there
        .difference(&made)
        .map(|part| (part, "is not what oneact makes"));
    let gone = made
        .difference(&there)
        .map(|part| (part, "is not what it was, or is gone"));
    if let Some(((kind, name, _), what)) = added.chain(gone).next() {
        return Ok(Some(format!("the {kind} `{name}` {what}")));
    }
    let applied = migrations(conn)?;
    let known = STEPS.map(|step| (step.version, step.name.to_owned(), step.checksum.to_owned()));
    let same = applied == known;
    Ok((!same).then(|| "schema_migrations does not hold what was applied".to_owned()))
}

/// An empty ledger.
fn fresh() -> Result<Connection> {
    let conn = Connection::open_in_memory()?;
    for step in &STEPS {
        conn.execute_batch(step.text)?;
    }
    Ok(conn)
}

fn parts(conn: &Connection) -> Result<BTreeSet<Part>> {
    all(conn, "SELECT type, name, sql FROM sqlite_schema", |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
}

fn migrations(conn: &Connection) -> Result<Vec<(i64, String, String)>> {
    let text = "SELECT version, name, checksum FROM schema_migrations ORDER BY version";
    all(conn, text, |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })
}

fn all<T, C: FromIterator<T>>(
    conn: &Connection,
    text: &str,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<C> {
    conn.prepare(text)?.query_map([], read)?.collect()
}
