//! Takes over a table of specification 004's own schema as the history of a ledger (R-004-29, R-004-52).

use rusqlite::{Connection, Result, Row};

/// The columns of `agent_actions` in both schemas of specification 004.
const ALWAYS: [&str; 9] = [
    "id",
    "agent_name",
    "action_type",
    "target_type",
    "target_id",
    "outcome",
    "confidence_score",
    "session_id",
    "timestamp",
];

/// The columns of specification 004 that have a newer and an older name.
const RENAMED: [[&str; 2]; 3] = [
    ["response", "payload"],
    ["request", "input"],
    ["request_hash", "input_hash"],
];

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
/// link, and their steps are counted in the order of their time. A column may hold values of any type: they become text.
pub(super) fn take_over(
    conn: &Connection,
    schema: impl Fn(&Connection) -> Result<()>,
) -> Result<()> {
    let columns = columns(conn)?;
    let has = |name: &str| columns.iter().any(|column| column == name);
    let either = |[new, old]: [&str; 2]| match (has(new), has(old)) {
        (true, _) => text(new),
        (_, true) => text(old),
        _ => "NULL".to_owned(),
    };
    let [response, request, request_hash] = RENAMED.map(either);
    let step = if has("step_index") {
        "step_index"
    } else {
        "NULL"
    };
    conn.execute_batch(
        "CREATE TEMP TABLE seed AS SELECT * FROM agent_actions; DROP TABLE agent_actions;",
    )?;
    schema(conn)?;
    let (id, session, time) = (text("id"), text("session_id"), text("timestamp"));
    conn.execute_batch(&format!(
        "INSERT INTO agent_actions (id, agent_name, action_type, target_type, target_id, outcome, request, \
           request_hash, response, confidence_score, session_id, timestamp, started_at, step_index, operation_id, attempt, \
           oneact_version, duration_ms, request_sha256, response_sha256) \
         SELECT COALESCE({id}, 'nameless-' || rowid), {}, {}, {}, {}, {}, {request}, COALESCE({request_hash}, ''), {response}, \
           CASE WHEN typeof(confidence_score) IN ('integer', 'real') THEN confidence_score END, COALESCE({session}, ''), \
           time, time, row_number() OVER (PARTITION BY {session} ORDER BY time, {step}) - 1, '', 1, '', 0, '', '' \
         FROM (SELECT *, rowid, COALESCE(strftime('%Y-%m-%dT%H:%M:%fZ', timestamp, 'auto'), {time}, '') AS time FROM seed); \
         DROP TABLE seed",
        text("agent_name"),
        text("action_type"),
        text("target_type"),
        text("target_id"),
        text("outcome"),
    ))
}

/// The expression for the value of a column as text.
fn text(column: &str) -> String {
    format!(
        "CASE WHEN typeof({column}) <> 'blob' THEN CAST({column} AS TEXT) \
         WHEN json_valid({column}, 8) THEN json({column}) ELSE lower(hex({column})) END"
    )
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
