//! Rows of `agent_actions`: how they are written and found.

use rusqlite::{Connection, Result, params, params_from_iter, types::Value};

use super::columns::{Columns, Count, Since, Word};
use crate::ledger::{
    record::{Row, RowOutcome, RowState},
    store::{Delivery, Earlier, Which},
};

/// The columns, in the order in which the table has them, and they are written and read.
const COLUMNS: &str = "id, agent_name, action_type, target_type, target_id, outcome, request, request_hash, response, \
    confidence_score, session_id, step_index, timestamp, state, operation_id, request_id, idempotency_key, task_id, \
    attempt, entry_version, entry_digest, tool_pin, oneact_version, inputs_hash, input_ids, output_ids, adjusted, \
    reused_from, reason, fault, started_at, duration_ms, request_sha256, response_sha256, seq, revoked_by";

/// What says something new of a delivery: as its indexes have it, or they are not used.
macro_rules! told {
    () => {
        "instr('|done|partial|failed|rolled_back|reused|suppressed|', state)"
    };
}

/// Without the names of the columns: looking them up is a third of what it takes to compile.
pub(super) const INSERT: &str = "INSERT INTO agent_actions VALUES \
    (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

pub(super) fn insert(conn: &Connection, row: &Row) -> Result<()> {
    conn.prepare_cached(INSERT)?.execute(params![
        row.id,
        row.agent_name,
        row.action_type,
        row.target_type,
        row.target_id,
        row.outcome.name(),
        row.request,
        row.request_hash,
        row.response,
        row.confidence_score,
        row.session_id,
        Count(row.step_index),
        row.timestamp,
        row.state.map(RowState::name),
        row.operation_id,
        row.request_id,
        row.idempotency_key,
        row.task_id,
        row.attempt,
        row.entry_version,
        row.entry_digest,
        row.tool_pin,
        row.oneact_version,
        row.inputs_hash,
        row.input_ids,
        row.output_ids,
        row.adjusted,
        row.reused_from,
        row.reason,
        row.fault,
        row.started_at,
        Count(row.duration_ms),
        row.request_sha256,
        row.response_sha256,
        row.seq.map(Count),
        row.revoked_by.map(Count),
    ])?;
    Ok(())
}

/// Most questions of a run find nothing, and a statement for a whole row takes long to compile: the rows are
/// asked for by number once it is known which.
pub(super) fn select(conn: &Connection, which: &Which<'_>, most: usize) -> Result<Vec<Row>> {
    let found = numbers(conn, "rowid", which, most)?;
    let columns = match which {
        Which::ReusesOf(_) => &COLUMNS
            .replace("request, ", "NULL, ")
            .replace("response, ", "NULL, "),
        _ => COLUMNS,
    };
    let whole = format!("SELECT {columns} FROM agent_actions WHERE rowid = ?");
    let one = |rowid: i64| {
        let mut statement = conn.prepare_cached(&whole)?;
        statement.query_row([rowid], |row| read(&mut Columns::of(row)))
    };
    found.into_iter().map(one).collect()
}

pub(super) fn steps(conn: &Connection, which: &Which<'_>, most: usize) -> Result<Vec<u64>> {
    let found = numbers(conn, "step_index", which, most)?;
    // The schema holds them above zero.
    Ok(found.into_iter().map(i64::unsigned_abs).collect())
}

fn numbers(conn: &Connection, column: &str, which: &Which<'_>, most: usize) -> Result<Vec<i64>> {
    let (text, mut values) = query(column, which);
    values.push(Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)));
    let mut statement = conn.prepare_cached(&text)?;
    let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
    rows.collect()
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn number(number: u64) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The condition, and its values but for the session and the link.
fn earlier(what: &Earlier<'_>) -> (&'static str, Vec<Value>) {
    match *what {
        Earlier::Success {
            action_type,
            request_hash,
        } => (
            "request_hash = ?1 AND action_type = ?2 AND session_id = ?3 AND seq < ?4 \
             AND outcome = 'success' AND state IN ('done', 'partial')",
            vec![text(request_hash), text(action_type)],
        ),
        Earlier::Failure { task_id } => (
            "task_id = ?1 AND session_id = ?2 AND (seq IS NULL OR seq < ?3) AND outcome IS NOT 'success'",
            vec![text(task_id)],
        ),
    }
}

