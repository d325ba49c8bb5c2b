//! One transaction of [`begin`](super::begin): the three questions, and the claim.
//!
//! A delivery is named by its idempotency key, else by its request, task and attempt ([`names`]). A request is named by the
//! hash of what is asked for: entries, versions, parameters, outputs and the salt, without what the entry calls volatile and
//! the signatures of links, and with secrets and answers by a keyed hash (`request.rs`). Both are looked for among the answers
//! of the session, here, and among its claims, for runs that left no answer (`questions/delivery.rs`; for steps,
//! `questions/steps.rs`).

mod claim;
mod delivery;
mod state;
mod steps;

use super::{
    answer, names,
    record::{Body, Claim, Effects, Event, Row, RowOutcome, RowState, Told, Which},
    request::Hashes,
    review,
    store::{StoreError, Tx},
    validity::sealed,
    words::{Again, Answered, Ask, LedgerError, Miss, Running, Who, Why},
};
use crate::task::{Effect, Ground, OnDuplicate, Release, Review};
use state::Question;

pub(super) use state::{Known, QuestionEnd, Questions, Stop, Turn};

/// Asks what is asked about a request that was not made before, in a session that is open.
pub(super) fn of_a_new_request(
    tx: &mut Tx<'_>,
    ask: &Ask<'_>,
    hashes: &Hashes,
) -> Result<(), StoreError> {
    let (who, hash) = (&ask.who, &hashes.request_hash);
    tx.ends(who.session_id)?;
    tx.session(who.session_id)?;
    if let Some(which) = answers_of_delivery(who) {
        tx.row(&which)?;
    }
    tx.row(&Which::success(who.session_id, hash))?;
    if let Some(name) = names::name_of(who) {
        tx.claims_of_delivery(who.session_id, &name)?;
    }
    tx.open_claim(who.session_id, &names::claimed(ask, hash))?;
    if ask.effects == Effects::Once {
        tx.claims_of_request(who.session_id, hash)?;
    }
    if let Some(task) = who.task_id {
        tx.row(&Which::task(who.session_id, task))?;
    }
    if let Some(fence) = &hashes.fence {
        tx.open_claims_of_action(fence)?;
    }
    Ok(())
}

/// The answers to the same delivery.
fn answers_of_delivery(who: &Who<'_>) -> Option<Which> {
    let session = who.session_id;
    Some(match (who.idempotency_key, who.task_id) {
        (Some(key), _) => Which::key(session, key),
        (None, Some(task)) => Which::delivery(session, who.request_id, task, who.attempt),
        (None, None) => return None,
    })
}

