//! Computes which bytes an edit removes and inserts. All other bytes stay.
//!
//! The first line of a new value replaces the old value. Its other lines follow the line on which the old value
//! ended, so that a comment there stays. A value can be written in several ways; the caller checks the result of
//! each.

use std::ops::Range;

use serde_json::Value;

use super::{
    lines::{column, line_end, line_start, starts_line},
    model::{Content, Node, Style},
    place::{After, Seat},
    write::{self, Form, INDENT},
};
use crate::edit::text::{Splice, end_near, with_ends};

/// Where a new key is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// After the last member.
    After,
    /// After the blank lines that belong to the text of the last member.
    AfterBlanks,
    /// Before the last member, if its text ends without a line end and nothing can follow it.
    BeforeLast,
}

/// The splices that set a value; `None` if the value cannot be written in that form.
pub(super) fn set(body: &str, seat: &Seat<'_>, value: &Value, form: Form) -> Option<Vec<Splice>> {
    let node = seat.node;
    if seat.after == After::Flow {
        let line = (form == Form::Line).then(|| write::flow(value, node.style))?;
        let colon = body.get(..seat.start)?.ends_with(':');
        let (range, gap) = match (node.is_empty(), node.anchor) {
            (false, _) => (node.span.clone(), ""),
            (true, 0) if colon => (seat.start..seat.start, " "),
            (true, 0) => (seat.start..seat.start, ": "),
            (true, _) => (node.span.clone(), " "),
        };
        return Some(ended(body, seat.start, [(range, format!("{gap}{line}"))]));
    }
    let deeper = seat.column + INDENT;
    let text = Text::of(value, node.style, deeper, form)?;
    let old = Old::of(body, seat);
    let in_place = old.starts_line || (seat.after == After::Dash && node.anchor == 0);
    let column = if node.is_empty() {
        deeper
    } else {
        column(body, seat.start)
    };
    // Only a sequence in block style may be at the column of its key.
    let is_sequence = matches!(text, Text::Block(value) if value.is_array());
    let fits =
        column > seat.column || (column == seat.column && seat.after == After::Key && is_sequence);
    let (start, column, pad) = match (fits, old.starts_line) {
        (false, true) => (line_start(body, seat.start), deeper, " ".repeat(deeper)),
        _ => (seat.start, column, String::new()),
    };
    let (first, more) = match text {
        Text::Block(value) if in_place => {
            let text = write::block(value, column, form);
            let (first, more) = cut(&text);
            let gap = if start == seat.lead { " " } else { "" };
            let first = (start..old.first.end, format!("{gap}{pad}{first}"));
            (first, (old.more.clone(), more.to_owned()))
        }
        Text::Block(value) => {
            let start = body.get(..seat.start)?.trim_end_matches(' ').len();
            let text = format!(
                "\n{}{}",
                " ".repeat(deeper),
                write::block(value, deeper, form)
            );
            (
                (start..old.first.end, String::new()),
                (old.more.clone(), text),
            )
        }
        Text::Written(text) => {
            let (first, more) = cut(&text);
            // A value beside the key replaces a collection below it, unless there are comments between them.
            let beside = old.starts_line && node.style == Style::Block && {
                let between = line_end(body, seat.lead)..line_start(body, seat.start);
                body.get(between).unwrap_or_default().trim().is_empty()
            };
            let at = seat.lead..seat.lead;
            let (first_at, pad, more_at) = if beside {
                let below = line_end(body, seat.lead)..old.first.end;
                (at, String::new(), below)
            } else {
                (start..old.first.end, pad, old.more.clone())
            };
            let gap = if first_at.start == seat.lead { " " } else { "" };
            (
                (first_at, format!("{gap}{pad}{first}")),
                (more_at, more.to_owned()),
            )
        }
    };
    Some(ended(body, seat.start, [first, more]))
}

