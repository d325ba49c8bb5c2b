//! Computes which bytes an edit removes and inserts. All other bytes stay.
//!
//! The first line of a new value replaces the old value. Its other lines follow the line on which the old value
//! ended, so that a comment there stays. A value can be written in several ways; the caller checks the result of
//! each.

use std::ops::Range;

use serde_json::Value;

use super::{
    lines::{after, column, line_end, line_start, next_line, starts_line},
    model::{Content, Node, Style},
    place::{After, Seat},
    write::{self, Form, INDENT, indented},
};
use crate::edit::text::{Splice, end_near, with_ends, without_end};

/// Where a new key or item is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    Last,
    /// If the text of the last one ends without a line end, and nothing can follow it.
    BeforeLast,
}

/// The splice that sets a value.
pub(super) fn set(body: &str, seat: &Seat<'_>, value: &Value, form: Form) -> Splice {
    let Seat { lead, start, .. } = *seat;
    let (node, style) = (seat.node, seat.node.style);
    let part = |range: Range<usize>| body.get(range).unwrap_or_default();
    let (old, end) = old(body, seat);
    if seat.after == After::Nothing {
        let gap = match node.is_empty() {
            false => "",
            true if node.anchor > 0 || part(0..start).ends_with(':') => " ",
            true => ": ",
        };
        return (
            start..old,
            format!("{gap}{}", write::text(value, style, Form::Line)),
        );
    }
    let deeper = seat.column + INDENT;
    let is_block = write::is_block(value, style, form);
    let own_line = !node.is_empty() && starts_line(body, start);
    // Only a sequence in block style may be at the column of its key.
    let beside_key = is_block && value.is_array() && seat.after == After::Key;
    let at = match column(body, start) {
        at if !node.is_empty() && (at > seat.column || beside_key) => at,
        _ => deeper,
    };
    let gap = match part(lead..start) {
        "" => " ".to_owned(),
        _ if own_line => part(lead..line_start(body, start)).to_owned() + &" ".repeat(at),
        gap => gap.to_owned(),
    };
    let line_end_here = end_near(body, start);
    let lines = |indent| {
        let text = indented(&write::text(value, style, form), indent);
        with_ends(&text, line_end_here)
    };
    // A comment behind the old value.
    let comment = part(old..line_end(body, old)).trim_end();
    if is_block && !own_line && (seat.after == After::Key || node.anchor > 0) {
        let pad = " ".repeat(deeper);
        let text = format!("{comment}{line_end_here}{pad}{}", lines(deeper));
        return (lead..end, text);
    }
    let text = lines(if is_block { at } else { deeper });
    let (first, more) = text.split_at(text.find(line_end_here).unwrap_or(text.len()));
    // A value beside the key replaces a collection below it, unless there are comments between them.
    let key_end = line_end(body, lead);
    let is_below = own_line && style == Style::Block && !is_block;
    let text = if is_below && part(key_end..start).trim().is_empty() {
        format!(" {first}{}{more}", part(lead..key_end))
    } else {
        format!("{gap}{first}{comment}{more}")
    };
    (lead..end, text)
}

/// Where the old value ends, of a block scalar its header; and where its last line ends.
fn old(body: &str, seat: &Seat<'_>) -> (usize, usize) {
    let (start, end) = (seat.start, line_end(body, seat.end()));
    match seat.node.style {
        Style::Block => (end, end),
        Style::BlockScalar => {
            let sign = |c: char| matches!(c, '|' | '>' | '+' | '-' | '0'..='9');
            let header = body.get(start..).unwrap_or_default();
            let header = header.len() - header.trim_start_matches(sign).len();
            // Blank lines that its text held stay.
            let text = body.get(..end).unwrap_or_default();
            let end = text.trim_end_matches(['\n', '\r']).len();
            (start + header, end.max(line_end(body, start)))
        }
        _ => (seat.end(), end),
    }
}

/// The splices that add a member with this key to a mapping, or an item to a sequence, after `earlier` other new ones.
pub(super) fn add(
    body: &str,
    whole: &Seat<'_>,
    (key, value): (Option<&str>, &Value),
    earlier: usize,
    (form, spot): (Form, Spot),
) -> Vec<Splice> {
    let last = whole.node.parts.len().checked_sub(1);
    let last = last.and_then(|last| whole.part(body, last));
    let Some(last) = last.filter(|_| whole.node.style != Style::Flow) else {
        let member = match key {
            None => write::text(value, Style::Plain, Form::Line),
            Some(_) => write::part(key, value, Form::Line),
        };
        return add_in_flow(body, whole, last, earlier, &member);
    };
    let column = column(body, whole.start);
    let text = indented(&write::part(key, value, form), column);
    let pad = " ".repeat(column);
    let (at, text) = match spot {
        Spot::Last => {
            let end = line_end(body, last.end());
            (end, format!("\n{pad}{text}"))
        }
        Spot::BeforeLast => (last.head, format!("{text}\n{pad}")),
    };
    vec![(at..at, with_ends(&text, end_near(body, at)))]
}

