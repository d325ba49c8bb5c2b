//! `oneact history`: the steps of a session or of all sessions, and why a step ran or did not.

use std::{collections::BTreeSet, process::ExitCode};

use clap::Args;
use jiff::{Span, Timestamp, Zoned, civil::DateTime};

use super::{
    ended::{Stop, stop},
    printing::{LedgerView, SessionArgs, Table, columns, counted, json, words},
    settings::number,
    terminal::{fit, hanging},
};
use crate::{
    host::Interrupts,
    people::{
        Answers, Filter, Reason, Row, Unanswered, UnansweredState, WantedOutcome, WholeAnswer,
    },
};

#[derive(Debug, Args)]
pub(super) struct HistoryArgs {
    /// Show the newest N steps; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = number::<usize>)]
    limit: usize,
    /// Show only steps that contain this word in their request, answer or names
    #[arg(long, value_name = "WORD")]
    grep: Option<String>,
    /// Show only steps since this time: 2h, 7d, 2026-02-24, or 2026-02-24T10:00
    #[arg(long, value_name = "DURATION|DATE")]
    since: Option<String>,
    /// Show only tasks that failed
    #[arg(long)]
    failed: bool,
    /// Show only calls of this entry of the catalog
    #[arg(long, value_name = "ID")]
    capability: Option<String>,
    /// Show the steps of all sessions, also if `$ONEACT_SESSION` names one
    #[arg(long, conflicts_with = "session")]
    all: bool,
    /// State why this task or step was performed although its request was recorded, or why it was answered from
    /// the ledger
    #[arg(long, value_name = "TASK|STEP", conflicts_with_all = ["grep", "limit", "since", "failed", "capability", "all"])]
    why: Option<String>,
    #[command(flatten)]
    of: SessionArgs,
}

pub(super) fn run(args: &HistoryArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let mut view = args.of.open(interrupts)?;
    let form = &args.of.read.form;
    if let Some(what) = &args.why {
        let row = view.reading.task(what, view.session.as_deref())?;
        let whole = view.reading.whole_of(row)?;
        let because = || because(&whole, columns());
        return Ok(form.printed(&json::whole_step(&whole), because, 0));
    }
    let session = view.session.clone().filter(|_| !args.all);
    // An unknown session and an empty ledger are errors of their own.
    view.reading.session(session.as_deref())?;
    let now = view.host.now();
    let since = args.since.as_ref().map(|text| since_when(text, &now));
    let word = args.grep.as_ref().map(|word| word.to_lowercase());
    let filter = Filter {
        since: since.transpose().map_err(stop(2))?,
        outcome: if args.failed {
            WantedOutcome::Failed
        } else {
            WantedOutcome::All
        },
        capability: args.capability.as_deref(),
        word: word.as_deref(),
    };
    // One more than wanted shows whether there are more.
    let most = match args.limit {
        0 => usize::MAX,
        limit => limit.saturating_add(1),
    };
    let reading = &mut view.reading;
    let mut answers = reading.answers(session.as_deref(), most, &filter)?;
    let more = answers.steps.len() == most;
    if more {
        answers.steps.remove(0);
    }
    let earlier = match &answers.session {
        Some(session) if !args.selects() => {
            let shown = answers.steps.len() as u64;
            session.count.saturating_sub(shown).to_string()
        }
        _ => "the".to_owned(),
    };
    let hidden =
        more.then(|| format!("{earlier} earlier steps are not shown; --limit 0 shows all"));
    let document = json::history(&answers);
    Ok(form.printed(&document, || list(args, &answers, hidden, &view), 0))
}

impl HistoryArgs {
    /// Whether only some of the steps are wanted.
    fn selects(&self) -> bool {
        self.grep.is_some() || self.since.is_some() || self.failed || self.capability.is_some()
    }
}

