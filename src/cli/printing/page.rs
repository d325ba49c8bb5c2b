//! A session as one self-contained web page, without scripts and requests. Foreign text is always escaped.

mod parts;
mod plan;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    facts::facts,
    plan::PlanReport,
    units::{counted, size},
    view::LedgerView,
    words,
};
use crate::{
    envelope::{OldAnswer, read_response},
    people::{
        Answers, Exhibit, ExhibitContent, ExhibitLimits, Made, Row, RowOutcome, RowState,
        WholeAnswer, exhibit,
    },
    task::Still,
};

use parts::{block, document, escaped, list, pretty};
pub(crate) use plan::plan_page;

/// The most lines of diffs on a page.
pub(crate) const LINES: usize = 50_000;

/// What the page has room for. Bytes are counted before base64.
struct PageRoom {
    exhibits: ExhibitLimits,
    lines: usize,
}

pub(crate) fn page(answers: &Answers, whole: &[WholeAnswer], view: &LedgerView) -> String {
    let mut room = PageRoom {
        exhibits: ExhibitLimits {
            each: 20_000_000,
            left: 100_000_000,
        },
        lines: LINES,
    };
    let sections = whole.iter().map(|whole| section(whole, view, &mut room));
    let sections: String = sections.collect();
    let session = answers.session.as_ref();
    let title = escaped(session.map_or("", |session| &session.session_id));
    let header = header(&title, answers, view);
    let main = timeline(answers, view) + &sections;
    let from = "written from the ledger; no tool was called for this page";
    document(&title, &header, &main, from)
}

