//! What the earlier runs of a delivery or of a task mean for a request and for its steps.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use super::{Questions, Step};
use crate::{
    ledger::{
        chain::Body,
        claims::{self, must_have},
        past::Past,
        record::{Claim, ClaimKey, Effects, Event, Link, Row, RowOutcome, Seq},
        store::{StoreError, Tx, Which},
        words::{Again, LedgerError, Why},
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
            None => self.made_by_others(),
        }
    }

    /// Question 1, for the runs of the delivery that left no answer. Returns the open claim of a run that lives, or that
    /// may have performed its once-only request. For a run with another content, this can also be the open claim of a
    /// once-only step. If an answer was recorded for a run with this content that died, it is returned. It is an error if a
    /// run with another content has performed its once-only request or such a step.
    ///
    /// A once-only step is a delivery, too: each run of its task performs it with the same key. An earlier step may have
    /// given it other parameters.
    fn same_delivery_unanswered(
        &mut self,
    ) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        let who = &self.ask.who;
        if who.part.is_some() && self.ask.effects != Effects::Once {
            return Ok(ControlFlow::Continue(None));
        }
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
        let name = claims::name_of(who);
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

    /// The answer that a run of another task with the same content gave to this once-only step, or else its open claim in
    /// such a run, which may have performed it with other parameters. It is an error if such a run has performed it with
    /// other parameters. Only runs after the last success of the content count: what was done before is judged like any
    /// other old answer. If duplicates are repeated, another delivery with the same content may perform the step again.
    fn made_by_others(&mut self) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        let who = &self.ask.who;
        let Some(part) = who.part.filter(|_| self.ask.effects == Effects::Once) else {
            return Ok(ControlFlow::Continue(None));
        };
        let repeats = self.ask.on_duplicate == OnDuplicate::Repeat;
        let of_content = self.all_about(&part.run.whole)?;
        let runs = Runs::of(&of_content);
        let counts = |run: &&Begun<'_>| {
            // Without a delivery in its claim, the whole task is performed once, whoever sends it.
            let is_shared = run.body.claimed.is_none() || !repeats;
            run.began != part.run.began && run.link.seq > runs.last_success && is_shared
        };
        let Some(first) = runs.all.iter().find(counts) else {
            return Ok(ControlFlow::Continue(None));
        };
        let step = |run: &Begun<'_>| format!("{}.{}", run.link.operation_id, part.position);
        let steps: HashSet<String> = runs.all.iter().filter(counts).map(step).collect();
        let past = Past::since(self.tx, who.session_id, first.link.seq)?;
        for success in past.successes() {
            let operation = &success.link.operation_id;
            if !steps.contains(operation) || past.is_withdrawn(success) {
                continue;
            }
            if !success.link.tells_of(&self.hashes.request_hash) {
                let operation = operation.clone();
                return Err(LedgerError::OtherStep { operation });
            }
            // If duplicates are not repeated, the questions have judged an answer to the same parameters.
            if repeats {
                return Ok(match self.row_of(success)? {
                    Some(row) => ControlFlow::Break(self.again(Again::Replayed, row)?),
                    None => self.damaged(success)?.map_continue(|_| None),
                });
            }
        }
        let mut open = past.opened().filter(|claim| claim.may_have_happened());
        let open = open.find(|claim| steps.contains(&claim.operation_id));
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
        let began = self.unfinished()?;
        let of_content = self.all_about(hash)?;
        let mut runs = Runs::of(&of_content).all;
        runs.retain(|run| Some(run.began) == began || run.body.claimed.is_none());
        let Some(first) = runs.first() else {
            return Ok(None);
        };
        let past = Past::since(self.tx, who.session_id, first.link.seq)?;
        let mut open = past.opened().filter(|claim| claim.may_have_happened());
        let open = open.find(|claim| {
            let parent = claim.operation_id.split_once('.').map(|(parent, _)| parent);
            runs.iter()
                .any(|run| parent == Some(&run.link.operation_id))
        });
        Ok(open.cloned())
    }

    /// The claim with which the unfinished task began that this delivery continues; none if it begins a task. A task that
    /// its delivery has begun is finished by the success of that delivery. A new delivery continues the newest task of its
    /// `task_id`, until any run of it has succeeded, or a delivery of this `task_id` got an old answer. Only tasks of several
    /// steps are continued.
    pub(super) fn unfinished(&mut self) -> Result<Option<Seq>, LedgerError> {
        let (who, whole) = (&self.ask.who, &self.hashes.request_hash);
        if self.ask.parts == 0 {
            return Ok(None);
        }
        let of_content = self.all_about(whole)?;
        let runs = Runs::of(&of_content).all;
        if let Some(name) = claims::name_of(who) {
            let mut newest_first = runs.iter().rev();
            let run = newest_first.find(|run| {
                run.body.delivery.as_ref() == Some(&name)
                    && claims::fits_attempt(who, run.body.attempt)
            });
            if let Some(run) = run.filter(|run| !run.has_succeeded) {
                return Ok(Some(run.began));
            }
        }
        let Some(task) = who.task_id else {
            return Ok(None);
        };
        let is_named = |body: &Body| body.task.as_deref() == Some(task);
        let named = || runs.iter().filter(|run| is_named(&run.body));
        let Some(began) = named().map(|run| run.began).max() else {
            return Ok(None);
        };
        let joined = named().find(|run| run.began == began);
        let joined = joined.map_or(began, |run| run.link.seq);
        let has_succeeded = |run: &Begun<'_>| run.began == began && run.has_succeeded;
        let repeated = self.tx.links_repeating(who.session_id, whole)?;
        let is_answer = |link: &Link| {
            let body = link.body().unwrap_or_default();
            let is_same = body.request_hash.as_ref() == Some(whole);
            link.seq > joined && is_same && is_named(&body)
        };
        let is_finished = runs.iter().any(has_succeeded) || repeated.iter().any(is_answer);
        Ok(Some(began).filter(|_| !is_finished))
    }

    /// Why the request is performed, and as which attempt: the caller's number, or the one after the last answer
    /// for the task.
    pub(super) fn turn(&mut self, why: Option<Why>) -> Result<(Why, u32), LedgerError> {
        let who = &self.ask.who;
        let last = match (why, who.attempt, who.task_id) {
            (Some(_), Some(_), _) | (_, _, None) => None,
            (None, _, Some(task)) | (_, None, Some(task)) => {
                self.believed(&Which::task(who.session_id, task))?
            }
        };
        let why = why.unwrap_or(match &last {
            Some(row) if row.outcome == RowOutcome::Error => Why::Retry,
            _ => Why::New,
        });
        Ok((why, self.attempt(last.as_ref())))
    }

    pub(super) fn attempt(&self, last: Option<&Row>) -> u32 {
        let next = || last.map_or(1, |row| row.attempt.saturating_add(1));
        self.ask.who.attempt.unwrap_or_else(next)
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

/// The runs of a content, by its links.
struct Runs<'l> {
    /// In ascending order.
    all: Vec<Begun<'l>>,
    /// The last success of any of them, or 0.
    last_success: Seq,
}

/// A run, by the link with which it begins.
struct Begun<'l> {
    link: &'l Link,
    body: Body,
    /// The claim with which its task began.
    began: Seq,
    has_succeeded: bool,
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
                    began: body.began.unwrap_or(link.seq),
                    body,
                    has_succeeded: false,
                });
            } else if link.is(Event::Succeeded) {
                last_success = link.seq;
                let place = places.get(link.operation_id.as_str());
                if let Some(run) = place.and_then(|place| all.get_mut(*place)) {
                    run.has_succeeded = true;
                }
            }
        }
        Self { all, last_success }
    }
}
