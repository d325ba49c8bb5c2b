//! Computes which bytes are removed and inserted, and writes values in the style of the document.

use std::ops::Range;

use serde_json::Value;

use super::{
    grammar::comment_length,
    outline::{Outline, Whole, indent, starts_line},
};
use crate::edit::{
    Budget, EditError,
    text::{Splice, end_near, line_start},
};

fn cut(range: Range<usize>) -> Splice {
    (range, String::new())
}

fn put(at: usize, text: String) -> Splice {
    (at..at, text)
}

impl<'b> Whole<'b> {
    fn text(&self, range: Range<usize>) -> &'b str {
        self.body.get(range).unwrap_or_default()
    }

    /// Whether only blanks precede this byte in its line.
    fn on_own_line(&self, at: usize) -> bool {
        starts_line(self.body, self.start, at)
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

/// A new member at the end of an object; without a key, a new item at the end of an array.
pub(super) fn add(
    object: &Whole<'_>,
    style: &Style<'_>,
    key: Option<&str>,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let Some(last) = object.last() else {
        return open(object, style, key, value);
    };
    let comma = object.comma(last.end);
    let after = comma.map_or(last.end, |comma| comma + 1);
    let (before, behind) = match comma {
        None => (Some(put(last.end, ",".to_owned())), ""),
        Some(_) => (None, ","),
    };
    let (at, lead, member) = if object.on_own_line(last.first) {
        let indent = indent(object.body, last.first);
        let end = end_near(object.body, last.end);
        // An item after one that is on a line of its own is on one, too.
        let text = object.text(last.whole());
        let is_short = key.is_none() && text.starts_with(['{', '[']) && !text.contains('\n');
        let shape = if is_short {
            Shape::Line
        } else {
            Shape::Lines(indent.to_owned())
        };
        let at = object.end_of_line(after).unwrap_or(after);
        let lead = [end, indent].concat();
        (at, lead, style.text(key, value, &shape, end)?)
    } else {
        let lead = style.gap().to_owned();
        (after, lead, style.text(key, value, &Shape::Line, "")?)
    };
    let added = [put(at, [&lead, &member, behind].concat())];
    Ok(before.into_iter().chain(added).collect())
}

/// The first member of an object or item of an array, which may hold comments.
fn open(
    object: &Whole<'_>,
    style: &Style<'_>,
    key: Option<&str>,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let inside = object.start + 1..object.end - 1;
    let text = object.text(inside.clone());
    let kept = inside.start + text.trim_end().len();
    if style.opened == Shape::Line && !text.contains('\n') {
        let member = style.text(key, value, &Shape::Line, "")?;
        let gap = if kept > inside.start { " " } else { "" };
        return Ok(vec![(kept..inside.end, [gap, &member].concat())]);
    }
    let outer = indent(object.body, object.start);
    let inner = style.deeper(outer);
    let end = end_near(object.body, object.start);
    let member = style.text(key, value, &Shape::Lines(inner.clone()), end)?;
    if object.text(kept..inside.end).contains('\n') && kept > inside.start {
        return Ok(vec![put(kept, [end, &inner, &member].concat())]);
    }
    let text = [end, &inner, &member, end, outer].concat();
    Ok(vec![(kept..inside.end, text)])
}

/// Removes that item, with one comma.
pub(super) fn remove(container: &Whole<'_>, index: usize) -> Vec<Splice> {
    let count = container.parts.len();
    let place = |index: usize| container.parts.get(index).map(|(_, part)| part.whole());
    let item = place(index).unwrap_or_default();
    let comma = container.comma(item.end);
    let after = comma.map_or(item.end, |comma| comma + 1);
    let previous = index.checked_sub(1).and_then(place);
    let inside = container.start + 1..container.end - 1;
    if count == 1
        && container.is_blank(inside.start..item.start)
        && container.is_blank(after..inside.end)
        && container.is_blank(item.end..comma.unwrap_or(item.end))
    {
        return vec![cut(inside)];
    }
    // The last of several items loses the comma before it, any other the one after it.
    let lost = match (comma, &previous) {
        (None, Some(previous)) => container.comma(previous.end),
        _ => None,
    };
    let lost_comma = lost.map(|at| cut(at..at + 1));
    let tight = container.is_blank(item.end..comma.unwrap_or(item.end));
    if container.on_own_line(item.start)
        && tight
        && let Some(end) = container.end_of_line(after)
    {
        let rest = container.text(end..container.body.len());
        let newline = rest.find('\n').map_or(0, |newline| newline + 1);
        let line = line_start(container.body, item.start)..end + newline;
        return lost_comma.into_iter().chain([cut(line)]).collect();
    }
    if let (Some(at), Some(previous)) = (lost, &previous)
        && container.is_blank(at + 1..item.start)
    {
        let start = if container.is_blank(previous.end..at) {
            previous.end
        } else {
            at
        };
        return vec![cut(start..item.end)];
    }
    if !tight {
        let own = comma.map(|at| cut(at..at + 1));
        let item = [cut(item)];
        return lost_comma.into_iter().chain(item).chain(own).collect();
    }
    let gap = container.text(after..container.end);
    let blanks = gap.len() - gap.trim_start_matches([' ', '\t']).len();
    let blanks = match comma {
        Some(_) if index + 1 < count => blanks,
        _ => 0,
    };
    let item = [cut(item.start..after + blanks)];
    lost_comma.into_iter().chain(item).collect()
}

/// Replaces a value. The new one has the style of the old one, or of its parent.
pub(super) fn update(
    old: &Whole<'_>,
    parent: Option<&Whole<'_>>,
    style: &Style<'_>,
    value: &Value,
) -> Result<Splice, EditError> {
    let whole = Some(old).filter(|old| !old.parts.is_empty()).or(parent);
    let shape = if whole.is_none_or(Whole::has_lines) {
        let indent = whole.map_or("", |_| indent(old.body, old.start));
        Shape::Lines(indent.to_owned())
    } else {
        Shape::Line
    };
    let text = style.text(None, value, &shape, end_near(old.body, old.start))?;
    Ok((old.start..old.end, text))
}

pub(super) struct Style<'s> {
    /// One level of indentation.
    unit: String,
    /// Between a key and its value: `: `, `:`.
    colon: String,
    /// The shape of an object that gets its first member.
    opened: Shape,
    budget: &'s Budget<'s>,
}