/// The splices that add a member with this key to a mapping, or an item to a sequence, after `earlier` other new ones;
/// `None` if it cannot be written in that form or there.
pub(super) fn add(
    body: &str,
    whole: &Seat<'_>,
    key: Option<&str>,
    earlier: usize,
    value: &Value,
    (form, spot): (Form, Spot),
) -> Option<Vec<Splice>> {
    let ((Content::Members(parts), Some(_)) | (Content::Items(parts), None)) =
        (&whole.node.content, key)
    else {
        return None;
    };
    // Where the last one starts, and its value.
    let last = parts.last().map(|last| (last.start(), &last.value));
    let name = key.map(write::name);
    if whole.node.style == Style::Flow {
        let wanted = form == Form::Line && spot == Spot::After;
        let value = write::flow(value, Style::Plain);
        let member = name.map_or_else(|| value.clone(), |name| format!("{name}: {value}"));
        return wanted.then(|| add_in_flow(body, whole, last, earlier, &member))?;
    }
    let (last_start, last_value) = last?;
    let column = column(body, whole.start);
    let deeper = column + INDENT;
    let member = match (Text::of(value, Style::Plain, deeper, form)?, name) {
        (Text::Written(text), Some(name)) => format!("{name}: {text}"),
        (Text::Written(text), None) => format!("- {text}"),
        (Text::Block(value), Some(name)) => {
            let (pad, text) = (" ".repeat(deeper), write::block(value, deeper, form));
            format!("{name}:\n{pad}{text}")
        }
        (Text::Block(value), None) => format!("- {}", write::block(value, deeper, form)),
    };
    let pad = " ".repeat(column);
    let (at, text) = match spot {
        Spot::After => {
            let end = line_end(body, last_value.end(body));
            (end, format!("\n{pad}{member}"))
        }
        Spot::AfterBlanks => {
            let end = line_start(body, last_value.last().span.end);
            (end, format!("{pad}{member}\n"))
        }
        Spot::BeforeLast => {
            let start = match parts.len() {
                1 => whole.start,
                _ => last_start,
            };
            (start, format!("{member}\n{pad}"))
        }
    };
    Some(ended(body, at, [(at..at, text)]))
}

fn add_in_flow(
    body: &str,
    whole: &Seat<'_>,
    last: Option<(usize, &Node)>,
    earlier: usize,
    member: &str,
) -> Option<Vec<Splice>> {
    let Some((start, value)) = last else {
        let inside = whole.start + 1;
        let spaces = body.get(inside..)?.find(|c| c != ' ')?;
        let gap = match (earlier, spaces) {
            (0, 0) => "",
            (0, _) => " ",
            _ => ", ",
        };
        let text = format!("{gap}{member}");
        return Some(ended(body, inside, [(inside..inside, text)]));
    };
    let end = value.span.end;
    let line = line_end(body, end);
    let rest = body.get(end..line)?.trim_start();
    let comma = rest.starts_with(',');
    let after = rest.trim_start_matches(',').trim_start();
    let splices = if starts_line(body, start) && (after.is_empty() || after.starts_with('#')) {
        let pad = " ".repeat(column(body, start));
        if comma {
            vec![(line..line, format!("\n{pad}{member},"))]
        } else if earlier > 0 {
            vec![(line..line, format!(",\n{pad}{member}"))]
        } else {
            let text = format!("\n{pad}{member}");
            vec![(end..end, ",".to_owned()), (line..line, text)]
        }
    } else {
        vec![(end..end, format!(", {member}"))]
    };
    Some(ended(body, end, splices))
}

/// The text of a value, before its place is known.
enum Text<'a> {
    Written(String),
    Block(&'a Value),
}

impl<'a> Text<'a> {
    fn of(value: &'a Value, old: Style, indent: usize, form: Form) -> Option<Self> {
        match (form, value) {
            (Form::Line, _) => Some(Self::Written(write::flow(value, old))),
            (Form::Lines, Value::String(text)) => write::literal(text, indent).map(Self::Written),
            _ if old != Style::Flow && !write::is_flow(value) => Some(Self::Block(value)),
            _ => None,
        }
    }
}

/// The bytes of an old value.
struct Old {
    /// What the first line of the new one replaces.
    first: Range<usize>,
    /// What its other lines replace.
    more: Range<usize>,
    starts_line: bool,
}

impl Old {
    fn of(body: &str, seat: &Seat<'_>) -> Self {
        let (node, start) = (seat.node, seat.start);
        let (end, more) = match node.style {
            _ if node.is_empty() => {
                let line = line_end(body, start);
                let blank = body.get(start..line).unwrap_or_default().trim().is_empty();
                (if blank { line } else { start }, line..line)
            }
            Style::Block => {
                let end = line_end(body, node.end(body));
                (end, end..end)
            }
            Style::BlockScalar => {
                let header = body.get(start..).unwrap_or_default();
                let sign = |c: char| !matches!(c, '|' | '>' | '+' | '-' | '0'..='9');
                let line = line_end(body, start);
                let end = start + header.find(sign).unwrap_or(header.len());
                (end, line..node.end(body).max(line))
            }
            _ => {
                let line = line_end(body, node.span.end);
                (node.span.end, line..line)
            }
        };
        Self {
            first: start..end,
            more,
            starts_line: !node.is_empty() && starts_line(body, start),
        }
    }
}

/// The first line, and the others with the line ends before them.
fn cut(text: &str) -> (&str, &str) {
    text.split_at(text.find('\n').unwrap_or(text.len()))
}

/// The splices, with the line ends of the neighbouring line.
pub(super) fn ended(
    body: &str,
    near: usize,
    splices: impl IntoIterator<Item = Splice>,
) -> Vec<Splice> {
    let end = end_near(body, near);
    let splices = splices.into_iter();
    splices
        .map(|(range, text)| (range, with_ends(&text, end)))
        .collect()
}
