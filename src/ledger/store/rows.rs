//! Rows of `agent_actions`: how they are found, added and changed.

use uuid::Uuid;

use super::{
    super::record::{Row, Seq, UNRECORDED},
    StoreError, Trouble, Tx,
    columns::{self, Payloads, Record as _, uuid},
    sql::{Engine, Value},
};
use crate::evidence::sha256;

/// A query for rows of `agent_actions`, for either database. Without another order, the newest row comes first.
#[derive(Debug, Clone)]
pub(crate) struct Which {
    /// The conditions, which must all hold: for SQLite, and for PostgreSQL.
    conditions: [Vec<Condition>; 2],
    /// For SQLite, and for PostgreSQL.
    order: [String; 2],
    /// The index that SQLite must use. Without one, it chooses.
    index: Option<&'static str>,
    pub(super) payloads: Payloads,
}

/// A condition, and the value that `?` stands for.
type Condition = (&'static str, Option<Value>);

const NEWEST_FIRST: [&str; 2] = [
    "seq DESC, rowid DESC",
    "seq DESC NULLS LAST, timestamp DESC NULLS LAST, step_index DESC, id DESC",
];

/// The id of a row's session.
pub(super) const SESSION: [&str; 2] = ["session_id", "COALESCE(session_key, session_id::text)"];

impl Which {
    pub(crate) fn newest() -> Self {
        Self {
            conditions: [Vec::new(), Vec::new()],
            order: NEWEST_FIRST.map(ToOwned::to_owned),
            index: None,
            payloads: Payloads::Kept,
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
        Self::latest(session_id).and("step_index = ?", number)
    }

    /// The answers for a task, without those of its steps.
    pub(crate) fn task(session_id: &str, task_id: &str) -> Self {
        Self::task_anywhere(task_id).within(Some(session_id))
    }

    /// The answers of the steps of a task, in the order in which they were given.
    pub(crate) fn steps_of(operation_id: &str) -> Self {
        Self::newest()
            .and("parent = ?", operation_id)
            .ordered(["seq", "seq"])
    }

    /// The answers for a task whose runs ended.
    pub(crate) fn runs(session_id: &str, task_id: &str) -> Self {
        let states = "state IN ('done', 'partial', 'failed', 'rolled_back', 'cancelled')";
        Self::task(session_id, task_id).both([states; 2], None)
    }

    pub(crate) fn key(session_id: &str, idempotency_key: &str) -> Self {
        Self::newest()
            .within(Some(session_id))
            .and("idempotency_key = ?", idempotency_key)
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
            .and("request_id IS NOT DISTINCT FROM ?", request_id)
            .and("request_sha256 IS DISTINCT FROM ?", &*sha256(UNRECORDED))
            .both(["idempotency_key IS NULL"; 2], None)
            .results("agent_actions_delivery");
        match attempt {
            Some(attempt) => all.and("attempt = ?", u64::from(attempt)),
            None => all,
        }
    }

    /// The answers with a result of their own: no replays, and no ends without a result. The index holds only
    /// these. SQLite uses it only if the condition has the index's own wording.
    fn results(self, index: &'static str) -> Self {
        let states = [
            "instr('|done|partial|failed|rolled_back|reused|suppressed|', state)",
            "state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed')",
        ];
        Self {
            index: Some(index),
            ..self.both(states, None)
        }
    }

    /// The rows whose operation id begins with `text`. Those of the operation `text` itself come first.
    pub(crate) fn operation(text: &str) -> Self {
        // A text with this prefix is less than the prefix with the last code point after it.
        let begins = [
            "operation_id >= ? AND operation_id < ? || char(1114111)",
            "operation_id >= ? AND operation_id < ? || chr(1114111)",
        ];
        Self {
            order: NEWEST_FIRST.map(|order| format!("operation_id <> ?1, {order}")),
            ..Self::newest().both(begins, Some(text.into()))
        }
    }

    /// The rows whose own id begins with `text`, in the order of their ids.
    pub(crate) fn id(text: &str) -> Self {
        let postgres = match ['0', 'f'].map(|digit| filled(text, digit)) {
            [Some(first), Some(last)] => (
                "id BETWEEN split_part(?, ' ', 1)::uuid AND split_part(?, ' ', 2)::uuid",
                Some(Value::Text(format!("{first} {last}"))),
            ),
            _ => ("FALSE", None),
        };
        let sqlite = "id >= ? AND id < ? || char(1114111)";
        Self::newest()
            .and_each((sqlite, Some(text.into())), postgres)
            .ordered(["id", "id"])
    }

    pub(crate) fn link(seq: Seq) -> Self {
        Self::newest().and("seq = ?", seq)
    }

    /// The rows of that link and of later ones, in the order of the links. Payloads are checked.
    pub(crate) fn since(seq: Seq) -> Self {
        let rows = Self::newest().and("seq >= ?", Value::since(seq));
        Self {
            payloads: Payloads::Checked,
            ..rows.ordered(["seq", "seq NULLS FIRST"])
        }
    }

    /// The successes of the same request.
    pub(crate) fn success(session_id: &str, request_hash: &str) -> Self {
        let success = "outcome = 'success' AND state IN ('done', 'partial')";
        Self::newest()
            .within(Some(session_id))
            .and("request_hash = ?", request_hash)
            .both([success; 2], None)
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
            .and("request_hash = ?", request_hash)
            .and("task_id IS NOT DISTINCT FROM ?", task_id)
            .and("seq > ?", after)
            .both(["state IN ('reused', 'suppressed')"; 2], None)
    }

    /// The rows before that link.
    pub(crate) fn before(self, seq: Seq) -> Self {
        self.and("seq < ?", seq)
    }

    /// The failures of that task before that link.
    pub(crate) fn failure(session_id: &str, task_id: &str, before: Seq) -> Self {
        Self::task(session_id, task_id).and(
            "(seq IS NULL OR seq < ?) AND outcome IS DISTINCT FROM 'success'",
            before,
        )
    }

    /// The rows that reuse that row, without their payloads: they can be many. The index keeps them in this order.
    pub(crate) fn reuses_of(id: &str) -> Self {
        let rows = Self::newest().and_each(
            ("reused_from = ?", Some(id.into())),
            ("reused_from = ?::uuid", Some(Value::Text(uuid(id)))),
        );
        Self {
            payloads: Payloads::Left,
            ..rows.ordered(["rowid DESC", "seq DESC NULLS LAST"])
        }
    }

    /// Restricts the query to a session, if one is given.
    pub(crate) fn within(self, session_id: Option<&str>) -> Self {
        let session = [
            "session_id = ?",
            "COALESCE(session_key, session_id::text) = ?",
        ];
        match session_id {
            Some(id) => self.both(session, Some(id.into())),
            None => self,
        }
    }

    pub(super) fn and(self, condition: &'static str, value: impl Into<Value>) -> Self {
        self.both([condition; 2], Some(value.into()))
    }

    pub(super) fn both(self, [sqlite, postgres]: [&'static str; 2], value: Option<Value>) -> Self {
        self.and_each((sqlite, value.clone()), (postgres, value))
    }

    pub(super) fn and_each(mut self, sqlite: Condition, postgres: Condition) -> Self {
        let [in_sqlite, in_postgres] = &mut self.conditions;
        in_sqlite.push(sqlite);
        in_postgres.push(postgres);
        self
    }

    fn ordered(self, order: [&str; 2]) -> Self {
        let order = order.map(ToOwned::to_owned);
        Self { order, ..self }
    }

    /// The statement that reads `columns` of up to `most` rows, and its values.
    pub(super) fn statement(
        &self,
        engine: Engine,
        columns: &str,
        most: usize,
    ) -> (String, Vec<Value>) {
        let table = Row::table(engine);
        // SQLite compiles it in two thirds of the time, because it does not weigh other indexes.
        let hint = match (engine, self.index) {
            (Engine::Sqlite, Some(index)) => format!("INDEXED BY {index}"),
            _ => String::new(),
        };
        let order = engine.choose(self.order.each_ref());
        let mut values = Vec::new();
        let mut all = vec!["TRUE".to_owned()];
        for (condition, value) in engine.choose(self.conditions.each_ref()) {
            values.extend(value.clone());
            all.push(condition.replace('?', &format!("?{}", values.len())));
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

impl Tx<'_> {
    pub(crate) fn insert(&mut self, row: &Row) -> Result<(), StoreError> {
        self.insert_record(row)
    }

    pub(crate) fn rows(&mut self, which: &Which, most: usize) -> Result<Vec<Row>, StoreError> {
        let columns = columns::list::<Row>(self.engine, which.payloads);
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

    pub(crate) fn row(&mut self, which: &Which) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(which, 1)?.pop())
    }

    /// The row whose answer a row repeats.
    pub(crate) fn source(&mut self, row: &Row) -> Result<Option<Row>, StoreError> {
        match &row.reused_from {
            Some(id) => self.row(&Which::id(id)),
            None => Ok(None),
        }
    }

    /// The step numbers of up to `most` rows.
    pub(crate) fn steps(&mut self, which: &Which, most: usize) -> Result<Vec<u64>, StoreError> {
        let step = self.engine.choose(["step_index", "step_index::bigint"]);
        Ok(numbers(&self.chosen(step, which, most)?))
    }

    /// Marks a row as revoked by that link.
    pub(crate) fn revoke(&mut self, row_id: &str, by: Seq) -> Result<(), StoreError> {
        let condition = "COALESCE(revoked_by, ?2) = ?2";
        self.change(row_id, by, "revoked_by = ?2", condition)
    }

    /// Removes request and response of a row, as that link says. Their hashes stay.
    pub(crate) fn prune(&mut self, row_id: &str, by: Seq) -> Result<(), StoreError> {
        let nothing = self.engine.choose([
            "pruned = ?2, request = NULL, response = NULL",
            "pruned = ?2, request = NULL, request_text = NULL, response = NULL, response_text = NULL",
        ]);
        self.change(row_id, by, nothing, "pruned IS NULL")
    }

    /// The number of rows from before oneact. They have neither state nor link.
    pub(crate) fn outside(&mut self) -> Result<u64, StoreError> {
        let table = Row::table(self.engine);
        let count = format!("SELECT count(*) FROM {table} WHERE seq IS NULL AND state IS NULL");
        self.number(&count, &[])
    }

    /// The id of a row that has a state, as oneact's rows do, but names no link.
    pub(crate) fn unlinked(&mut self) -> Result<Option<String>, StoreError> {
        let found: Option<Row> =
            self.one("WHERE seq IS NULL AND state IS NOT NULL LIMIT 1", &[])?;
        Ok(found.map(|row| row.id))
    }

    pub(crate) fn answers(&mut self, session_id: &str) -> Result<u64, StoreError> {
        let (table, session) = (Row::table(self.engine), self.engine.choose(SESSION));
        let text = format!("SELECT count(*) FROM {table} WHERE {session} = ?1");
        self.number(&text, &[session_id.into()])
    }

    /// The number that the next answer of a session gets.
    pub(crate) fn next_step(&mut self, session_id: &str) -> Result<u64, StoreError> {
        // The number follows oneact's own last one, because other programs may write rows, too. The first one
        // follows the rows before it, except for numbers that are too large to be counts.
        let (table, session) = (Row::table(self.engine), self.engine.choose(SESSION));
        let [last, number] = self.engine.choose([
            ["min(max(step_index), 1 << 40)", ""],
            ["max(step_index)", "::bigint"],
        ]);
        let text = format!(
            "SELECT COALESCE((SELECT {last} FROM {table} WHERE {session} = ?1 AND seq IS NOT NULL), \
              (SELECT max(step_index) FROM {table} \
               WHERE {session} = ?1 AND step_index BETWEEN 0 AND 1073741823)){number} + 1"
        );
        self.number(&text, &[session_id.into()])
    }

    /// Reads these columns of the rows.
    fn chosen(
        &mut self,
        columns: &str,
        which: &Which,
        most: usize,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let (text, values) = which.statement(self.engine, columns, most);
        self.db.run(&text, &values)
    }

    /// The number that a statement finds, or 0.
    pub(super) fn number(&mut self, statement: &str, values: &[Value]) -> Result<u64, StoreError> {
        let found = numbers(&self.db.run(statement, values)?);
        Ok(found.first().copied().unwrap_or_default())
    }

    /// Changes a row as that link says. The id is the first value and the link the second one. The change is refused if the
    /// row does not fulfil the condition.
    fn change(
        &mut self,
        row_id: &str,
        by: Seq,
        set: &str,
        condition: &str,
    ) -> Result<(), StoreError> {
        let (table, id) = (
            Row::table(self.engine),
            self.engine.choose(["?1", "?1::uuid"]),
        );
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

/// The first (`0`) or the last (`f`) UUID that begins with `beginning`; none if no UUID does.
fn filled(beginning: &str, digit: char) -> Option<String> {
    let beginning = beginning.to_ascii_lowercase();
    let dashes = [8, 13, 18, 23];
    let rest =
        (beginning.chars().count()..36).map(|at| if dashes.contains(&at) { '-' } else { digit });
    let whole: String = beginning.chars().chain(rest).collect();
    (whole.len() == 36 && Uuid::try_parse(&whole).is_ok()).then_some(whole)
}
