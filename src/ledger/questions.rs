//! One transaction of [`begin`](super::begin): the three questions, and the claim.

mod claim;
mod delivery;
mod steps;

use std::ops::ControlFlow;

use super::{
    answer::{self, Beside},
    chain::{self, Told},
    claims::{self, claim_key},
    past::{FEW, Past, Success},
    record::{Claim, Effects, Event, Link, Row, RowOutcome, RowState, Seq},
    request::Hashes,
    review::{self, Usable},
    store::{StoreError, Tx, Which},
    words::{Again, Answered, Ask, LedgerError, Miss, Running, Why},
};
use crate::task::{Effect, Ground, OnDuplicate, Release, Review};

/// The result of one transaction.
pub(super) enum Step {
    Run(Running),
    Answered(Box<Answered>),
    /// An old answer, to be judged outside the transaction, because that may mean reading files.
    Judge(Box<Row>, Usable),
    /// Another run has claimed the request. The caller checks whether that run is alive.
    Claimed(Claim),
    /// The owner died after the request may have happened.
    Unknown {
        operation: String,
    },
}

/// What was found out between two transactions.
#[derive(Default)]
pub(super) struct Known {
    /// The judged old answers, as they were then. Those to the same delivery and to the same request may differ.
    pub(super) judged: Vec<(Row, Result<(), Miss>)>,
    /// The numbers of the claims whose owners have died.
    pub(super) dead: Vec<Seq>,
    /// Those of the newest links that are of the session.
    pub(super) examined: Vec<Link>,
}

pub(super) struct Questions<'t, 'd, 'a> {
    pub(super) tx: &'t mut Tx<'d>,
    pub(super) ask: &'t Ask<'a>,
    pub(super) hashes: &'t Hashes,
    pub(super) known: &'t Known,
    /// What the links say about the request.
    pub(super) past: Past,
    pub(super) stamp: chain::Stamp<'t>,
    /// What runs of the delivery performed before this link does not count. Their answer was revoked, or it is a failure
    /// that the next attempt follows.
    pub(super) since: Seq,
    pub(super) turn: Turn,
    /// The number of the link whose row question 1 has found.
    pub(super) found: Seq,
}

/// Whether the runs of the delivery are runs of the same attempt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Same,
    /// The caller does not count, and the last attempt has failed.
    Next,
}

/// The result of the transaction, or the reason to perform the request. Without a reason, there is no old answer.
type Decided = ControlFlow<Step, Option<Why>>;

