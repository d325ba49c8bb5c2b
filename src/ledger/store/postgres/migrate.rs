//! The schema of the PostgreSQL database: how its tables are created, and how a table of specification 004 is taken over.

use tokio_postgres::Row;

use super::{
    super::{
        access::Wish,
        error::{StoreError, Trouble},
        migrations::{POSTGRES, check},
        sql::Value,
    },
    line::{Failure, Line, Stage, WRITER},
};

/// The query of every opening: which versions were applied.
pub(super) const VERSIONS: &str =
    "SELECT version, checksum FROM public.oneact_migrations ORDER BY version";

const UNDEFINED_TABLE: &str = "42P01";
const INSUFFICIENT_PRIVILEGE: &str = "42501";
/// A table, function, other object or column of that name exists, or a column has another type.
const TAKEN: [&str; 6] = ["42P07", "42723", "42710", "42701", "42804", "22P02"];

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
    let there = "SELECT 1 WHERE to_regclass('public.oneact_migrations') IS NOT NULL";
    let there = line.rows(there, &[]).map_err(trouble)?;
    if !there.is_empty() && are_ours(place, line.rows(VERSIONS, &[]), Wish::Write)? {
        return line.batch("COMMIT").map_err(trouble);
    }
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