fn header(title: &str, answers: &Answers, view: &LedgerView) -> String {
    let mut facts = Vec::new();
    let session = answers.session.as_ref();
    if let Some(opened) = session.and_then(|session| session.opened.as_ref()) {
        facts.extend(
            [&opened.profile, &opened.context, &opened.principal].map(|fact| escaped(fact)),
        );
        facts.push(escaped(&view.date(&opened.opened_at)));
    }
    facts.push(counted(answers.steps.len() as u64, "step"));
    let rows = || answers.steps.iter().map(|step| &step.row);
    let failed = rows().filter(|row| class(row) == "bad").count();
    let old = rows().filter(|row| words::is_old_answer(row)).count();
    let counts = [
        (failed, "bad", "failed"),
        (old, "again", "answered from the ledger"),
        (answers.waiting(), "wait", "waiting"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    facts.extend(
        counts.map(|(count, class, what)| format!("<span class=\"{class}\">{count} {what}</span>")),
    );
    format!(
        "<header>\n<h1>{title}</h1>\n<p class=\"facts\">{}</p>\n</header>\n",
        facts.join(" · ")
    )
}

fn class(row: &Row) -> &'static str {
    match (row.state, row.outcome) {
        (Some(RowState::Pending | RowState::Partial | RowState::Unknown | RowState::Late), _) => {
            "wait"
        }
        (_, RowOutcome::Error | RowOutcome::Other) => "bad",
        (_, RowOutcome::Success) if words::is_old_answer(row) => "again",
        (_, RowOutcome::Success) => "good",
    }
}

fn badge(row: &Row) -> String {
    format!(
        "<span class=\"state {}\">{}</span>",
        class(row),
        words::state(row)
    )
}

fn section(whole: &WholeAnswer, view: &LedgerView, room: &mut PageRoom) -> String {
    let row = &whole.step.row;
    let answer = row.response.as_deref().and_then(read_response);
    format!(
        "<section id=\"step-{n}\">\n<h2><span class=\"soft\">#{n}</span> {} {} <span class=\"soft\">{}</span></h2>\n\
         {}{}{}{}</section>\n",
        escaped(words::action(row)),
        badge(row),
        escaped(&words::task(row)),
        list(facts(whole, answer.as_ref(), view)),
        outputs(whole, answer.as_ref(), view, room),
        recorded("request", row.request.as_deref()),
        recorded("answer", row.response.as_deref()),
        n = row.step_index,
    )
}

/// What was made: the diffs of a plan, the files, and the result.
fn outputs(
    whole: &WholeAnswer,
    answer: Option<&OldAnswer>,
    view: &LedgerView,
    room: &mut PageRoom,
) -> String {
    let row = &whole.step.row;
    // Anyone who can write to the ledger can add an unsealed row, which could name any file of this user.
    let made = if !whole.sealed {
        let warning = "<p class=\"bad\">No link of the ledger seals this answer, so its outputs are not shown. Another \
                       program may have added or changed it; see <code>oneact verify</code>.</p>\n";
        let is_ours = row.state.is_some() || row.output_ids.is_some();
        if is_ours { warning } else { "" }.to_owned()
    } else if let Some(report) = answer.and_then(|answer| answer.execution_report.as_ref()) {
        // The diffs of a plan show its files, without their credentials.
        let report = PlanReport::of(report, &mut room.lines, &view.project, &view.host);
        plan::parts(&report)
    } else {
        let made = row.made();
        let made = made.iter();
        made.map(|made| figure(made, view, &mut room.exhibits))
            .collect()
    };
    let data = answer.and_then(|answer| answer.result_data.as_ref());
    made + &data.map(|data| block(&pretty(data))).unwrap_or_default()
}

/// A recorded text, folded.
fn recorded(what: &str, text: Option<&str>) -> String {
    let Some(text) = text else {
        return format!("<p class=\"soft\">The {what} is no longer in the ledger.</p>\n");
    };
    let shown = serde_json::from_str::<Value>(text);
    let shown = shown.map_or_else(|_| block(text), |value| block(&pretty(&value)));
    format!("<details><summary>The whole {what}</summary>{shown}</details>\n")
}

/// An output: media to play or show, or a link to it.
fn figure(made: &Made, view: &LedgerView, limits: &mut ExhibitLimits) -> String {
    let go_on = || view.host.interrupts().caught().is_none();
    let Exhibit { still, shown, link } = exhibit(made, &view.project.root, limits, &go_on);
    let name = escaped(&made.ref_id);
    let inside = match shown {
        ExhibitContent::Media { media_type, bytes } => {
            let source = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
            match media_type.split('/').next() {
                Some(tag @ ("audio" | "video")) => {
                    format!("<{tag} controls preload=\"metadata\" src=\"{source}\"></{tag}>")
                }
                _ => format!("<img alt=\"{name}\" src=\"{source}\">"),
            }
        }
        ExhibitContent::Words(words) => block(&words),
        ExhibitContent::TooLarge => "<p class=\"soft\">Too large to be shown here.</p>".to_owned(),
        ExhibitContent::Nothing => String::new(),
    };
    let place = escaped(&made.storage_uri);
    let place = match link {
        Some(link) => format!("<a href=\"{}\">{place}</a>", escaped(&link)),
        None => place,
    };
    let weight = made.print.sight.bytes();
    let weight = weight.map_or_else(String::new, |bytes| format!(" · {}", size(bytes)));
    let since = match still {
        Still::Same | Still::Unknown => "",
        Still::Other => " · <span class=\"bad\">changed since</span>",
        Still::Gone => " · <span class=\"bad\">missing now</span>",
    };
    let kind = escaped(&made.asset_type);
    format!(
        "<figure>{inside}<figcaption><strong>{name}</strong> · {kind}{weight}{since}<br>{place}</figcaption></figure>\n"
    )
}

/// All steps with their times and durations as bars.
fn timeline(answers: &Answers, view: &LedgerView) -> String {
    if answers.steps.is_empty() {
        return "<p>This session has no steps yet.</p>\n".to_owned();
    }
    let times: Vec<(i64, i64)> = answers.steps.iter().map(|step| ends(&step.row)).collect();
    let first = times.iter().map(|(begin, _)| *begin).min().unwrap_or(0);
    let last = times.iter().map(|(_, end)| *end).max().unwrap_or(0);
    // The left edge and the width of a bar, in percent.
    let percent = |time: i64, most: i64| (time * 100 / (last - first).max(1)).clamp(0, most);
    let items = answers.steps.iter().zip(times).map(|(step, (begin, end))| {
        let row = &step.row;
        let left = percent(begin - first, 99);
        format!(
            "<li><a href=\"#step-{n}\"><span class=\"number\">{n}</span><span class=\"time\">{}</span><span>{} \
             <span class=\"soft\">{}</span></span>{}<span class=\"took\">{}</span><span class=\"bar \
             {}\"><i style=\"margin-left:{left}%;width:{}%\"></i></span></a></li>\n",
            escaped(&view.clock(&row.timestamp)),
            escaped(words::action(row)),
            escaped(&words::task(row)),
            badge(row),
            words::took(row).unwrap_or_default(),
            class(row),
            percent(end - begin, 100 - left),
            n = row.step_index,
        )
    });
    let items: String = items.collect();
    format!("<nav aria-label=\"Timeline\"><ol>\n{items}</ol></nav>\n")
}

/// When the step began and ended, in milliseconds.
fn ends(row: &Row) -> (i64, i64) {
    let read = |text: &str| Some(text.parse::<Timestamp>().ok()?.as_millisecond());
    let end = read(&row.timestamp).unwrap_or_default();
    (read(&row.started_at).unwrap_or(end).min(end), end)
}