/// The steps as a table. `hidden` says that there are earlier ones.
fn list(
    args: &HistoryArgs,
    answers: &Answers,
    hidden: Option<String>,
    view: &LedgerView,
) -> String {
    let columns = columns();
    let is_empty = answers.steps.is_empty();
    let none = (is_empty && args.selects()).then(|| match &args.grep {
        Some(word) => format!("no step contains `{}`", words::line(word)),
        None => "no step is as the flags say".to_owned(),
    });
    let mut text = hanging(&head(answers, view), columns, 2) + "\n";
    if !is_empty {
        text += &table(answers, view).text(columns);
    }
    let foot = foot(&answers.open, view);
    for line in none.into_iter().chain(hidden).chain(foot) {
        text.extend([&hanging(&line, columns, 2), "\n"]);
    }
    text
}

/// The time that `--since` names, as the ledger writes times: a date in the local zone, or a duration before now.
fn since_when(text: &str, now: &Zoned) -> Result<String, String> {
    let zone = now.time_zone();
    let date = || text.parse::<DateTime>().ok()?.to_zoned(zone.clone()).ok();
    let ago = || now.checked_sub(text.parse::<Span>().ok()?.abs()).ok();
    let at = text.parse::<Timestamp>().ok();
    let at = at.or_else(|| Some(date().or_else(ago)?.timestamp()));
    let at = at.ok_or_else(|| {
        format!(
            "--since {text}: give a duration (90m, 2h, 7d) or a date (2026-02-24, 2026-02-24T10:00)"
        )
    })?;
    Ok(at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
}

/// `session sess-1 · default · AGENT_AUTONOMOUS · 2026-02-24 · 7 steps · 1 waiting`
fn head(answers: &Answers, view: &LedgerView) -> String {
    let mut parts = Vec::new();
    let first = answers.steps.first();
    let mut day = first.map(|step| step.row.timestamp.as_str());
    let mut count = answers.steps.len() as u64;
    if let Some(session) = &answers.session {
        count = session.count;
        parts.push(format!("session {}", words::line(&session.session_id)));
        match &session.opened {
            Some(opened) => {
                parts.extend([&opened.profile, &opened.context].map(|name| words::line(name)));
                day = day.or(Some(&opened.opened_at));
            }
            None => parts.push("recorded before oneact".to_owned()),
        }
    } else {
        parts.push("all sessions".to_owned());
    }
    let day = day.and_then(|at| view.moment(at));
    parts.extend(day.map(|day| day.strftime("%Y-%m-%d").to_string()));
    parts.push(steps(count));
    if answers.session.is_some() {
        let waiting = (answers.waiting(), "waiting");
        let open = (answers.open_reviews().count(), "awaiting review");
        let counts = [waiting, open].into_iter().filter(|(count, _)| *count > 0);
        parts.extend(counts.map(|(count, what)| format!("{count} {what}")));
    }
    parts.join(" · ")
}

pub(super) fn steps(count: u64) -> String {
    match count {
        0 => "no steps yet".to_owned(),
        count => counted(count, "step"),
    }
}

/// The widest columns for the names of tasks, actions and sessions; the middle of a longer name is left out.
const TASK: usize = 18;
const ACTION: usize = 24;
const SESSION: usize = 30;
/// The widest columns of a time and of a duration: rows that oneact did not write may hold any text there.
const TIME: usize = 19;
const TOOK: usize = 12;

/// The table of steps: of one session by their numbers, of all sessions by the ids of their operations.
fn table(answers: &Answers, view: &LedgerView) -> Table<'static, 7> {
    let of_session = answers.session.is_some();
    let steps = &answers.steps;
    let days = steps.iter();
    let days = days.filter_map(|step| Some(view.moment(&step.row.timestamp)?.date()));
    let days: BTreeSet<_> = days.collect();
    let years: BTreeSet<_> = days.iter().map(|day| day.year()).collect();
    // The first line names the day of the first step. Beside ids, there is less room.
    let time = match (days.len(), years.len(), of_session) {
        (0 | 1, _, _) => "%H:%M:%S",
        (_, 1, true) => "%m-%d %H:%M:%S",
        (_, 1, false) => "%m-%d %H:%M",
        (_, _, true) => "%Y-%m-%d %H:%M:%S",
        (_, _, false) => "%Y-%m-%d",
    };
    let name = if of_session { "#" } else { "id" };
    let head = [name, "time", "task", "action", "state", "took", "note"].map(str::to_owned);
    let cells = steps.iter().map(|step| {
        let row = &step.row;
        let note = words::note(step, |at| view.date(at));
        let (name, note) = if of_session {
            (row.step_index.to_string(), note)
        } else {
            let own = Some(note).filter(|note| !note.is_empty());
            let notes: Vec<String> = in_session(row).into_iter().chain(own).collect();
            (short_id(row), notes.join("; "))
        };
        [
            name,
            fit(&view.time(&row.timestamp, time), TIME),
            fit(&words::line(&words::task(row)), TASK),
            fit(&words::line(words::action(row)), ACTION),
            words::state(row),
            fit(&words::took(row).unwrap_or_default(), TOOK),
            note,
        ]
    });
    Table {
        rows: [head].into_iter().chain(cells).collect(),
        shortened: &[3, 2],
        right: if of_session { &[0, 5] } else { &[5] },
    }
}

