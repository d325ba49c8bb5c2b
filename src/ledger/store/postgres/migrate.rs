//! The schema of the PostgreSQL database: how its tables are created, and how a table of specification 004 is taken over.

use tokio_postgres::Row;

use super::{
    super::{
        StoreError, Trouble, Wish,
        columns::{Column, Record as _},
        migrations::{POSTGRES, check},
        sql::Value,
    },
    WRITER,
    line::{Failure, Line, Stage},
};
use crate::ledger::record::{ALWAYS, RENAMED, Row as Actions};

/// The query of every opening: which versions were applied.
pub(super) const VERSIONS: &str =
    "SELECT version, checksum FROM public.oneact_migrations ORDER BY version";

const UNDEFINED_TABLE: &str = "42P01";
const INSUFFICIENT_PRIVILEGE: &str = "42501";
/// A table, function, other object or column of that name exists, or a column has another type.
const TAKEN: [&str; 5] = ["42P07", "42723", "42710", "42701", "42804"];

/// Makes sure that the tables can be used for `wish`. Only [`Wish::Write`] creates them. `versions` is
/// the answer to [`VERSIONS`].
pub(super) fn ensure(
    line: &Line,
    place: &str,
    versions: Result<Vec<Row>, Failure>,
    wish: Wish,
) -> Result<(), StoreError> {
    if are_ours(place, versions, wish)? {
        return Ok(());
    }
    if wish != Wish::Write {
        let why = "the database contains no ledger yet; the first run creates it";
        return Err(Trouble::NotYet.with(place, why));
    }
    let done = migrate(line, place);
    if done.is_err() {
        // If this fails, the connection is lost and the transaction with it.
        let _ = line.batch("ROLLBACK");
    }
    done
}

/// Whether there are tables of a ledger. Those of another schema are refused.
fn are_ours(
    place: &str,
    versions: Result<Vec<Row>, Failure>,
    wish: Wish,
) -> Result<bool, StoreError> {
    let rows = match versions {
        Err(failure) if failure.is(UNDEFINED_TABLE) => return Ok(false),
        versions => versions.map_err(|failure| Stage::of(wish).trouble(place, &failure))?,
    };
    let applied = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
    let applied: Result<Vec<_>, tokio_postgres::Error> = applied.collect();
    let foreign = "its table oneact_migrations belongs to another program";
    let applied = applied.map_err(|_| Trouble::Foreign.with(place, foreign))?;
    check(place, &applied, &POSTGRES, wish)?;
    Ok(true)
}

/// Applies the schema, in one transaction. No other transaction writes meanwhile.
fn migrate(line: &Line, place: &str) -> Result<(), StoreError> {
    let trouble = |failure: Failure| Stage::Working.trouble(place, &failure);
    line.batch(&format!(
        "BEGIN; SELECT pg_catalog.pg_advisory_xact_lock({WRITER})"
    ))
    .map_err(trouble)?;
    // Another process may have done it meanwhile. A failed query would abort the transaction; this one cannot
    // fail.
    let there = "SELECT to_regclass('public.oneact_migrations') IS NOT NULL, current_setting('server_encoding')";
    let asked = line.rows(there, &[]).map_err(trouble)?;
    let there = asked
        .first()
        .is_some_and(|row| row.try_get(0).unwrap_or_default());
    let encoding = asked.first().and_then(|row| row.try_get(1).ok());
    if encoding.is_some_and(|encoding: &str| encoding != "UTF8") {
        return Err(Trouble::Foreign.with(place, "its encoding is not UTF8"));
    }
    if there && are_ours(place, line.rows(VERSIONS, &[]), Wish::Write)? {
        return line.batch("COMMIT").map_err(trouble);
    }
    check_actions(line, place)?;
    let done = line.batch(POSTGRES.text);
    done.map_err(|failure| refused(place, &failure))?;
    line.rows(
        "INSERT INTO public.oneact_migrations (version, name, checksum, oneact_version) VALUES ($1, $2, $3, $4)",
        &[
            Value::Int(POSTGRES.version),
            POSTGRES.name.into(),
            POSTGRES.checksum.into(),
            env!("CARGO_PKG_VERSION").into(),
        ],
    )
    .map_err(trouble)?;
    line.batch("COMMIT")
        .map_err(|failure| Stage::Keeping.trouble(place, &failure))
}

/// Why the schema could not be applied.
fn refused(place: &str, failure: &Failure) -> StoreError {
    let why = failure.words();
    if failure.is(INSUFFICIENT_PRIVILEGE) {
        let why = format!(
            "its tables do not exist yet, and this user may not create them ({why}). Perform a task once as the owner of \
             the database, or of the table agent_actions: ONEACT_LEDGER=postgres://OWNER@HOST/DATABASE oneact run TASK.json"
        );
        return Trouble::ReadOnly.with(place, why);
    }
    if TAKEN.iter().any(|code| failure.is(code)) {
        return Trouble::Foreign.with(place, why);
    }
    Stage::Working.trouble(place, failure)
}

/// The columns that a table `agent_actions` may have, with their types: the ledger's, and those of the older
/// schema of specification 004.
fn known() -> Vec<(String, &'static str)> {
    let ours = Actions::COLUMNS.iter().flat_map(Column::in_postgres);
    let mut known: Vec<_> = ours.collect();
    for [newer, older] in RENAMED {
        let kind = known.iter().find(|(name, _)| name == newer);
        let older = kind.map(|(_, kind)| (older.to_owned(), *kind));
        known.extend(older);
    }
    known
}

/// Checks that a table `agent_actions` which exists already is the one of specification 004.
fn check_actions(line: &Line, place: &str) -> Result<(), StoreError> {
    let columns = line
        .rows(
            "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), \
               a.attnotnull AND NOT a.atthasdef AND a.attidentity = '', c.relkind::text \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid \
             WHERE c.oid = to_regclass('public.agent_actions') AND a.attnum > 0 AND NOT a.attisdropped",
            &[],
        )
        .map_err(|failure| Stage::Working.trouble(place, &failure))?;
    if columns.is_empty() {
        return Ok(());
    }
    let foreign = |why: String| {
        Err(Trouble::Foreign.with(
            place,
            format!("its table agent_actions is not the one of specification 004: {why}"),
        ))
    };
    let known = known();
    let mut found = Vec::new();
    for row in &columns {
        let text = |at: usize| row.try_get::<_, String>(at).unwrap_or_default();
        let (name, kind) = (text(0), text(1));
        if text(3) != "r" && text(3) != "p" {
            return foreign("it is not a table".to_owned());
        }
        let wanted = known.iter().find(|(known, _)| *known == name);
        match wanted {
            Some((_, wanted)) if *wanted != kind => {
                return foreign(format!("the type of {name} is {kind}, not {wanted}"));
            }
            None if row.try_get(2).unwrap_or(true) => {
                return foreign(format!("{name} is required, but oneact does not write it"));
            }
            _ => found.push(name),
        }
    }
    let is_missing = |name: &&&str| !found.iter().any(|found| found == **name);
    ALWAYS.iter().find(is_missing).map_or(Ok(()), |missing| {
        foreign(format!("it has no column {missing}"))
    })
}
