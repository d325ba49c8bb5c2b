//! Takes over a table of specification 004's own schema as the history of a ledger (R-004-29, R-004-52).
//!
//! A column of SQLite may hold values of any type. Values that are no text are converted to text, and nothing is
//! invented.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use rusqlite::{Connection, Result, Row, params, types::ValueRef};

use crate::{
    evidence::instant,
    ledger::record::{ALWAYS, RENAMED},
};

/// Whether the database contains only that table and its indexes.
pub(super) fn is_one(conn: &Connection) -> Result<bool> {
    let others: i64 = conn.query_row(
        "SELECT count(*) FROM sqlite_schema \
         WHERE NOT (tbl_name = 'agent_actions' AND type IN ('table', 'index')) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        [],
        |row| row.get(0),
    )?;
    let columns = columns(conn)?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    let known = |name: &String| {
        let name = name.as_str();
        ALWAYS.contains(&name) || RENAMED.as_flattened().contains(&name) || name == "step_index"
    };
    Ok(others == 0
        && ALWAYS.iter().all(|name| has(name))
        && RENAMED.iter().all(|[new, old]| !(has(new) && has(old)))
        && columns.iter().all(known))
}

/// Replaces the old table by the one of `schema`, and copies the old rows into it. These have neither state nor
/// link, and their steps are counted in the order of their time.
pub(super) fn take_over(
    conn: &Connection,
    schema: impl Fn(&Connection) -> Result<()>,
) -> Result<()> {
    let columns = columns(conn)?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    let either = |[new, old]: [&str; 2]| match (has(new), has(old)) {
        (true, _) => format!("seed.{new}"),
        (_, true) => format!("seed.{old}"),
        _ => "NULL".to_owned(),
    };
    // The old indexes would keep their names, which the schema may use.
    let named = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'agent_actions' AND sql IS NOT NULL";
    let indexes: Vec<String> = all(conn, named, |row| row.get(0))?;
    for index in indexes {
        conn.execute_batch(&format!("DROP INDEX \"{}\"", index.replace('"', "\"\"")))?;
    }
    conn.execute_batch("ALTER TABLE agent_actions RENAME TO seed_actions")?;
    schema(conn)?;
    let [response, request, request_hash] = RENAMED.map(either);
    let step = either(["step_index"; 2]);
    let mut old = conn.prepare(&format!(
        "SELECT seed.id, seed.agent_name, seed.action_type, seed.target_type, seed.target_id, seed.outcome, \
         {request}, {request_hash}, {response}, seed.confidence_score, seed.session_id, seed.timestamp \
         FROM seed_actions seed ORDER BY seed.timestamp, {step}"
    ))?;
    let mut new = conn.prepare(
        "INSERT INTO agent_actions (id, agent_name, action_type, target_type, target_id, outcome, request, \
         request_hash, response, confidence_score, session_id, timestamp, step_index, operation_id, attempt, \
         oneact_version, started_at, duration_ms, request_sha256, response_sha256) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, \
         (SELECT coalesce(max(step_index) + 1, 0) FROM agent_actions WHERE session_id = ?11), \
         '', 1, '', ?12, 0, '', '')",
    )?;
    let mut rows = old.query([])?;
    let mut nameless = 0..;
    while let Some(row) = rows.next()? {
        new.execute(params![
            id(row, 0)?.or_else(|| Some(format!("nameless-{}", nameless.next()?))),
            text(row, 1)?,
            text(row, 2)?,
            text(row, 3)?,
            id(row, 4)?,
            text(row, 5)?,
            json(conn, row, 6)?,
            text(row, 7)?.unwrap_or_default(),
            json(conn, row, 8)?,
            number(row, 9)?,
            id(row, 10)?.unwrap_or_default(),
            moment(row, 11)?.unwrap_or_default(),
        ])?;
    }
    drop(rows);
    drop(old);
    conn.execute_batch("DROP TABLE seed_actions")
}

fn columns(conn: &Connection) -> Result<Vec<String>> {
    let text = "SELECT lower(name) FROM pragma_table_info('agent_actions')";
    all(conn, text, |row| row.get(0))
}

/// The rows that a query finds.
pub(super) fn all<T, C: FromIterator<T>>(
    conn: &Connection,
    text: &str,
    read: impl FnMut(&Row<'_>) -> Result<T>,
) -> Result<C> {
    conn.prepare(text)?.query_map([], read)?.collect()
}

fn text(row: &Row<'_>, at: usize) -> Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    })
}

/// An id. A UUID may be stored as its sixteen bytes.
fn id(row: &Row<'_>, at: usize) -> Result<Option<String>> {
    match row.get_ref(at)? {
        ValueRef::Blob(bytes) if bytes.len() == 16 => {
            Ok(uuid::Uuid::from_slice(bytes).ok().map(|id| id.to_string()))
        }
        _ => text(row, at),
    }
}

/// JSON, which may be stored in SQLite's binary form.
fn json(conn: &Connection, row: &Row<'_>, at: usize) -> Result<Option<String>> {
    if let ValueRef::Blob(bytes) = row.get_ref(at)? {
        let read = "SELECT CASE WHEN json_valid(?1, 8) THEN json(?1) END";
        if let Some(json) = conn.query_row(read, [bytes], |row| row.get(0))? {
            return Ok(Some(json));
        }
    }
    text(row, at)
}

fn number(row: &Row<'_>, at: usize) -> Result<Option<f64>> {
    let number: Option<f64> = match row.get_ref(at)? {
        ValueRef::Real(number) => Some(number),
        _ => text(row, at)?.and_then(|text| text.trim().parse().ok()),
    };
    Ok(number.filter(|number| number.is_finite()))
}

/// A time: seconds or milliseconds since 1970, or a text, in UTC unless it names another zone. Other texts stay as
/// they are.
fn moment(row: &Row<'_>, at: usize) -> Result<Option<String>> {
    /// From here on a number means milliseconds: as such it is in 1973, as seconds in the year 5138.
    const MILLISECONDS: i64 = 100_000_000_000;
    let Some(text) = text(row, at)? else {
        return Ok(None);
    };
    let read = || {
        if let Ok(number) = text.parse::<i64>() {
            return match number {
                MILLISECONDS.. => Timestamp::from_millisecond(number).ok(),
                _ => Timestamp::from_second(number).ok(),
            };
        }
        let zoned = text.parse::<Timestamp>().ok();
        zoned.or_else(|| {
            let local: DateTime = text.parse().ok()?;
            local.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp())
        })
    };
    Ok(Some(read().map_or(text.clone(), instant)))
}
