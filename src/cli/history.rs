//! `oneact history`: the steps of a session, and why a step ran or did not.

use std::{collections::BTreeSet, process::ExitCode};

use clap::Args;

use crate::{
    host::Interrupts,
    record::{How, Most, Open, Page, Reason, Row, RowState, Whole},
};

use super::{
    Stop, printed,
    printing::{Desk, ReadArgs, columns, json, task, words},
    settings::number,
    terminal::{fit, hanging, padded, width, wrapped},
};

#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    /// Show the newest N steps; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = number::<usize>)]
    limit: usize,
    /// Show only steps that contain this word in their request, answer or names
    #[arg(long, value_name = "WORD")]
    grep: Option<String>,
    /// State why this task or step was performed although its request was recorded, or why it was answered from
    /// the ledger
    #[arg(long, value_name = "TASK|STEP", conflicts_with_all = ["grep", "limit"])]
    why: Option<String>,
    #[command(flatten)]
    read: ReadArgs,
}

pub(super) fn run(args: &HistoryArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut desk = Desk::open(&args.read, interrupts)?;
    let text = match &args.why {
        Some(what) => why(what, args, &mut desk),
        None => history(args, &mut desk),
    };
    Ok(printed(text?, 0))
}

fn history(args: &HistoryArgs, desk: &mut Desk) -> Result<String, Stop> {
    let session = desk.reading.session(args.read.session.as_deref())?;
    let most = match args.limit {
        0 => Most::All,
        limit => Most::Newest(limit),
    };
    let word = args.grep.as_ref().map(|word| word.to_lowercase());
    let fits = |row: &Row| word.as_ref().is_none_or(|word| holds(row, word));
    let page = desk.reading.page(&session, most, &fits)?;
    if args.read.json {
        return Ok(json::line(&json::history(&page)));
    }
    let columns = columns();
    let mut text = hanging(&head(&page, desk), columns, 2) + "\n";
    text.push_str(&table(&page, desk, columns));
    for line in foot(&page, args, desk) {
        text.push_str(&hanging(&line, columns, 2));
        text.push('\n');
    }
    Ok(text)
}

fn holds(row: &Row, word: &str) -> bool {
    let texts = [
        row.action_type.as_deref(),
        row.task_id.as_deref(),
        row.request_id.as_deref(),
        row.target_id.as_deref(),
        row.state.map(RowState::name),
        Some(row.outcome.name()),
        row.fault.as_deref(),
        row.reason.as_deref(),
        Some(row.operation_id.as_str()),
        row.request.as_deref(),
        row.response.as_deref(),
        row.output_ids.as_deref(),
    ];
    let mut texts = texts.into_iter().flatten();
    texts.any(|text| text.to_lowercase().contains(word))
}

/// `session sess-1 · default · AGENT_AUTONOMOUS · 2026-02-24 · 7 steps · 1 waiting`
fn head(page: &Page, desk: &Desk) -> String {
    let mut parts = vec![format!("session {}", words::line(&page.session_id))];
    let first = page.steps.first().map(|step| step.row.timestamp.as_str());
    match &page.opened {
        Some(opened) => {
            parts.push(words::line(&opened.profile));
            parts.push(words::line(&opened.context));
        }
        None => parts.push("recorded before oneact".to_owned()),
    }
    let opened = page.opened.as_ref().map(|opened| opened.opened_at.as_str());
    if let Some(day) = first.or(opened).and_then(|at| desk.moment(at)) {
        parts.push(day.strftime("%Y-%m-%d").to_string());
    }
    parts.push(match page.count {
        0 => "no steps yet".to_owned(),
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    });
    match page.waiting() {
        0 => {}
        waiting => parts.push(format!("{waiting} waiting")),
    }
    match page.open_reviews().count() {
        0 => {}
        open => parts.push(format!("{open} awaiting review")),
    }
    parts.join(" · ")
}