impl Questions<'_, '_, '_> {
    /// Asks the three questions, and claims the request if none gives an answer.
    pub(super) fn decide(mut self) -> Result<Step, LedgerError> {
        if !self.is_open()? {
            return self.claim_first();
        }
        if let Some(step) = self.same_delivery()? {
            return Ok(step);
        }
        match self.same_request()? {
            ControlFlow::Break(step) => Ok(step),
            ControlFlow::Continue(why) => self.claim(why),
        }
    }

    /// Whether the session was opened before. A session belongs to the context in which it was opened.
    fn is_open(&mut self) -> Result<bool, LedgerError> {
        let who = &self.ask.who;
        let Some(session) = self.tx.session(who.session_id)? else {
            let used = !self.past.is_empty() || self.tx.is_used(who.session_id)?;
            return if used {
                Err(self.no_session("is missing"))
            } else {
                Ok(false)
            };
        };
        let link = self.tx.link(session.seq)?;
        let opened = link.and_then(|link| link.opens(&link.body()?));
        if opened.as_ref() != Some(&session) {
            return Err(self.no_session("does not match the link that opened it"));
        }
        if session.context != who.context {
            return Err(LedgerError::ContextChanged {
                session: session.session_id,
                opened: session.context,
                now: who.context.to_owned(),
            });
        }
        Ok(true)
    }

    fn no_session(&self, what: &str) -> LedgerError {
        let session = self.ask.who.session_id;
        let why = format!("the session `{session}` {what}");
        LedgerError::Store(self.tx.damaged(why))
    }

    /// Question 1. A delivery that was answered before gets the same answer, success or failure.
    fn same_delivery(&mut self) -> Result<Option<Step>, LedgerError> {
        let who = &self.ask.who;
        let session = who.session_id;
        let which = match (who.idempotency_key, who.task_id) {
            (Some(key), _) => Which::key(session, key),
            (None, Some(task)) => Which::delivery(session, who.request_id, task, who.attempt),
            (None, None) => return Ok(None),
        };
        let Some(row) = self.believed(&which)? else {
            return Ok(None);
        };
        self.found = row.seq.unwrap_or_default();
        let failed = row.outcome == RowOutcome::Error;
        let counted = who.attempt.is_some() || who.idempotency_key.is_some();
        let retried = failed && !counted;
        if retried || row.revoked_by.is_some() {
            self.since = self.found;
            self.turn = if retried { Turn::Next } else { Turn::Same };
            return Ok(None);
        }
        if who.part.is_some() {
            return self.same_step(row);
        }
        if row.request_hash != self.hashes.request_hash {
            return Err(self.conflict(row.operation_id));
        }
        if failed && who.idempotency_key.is_some() && self.is_to_be_retried(&row)? {
            self.since = self.found;
            return Ok(None);
        }
        self.again(Again::Replayed, row).map(Some)
    }

    /// Whether a retry may help after a failure, and repeats nothing that happened. The steps of a task are deliveries of
    /// their own, so the task goes on from the step that failed.
    fn is_to_be_retried(&mut self, row: &Row) -> Result<bool, StoreError> {
        let told = self.told(row)?.unwrap_or_default();
        let happened = told.effect != Effect::None && self.ask.strictest == Effects::Once;
        Ok(told.recoverable && (!happened || self.failed_at_a_repeatable_step(row)?))
    }

    fn failed_at_a_repeatable_step(&mut self, task: &Row) -> Result<bool, StoreError> {
        let mut steps = match self.ask.parts {
            0 => return Ok(false),
            _ => self
                .tx
                .rows(&Which::steps_of(&task.operation_id), usize::MAX)?,
        };
        steps.retain(|step| step.outcome == RowOutcome::Error);
        for step in &steps {
            let body = self.tx.link_of(step)?.and_then(|link| link.body());
            let body = body.unwrap_or_default();
            let claim = body.claim.map(|claim| self.tx.link(claim)).transpose()?;
            let claim = claim.flatten().and_then(|claim| claim.body());
            let told = body.told.unwrap_or_default();
            if told.effect != Effect::None && claim.unwrap_or_default().effects() == Effects::Once {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn told(&mut self, row: &Row) -> Result<Option<Told>, StoreError> {
        let link = self.tx.link_of(row)?;
        Ok(link.and_then(|link| link.body()?.told))
    }

    /// The operation performed another content of the same delivery.
    fn conflict(&self, operation: String) -> LedgerError {
        if self.ask.who.part.is_some() {
            return LedgerError::OtherStep { operation };
        }
        let (key, task) = (self.ask.who.idempotency_key, self.ask.who.task_id);
        let what = key.map(|key| format!("idempotency key `{key}`"));
        let what = what.unwrap_or_else(|| format!("task `{}`", task.unwrap_or_default()));
        LedgerError::Conflict { what, operation }
    }

    /// Questions 2 and 3. Do the links record a success of the same request, and is its answer still good?
    fn same_request(&mut self) -> Result<Decided, LedgerError> {
        let ask = self.ask;
        if ask.on_duplicate == OnDuplicate::Repeat {
            return self.repeated();
        }
        let row = match self.newest_success()? {
            None => return Ok(ControlFlow::Continue(None)),
            Some(Err(success)) => return self.damaged(&success),
            Some(Ok(row)) => row,
        };
        let Some(mut verdict) = self.verdict(&row) else {
            return Ok(ControlFlow::Break(self.judge(row)?));
        };
        let how = match ask.on_duplicate {
            OnDuplicate::Reuse { ground, .. } => {
                if ground != Ground::Content && self.may_have_changed_since(&row)? {
                    verdict = verdict.and(Err(Miss::StateMayHaveChanged));
                }
                Again::Reused
            }
            OnDuplicate::Suppress(_) | OnDuplicate::Repeat => Again::Suppressed,
        };
        match verdict {
            Err(miss) => Ok(ControlFlow::Continue(Some(Why::Miss(miss)))),
            Ok(()) => self.again(how, row).map(ControlFlow::Break),
        }
    }

    /// Whether an operation of the session that may change what later reads return has begun or ended since the
    /// old run began. The search starts at the last reuse of the answer, which examined everything before.
    fn may_have_changed_since(&mut self, row: &Row) -> Result<bool, LedgerError> {
        let answered = row.seq.unwrap_or_default();
        let link = self.tx.link(answered)?;
        let claim = link.and_then(|link| link.body()?.claim);
        let mut reused = self.tx.rows(&Which::reuses_of(&row.id), 1)?;
        // A replayed answer did not examine anything.
        reused.retain(|reuse| reuse.state == Some(RowState::Reused));
        let reused = reused.pop().map(|row| self.past.believed(self.tx, row));
        let reused = reused.transpose()?.flatten().and_then(|reuse| reuse.seq);
        let since = reused.or(claim).unwrap_or(answered);
        let session = self.ask.who.session_id;
        let changed = self.tx.changed_since(since, session, &row.operation_id)?;
        Ok(changed.is_some())
    }

    /// If the catalog allows repetition, a request is still performed once per delivery.
    fn repeated(&mut self) -> Result<Decided, LedgerError> {
        let who = &self.ask.who;
        let key = claim_key(self.ask, &self.hashes.request_hash);
        let named = who.task_id.is_some() || who.idempotency_key.is_some();
        // Question 1 has judged what a step left that may be performed twice.
        let judged = who.part.is_some() && self.ask.effects != Effects::Once;
        let delivered = self.past.delivered(&key);
        let delivered = delivered.filter(|_| named && !judged).cloned();
        if let Some(success) = delivered {
            // An answer that was recorded for a run that died may not name the delivery, so question 1 did not find it.
            match self.row_of(&success)? {
                None => return self.damaged(&success),
                Some(row) if row.revoked_by.is_none() => {
                    return self.again(Again::Replayed, row).map(ControlFlow::Break);
                }
                Some(_) => {}
            }
        }
        let before = self.past.successes().next();
        Ok(ControlFlow::Continue(before.map(|_| Why::Repeat)))
    }

    /// The row of the newest success, or that success if its row does not match its link.
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

    fn row_of(&mut self, success: &Success) -> Result<Option<Row>, LedgerError> {
        let mut rows = self.tx.rows(&Which::link(success.link.seq), 1)?;
        rows.retain(|row| row.id == success.row_id);
        Ok(self.past.first_believed(self.tx, rows)?)
    }

    /// Decides about a success whose row does not match its link.
    fn damaged(&self, success: &Success) -> Result<Decided, LedgerError> {
        // What a changed row says about its review does not count. A rejection withdraws any answer.
        let revoked = self.past.revoked_by(&success.row_id).is_some();
        let miss = if revoked || self.past.is_rejected(&success.row_id) {
            Miss::Revoked
        } else if self.ask.effects == Effects::Once {
            return Err(LedgerError::Damaged {
                operation: success.link.operation_id.clone(),
                link: success.link.seq,
            });
        } else {
            Miss::LedgerDamaged
        };
        Ok(ControlFlow::Continue(Some(Why::Miss(miss))))
    }

    /// The first row that its link seals.
    fn believed(&mut self, which: &Which) -> Result<Option<Row>, LedgerError> {
        let rows = self.tx.rows(which, FEW)?;
        Ok(self.past.first_believed(self.tx, rows)?)
    }

    /// The verdict on an old answer, if it was judged. An answer that was revoked or pruned since is judged again.
    fn verdict(&self, row: &Row) -> Option<Result<(), Miss>> {
        let facts = |row: &Row| (row.id.clone(), row.revoked_by, row.response.is_some());
        let mut judged = self.known.judged.iter();
        let (_, verdict) = judged.find(|(judged, _)| facts(judged) == facts(row))?;
        Some(*verdict)
    }

    /// Gives an old answer again, byte for byte, in a new row (R-004-38, R-004-39, C-38).
    fn again(&mut self, how: Again, original: Row) -> Result<Step, LedgerError> {
        let (event, state) = match how {
            Again::Replayed => (Event::Replayed, RowState::Replayed),
            Again::Reused => (Event::Reused, RowState::Reused),
            Again::Suppressed => (Event::Suppressed, RowState::Suppressed),
        };
        let review = self.review(&original)?;
        if let Some(review) = &review
            && review.release() == Release::Withheld
        {
            return Err(LedgerError::ReviewOpen(Box::new(review.clone())));
        }
        // Each repetition names the row of the run that made the answer, unless that row is lost.
        let made = match &original.reused_from {
            Some(made) => self.tx.row(&Which::id(made))?.map(|row| row.id),
            None => None,
        };
        let made = (&original, made.as_ref().unwrap_or(&original.id).as_str());
        let row = answer::again(self.ask, self.hashes, made, state, self.stamp.at);
        let delivery = claims::name_of(&self.ask.who);
        let told = self.told(&original)?;
        // A person has given an answer of which nothing was told.
        let effect = match (told, original.outcome) {
            (Some(told), _) => told.effect,
            (None, RowOutcome::Success) => Effect::Done,
            (None, _) => Effect::Unknown,
        };
        let beside = Beside {
            delivery: delivery.as_deref(),
            told,
            ..Beside::default()
        };
        let (head, _) = answer::record(self.tx, event, self.stamp, row, beside)?;
        Ok(Step::Answered(Box::new(Answered {
            how,
            effect,
            original,
            review,
            request_hash: self.hashes.request_hash.clone(),
            head,
        })))
    }

    fn review(&mut self, row: &Row) -> Result<Option<Review>, LedgerError> {
        let Some(terms) = review::terms(row, self.ask.review) else {
            return Ok(None);
        };
        let decision = self.past.reviewed(self.tx, row)?;
        Ok(Some(Review::new(terms, decision, self.stamp.at)))
    }

    fn judge(&mut self, row: Row) -> Result<Step, LedgerError> {
        let review = self.review(&row)?;
        let usable = review::usable(&row, review.as_ref());
        Ok(Step::Judge(Box::new(row), usable))
    }
}
