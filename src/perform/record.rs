//! The ledger beside a run: asked before anything is done, and told how it ended (R-004-50, R-004-51).

mod again;
mod ask;
mod ended;
mod kept;
mod levels;

use crate::{
    catalog::Need,
    envelope::Received,
    executor::{self, Context, Executed, Fate, FileOrder, FileWork, Rejection},
    host,
    ledger::{Ask, Begun, Effects, Ledger, LedgerError, Place, Recorded, Running, Why, Wish},
    task::{
        Effect, Failure, Fault, LedgerRef, OperationId, Outcome, Phase, PlanName, Record, Reuse,
        ReuseReport, State, decided,
    },
};

use kept::Keeper;

use super::{
    Settings,
    book::{Book, sign_key},
    ids::Ids,
    prepare::{Prepared, Work},
    world::Here,
};

/// Does what is not to be recorded: it changes nothing.
pub(super) fn shown(work: Work, context: &Context<'_>) -> Executed {
    match work {
        Work::Files(files) => executor::carry_out(*files, context),
        Work::Tools(ready) => executor::planned(ready, context),
    }
}

/// Does what was prepared, unless the ledger has its answer.
pub(super) fn recorded<'h>(
    prepared: Prepared<'h>,
    received: &Received,
    operation: &OperationId,
    settings: &Settings,
    context: &Context<'h>,
) -> Executed {
    let Prepared { mut work, mut book } = prepared;
    if book.place == Place::Nowhere {
        return done(work, context);
    }
    let mut open = book.open.take();
    let keeper = Keeper::of(&work);
    let ids = Ids::of(received);
    let asked = ask::of(
        &mut work, received, &ids, operation, settings, &book, &keeper,
    );
    let Some(ask) = asked else {
        return done(work, context);
    };
    let need = book.rule.need;
    let go_on = || context.go_on().is_ok();
    let here = Here {
        root: context.root,
        host: context.host,
        go_on: &go_on,
    };
    let begun = match open.take() {
        Some(open) => Ok(open),
        None => Ledger::open(&book.place, &settings.state_dir, Wish::Write, context.host)
            .map(|ledger| ledger.signed_by(sign_key(settings, &book.rule))),
    };
    let begun = begun.and_then(|ledger| {
        let ledger = open.insert(ledger);
        ledger.begin(&ask, &here, &|| context.go_on())
    });
    let begun = match (begun, open.as_mut(), &work) {
        (Err(LedgerError::Unknown { operation }), Some(ledger), Work::Files(_)) => {
            match left_behind(ledger, &ask, received, &operation, &keeper, context) {
                Ok(Left::Answer(executed)) => return *executed,
                Ok(Left::Nothing) => ledger.begin(&ask, &here, &|| context.go_on()),
                Ok(Left::Unknown) => Err(LedgerError::Unknown { operation }),
                Err(error) => Err(error),
            }
        }
        (begun, ..) => begun,
    };
    let running = match begun {
        Ok(Begun::Answered(answered)) => {
            let executed = Executed::from(again::old_answer(*answered));
            return closed_later(executed, open);
        }
        Ok(Begun::Run(running)) => running,
        Err(LedgerError::Store(error)) if may_go_without(&ask, need) => {
            let note = format!("Not recorded, as the catalog allows for what only reads: {error}.");
            tracing::warn!("{note}");
            return done(work, context).noted(vec![note]);
        }
        Err(error) => return refused(error),
    };
    let Some(ledger) = open.as_mut() else {
        return done(work, context);
    };
    tell(&running);
    host::die_at("ledger:reserved");
    if let Err(error) = ledger.dispatch(&ask, &running) {
        return refused(error);
    }
    host::die_at("ledger:dispatched");
    let before = ended::inputs_before(&mut work, context.root);
    let request_hash = running.hashes.request_hash.clone();
    let why = running.why;
    let attempt = running.attempt;
    let mut executed = done(work, context);
    let outcome = &mut executed.outcome;
    if let (Some(_), Some(failure)) = (&outcome.spoiled, &mut outcome.failure) {
        let settled = format!(" `oneact resolve {operation}` settles it.");
        failure.message.push_str(&settled);
    }
    let end = ended::of(&executed.outcome, received, before, &ask, &keeper, context);
    host::die_at("ledger:done");
    let recorded = ledger.finish(&ask, running, end);
    host::die_at("ledger:recorded");
    note(&mut executed.outcome, recorded, request_hash, why);
    tracing::debug!("recorded as attempt {attempt}");
    closed_later(executed, open)
}

