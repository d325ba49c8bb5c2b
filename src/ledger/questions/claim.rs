//! The claim of a request.

use std::ops::ControlFlow;

use super::{Questions, Step};
use crate::ledger::{
    answer,
    chain::{self, Body, SessionSeal},
    claims::{self, claim_key},
    record::{Claim, ClaimKey, ClaimState, Effects, Event, Head, Row, RowOutcome, Session, name},
    store::Which,
    words::{LedgerError, Running, TaskRun, Why},
};

/// The number of answers that a session can have.
const MOST_STEPS: u64 = 1 << 30;

impl Questions<'_, '_, '_> {
    /// Opens the session and claims the request. In a new session, no other run can have claimed it.
    pub(super) fn claim_first(&mut self) -> Result<Step, LedgerError> {
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let (who, attempt) = (&self.ask.who, self.attempt(None));
        let seal = SessionSeal {
            context: who.context.to_owned(),
            profile: who.profile.to_owned(),
        };
        let running = self.put(key, Some(seal.clone()), None, (Why::New, attempt))?;
        self.tx.open_session(&Session {
            seq: running.claim,
            session_id: who.session_id.to_owned(),
            context: seal.context,
            profile: seal.profile,
            principal: self.stamp.actor.to_owned(),
            opened_at: chain::instant(self.stamp.at),
        })?;
        Ok(Step::Run(running))
    }

    /// Claims the request, unless another run has it. Without a reason, there is no old answer.
    pub(super) fn claim(&mut self, why: Option<Why>) -> Result<Step, LedgerError> {
        // Another program can add a row that leaves no number for the answer. Then the call must not begin.
        if self.tx.next_step(self.ask.who.session_id)? > MOST_STEPS {
            return Err(self.no_session("has a row whose step number is too large"));
        }
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let theirs = match self.holder(&key)? {
            ControlFlow::Break(step) => return Ok(step),
            ControlFlow::Continue(holder) => holder,
        };
        let Some(theirs) = theirs else {
            let turn = self.turn(why)?;
            return Ok(Step::Run(self.put(key, None, None, turn)?));
        };
        claims::restore(self.tx, &theirs)?;
        let operation = theirs.operation_id.clone();
        match (theirs.state, theirs.effects) {
            (ClaimState::Unknown, _) => Ok(Step::Unknown { operation }),
            _ if !self.known.dead.contains(&theirs.seq) => Ok(Step::Claimed(theirs)),
            (ClaimState::Dispatched, Effects::Once) => {
                // An earlier run of a task may have claimed its step for other parameters.
                let claimed = self.tx.link(theirs.seq)?.and_then(|link| link.body());
                let body = Body {
                    request_hash: claimed.and_then(|body| body.request_hash),
                    about: Some(operation.clone()),
                    claim: Some(theirs.seq),
                    ..Body::default()
                };
                chain::append(self.tx, Event::Unknown, self.stamp, &body)?;
                self.tx.put_claim(&Claim {
                    state: ClaimState::Unknown,
                    ..theirs
                })?;
                Ok(Step::Unknown { operation })
            }
            _ => {
                let turn = self.turn(Some(Why::TakenOver))?;
                Ok(Step::Run(self.put(key, None, Some(theirs), turn)?))
            }
        }
    }

    /// Adds the claim and its link. The link opens `session`, or takes the claim `before` over.
    fn put(
        &mut self,
        key: ClaimKey,
        session: Option<SessionSeal>,
        before: Option<Claim>,
        (why, attempt): (Why, u32),
    ) -> Result<Running, LedgerError> {
        let request_hash = &self.hashes.request_hash;
        let event = before
            .as_ref()
            .map_or(Event::Reserved, |_| Event::TakenOver);
        let delivery = claims::name_of(&self.ask.who);
        let continues = self.unfinished()?;
        let body = Body {
            request_hash: Some(request_hash.clone()),
            continues,
            entry_digest: Some(self.ask.entry_digest.clone()),
            reason: Some(why.name().to_owned()),
            claim: before.as_ref().map(|claim| claim.seq),
            about: before.map(|claim| claim.operation_id),
            claimed: (key.request_hash != *request_hash).then(|| key.request_hash.clone()),
            effects: Some(name(&self.ask.effects)),
            action: Some(answer::action_type(&self.ask.asked)),
            home: self.ask.home.clone(),
            session,
            task: self.ask.who.task_id.map(ToOwned::to_owned),
            attempt: delivery.as_ref().map(|_| attempt),
            delivery,
            ..Body::default()
        };
        let Head { seq, .. } = chain::append(self.tx, event, self.stamp, &body)?;
        let claim = Claim {
            key,
            operation_id: self.ask.who.operation_id.to_owned(),
            seq,
            state: ClaimState::Reserved,
            effects: self.ask.effects,
        };
        claims::put(self.tx, &claim)?;
        let task = (self.ask.parts > 0).then(|| TaskRun {
            attempt,
            whole: request_hash.clone(),
            began: continues.unwrap_or(seq),
        });
        Ok(Running {
            hashes: self.hashes.clone(),
            claim: seq,
            why,
            attempt,
            task,
            held: None,
        })
    }

    /// The open claim that stands against performing the request, or the answer instead of it. The claim of a dead run that
    /// has performed nothing is taken over only if nothing else stands against it.
    fn holder(&mut self, key: &ClaimKey) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        if let Some(open) = self.open_step()? {
            return Ok(ControlFlow::Continue(Some(open)));
        }
        match self.same_delivery_unanswered()? {
            ControlFlow::Continue(None) => {}
            found => return Ok(found),
        }
        let held = self.past.holder(self.tx, key)?;
        let dead = &self.known.dead;
        let stands = |claim: &Claim| claim.may_have_happened() || !dead.contains(&claim.seq);
        if held.as_ref().is_some_and(stands) {
            return Ok(ControlFlow::Continue(held));
        }
        if let Some(task) = self.ask.who.task_id {
            // If duplicates are repeated, each attempt at a task has a claim of its own.
            let open = self.past.maybe_made(self.tx, task)?;
            if open.is_some() {
                return Ok(ControlFlow::Continue(open));
            }
        }
        match self.made_by_others()? {
            ControlFlow::Continue(None) => Ok(ControlFlow::Continue(held)),
            found => Ok(found),
        }
    }

    /// Why the request is performed, and as which attempt: the caller's number, or the one after the last answer
    /// for the task.
    fn turn(&mut self, why: Option<Why>) -> Result<(Why, u32), LedgerError> {
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

    fn attempt(&self, last: Option<&Row>) -> u32 {
        let next = || last.map_or(1, |row| row.attempt.saturating_add(1));
        self.ask.who.attempt.unwrap_or_else(next)
    }
}