fn add_in_flow(
    body: &str,
    whole: &Seat<'_>,
    last: Option<Seat<'_>>,
    earlier: usize,
    member: &str,
) -> Vec<Splice> {
    let Some(last) = last else {
        let inside = whole.start + 1;
        let padded = body.get(inside..).is_some_and(|it| it.starts_with(' '));
        let gap = match earlier {
            0 if padded => " ",
            0 => "",
            _ => ", ",
        };
        return vec![(inside..inside, format!("{gap}{member}"))];
    };
    let end = last.end();
    if !is_alone(body, &last) {
        return vec![(end..end, format!(", {member}"))];
    }
    let line = line_end(body, end);
    let pad = end_near(body, end).to_owned() + &" ".repeat(column(body, last.head));
    if after(body, end, ',') > end {
        vec![(line..line, format!("{pad}{member},"))]
    } else if earlier > 0 {
        vec![(line..line, format!(",{pad}{member}"))]
    } else {
        let comma = (end..end, ",".to_owned());
        vec![comma, (line..line, format!("{pad}{member}"))]
    }
}

/// Whether nothing else is on the lines of a part in `[]` or `{}`, except for its comma and a comment.
fn is_alone(body: &str, part: &Seat<'_>) -> bool {
    let end = part.end();
    let rest = body.get(end..line_end(body, end)).unwrap_or_default();
    let rest = rest.trim_start_matches([',', ' ', '\t']);
    starts_line(body, part.head) && (rest.is_empty() || rest.starts_with('#'))
}

/// The splices that take a part out of a collection, with its lines and the comment behind it. A collection that loses
/// its only part is written as an empty one.
pub(super) fn remove(body: &str, whole: &Seat<'_>, index: usize) -> Option<Vec<Splice>> {
    let this = whole.part(body, index)?;
    let next = whole.part(body, index + 1);
    let previous = index.checked_sub(1).and_then(|at| whole.part(body, at));
    match (&previous, &next) {
        (None, None) => {
            let empty = match whole.node.content {
                Content::Sequence => Value::Array(Vec::new()),
                _ => Value::Object(serde_json::Map::new()),
            };
            Some(vec![set(body, whole, &empty, Form::Line)])
        }
        _ if whole.node.style == Style::Flow => cut_in_flow(body, &this, previous, next),
        _ => Some(vec![cut_in_block(body, &this, previous, next)?]),
    }
}

fn cut(range: Range<usize>) -> Splice {
    (range, String::new())
}

fn cut_in_block(
    body: &str,
    this: &Seat<'_>,
    previous: Option<Seat<'_>>,
    next: Option<Seat<'_>>,
) -> Option<Splice> {
    let end = line_end(body, this.end());
    if !starts_line(body, this.head) {
        // It starts behind a dash: the next one moves up to its place, unless comments are between them.
        let next = next?.head;
        if body.get(end..next)?.trim().is_empty() {
            return Some(cut(this.head..next));
        }
        let dash = body.get(..this.head)?.trim_end_matches(' ').len();
        return Some(cut(dash..end));
    }
    let start = line_start(body, this.head);
    let after = next_line(body, end);
    let needs_line_end = |previous: Seat<'_>| {
        let Node { content, style, .. } = previous.node.last();
        let is_text = matches!(content, Content::Text(text) if text.ends_with('\n'));
        *style == Style::BlockScalar && is_text
    };
    if after > end || previous.is_some_and(needs_line_end) {
        return Some(cut(start..after));
    }
    // The file ends without a line end, and stays so.
    Some(cut(without_end(body.get(..start)?).len()..end))
}

fn cut_in_flow(
    body: &str,
    this: &Seat<'_>,
    previous: Option<Seat<'_>>,
    next: Option<Seat<'_>>,
) -> Option<Vec<Splice>> {
    let end = this.end();
    let comma = after(body, end, ',');
    if is_alone(body, this) {
        let lines = cut(line_start(body, this.head)..next_line(body, line_end(body, end)));
        if comma > end {
            return Some(vec![lines]);
        }
        let previous = previous?.end();
        return Some(vec![cut(previous..after(body, previous, ',')), lines]);
    }
    if next.is_none() {
        return Some(vec![cut(previous?.end()..end)]);
    }
    let blanks = body.get(comma..)?;
    let blanks = blanks.len() - blanks.trim_start_matches(' ').len();
    Some(vec![cut(this.head..comma + blanks)])
}
