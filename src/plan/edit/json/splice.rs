//! Where bytes are cut and put in.

use std::ops::Range;

use jsonc_parser::{
    ast::{Array, Object, Value as Node},
    common::Ranged,
};
use serde_json::Value;

use super::{
    document::comment_length,
    write::{Shape, Style},
};
use crate::plan::edit::text::end_near;

/// These bytes become this text.
#[derive(Debug)]
pub(super) struct Splice {
    range: Range<usize>,
    text: String,
}

impl Splice {
    fn cut(range: Range<usize>) -> Self {
        let text = String::new();
        Self { range, text }
    }

    fn put(at: usize, text: String) -> Self {
        let range = at..at;
        Self { range, text }
    }
}

/// Makes the splices, which are in order and do not overlap.
pub(super) fn apply(body: &str, splices: &[Splice]) -> String {
    let mut after = String::with_capacity(body.len());
    let mut done = 0;
    for splice in splices {
        after.push_str(body.get(done..splice.range.start).unwrap_or_default());
        after.push_str(&splice.text);
        done = splice.range.end;
    }
    after.push_str(body.get(done..).unwrap_or_default());
    after
}

/// An object or array: where it, and each of its members or items, is.
pub(super) struct Container<'b> {
    body: &'b str,
    pub(super) start: usize,
    end: usize,
    pub(super) items: Vec<Range<usize>>,
}

impl<'b> Container<'b> {
    pub(super) fn of(body: &'b str, node: &Node<'_>) -> Option<Self> {
        match node {
            Node::Object(object) => Some(Self::of_object(body, object)),
            Node::Array(array) => Some(Self::of_array(body, array)),
            _ => None,
        }
    }

    pub(super) fn of_object(body: &'b str, object: &Object<'_>) -> Self {
        let items = object.properties.iter().map(bytes);
        Self::new(body, object, items.collect())
    }

    pub(super) fn of_array(body: &'b str, array: &Array<'_>) -> Self {
        let items = array.elements.iter().map(bytes);
        Self::new(body, array, items.collect())
    }

    fn new(body: &'b str, node: &impl Ranged, items: Vec<Range<usize>>) -> Self {
        let Range { start, end } = bytes(node);
        Self {
            body,
            start,
            end,
            items,
        }
    }

    fn text(&self, range: Range<usize>) -> &'b str {
        self.body.get(range).unwrap_or_default()
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text(0..at);
        before.rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The blanks at the start of the line that holds this byte.
    pub(super) fn indent(&self, at: usize) -> &'b str {
        let line = self.text(self.line_start(at)..self.body.len());
        let end = line.find(|c| !matches!(c, ' ' | '\t'));
        line.get(..end.unwrap_or(line.len())).unwrap_or_default()
    }

    /// Whether nothing but blanks is before it on its line.
    pub(super) fn on_own_line(&self, at: usize) -> bool {
        let before = self.text(self.start..at);
        let blanks = before.trim_end_matches([' ', '\t', '\r', '\n']).len();
        before
            .get(blanks..)
            .is_some_and(|blanks| blanks.contains('\n'))
    }

    /// The end of the comments that follow on the same line, if the line ends with them.
    fn end_of_line(&self, from: usize) -> Option<usize> {
        let (mut at, mut end) = (from, from);
        loop {
            let rest = self.text(at..self.body.len());
            let comment = comment_length(rest.as_bytes());
            if comment > 0 {
                at += comment;
                end = at;
            } else if rest.starts_with([' ', '\t']) {
                at += 1;
            } else {
                let ends = rest.starts_with('\n') || rest.starts_with("\r\n");
                return (ends && !self.text(from..end).contains('\n')).then_some(end);
            }
        }
    }

    /// The comma after this byte, if it comes before anything but blanks and comments.
    fn comma(&self, mut at: usize) -> Option<usize> {
        loop {
            let rest = self.text(at..self.end);
            let comment = comment_length(rest.as_bytes());
            match rest.chars().next() {
                Some(',') => return Some(at),
                Some(' ' | '\t' | '\r' | '\n') => at += 1,
                _ if comment > 0 => at += comment,
                _ => return None,
            }
        }
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        self.text(range).trim().is_empty()
    }
}

fn bytes(node: &impl Ranged) -> Range<usize> {
    let range = node.range();
    range.start..range.end
}

