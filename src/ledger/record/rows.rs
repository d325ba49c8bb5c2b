//! Rows of `agent_actions`: how they are found, added and changed.

use super::{
    super::store::{Engine, Result, Seq, Trouble, Tx, Value, list},
    link::Link,
    row::Row,
    which::{FAILED, SESSION, Which},
};

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
