//! The ledger during a run: it is asked before a task is performed, and records how the task ended (R-004-50,
//! R-004-51).

use camino::Utf8PathBuf;

use crate::{
    assets::Contact,
    catalog::{CatalogTables, LedgerRule, Need as LedgerNeed, approval_settings, ledger_rule},
    envelope::{Delivery, Received},
    executor::{self, Context, Executed, Fate, FileOrder, FileWork, Hidden, Work},
    gate::Caller,
    host::{self, Host, Moment},
    ledger::{self, Ask, Effects, Ledger, LedgerError, Place, Running, Who, Why, Wish},
    task::{
        Admission, Counted, Effect, Failure, Fault, Need, Outcome, Phase, PlanName, Record, Reuse,
        ReuseReport, State, decided,
    },
};

use super::{
    Project,
    approvals::{Approvals, Asks, Pass},
    ask, ended,
    kept::Ids,
    old_answer::old_answer,
    review,
    world::Here,
};

/// The ledger of a run: where it is, the rules for it, and the connection once it is open.
pub(crate) struct RunLedger<'h> {
    project: &'h Project,
    place: Place,
    rule: LedgerRule,
    pub(crate) caller: Caller,
    /// The decision of the gate, which is recorded with the request.
    pub(crate) admission: Option<Admission>,
    pub(crate) approvals: Approvals,
    reuse: Reuse,
    ids: Ids,
    open: Option<Ledger<'h>>,
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
    ledger: Ledger<'h>,
    ask: Ask<'b>,
    running: Running,
    hidden: Hidden,
    inputs: ended::Before,
    received: &'b Received,
    context: &'b Context<'h>,
    approvals: &'b Approvals,
    admission: Option<&'b Admission>,
}

impl<'h> RunLedger<'h> {
    /// Reads the rules of the catalog, if there is one. `reuse` is what the operator allows.
    pub(crate) fn of(
        project: &'h Project,
        tables: Option<&CatalogTables<'_>>,
        caller: Caller,
        reuse: Reuse,
        received: &Received,
    ) -> Result<Self, Failure> {
        let rule = tables.map(ledger_rule).transpose()?.unwrap_or_default();
        Ok(Self {
            project,
            place: project.place(&rule)?,
            reuse: match rule.reuse {
                Reuse::Allowed => reuse,
                Reuse::Off => Reuse::Off,
            },
            rule,
            caller,
            admission: None,
            approvals: Approvals {
                settings: tables
                    .map(approval_settings)
                    .transpose()?
                    .unwrap_or_default(),
                ..Approvals::default()
            },
            ids: Ids::of(received),
            open: None,
        })
    }

    pub(crate) fn own_files(&self) -> Vec<Utf8PathBuf> {
        let mut own = self.project.own_files_by(&self.rule);
        let signers = self.approvals.settings.allowed_signers.iter();
        own.extend(signers.map(|file| self.project.root.join(file)));
        own
    }

