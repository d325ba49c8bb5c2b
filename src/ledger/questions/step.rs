//! Question 1 for the steps of a task.

use super::{Questions, Step};
use crate::{
    ledger::{
        record::{Effects, Row, RowOutcome},
        words::{Again, LedgerError},
    },
    task::OnDuplicate,
};

impl Questions<'_, '_, '_> {
    /// A success that an earlier run of the task left is its answer, also where the
    /// catalog says that the request is repeated. A call that may be made twice is made again if an input or its asset
    /// has changed. A failure is no answer: the task goes on from there.
    pub(super) fn same_step(&mut self, row: Row) -> Result<Option<Step>, LedgerError> {
        let repeats = self.ask.on_duplicate == OnDuplicate::Repeat;
        if !repeats
            || row.outcome == RowOutcome::Error
            || row.request_hash != self.hashes.request_hash
        {
            return Ok(None);
        }
        match self.verdict(&row) {
            None if self.ask.effects != Effects::Once => Ok(Some(self.judge(row)?)),
            Some(Err(_)) => Ok(None),
            None | Some(Ok(())) => self.again(Again::Replayed, row).map(Some),
        }
    }
}
