//! A job of tools: performs the steps in order. If all of them succeed, stores the assets.

use crate::{
    assets::{Prepared, Staging, Store, StoreError},
    catalog::{Delivery, Lifetime, Once, Process, Step, StepOutput},
    mcp::{After, Closing, ServerSpec},
    task::{
        Ai, Checks, Failure, Fault, Invocation, InvocationStatus, Outcome, Phase, Produced, Reach,
        Repeatable, State, decided,
    },
};

use super::{
    Context, Executed, Ready, Rejection,
    failure::not_again,
    hidden::Hidden,
    spill::{ResultData, bound},
    tool::{self, Servers},
};

/// In a long chain, at most this many servers are ending while the next step runs.
const ENDING_AT_ONCE: usize = 4;

/// Runs the steps in order and stores what they made.
pub(super) fn execute(ready: Ready, context: &Context<'_>) -> Result<Executed, Rejection> {
    let Ready {
        job,
        launches,
        store,
        notes,
        inputs: _,
    } = ready;
    for output in job.steps.iter().filter_map(|step| step.output.as_ref()) {
        if output.delivery == Delivery::Stored {
            store
                .has_room(context.session_id, &output.file_name)
                .map_err(Rejection::at(Phase::Inputs))?;
        }
    }
    let staging =
        Staging::open(context.state_dir, context.scratch).map_err(Rejection::at(Phase::Inputs))?;
    tracing::debug!("scratch directory ready");
    let mut done = Executed::from(Outcome {
        reasoning: job.reasoning,
        notes,
        ..Outcome::nothing_done(State::Done, Phase::Spawn, None)
    });
    let result = done
        .steps(&job.steps, &launches, (&staging, &store), context)
        .and_then(|data| context.go_on().map(|()| data))
        .and_then(|data| done.place(&job.steps, data, (&staging, &store), context));
    tracing::debug!("assets placed");
    // After a failure, some still wait for a later step.
    done.closing.iter_mut().for_each(Closing::tell);
    done.settle(&job.steps, result);
    bound(&mut done.outcome);
    Ok(Executed {
        _staging: Some(staging),
        ..done
    })
}

impl Executed {
    /// Moves the requested assets, and a result that is too large for the answer, to their final places. Before that,
    /// all of them are on the store's disk (R-000-71 … R-000-73).
    fn place(
        &mut self,
        steps: &[Step],
        data: Option<ResultData>,
        (staging, store): (&Staging, &Store),
        context: &Context<'_>,
    ) -> Result<(), Failure> {
        let session = context.session_id;
        let mut ready = Vec::new();
        for (step, seen) in steps.iter().zip(&self.seen) {
            let output = step.output.as_ref();
            if let Some(output) = output.filter(|output| output.delivery == Delivery::Stored) {
                let (name, staged) = (&output.file_name, &output.staged);
                let prepared = store.prepare(session, name, staged, seen.as_ref())?;
                ready.push((step, output, prepared));
            }
        }
        let (data, file) = match data {
            None => (None, None),
            Some(ResultData::Inline(value)) => (Some(value), None),
            Some(ResultData::Spilled(spilled)) => {
                let stored = spilled.prepare(staging, store, session)?.commit()?;
                let uri = stored.uri.as_str();
                (Some(spilled.reference(uri)), Some(uri.to_owned()))
            }
        };
        let commit = |(step, output, prepared): (&Step, &StepOutput, Prepared)| {
            let stored = prepared.commit()?;
            let (id, uri) = (&output.ref_id, stored.uri.redacted());
            tracing::info!("Stored {id}, {} bytes, at {uri}.", stored.bytes);
            Ok(Produced {
                ref_id: output.ref_id.clone(),
                storage_uri: stored.uri.as_str().to_owned(),
                asset_type: output.asset_type.clone(),
                capability_id: step.entry.id.clone(),
                parent_ref_id: output.parent.clone(),
                bytes: stored.bytes,
            })
        };
        let produced = ready.into_iter().map(commit);
        self.outcome.produced = produced.collect::<Result<_, StoreError>>()?;
        self.outcome.result_data = data;
        self.outcome.result_file = file;
        Ok(())
    }

