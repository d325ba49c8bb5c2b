//! What the earlier runs of a task mean for its steps.

use super::{Questions, Step};
use crate::{
    ledger::{
        past::Past,
        record::{Claim, ClaimState, Effects, Event, Row, RowOutcome, Seq},
        words::{Again, LedgerError},
    },
    task::OnDuplicate,
};

impl Questions<'_, '_, '_> {
    /// Question 1. A success that an earlier run of the task left is its answer, also where the catalog says that the
    /// request is repeated. A call that may be made twice is made again if an input or its asset has changed. A failure is
    /// no answer: the task goes on from there.
    pub(super) fn same_step(&mut self, row: Row) -> Result<Option<Step>, LedgerError> {
        let may_repeat = self.ask.effects != Effects::Once;
        let suppressed = matches!(self.ask.on_duplicate, OnDuplicate::Suppress(_));
        if row.outcome == RowOutcome::Error
            || row.request_hash != self.hashes.request_hash
            || (may_repeat && suppressed)
        {
            return Ok(None);
        }
        match self.verdict(&row) {
            None if may_repeat => Ok(Some(self.judge(row)?)),
            Some(Err(_)) => Ok(None),
            None | Some(Ok(())) => self.again(Again::Replayed, row).map(Some),
        }
    }

    /// The open claim of this once-only step in an earlier run of the same task, which may have performed it with other
    /// parameters. It is an error if such a run has performed it. If duplicates are repeated, another task with the same
    /// content may perform it again.
    pub(super) fn made_before(&mut self) -> Result<Option<Claim>, LedgerError> {
        let who = &self.ask.who;
        let Some(part) = who.part.filter(|_| self.ask.effects == Effects::Once) else {
            return Ok(None);
        };
        // The operation of this step in each earlier run of the task's content, and whether the run is of this task.
        let mut runs: Vec<(Seq, String, bool)> = Vec::new();
        // The last success of this task: since then, its steps are performed anew.
        let mut done = 0;
        let of_content = self
            .tx
            .links_about(who.session_id, part.whole, 0, usize::MAX)?;
        for link in of_content {
            let operation = format!("{}.{}", link.operation_id, part.position);
            if link.is(Event::Succeeded) {
                let is_ours = |(_, of_step, of_task): &_| *of_task && *of_step == operation;
                done = if runs.iter().any(is_ours) {
                    link.seq
                } else {
                    done
                };
            } else if (link.is(Event::Reserved) || link.is(Event::TakenOver))
                && link.operation_id != part.parent
            {
                let task = link.body().and_then(|body| body.task);
                let of_task = task.is_some() && task.as_deref() == who.task_id;
                runs.push((link.seq, operation, of_task));
            }
        }
        let Some((from, ..)) = runs.first() else {
            return Ok(None);
        };
        let past = Past::since(self.tx, who.session_id, *from)?;
        let run = |operation: &str| runs.iter().find(|(_, of_step, _)| of_step == operation);
        let made = past.successes().find(|success| {
            run(&success.link.operation_id).is_some_and(|(seq, _, of_task)| *of_task && *seq > done)
                && !success.link.tells_of(&self.hashes.request_hash)
                && past.revoked_by(&success.row_id).is_none()
                && !past.is_rejected(&success.row_id)
        });
        if let Some(success) = made {
            let operation = success.link.operation_id.clone();
            return Err(LedgerError::OtherStep { operation });
        }
        let mut open = past.opened().filter(|claim| {
            let repeats = self.ask.on_duplicate == OnDuplicate::Repeat;
            claim.state != ClaimState::Reserved
                && claim.effects == Effects::Once
                && run(&claim.operation_id).is_some_and(|(.., of_task)| *of_task || !repeats)
        });
        Ok(open.next().cloned())
    }
}
