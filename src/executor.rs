//! How it is done: each step's tool is called, its answer judged, its asset taken and checked; and
//! only when every step is good do assets reach their final places (000 §Step 5 … 7).
//!
//! Executors have no handle to any record of what was done: they only return what happened.

mod classify;
mod dry_run;
mod failure;
mod judge;
mod launch;
mod quality;
mod take;
mod tool;

use std::time::Duration;

use camino::Utf8Path;

use crate::{
    assets::{Staging, Store},
    catalog::{Delivery, Job, Step},
    host::{Host, Moment},
    mcp::Closing,
    task::{
        Checks, Effect, Failure, Fault, Invocation, Outcome, Phase, Produced, ServerReport, State,
    },
};

pub(crate) use dry_run::planned;
pub(crate) use launch::{Launch, launch};

/// What a run works with.
pub(crate) struct Context<'a> {
    pub(crate) host: &'a Host,
    pub(crate) root: &'a Utf8Path,
    pub(crate) session_id: &'a str,
    pub(crate) store: &'a Store,
    pub(crate) staging: &'a Staging,
    /// When the run began, and how long it may take in all.
    pub(crate) begun: Moment,
    pub(crate) budget: Option<Duration>,
    pub(crate) watch: Watch<'a>,
}

/// Shows a person how far a tool is.
pub type Watch<'a> = &'a dyn Fn(Seen<'_>);

/// Progress of a tool, in the tool's own unit.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub tool: &'a str,
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<&'a str>,
}

/// A job's outcome, and the servers whose end nobody has waited for yet: drop them after the answer
/// is printed.
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    pub(crate) closing: Vec<Closing>,
}

/// What is known so far.
struct Progress {
    executed: Vec<String>,
    invocations: Vec<Invocation>,
    checks: Option<Checks>,
    effect: Effect,
    phase: Phase,
    server: Option<ServerReport>,
    result_data: Option<serde_json::Value>,
    reasoning: Vec<String>,
    notes: Vec<String>,
    closing: Vec<Closing>,
}

/// Runs the steps in order and stores what they made.
pub(crate) fn execute(
    job: Job,
    launches: &[Launch],
    notes: Vec<String>,
    context: &Context<'_>,
) -> Executed {
    let mut progress = Progress {
        executed: Vec::new(),
        invocations: Vec::new(),
        checks: None,
        effect: Effect::None,
        phase: Phase::Spawn,
        server: None,
        result_data: None,
        reasoning: job.reasoning,
        notes,
        closing: Vec::new(),
    };
    let result = steps(&job.steps, launches, context, &mut progress)
        .and_then(|()| interrupted(context.host))
        .and_then(|()| store(&job.steps, context, &mut progress));
    progress.finish(result)
}

fn steps(
    steps: &[Step],
    launches: &[Launch],
    context: &Context<'_>,
    progress: &mut Progress,
) -> Result<(), Failure> {
    for (step, launch) in steps.iter().zip(launches) {
        interrupted(context.host)?;
        let end = tool::run(step, launch, context);
        progress.take(step, end)?;
    }
    Ok(())
}

/// Moves every asset that was asked for to its final place (R-000-71 … R-000-73).
fn store(
    steps: &[Step],
    context: &Context<'_>,
    progress: &mut Progress,
) -> Result<Vec<Produced>, Failure> {
    let mut produced = Vec::new();
    for step in steps {
        let Some(output) = step
            .output
            .as_ref()
            .filter(|output| output.delivery == Delivery::Stored)
        else {
            continue;
        };
        let stored = context
            .store
            .place(context.session_id, &output.file_name, &output.staged)?;
        produced.push(Produced {
            ref_id: output.ref_id.clone(),
            storage_uri: stored.uri.as_str().to_owned(),
            asset_type: output.asset_type.clone(),
            capability_id: step.entry.id.clone(),
            parent_ref_id: output.parent.clone(),
            bytes: stored.bytes,
        });
    }
    progress.phase = Phase::Complete;
    Ok(produced)
}

/// A signal that came in stops the run between any two steps.
fn interrupted(host: &Host) -> Result<(), Failure> {
    match host.interrupts().caught() {
        Some(interrupt) => Err(Failure::new(
            Fault::Cancelled,
            format!("cancelled by {}; nothing was stored", interrupt.name()),
        )),
        None => Ok(()),
    }
}

impl Progress {
    /// Adds what one step came to; its failure is the job's.
    fn take(&mut self, step: &Step, end: tool::End) -> Result<(), Failure> {
        if let Some(invocation) = end.invocation {
            self.executed.push(step.entry.id.clone());
            self.invocations.push(invocation);
        }
        self.checks = Some(
            self.checks
                .map_or(end.checks, |before| both(before, end.checks)),
        );
        self.effect = worse(self.effect, end.effect);
        self.phase = end.phase;
        self.server = Some(end.server);
        self.reasoning.extend(end.reasoning);
        self.notes.extend(end.notes);
        self.closing.extend(end.closing);
        self.result_data = end.result?;
        Ok(())
    }

    fn finish(self, result: Result<Vec<Produced>, Failure>) -> Executed {
        let (state, failure, produced, result_data) = match result {
            Ok(produced) => (State::Done, None, produced, self.result_data),
            Err(failure) => {
                let state = if failure.fault == Fault::Cancelled {
                    State::Cancelled
                } else {
                    State::Failed
                };
                (state, Some(failure), Vec::new(), None)
            }
        };
        let outcome = Outcome {
            state,
            failure,
            executed: self.executed,
            invocations: self.invocations,
            produced,
            result_data,
            checks: self.checks.unwrap_or_default(),
            effect: self.effect,
            phase: self.phase,
            server: self.server,
            plan: None,
            reasoning: self.reasoning,
            notes: self.notes,
        };
        Executed {
            outcome,
            closing: self.closing,
        }
    }
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

/// What a caller must reckon with: an unanswered call weighs more than an answered one.
fn worse(a: Effect, b: Effect) -> Effect {
    match (a, b) {
        (Effect::Unknown, _) | (_, Effect::Unknown) => Effect::Unknown,
        (Effect::Done, _) | (_, Effect::Done) => Effect::Done,
        (Effect::None, Effect::None) => Effect::None,
    }
}