/// Nobody waits for an answer until its record is closed.
fn closed_later(executed: Executed, open: Option<Ledger<'_>>) -> Executed {
    match open {
        Some(ledger) => executed.keeping(ledger.closing()),
        None => executed,
    }
}

/// Tells of an answer where it is recorded, and why it was made.
fn note(outcome: &mut Outcome, recorded: Recorded, request_hash: String, why: Why) {
    outcome.notes.extend(recorded.notes);
    outcome.record = Some(Record {
        request_hash,
        reuse: (why != Why::New).then(|| ReuseReport {
            why: why.name(),
            operation_id: None,
            answered_at: None,
            step_index: None,
        }),
        ledger: recorded.head.map(|head| LedgerRef {
            seq: head.seq,
            entry_hash: head.entry_hash,
        }),
        response: None,
    });
}

/// What a run that died left of a file plan.
enum Left {
    /// All of it: this is its answer.
    Answer(Box<Executed>),
    Nothing,
    Unknown,
}

/// The journal of a plan tells what became of it, where the ledger cannot.
fn left_behind(
    ledger: &mut Ledger<'_>,
    ask: &Ask<'_>,
    received: &Received,
    operation: &str,
    keeper: &Keeper,
    context: &Context<'_>,
) -> Result<Left, LedgerError> {
    // The journals of another root know nothing of it.
    let home = ledger.home_of(operation)?;
    if home.is_none() || home != ask.home {
        return Ok(Left::Unknown);
    }
    let fate = executor::fate(context, operation);
    let running = match (&fate, ledger.take_up(ask, operation)?) {
        (Fate::Unknown, _) | (_, None) => return Ok(Left::Unknown),
        (_, Some(running)) => running,
    };
    let Fate::Made { directory, changed } = fate else {
        ledger.undone(ask, &running)?;
        return Ok(Left::Nothing);
    };
    let order = FileOrder::Status(PlanName::Path(directory));
    let mut executed = executor::carry_out(
        FileWork {
            order,
            reasoning: vec![decided(format!(
                "{operation} had carried the plan out when it died; its journal says so."
            ))],
        },
        context,
    );
    let outcome = &mut executed.outcome;
    outcome.changed = changed.iter().map(ToString::to_string).collect();
    outcome.effect = Effect::Done;
    let end = ended::of(
        outcome,
        received,
        ended::Before::none(),
        ask,
        keeper,
        context,
    );
    let request_hash = running.hashes.request_hash.clone();
    let recorded = ledger.finish(ask, running, end);
    note(outcome, recorded, request_hash, Why::TakenOver);
    Ok(Left::Answer(Box::new(executed)))
}

fn done(work: Work, context: &Context<'_>) -> Executed {
    let mut executed = match work {
        Work::Files(files) => executor::carry_out(*files, context),
        Work::Tools(ready) => executor::execute(ready, context).unwrap_or_else(not_begun),
    };
    levels::bound(&mut executed.outcome);
    executed
}

/// Nothing ran. What may go well the next time has failed: there is nothing to be fixed in the request.
fn not_begun(rejection: Rejection) -> Executed {
    let mut executed = Executed::rejected(rejection);
    let outcome = &mut executed.outcome;
    let failure = outcome.failure.as_ref();
    if outcome.state == State::Rejected && failure.is_some_and(|failure| failure.recoverable) {
        outcome.state = State::Failed;
    }
    executed
}

fn may_go_without(ask: &Ask<'_>, need: Need) -> bool {
    ask.effects == Effects::None && need == Need::NotForReading
}

/// Nothing was done: the ledger does not let it.
fn refused(error: LedgerError) -> Executed {
    let failure = Failure::from(error);
    let state = match failure.fault {
        Fault::Cancelled => State::Cancelled,
        Fault::RequestInFlight => State::Pending,
        Fault::IdempotencyConflict | Fault::ContextChanged => State::Rejected,
        _ => State::Failed,
    };
    Outcome::nothing_done(state, Phase::Inputs, Some(failure)).into()
}

fn tell(running: &Running) {
    tracing::info!(
        "The request is {}; it is done: {}.",
        running.hashes.request_hash,
        running.why.name()
    );
}

impl Book<'_> {
    fn reuse(&self, settings: &Settings) -> Reuse {
        match (settings.reuse, self.rule.reuse) {
            (Reuse::Allowed, Reuse::Allowed) => Reuse::Allowed,
            _ => Reuse::Off,
        }
    }
}
