//! The claim of a request.

use std::ops::ControlFlow;

use super::{Questions, Step};
use crate::{
    evidence::{Body, SessionSeal, chain},
    ledger::{
        Claim, ClaimKey, ClaimState, Effects, Event, Head, LedgerError, Row, RowOutcome, Running,
        Session, TaskRun, Which, Why, answer,
        names::{self, claim_key},
        record::name,
    },
};

impl Questions<'_, '_, '_> {
    /// Opens the session and claims the request. In a new session, no other run can have claimed the request.
    pub(super) fn claim_first(&mut self) -> Result<Step, LedgerError> {
        if let Some(step) = self.same_action()? {
            return Ok(step);
        }
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
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let theirs = match self.standing_claim(&key)? {
            ControlFlow::Break(step) => return Ok(step),
            ControlFlow::Continue(theirs) => theirs,
        };
        let Some(theirs) = theirs else {
            if let Some(step) = self.same_action()? {
                return Ok(step);
            }
            let turn = self.turn(why)?;
            return Ok(Step::Run(self.put(key, None, None, turn)?));
        };
        let operation = theirs.operation_id.clone();
        match (theirs.state, theirs.effects) {
            (ClaimState::Unknown, _) => Ok(Step::Unknown { operation }),
            _ if !self.known.dead.contains(&theirs.operation_id) => {
                Ok(Step::Claimed(Box::new(theirs)))
            }
            (ClaimState::Dispatched, Effects::Once) => {
                let body = Body {
                    request_hash: Some(theirs.request_hash.clone()),
                    about: Some(operation.clone()),
                    claim: Some(theirs.seq),
                    ..Body::default()
                };
                chain::append(self.tx, Event::Unknown, self.stamp, &body)?;
                self.tx.advance(&Claim {
                    state: ClaimState::Unknown,
                    ..theirs
                })?;
                Ok(Step::Unknown { operation })
            }
            _ => {
                if let Some(step) = self.same_action()? {
                    return Ok(step);
                }
                // An earlier run of the delivery may have claimed it for another content.
                let is_same = theirs.request_hash == self.hashes.request_hash;
                let turn = self.turn(if is_same { Some(Why::TakenOver) } else { why })?;
                Ok(Step::Run(self.put(key, None, Some(theirs), turn)?))
            }
        }
    }

    /// The open claim of the same action, in any session, that stands against performing it. The claim of a dead run that
    /// has sent nothing does not. If that run is not dead, but lost its connection, its call is refused when it is to be sent.
    fn same_action(&mut self) -> Result<Option<Step>, LedgerError> {
        let Some(fence) = &self.hashes.fence else {
            return Ok(None);
        };
        for claim in self.tx.open_claims_of_action(fence)? {
            let is_dead = self.known.dead.contains(&claim.operation_id);
            match claim.state {
                ClaimState::Reserved if is_dead => {}
                ClaimState::Dispatched if is_dead => return Ok(Some(unknown(claim))),
                ClaimState::Unknown => return Ok(Some(unknown(claim))),
                _ => return Ok(Some(Step::Claimed(Box::new(claim)))),
            }
        }
        Ok(None)
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
        let continues = self.unfinished()?;
        let who = &self.ask.who;
        let body = Body {
            request_hash: Some(request_hash.clone()),
            continues,
            entry_digest: Some(self.ask.entry_digest.clone()),
            fence: self.hashes.fence.clone(),
            reason: Some(why.name().to_owned()),
            claim: before.as_ref().map(|claim| claim.seq),
            about: before.as_ref().map(|claim| claim.operation_id.clone()),
            claimed: (key.claimed != *request_hash).then_some(key.claimed),
            effects: Some(name(&self.ask.effects)),
            action: Some(answer::action_type(&self.ask.asked)),
            home: self.ask.home.clone(),
            session,
            task: who.task_id.map(ToOwned::to_owned),
            attempt: Some(attempt),
            delivery: names::name_of(who),
            ..Body::default()
        }
        .fitting();
        let Head { seq, .. } = chain::append(self.tx, event, self.stamp, &body)?;
        if let Some(before) = before {
            self.tx.advance(&Claim {
                state: ClaimState::TakenOver,
                ended: Some(seq),
                ..before
            })?;
        }
        self.tx.put_claim(&Claim {
            seq,
            key: claim_key(self.ask, request_hash),
            request_hash: request_hash.clone(),
            operation_id: who.operation_id.to_owned(),
            delivery: body.delivery,
            attempt,
            task_id: body.task,
            began: continues.unwrap_or(seq),
            effects: self.ask.effects,
            action: body.action,
            home: body.home,
            entry_digest: body.entry_digest,
            fence: body.fence,
            reason: body.reason,
            claimed_at: chain::instant(self.stamp.at),
            ..Claim::default()
        })?;
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
    fn standing_claim(
        &mut self,
        key: &ClaimKey,
    ) -> Result<ControlFlow<Step, Option<Claim>>, LedgerError> {
        if let Some(open) = self.open_step()? {
            return Ok(ControlFlow::Continue(Some(open)));
        }
        match self.same_delivery_unanswered()? {
            ControlFlow::Continue(None) => {}
            found => return Ok(found),
        }
        let held = self.tx.open_claim(key)?;
        let dead = &self.known.dead;
        let stands =
            |claim: &Claim| claim.may_have_happened() || !dead.contains(&claim.operation_id);
        if held.as_ref().is_some_and(stands) {
            return Ok(ControlFlow::Continue(held));
        }
        // If duplicates are repeated, each attempt at a task has a claim of its own.
        if let Some(open) = self.maybe_made()? {
            return Ok(ControlFlow::Continue(Some(open)));
        }
        match self.made_by_others()? {
            ControlFlow::Continue(None) => Ok(ControlFlow::Continue(held)),
            found => Ok(found),
        }
    }

    /// The open claim of a once-only call that another delivery of the same task may have made.
    fn maybe_made(&mut self) -> Result<Option<Claim>, LedgerError> {
        let who = &self.ask.who;
        let Some(task) = who.task_id.filter(|_| self.ask.effects == Effects::Once) else {
            return Ok(None);
        };
        let claims = self
            .tx
            .claims_of_request(who.session_id, &self.hashes.request_hash)?;
        for claim in &claims {
            if claim.state == ClaimState::Succeeded {
                // The call was made, so its answer must be there.
                self.answer_of(claim)?;
            }
        }
        let is_open =
            |claim: &Claim| claim.may_have_happened() && claim.task_id.as_deref() == Some(task);
        Ok(claims.into_iter().rfind(is_open))
    }

    /// Why the request is performed, and as which attempt: the caller's number, or the one after the last answer
    /// for the task.
    fn turn(&mut self, why: Option<Why>) -> Result<(Why, u32), LedgerError> {
        let who = &self.ask.who;
        let last = match (why, who.attempt, who.task_id) {
            (Some(_), Some(_), _) | (_, _, None) => None,
            (None, _, Some(task)) | (_, None, Some(task)) => {
                self.tx.row(&Which::task(who.session_id, task))?
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

fn unknown(claim: Claim) -> Step {
    let operation = claim.operation_id;
    Step::Unknown { operation }
}
