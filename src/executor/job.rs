//! One step of a task: calls its tool and stores its asset. The steps of a task share servers and a scratch directory.

use camino::Utf8Path;

use crate::{
    assets::{Finished, Staging, Store, StoreError},
    catalog::{Lifetime, Once, Process, Step},
    mcp::{After, Closing, ServerSpec},
    task::{
        Failure, Fault, InvocationStatus, Outcome, Phase, Produced, Reach, Repeatable, Stat, State,
        decided,
    },
};

use super::{
    context::Context,
    executed::{Executed, Rejection},
    failure::not_again,
    handed::{self, Arguments},
    hidden::Hidden,
    result_data::ResultData,
    tool::{self, Servers},
    work::{Among, Ready},
};

/// In a long chain, at most this many servers are ending while the next step runs.
const ENDING_AT_ONCE: usize = 4;

/// What the steps of a task share.
pub(super) struct Bench {
    // Servers are dropped before the scratch directory, because they may have its files open.
    closing: Vec<Closing>,
    staging: Staging,
}

/// Performs a task of one step.
pub(super) fn execute(ready: Ready, context: &Context<'_>) -> Result<Executed, Rejection> {
    let mut bench = Bench::open(&ready, context)?;
    let done = bench.perform(ready, context);
    Ok(bench.close(done))
}

impl Bench {
    pub(super) fn open(ready: &Ready, context: &Context<'_>) -> Result<Self, Rejection> {
        for step in &ready.job.steps {
            let name = match &step.output {
                Some(output) => output.file_name.clone(),
                // What is done once must not be lost because its long result cannot be stored in a bucket.
                None if ready.store.dir().is_none() && step.entry.once() != Once::No => {
                    format!("{}.json", context.desk.operation_id)
                }
                None => continue,
            };
            ready
                .store
                .has_room(context.session_id, &name, &|| context.go_on().is_ok())
                .map_err(|error| stored(error, context))
                .map_err(Rejection::at(Phase::Inputs))?;
        }
        let staging = Staging::open(context.state_dir, context.scratch)
            .map_err(Rejection::at(Phase::Inputs))?;
        tracing::debug!("scratch directory ready");
        Ok(Self {
            closing: Vec::new(),
            staging,
        })
    }

    pub(super) fn scratch(&self) -> &Utf8Path {
        self.staging.dir()
    }

    /// Ends the servers. The scratch directory goes with the answer.
    pub(super) fn close(mut self, done: Executed) -> Executed {
        // After a failure, some still wait for a later step.
        self.closing.iter_mut().for_each(Closing::tell);
        // Servers are dropped before the scratch directory, because they may have its files open.
        done.keeping(Box::new(self.staging))
            .keeping(Box::new(self.closing))
    }

    /// Performs the step of this work and stores its asset.
    pub(super) fn perform(&mut self, ready: Ready, context: &Context<'_>) -> Executed {
        let hidden = Hidden::all(&ready);
        let Ready {
            job,
            launches,
            store,
            notes,
            among,
            inputs: _,
        } = ready;
        let mut done = Executed::from(Outcome {
            reasoning: job.reasoning,
            notes,
            ..Outcome::nothing_done(State::Done, Phase::Spawn, None)
        });
        for (step, launch) in job.steps.iter().zip(&launches) {
            let after = among.as_ref().map_or(After::End, |among| among.after);
            let result = context
                .go_on()
                .and_then(|()| handed::hand(step, &self.staging, &store, context))
                .and_then(|handed| {
                    let how = (&hidden, after, handed);
                    self.call(step, launch, how, &store, context, &mut done.outcome)
                })
                .map_err(|failure| asked(&mut done.outcome, step, among.as_deref(), failure))
                .and_then(|found| context.go_on().map(|()| found))
                .and_then(|found| self.place(step, found, &store, context, &mut done.outcome));
            tracing::debug!("assets placed");
            settle(&mut done.outcome, step, result);
        }
        done
    }

    /// Calls the tool. Returns its result data, and the state of its asset when it was checked.
    fn call(
        &mut self,
        step: &Step,
        launch: &ServerSpec,
        (hidden, after, handed): (&Hidden, After, Arguments),
        store: &Store,
        context: &Context<'_>,
        outcome: &mut Outcome,
    ) -> Result<StepData, Failure> {
        context
            .desk
            .course
            .raise(match step.entry.effects.repeatable() {
                Repeatable::Yes => Reach::Begun,
                Repeatable::Once => Reach::BegunOnce,
            });
        let mut none = Vec::new();
        let kept = context.kept.filter(|_| is_kept(step));
        let mut lent = kept.map(|kept| kept.servers.borrow_mut());
        let servers = match (&mut lent, step.entry.process) {
            (Some(kept), _) => Servers {
                before: kept,
                after: After::Keep,
            },
            (None, Process::Shared) => Servers {
                before: &mut self.closing,
                after,
            },
            (None, Process::Fresh) => Servers {
                before: &mut none,
                after,
            },
        };
        let places = (&self.staging, store);
        let hidden = &hidden.and(handed.secrets);
        let mut end = tool::run(
            (step, handed.sent),
            (launch, hidden),
            places,
            context,
            servers,
        );
        if let Some(kept) = &mut lent {
            kept.extend(end.closing.take());
        } else {
            if self.closing.len() >= ENDING_AT_ONCE {
                drop(self.closing.remove(0));
            }
            self.closing.extend(end.closing);
        }
        if !end.outcome.invocations.is_empty() {
            outcome.executed.push(step.entry.id.clone());
        }
        let (mut reasoning, mut notes) = (
            std::mem::take(&mut outcome.reasoning),
            std::mem::take(&mut outcome.notes),
        );
        reasoning.append(&mut end.outcome.reasoning);
        notes.append(&mut end.outcome.notes);
        *outcome = Outcome {
            executed: std::mem::take(&mut outcome.executed),
            reasoning,
            notes,
            ..end.outcome
        };
        end.result
    }

