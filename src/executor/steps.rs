//! The steps of a task of several: what each gets from those before it, and what the task makes of their outcomes.

use std::ops::ControlFlow;

use crate::{
    catalog::{Delivery, Once, Step, Supply, ToolJob, supply},
    mcp::{After, ServerSpec},
    task::{Ai, Checks, Failure, Fault, Outcome, Phase, Secrets, State, StepReport, Uri},
};

use super::{
    context::Context,
    executed::{Executed, Rejection},
    failure::not_again,
    hidden::Hidden,
    job::Bench,
    tool,
    work::{Among, Ready},
};

/// A task of several steps, while they are performed one after the other.
pub(crate) struct Steps {
    bench: Bench,
    whole: Outcome,
    left: std::vec::IntoIter<(Step, ServerSpec)>,
    /// What every step gets of the task.
    shared: Ready,
    among: Among,
    /// What the finished steps made, in their order.
    made: Vec<Supply>,
    /// Whether the answer names the asset of the present step.
    delivery: Option<Delivery>,
    /// Whether the present step may happen twice.
    repeats: Once,
    /// A step that no ledger records, and that must not happen twice.
    unrecorded: Option<String>,
}

impl Steps {
    pub(crate) fn open(mut ready: Ready, context: &Context<'_>) -> Result<Self, Rejection> {
        let bench = Bench::open(&ready, context)?;
        let among = Among {
            secrets: Hidden::all(&ready).secrets().clone(),
            after: After::End,
            before: Vec::new(),
        };
        let steps = std::mem::take(&mut ready.job.steps).into_iter();
        let launches = std::mem::take(&mut ready.launches);
        let left: Vec<(Step, ServerSpec)> = steps.zip(launches).collect();
        let whole = Outcome {
            reasoning: std::mem::take(&mut ready.job.reasoning),
            notes: std::mem::take(&mut ready.notes),
            ..Outcome::nothing_done(State::Done, Phase::Spawn, None)
        };
        Ok(Self {
            bench,
            whole,
            left: left.into_iter(),
            shared: ready,
            among,
            made: Vec::new(),
            delivery: None,
            repeats: Once::No,
            unrecorded: None,
        })
    }

    /// The work of the next step, with what the steps before it made; none after the last one.
    pub(crate) fn next(&mut self, context: &Context<'_>) -> Option<Result<Ready, Failure>> {
        let (mut step, launch) = self.left.next()?;
        let later = self.left.as_slice().iter().map(|(step, _)| step);
        self.among.after = tool::after(&step, later);
        self.delivery = step.output.as_ref().map(|output| output.delivery);
        self.repeats = step.entry.once();
        let capability_id = step.entry.id.clone();
        self.whole.steps.push(StepReport {
            capability_id,
            operation_id: None,
            state: State::Rejected,
        });
        self.among.before.clone_from(&self.whole.executed);
        let supplied = context.go_on().and_then(|()| {
            supply(
                &mut step,
                &self.made,
                context.desk.root,
                self.bench.scratch(),
            )
        });
        Some(supplied.map(|()| {
            // A secret that comes from an earlier step is known only now.
            let secrets = [
                self.among.secrets.clone(),
                Hidden::new(&step, &launch).secrets().clone(),
            ];
            self.among.secrets = Secrets::all(secrets);
            Ready {
                inputs: step
                    .assets()
                    .filter_map(|(_, uri)| Uri::parse(uri).ok())
                    .collect(),
                job: ToolJob {
                    steps: vec![step],
                    storage: self.shared.job.storage.clone(),
                    reasoning: Vec::new(),
                    workflows: Vec::new(),
                },
                launches: vec![launch],
                store: self.shared.store.clone(),
                notes: Vec::new(),
                among: Some(Box::new(self.among.clone())),
            }
        }))
    }

    pub(crate) fn perform(&mut self, ready: Ready, context: &Context<'_>) -> Executed {
        self.bench.perform(ready, context)
    }

    /// Adds the outcome of a step to that of the task. `operation` is the step's if the ledger records it. After a
    /// failure, no other step is performed.
    pub(crate) fn add(&mut self, executed: Executed, operation: Option<&str>) -> ControlFlow<()> {
        let (whole, of_step) = (&mut self.whole, executed.outcome);
        let first = whole.steps.len() == 1;
        if let Some(report) = whole.steps.last_mut() {
            report.state = of_step.state;
            report.operation_id = operation.map(str::to_owned);
            if operation.is_none() && self.repeats != Once::No && of_step.failure.is_none() {
                self.unrecorded = Some(report.capability_id.clone());
            }
        }
        whole.checks = if first {
            of_step.checks
        } else {
            both(whole.checks, of_step.checks)
        };
        // A repeated answer made no call in this run.
        if !of_step.state.repeats() {
            whole.executed.extend(of_step.executed);
            whole.invocations.extend(of_step.invocations);
            whole.effect = whole.effect.max(of_step.effect);
        }
        whole.phase = of_step.phase;
        whole.raised = match (whole.raised.take(), of_step.raised) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        whole.waiting = of_step.waiting;
        whole.server = of_step.server.or(whole.server.take());
        whole.reasoning.extend(of_step.reasoning);
        whole.notes.extend(of_step.notes);
        whole.unfit_result = of_step.unfit_result;
        if of_step.ai != Ai::default() {
            whole.ai = of_step.ai;
        }
        if let Some(failure) = of_step.failure {
            self.stop(of_step.state, failure);
            return ControlFlow::Break(());
        }
        self.made.push(Supply {
            asset: of_step
                .produced
                .first()
                .map(|asset| asset.storage_uri.clone()),
            data: of_step.result_data.clone(),
        });
        // A later step that makes an asset has no result data, so that of an earlier step stays.
        if of_step.result_data.is_some() {
            whole.result_data = of_step.result_data;
            whole.result_file = of_step.result_file;
        }
        if self.delivery == Some(Delivery::Stored) {
            whole.produced.extend(of_step.produced);
        }
        ControlFlow::Continue(())
    }

    /// Ends the task with the failure of a step. The answer names no asset and no result (R-000-88).
    pub(crate) fn stop(&mut self, state: State, failure: Failure) {
        let whole = &mut self.whole;
        whole.state = match (state, failure.fault) {
            (_, Fault::Cancelled) => State::Cancelled,
            (State::Pending, _) => State::Pending,
            (State::Rejected, _) if whole.executed.is_empty() => State::Rejected,
            _ => State::Failed,
        };
        whole.produced.clear();
        whole.result_data = None;
        whole.result_file = None;
        whole.failure = Some(match &self.unrecorded {
            // Another attempt would repeat that step as well.
            Some(before) if failure.recoverable => {
                let why =
                    "was performed before that and must not happen twice: a person has to check.";
                not_again(before, why, &failure)
            }
            _ => failure,
        });
    }

    pub(crate) fn end(mut self, context: &Context<'_>) -> Executed {
        if self.whole.failure.is_none() {
            match context.go_on() {
                Ok(()) => self.whole.phase = Phase::Complete,
                Err(failure) => self.stop(State::Failed, failure),
            }
        }
        self.bench.close(Executed::from(self.whole))
    }
}

/// A check of the task holds if it holds for every step.
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
