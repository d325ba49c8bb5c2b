//! Performs work, or shows what it would do.

use jiff::SignedDuration;
use serde_json::json;

use crate::{
    assets::Store,
    catalog::{Delivery, Step, foreseen},
    mcp::ServerSpec,
    task::{Checks, Granted, Outcome, Phase, Plan, PlannedOutput, PlannedStep, State, decided},
};

use super::{
    context::Context,
    executed::Executed,
    file_plan,
    hidden::Hidden,
    job, quality,
    work::{GrantWork, Work},
};

pub(crate) fn perform(work: Work, context: &Context<'_>) -> Executed {
    match work {
        Work::Files(files) => file_plan::perform(*files, context),
        Work::Tools(ready) => job::execute(ready, context).unwrap_or_else(Executed::rejected),
        Work::Grant(grant) => grant.open(context),
        Work::Said(outcome) => Executed::from(*outcome),
    }
}

/// Shows what would be performed. Starts nothing (`--dry-run`).
pub(crate) fn show(work: Work, context: &Context<'_>) -> Executed {
    let ready = match work {
        Work::Files(files) => return file_plan::preview(*files, context),
        // The calls under a grant are not known before.
        Work::Grant(_) => {
            return Executed::from(Outcome {
                plan: Some(Plan { steps: Vec::new() }),
                ..Outcome::nothing_done(State::Planned, Phase::Catalog, None)
            });
        }
        Work::Said(outcome) => return Executed::from(*outcome),
        Work::Tools(ready) => ready,
    };
    let steps = ready.job.steps.iter().zip(&ready.launches);
    let shown = |(step, launch)| planned(step, launch, &ready.store, context.session_id);
    let outcome = Outcome {
        plan: Some(Plan {
            steps: steps.map(shown).collect(),
        }),
        reasoning: ready.job.reasoning,
        notes: ready.notes,
        ..Outcome::nothing_done(State::Planned, Phase::Spawn, None)
    };
    outcome.into()
}

fn planned(step: &Step, launch: &ServerSpec, store: &Store, session_id: &str) -> PlannedStep {
    let output = step.output.as_ref();
    let stored = output.filter(|output| output.delivery == Delivery::Stored);
    let output = stored.and_then(|output| {
        let uri = store.uri_of(session_id, &output.file_name).ok()?;
        Some(PlannedOutput {
            ref_id: output.ref_id.to_string(),
            storage_uri: uri.as_str().to_owned(),
            asset_type: output.asset_type.clone(),
        })
    });
    let (command, cwd, environment) = match launch.program() {
        Some(program) => (
            program.argv.clone(),
            program.cwd.to_string(),
            program.env.iter().map(|(name, _)| name.clone()).collect(),
        ),
        None => (
            Vec::new(),
            String::new(),
            step.server.variables().cloned().collect(),
        ),
    };
    PlannedStep {
        capability_id: step.entry.id.clone(),
        mcp_server: step.server.name.clone(),
        tool_name: step.entry.tool.clone(),
        url: launch.url(),
        command,
        cwd,
        environment,
        parameters: foreseen(step, Hidden::new(step, launch).parameters(step)),
        timeout_seconds: step.timeout.as_secs_f64(),
        checks: quality::names(step),
        output,
    }
}

impl GrantWork {
    /// Opens the grant. Its time begins now.
    fn open(self, context: &Context<'_>) -> Executed {
        let now = context.desk.host.timestamp();
        let lasts = SignedDuration::try_from(self.lasts).unwrap_or_default();
        let until = now.checked_add(lasts).unwrap_or(now);
        let granted = Granted {
            entries: self.entries,
            max_calls: self.max_calls,
            until: until.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        };
        let entries: Vec<&String> = granted.entries.keys().collect();
        let told = json!({"grant": {
            "under": context.desk.operation_id, "entries": entries, "max_calls": granted.max_calls, "until": granted.until,
        }});
        let sentence = format!(
            "The grant is open: at most {} calls until {}, each with `under`: {}.",
            granted.max_calls, granted.until, context.desk.operation_id
        );
        Executed::from(Outcome {
            result_data: Some(told),
            checks: Checks {
                output_exists: true,
                output_non_empty: true,
                format_valid: true,
                result_complete: None,
            },
            opened: Some(granted),
            reasoning: vec![decided(sentence)],
            ..Outcome::nothing_done(State::Done, Phase::Complete, None)
        })
    }
}
