//! Question 1 for a delivery whose answer no row names.

use super::state::{Question, Questions};
use crate::ledger::{
    names,
    record::{Claim, ClaimState, Effects},
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
    pub(super) fn same_delivery_unanswered(&mut self) -> Question<Option<Claim>> {
        let who = &self.ask.who;
        if who.part.is_some() && self.ask.effects != Effects::Once {
            return Ok(None);
        }
        let Some(name) = names::name_of(who) else {
            return Ok(None);
        };
        let mut runs = self.tx.claims_of_delivery(who.session_id, &name)?;
        runs.retain(|run| names::fits_attempt(who, run.attempt));
        for run in runs {
            let lives = run.is_open() && !self.known.dead.contains(&run.operation_id);
            if lives || run.may_have_happened() {
                return Ok(Some(run));
            }
            if run.request_hash == self.hashes.request_hash {
                if run.seq > self.since
                    && run.state == ClaimState::Succeeded
                    && let Some(row) = self.answer_of(&run)?
                    && row.revoked_by.is_none()
                {
                    self.again(Again::Replayed, row)?;
                }
                continue;
            }
            let steps = self.tx.claims_named(&format!("{}.", run.operation_id))?;
            if let Some(step) = steps.iter().rfind(|step| step.may_have_happened()) {
                return Ok(Some(step.clone()));
            }
            if run.seq > self.since && self.has_performed(&run, &steps)? {
                return Err(self.conflict(run.operation_id).into());
            }
        }
        Ok(None)
    }

    /// Whether a run has performed its once-only request, or a once-only step of it, and its answer was not withdrawn.
    fn has_performed(&mut self, run: &Claim, steps: &[Claim]) -> Result<bool, LedgerError> {
        for claim in [run].into_iter().chain(steps) {
            if claim.effects == Effects::Once && self.counts(claim)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a claim ended with a success that was not withdrawn.
    pub(super) fn counts(&mut self, claim: &Claim) -> Result<bool, LedgerError> {
        if claim.state != ClaimState::Succeeded {
            return Ok(false);
        }
        let row = self.answer_of(claim)?;
        Ok(row.is_none_or(|row| row.revoked_by.is_none()))
    }
}