/// A new member at the end of an object.
pub(super) fn add(object: &Container<'_>, style: &Style, key: &str, value: &Value) -> Vec<Splice> {
    let Some(last) = object.items.last() else {
        return open(object, style, key, value);
    };
    let comma = object.comma(last.end);
    let after = comma.map_or(last.end, |comma| comma + 1);
    let (before, behind) = match comma {
        None => (Some(Splice::put(last.end, ",".to_owned())), ""),
        Some(_) => (None, ","),
    };
    let (at, lead, member) = if object.on_own_line(last.start) {
        let indent = object.indent(last.start);
        let end = end_near(object.body, last.end);
        let shape = Shape::Lines(indent.to_owned());
        let at = object.end_of_line(after).unwrap_or(after);
        let lead = [end, indent].concat();
        (at, lead, style.member(key, value, &shape, end))
    } else {
        let lead = style.gap().to_owned();
        (after, lead, style.member(key, value, &Shape::Line, ""))
    };
    let put = Splice::put(at, [&lead, &member, behind].concat());
    before.into_iter().chain([put]).collect()
}

/// The first member of an object, which may hold comments.
fn open(object: &Container<'_>, style: &Style, key: &str, value: &Value) -> Vec<Splice> {
    let inside = object.start + 1..object.end - 1;
    let text = object.text(inside.clone());
    let kept = inside.start + text.trim_end().len();
    if style.opened == Shape::Line && !text.contains('\n') {
        let member = style.member(key, value, &Shape::Line, "");
        let text = if kept > inside.start {
            [" ", &member].concat()
        } else {
            member
        };
        let range = kept..inside.end;
        return vec![Splice { range, text }];
    }
    let outer = object.indent(object.start);
    let inner = style.deeper(outer);
    let end = end_near(object.body, object.start);
    let member = style.member(key, value, &Shape::Lines(inner.clone()), end);
    let text = if object.text(kept..inside.end).contains('\n') && kept > inside.start {
        return vec![Splice::put(kept, [end, &inner, &member].concat())];
    } else {
        [end, &inner, &member, end, outer].concat()
    };
    let range = kept..inside.end;
    vec![Splice { range, text }]
}

/// Takes the item of that index away, with one comma.
pub(super) fn remove(container: &Container<'_>, index: usize) -> Vec<Splice> {
    let Some(item) = container.items.get(index).cloned() else {
        return Vec::new();
    };
    let comma = container.comma(item.end);
    let after = comma.map_or(item.end, |comma| comma + 1);
    let previous = index
        .checked_sub(1)
        .and_then(|index| container.items.get(index));
    let inside = container.start + 1..container.end - 1;
    if container.items.len() == 1
        && container.is_blank(inside.start..item.start)
        && container.is_blank(after..inside.end)
        && container.is_blank(item.end..comma.unwrap_or(item.end))
    {
        return vec![Splice::cut(inside)];
    }
    // The last of several takes the comma before it, any other the one after it.
    let lost = match (comma, previous) {
        (None, Some(previous)) => container.comma(previous.end),
        _ => None,
    };
    let lost_comma = lost.map(|at| Splice::cut(at..at + 1));
    let tight = container.is_blank(item.end..comma.unwrap_or(item.end));
    if container.on_own_line(item.start)
        && tight
        && let Some(end) = container.end_of_line(after)
    {
        let rest = container.text(end..container.body.len());
        let newline = rest.find('\n').map_or(0, |newline| newline + 1);
        let line = container.line_start(item.start)..end + newline;
        return lost_comma.into_iter().chain([Splice::cut(line)]).collect();
    }
    if let (Some(at), Some(previous)) = (lost, previous)
        && container.is_blank(at + 1..item.start)
    {
        let start = if container.is_blank(previous.end..at) {
            previous.end
        } else {
            at
        };
        return vec![Splice::cut(start..item.end)];
    }
    if !tight {
        let own = comma.map(|at| Splice::cut(at..at + 1));
        let cut = Splice::cut(item);
        return lost_comma.into_iter().chain([cut]).chain(own).collect();
    }
    let gap = container.text(after..container.end);
    let blanks = gap.len() - gap.trim_start_matches([' ', '\t']).len();
    let blanks = match comma {
        Some(_) if index + 1 < container.items.len() => blanks,
        _ => 0,
    };
    let cut = Splice::cut(item.start..after + blanks);
    lost_comma.into_iter().chain([cut]).collect()
}

/// Another value in the place of this one, written as the old one was, or as its parent is.
pub(super) fn update(
    body: &str,
    node: &Node<'_>,
    parent: Option<&Container<'_>>,
    style: &Style,
    value: &Value,
) -> Splice {
    let range = bytes(node);
    let old = Container::of(body, node).filter(|old| !old.items.is_empty());
    let lines = match (&old, parent) {
        (Some(old), _) => old.items.iter().any(|item| old.on_own_line(item.start)),
        (None, Some(parent)) => parent
            .items
            .iter()
            .any(|item| parent.on_own_line(item.start)),
        (None, None) => true,
    };
    let whole = old.as_ref().or(parent);
    let shape = if lines {
        Shape::Lines(
            whole
                .map_or("", |whole| whole.indent(range.start))
                .to_owned(),
        )
    } else {
        Shape::Line
    };
    let text = style.value(value, &shape, end_near(body, range.start));
    Splice { range, text }
}