/// What nothing but a run asks: that no other index is weighed takes a third off the time to compile it.
fn index(which: &Which<'_>) -> &'static str {
    match which {
        Which::Delivery(Delivery::Key { .. }) => "INDEXED BY agent_actions_key",
        Which::Delivery(Delivery::Task { .. }) => "INDEXED BY agent_actions_delivery",
        _ => "",
    }
}

/// The statement and its values, but for how many at most.
pub(super) fn query(columns: &str, which: &Which<'_>) -> (String, Vec<Value>) {
    let newest = "seq DESC, rowid DESC";
    let (filter, order, values) = match *which {
        Which::Delivery(Delivery::Key {
            session_id,
            idempotency_key,
        }) => (
            concat!("session_id = ? AND idempotency_key = ? AND ", told!()),
            newest,
            vec![text(session_id), text(idempotency_key)],
        ),
        Which::Delivery(Delivery::Task {
            session_id,
            request_id,
            task_id,
            attempt,
        }) => {
            let mut values = vec![
                text(session_id),
                text(task_id),
                request_id.map_or(Value::Null, text),
            ];
            values.extend(attempt.map(|attempt| Value::Integer(attempt.into())));
            let filter = match attempt {
                None => concat!(
                    "session_id = ? AND task_id = ? AND request_id IS ? AND ",
                    told!()
                ),
                Some(_) => concat!(
                    "session_id = ? AND task_id = ? AND request_id IS ? AND attempt = ? AND ",
                    told!()
                ),
            };
            (filter, newest, values)
        }
        Which::Task {
            session_id,
            task_id,
        } => (
            "session_id = ? AND task_id = ?",
            newest,
            vec![text(session_id), text(task_id)],
        ),
        Which::Runs {
            session_id,
            task_id,
        } => (
            "session_id = ? AND task_id = ? AND state IN ('done', 'partial', 'failed', 'rolled_back', 'cancelled')",
            newest,
            vec![text(session_id), text(task_id)],
        ),
        // No text that begins so comes after it with the last character behind.
        Which::Operation(begin) => (
            "operation_id >= ?1 AND operation_id < ?1 || char(1114111) AND (?2 IS NULL OR session_id = ?2)",
            "operation_id <> ?1, seq DESC, rowid DESC",
            vec![text(begin.text), begin.session_id.map_or(Value::Null, text)],
        ),
        Which::Id(begin) => (
            "id >= ?1 AND id < ?1 || char(1114111) AND (?2 IS NULL OR session_id = ?2)",
            "id",
            vec![text(begin.text), begin.session_id.map_or(Value::Null, text)],
        ),
        Which::Session(session_id) => ("session_id = ?", "step_index", vec![text(session_id)]),
        Which::Latest(session_id) => ("session_id = ?", "step_index DESC", vec![text(session_id)]),
        Which::Step {
            session_id,
            step_index,
        } => (
            "session_id = ? AND step_index = ?",
            "step_index",
            vec![text(session_id), number(step_index)],
        ),
        Which::Seq(seq) => ("seq = ?", "seq", vec![number(seq)]),
        Which::From(seq) => ("seq >= ?", "seq", vec![Value::Integer(Since(seq).number())]),
        Which::Earlier {
            than,
            session_id,
            what,
        } => {
            let (filter, mut values) = earlier(&what);
            values.extend([text(session_id), number(than)]);
            (filter, newest, values)
        }
        Which::ReusesOf(id) => ("reused_from = ?", newest, vec![text(id)]),
        Which::Newest => ("TRUE", newest, Vec::new()),
    };
    let hint = index(which);
    let text = format!(
        "SELECT {columns} FROM agent_actions {hint} WHERE {filter} ORDER BY {order} LIMIT ?"
    );
    (text, values)
}

fn read(columns: &mut Columns<'_, '_>) -> Result<Row> {
    let outcome;
    let row = Row {
        id: columns.next()?,
        agent_name: columns.next()?,
        action_type: columns.next()?,
        target_type: columns.next()?,
        target_id: columns.next()?,
        // What it says is known once it is known whether the row is ours.
        outcome: {
            outcome = columns.next::<Option<String>>()?;
            RowOutcome::Error
        },
        request: columns.next()?,
        request_hash: columns.next()?,
        response: columns.next()?,
        confidence_score: columns.finite()?,
        session_id: columns.next()?,
        step_index: columns.count()?,
        timestamp: columns.next()?,
        state: columns.next::<Option<Word<RowState>>>()?.map(|word| word.0),
        operation_id: columns.next()?,
        request_id: columns.next()?,
        idempotency_key: columns.next()?,
        task_id: columns.next()?,
        attempt: columns.next()?,
        entry_version: columns.next()?,
        entry_digest: columns.next()?,
        tool_pin: columns.next()?,
        oneact_version: columns.next()?,
        inputs_hash: columns.next()?,
        input_ids: columns.next()?,
        output_ids: columns.next()?,
        adjusted: columns.next()?,
        reused_from: columns.next()?,
        reason: columns.next()?,
        fault: columns.next()?,
        started_at: columns.next()?,
        duration_ms: columns.count()?,
        request_sha256: columns.next()?,
        response_sha256: columns.next()?,
        seq: columns.next::<Option<Count>>()?.map(|seq| seq.0),
        revoked_by: columns.next::<Option<Count>>()?.map(|seq| seq.0),
    };
    Ok(Row {
        outcome: RowOutcome::read(&outcome.unwrap_or_default(), row.seq),
        ..row
    })
}
