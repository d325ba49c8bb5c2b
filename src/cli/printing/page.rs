//! A session as one self-contained web page, without scripts and requests. Foreign text is always escaped.

mod parts;
mod plan;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    envelope::{OldAnswer, read_response},
    people::{Exhibit, Made, Page, Reason, Room, Row, RowOutcome, RowState, Shown, Whole, exhibit},
    task::{Sight, Still},
};

use super::{Desk, plan::Told, size, task, words};

use parts::{block, document, escaped, list, pretty};
use plan::Depth;
pub(in crate::cli) use plan::plan_page;

/// The limits for one exhibit and for all of them, in bytes before base64.
const ROOM: Room = Room {
    each: 20_000_000,
    left: 100_000_000,
};

/// The most lines of diffs on a page.
pub(in crate::cli) const LINES: usize = 50_000;

/// What the page has room for.
struct Left {
    exhibits: Room,
    lines: usize,
}

pub(in crate::cli) fn page(page: &Page, whole: &[Whole], desk: &Desk) -> String {
    let title = escaped(&page.session_id);
    let mut left = Left {
        exhibits: ROOM,
        lines: LINES,
    };
    let sections: Vec<String> = whole
        .iter()
        .map(|whole| section(whole, desk, &mut left))
        .collect();
    let main = timeline(page, desk) + &sections.concat();
    let from = "written from the ledger; no tool was called for this page";
    document(&title, &header(page, desk), &main, from)
}

