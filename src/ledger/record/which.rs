//! Queries for rows of `agent_actions`.

use super::{
    super::{
        canonical::sha256,
        store::{Engine, Payloads, Record as _, Seq, Value, uuid},
    },
    row::{Row, UNRECORDED},
};

/// A query for rows of `agent_actions`, for either database. Without another order, the newest row comes first.
#[derive(Debug, Clone)]
pub(crate) struct Which {
    /// The conditions, which must all hold, with the values that each `?` stands for. [`Names`] stand for what the databases
    /// write differently.
    conditions: Vec<(&'static str, Vec<Value>)>,
    /// For SQLite, and for PostgreSQL.
    order: [&'static str; 2],
    /// The index that SQLite must use. Without one, it chooses.
    index: Option<&'static str>,
    pub(super) payloads: Payloads,
}

/// Names in conditions: what SQLite and PostgreSQL write in their place.
const NAMES: [(&str, [&str; 2]); 5] = [
    ("{session}", SESSION),
    ("{id}", ["id", "id::text COLLATE \"C\""]),
    ("{uuid}", ["?", "?::uuid"]),
    ("{time}", ["?", "?::timestamptz"]),
    (
        "{target}",
        ["target_id", "COALESCE(target_key, target_id::text)"],
    ),
];

/// The id of a row's session.
pub(super) const SESSION: [&str; 2] = ["session_id", "COALESCE(session_key, session_id::text)"];

/// The states of answers with a result of their own: no replays, and no ends without a result.
const RESULTS: &str =
    "state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed')";

/// A task that failed: not one that waits, and no step of a task.
pub(super) const FAILED: &str =
    "outcome IS DISTINCT FROM 'success' AND state IS DISTINCT FROM 'pending' AND parent IS NULL";

impl Which {
    pub(crate) fn newest() -> Self {
        Self {
            conditions: Vec::new(),
            order: [
                "seq DESC, rowid DESC",
                "seq DESC NULLS LAST, timestamp DESC NULLS LAST, step_index DESC, id DESC",
            ],
            index: None,
            payloads: Payloads::Read,
        }
    }

    /// The rows of a session, in the order of their steps. Rows of other programs may have no step.
    pub(crate) fn session(id: &str) -> Self {
        Self::newest()
            .within(Some(id))
            .ordered(["step_index", "step_index NULLS FIRST, timestamp, id"])
    }

    /// The rows of a session, the last step first.
    pub(crate) fn latest(session_id: &str) -> Self {
        Self::newest().within(Some(session_id)).ordered([
            "step_index DESC",
            "step_index DESC NULLS LAST, timestamp DESC, id DESC",
        ])
    }

    /// The answer with that number in its session.
    pub(crate) fn step(session_id: &str, number: u64) -> Self {
        Self::latest(session_id).and("step_index = ?", [number])
    }

    /// The answers for a task, without those of its steps.
    pub(crate) fn task(session_id: &str, task_id: &str) -> Self {
        Self::task_anywhere(task_id).within(Some(session_id))
    }

    /// The answers for tasks of that name in every session, the newest first.
    pub(crate) fn task_anywhere(task_id: &str) -> Self {
        Self::newest().and("task_id = ? AND parent IS NULL", [task_id])
    }

    /// The answers for tasks of that name, or about the plan of that name, in every session, the newest first.
    pub(crate) fn called(name: &str) -> Self {
        Self::newest().and(
            "(task_id = ? OR {target} = ?) AND parent IS NULL",
            [name, name],
        )
    }

    /// The answers of the steps of a task, in the order in which they were given.
    pub(crate) fn steps_of(operation_id: &str) -> Self {
        Self::newest()
            .and("parent = ?", [operation_id])
            .ordered(["seq"; 2])
    }

    /// The answers for a task whose runs ended.
    pub(crate) fn runs(session_id: &str, task_id: &str) -> Self {
        Self::task(session_id, task_id)
            .when("state IN ('done', 'partial', 'failed', 'rolled_back', 'cancelled')")
    }

    pub(crate) fn key(session_id: &str, idempotency_key: &str) -> Self {
        Self::newest()
            .within(Some(session_id))
            .and("idempotency_key = ?", [idempotency_key])
            .results("agent_actions_key")
    }

    /// The answers to the delivery of a request's task, which has no key. Without an attempt, every attempt fits. A row
    /// without its request was recorded for a run that died, and does not name the delivery of that run.
    pub(crate) fn delivery(
        session_id: &str,
        request_id: Option<&str>,
        task_id: &str,
        attempt: Option<u32>,
    ) -> Self {
        let all = Self::task(session_id, task_id)
            .and("request_id IS NOT DISTINCT FROM ?", [request_id])
            .and("request_sha256 IS DISTINCT FROM ?", [&*sha256(UNRECORDED)])
            .when("idempotency_key IS NULL")
            .results("agent_actions_delivery");
        match attempt {
            Some(attempt) => all.and("attempt = ?", [u64::from(attempt)]),
            None => all,
        }
    }

    /// The answers with a result of their own. The index holds only these.
    fn results(self, index: &'static str) -> Self {
        Self {
            index: Some(index),
            ..self.when(RESULTS)
        }
    }

    /// The rows whose operation id begins with `text`. Those of the operation `text` itself come first.
    pub(crate) fn operation(text: &str) -> Self {
        Self::newest()
            .and(
                "operation_id >= ? AND operation_id < ?",
                Value::beginning(text),
            )
            .ordered([
                "operation_id <> ?1, seq DESC, rowid DESC",
                "operation_id <> ?1, seq DESC NULLS LAST, timestamp DESC NULLS LAST, id DESC",
            ])
    }

    /// The row of that id.
    pub(crate) fn id(id: &str) -> Self {
        Self::newest().and("id = {uuid}", [id])
    }

    /// The rows whose own id begins with `text`, in the order of their ids.
    pub(crate) fn id_begins(text: &str) -> Self {
        let limits = Value::beginning(&text.to_ascii_lowercase());
        Self::newest()
            .and("{id} >= ? AND {id} < ?", limits)
            .ordered(["id"; 2])
    }

    pub(crate) fn link(seq: Seq) -> Self {
        Self::newest().and("seq = ?", [seq])
    }

    /// The rows of that link and of later ones, in the order of the links.
    pub(crate) fn since(seq: Seq) -> Self {
        Self::newest()
            .and("seq >= ?", [Value::since(seq)])
            .ordered(["seq", "seq NULLS FIRST"])
    }

    /// The successes of the same request.
    pub(crate) fn success(session_id: &str, request_hash: &str) -> Self {
        Self::newest()
            .within(Some(session_id))
            .and("request_hash = ?", [request_hash])
            .when("outcome = 'success' AND state IN ('done', 'partial')")
    }

    /// The repetitions of an answer to that request after that link, for tasks of that name.
    pub(crate) fn repeated(
        session_id: &str,
        request_hash: &str,
        task_id: Option<&str>,
        after: Seq,
    ) -> Self {
        Self::newest()
            .within(Some(session_id))
            .and("request_hash = ?", [request_hash])
            .and("task_id IS NOT DISTINCT FROM ?", [task_id])
            .and("seq > ?", [after])
            .when("state IN ('reused', 'suppressed')")
    }

    /// The rows before that link.
    pub(crate) fn before(self, seq: Seq) -> Self {
        self.and("seq < ?", [seq])
    }

    /// The failures of that task before that link.
    pub(crate) fn failure(session_id: &str, task_id: &str, before: Seq) -> Self {
        Self::task(session_id, task_id)
            .and("(seq IS NULL OR seq < ?)", [before])
            .when("outcome IS DISTINCT FROM 'success'")
    }

    /// The rows that reuse that row, without their payloads: they can be many. The index keeps them in this order.
    pub(crate) fn reuses_of(id: &str) -> Self {
        let rows = Self::newest().and("reused_from = {uuid}", [id]);
        Self {
            payloads: Payloads::Left,
            ..rows.ordered(["rowid DESC", "seq DESC NULLS LAST"])
        }
    }

    /// Restricts the query to a session, if one is given.
    pub(crate) fn within(self, session_id: Option<&str>) -> Self {
        match session_id {
            Some(id) => self.and("{session} = ?", [id]),
            None => self,
        }
    }

    /// The tasks that failed.
    pub(crate) fn failed(self) -> Self {
        self.when(FAILED)
    }

    /// The answers since that time (RFC 3339, UTC, milliseconds).
    pub(crate) fn answered_since(self, time: &str) -> Self {
        self.and("timestamp >= {time}", [time])
    }

    /// The answers of a catalog entry, also those of tasks that name others beside it.
    pub(crate) fn of_entry(self, id: &str) -> Self {
        let id = format!("+{id}+");
        self.and(
            "replace('+' || action_type || '+', ?, '') <> '+' || action_type || '+'",
            [id.as_str()],
        )
    }

    fn when(self, condition: &'static str) -> Self {
        self.and(condition, [Value::Null; 0])
    }

    fn and<V: Into<Value>, const N: usize>(
        mut self,
        condition: &'static str,
        values: [V; N],
    ) -> Self {
        let values = values.map(Into::into).into();
        self.conditions.push((condition, values));
        self
    }

    fn ordered(self, order: [&'static str; 2]) -> Self {
        Self { order, ..self }
    }

    /// The statement that reads `columns` of up to `most` rows, and its values.
    pub(in crate::ledger) fn statement(
        &self,
        engine: Engine,
        columns: &str,
        most: usize,
    ) -> (String, Vec<Value>) {
        let table = engine.choose(Row::TABLE);
        // SQLite compiles it in two thirds of the time, because it does not weigh other indexes.
        let hint = match (engine, self.index) {
            (Engine::Sqlite, Some(index)) => format!("INDEXED BY {index}"),
            _ => String::new(),
        };
        let order = engine.choose(self.order);
        let mut values = Vec::new();
        let mut all = vec!["TRUE".to_owned()];
        for (condition, of) in &self.conditions {
            let mut text = (*condition).to_owned();
            for (name, written) in NAMES {
                text = text.replace(name, engine.choose(written));
            }
            for value in of {
                values.push(match value {
                    Value::Text(id) if text.contains("?::uuid") => Value::Text(uuid(id)),
                    value => value.clone(),
                });
                text = text.replacen('?', &format!("${}", values.len()), 1);
            }
            all.push(text.replace('$', "?"));
        }
        let condition = all.join(" AND ");
        values.push(Value::limit(most));
        let most = values.len();
        let text = format!(
            "SELECT {columns} FROM {table} {hint} WHERE {condition} ORDER BY {order} LIMIT ?{most}"
        );
        (text, values)
    }
}