/// The widest columns for the names of tasks and actions; the middle of a longer name is left out.
const TASK: usize = 18;
const ACTION: usize = 24;
/// The narrowest columns for these names and for notes.
const LEAST: usize = 8;
/// The widest columns of a time and of a duration: rows that oneact did not write may hold any text there.
const TIME: usize = 19;
const TOOK: usize = 12;
/// The narrowest column in which a note is wrapped, unless the note is shorter.
const NOTE: usize = 16;

fn table(page: &Page, desk: &Desk, columns: usize) -> String {
    if page.steps.is_empty() {
        return String::new();
    }
    let days = page
        .steps
        .iter()
        .filter_map(|step| Some(desk.moment(&step.row.timestamp)?.date()));
    let days: BTreeSet<_> = days.collect();
    let years: BTreeSet<_> = days.iter().map(|day| day.year()).collect();
    // The first line names the day of the first step.
    let time = |instant: &str| match (days.len(), years.len()) {
        (0 | 1, _) => desk.clock(instant),
        (_, 1) => desk.date(instant).chars().skip(5).collect(),
        _ => desk.date(instant),
    };
    let mut lines =
        vec![["#", "time", "task", "action", "state", "took", "note"].map(str::to_owned)];
    lines.extend(page.steps.iter().map(|step| {
        let row = &step.row;
        let action = row.action_type.as_deref().unwrap_or("–");
        [
            row.step_index.to_string(),
            fit(&time(&row.timestamp), TIME),
            fit(&words::line(&task(step)), TASK),
            fit(&words::line(action), ACTION),
            words::state(row).to_owned(),
            fit(&words::took(row).unwrap_or_default(), TOOK),
            words::note(step, |at| desk.date(at)),
        ]
    }));
    let mut widths = [0; 7];
    for line in &lines {
        for (widest, cell) in widths.iter_mut().zip(line) {
            *widest = width(cell).max(*widest);
        }
    }
    let widths = shrunk(widths, columns);
    let lines = lines.iter();
    lines.map(|line| told_line(line, widths, columns)).collect()
}

/// The widths after the names of actions, then of tasks, were shortened to make room for notes.
fn shrunk(widths: [usize; 7], columns: usize) -> [usize; 7] {
    let [number, time, task, action, state, took, note] = widths;
    let used = number + time + task + action + state + took + 6 * 2;
    let wanted = (used + note.min(NOTE)).saturating_sub(columns);
    let of_action = wanted.min(action.saturating_sub(LEAST));
    let of_task = (wanted - of_action).min(task.saturating_sub(LEAST));
    let (task, action) = (task - of_task, action - of_action);
    [number, time, task, action, state, took, note]
}

