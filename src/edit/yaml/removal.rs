//! `yaml_remove`: takes a member or an item out, with the lines and the trailing comment that are its own.

use serde_json::Value;

use super::{
    lines::{line_end, line_start, starts_line},
    model::{Content, Node, Style, after},
    place::{After, Place, Seat},
    splice,
    write::Form,
};
use crate::edit::{JsonPath, text::Splice};

/// The ways in which the bytes of the place can be cut, the best first.
pub(super) fn ways(body: &str, root: &Node, path: &JsonPath) -> Vec<Vec<Splice>> {
    let whole = path.first(path.steps().len().saturating_sub(1));
    let Ok(Place::There(whole)) = Place::of(body, root, &whole) else {
        return Vec::new();
    };
    let last = path.steps().last();
    let Some(index) = last.and_then(|step| whole.node.index(step)) else {
        return Vec::new();
    };
    if whole.node.parts().len() == 1 {
        return emptied(body, &whole).into_iter().collect();
    }
    let part = |index: usize| part(body, &whole, index);
    let (Some(this), next) = (part(index), part(index + 1)) else {
        return Vec::new();
    };
    let previous = index.checked_sub(1).and_then(part);
    let cuts = if whole.node.style == Style::Flow {
        vec![in_flow(body, &whole, &this, previous.as_ref())]
    } else {
        in_block(body, &this, next.as_ref())
    };
    let splice = |range| (range, String::new());
    let ways = cuts
        .into_iter()
        .map(|cuts| cuts.into_iter().map(splice).collect());
    ways.collect()
}

/// Writes an empty collection in place of one that loses its only child.
fn emptied(body: &str, whole: &Seat<'_>) -> Option<Vec<Splice>> {
    let (empty, text) = match whole.node.content {
        Content::Items(_) => (Value::Array(Vec::new()), "[]"),
        _ => (Value::Object(serde_json::Map::new()), "{}"),
    };
    if whole.after != After::Nothing {
        return splice::set(body, whole, &empty, Form::Line);
    }
    let end = whole.node.end(body);
    let end = match whole.node.style {
        Style::Block => line_end(body, end),
        _ => end,
    };
    Some(vec![(whole.start..end, text.to_owned())])
}

type Range = std::ops::Range<usize>;

/// The bytes of a child: from its key or its dash to the end of its value.
fn part(body: &str, whole: &Seat<'_>, index: usize) -> Option<Range> {
    let part = whole.node.parts().get(index)?;
    let (start, least) = match &part.key {
        Some(key) => (key.span.start, key.span.end),
        None if whole.node.style == Style::Flow => return Some(part.value.span.clone()),
        None => {
            let end = whole.after_dash(body, index)?;
            (end - 1, end)
        }
    };
    Some(start..part.value.end(body).max(least))
}

/// The cuts in block style. Its lines are cut; if it starts behind a dash, the next one moves up to its place.
fn in_block(body: &str, this: &Range, next: Option<&Range>) -> Vec<Vec<Range>> {
    if !starts_line(body, this.start) {
        let next = next.map(|next| this.start..next.start);
        return next.into_iter().map(|cut| vec![cut]).collect();
    }
    let lines = line_start(body, this.start)..line_end(body, this.end);
    let after = with_end(body, lines.end);
    if after > lines.end {
        return vec![vec![lines.start..after]];
    }
    // The file ends without a line end, and stays so, unless the line before it needs its line end.
    let before = body.get(..lines.start).unwrap_or_default();
    let before = before.strip_suffix('\n').unwrap_or(before);
    let before = before.strip_suffix('\r').unwrap_or(before).len();
    vec![vec![before..lines.end], vec![lines]]
}

/// The end of the line that ends here, with its line end.
fn with_end(body: &str, at: usize) -> usize {
    let rest = body.get(at..).unwrap_or_default();
    let end = ["\r\n", "\n", "\r"]
        .iter()
        .find(|end| rest.starts_with(**end));
    at + end.map_or(0, |end| end.len())
}

/// The cuts in `[]` or `{}`: with the comma after it, or the one before it.
fn in_flow(body: &str, whole: &Seat<'_>, this: &Range, previous: Option<&Range>) -> Vec<Range> {
    let comma = |at: usize| after(body, at, ',');
    let lead = previous.map_or(Some(whole.start + 1), |previous| comma(previous.end));
    let lead = lead.unwrap_or(this.start);
    let own = comma(this.end);
    let end = own.unwrap_or(this.end);
    let lost = match (own, previous) {
        (None, Some(previous)) => Some(previous.end..lead),
        _ => None,
    };
    let line = line_end(body, end);
    let rest = body.get(end..line).unwrap_or_default().trim_start();
    let between = body.get(lead..this.start).unwrap_or_default();
    if starts_line(body, this.start)
        && between.contains(['\n', '\r'])
        && (rest.is_empty() || rest.starts_with('#'))
    {
        let lines = line_start(body, this.start)..with_end(body, line);
        return lost.into_iter().chain([lines]).collect();
    }
    let blanks = |at: usize| {
        let rest = body.get(at..).unwrap_or_default();
        at + rest.len() - rest.trim_start_matches(' ').len()
    };
    let cut = match lost {
        Some(lost) => lost.start..end,
        // The first one leaves no gap after the bracket.
        None if previous.is_none() => blanks(lead)..blanks(end),
        None => lead..end,
    };
    vec![cut]
}

/// Takes the place out of the tree.
pub(super) fn take_out(root: &mut Node, path: &JsonPath) {
    if let Some((step, whole)) = path.steps().split_last()
        && let Some(whole) = root.at_mut(whole)
        && let Some(index) = whole.index(step)
        && let Some(parts) = whole.parts_mut()
    {
        parts.remove(index);
    }
}

/// Numbers the anchors again from 1, in the order of the text, and their aliases with them.
pub(super) fn count_again(documents: &mut [Node]) {
    let mut numbers = std::collections::HashMap::new();
    for document in documents {
        document.each_mut(&mut |node| {
            let next = numbers.len() + 1;
            if node.anchor > 0 {
                node.anchor = *numbers.entry(node.anchor).or_insert(next);
            }
            if let Content::Alias(to) = &mut node.content {
                *to = numbers.get(to).copied().unwrap_or_default();
            }
        });
    }
}
