//! Schema versions: one text each, applied once, in one transaction, and never changed afterwards; and whether a
//! database is as they make it.

use std::{collections::BTreeSet, fs, thread, time::Duration};

use rusqlite::{Connection, Result, Row, TransactionBehavior, params};

use super::{
    PATIENCE,
    files::{Files, make_private},
    holds::open_lock,
    seed,
};
use crate::{
    host::{Locked, RangeLock},
    ledger::store::{StoreError, Trouble},
};

/// What `file` shows of a ledger of ours, and what another program's database does not have: "ona1".
const APPLICATION: i64 = 1_869_504_817;

/// One version after the other; the last is the one that this program writes.
pub(super) const STEPS: [Step; 2] = [
    Step {
        version: 1,
        name: "the ledger",
        text: include_str!("../../schema/sqlite_1.sql"),
        checksum: "4b97072c4c7c23af9abee5417bdfbc0d0f668ffb4082c74de698f6310842f34c",
    },
    Step {
        version: 2,
        name: "links are found by their request",
        text: include_str!("../../schema/sqlite_2.sql"),
        checksum: "4f138e7d9adff81c93dda4f01eaa04e48d1de8411348bb7882ea2a62c472c9d3",
    },
];

/// The version that this program writes.
pub(super) const VERSION: i64 = 2;

/// Of a new file, in bytes.
pub(super) const PAGE: u32 = 2048;

/// Locked by whoever migrates; a number that no claim has.
const MIGRATION: u64 = i64::MAX as u64;

/// How to come to a version from the one before.
pub(super) struct Step {
    pub(super) version: i64,
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// SHA-256 of the text; computed beforehand, because every opening compares it.
    pub(super) checksum: &'static str,
}

/// Whose database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Ours, of that version.
    Ours(i64),
    /// Nobody's: it holds nothing.
    Empty,
    /// `agent_actions` as specification 004 has it, and nothing else.
    Seed,
    Foreign,
}

/// Reads little, where it is ours.
pub(super) fn look(conn: &Connection) -> Result<Found> {
    let number = |text: &str| conn.query_row(text, [], |row| row.get(0));
    let application: i64 = number("PRAGMA application_id")?;
    let version: i64 = number("PRAGMA user_version")?;
    if application == APPLICATION {
        return Ok(Found::Ours(version));
    }
    if application != 0 {
        return Ok(Found::Foreign);
    }
    if number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Ok(Found::Empty);
    }
    if seed::is_one(conn)? {
        return Ok(Found::Seed);
    }
    // It may have become ours between one look and the next.
    if number("PRAGMA application_id")? == APPLICATION {
        return Ok(Found::Ours(number("PRAGMA user_version")?));
    }
    Ok(Found::Foreign)
}

/// Whether it can be read as it is.
pub(super) fn readable(
    conn: &Connection,
    found: Found,
    files: &Files,
) -> std::result::Result<(), StoreError> {
    let older = |why: &str| Trouble::NotYet.with(files.place(), why);
    match found {
        Found::Ours(version) if version >= VERSION => verify(conn, version, files),
        Found::Ours(1..) | Found::Seed => Err(older(
            "it is of an earlier version. The next run migrates it",
        )),
        Found::Empty => Err(older("it is empty: nothing was recorded yet")),
        Found::Ours(_) => Err(half(files, "it has no version")),
        Found::Foreign => Err(foreign(files)),
    }
}

/// Whether it can be written to as it is.
pub(super) fn current(
    conn: &Connection,
    found: Found,
    files: &Files,
) -> std::result::Result<(), StoreError> {
    match found {
        Found::Ours(version) if version > VERSION => Err(newer(files, version)),
        found => readable(conn, found, files),
    }
}

