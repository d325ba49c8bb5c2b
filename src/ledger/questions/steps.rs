//! Tasks of several steps: which unfinished task a run continues, and what earlier runs mean for its steps.

use std::{collections::BTreeSet, ops::ControlFlow};

use super::{Questions, Step, Turn};
use crate::{
    ledger::{
        chain::Body,
        claims::{self, must_have},
        past::{Past, Success},
        record::{Claim, Effects, Event, Link, Row, RowOutcome, Seq},
        store::StoreError,
        words::{Again, LedgerError, Who, step_key},
    },
    task::{IMPROVISED, OnDuplicate},
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

    /// What another task with the same content means for this once-only step. Returns the answer of the other task, or the
    /// open claim of a call that it may have made. It is an error if the other task has performed the step with other
    /// parameters. Only calls after the last success of the content count. Tasks that are repeated share nothing.
    pub(super) fn made_by_others(
        &mut self,
    ) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        let who = &self.ask.who;
        let Some(part) = who.part.filter(|_| self.ask.effects == Effects::Once) else {
            return Ok(ControlFlow::Continue(None));
        };
        let repeats = self.ask.on_duplicate == OnDuplicate::Repeat;
        let of_content = self.all_about(&part.run.whole)?;
        let Runs { all, last_success } = Runs::of(&of_content);
        // Without a delivery in its claim, the whole task is performed once, whoever sends it.
        let is_shared = |run: &&Run<'_>| run.body.claimed.is_none() || !repeats;
        let others = all.iter().filter(is_shared);
        let others = others.filter(|run| run.began != part.run.began);
        let others: BTreeSet<Seq> = others.map(|run| run.began).collect();
        let mut claims = BTreeSet::new();
        for began in others {
            let key = step_key((&part.run.whole, began), (part.capability, part.nth));
            let other = Who {
                idempotency_key: Some(&key),
                ..*who
            };
            let of_step = claims::of_same_delivery(self.tx, &other, &self.known.examined)?;
            claims.extend(of_step.iter().map(|(link, _)| link.seq));
        }
        let claims = claims.split_off(&last_success);
        let Some(first) = claims.first() else {
            return Ok(ControlFlow::Continue(None));
        };
        let past = Past::since(self.tx, who.session_id, *first)?;
        let is_theirs = |success: &&Success| success.claim.is_some_and(|seq| claims.contains(&seq));
        for success in past.successes().filter(is_theirs) {
            if past.is_withdrawn(success) {
                continue;
            }
            if !success.link.tells_of(&self.hashes.request_hash) {
                let operation = success.link.operation_id.clone();
                return Err(LedgerError::OtherStep { operation });
            }
            // If duplicates are not repeated, the questions have judged an answer to the same parameters.
            if !repeats {
                continue;
            }
            let Some(row) = self.row_of(success)? else {
                return Ok(self.damaged(success)?.map_continue(|_| None));
            };
            match self.verdict(&row) {
                None => return Ok(ControlFlow::Break(self.judge(row)?)),
                Some(Ok(())) => {
                    return Ok(ControlFlow::Break(self.again(Again::Suppressed, row)?));
                }
                Some(Err(_)) => {}
            }
        }
        let mut open = past.opened().filter(|claim| claim.may_have_happened());
        let open = open.find(|claim| claims.contains(&claim.seq));
        Ok(ControlFlow::Continue(open.cloned()))
    }

    /// Of an improvised action: the open claim of a once-only step in an earlier run of the action. Nobody is asked to
    /// approve the action again before that step is settled.
    pub(super) fn open_step(&mut self) -> Result<Option<Claim>, LedgerError> {
        if self.ask.who.part.is_some() || !self.is_improvised() {
            return Ok(None);
        }
        let began = self.unfinished()?;
        let of_content = self.all_about(&self.hashes.request_hash)?;
        let mut runs = Runs::of(&of_content).all;
        runs.retain(|run| Some(run.began) == began || run.body.claimed.is_none());
        let Some(first) = runs.first() else {
            return Ok(None);
        };
        let past = Past::since(self.tx, self.ask.who.session_id, first.link.seq)?;
        let mut open = past.opened().filter(|claim| claim.may_have_happened());
        let open = open.find(|claim| {
            let parent = claim.operation_id.split_once('.').map(|(parent, _)| parent);
            let mut runs = runs.iter();
            runs.any(|run| parent == Some(&run.link.operation_id))
        });
        Ok(open.cloned())
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
        let of_content = self.all_about(&self.hashes.request_hash)?;
        let runs = Runs::of(&of_content).all;
        if let Some(name) = claims::name_of(who) {
            let mut newest_first = runs.iter().rev();
            let last = newest_first.find(|run| {
                let is_same = run.body.delivery.as_ref() == Some(&name);
                is_same && claims::fits_attempt(who, run.body.attempt)
            });
            let is_next = |run: &Run<'_>| self.turn == Turn::Next && run.link.seq < self.since;
            if let Some(run) = last.filter(|run| !is_next(run)) {
                return Ok(Some(run.began));
            }
        }
        if who.task_id.is_none() && who.joins.is_none() && !self.is_improvised() {
            return Ok(None);
        }
        let whole = &self.hashes.request_hash;
        let repeated = self.tx.links_repeating(who.session_id, whole)?;
        let is_named = |body: &Body| body.task.as_deref() == who.task_id;
        let is_finished = |joined: &Run<'_>| {
            let has_succeeded = |run: &Run<'_>| run.began == joined.began && run.has_succeeded;
            let is_answer = |link: &Link| {
                let body = link.body().unwrap_or_default();
                let is_same = body.request_hash.as_ref() == Some(whole);
                link.seq > joined.link.seq && is_same && is_named(&body)
            };
            runs.iter().any(has_succeeded) || repeated.iter().any(is_answer)
        };
        // The first run of each task that has come under the name.
        let mut met = BTreeSet::new();
        let named = runs.iter().filter(|run| is_named(&run.body));
        let joined = named.filter(|run| met.insert(run.began));
        let unfinished = joined.filter(|run| !is_finished(run));
        let newest = unfinished.max_by_key(|run| (run.link.seq == run.began, run.began));
        Ok(newest.map(|run| run.began))
    }

    fn is_improvised(&self) -> bool {
        let mut steps = self.ask.asked.steps.iter();
        steps.any(|step| step.entry == IMPROVISED)
    }

    /// The links about a request of the session. Those of them that were examined must be among them.
    fn all_about(&mut self, request_hash: &str) -> Result<Vec<Link>, StoreError> {
        let session = self.ask.who.session_id;
        let links = self.tx.links_about(session, request_hash, 0, usize::MAX)?;
        must_have(self.tx, &links, &self.known.examined, |link| {
            link.tells_of(request_hash)
        })?;
        Ok(links)
    }
}

/// The runs of a content, by its links.
struct Runs<'l> {
    /// In ascending order.
    all: Vec<Run<'l>>,
    /// The last success of any of them, or 0.
    last_success: Seq,
}

/// A run, by the link with which it begins.
struct Run<'l> {
    link: &'l Link,
    body: Body,
    /// The claim with which its task began.
    began: Seq,
    has_succeeded: bool,
}

impl<'l> Runs<'l> {
    fn of(links: &'l [Link]) -> Self {
        let (mut all, mut last_success): (Vec<Run<'l>>, Seq) = (Vec::new(), 0);
        for link in links {
            let body = link.body().unwrap_or_default();
            if link.is(Event::Reserved) || link.is(Event::TakenOver) {
                all.push(Run {
                    link,
                    began: body.continues.unwrap_or(link.seq),
                    body,
                    has_succeeded: false,
                });
            } else if link.is(Event::Succeeded) {
                last_success = link.seq;
                let claim = body.claim.unwrap_or_default();
                if let Ok(at) = all.binary_search_by_key(&claim, |run| run.link.seq)
                    && let Some(run) = all.get_mut(at)
                {
                    run.has_succeeded = true;
                }
            }
        }
        Self { all, last_success }
    }
}