impl Questions<'_, '_, '_> {
    /// Asks the three questions, and claims the request if none gives an answer. For runs of the delivery that left no row,
    /// `same_delivery_unanswered` asks question 1.
    pub(super) fn decide(&mut self) -> Question<Running> {
        if !self.is_open()? {
            return self.claim_first();
        }
        self.same_delivery()?;
        let why = self.same_request()?;
        self.claim(why)
    }

    /// Whether the session was opened before. A session belongs to the context in which it was opened.
    fn is_open(&mut self) -> Result<bool, LedgerError> {
        let who = &self.ask.who;
        match self.tx.session(who.session_id)? {
            None => Ok(false),
            Some(session) if session.context != who.context => Err(LedgerError::ContextChanged {
                session: session.session_id,
                opened: session.context,
                now: who.context.to_owned(),
            }),
            Some(_) => Ok(true),
        }
    }

    /// Question 1. A delivery that was answered before gets the same answer, success or failure.
    fn same_delivery(&mut self) -> Question<()> {
        let who = &self.ask.who;
        let Some(which) = answers_of_delivery(who) else {
            return Ok(());
        };
        let Some(row) = self.newest(&which)? else {
            return Ok(());
        };
        let failed = row.outcome == RowOutcome::Error;
        let counted = who.attempt.is_some() || who.idempotency_key.is_some();
        let retried = failed && !counted;
        if retried || row.revoked_by.is_some() {
            self.since = row.seq.unwrap_or_default();
            self.turn = if retried { Turn::Next } else { Turn::Same };
            return Ok(());
        }
        if who.part.is_some() {
            return self.same_step(row);
        }
        if row.request_hash != self.hashes.request_hash {
            return Err(self.conflict(row.operation_id).into());
        }
        if failed && who.idempotency_key.is_some() && self.is_to_be_retried(&row)? {
            self.since = row.seq.unwrap_or_default();
            return Ok(());
        }
        self.again(Again::Replayed, row)
    }

    /// Whether a retry may help after a failure, and repeats nothing that happened. The steps of a task are deliveries of
    /// their own, so the task goes on from the step that failed.
    fn is_to_be_retried(&mut self, row: &Row) -> Result<bool, StoreError> {
        let told = self.told(row)?.unwrap_or_default();
        let happened = told.effect != Effect::None && self.ask.strictest == Effects::Once;
        Ok(told.recoverable && (!happened || self.failed_at_a_repeatable_step(row)?))
    }

    fn failed_at_a_repeatable_step(&mut self, task: &Row) -> Result<bool, StoreError> {
        if self.ask.parts == 0 {
            return Ok(false);
        }
        let steps = Which::steps_of(&task.operation_id);
        let mut steps = self.tx.rows(&steps, usize::MAX)?;
        steps.retain(|step| step.outcome == RowOutcome::Error);
        for step in &steps {
            let body = self.tx.link_of(step)?.and_then(|link| link.body());
            let body = body.unwrap_or_default();
            let claim = body.claim.map(|claim| self.tx.claim(claim)).transpose()?;
            let effects = claim.flatten().unwrap_or_default().effects;
            let told = body.told.unwrap_or_default();
            if told.effect != Effect::None && effects == Effects::Once {
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

    /// Questions 2 and 3. Was the same request a success, and is its answer still good?
    fn same_request(&mut self) -> Question<Option<Why>> {
        let ask = self.ask;
        if ask.on_duplicate == OnDuplicate::Repeat {
            return self.repeated();
        }
        let which = Which::success(ask.who.session_id, &self.hashes.request_hash);
        let Some(row) = self.newest(&which)? else {
            return Ok(None);
        };
        let Some(mut verdict) = self.verdict(&row) else {
            return self.judge(row);
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
        if let Err(miss) = verdict {
            return Ok(Some(Why::Miss(miss)));
        }
        self.again_or_miss(how, row)
    }

    /// Whether an operation of the session that may change what later reads return has begun or ended since the
    /// old run began. The search starts at the last reuse of the answer, which examined everything before.
    fn may_have_changed_since(&mut self, row: &Row) -> Result<bool, LedgerError> {
        let answered = row.seq.unwrap_or_default();
        let mut reused = self.tx.rows(&Which::reuses_of(&row.id), 1)?;
        // A replayed answer did not examine anything.
        reused.retain(|reuse| reuse.state == Some(RowState::Reused));
        let since = if let Some(reused) = reused.pop().and_then(|reuse| reuse.seq) {
            reused
        } else {
            let link = self.tx.link(answered)?;
            let claim = link.and_then(|link| link.body()?.claim);
            claim.unwrap_or(answered)
        };
        let session = self.ask.who.session_id;
        Ok(self.tx.changed_since(since, session, &row.operation_id)?)
    }

    /// If the catalog allows repetition, a request is still performed once per delivery.
    fn repeated(&mut self) -> Question<Option<Why>> {
        let who = &self.ask.who;
        let hash = &self.hashes.request_hash;
        let claimed = names::claimed(self.ask, hash);
        let named = who.task_id.is_some() || who.idempotency_key.is_some();
        // Question 1 has judged what a step left that may be performed twice.
        let judged = who.part.is_some() && self.ask.effects != Effects::Once;
        if named
            && !judged
            && let Some(success) = self.tx.success_of(who.session_id, hash, &claimed)?
            && let Some(row) = self.answer_of(&success)?
            && row.revoked_by.is_none()
        {
            // An answer that was recorded for a run that died may not name the delivery, so question 1 did not find it.
            return self.again_or_miss(Again::Replayed, row);
        }
        let which = Which::success(who.session_id, hash);
        let before = self.tx.steps(&which, 1)?;
        Ok(before.first().map(|_| Why::Repeat))
    }

    /// The row of a claim that ended with a success. It is an error if a once-only call has none.
    fn answer_of(&mut self, claim: &Claim) -> Result<Option<Row>, LedgerError> {
        let link = claim.ended.unwrap_or_default();
        let row = self.newest(&Which::link(link))?;
        if row.is_none() && claim.effects == Effects::Once {
            let operation = claim.operation_id.clone();
            return Err(LedgerError::Damaged { operation, link });
        }
        Ok(row)
    }

    /// The newest of these rows. Its mark says whether its answer was withdrawn.
    fn newest(&mut self, which: &Which) -> Result<Option<Row>, LedgerError> {
        let Some(row) = self.tx.row(which)? else {
            return Ok(None);
        };
        let revoked_by = review::withdrawn_by(self.tx, &row)?;
        Ok(Some(Row { revoked_by, ..row }))
    }

    /// The verdict on an old answer, if it was judged. An answer that was revoked or pruned since is judged again.
    fn verdict(&self, row: &Row) -> Option<Result<(), Miss>> {
        let facts = |row: &Row| (row.id.clone(), row.revoked_by, row.response.is_some());
        let mut judged = self.known.judged.iter();
        let (_, verdict) = judged.find(|(judged, _)| facts(judged) == facts(row))?;
        Some(*verdict)
    }

    /// Gives an old answer again, or performs the request, because the answer does not match its link.
    fn again_or_miss(&mut self, how: Again, original: Row) -> Question<Option<Why>> {
        self.again(how, original)?;
        Ok(Some(Why::Miss(Miss::LedgerDamaged)))
    }

    /// Gives an old answer again, byte for byte, in a new row (R-004-38, R-004-39, C-38). Goes on if the row does not match
    /// its link; that is an error if the request must not be performed twice.
    fn again(&mut self, how: Again, original: Row) -> Question<()> {
        let link = self.tx.link_of(&original)?;
        let Some(link) = link.filter(|link| sealed(&original, link)) else {
            if self.ask.strictest == Effects::Once {
                let (operation, link) = (original.operation_id, original.seq.unwrap_or_default());
                return Err(LedgerError::Damaged { operation, link }.into());
            }
            return Ok(());
        };
        let told = link.body().and_then(|body| body.told);
        let (event, state) = match how {
            Again::Replayed => (Event::Replayed, RowState::Replayed),
            Again::Reused => (Event::Reused, RowState::Reused),
            Again::Suppressed => (Event::Suppressed, RowState::Suppressed),
        };
        let review = self.review(&original)?;
        if let Some(review) = &review
            && review.release() == Release::Withheld
        {
            return Err(LedgerError::ReviewOpen(Box::new(review.clone())).into());
        }
        // Each repetition names the row of the run that made the answer, unless that row is lost.
        let made = self.tx.source(&original)?.map(|row| row.id);
        let made = (&original, made.as_ref().unwrap_or(&original.id).as_str());
        let row = answer::again(self.ask, self.hashes, made, state, self.stamp.at);
        let delivery = names::name_of(&self.ask.who);
        // A person has given an answer of which nothing was told.
        let effect = match (told, original.outcome) {
            (Some(told), _) => told.effect,
            (None, RowOutcome::Success) => Effect::Done,
            (None, _) => Effect::Unknown,
        };
        let body = Body {
            attempt: delivery.as_ref().map(|_| row.attempt),
            task: row.task_id.clone().filter(|_| delivery.is_some()),
            delivery,
            told,
            ..Body::default()
        };
        let (head, _) = answer::add_row(self.tx, event, self.stamp, row, body)?;
        Err(Stop::End(QuestionEnd::Answered(Box::new(Answered {
            how,
            effect,
            original,
            review,
            request_hash: self.hashes.request_hash.clone(),
            head,
        }))))
    }

    fn review(&mut self, row: &Row) -> Result<Option<Review>, LedgerError> {
        let Some(terms) = review::terms(row, self.ask.review) else {
            return Ok(None);
        };
        let decision = review::last(self.tx, row)?;
        Ok(Some(Review::new(terms, decision, self.stamp.at)))
    }

    /// Ends the questions until the row is judged.
    fn judge<T>(&mut self, row: Row) -> Question<T> {
        let review = self.review(&row)?;
        let usable = review::usable(&row, review.as_ref());
        Err(Stop::End(QuestionEnd::Judge(Box::new(row), usable)))
    }
}