/// Whether a collection is written on one line, or with a line for each item.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    Line,
    /// The indentation of the line it starts on.
    Lines(String),
}

impl<'s> Style<'s> {
    pub(super) fn of(body: &str, outline: &Outline, budget: &'s Budget<'s>) -> Self {
        let unit = outline.unit(body);
        Self {
            colon: outline.colon(body).unwrap_or(": ").to_owned(),
            opened: if unit.is_some() || outline.is_empty(body) {
                Shape::Lines(String::new())
            } else {
                Shape::Line
            },
            unit: unit.unwrap_or("  ").to_owned(),
            budget,
        }
    }

    /// The indentation one level in.
    fn deeper(&self, indent: &str) -> String {
        [indent, &self.unit].concat()
    }

    /// The blank after a comma on one line.
    fn gap(&self) -> &'static str {
        if self.colon.ends_with(':') { "" } else { " " }
    }

    /// The text of a value, or of a member; its first line starts where it is put.
    fn text(
        &self,
        key: Option<&str>,
        value: &Value,
        shape: &Shape,
        end: &str,
    ) -> Result<String, EditError> {
        let mut text = String::new();
        self.write(&mut text, key, value, shape, end)?;
        Ok(text)
    }

    /// Appends text. It stops when the result would be too large, because an indentation may be long.
    fn push(&self, text: &mut String, parts: &[&str]) -> Result<(), EditError> {
        let more: usize = parts.iter().map(|part| part.len()).sum();
        self.budget.fits((text.len() + more) as u64)?;
        text.extend(parts.iter().copied());
        Ok(())
    }

    fn write(
        &self,
        text: &mut String,
        key: Option<&str>,
        value: &Value,
        shape: &Shape,
        end: &str,
    ) -> Result<(), EditError> {
        if let Some(key) = key {
            let key = Value::from(key).to_string();
            self.push(text, &[&key, &self.colon])?;
        }
        let (open, close, items): (_, _, Vec<(Option<&str>, &Value)>) = match value {
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| (Some(&**key), value));
                ("{", "}", members.collect())
            }
            Value::Array(items) => ("[", "]", items.iter().map(|item| (None, item)).collect()),
            scalar => return self.push(text, &[&scalar.to_string()]),
        };
        let inner = match shape {
            Shape::Line => Shape::Line,
            Shape::Lines(indent) => Shape::Lines(self.deeper(indent)),
        };
        self.push(text, &[open])?;
        for (index, (key, item)) in items.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match &inner {
                Shape::Lines(indent) => self.push(text, &[comma, end, indent])?,
                Shape::Line if index > 0 => self.push(text, &[comma, self.gap()])?,
                Shape::Line => {}
            }
            self.write(text, *key, item, &inner, end)?;
        }
        match shape {
            Shape::Lines(outer) if !items.is_empty() => self.push(text, &[end, outer, close]),
            _ => self.push(text, &[close]),
        }
    }
}