/// Makes it what this program writes.
pub(super) fn bring_up(
    conn: &mut Connection,
    files: &Files,
) -> std::result::Result<(), StoreError> {
    let told = |error: rusqlite::Error| files.told(&error);
    let alone = match look(conn).map_err(told)? {
        Found::Ours(VERSION) => return verify(conn, VERSION, files),
        Found::Ours(found) if found > VERSION => return Err(newer(files, found)),
        Found::Ours(..=0) => return Err(half(files, "it has no version")),
        Found::Foreign => return Err(foreign(files)),
        Found::Empty => None,
        Found::Ours(_) | Found::Seed => Some(alone(files)?),
    };
    // Another may have done it meanwhile.
    let from = match look(conn).map_err(told)? {
        Found::Ours(version) => version,
        _ => 0,
    };
    if alone.is_some() && from < VERSION {
        back_up(conn, files, from)?;
    }
    // What an answer changes is small, and on many pages.
    conn.pragma_update(None, "page_size", PAGE).map_err(told)?;
    let begun = conn.transaction_with_behavior(TransactionBehavior::Immediate);
    let transaction = begun.map_err(told)?;
    match look(&transaction).map_err(told)? {
        Found::Ours(version) => apply(&transaction, version),
        Found::Seed => seed::take_over(&transaction, |conn| apply(conn, 0)),
        Found::Empty => apply(&transaction, 0),
        Found::Foreign => return Err(foreign(files)),
    }
    .map_err(told)?;
    transaction.commit().map_err(told)?;
    drop(alone);
    verify(conn, VERSION, files)
}

/// Applies every text after that version.
fn apply(conn: &Connection, from: i64) -> Result<()> {
    for step in STEPS.iter().filter(|step| step.version > from) {
        conn.execute_batch(step.text)?;
        conn.execute(
            "INSERT INTO schema_migrations (version, name, checksum, oneact_version, applied_at) \
             VALUES (?1, ?2, ?3, ?4, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
            params![
                step.version,
                step.name,
                step.checksum,
                env!("CARGO_PKG_VERSION")
            ],
        )?;
    }
    conn.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
    ))
}

/// Whether exactly the texts were applied that this program knows, and as many as the version says.
fn verify(conn: &Connection, version: i64, files: &Files) -> std::result::Result<(), StoreError> {
    let text = "SELECT version, checksum FROM schema_migrations ORDER BY version";
    let applied = all(conn, text, |row| Ok((row.get(0)?, row.get(1)?)));
    let applied: Vec<(i64, String)> = applied.map_err(|error| files.told(&error))?;
    if applied.last().map(|(last, _)| *last) != Some(version) {
        return Err(half(
            files,
            &format!("it says version {version}, and other migrations were applied"),
        ));
    }
    for step in &STEPS {
        if !applied.contains(&(step.version, step.checksum.to_owned())) {
            return Err(half(
                files,
                &format!(
                    "another build of oneact made version {} of its schema",
                    step.version
                ),
            ));
        }
    }
    Ok(())
}

/// Waits until nobody else migrates it.
fn alone(files: &Files) -> std::result::Result<RangeLock, StoreError> {
    const PAUSE: Duration = Duration::from_millis(10);
    let lock = open_lock(files)?;
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if lock
            .take(MIGRATION)
            .map_err(|error| files.refused(&error))?
            == Locked::Ours
        {
            return Ok(lock);
        }
        thread::sleep(PAUSE);
    }
    Err(Trouble::Busy.with(files.place(), "another process migrates it"))
}

/// A whole copy beside it, whole or not there.
fn back_up(conn: &Connection, files: &Files, version: i64) -> std::result::Result<(), StoreError> {
    let backup = files.backup(version);
    let unfinished = backup.with_extension("part");
    let _ = fs::remove_file(&unfinished);
    make_private(&unfinished).map_err(|error| files.refused(&error))?;
    conn.execute("VACUUM INTO ?1", [unfinished.as_str()])
        .map_err(|error| files.told(&error))?;
    fs::rename(&unfinished, &backup).map_err(|error| files.refused(&error))
}

fn foreign(files: &Files) -> StoreError {
    Trouble::Foreign.with(files.place(), "it is a database of another program")
}

fn half(files: &Files, why: &str) -> StoreError {
    Trouble::HalfMigrated.with(files.place(), why)
}

fn newer(files: &Files, found: i64) -> StoreError {
    crate::ledger::store::newer(files.place(), found, VERSION)
}

/// A table, an index, a trigger or a view: its type, its name, and the text that made it.
type Part = (String, String, Option<String>);

/// The first thing of a database that is not as this program makes it: its pages and indexes, its tables, what was
/// applied to it.
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
