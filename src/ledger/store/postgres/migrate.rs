//! The tables: whether they are there and of which version, made or brought up to date where they are not.

use sha2::{Digest, Sha256};
use tokio_postgres::{Row, error::SqlState};

use super::{
    super::{
        StoreError, Trouble, Wish,
        columns::{ALWAYS, Column, RENAMED, Record as _},
        newer,
        sql::Value,
    },
    WRITER,
    line::Line,
    trouble::{Failure, Stage},
};
use crate::{ledger::record::Row as Actions, task::hexadecimal};

/// Asked at every opening: all that has been applied.
pub(super) const VERSIONS: &str =
    "SELECT version, checksum FROM public.oneact_migrations ORDER BY version";

/// One step of the schema. A step that has been released never changes.
struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: [Migration; 2] = [
    Migration {
        version: 1,
        name: "the ledger",
        sql: include_str!("../../schema/postgres_1.sql"),
    },
    Migration {
        version: 2,
        name: "links are found by their request, and decide",
        sql: include_str!("../../schema/postgres_2.sql"),
    },
];

impl Migration {
    fn checksum(&self) -> String {
        hexadecimal(&Sha256::digest(self.sql))
    }
}

/// How far the database has come.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    Nothing,
    Current,
    Older(i64),
}

/// Makes sure that the tables are this program's. `versions` is the answer to [`VERSIONS`].
pub(super) fn ensure(
    line: &Line,
    place: &str,
    versions: Result<Vec<Row>, Failure>,
    wish: Wish,
) -> Result<(), StoreError> {
    match (standing(place, versions, wish)?, wish) {
        (Standing::Current, _) | (Standing::Older(_), Wish::Read) => Ok(()),
        (Standing::Nothing, Wish::Read | Wish::Decide) => Err(Trouble::NotYet.with(
            place,
            "there is no ledger in it yet: the first run makes it",
        )),
        (Standing::Older(_), Wish::Decide) => Err(Trouble::NotYet.with(
            place,
            "it is of an earlier version. The next run migrates it",
        )),
        (Standing::Nothing | Standing::Older(_), Wish::Write) => {
            let done = migrate(line, place);
            if done.is_err() {
                // Where this fails, the connection is lost and the transaction with it.
                let _ = line.batch("ROLLBACK");
            }
            done
        }
    }
}

fn standing(
    place: &str,
    versions: Result<Vec<Row>, Failure>,
    wish: Wish,
) -> Result<Standing, StoreError> {
    let rows = match versions {
        Ok(rows) => rows,
        Err(failure) if failure.is(&SqlState::UNDEFINED_TABLE) => return Ok(Standing::Nothing),
        Err(failure) => return Err(Stage::Working.trouble(place, &failure)),
    };
    let half = |why: String| Trouble::HalfMigrated.with(place, why);
    let known = MIGRATIONS.last().map_or(0, |last| last.version);
    let mut found = 0;
    for row in rows {
        let read =
            |_| Trouble::Foreign.with(place, "its table oneact_migrations is another program's");
        found = row.try_get(0).map_err(read)?;
        let checksum: String = row.try_get(1).map_err(read)?;
        let migration = MIGRATIONS.iter().find(|known| known.version == found);
        if migration.is_some_and(|migration| migration.checksum() != checksum) {
            return Err(half(format!(
                "another build of oneact made version {found} of its schema"
            )));
        }
    }
    if found > known {
        return match wish {
            Wish::Read => Ok(Standing::Current),
            Wish::Write | Wish::Decide => Err(newer(place, found, known)),
        };
    }
    match found {
        0 => Err(half("oneact_migrations is empty".to_owned())),
        found if found == known => Ok(Standing::Current),
        found => Ok(Standing::Older(found)),
    }
}

/// Applies what is missing, in one transaction that no other writer comes between.
fn migrate(line: &Line, place: &str) -> Result<(), StoreError> {
    let trouble = |failure: Failure| refused(place, &failure);
    line.batch(&format!(
        "BEGIN; SELECT pg_catalog.pg_advisory_xact_lock({WRITER})"
    ))
    .map_err(trouble)?;
    // Somebody else may have done it while we waited. A question that fails ends the transaction, so
    // this one cannot.
    let there = "SELECT to_regclass('public.oneact_migrations') IS NOT NULL, current_setting('server_encoding')";
    let asked = line.rows(there, &[]).map_err(trouble)?;
    let there = asked
        .first()
        .is_some_and(|row| row.try_get(0).unwrap_or_default());
    let encoding = asked.first().and_then(|row| row.try_get(1).ok());
    if encoding.is_some_and(|encoding: &str| encoding != "UTF8") {
        return Err(Trouble::Foreign.with(place, "its encoding is not UTF8"));
    }
    let from = if there {
        match standing(place, line.rows(VERSIONS, &[]), Wish::Write)? {
            Standing::Nothing => 0,
            Standing::Older(found) => found,
            Standing::Current => return line.batch("COMMIT").map_err(trouble),
        }
    } else {
        check_actions(line, place)?;
        0
    };
    for migration in MIGRATIONS.iter().filter(|known| known.version > from) {
        line.batch(migration.sql).map_err(trouble)?;
        line.rows(
            "INSERT INTO public.oneact_migrations (version, name, checksum, oneact_version) VALUES ($1, $2, $3, $4)",
            &[
                Value::Int(migration.version),
                migration.name.into(),
                Value::Text(migration.checksum()),
                env!("CARGO_PKG_VERSION").into(),
            ],
        )
        .map_err(trouble)?;
    }
    line.batch("COMMIT")
        .map_err(|failure| Stage::Keeping.trouble(place, &failure))
}

fn refused(place: &str, failure: &Failure) -> StoreError {
    let why = failure.words();
    if failure.is(&SqlState::INSUFFICIENT_PRIVILEGE) {
        let why = format!(
            "its tables are not there yet, and this user may not make them ({why}). Run oneact once as the \
             owner of the database, or of the table agent_actions"
        );
        return Trouble::ReadOnly.with(place, why);
    }
    let taken = [
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_FUNCTION,
        SqlState::DUPLICATE_OBJECT,
        SqlState::DUPLICATE_COLUMN,
        SqlState::DATATYPE_MISMATCH,
    ];
    if taken.iter().any(|code| failure.is(code)) {
        return Trouble::Foreign.with(place, why);
    }
    Stage::Working.trouble(place, failure)
}

/// The columns that a table `agent_actions` may have, and their types: ours, and those of specification 004's
/// older schema.
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

/// Whether a table `agent_actions` that was there before us is specification 004's.
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
            format!("it has a table agent_actions that is not specification 004's: {why}"),
        ))
    };
    let known = known();
    let mut found = Vec::new();
    for row in &columns {
        let text = |at: usize| row.try_get::<_, String>(at).unwrap_or_default();
        let (name, kind) = (text(0), text(1));
        if text(3) != "r" && text(3) != "p" {
            return foreign("it is no table".to_owned());
        }
        let wanted = known.iter().find(|(known, _)| *known == name);
        match wanted {
            Some((_, wanted)) if *wanted != kind => {
                return foreign(format!("{name} is {kind} and not {wanted}"));
            }
            None if row.try_get(2).unwrap_or(true) => {
                return foreign(format!("{name} must be filled in, and nobody would"));
            }
            _ => found.push(name),
        }
    }
    match ALWAYS
        .iter()
        .find(|name| !found.iter().any(|found| found == *name))
    {
        Some(missing) => foreign(format!("it has no {missing}")),
        None => Ok(()),
    }
}
