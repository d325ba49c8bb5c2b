//! Tasks of several steps: which unfinished task a run continues, and what earlier runs mean for its steps.

use std::{cmp::Reverse, collections::BTreeSet};

use super::state::{Question, Questions, Turn};
use crate::{
    ledger::{
        names,
        record::{Claim, ClaimState, Effects, Row, RowOutcome, Which},
        store::Seq,
        words::{Again, LedgerError, step_key},
    },
    task::{IMPROVISED, OnDuplicate},
};

impl Questions<'_, '_, '_> {
    /// Question 1. A success that an earlier run of the task left is its answer, also where the catalog says that the
    /// request is repeated. A call that may be made twice is made again if an input or its asset has changed. A failure is
    /// no answer: the task goes on from there.
    pub(super) fn same_step(&mut self, row: Row) -> Question<()> {
        let may_repeat = self.ask.effects != Effects::Once;
        let suppressed = matches!(self.ask.on_duplicate, OnDuplicate::Suppress(_));
        if row.outcome == RowOutcome::Error
            || row.request_hash != self.hashes.request_hash
            || (may_repeat && suppressed)
        {
            return Ok(());
        }
        match self.verdict(&row) {
            None if may_repeat => self.judge(row),
            Some(Err(_)) => Ok(()),
            None | Some(Ok(())) => self.again(Again::Replayed, row),
        }
    }

    /// What another task with the same content means for this once-only step. Returns the answer of the other task, or the
    /// open claim of a call that it may have made. It is an error if the other task has performed the step with other
    /// parameters. Only calls after the last success of the content count. Tasks that are repeated share nothing.
    pub(super) fn made_by_others(&mut self) -> Question<Option<Claim>> {
        let who = &self.ask.who;
        let Some(part) = who.part.filter(|_| self.ask.effects == Effects::Once) else {
            return Ok(None);
        };
        let repeats = self.ask.on_duplicate == OnDuplicate::Repeat;
        let whole = &part.run.whole;
        let runs = self.tx.claims_of_request(who.session_id, whole)?;
        let succeeded = runs.iter().filter(|run| run.state == ClaimState::Succeeded);
        let last_success = succeeded.filter_map(|run| run.ended).max().unwrap_or(0);
        // If its claim is not shared, the task is performed for each delivery.
        let others = runs.iter().filter(|run| run.is_shared() || !repeats);
        let others = others.filter(|run| run.began != part.run.began);
        let others: BTreeSet<Seq> = others.map(|run| run.began).collect();
        let mut claims = Vec::new();
        for began in others {
            let key = step_key((whole, began), (&part.capability, part.nth));
            let delivery = names::keyed(&key);
            claims.extend(self.tx.claims_of_delivery(who.session_id, &delivery)?);
        }
        claims.retain(|claim| claim.seq >= last_success);
        claims.sort_by_key(|claim| Reverse(claim.seq));
        for claim in &claims {
            if !self.counts(claim)? {
                continue;
            }
            if claim.request_hash != self.hashes.request_hash {
                let operation = claim.operation_id.clone();
                return Err(LedgerError::OtherStep { operation }.into());
            }
            // If duplicates are not repeated, the questions have judged an answer to the same parameters.
            if !repeats {
                continue;
            }
            let Some(row) = self.answer_of(claim)? else {
                continue;
            };
            match self.verdict(&row) {
                None => return self.judge(row),
                Some(Ok(())) => self.again(Again::Suppressed, row)?,
                Some(Err(_)) => {}
            }
        }
        let open = claims.into_iter().find(Claim::may_have_happened);
        Ok(open)
    }

    /// Of an improvised action: the open claim of a once-only step in an earlier run of the action. Nobody is asked to
    /// approve the action again before that step is settled.
    pub(super) fn open_step(&mut self) -> Result<Option<Claim>, LedgerError> {
        if self.ask.who.part.is_some() || !self.is_improvised() {
            return Ok(None);
        }
        let session_id = self.ask.who.session_id;
        let began = self.unfinished()?;
        let whole = &self.hashes.request_hash;
        let mut runs = self.tx.claims_of_request(session_id, whole)?;
        runs.retain(|run| Some(run.began) == began || run.is_shared());
        if runs.is_empty() {
            return Ok(None);
        }
        let open = self.tx.open_claims(Some(session_id))?;
        let mut open = open.into_iter().filter(Claim::may_have_happened);
        Ok(open.rfind(|claim| {
            let parent = claim.operation_id.split_once('.').map(|(parent, _)| parent);
            runs.iter()
                .any(|run| parent == Some(run.operation_id.as_str()))
        }))
    }

    /// The claim with which the unfinished task began that this run continues; none if a task begins with this run. Only
    /// tasks of several steps are continued.
    ///
    /// A delivery continues the task of its last run. It has no answer then, or its answer was withdrawn. Another delivery
    /// continues a task that has come under its `task_id`, until a run of that task has succeeded, or a delivery of the
    /// `task_id` got an old answer. A task that began under the `task_id` is preferred to one that began under another.
    /// Improvised actions without a `task_id` count as one task, because they share their approval. So does a task that goes
    /// on with a request for an approval.
    pub(super) fn unfinished(&mut self) -> Result<Option<Seq>, LedgerError> {
        let who = &self.ask.who;
        if self.ask.parts == 0 {
            return Ok(None);
        }
        let whole = &self.hashes.request_hash;
        let runs = self.tx.claims_of_request(who.session_id, whole)?;
        if let Some(name) = names::name_of(who) {
            let last = runs.iter().rfind(|run| {
                let is_same = run.delivery.as_ref() == Some(&name);
                is_same && names::fits_attempt(who, run.attempt)
            });
            let is_next = |run: &Claim| self.turn == Turn::Next && run.seq < self.since;
            if let Some(run) = last.filter(|run| !is_next(run)) {
                return Ok(Some(run.began));
            }
        }
        if who.task_id.is_none() && who.joins.is_none() && !self.is_improvised() {
            return Ok(None);
        }
        // The first run of each task that has come under the name.
        let mut met = BTreeSet::new();
        let named = runs
            .iter()
            .filter(|run| run.task_id.as_deref() == who.task_id);
        let joined = named.filter(|run| met.insert(run.began));
        let mut newest: Option<&Claim> = None;
        for run in joined {
            let is_success =
                |other: &Claim| other.began == run.began && other.state == ClaimState::Succeeded;
            let repeated = Which::repeated(who.session_id, whole, who.task_id, run.seq);
            let is_finished =
                runs.iter().any(is_success) || !self.tx.steps(&repeated, 1)?.is_empty();
            let order = |run: &Claim| (run.seq == run.began, run.began);
            if !is_finished && newest.is_none_or(|newest| order(run) > order(newest)) {
                newest = Some(run);
            }
        }
        Ok(newest.map(|run| run.began))
    }

    fn is_improvised(&self) -> bool {
        let mut steps = self.ask.asked.steps.iter();
        steps.any(|step| step.entry == IMPROVISED)
    }
}
