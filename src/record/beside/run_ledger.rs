//! The ledger during a run: it is asked before a task is performed, and records how the task ended (R-004-50,
//! R-004-51).

use std::{cell::RefCell, rc::Rc};

use crate::{
    approval::{Approvals, Joined, Pass, SentTask, operation},
    assets::Contact,
    catalog::{Caller, LedgerRule, Need as LedgerNeed},
    envelope::{Delivery, Received},
    evidence::signing,
    executor::{Context, Executed, Hidden, Work},
    host::{Host, Moment},
    ledger::{self, Ask, Bound, Effects, Ledger, LedgerError, Part, Place, Running, Who, Wish},
    task::{Admission, Assessment, Failure, Fault, Need, Reuse, ReviewRule, SessionFrom},
};

use super::super::{
    Project, ask,
    ended::{self, Ids},
    review, said,
    wording::{old_answer, refused, unrecordable},
    world::{self, Here},
};

/// The ledger of a run: where it is, the rules for it, and the connection once it is open.
#[derive(Clone)]
pub(crate) struct RunLedger<'h> {
    pub(super) project: &'h Project,
    pub(super) place: Place,
    pub(super) rule: LedgerRule,
    pub(super) caller: Caller,
    pub(in crate::record) approvals: Approvals,
    pub(super) reuse: Reuse,
    pub(super) ids: Ids,
    pub(super) host: &'h Host,
    pub(super) open: Rc<RefCell<Option<Ledger<'h>>>>,
    /// The request for an approval with which the task goes on.
    pub(super) joined: Option<Joined>,
    /// The step of a task that this is about, if it is about one.
    pub(super) step: Option<Part>,
}

/// The ledger's reply to a request.
pub(crate) enum Begun<'b, 'h> {
    /// Nothing is performed: this is the answer.
    Answered(Box<Executed>),
    /// Nothing is performed until a person approves. The work can be begun again.
    Held(Box<Executed>),
    /// The request is performed without a record. A note for the answer says why, if that is needed.
    Unrecorded(Option<String>),
    /// This run performs the request, and holds the claim.
    Run(Box<Recording<'b, 'h>>),
}

/// A request that is being performed, until its end is recorded.
pub(crate) struct Recording<'b, 'h> {
    pub(super) ledger: Ledger<'h>,
    pub(super) ask: Ask<'b>,
    pub(super) running: Running,
    pub(super) hidden: Hidden,
    pub(super) inputs: ended::Before,
    pub(super) received: &'b Received,
    pub(super) context: &'b Context<'b>,
    pub(super) of: &'b RunLedger<'h>,
}

impl<'h> RunLedger<'h> {
    /// `reuse` is what the operator allows.
    pub(crate) fn of(
        project: &'h Project,
        rule: LedgerRule,
        (caller, approvals): (Caller, Approvals),
        reuse: Reuse,
        received: &Received,
        host: &'h Host,
    ) -> Result<Self, Failure> {
        Ok(Self {
            project,
            place: project.place(&rule)?,
            reuse: match rule.reuse {
                Reuse::Allowed => reuse,
                Reuse::Off => Reuse::Off,
            },
            rule,
            caller,
            approvals,
            ids: Ids::of(received),
            host,
            open: Rc::default(),
            joined: None,
            step: None,
        })
    }

    /// The decision of the gate; none if it was not asked.
    pub(crate) fn admission(&self) -> Option<Admission> {
        self.approvals.admission.clone()
    }

    /// The same for a task that turns out to have this risk.
    pub(crate) fn raised(mut self, risk: Assessment) -> Self {
        let admission = self.approvals.admission.take();
        self.approvals.admission = admission.map(|admission| admission.with(risk));
        self
    }