    fn connect(&self, host: &'h Host) -> Result<Ledger<'h>, LedgerError> {
        let ledger = Ledger::open(&self.place, &self.project.state_dir, Wish::Write, host)?;
        Ok(ledger.signed_by(self.project.sign_key(&self.rule)))
    }

    /// Why the last attempt at a task failed, for the retry rules (R-000-64 … R-000-66). A first attempt opens no
    /// ledger, and a dry run contacts no other machine.
    pub(crate) fn last_failure(
        &mut self,
        received: &Received,
        contact: Contact,
        host: &'h Host,
    ) -> Result<Option<Fault>, Failure> {
        if received.attempt < 2 || self.place == Place::Nowhere {
            return Ok(None);
        }
        if contact == Contact::Nobody && matches!(self.place, Place::Postgres(_)) {
            tracing::warn!(
                "A dry run does not query the shared ledger for the failure of the last attempt."
            );
            return Ok(None);
        }
        // `begin` decides whether the task may be performed without the ledger.
        let Ok(ledger) = self.connect(host) else {
            return Ok(None);
        };
        let ledger = self.open.insert(ledger);
        let row = ledger.last_failure(&received.identity.session_id, &self.ids.task)?;
        Ok(row.and_then(|row| Fault::named(row.fault.as_deref()?)))
    }

    /// Asks the ledger for an answer to the request, and claims the request if there is none. `settled` gets a sentence
    /// for each interrupted plan that had to be settled first.
    pub(crate) fn begin<'b>(
        &'b mut self,
        work: &mut Work,
        received: &'b Received,
        context: &'b Context<'h>,
        settled: &mut Vec<String>,
    ) -> Begun<'b, 'h> {
        if self.place == Place::Nowhere {
            let policy = self.approvals.policy(self.admission.as_ref());
            return match (policy.need, review::rule(work)) {
                (Need::Approval, _) => Begun::Answered(Box::new(unrecordable())),
                (Need::None, None) => Begun::Unrecorded(None),
                (Need::None, Some(_)) => Begun::Answered(Box::new(refused(LedgerError::NoReview))),
            };
        }
        let open = self.open.take();
        let run = &*self;
        let hidden = Hidden::of(work);
        let who = run.who(received, context);
        let allowed = (run.reuse, run.admission.as_ref());
        let Some(ask) = ask::of(work, who, allowed, received, &hidden, context) else {
            return Begun::Unrecorded(None);
        };
        let opened = open.map_or_else(|| run.connect(context.host), Ok);
        let mut ledger = match opened {
            Ok(ledger) => ledger,
            Err(error) => return run.without(&ask, error),
        };
        let go_on = || context.go_on().is_ok();
        let here = Here {
            root: context.root,
            host: context.host,
            go_on: &go_on,
        };
        let mut begun = ledger.begin(&ask, &here, &|| context.go_on());
        if let (Err(LedgerError::Unknown { operation }), Work::Files(_)) = (&begun, &*work) {
            match left_behind(&mut ledger, &ask, operation, (context, settled)) {
                Ok(Left::Made(running, executed)) => {
                    let recording = Recording {
                        ledger,
                        ask,
                        running,
                        hidden,
                        inputs: ended::Before::default(),
                        received,
                        context,
                        approvals: &run.approvals,
                        admission: run.admission.as_ref(),
                    };
                    return Begun::Answered(Box::new(recording.finish(*executed)));
                }
                // Another run may have taken the plan over meanwhile.
                Ok(Left::Nothing | Left::Unknown) => {
                    begun = ledger.begin(&ask, &here, &|| context.go_on());
                }
                Err(error) => begun = Err(error),
            }
        }
        let running = match begun {
            Ok(ledger::Begun::Answered(answered)) => {
                let executed = Executed::from(old_answer(*answered));
                return Begun::Answered(Box::new(executed.keeping(ledger.closing())));
            }
            Ok(ledger::Begun::Run(running)) => running,
            Err(error) => return run.without(&ask, error),
        };
        tracing::info!(
            "The request {} is performed; the reason is {}.",
            running.hashes.request_hash,
            running.why.name()
        );
        host::die_at("ledger:reserved");
        let admission = run.admission.as_ref();
        let about = (admission, &hidden);
        let passed = run
            .approvals
            .pass(&mut ledger, (&ask, &running), work, about, context);
        let mut recording = Recording {
            ledger,
            ask,
            running,
            hidden,
            inputs: ended::Before::default(),
            received,
            context,
            approvals: &run.approvals,
            admission,
        };
        match passed {
            Err(error) => Begun::Answered(Box::new(refused(error))),
            Ok(Pass::Go) => {
                host::die_at("ledger:dispatched");
                recording.inputs = ended::inputs_before(work, context.root);
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

    fn who<'b>(&'b self, received: &'b Received, context: &'b Context<'_>) -> Who<'b> {
        Who {
            operation_id: context.operation_id,
            session_id: &received.identity.session_id,
            context: self.caller.context.name(),
            profile: self.caller.profile.as_deref().unwrap_or("default"),
            request_id: self.ids.request.as_deref(),
            idempotency_key: self.ids.idempotency_key.as_deref(),
            task_id: match received.delivery {
                Delivery::Named => Some(&self.ids.task),
                Delivery::Nameless => None,
            },
            attempt: match received.counted {
                Counted::Said => Some(received.attempt),
                Counted::Unsaid => None,
            },
        }
    }

    /// Without a usable ledger, only a request that reads may be performed, and only if the catalog allows it.
    fn without<'b>(&self, ask: &Ask<'_>, error: LedgerError) -> Begun<'b, 'h> {
        match error {
            LedgerError::Store(error)
                if ask.effects == Effects::None
                    && ask.review.is_none()
                    && self.rule.need == LedgerNeed::NotForReading
                    && self.approvals.policy(self.admission.as_ref()).need == Need::None =>
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
        self.approvals
            .decided(executed, begun, self.project, context)
    }
}

impl Recording<'_, '_> {
    /// Records how the request ended, and adds the link to the outcome. The ledger is closed after the answer is
    /// printed.
    pub(crate) fn finish(self, mut executed: Executed) -> Executed {
        let asks =
            self.approvals
                .of_plan(&executed.outcome, &self.ask, self.admission, self.context);
        let Some(Pass::Held(held, asks)) = asks else {
            return self.end(executed, None);
        };
        executed.outcome = Outcome {
            notes: executed.outcome.notes,
            ..*held
        };
        self.end(executed, asks)
    }

    /// Records the end, with what it says about an approval.
    fn end(self, mut executed: Executed, asks: Option<Box<Asks>>) -> Executed {
        let Self {
            mut ledger,
            mut ask,
            running,
            hidden,
            inputs,
            received,
            context,
            approvals,
            admission: _,
        } = self;
        let outcome = &mut executed.outcome;
        // A plan of unknown outcome can be settled by its journal.
        let called = !outcome.invocations.is_empty();
        if called
            && ended::is_open(outcome, &ask)
            && let Some(failure) = &mut outcome.failure
        {
            let settled = format!(" `oneact resolve {}` settles it.", context.operation_id);
            failure.message.push_str(&settled);
        }
        review::open(outcome, ask.review, context);
        let mut end = ended::of(outcome, received, inputs, &ask, &hidden, context);
        if let Some(asks) = &asks {
            end.approval = Some(asks.note.clone());
            ask.request = asks.request.clone().unwrap_or(ask.request);
        }
        let request_hash = running.hashes.request_hash.clone();
        let (why, attempt) = (running.why, running.attempt);
        host::die_at("ledger:done");
        let recorded = ledger.finish(&ask, running, end);
        host::die_at("ledger:recorded");
        tracing::debug!("recorded as attempt {attempt}");
        outcome.notes.extend(recorded.notes);
        outcome
            .notes
            .extend(asks.and_then(|asks| approvals.tell(&asks, context)));
        outcome.record = Some(Record {
            request_hash,
            reuse: (why != Why::New).then(|| ReuseReport {
                why: why.name(),
                operation_id: None,
                answered_at: None,
                step_index: None,
            }),
            ledger: recorded.head,
            response: None,
        });
        review::release(outcome);
        executed.keeping(ledger.closing())
    }
}

/// What a run that died left of a file plan.
enum Left {
    /// The whole plan was performed: this is its answer, which is not recorded yet.
    Made(Running, Box<Executed>),
    Nothing,
    Unknown,
}

/// Reads from the journals how a plan ended whose outcome the ledger does not know.
fn left_behind(
    ledger: &mut Ledger<'_>,
    ask: &Ask<'_>,
    operation: &str,
    (context, settled): (&Context<'_>, &mut Vec<String>),
) -> Result<Left, LedgerError> {
    // The journals of another root say nothing about it.
    let home = ledger.home_of(operation)?;
    if home.is_none() || home != ask.home {
        return Ok(Left::Unknown);
    }
    let fate = executor::fate(context.desk(), operation, settled).map_err(LedgerError::Stopped)?;
    let running = match (&fate, ledger.take_up(ask, operation)?) {
        (Fate::Unknown, _) | (_, None) => return Ok(Left::Unknown),
        (_, Some(running)) => running,
    };
    let Fate::Made { directory, changed } = fate else {
        ledger.no_change_remains(ask, &running)?;
        return Ok(Left::Nothing);
    };
    let status = Work::Files(Box::new(FileWork {
        order: FileOrder::Status(PlanName::Path(directory)),
        reasoning: vec![decided(format!(
            "{operation} had applied the plan before it ended without an answer, as the journal of the plan shows."
        ))],
    }));
    let mut executed = executor::perform(status, context);
    if let Some(failure) = executed.outcome.failure.take() {
        // The journal is enough to know that the plan was applied.
        let note = format!("The report of the plan cannot be read: {}", failure.message);
        executed = Executed::from(Outcome::nothing_done(State::Done, Phase::Complete, None));
        executed.outcome.notes.push(note);
    }
    executed.outcome.changed = changed.iter().map(ToString::to_string).collect();
    executed.outcome.effect = Effect::Done;
    Ok(Left::Made(running, Box::new(executed)))
}

/// The answer if an approval is needed but could not be recorded.
fn unrecordable() -> Executed {
    let message = "the entry needs an approval, but the ledger is switched off (`none`), so no approval can be recorded";
    let mut failure = Failure::new(Fault::LedgerUnavailable, message);
    failure.recoverable = false;
    Outcome::nothing_done(State::Rejected, Phase::Inputs, Some(failure)).into()
}

fn refused(error: LedgerError) -> Executed {
    let review = match &error {
        LedgerError::ReviewOpen(review) => Some((**review).clone()),
        _ => None,
    };
    let failure = Failure::from(error);
    let state = match failure.fault {
        Fault::Cancelled => State::Cancelled,
        Fault::RequestInFlight | Fault::ReviewOpen => State::Pending,
        Fault::IdempotencyConflict | Fault::ContextChanged => State::Rejected,
        _ => State::Failed,
    };
    let outcome = Outcome::nothing_done(state, Phase::Inputs, Some(failure));
    Outcome { review, ..outcome }.into()
}