    fn steps(
        &mut self,
        steps: &[Step],
        launches: &[ServerSpec],
        places: (&Staging, &Store),
        context: &Context<'_>,
    ) -> Result<Option<ResultData>, Failure> {
        let hidden = Hidden::all(steps, launches);
        let mut once = None;
        let mut data = None;
        for (at, (step, launch)) in steps.iter().zip(launches).enumerate() {
            context.course.raise(match step.entry.effects.repeatable() {
                Repeatable::Yes => Reach::Begun,
                Repeatable::Once => Reach::BegunOnce,
            });
            let later = steps.get(at + 1..).unwrap_or_default();
            let mut none = Vec::new();
            let mut run = |done: &mut Self| {
                let kept = context.kept.filter(|_| is_kept(step));
                let mut lent = kept.map(|kept| kept.servers.borrow_mut());
                let servers = match (&mut lent, step.entry.process) {
                    (Some(kept), _) => Servers {
                        before: kept,
                        after: After::Keep,
                    },
                    (None, Process::Shared) => Servers {
                        before: &mut done.closing,
                        after: tool::after(step, later),
                    },
                    (None, Process::Fresh) => Servers {
                        before: &mut none,
                        after: tool::after(step, later),
                    },
                };
                let mut end = tool::run(step, (launch, &hidden), places, context, servers);
                if let Some(kept) = &mut lent {
                    kept.extend(end.closing.take());
                }
                done.add(step, end)
            };
            let found = context
                .go_on()
                .and_then(|()| run(self))
                .map_err(|failure| match once {
                    // Another attempt would repeat this step as well.
                    Some(before) if failure.recoverable => {
                        let why = "was performed before that and must not happen twice: a person has to check.";
                        not_again(before, why, &failure)
                    }
                    _ => failure,
                })
                .map_err(|failure| self.asked(step, steps, failure))?;
            // A later step that makes an asset has no result data, so that of an earlier step stays.
            data = found.or(data);
            // `settle` handles the steps whose entry says `idempotent = false`.
            if step.entry.once() == Once::Assumed {
                once = Some(step);
            }
        }
        if let Some(ResultData::Spilled(spilled)) = &data {
            self.outcome.notes.push(decided(spilled.note()));
        }
        Ok(data)
    }

    /// Adds to a failure how questions can be answered. Questions of one of several steps cannot: the run with the
    /// answers would repeat the steps before it.
    fn asked(&mut self, step: &Step, steps: &[Step], failure: Failure) -> Failure {
        if self.outcome.waiting.is_none() {
            return failure;
        }
        let advice = if steps.len() == 1 {
            "Send the same task again, as `waiting` says.".to_owned()
        } else {
            self.outcome.waiting = None;
            let before: Vec<&str> = self
                .outcome
                .executed
                .iter()
                .map(String::as_str)
                .filter(|id| *id != step.entry.id)
                .collect();
            let done = match before.as_slice() {
                [] => String::new(),
                before => format!(" Performed before it: {}.", before.join(", ")),
            };
            format!(
                "Among several capabilities it cannot be answered: send {} as a task of its own.{done}",
                step.entry.id
            )
        };
        Failure {
            message: format!("{} {advice}", failure.message),
            ..failure
        }
    }

    /// Adds the outcome of a step to that of the job. Returns the step's result data.
    fn add(&mut self, step: &Step, end: tool::End) -> Result<Option<ResultData>, Failure> {
        let (outcome, of_step) = (&mut self.outcome, end.outcome);
        outcome.checks = match outcome.invocations.as_slice() {
            [] => of_step.checks,
            _ => both(outcome.checks, of_step.checks),
        };
        if !of_step.invocations.is_empty() {
            outcome.executed.push(step.entry.id.clone());
            outcome.invocations.extend(of_step.invocations);
        }
        outcome.effect = outcome.effect.max(of_step.effect);
        outcome.phase = of_step.phase;
        outcome.waiting = of_step.waiting;
        outcome.server = of_step.server;
        outcome.reasoning.extend(of_step.reasoning);
        outcome.notes.extend(of_step.notes);
        outcome.unfit_result = of_step.unfit_result;
        if of_step.ai != Ai::default() {
            outcome.ai = of_step.ai;
        }
        if self.closing.len() >= ENDING_AT_ONCE {
            drop(self.closing.remove(0));
        }
        self.closing.extend(end.closing);
        let (data, seen) = end.result?;
        self.seen.push(seen);
        Ok(data)
    }

    /// Sets the state of the job. A failure has no assets and no result (R-000-88).
    fn settle(&mut self, steps: &[Step], result: Result<(), Failure>) {
        let outcome = &mut self.outcome;
        match result {
            Ok(()) => outcome.phase = Phase::Complete,
            Err(failure) => {
                outcome.state = match failure.fault {
                    Fault::Cancelled => State::Cancelled,
                    _ if outcome.waiting.is_some() => State::Pending,
                    _ => State::Failed,
                };
                let spoiled = happened(steps, &outcome.invocations);
                outcome.spoiled = spoiled.map(|step| step.entry.id.clone());
                outcome.failure = Some(match spoiled {
                    Some(step) => {
                        let why = "happened before that, its result cannot be used, and it must not happen twice.";
                        not_again(step, why, &failure)
                    }
                    None => failure,
                });
            }
        }
    }
}

/// Whether the step's server may serve other runs.
fn is_kept(step: &Step) -> bool {
    step.server.lifetime == Lifetime::Session && step.entry.process == Process::Shared
}

/// The first step whose tool succeeded and whose entry says `idempotent = false`.
fn happened<'a>(steps: &'a [Step], invocations: &[Invocation]) -> Option<&'a Step> {
    let done = steps.iter().zip(invocations).find(|(step, invocation)| {
        step.entry.once() == Once::Said && invocation.status == InvocationStatus::Success
    });
    done.map(|(step, _)| step)
}

/// A check of the job holds if it holds for every step.
fn both(a: Checks, b: Checks) -> Checks {
    Checks {
        output_exists: a.output_exists && b.output_exists,
        output_non_empty: a.output_non_empty && b.output_non_empty,
        format_valid: a.format_valid && b.format_valid,
        result_complete: match (a.result_complete, b.result_complete) {
            (Some(a), Some(b)) => Some(a && b),
            (one, other) => one.or(other),
        },
    }
}
