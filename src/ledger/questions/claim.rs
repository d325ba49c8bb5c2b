//! The claim of a request.

use super::state::{Question, QuestionEnd, Questions, Stop};
use crate::ledger::{
    answer, chain, names,
    record::{
        Body, Claim, ClaimState, Effects, Event, Head, Row, RowOutcome, SessionSeal, Which, name,
    },
    words::{LedgerError, Running, TaskRun, Why},
};

impl Questions<'_, '_, '_> {
    /// Opens the session and claims the request. In a new session, no other run can have claimed the request.
    pub(super) fn claim_first(&mut self) -> Question<Running> {
        self.same_action()?;
        let (who, attempt) = (&self.ask.who, self.attempt(None));
        let seal = SessionSeal {
            context: who.context.to_owned(),
            profile: who.profile.to_owned(),
        };
        self.put(Some(seal), None, (Why::New, attempt))
    }

    /// Claims the request, unless another run has it. Without a reason, there is no old answer.
    pub(super) fn claim(&mut self, why: Option<Why>) -> Question<Running> {
        let Some(theirs) = self.standing_claim()? else {
            self.same_action()?;
            let turn = self.turn(why)?;
            return self.put(None, None, turn);
        };
        match (theirs.state, theirs.effects) {
            (ClaimState::Unknown, _) => unknown(theirs),
            _ if !self.known.dead.contains(&theirs.operation_id) => claimed(theirs),
            (ClaimState::Dispatched, Effects::Once) => {
                let body = Body {
                    request_hash: Some(theirs.request_hash.clone()),
                    about: Some(theirs.operation_id.clone()),
                    claim: Some(theirs.seq),
                    ..Body::default()
                };
                chain::add_link(self.tx, Event::Unknown, self.stamp, &body)?;
                unknown(theirs)
            }
            _ => {
                self.same_action()?;
                // An earlier run of the delivery may have claimed it for another content.
                let is_same = theirs.request_hash == self.hashes.request_hash;
                let turn = self.turn(if is_same { Some(Why::TakenOver) } else { why })?;
                self.put(None, Some(&theirs), turn)
            }
        }
    }

    /// The open claim of the same action, in any session, that stands against performing it. The claim of a dead run that
    /// has sent nothing does not. If that run is not dead, but lost its connection, its call is refused when it is to be sent.
    fn same_action(&mut self) -> Question<()> {
        let Some(fence) = &self.hashes.fence else {
            return Ok(());
        };
        for claim in self.tx.open_claims_of_action(fence)? {
            let is_dead = self.known.dead.contains(&claim.operation_id);
            match claim.state {
                ClaimState::Reserved if is_dead => {}
                ClaimState::Dispatched if is_dead => return unknown(claim),
                ClaimState::Unknown => return unknown(claim),
                _ => return claimed(claim),
            }
        }
        Ok(())
    }

    /// Adds the claim and its link. The link opens `session`, or takes the claim `before` over.
    fn put(
        &mut self,
        session: Option<SessionSeal>,
        before: Option<&Claim>,
        (why, attempt): (Why, u32),
    ) -> Question<Running> {
        let request_hash = &self.hashes.request_hash;
        let event = before.map_or(Event::Reserved, |_| Event::TakenOver);
        let claimed = names::claimed(self.ask, request_hash);
        let continues = self.unfinished()?;
        let who = &self.ask.who;
        let body = Body {
            request_hash: Some(request_hash.clone()),
            continues,
            entry_digest: Some(self.ask.entry_digest.clone()),
            fence: self.hashes.fence.clone(),
            reason: Some(why.name().to_owned()),
            claim: before.map(|claim| claim.seq),
            about: before.map(|claim| claim.operation_id.clone()),
            claimed: (claimed != *request_hash).then_some(claimed),
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
        let Head { seq, .. } = chain::add_link(self.tx, event, self.stamp, &body)?;
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
    fn standing_claim(&mut self) -> Question<Option<Claim>> {
        if let Some(open) = self.open_step()? {
            return Ok(Some(open));
        }
        if let Some(open) = self.same_delivery_unanswered()? {
            return Ok(Some(open));
        }
        let claimed = names::claimed(self.ask, &self.hashes.request_hash);
        let held = self.tx.open_claim(self.ask.who.session_id, &claimed)?;
        let dead = &self.known.dead;
        let stands =
            |claim: &Claim| claim.may_have_happened() || !dead.contains(&claim.operation_id);
        if held.as_ref().is_some_and(stands) {
            return Ok(held);
        }
        // If duplicates are repeated, each attempt at a task has a claim of its own.
        if let Some(open) = self.maybe_made()? {
            return Ok(Some(open));
        }
        Ok(self.made_by_others()?.or(held))
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

/// Ends the questions: the owner died after the request may have happened.
fn unknown<T>(claim: Claim) -> Question<T> {
    let operation = claim.operation_id;
    Err(Stop::End(QuestionEnd::Unknown { operation }))
}

/// Ends the questions until it is known whether the owner lives.
fn claimed<T>(claim: Claim) -> Question<T> {
    Err(Stop::End(QuestionEnd::Claimed(Box::new(claim))))
}
