//! Question 1 for a delivery whose answer no row holds.

use std::ops::ControlFlow;

use super::{Questions, Step};
use crate::ledger::{
    chain::Body,
    claims,
    past::Past,
    record::{Claim, Effects, Event, Link},
    store::{StoreError, Tx},
    words::{Again, LedgerError},
};

impl Questions<'_, '_, '_> {
    /// Question 1, for the runs of the delivery that left no answer. Returns the open claim of a run that lives, or that
    /// may have performed its once-only request. If an answer was recorded for a run with this content that died, it is
    /// returned. It is an error if a run with another content has performed its once-only request. If that request was a
    /// task of several steps, its once-only steps count in the same way.
    ///
    /// A once-only step is a delivery of its own: each run of its task performs it with the same key. Its content differs if
    /// an earlier step had another result.
    pub(super) fn same_delivery_unanswered(
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