/// One line of the table, or several if its note is long.
fn told_line(cells: &[String; 7], widths: [usize; 7], columns: usize) -> String {
    let [rest @ .., note] = cells;
    let mut used = 0;
    let mut text = String::new();
    for (at, (cell, wide)) in rest.iter().zip(widths).enumerate() {
        let cell = fit(cell, wide);
        // Numbers are aligned to the right.
        let cell = match at {
            0 | 5 => format!("{}{cell}", " ".repeat(wide.saturating_sub(width(&cell)))),
            _ => padded(&cell, wide),
        };
        text.extend([&cell, "  "]);
        used += wide + 2;
    }
    let room = columns.saturating_sub(used).max(LEAST);
    let lines = if width(note) <= room {
        vec![note.clone()]
    } else {
        let each = note.split("; ");
        each.flat_map(|note| wrapped(note, room)).collect()
    };
    text += &lines.join(&format!("\n{}", " ".repeat(used)));
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// The lines below the table: hidden steps and open operations.
fn foot(page: &Page, args: &HistoryArgs, desk: &Desk) -> Vec<String> {
    let shown = page.steps.len() as u64;
    let mut lines = match (&args.grep, page.count.saturating_sub(shown)) {
        (Some(word), _) if shown == 0 => vec![format!("no step contains `{}`", words::line(word))],
        (None, earlier @ 1..) => vec![format!(
            "{earlier} earlier steps are not shown; --limit 0 shows all"
        )],
        _ => Vec::new(),
    };
    for open in &page.open {
        let (operation, since) = (words::line(&open.operation_id), desk.clock(&open.since));
        lines.push(match open.how {
            How::AtWork => format!("running since {since}: {operation}"),
            How::Died => {
                let step = format!("{}.", open.operation_id);
                let unknown = |other: &Open| {
                    other.how == How::Unknown && other.operation_id.starts_with(&step)
                };
                let next = if page.open.iter().any(unknown) {
                    "first settle its step whose outcome is unknown"
                } else {
                    "the same task can be sent again"
                };
                format!("ended without an answer, started {since}: {operation}; {next}")
            }
            How::Unknown => {
                format!("outcome unknown, started {since}: {operation}; find out whether it happened, then:")
            }
        });
        if open.how == How::Unknown {
            lines.push(format!(
                "  oneact resolve {operation} --happened | --did-not"
            ));
        }
    }
    lines
}

fn why(what: &str, args: &HistoryArgs, desk: &mut Desk) -> Result<String, Stop> {
    let row = desk.reading.task(what, args.read.session.as_deref())?;
    let whole = desk.reading.whole_of(row)?;
    if args.read.json {
        return Ok(json::line(&json::whole_step(&whole)));
    }
    Ok(because(&whole, columns()))
}

/// The widest name in columns for which the texts after the names are aligned.
const NAME: usize = 30;

/// `task_8 CAP-PRE-002 (#7) was performed although #3 has the same request, because …`
fn because(whole: &Whole, columns: usize) -> String {
    let row = &whole.step.row;
    let action = row.action_type.as_deref().unwrap_or("a step");
    let subject = format!("{} {action} (#{})", task(&whole.step), row.step_index);
    let subject = words::line(&subject);
    let decision = &whole.decision;
    let before = decision.about.as_ref().map(|row| row.step_index);
    let reason = words::reason(&decision.reason);
    let name = decision.reason.name().map(words::line).unwrap_or_default();
    let verb = match (&decision.reason, before) {
        (Reason::Ran(why), Some(before)) if why.name() == "retry" => {
            format!("was performed again after #{before}, because")
        }
        (Reason::Ran(_), Some(before)) => {
            format!("was performed although #{before} has the same request, because")
        }
        (Reason::Answered(_), Some(before)) => {
            format!("was not performed and repeated the answer of #{before}, because")
        }
        (Reason::Answered(_), None) => "was not performed, because".to_owned(),
        (Reason::History, _) => {
            return hanging(&format!("{subject}: {reason}"), columns, 2) + "\n";
        }
        (Reason::Ran(_) | Reason::Other(_), _) => "was performed, because".to_owned(),
    };
    let mut lines = vec![(name, reason)];
    let differences = decision.differences.iter();
    lines.extend(
        differences
            .map(|difference| (words::line(&difference.what), words::difference(difference))),
    );
    // A longer name, such as a path, gets a line of its own.
    let names = lines.iter().map(|(name, _)| width(name));
    let room = names.filter(|name| *name <= NAME).max().unwrap_or(0);
    let lines: Vec<String> = lines
        .iter()
        .map(|(name, said)| {
            if width(name) > room {
                let (name, said) = (hanging(name, columns - 2, 0), hanging(said, columns, 4));
                format!("  {}\n    {said}", name.replace('\n', "\n  "))
            } else {
                let said = hanging(said, columns, room + 5);
                format!("  {}   {said}", padded(name, room))
            }
        })
        .collect();
    let title = hanging(&format!("{subject} {verb}"), columns, 2);
    format!("{title}\n{}\n", lines.join("\n"))
}
