//! The steps of a task, one after the other. Each of them is claimed, approved, performed and recorded in the same way as a
//! task of one capability.

use std::ops::ControlFlow;

use crate::{
    envelope::Received,
    executor::{Context, Desk, Executed, Ready, RunEvent, Steps, ToolProgress, Work},
    record::StepLedgers,
    task::{CapabilityTask, Outcome, Phase, State, Task},
};

use super::recorded::recorded;

/// Performs the steps until one fails. Without a ledger, no step has a record.
pub(super) fn perform_steps(
    ready: Ready,
    mut ledgers: Option<StepLedgers<'_, '_>>,
    received: &Received,
    context: &Context<'_>,
) -> Executed {
    let count = ready.job.steps.len();
    let operations: Vec<String> = (1..=count)
        .map(|position| format!("{}.{position}", context.desk.operation_id))
        .collect();
    let declared: Vec<_> = (0..count).map(|at| ready.job.declared(at)).collect();
    let mut steps = match Steps::open(ready, context) {
        Ok(steps) => steps,
        Err(rejection) => return Executed::rejected(rejection),
    };
    for (at, (operation, declared)) in operations.iter().zip(declared).enumerate() {
        let Some(work) = steps.next(context) else {
            break;
        };
        let watch = |seen: RunEvent<'_>| (context.watch)(among(seen, at, count));
        watch(RunEvent::Progress(ToolProgress {
            tool: work.as_ref().map_or("", tool),
            done: 0.0,
            total: None,
            message: None,
        }));
        let parent = context.desk.operation_id;
        let context = Context {
            desk: Desk {
                operation_id: operation,
                ..context.desk
            },
            watch: &watch,
            ..*context
        };
        let (executed, operation) = match (work, &mut ledgers) {
            (Err(failure), _) => {
                let outcome = Outcome::nothing_done(State::Failed, Phase::Inputs, Some(failure));
                (Executed::from(outcome), None)
            }
            (Ok(work), None) => (steps.perform(work, &context), None),
            (Ok(work), Some(ledgers)) => {
                let position = u64::try_from(at + 1).unwrap_or(u64::MAX);
                let place = (parent, position);
                let executed = match ledgers.next(&work, place, (task(received), declared)) {
                    Err(failure) => {
                        let outcome =
                            Outcome::nothing_done(State::Rejected, Phase::Catalog, Some(failure));
                        Executed::from(outcome)
                    }
                    Ok(ledger) => recorded(
                        Work::Tools(work),
                        &ledger,
                        received,
                        (&context, &mut Vec::new()),
                        &mut |work, _| match work {
                            Work::Tools(work) => steps.perform(work, &context),
                            Work::Files(_) | Work::Grant(_) | Work::Said(_) => {
                                Executed::from(Outcome::default())
                            }
                        },
                    ),
                };
                (executed, Some(operation.as_str()))
            }
        };
        if steps.add(executed, operation) == ControlFlow::Break(()) {
            break;
        }
    }
    steps.end(context)
}

fn tool(work: &Ready) -> &str {
    work.job.steps.first().map_or("", |step| &step.entry.tool)
}

fn task(received: &Received) -> Option<&CapabilityTask> {
    match &received.task {
        Ok(Task::Capabilities(task)) => Some(task),
        _ => None,
    }
}

/// The progress of the task: the finished steps, and the part of the present one that is done.
fn among(seen: RunEvent<'_>, at: usize, count: usize) -> RunEvent<'_> {
    let RunEvent::Progress(seen) = seen else {
        return seen;
    };
    let steps = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let part = seen.total.filter(|total| *total > 0.0);
    let part = part.map_or(0.0, |total| (seen.done / total).clamp(0.0, 1.0));
    RunEvent::Progress(ToolProgress {
        done: steps(at) + part,
        total: Some(steps(count)),
        ..seen
    })
}