    /// Moves the asset, and a result that is too large for the answer, to their final places. Before that, both are on
    /// the store's disk (R-000-71 … R-000-73).
    fn place(
        &self,
        step: &Step,
        (data, seen): StepData,
        store: &Store,
        context: &Context<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let go_on = || context.go_on().is_ok();
        let failed = |error| stored(error, context);
        let kept = |error: StoreError, outcome: &mut Outcome| {
            outcome.perhaps_stored = error.perhaps_stored().map(str::to_owned);
            failed(error)
        };
        let prepared = step.output.as_ref().map(|output| {
            let prepared = store.prepare(Finished {
                session_id: context.session_id,
                file_name: &output.file_name,
                staged: &output.staged,
                seen: seen.as_ref(),
                operation_id: context.desk.operation_id,
                go_on: &go_on,
            });
            prepared.map(|prepared| (output, prepared))
        });
        let prepared = prepared.transpose().map_err(failed)?;
        let (data, file) = match data {
            None => (None, None),
            Some(ResultData::Inline(value)) => (Some(value), None),
            Some(ResultData::Spilled(spilled)) => {
                let prepared = spilled.prepare(&self.staging, store, context);
                let stored = prepared.and_then(|prepared| prepared.commit(&go_on));
                let stored = stored.map_err(|error| kept(error, outcome))?;
                outcome.notes.push(decided(spilled.note()));
                outcome.notes.extend(stored.note);
                let uri = stored.uri.as_str();
                (Some(spilled.reference(uri)), Some(uri.to_owned()))
            }
        };
        if let Some((output, prepared)) = prepared {
            let stored = prepared.commit(&go_on);
            let stored = stored.map_err(|error| kept(error, outcome))?;
            outcome.notes.extend(stored.note);
            let (id, uri) = (&output.ref_id, stored.uri.redacted());
            tracing::info!("Stored {id}, {} bytes, at {uri}.", stored.bytes);
            outcome.produced.push(Produced {
                ref_id: output.ref_id.clone(),
                storage_uri: stored.uri.as_str().to_owned(),
                asset_type: output.asset_type.clone(),
                capability_id: step.entry.id.clone(),
                parent_ref_id: output.parent.clone(),
                bytes: stored.bytes,
            });
        }
        outcome.result_data = data;
        outcome.result_file = file;
        Ok(())
    }
}

/// The failure of the store. It may have failed because of a signal or the end of the run's time.
fn stored(error: StoreError, context: &Context<'_>) -> Failure {
    match (context.stopped(), error.perhaps_stored()) {
        (None, _) => error.into(),
        (Some(stopped), None) => stopped,
        (Some(stopped), Some(uri)) => Failure {
            message: format!("{}; an object may be stored at {uri}", stopped.message),
            ..stopped
        },
    }
}

/// The result data of a step, and the state of its asset when it was checked.
type StepData = (Option<ResultData>, Option<Stat>);

/// Adds to a failure how questions can be answered. Questions of one of several steps cannot.
fn asked(outcome: &mut Outcome, step: &Step, among: Option<&Among>, failure: Failure) -> Failure {
    if outcome.waiting.is_none() {
        return failure;
    }
    let advice = match among {
        None => "Send the same task again, as `waiting` says.".to_owned(),
        Some(among) => {
            outcome.waiting = None;
            let done = match among.before.as_slice() {
                [] => String::new(),
                before => format!(" Performed before it: {}.", before.join(", ")),
            };
            format!(
                "Among several capabilities it cannot be answered: send {} as a task of its own.{done}",
                step.entry.id
            )
        }
    };
    Failure {
        message: format!("{} {advice}", failure.message),
        ..failure
    }
}

/// Sets the state of the outcome. A failure has no assets and no result (R-000-88).
fn settle(outcome: &mut Outcome, step: &Step, result: Result<(), Failure>) {
    let failure = match result {
        Ok(()) => {
            outcome.phase = Phase::Complete;
            return;
        }
        Err(failure) => failure,
    };
    outcome.state = match failure.fault {
        Fault::Cancelled => State::Cancelled,
        _ if outcome.waiting.is_some() => State::Pending,
        _ => State::Failed,
    };
    outcome.produced.clear();
    outcome.result_data = None;
    outcome.result_file = None;
    let succeeded = outcome
        .invocations
        .iter()
        .any(|call| call.status == InvocationStatus::Success);
    let spoiled = succeeded
        && match step.entry.once() {
            Once::Said => true,
            // A run that was killed here leaves the same doubt.
            Once::Assumed => outcome.state == State::Cancelled,
            Once::No => false,
        };
    outcome.spoiled = spoiled.then(|| step.entry.id.clone());
    outcome.failure = Some(if spoiled {
        let why = "happened before that, its result cannot be used, and it must not happen twice.";
        not_again(&step.entry.id, why, &failure)
    } else {
        failure
    });
}

/// Whether the step's server may serve other runs.
fn is_kept(step: &Step) -> bool {
    step.server.lifetime == Lifetime::Session && step.entry.process == Process::Shared
}
