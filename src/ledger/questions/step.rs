//! What the earlier runs of a delivery or of a task mean for a request and for its steps.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use serde_json::json;

use super::{Questions, Step};
use crate::{
    ledger::{
        canonical::{canonical, sha256},
        chain::Body,
        claims::{self, claim_key, must_have},
        past::{Past, Success},
        record::{Claim, ClaimKey, Effects, Event, Link, Row, RowOutcome, Seq},
        store::{StoreError, Tx},
        words::{Again, LedgerError, TaskRun},
    },
    task::{IMPROVISED, OnDuplicate},
};

impl Questions<'_, '_, '_> {
    /// The open claim that stands against performing the request, or the answer instead of it.
    pub(super) fn holder(
        &mut self,
        key: &ClaimKey,
    ) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        let mut holder = self.open_step()?;
        if holder.is_none() {
            match self.same_delivery_unanswered()? {
                ControlFlow::Continue(open) => holder = open,
                step @ ControlFlow::Break(_) => return Ok(step),
            }
        }
        if holder.is_none() {
            holder = self.past.holder(self.tx, key)?;
        }
        if let (None, Some(task)) = (&holder, self.ask.who.task_id) {
            // If duplicates are repeated, each attempt at a task has a claim of its own.
            holder = self.past.maybe_made(self.tx, task)?;
        }
        match holder {
            Some(claim) => Ok(ControlFlow::Continue(Some(claim))),
            None => self.made_before(),
        }
    }

    /// Question 1, for the runs of the delivery that left no answer. Returns the open claim of a run that lives, or that
    /// may have performed its once-only request. For a run with another content, this can also be the open claim of a
    /// once-only step. If an answer was recorded for a run with this content that died, it is returned. It is an error if a run with another content has performed its once-only request or such a step.
    fn same_delivery_unanswered(
        &mut self,
    ) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        let who = &self.ask.who;
        let runs = claims::of_same_delivery(self.tx, who, &self.known.examined)?;
        let has_our_content =
            |body: &Body| body.request_hash.as_ref() == Some(&self.hashes.request_hash);
        let mut other_runs = runs.iter().filter(|(_, body)| !has_our_content(body));
        let since_then = match other_runs.next_back() {
            Some((oldest, _)) => Past::since(self.tx, who.session_id, oldest.seq)?,
            None => Past::default(),
        };
        for (link, body) in &runs {
            let is_ours = has_our_content(body);
            let past = if is_ours { &self.past } else { &since_then };
            let open = past.opened().find(|claim| claim.seq == link.seq).cloned();
            let lives = open.is_some() && !self.known.dead.contains(&link.seq);
            if lives || open.as_ref().is_some_and(Claim::may_have_happened) {
                return Ok(ControlFlow::Continue(open));
            }
            if is_ours {
                let made = past
                    .successes()
                    .find(|success| success.claim == Some(link.seq) && !past.is_withdrawn(success));
                let Some(success) = made.filter(|_| link.seq > self.since).cloned() else {
                    continue;
                };
                if let Some(row) = self.row_of(&success)? {
                    return Ok(ControlFlow::Break(self.again(Again::Replayed, row)?));
                }
                // This is an error if the request may not be performed again.
                let _ = self.damaged(&success)?;
                continue;
            }
            let step = format!("{}.", link.operation_id);
            let mut steps = past.opened().filter(|claim| claim.may_have_happened());
            if let Some(step) = steps.find(|claim| claim.operation_id.starts_with(&step)) {
                return Ok(ControlFlow::Continue(Some(step.clone())));
            }
            if link.seq > self.since && performed(self.tx, past, link)? {
                return Err(self.conflict(link.operation_id.clone()));
            }
        }
        self.no_answer_is_lost()?;
        Ok(ControlFlow::Continue(None))
    }

    /// It is an error if an examined link says that the delivery got an old answer after the one that question 1 has found:
    /// the row of that answer is lost. An answer that was withdrawn since does not count. A replayed answer is found again
    /// where it was made.
    fn no_answer_is_lost(&mut self) -> Result<(), LedgerError> {
        let who = &self.ask.who;
        let name = claims::each_attempt(who);
        let found = self.found;
        let of_delivery = |link: &&Link| {
            let body = link.body().unwrap_or_default();
            (link.is(Event::Suppressed) || link.is(Event::Reused))
                && body.delivery.is_some()
                && body.delivery == name
                && claims::fits_attempt(who, body.attempt)
        };
        let mut newer = self
            .known
            .examined
            .iter()
            .rev()
            .take_while(|link| link.seq > found);
        let Some(link) = newer
            .find(of_delivery)
            .filter(|_| self.ask.effects == Effects::Once)
        else {
            return Ok(());
        };
        let body = link.body().unwrap_or_default();
        let row = body.row.map(|seal| seal.id).unwrap_or_default();
        let origin = body.about.unwrap_or_default();
        let is_withdrawn =
            |past: &Past| past.revoked_by(&row).is_some() || past.is_rejected(&origin);
        let operation = link.operation_id.clone();
        let request_hash = body.request_hash.unwrap_or_default();
        if request_hash == self.hashes.request_hash {
            return if is_withdrawn(&self.past) {
                Ok(())
            } else {
                let link = link.seq;
                Err(LedgerError::Damaged { operation, link })
            };
        }
        // The parameters of a step may have changed.
        let all = (Effects::Once, [].as_slice());
        if who.part.is_some()
            || is_withdrawn(&Past::of(self.tx, who.session_id, &request_hash, all)?)
        {
            return Ok(());
        }
        Err(self.conflict(operation))
    }

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

    /// The answer that an earlier run of the same task or of the same delivery gave to this once-only step, or else its
    /// open claim in such a run, which may have performed it with other parameters. It is an error if such a run has
    /// performed it with other parameters. If duplicates are repeated, another delivery with the same content may perform
    /// it again.
    fn made_before(&mut self) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        let who = &self.ask.who;
        let Some(part) = who.part.filter(|_| self.ask.effects == Effects::Once) else {
            return Ok(ControlFlow::Continue(None));
        };
        let repeats = self.ask.on_duplicate == OnDuplicate::Repeat;
        let of_content = self.all_about(&part.run.whole)?;
        let runs = Runs::of(&of_content);
        let own = runs.of_task(who.task_id);
        let since = part.run.since;
        let of_own = runs.all.iter().filter(|run| own.contains(&run.link.seq));
        let successes = of_own.filter_map(|run| run.success.filter(|success| *success > since));
        let until = successes.min().unwrap_or(Seq::MAX);
        // By their operations.
        let mut counted: HashMap<&str, Counted> = HashMap::new();
        for run in runs.all.iter().filter(|run| run.link.seq != part.run.claim) {
            let seq = run.link.seq;
            let counts = if part.run.earlier.contains(&seq) {
                Some(Counted::Own)
            } else if own.contains(&seq) {
                // The task has shared its answers until it succeeded.
                (since < seq && seq < until).then_some(Counted::Own)
            } else {
                // Without a delivery in its claim, the whole task is performed once, whoever sends it. What was done
                // before any success is judged like any other old answer.
                let of_all = run.body.claimed.is_none() || !repeats;
                (of_all && seq > runs.last_success).then_some(Counted::Others)
            };
            counted.extend(counts.map(|counts| (run.link.operation_id.as_str(), counts)));
        }
        let begun = |run: &&Begun<'_>| counted.contains_key(run.link.operation_id.as_str());
        let Some(first) = runs.all.iter().find(begun).map(|run| run.link.seq) else {
            return Ok(ControlFlow::Continue(None));
        };
        let past = Past::since(self.tx, who.session_id, first)?;
        let place = format!(".{}", part.position);
        let run = |step: &str| counted.get(step.strip_suffix(&place)?);
        let is_same = |success: &Success| success.link.tells_of(&self.hashes.request_hash);
        // If duplicates are not repeated, the questions have judged an answer to the same parameters.
        let made = past.successes().find(|success| {
            run(&success.link.operation_id)
                .is_some_and(|run| repeats || *run == Counted::Own || !is_same(success))
                && !past.is_withdrawn(success)
        });
        if let Some(success) = made {
            if is_same(success) {
                return Ok(match self.row_of(success)? {
                    Some(row) => ControlFlow::Break(self.again(Again::Replayed, row)?),
                    None => self.damaged(success)?.map_continue(|_| None),
                });
            }
            let operation = success.link.operation_id.clone();
            return Err(LedgerError::OtherStep { operation });
        }
        let mut open = past.opened().filter(|claim| claim.may_have_happened());
        let open = open.find(|claim| run(&claim.operation_id).is_some());
        Ok(ControlFlow::Continue(open.cloned()))
    }

    /// Of an improvised action: the open claim of a once-only step in an earlier run of the same task. Nobody is asked to
    /// approve the action again before that step is settled.
    fn open_step(&mut self) -> Result<Option<Claim>, LedgerError> {
        let (who, hash) = (&self.ask.who, &self.hashes.request_hash);
        let mut entries = self.ask.asked.steps.iter().map(|step| &step.entry);
        if who.part.is_some() || !entries.any(|entry| entry == IMPROVISED) {
            return Ok(None);
        }
        let key = claim_key(self.ask, hash).request_hash;
        let mut runs = self.all_about(hash)?;
        runs.retain(|link| {
            let Body { task, claimed, .. } = link.body().unwrap_or_default();
            let of_task = task.is_some() && task.as_deref() == who.task_id;
            begins(link) && (of_task || claimed.is_none_or(|claimed| claimed == key))
        });
        let Some(first) = runs.first() else {
            return Ok(None);
        };
        let past = Past::since(self.tx, who.session_id, first.seq)?;
        let mut open = past.opened().filter(|claim| claim.may_have_happened());
        let open = open.find(|claim| {
            let parent = claim.operation_id.split_once('.').map(|(parent, _)| parent);
            runs.iter().any(|run| parent == Some(&run.operation_id))
        });
        Ok(open.cloned())
    }

    /// What the steps of this task need; none if they have no records of their own. `claim` is the link with which the
    /// run has claimed the task.
    pub(super) fn task_run(
        &mut self,
        claim: Seq,
        attempt: u32,
    ) -> Result<Option<TaskRun>, LedgerError> {
        let ask = self.ask;
        if ask.parts == 0 {
            return Ok(None);
        }
        let whole = &self.hashes.request_hash;
        let name = claims::name_of(&ask.who);
        let links = self.all_about(whole)?;
        let runs = Runs::of(&links);
        let of_delivery = runs.all.iter().filter(|run| {
            let is_same = run.body.delivery.is_some() && run.body.delivery == name;
            is_same && run.link.seq != claim && claims::fits_attempt(&ask.who, run.body.attempt)
        });
        let of_delivery: Vec<_> = of_delivery.collect();
        let succeeded = of_delivery.iter().rposition(|run| run.success.is_some());
        let earlier = of_delivery
            .get(succeeded.map_or(0, |at| at + 1)..)
            .unwrap_or_default();
        let (begun, task) = earlier.first().map_or((claim, ask.who.task_id), |run| {
            (run.link.seq, run.body.task.as_deref())
        });
        let since = match task {
            Some(task) => {
                let own = runs.of_task(Some(task));
                let own = runs.all.iter().filter(|run| own.contains(&run.link.seq));
                let success = own
                    .filter_map(|run| run.success)
                    .filter(|seq| *seq < begun)
                    .max();
                let repeated = self.tx.links_repeating(ask.who.session_id, whole)?;
                let repeated = repeated.iter().rev().find(|link| {
                    let body = link.body().unwrap_or_default();
                    let is_same = body.request_hash.as_ref() == Some(whole);
                    link.seq < begun && is_same && body.task.as_deref() == Some(task)
                });
                success.max(repeated.map(|link| link.seq))
            }
            None => None,
        };
        // Without a task, a delivery shares nothing with others.
        let begun = task.is_none().then_some(begun);
        let named = json!({
            "task_id": task, "since": since, "begun": begun, "request_hash": whole,
        });
        Ok(Some(TaskRun {
            id: sha256(canonical(&named)),
            attempt,
            claim,
            whole: whole.clone(),
            since: since.unwrap_or_default(),
            earlier: earlier.iter().map(|run| run.link.seq).collect(),
        }))
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

/// Whether a run begins with this link.
fn begins(link: &Link) -> bool {
    link.is(Event::Reserved) || link.is(Event::TakenOver)
}

/// Whether the run that begins with this link has performed its once-only request or a once-only step of it.
fn performed(tx: &mut Tx<'_>, past: &Past, run: &Link) -> Result<bool, StoreError> {
    let step = format!("{}.", run.operation_id);
    for success in past.successes() {
        let claim = success.claim;
        let is_of_run = claim == Some(run.seq) || success.link.operation_id.starts_with(&step);
        let Some(claim) = claim.filter(|_| is_of_run && !past.is_withdrawn(success)) else {
            continue;
        };
        let made = tx.link(claim)?.and_then(|link| link.body());
        if made.unwrap_or_default().effects() == Effects::Once {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Why an earlier run of the same content forbids to perform a step again.
#[derive(PartialEq)]
enum Counted {
    /// It is a run of the same delivery, or of the same task, which has not succeeded since.
    Own,
    /// Nobody has succeeded since.
    Others,
}

/// The runs of a content, by its links.
struct Runs<'l> {
    /// In ascending order.
    all: Vec<Begun<'l>>,
    /// The last success of any of them, or 0.
    last_success: Seq,
}

/// The link with which a run begins, and the link of its success.
struct Begun<'l> {
    link: &'l Link,
    body: Body,
    success: Option<Seq>,
}

impl<'l> Runs<'l> {
    fn of(links: &'l [Link]) -> Self {
        let (mut all, mut last_success): (Vec<Begun<'l>>, Seq) = (Vec::new(), 0);
        let mut places: HashMap<&str, usize> = HashMap::new();
        for link in links {
            if begins(link) {
                places.insert(&link.operation_id, all.len());
                let body = link.body().unwrap_or_default();
                all.push(Begun {
                    link,
                    body,
                    success: None,
                });
            } else if link.is(Event::Succeeded) {
                last_success = link.seq;
                let place = places.get(link.operation_id.as_str());
                if let Some(run) = place.and_then(|place| all.get_mut(*place)) {
                    run.success = Some(link.seq);
                }
            }
        }
        Self { all, last_success }
    }

    /// The claims of the runs of a task, and of the deliveries to which they belong. A key may come with several tasks.
    fn of_task(&self, task: Option<&str>) -> HashSet<Seq> {
        let is_of_task =
            |run: &&Begun<'_>| run.body.task.is_some() && run.body.task.as_deref() == task;
        let of_task = self.all.iter().filter(is_of_task);
        let deliveries: HashSet<_> = of_task
            .filter_map(|run| run.body.delivery.as_ref())
            .collect();
        let is_own = |run: &&Begun<'_>| {
            let delivery = run.body.delivery.as_ref();
            is_of_task(run) || delivery.is_some_and(|delivery| deliveries.contains(delivery))
        };
        self.all
            .iter()
            .filter(is_own)
            .map(|run| run.link.seq)
            .collect()
    }
}
