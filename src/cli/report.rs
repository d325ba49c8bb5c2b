//! `oneact report`: what a finished file plan did, from its report directory.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::json;

use super::{
    ended::{Stop, json_line, printed, stop},
    printing::{
        columns, counted,
        page::{LINES, plan_page},
        page_file::written,
        plan::{PlanReport, moment},
    },
    rollback::plan_named,
    settings::FormArgs,
    terminal::hanging,
};
use crate::{
    host::{Host, Interrupts},
    perform::{Mode, Settings, perform_own},
    task::{Outcome, Task, visible},
};

/// The widest text for people, in columns.
const WIDEST: usize = 80;

/// The column at which texts begin.
const INDENT: usize = 11;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// The plan's report directory, a file in it, or the id of the plan
    #[arg(value_name = "REPORT_DIR|PLAN_ID")]
    plan: Utf8PathBuf,
    /// Write the report to FILE as one self-contained page with a diff of each file; /dev/stdout prints it
    #[arg(long, value_name = "FILE")]
    html: Option<Utf8PathBuf>,
    #[command(flatten)]
    form: FormArgs,
}

/// Prints the execution report, as JSON unless stdout is a terminal, or writes the page.
pub(super) fn run(args: &ReportArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    // A question changes nothing, and is not recorded.
    let settings = Settings {
        mode: Mode::DryRun,
        ..Settings::of(args.form.places.project()?)
    };
    let plan = plan_named(&settings.project.root, &args.plan);
    let echo = json!({"report": args.plan.as_str()});
    let answer = perform_own("report", echo, Task::Status(plan), &settings, &host);
    let outcome = answer.outcome();
    if let Some(failure) = &outcome.failure {
        return Err(stop(1)(&failure.message));
    }
    let Some(report) = &outcome.execution_report else {
        return match args.html {
            Some(_) => Err(stop(1)(outcome.reasoning.join(" "))),
            None => Ok(printed(outcome.reasoning.join("\n") + "\n", 0)),
        };
    };
    let told = || PlanReport::of(report, &mut { LINES }, &settings.project, &host);
    if let Some(file) = &args.html {
        let told = told();
        let (plan, files) = (told.text("plan_id"), told.files().len());
        let facts = [("plan_id", json!(plan)), ("files", json!(files))];
        let about = format!("{plan}, {}", counted(files as u64, "file"));
        let page = plan_page(&told);
        let project = (&settings.project, host.interrupts());
        return written((file, &page), project, &args.form, (facts, &about));
    }
    Ok(if args.form.json || !io::stdout().is_terminal() {
        printed(json_line(report), 0)
    } else {
        let columns = columns().min(WIDEST);
        printed(for_terminal(&told(), outcome, columns), 0)
    })
}

/// The facts in lines of at most that many columns. A path or a command is copied whole.
fn for_terminal(told: &PlanReport<'_>, outcome: &Outcome, columns: usize) -> String {
    let title = format!(
        "plan {} of {}: {} in {}, {}",
        told.text("plan_id"),
        told.text("task_id"),
        told.text("status"),
        told.duration(),
        moment(told.text("completed_at")),
    );
    let mut lines = vec![hanging(&visible(&title), columns, INDENT)];
    let reports = outcome.reports.iter();
    let reports = reports.map(|files| ("files", vec![files.directory.clone()]));
    for (label, texts) in told.facts().into_iter().chain(reports) {
        for (at, text) in texts.iter().enumerate() {
            let first = if at == 0 { label } else { "" };
            let line = visible(&format!("  {first:<8} {text}")).into_owned();
            lines.push(match label {
                "files" | "undo" => line,
                _ => hanging(&line, columns, INDENT),
            });
        }
    }
    lines.join("\n") + "\n"
}
