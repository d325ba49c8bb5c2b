//! `--dry-run`: what would be done, with nothing started.

use crate::{
    assets::Store,
    catalog::{Delivery, Step},
    task::{Outcome, Phase, Plan, PlannedOutput, PlannedStep, State},
};

use super::{Context, Executed, Ready, hidden::Hidden, launch::Launch, quality};

/// The outcome that shows the job as it would be run.
pub(crate) fn planned(ready: Ready, context: &Context<'_>) -> Executed {
    let Ready {
        job,
        launches,
        store,
        notes,
        inputs: _,
    } = ready;
    let steps = job.steps.iter().zip(&launches);
    let steps = steps
        .map(|(step, launch)| describe(step, launch, &store, context.session_id))
        .collect();
    let outcome = Outcome {
        plan: Some(Plan { steps }),
        reasoning: job.reasoning,
        notes,
        ..Outcome::nothing_done(State::Planned, Phase::Spawn, None)
    };
    outcome.into()
}

fn describe(step: &Step, launch: &Launch, store: &Store, session_id: &str) -> PlannedStep {
    let stored = step
        .output
        .as_ref()
        .filter(|output| output.delivery == Delivery::Stored);
    let output = stored.and_then(|output| {
        let uri = store.uri_of(session_id, &output.file_name).ok()?;
        Some(PlannedOutput {
            ref_id: output.ref_id.to_string(),
            storage_uri: uri.as_str().to_owned(),
            asset_type: output.asset_type.clone(),
        })
    });
    PlannedStep {
        capability_id: step.entry.id.clone(),
        mcp_server: step.server.name.clone(),
        tool_name: step.entry.tool.clone(),
        command: launch.command().to_vec(),
        cwd: launch.directory().to_string(),
        environment: launch.variables(),
        parameters: Hidden::new(step, launch).parameters(step),
        timeout_seconds: step.timeout.as_secs_f64(),
        checks: quality::names(step),
        output,
    }
}
