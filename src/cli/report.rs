//! `oneact report`: what a finished file plan did, from its report directory.

use std::{
    io::{self, IsTerminal as _},
    process::ExitCode,
};

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::json;

use crate::{
    host::{Host, Interrupts},
    perform::{Difference, FileExhibit, Mode, Settings, perform_typed},
    task::{Outcome, Task, visible},
};

use super::{
    Stop, printed,
    printing::{
        columns, duration,
        json::line,
        page::{LINES, plan_page},
        page_file::{Written, written},
        plan::{Done, Told, counted, kind, moment, place},
    },
    rollback::plan_named,
    settings::PlaceArgs,
    stop,
    terminal::{fit, hanging, padded, width},
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
    /// Print the execution report as JSON, also on a terminal
    #[arg(long)]
    json: bool,
    /// Write the report to FILE as one self-contained page with a diff of each file; /dev/stdout prints it
    #[arg(long, value_name = "FILE")]
    html: Option<Utf8PathBuf>,
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
        (None, None) if args.html.is_some() => {
            return Err(stop(1)(outcome.reasoning.join(" ")));
        }
        (None, None) => return Ok(printed(outcome.reasoning.join("\n") + "\n", 0)),
        (None, Some(report)) => report,
    };
    let is_for_people = args.html.is_some() || (io::stdout().is_terminal() && !args.json);
    if !is_for_people {
        return Ok(printed(line(report), 0));
    }
    let told = Told::of(report, &mut { LINES }, &settings.project, &host);
    let Some(file) = &args.html else {
        return Ok(printed(
            for_terminal(&told, outcome, columns().min(WIDEST)),
            0,
        ));
    };
    let page = plan_page(&told);
    let path = match written(file, &page, &settings.project, host.interrupts())? {
        Written::IsStdout => return Ok(printed(page, 0)),
        Written::To(path) => path,
    };
    let (plan, files) = (told.text("plan_id"), told.files().len());
    Ok(if args.json {
        let wrote = json!({"file": path.as_str(), "plan_id": plan, "files": files});
        printed(line(&wrote), 0)
    } else {
        let wrote = format!("Wrote {path}: {plan}, {}.", counted(files, "file"));
        printed(visible(&wrote).into_owned() + "\n", 0)
    })
}

fn for_terminal(told: &Told<'_>, outcome: &Outcome, columns: usize) -> String {
    let whole = |line: &str| visible(line).into_owned();
    let broken = |line: &str| hanging(&visible(line), columns, INDENT);
    let mut lines = vec![broken(&format!(
        "plan {} of {}: {} in {}, {}",
        told.text("plan_id"),
        told.text("task_id"),
        told.text("status"),
        duration(told.number("duration_ms")),
        moment(told.text("completed_at")),
    ))];
    for (done, action, what) in told.actions() {
        lines.push(broken(&match done {
            Done::Yes => format!("  done     {action}"),
            Done::Failed => format!("  failed   {action}: {what}"),
            Done::Skipped => format!("  skipped  {action}: {what}"),
        }));
        let by = |file: &&FileExhibit| file.actions.first().is_some_and(|first| first == action);
        let files = told.files().iter().filter(by);
        lines.extend(files.map(|file| changed(file, columns)));
    }
    for (action, _, message, remedy) in told.errors() {
        // The failure of an action is told with the action.
        if action.is_none() {
            lines.push(broken(&format!("  error    {message}")));
        }
        let of = action.map(|action| format!("{action}: "));
        lines.push(broken(&format!(
            "  remedy   {}{remedy}",
            of.unwrap_or_default()
        )));
    }
    lines.extend(
        told.warnings()
            .map(|warning| broken(&format!("  warning  {warning}"))),
    );
    // A path or a command is copied whole.
    if let Some(files) = &outcome.reports {
        lines.push(whole(&format!("  files    {}", files.directory)));
    }
    let (sentence, command) = told.undo();
    lines.push(match command {
        Some(command) => whole(&format!("  undo     {command}")),
        None => broken(&format!("  undo     {sentence}")),
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
