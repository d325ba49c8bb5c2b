//! What all sessions have in common: their counts, and conditions for rows of every session.

use super::{
    Record as _, StoreError, Tx,
    rows::{SESSION, Which},
    sql::Value,
};
use crate::ledger::record::Row;

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

/// A task that failed: not one that waits, and no step of a task.
const FAILED: &str =
    "outcome IS DISTINCT FROM 'success' AND state IS DISTINCT FROM 'pending' AND parent IS NULL";

impl Which {
    /// The tasks that failed.
    pub(crate) fn failed(self) -> Self {
        self.both([FAILED; 2], None)
    }

    /// The answers since that time (RFC 3339, UTC, milliseconds).
    pub(crate) fn answered_since(self, time: &str) -> Self {
        let value = Some(Value::from(time));
        self.and_each(
            ("timestamp >= ?", value.clone()),
            ("timestamp >= ?::timestamptz", value),
        )
    }

    /// The answers of a catalog entry, also those of tasks that name others beside it.
    pub(crate) fn of_entry(self, id: &str) -> Self {
        let value = Some(Value::Text(format!("+{id}+")));
        self.and_each(
            ("instr('+' || action_type || '+', ?)", value.clone()),
            ("strpos('+' || action_type || '+', ?) > 0", value),
        )
    }

    /// The answers for tasks of that name, or about the plan of that name, in every session, the newest first.
    pub(crate) fn called(name: &str) -> Self {
        Self::newest()
            .both(
                [
                    "? IN (task_id, target_id)",
                    "? IN (task_id, target_key, target_id::text)",
                ],
                Some(name.into()),
            )
            .both(["parent IS NULL"; 2], None)
    }

    /// The answers for tasks of that name in every session, the newest first.
    pub(crate) fn task_anywhere(task_id: &str) -> Self {
        Self::newest()
            .and("task_id = ?", task_id)
            .both(["parent IS NULL"; 2], None)
    }
}

impl Tx<'_> {
    /// Up to `most` sessions with answers, the last used first.
    pub(crate) fn counts(&mut self, most: usize) -> Result<Vec<Counts>, StoreError> {
        let (table, session) = (Row::table(self.engine), self.engine.choose(SESSION));
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
