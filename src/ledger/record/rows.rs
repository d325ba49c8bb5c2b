//! Rows of `agent_actions`: how they are found, added and changed.

use super::{
    super::{
        canonical::sha256,
        store::{Engine, Payloads, Record as _, Result, Seq, Trouble, Tx, Value, list, uuid},
    },
    link::Link,
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
    pub(in crate::ledger) payloads: Payloads,
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
pub(in crate::ledger) const SESSION: [&str; 2] =
    ["session_id", "COALESCE(session_key, session_id::text)"];

/// The states of answers with a result of their own: no replays, and no ends without a result.
const RESULTS: &str =
    "state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed')";

/// A task that failed: not one that waits, and no step of a task.
pub(in crate::ledger) const FAILED: &str =
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

/// The numbers of a session's answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) session_id: String,
    pub(crate) steps: u64,
    /// Tasks that failed. Each attempt counts.
    pub(crate) failed: u64,
    /// Tasks whose last answer is that they wait.
    pub(crate) waiting: u64,
}

impl Tx<'_> {
    pub(crate) fn rows(&mut self, which: &Which, most: usize) -> Result<Vec<Row>> {
        let columns = list::<Row>(self.engine, which.payloads);
        if self.engine == Engine::Postgres {
            let found = self.chosen(&columns, which, most)?;
            return self.records(found);
        }
        // Most queries of a run find nothing, and SQLite takes long to compile a statement that reads a whole row.
        // So the first statement finds the numbers of the rows, and the second one reads them.
        let whole = format!("SELECT {columns} FROM agent_actions WHERE rowid = ?1");
        let mut rows = Vec::new();
        for number in self.chosen("rowid", which, most)? {
            let found = self.db.run(&whole, &number)?;
            rows.extend(self.records::<Row>(found)?);
        }
        Ok(rows)
    }

    pub(crate) fn row(&mut self, which: &Which) -> Result<Option<Row>> {
        Ok(self.rows(which, 1)?.pop())
    }

    /// The link that records a row; none for a row from before oneact.
    pub(crate) fn link_of(&mut self, row: &Row) -> Result<Option<Link>> {
        row.seq.map_or(Ok(None), |seq| self.link(seq))
    }

    /// The row whose answer a row repeats.
    pub(crate) fn source(&mut self, row: &Row) -> Result<Option<Row>> {
        match &row.reused_from {
            Some(id) => self.row(&Which::id(id)),
            None => Ok(None),
        }
    }

    /// The step numbers of up to `most` rows.
    pub(crate) fn steps(&mut self, which: &Which, most: usize) -> Result<Vec<u64>> {
        let step = self.engine.choose(["step_index", "step_index::bigint"]);
        Ok(numbers(&self.chosen(step, which, most)?))
    }

    /// Marks a row as revoked by that link.
    pub(crate) fn revoke(&mut self, row_id: &str, by: Seq) -> Result<()> {
        let condition = "COALESCE(revoked_by, ?2) = ?2";
        self.change(row_id, by, "revoked_by = ?2", condition)
    }

    /// Removes request and response of a row, as that link says. Their hashes stay.
    pub(crate) fn prune(&mut self, row_id: &str, by: Seq) -> Result<()> {
        let nothing = self.engine.choose([
            "pruned = ?2, request = NULL, response = NULL",
            "pruned = ?2, request = NULL, request_text = NULL, response = NULL, response_text = NULL",
        ]);
        self.change(row_id, by, nothing, "pruned IS NULL")
    }

    /// The number of rows from before oneact. They have neither state nor link.
    pub(crate) fn outside(&mut self) -> Result<u64> {
        let table = self.table::<Row>();
        let count = format!("SELECT count(*) FROM {table} WHERE seq IS NULL AND state IS NULL");
        self.number(&count, &[])
    }

    /// Whether a row has a state, as oneact's rows do, but names no link.
    pub(crate) fn has_unlinked(&mut self) -> Result<bool> {
        let found: Option<Row> =
            self.one("WHERE seq IS NULL AND state IS NOT NULL LIMIT 1", &[])?;
        Ok(found.is_some())
    }

    pub(crate) fn answers(&mut self, session_id: &str) -> Result<u64> {
        let (table, session) = (self.table::<Row>(), self.engine.choose(SESSION));
        let text = format!("SELECT count(*) FROM {table} WHERE {session} = ?1");
        self.number(&text, &[session_id.into()])
    }

    /// The number that the next answer of a session gets.
    pub(crate) fn next_step(&mut self, session_id: &str) -> Result<u64> {
        // The number follows oneact's own last one, because other programs may write rows, too. The first one
        // follows the rows before it, except for numbers that are too large to be counts.
        let (table, session) = (self.table::<Row>(), self.engine.choose(SESSION));
        let number = self.engine.choose(["", "::bigint"]);
        let text = format!(
            "SELECT COALESCE((SELECT max(step_index) FROM {table} WHERE {session} = ?1 AND seq IS NOT NULL), \
              (SELECT max(step_index) FROM {table} \
               WHERE {session} = ?1 AND step_index BETWEEN 0 AND 1073741823)){number} + 1"
        );
        self.number(&text, &[session_id.into()])
    }

    /// Up to `most` sessions with answers, the last used first.
    pub(crate) fn counts(&mut self, most: usize) -> Result<Vec<Counts>> {
        let (table, session) = (self.table::<Row>(), self.engine.choose(SESSION));
        let nulls = self.engine.choose(["", "NULLS LAST"]);
        let text = format!(
            "SELECT {session} AS session, count(*), count(*) FILTER (WHERE {FAILED}), \
             count(*) FILTER (WHERE state = 'pending' AND parent IS NULL AND NOT EXISTS (\
               SELECT 1 FROM {table} AS later WHERE later.session_id = one.session_id \
               AND later.task_id IS NOT DISTINCT FROM one.task_id AND later.seq > one.seq AND later.parent IS NULL)) \
             FROM {table} AS one GROUP BY session \
             ORDER BY max(seq) DESC {nulls}, max(timestamp) DESC {nulls} LIMIT ?1"
        );
        let found = self.db.run(&text, &[Value::limit(most)])?;
        Ok(found.into_iter().filter_map(counts).collect())
    }

    /// Reads these columns of the rows.
    fn chosen(&mut self, columns: &str, which: &Which, most: usize) -> Result<Vec<Vec<Value>>> {
        let (text, values) = which.statement(self.engine, columns, most);
        self.db.run(&text, &values)
    }

    /// Changes a row as that link says. The id is the first value and the link the second one. The change is refused if the
    /// row does not fulfil the condition.
    fn change(&mut self, row_id: &str, by: Seq, set: &str, condition: &str) -> Result<()> {
        let (table, id) = (self.table::<Row>(), self.engine.choose(["?1", "?1::uuid"]));
        let text = format!("UPDATE {table} SET {set} WHERE id = {id} AND {condition} RETURNING 1");
        let changed = self.db.run(&text, &[row_id.into(), by.into()])?;
        if !changed.is_empty() {
            return Ok(());
        }
        let why = format!("there is no row {row_id} that can be changed in this way");
        Err(Trouble::Refused.with(self.place, why))
    }
}

/// The first value of each row as a number, or 0.
fn numbers(found: &[Vec<Value>]) -> Vec<u64> {
    let first = found.iter().filter_map(|row| row.first());
    first.map(|value| value.number().unwrap_or(0)).collect()
}

fn counts(row: Vec<Value>) -> Option<Counts> {
    let mut values = row.into_iter();
    let session_id = values.next()?.text()?;
    let mut number = || values.next().and_then(|value| value.number()).unwrap_or(0);
    Some(Counts {
        session_id,
        steps: number(),
        failed: number(),
        waiting: number(),
    })
}
