//! Questions 2 and 3: was the same request done in this session, and is its answer still good?

use crate::task::{Ground, OnDuplicate};
use std::ops::ControlFlow;

use super::{Look, Step};
use crate::ledger::{
    past::{Success, claim_key},
    record::{Effects, Row, RowOutcome, RowState},
    store::Which,
    words::{Again, LedgerError, Miss, Why},
};

impl Look<'_, '_, '_> {
    /// Questions 2 and 3. A success of the same request in this session, by the links: what comes of it, or why it
    /// is done again; nothing where there is none.
    pub(in crate::ledger) fn same_request(
        &mut self,
    ) -> Result<ControlFlow<Step, Option<Why>>, LedgerError> {
        let ask = self.ask;
        if ask.on_duplicate == OnDuplicate::Repeat {
            return self.repeated();
        }
        let Some(success) = self.newest_success()? else {
            return Ok(ControlFlow::Continue(None));
        };
        let row = match success {
            Ok(row) => row,
            Err(success) => return self.damaged(&success),
        };
        let Some(verdict) = self.verdict(&row) else {
            return Ok(ControlFlow::Break(Step::Judge(Box::new(row))));
        };
        let verdict = match ask.on_duplicate {
            OnDuplicate::Reuse { ground, .. } if ground != Ground::Content => {
                verdict.and(self.unchanged_since(&row)?)
            }
            _ => verdict,
        };
        let how = match (ask.on_duplicate, verdict) {
            (_, Err(miss)) => return Ok(ControlFlow::Continue(Some(Why::Miss(miss)))),
            (OnDuplicate::Reuse { .. }, Ok(())) => Again::Reused,
            (OnDuplicate::Suppress(_) | OnDuplicate::Repeat, Ok(())) => Again::Suppressed,
        };
        Ok(ControlFlow::Break(self.again(how, row)?))
    }

    /// Whether nothing that may change what it read was begun or ended in the session since the run of that
    /// answer began, whatever came of it. Whoever reused the answer last looked at all that was before.
    fn unchanged_since(&mut self, row: &Row) -> Result<Result<(), Miss>, LedgerError> {
        let answered = row.seq.unwrap_or_default();
        let link = self.tx.link(answered)?;
        let claim = link.and_then(|link| link.body()?.claim);
        let mut reused = self.tx.rows(&Which::ReusesOf(&row.id), 1)?;
        // A replayed one did not look.
        reused.retain(|reuse| reuse.state == Some(RowState::Reused));
        let reused = self.first_believed(reused)?.and_then(|reuse| reuse.seq);
        let since = reused.or(claim).unwrap_or(answered);
        let who = &self.ask.who;
        let changed = self
            .tx
            .changed_since(since, who.session_id, &row.operation_id)?;
        Ok(match changed {
            Some(_) => Err(Miss::StateMayHaveChanged),
            None => Ok(()),
        })
    }

    /// What is done again as often as it is asked for is still done once for each delivery.
    fn repeated(&mut self) -> Result<ControlFlow<Step, Option<Why>>, LedgerError> {
        let who = &self.ask.who;
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let named = who.task_id.is_some() || who.idempotency_key.is_some();
        let delivered = self.past.delivered(&key).filter(|_| named).cloned();
        if let Some(success) = delivered {
            // A person's word in the place of an answer does not name the delivery.
            return match self.row_of(&success)? {
                Some(row) => Ok(ControlFlow::Break(self.again(Again::Replayed, row)?)),
                None => self.damaged(&success),
            };
        }
        Ok(match self.past.successes().next() {
            Some(_) => ControlFlow::Continue(Some(Why::Repeat)),
            None => ControlFlow::Continue(None),
        })
    }

    /// The row of the newest success, or the success whose row is not what its link says.
    fn newest_success(&mut self) -> Result<Option<Result<Row, Success>>, LedgerError> {
        let successes: Vec<Success> = self.past.successes().cloned().collect();
        for success in successes {
            let Some(row) = self.row_of(&success)? else {
                return Ok(Some(Err(success)));
            };
            if row.outcome == RowOutcome::Success {
                return Ok(Some(Ok(row)));
            }
        }
        Ok(None)
    }

    /// The row of a success, if it is what its link says.
    fn row_of(&mut self, success: &Success) -> Result<Option<Row>, LedgerError> {
        let mut rows = self.tx.rows(&Which::Seq(success.link.seq), 1)?;
        rows.retain(|row| row.id == success.row_id);
        self.first_believed(rows)
    }

    /// The links say that it was done, and its row is not what they say.
    fn damaged(&self, success: &Success) -> Result<ControlFlow<Step, Option<Why>>, LedgerError> {
        if self.past.revoked_by(&success.row_id).is_some() {
            return Ok(ControlFlow::Continue(Some(Why::Miss(Miss::Revoked))));
        }
        match self.ask.effects {
            Effects::Once => Err(LedgerError::Damaged {
                operation: success.link.operation_id.clone(),
                link: success.link.seq,
            }),
            Effects::None | Effects::Idempotent => {
                Ok(ControlFlow::Continue(Some(Why::Miss(Miss::LedgerDamaged))))
            }
        }
    }
}
