//! `oneact history`: the steps of a session or of all sessions, and why a step ran or did not.

mod table;

use std::process::ExitCode;

use clap::Args;
use jiff::{Span, Timestamp, Zoned, civil::DateTime};

use crate::{
    host::Interrupts,
    people::{Filter, How, Open, Page, Reason, Row, RowState, Step, Wanted, Whole},
};

use super::{
    Stop, printed,
    printing::{Desk, ReadArgs, columns, json, task, words},
    settings::number,
    stop,
    terminal::{hanging, padded, width},
};

use table::{Numbers, table};

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
    let session = desk.session.clone().filter(|_| !args.all);
    // An unknown session and an empty ledger are errors of their own.
    desk.reading.session(session.as_deref())?;
    let filter = args.filter(desk)?;
    let word = args.grep.as_ref().map(|word| word.to_lowercase());
    let fits = |row: &Row| word.as_ref().is_none_or(|word| holds(row, word));
    let Some(session) = session else {
        return across(args, &filter, &fits, desk);
    };
    let most = newest(args.limit);
    let page = desk.reading.page(&session, most, &filter, &fits)?;
    if args.read.json {
        return Ok(json::line(&json::history(&page)));
    }
    let hidden = page.count.saturating_sub(page.steps.len() as u64);
    let hidden = (hidden > 0 && !args.selects()).then(|| hidden.to_string());
    let head = head(&page, desk);
    let found = (page.steps.as_slice(), page.open.as_slice());
    Ok(list(&head, found, hidden, (args, desk, Numbers::OfSession)))
}

/// The steps of all sessions.
fn across(
    args: &HistoryArgs,
    filter: &Filter,
    fits: &dyn Fn(&Row) -> bool,
    desk: &mut Desk,
) -> Result<String, Stop> {
    // One more than wanted shows whether there are more.
    let most = newest(args.limit.saturating_add(usize::from(args.limit > 0)));
    let mut found = desk.reading.across(most, filter, fits)?;
    let more = args.limit > 0 && found.steps.len() > args.limit;
    if more {
        found.steps.remove(0);
    }
    if args.read.json {
        return Ok(json::line(&json::across(&found)));
    }
    let mut head = vec!["all sessions".to_owned()];
    let first = found.steps.first().map(|step| step.row.timestamp.as_str());
    head.extend(
        first
            .and_then(|at| desk.moment(at))
            .map(|day| day.strftime("%Y-%m-%d").to_string()),
    );
    head.push(counted(found.steps.len() as u64));
    let head = head.join(" · ");
    let hidden = more.then(|| "the".to_owned());
    let found = (found.steps.as_slice(), found.open.as_slice());
    Ok(list(
        &head,
        found,
        hidden,
        (args, desk, Numbers::OfOperations),
    ))
}

/// How many answers are read; 0 means all.
pub(super) fn newest(limit: usize) -> usize {
    match limit {
        0 => usize::MAX,
        limit => limit,
    }
}

fn list(
    head: &str,
    (steps, open): (&[Step], &[Open]),
    hidden: Option<String>,
    (args, desk, numbers): (&HistoryArgs, &Desk, Numbers),
) -> String {
    let columns = columns();
    let mut text = hanging(head, columns, 2) + "\n";
    text.push_str(&table(steps, desk, columns, numbers));
    let none = (steps.is_empty() && args.selects()).then(|| match &args.grep {
        Some(word) => format!("no step contains `{}`", words::line(word)),
        None => "no step is as the flags say".to_owned(),
    });
    let hidden =
        hidden.map(|count| format!("{count} earlier steps are not shown; --limit 0 shows all"));
    for line in none.into_iter().chain(hidden).chain(foot(open, desk)) {
        text.push_str(&hanging(&line, columns, 2));
        text.push('\n');
    }
    text
}

impl HistoryArgs {
    /// Whether only some of the steps are wanted.
    fn selects(&self) -> bool {
        self.grep.is_some() || self.since.is_some() || self.failed || self.capability.is_some()
    }

    fn filter(&self, desk: &Desk) -> Result<Filter, Stop> {
        let since = self.since.as_ref();
        let since = since.map(|text| since_when(text, &desk.host.now()));
        Ok(Filter {
            since: since.transpose().map_err(stop(2))?,
            outcome: if self.failed {
                Wanted::Failed
            } else {
                Wanted::All
            },
            capability: self.capability.clone(),
        })
    }
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

fn holds(row: &Row, word: &str) -> bool {
    let state = row.state.map(RowState::name);
    let texts = [
        row.action_type.as_deref(),
        row.task_id.as_deref(),
        row.request_id.as_deref(),
        row.target_id.as_deref(),
        state.as_deref(),
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
    parts.push(counted(page.count));
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

pub(super) fn counted(steps: u64) -> String {
    match steps {
        0 => "no steps yet".to_owned(),
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    }
}

/// The lines about operations without an answer.
fn foot(all: &[Open], desk: &Desk) -> Vec<String> {
    let mut lines = Vec::new();
    for open in all {
        let (operation, since) = (words::line(&open.operation_id), desk.clock(&open.since));
        lines.push(match open.how {
            How::AtWork => format!("running since {since}: {operation}"),
            How::Died => {
                let step = format!("{}.", open.operation_id);
                let unknown = |other: &Open| {
                    other.how == How::Unknown && other.operation_id.starts_with(&step)
                };
                let next = if all.iter().any(unknown) {
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
    let row = desk.reading.task(what, desk.session.as_deref())?;
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
    let reason = words::reason(decision);
    let name = decision.reason.name().map(words::line).unwrap_or_default();
    let verb = match (&decision.reason, before) {
        (Reason::Ran(_), _) if row.state == Some(RowState::Pending) => {
            "waits, and was not performed;".to_owned()
        }
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
