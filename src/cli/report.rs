//! `oneact report`: what a finished file plan did, from its report directory.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::{Value, json};

use crate::{
    host::{Host, Interrupts},
    perform::{Mode, Settings, perform_typed},
    task::{Outcome, Task, visible},
};

use super::{
    Stop, printed,
    printing::{columns, duration, json::line},
    rollback::plan_named,
    settings::PlaceArgs,
    stop,
    terminal::hanging,
};

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The plan's report directory, a file in it, or the id of the plan
    #[arg(value_name = "REPORT_DIR|PLAN_ID")]
    plan: Utf8PathBuf,
    /// Print the execution report as JSON, also on a terminal
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

pub(super) fn run(args: &ReportArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    // A question changes nothing, and is not recorded.
    let settings = Settings {
        mode: Mode::DryRun,
        ..Settings::of(args.places.project()?)
    };
    let plan = plan_named(&settings.project.root, &args.plan);
    let echo = json!({"report": args.plan.as_str()});
    let answer = perform_typed("report", echo, Task::Status(plan), &settings, &host);
    let outcome = answer.outcome();
    let report = match (&outcome.failure, &outcome.execution_report) {
        (Some(failure), _) => return Err(stop(1)(&failure.message)),
        (None, None) => return Ok(printed(outcome.reasoning.join("\n") + "\n", 0)),
        (None, Some(report)) => report,
    };
    let text = if args.json || !io::stdout().is_terminal() {
        line(report)
    } else {
        told(report, outcome, columns())
    };
    Ok(printed(text, 0))
}

fn told(report: &Value, outcome: &Outcome, columns: usize) -> String {
    let text = |of: &Value, key: &str| {
        of.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let all = |key: &str| {
        report
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let took = report
        .get("duration_ms")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let mut lines = vec![format!(
        "plan {} of {}: {} in {}, {}",
        text(report, "plan_id"),
        text(report, "task_id"),
        text(report, "status"),
        duration(took),
        text(report, "completed_at"),
    )];
    let action = |action: &Value| text(action, "action_id");
    let done = all("actions_completed").map(|each| format!("  done     {}", action(each)));
    let failed = all("actions_failed").map(|each| {
        format!(
            "  failed   {}: {}",
            action(each),
            text(each, "error_message")
        )
    });
    let skipped = all("actions_skipped")
        .map(|each| format!("  skipped  {}: {}", action(each), text(each, "reason")));
    lines.extend(done.chain(failed).chain(skipped));
    // The failure of an action is told with the action.
    let of_plan = |error: &&Value| {
        error
            .pointer("/details/action_id")
            .is_none_or(Value::is_null)
    };
    let errors = all("errors").filter(of_plan);
    lines.extend(errors.map(|error| format!("  error    {}", text(error, "message"))));
    lines.extend(
        all("warnings")
            .filter_map(Value::as_str)
            .map(|warning| format!("  warning  {warning}")),
    );
    if report.get("rollback_performed") == Some(&Value::Bool(true)) {
        lines.push("  undone   its changes were undone, because it failed".to_owned());
    }
    if let Some(files) = &outcome.reports {
        lines.push(format!("  files    {}", files.directory));
        if files.rollback_manifest.is_some() {
            lines.push(format!("  undo     oneact rollback {}", files.directory));
        }
    }
    let lines = lines.iter().map(|line| {
        // A path or a command is copied whole.
        let is_for_a_shell = ["  files", "  undo "]
            .iter()
            .any(|begin| line.starts_with(begin));
        let room = if is_for_a_shell {
            line.len() + 11
        } else {
            columns
        };
        hanging(&visible(line), room, 11) + "\n"
    });
    lines.collect()
}