/// The name of the row's session, unless it is that of this task alone.
fn in_session(row: &Row) -> Option<String> {
    let own = row.operation_id.strip_prefix("op_");
    let is_own = own.is_some() && row.session_id.strip_prefix("sess-") == own;
    (!is_own).then(|| format!("in {}", fit(&words::line(&row.session_id), SESSION)))
}

/// The beginning of the operation's id, by which `oneact show` finds it.
fn short_id(row: &Row) -> String {
    let id = match (row.operation_id.as_str(), &row.parent) {
        (_, Some(_)) => "",
        ("", None) => &row.id,
        (operation, None) => operation,
    };
    words::line(&id.chars().take(ID).collect::<String>())
}

/// The shown characters of an id: the kind, the time, and two more for runs of the same millisecond.
const ID: usize = 15;

/// The lines about operations without an answer.
fn foot(all: &[Unanswered], view: &LedgerView) -> Vec<String> {
    let mut lines = Vec::new();
    for open in all {
        let (operation, since) = (words::line(&open.operation_id), view.clock(&open.since));
        match open.state {
            UnansweredState::AtWork => lines.push(format!("running since {since}: {operation}")),
            UnansweredState::Died => {
                let step = format!("{}.", open.operation_id);
                let unknown = |other: &Unanswered| {
                    other.state == UnansweredState::Unknown && other.operation_id.starts_with(&step)
                };
                let next = if all.iter().any(unknown) {
                    "first settle its step whose outcome is unknown"
                } else {
                    "the same task can be sent again"
                };
                lines.push(format!(
                    "ended without an answer, started {since}: {operation}; {next}"
                ));
            }
            UnansweredState::Unknown => lines.extend([
                format!("outcome unknown, started {since}: {operation}; find out whether it happened, then:"),
                format!("  oneact resolve {operation} --happened | --did-not"),
            ]),
        }
    }
    lines
}

/// `task_8 CAP-PRE-002 (#7) was performed although #3 has the same request, because …`
fn because(whole: &WholeAnswer, columns: usize) -> String {
    let row = &whole.step.row;
    let action = row.action_type.as_deref().unwrap_or("a step");
    let subject = format!("{} {action} (#{})", words::task(row), row.step_index);
    let subject = words::line(&subject);
    let decision = &whole.decision;
    let before = decision.about.as_ref().map(|row| row.step_index);
    let reason = words::reason(decision);
    let verb = match (&decision.reason, before) {
        (Reason::Ran(_), _) if whole.step.waits() => "waits, and was not performed;".to_owned(),
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
        (Reason::History, _) => "was performed:".to_owned(),
        (Reason::Ran(_) | Reason::Other(_), _) => "was performed, because".to_owned(),
    };
    let name = decision.reason.name();
    let name = name.map_or_else(String::new, |name| format!(" ({})", words::line(name)));
    let differences = words::differences(decision);
    let differences = differences.map(|(what, said)| format!("  {what}   {said}"));
    let lines = [format!("{subject} {verb} {reason}{name}")];
    let lines = lines.into_iter().chain(differences);
    lines
        .map(|line| hanging(&line, columns, 4) + "\n")
        .collect()
}
