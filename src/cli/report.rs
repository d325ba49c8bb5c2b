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
        plan::{PlanReport, kind, moment, place},
    },
    rollback::plan_named,
    settings::FormArgs,
    terminal::{fit, hanging, padded, width},
};
use crate::{
    host::{Host, Interrupts},
    perform::{Difference, FileExhibit, Mode, Settings, perform_own},
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

fn for_terminal(told: &PlanReport<'_>, outcome: &Outcome, columns: usize) -> String {
    let broken = |line: &str| hanging(&visible(line), columns, INDENT);
    let fact = |label: &str, text: &str| broken(&format!("  {label:<8} {text}"));
    // A path or a command is copied whole.
    let whole = |label: &str, text: &str| visible(&format!("  {label:<8} {text}")).into_owned();
    let mut lines = vec![broken(&format!(
        "plan {} of {}: {} in {}, {}",
        told.text("plan_id"),
        told.text("task_id"),
        told.text("status"),
        told.duration(),
        moment(told.text("completed_at")),
    ))];
    for (done, action, what) in told.actions() {
        lines.push(match done {
            "done" => fact(done, action),
            _ => fact(done, &format!("{action}: {what}")),
        });
        let by = |file: &&FileExhibit| file.actions.first().is_some_and(|first| first == action);
        let files = told.files().iter().filter(by);
        lines.extend(files.map(|file| changed(file, columns)));
    }
    for (action, _, message, remedy) in told.errors() {
        // The failure of an action is told with the action.
        match action {
            Some(action) => lines.push(fact("remedy", &format!("{action}: {remedy}"))),
            None => lines.extend([fact("error", message), fact("remedy", remedy)]),
        }
    }
    lines.extend(told.warnings().map(|warning| fact("warning", warning)));
    let reports = outcome.reports.iter();
    lines.extend(reports.map(|files| whole("files", &files.directory)));
    let (sentence, command) = told.undo();
    lines.push(match command {
        Some(command) => whole("undo", &command),
        None => fact("undo", &sentence),
    });
    lines.join("\n") + "\n"
}

/// One line: what was done to the file, its path, and the lines that were added and removed.
fn changed(file: &FileExhibit, columns: usize) -> String {
    let since = match file.shown {
        Difference::ChangedSince => " changed since",
        _ => "",
    };
    let (more, less) = (file.summary.lines_added, file.summary.lines_removed);
    let counts = match (more, less) {
        // Not a text, or only its name or its permissions changed.
        (0, 0) => since.trim_start().to_owned(),
        _ => format!("+{more} −{less}{since}"),
    };
    let begin = format!("{}{:<8} ", " ".repeat(INDENT), kind(file));
    let room = columns.saturating_sub(begin.len() + width(&counts) + 1);
    let path = fit(&visible(&place(file)), room);
    format!("{begin}{} {counts}", padded(&path, room))
}