fn header(page: &Page, desk: &Desk) -> String {
    let mut facts = Vec::new();
    if let Some(opened) = &page.opened {
        facts.extend(
            [&opened.profile, &opened.context, &opened.principal].map(|fact| escaped(fact)),
        );
        facts.push(escaped(&desk.date(&opened.opened_at)));
    }
    facts.push(match page.count {
        1 => "1 step".to_owned(),
        count => format!("{count} steps"),
    });
    let count = |fits: fn(&Row) -> bool| page.steps.iter().filter(|step| fits(&step.row)).count();
    let failed =
        |row: &Row| row.outcome == RowOutcome::Error && row.state != Some(RowState::Pending);
    let counts = [
        (count(failed), "bad", "failed"),
        (
            count(words::is_old_answer),
            "again",
            "answered from the ledger",
        ),
        (page.waiting(), "wait", "waiting"),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    facts.extend(
        counts.map(|(count, class, what)| format!("<span class=\"{class}\">{count} {what}</span>")),
    );
    format!(
        "<header>\n<h1>{}</h1>\n<p class=\"facts\">{}</p>\n</header>\n",
        escaped(&page.session_id),
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

fn section(whole: &Whole, desk: &Desk, left: &mut Left) -> String {
    let row = &whole.step.row;
    let answer = row.response.as_deref().and_then(read_response);
    format!(
        "<section id=\"step-{n}\">\n<h2><span class=\"soft\">#{n}</span> {} {} <span \
         class=\"soft\">{}</span></h2>\n<p class=\"soft\">{}</p>\n<h3>Asked</h3>\n{}<h3>Decided</h3>\n{}<h3>Answered</h3>\n{}</section>\n",
        escaped(row.action_type.as_deref().unwrap_or("–")),
        badge(row),
        escaped(&task(&whole.step)),
        about(row, answer.as_ref(), desk),
        asked(row),
        decided(whole, desk),
        answered(whole, answer.as_ref(), desk, left),
        n = row.step_index,
    )
}

fn about(row: &Row, answer: Option<&OldAnswer>, desk: &Desk) -> String {
    let mut parts = vec![escaped(&desk.date(&row.timestamp))];
    parts.extend(words::took(row));
    parts.extend(words::calls(answer).iter().map(|call| escaped(call)));
    if !row.operation_id.is_empty() {
        parts.push(format!("<code>{}</code>", escaped(&row.operation_id)));
    }
    parts.join(" · ")
}

fn asked(row: &Row) -> String {
    let Some(text) = &row.request else {
        return "<p class=\"soft\">The request is no longer in the ledger.</p>\n".to_owned();
    };
    let Ok(request) = serde_json::from_str::<Value>(text) else {
        return block(text);
    };
    let args = request.get("args").and_then(Value::as_object);
    let mut facts: Vec<(String, String)> = Vec::new();
    let action = request.pointer("/context/action").and_then(Value::as_str);
    if let Some(action) = action.filter(|action| !action.is_empty()) {
        facts.push(("action text".to_owned(), escaped(action)));
    }
    let inputs = request.pointer("/context/inputs").and_then(Value::as_array);
    let inputs: Vec<(&str, &str)> = inputs
        .into_iter()
        .flatten()
        .filter_map(|input| {
            Some((
                input.get("ref_id")?.as_str()?,
                input.get("storage_uri")?.as_str()?,
            ))
        })
        .collect();
    let mut named = Vec::new();
    for (name, value) in args.into_iter().flatten() {
        let from = inputs.iter().find(|(_, uri)| value.as_str() == Some(uri));
        let shown = match value {
            Value::String(text) => escaped(text),
            Value::Array(_) | Value::Object(_) => block(&pretty(value)),
            other => escaped(&other.to_string()),
        };
        let from = from.map(|(id, _)| {
            named.push(*id);
            format!(" <span class=\"soft\">from {}</span>", escaped(id))
        });
        facts.push((escaped(name), shown + &from.unwrap_or_default()));
    }
    let others = inputs.iter().filter(|(id, _)| !named.contains(id));
    facts.extend(others.map(|(id, uri)| (escaped(id), escaped(uri))));
    if let Some(adjusted) = words::adjusted(row) {
        facts.push(("this attempt".to_owned(), escaped(&adjusted)));
    }
    let list = list(&facts);
    format!(
        "{list}<details><summary>The whole request</summary>{}</details>\n",
        block(&pretty(&request))
    )
}

fn decided(whole: &Whole, desk: &Desk) -> String {
    let row = &whole.step.row;
    let decision = &whole.decision;
    let ran = match &decision.reason {
        Reason::Ran(_) | Reason::Other(_) => "Performed",
        Reason::Answered(_) => "Not performed",
        Reason::History => "Unknown",
    };
    let about = decision.about.as_ref().map(|row| {
        let n = row.step_index;
        format!(" (<a href=\"#step-{n}\">#{n}</a>)")
    });
    let reason = escaped(&words::reason(decision));
    let differences = decision.differences.iter();
    let differences = differences.map(|difference| {
        let what = escaped(&difference.what);
        (what, escaped(&words::difference(difference)))
    });
    let hash = match row.request_hash.as_str() {
        "" => String::new(),
        hash => format!("<code>{}</code>", escaped(hash)),
    };
    let links = whole.links.iter();
    let links = links.map(|link| format!("{} {}", escaped(&link.event), link.seq));
    let again = whole.again.iter();
    let again = again.map(|n| format!("<a href=\"#step-{n}\">#{n}</a>"));
    let revoked = row.revoked_by;
    let revoked = revoked.map(|seq| format!("<span class=\"bad\">by link {seq}</span>"));
    let review = whole.step.review.as_ref();
    let review = review.map(|review| escaped(&words::review(review, |at| desk.date(at))));
    let facts = [
        ("request hash", hash),
        ("ledger", links.collect::<Vec<_>>().join(" → ")),
        ("returned again to", again.collect::<Vec<_>>().join(", ")),
        ("revoked", revoked.unwrap_or_default()),
        ("review", review.unwrap_or_default()),
    ];
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    let facts: Vec<_> = differences.chain(facts).collect();
    format!(
        "<p>{ran}: {reason}{}.</p>\n{}",
        about.unwrap_or_default(),
        list(&facts)
    )
}

fn answered(whole: &Whole, answer: Option<&OldAnswer>, desk: &Desk, left: &mut Left) -> String {
    let row = &whole.step.row;
    let mut parts = Vec::new();
    if let Some(failure) = answer.and_then(|answer| answer.failure.as_ref()) {
        let again = if failure.recoverable {
            "can be sent again"
        } else {
            "do not send it again"
        };
        parts.push(format!(
            "<div class=\"failure\"><p><strong>{}</strong> <span class=\"soft\">· {again}</span></p><p>{}</p></div>\n",
            failure.fault.name(),
            escaped(&failure.message)
        ));
    }
    // Anyone who can write to the ledger can add an unsealed row, which could name any file of this user.
    if whole.sealed {
        if let Some(report) = answer.and_then(|answer| answer.execution_report.as_ref()) {
            // The diffs of a plan show its files, without their credentials.
            let told = Told::of(report, &mut left.lines, &desk.project, &desk.host);
            parts.push(plan::parts(&told, Depth::Step(row.step_index)));
        } else {
            let made = row.made();
            let figures = made
                .iter()
                .map(|made| figure(made, desk, &mut left.exhibits));
            parts.extend(figures);
        }
    } else if row.state.is_some() || row.output_ids.is_some() {
        parts.push(
            "<p class=\"bad\">No link of the ledger seals this answer, so its outputs are not shown. Another program \
             may have added or changed it; see <code>oneact verify</code>.</p>\n"
                .to_owned(),
        );
    }
    if let Some(data) = answer.and_then(|answer| answer.result_data.as_ref()) {
        parts.push(block(&pretty(data)));
    }
    let whole = row.response.as_ref().map(|response| {
        let shown = serde_json::from_str::<Value>(response);
        let shown = shown.map_or_else(|_| response.clone(), |value| pretty(&value));
        let shown = block(&shown);
        format!("<details><summary>The whole answer</summary>{shown}</details>\n")
    });
    parts.push(whole.unwrap_or_else(|| {
        "<p class=\"soft\">The answer is no longer in the ledger.</p>\n".to_owned()
    }));
    parts.concat()
}

/// An output: media to play or show, or a link to it.
fn figure(made: &Made, desk: &Desk, room: &mut Room) -> String {
    let Exhibit { still, shown, link } = exhibit(made, &desk.project.root, room, &|| {
        desk.host.interrupts().caught().is_none()
    });
    let name = escaped(&made.ref_id);
    let inside = match shown {
        Shown::Media { media_type, bytes } => {
            let source = format!("data:{media_type};base64,{}", STANDARD.encode(bytes));
            match media_type.split('/').next() {
                Some("audio") => {
                    format!("<audio controls preload=\"metadata\" src=\"{source}\"></audio>")
                }
                Some("video") => {
                    format!("<video controls preload=\"metadata\" src=\"{source}\"></video>")
                }
                _ => format!("<img alt=\"{name}\" src=\"{source}\">"),
            }
        }
        Shown::Words(words) => block(&words),
        Shown::TooLarge => "<p class=\"soft\">Too large to be shown here.</p>".to_owned(),
        Shown::Nothing => String::new(),
    };
    let place = escaped(&made.storage_uri);
    let place = match link {
        Some(link) => format!("<a href=\"{}\">{place}</a>", escaped(&link)),
        None => place,
    };
    let weight = match &made.print.sight {
        Sight::Content(content) => format!(" · {}", size(content.bytes)),
        Sight::Object(object) => format!(" · {}", size(object.bytes)),
        Sight::Absent | Sight::Unknown => String::new(),
    };
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
fn timeline(page: &Page, desk: &Desk) -> String {
    if page.steps.is_empty() {
        return "<p>This session has no steps yet.</p>\n".to_owned();
    }
    let span = Span::of(page);
    let items = page.steps.iter().map(|step| {
        let row = &step.row;
        let (left, wide) = span.place(row);
        let action = escaped(row.action_type.as_deref().unwrap_or("–"));
        let took = words::took(row).unwrap_or_default();
        format!(
            "<li><a href=\"#step-{n}\"><span class=\"number\">{n}</span><span class=\"time\">{}</span><span>{action} \
             <span class=\"soft\">{}</span></span>{}<span class=\"took\">{took}</span><span class=\"bar \
             {}\"><i style=\"margin-left:{left}%;width:{wide}%\"></i></span></a></li>\n",
            escaped(&desk.clock(&row.timestamp)),
            escaped(&task(step)),
            badge(row),
            class(row),
            n = row.step_index,
        )
    });
    format!(
        "<nav aria-label=\"Timeline\"><ol>\n{}</ol></nav>\n",
        items.collect::<String>()
    )
}

/// The time from the start of the first step to the end of the last, in milliseconds.
struct Span {
    from: i64,
    long: i64,
}

impl Span {
    fn of(page: &Page) -> Self {
        let rows = || page.steps.iter().map(|step| ends(&step.row));
        let from = rows().map(|(begin, _)| begin).min().unwrap_or_default();
        let to = rows().map(|(_, end)| end).max().unwrap_or_default();
        Self {
            from,
            long: (to - from).max(1),
        }
    }

    /// The left edge and the width of a step's bar, in percent.
    fn place(&self, row: &Row) -> (i64, i64) {
        let (begin, end) = ends(row);
        let left = ((begin - self.from) * 100 / self.long).clamp(0, 99);
        let wide = ((end - begin) * 100 / self.long).clamp(0, 100 - left);
        (left, wide)
    }
}

fn ends(row: &Row) -> (i64, i64) {
    let read = |text: &str| {
        text.parse::<Timestamp>()
            .ok()
            .map(Timestamp::as_millisecond)
    };
    let end = read(&row.timestamp).unwrap_or_default();
    (read(&row.started_at).unwrap_or(end).min(end), end)
}