    /// The open ledger, which [`RunLedger::keep`] takes back.
    pub(super) fn opened(&self) -> Result<Ledger<'h>, LedgerError> {
        self.open.take().map_or_else(|| self.connect(), Ok)
    }

    pub(super) fn keep(&self, ledger: Ledger<'h>) {
        self.open.replace(Some(ledger));
    }

    fn connect(&self) -> Result<Ledger<'h>, LedgerError> {
        let ledger = Ledger::open(&self.place, &self.project.state_dir, Wish::Write, self.host)?;
        Ok(ledger.signed_by(self.project.sign_key(&self.rule).map(signing)))
    }

    /// Why the last attempt at a task failed, for the retry rules (R-000-64 … R-000-66). A first attempt opens no
    /// ledger, and a dry run contacts no other machine.
    pub(crate) fn last_failure(
        &self,
        received: &Received,
        contact: Contact,
    ) -> Result<Option<Fault>, Failure> {
        if received.attempt.unwrap_or(1) < 2 || self.place == Place::Nowhere {
            return Ok(None);
        }
        if contact == Contact::Nobody && matches!(self.place, Place::Postgres(_)) {
            tracing::warn!(
                "A dry run does not query the shared ledger for the failure of the last attempt."
            );
            return Ok(None);
        }
        // `begin` decides whether the task may be performed without the ledger.
        let Ok(ledger) = self.connect() else {
            return Ok(None);
        };
        let mut open = self.open.borrow_mut();
        let ledger = open.insert(ledger);
        let row = ledger.last_failure(&received.identity.session_id, &self.ids.task)?;
        Ok(row.and_then(|row| Fault::named(row.fault.as_deref()?)))
    }

    /// Asks the ledger for an answer to the request, and claims the request if there is none. `settled` gets a sentence
    /// for each interrupted plan that had to be settled first.
    pub(crate) fn begin<'b>(
        &'b self,
        work: &mut Work,
        received: &'b Received,
        context: &'b Context<'b>,
        settled: &mut Vec<String>,
    ) -> Begun<'b, 'h> {
        if self.place == Place::Nowhere {
            return self.nowhere(work, received);
        }
        let hidden = Hidden::of(work);
        let who = self.who(received, context);
        let allowed = (self.reuse, self.approvals.admission.as_ref());
        let Some(ask) = ask::of(work, who, allowed, received, &hidden, context) else {
            return Begun::Unrecorded(None);
        };
        let rule = review::rule(work);
        let mut ledger = match self.opened() {
            Ok(ledger) => ledger,
            Err(error) => {
                let stopped = context.stopped().map(LedgerError::Stopped);
                return self.without(&ask, (work, rule), stopped.unwrap_or(error));
            }
        };
        let go_on = || context.go_on().is_ok();
        let here = Here {
            root: context.desk.root,
            host: context.desk.host,
            go_on: &go_on,
            objects: match work {
                Work::Tools(ready) => Some(ready.store.objects().clone()),
                Work::Files(_) | Work::Grant(_) | Work::Said(_) => None,
            },
        };
        let mut begun = ledger.begin(&ask, &here, &|| context.go_on());
        let mut settled_before = None;
        while let (Err(LedgerError::Unknown { operation }), Work::Files(_)) = (&begun, &*work)
            && settled_before.as_ref() != Some(operation)
        {
            let left = operation.clone();
            begun = world::settle(&mut ledger, (&ask, &left), &hidden, (context, settled))
                .and_then(|()| ledger.begin(&ask, &here, &|| context.go_on()));
            settled_before = Some(left);
        }
        let running = match begun {
            Ok(ledger::Reply::Answered(answered)) => {
                let executed = Executed::from(said::again(old_answer(*answered), work));
                return Begun::Answered(Box::new(self.leave(ledger, executed)));
            }
            Ok(ledger::Reply::Run(running)) => running,
            Err(error) => return self.without(&ask, (work, rule), error),
        };
        tracing::info!(
            "The request {} is performed; the reason is {}.",
            running.hashes.request_hash,
            running.why.name()
        );
        let sent = SentTask {
            received,
            caller: &self.caller,
            hidden: &hidden,
        };
        let passed = self
            .approvals
            .pass(&mut ledger, (&ask, &running), work, sent, context);
        let mut recording = Recording {
            ledger,
            ask,
            running,
            hidden,
            inputs: ended::Before::default(),
            received,
            context,
            of: self,
        };
        match passed {
            // The ledger may say that the request was begun. The record of its end says that nothing was performed.
            Err(error) if error.is_unconfirmed() => {
                Begun::Answered(Box::new(recording.end(refused(error), None)))
            }
            Err(error) => Begun::Answered(Box::new(refused(error))),
            Ok(Pass::Go) => {
                recording.inputs = ended::inputs_before(work, context.desk.root);
                Begun::Run(Box::new(recording))
            }
            Ok(Pass::Held(outcome, asks)) => {
                let waits = outcome.waiting.is_some();
                let ended = Box::new(recording.end(Executed::from(*outcome), asks));
                if waits {
                    Begun::Held(ended)
                } else {
                    Begun::Answered(ended)
                }
            }
        }
    }

    /// What may be performed if the operator wants no ledger.
    fn nowhere<'b>(&self, work: &Work, received: &Received) -> Begun<'b, 'h> {
        let policy = self.approvals.policy();
        match (policy.need, review::rule(work)) {
            _ if operation(received).is_some() => Begun::Answered(Box::new(unrecordable())),
            (Need::Approval, _) => Begun::Answered(Box::new(unrecordable())),
            (Need::None, None) => Begun::Unrecorded(None),
            (Need::None, Some(_)) => Begun::Answered(Box::new(refused(LedgerError::NoReview))),
        }
    }

    pub(super) fn who<'b>(&'b self, received: &'b Received, context: &'b Context<'_>) -> Who<'b> {
        Who {
            operation_id: context.desk.operation_id,
            session_id: &received.identity.session_id,
            context: self.caller.context.name(),
            profile: self.caller.profile.as_deref().unwrap_or("default"),
            request_id: self.ids.request.as_deref(),
            idempotency_key: match &self.step {
                Some(step) => Some(&step.key),
                None => self.ids.idempotency_key.as_deref(),
            },
            task_id: match (&self.joined, received.delivery) {
                (Some(joined), _) => joined.task.as_deref(),
                (None, Delivery::Named | Delivery::Numbered) => Some(&self.ids.task),
                (None, Delivery::Nameless) => None,
            },
            attempt: match &self.step {
                Some(step) => Some(step.run.attempt),
                None => received.attempt,
            },
            part: self.step.as_ref(),
            bound: match &self.joined {
                Some(joined) => joined.bound,
                None => bound(received),
            },
            joins: self.joined.as_ref().map(|joined| joined.id.as_str()),
        }
    }

    /// Keeps the ledger for the next step, or until the answer is printed.
    pub(super) fn leave(&self, ledger: Ledger<'h>, executed: Executed) -> Executed {
        if self.step.is_some() {
            self.keep(ledger);
            return executed;
        }
        // Closing the ledger takes time.
        executed.keeping(ledger.store)
    }

    /// Without a usable ledger, only a request that reads may be performed, and only if the catalog allows it.
    fn without<'b>(
        &self,
        ask: &Ask<'_>,
        (work, review): (&Work, Option<ReviewRule>),
        error: LedgerError,
    ) -> Begun<'b, 'h> {
        match error {
            LedgerError::Store(error) if matches!(work, Work::Said(_)) => {
                Begun::Unrecorded(Some(said::unrecorded(&error.to_string())))
            }
            LedgerError::Store(error)
                if ask.effects == Effects::None
                    && review.is_none()
                    && ask.under.is_none()
                    && self.rule.need == LedgerNeed::NotForReading
                    && self.approvals.policy().need == Need::None =>
            {
                let note = format!(
                    "The answer is not recorded, which the catalog allows for read-only calls: {error}."
                );
                tracing::warn!("{note}");
                Begun::Unrecorded(Some(note))
            }
            error => Begun::Answered(Box::new(refused(error))),
        }
    }
}

impl RunLedger<'_> {
    /// Whether a person has decided about this answer's request meanwhile, so that it may be begun again.
    pub(crate) fn decided(
        &self,
        executed: &Executed,
        begun: Moment,
        context: &Context<'_>,
    ) -> bool {
        let case = |id: &str| {
            let state_dir = &self.project.state_dir;
            let ledger = Ledger::open(&self.place, state_dir, Wish::Read, self.host);
            ledger.ok()?.case_named(id).ok()?
        };
        self.approvals.decided(executed, begun, case, context)
    }
}

/// What an approval of this task is bound to: to the names that the caller gave.
fn bound(received: &Received) -> Bound {
    match (received.identity.session_from, received.delivery) {
        (SessionFrom::Caller, Delivery::Named) => Bound::Task,
        (SessionFrom::Caller, Delivery::Nameless | Delivery::Numbered) => Bound::Session,
        (SessionFrom::Process | SessionFrom::Run, _) => Bound::Call,
    }
}
