//! Computes which bytes are removed and inserted, and writes values in the style of the document.

use std::{iter, ops::Range};

use jsonc_parser::{Scanner, tokens::Token};
use serde_json::Value;

use super::outline::{Outline, STRICT, Whole, indent, starts_line};
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

    /// The tokens from this byte on, and their places.
    fn tokens(&self, from: usize) -> impl Iterator<Item = (Token<'b>, Range<usize>)> {
        let mut scanner = Scanner::new(self.text(from..self.body.len()), &STRICT);
        iter::from_fn(move || {
            let token = scanner.scan().ok()??;
            let place = from + scanner.token_start()..from + scanner.token_end();
            Some((token, place))
        })
    }

    /// The end of the comments that follow on the same line, if the line ends with them.
    fn end_of_line(&self, from: usize) -> Option<usize> {
        let blanks = |text: &'b str| text.trim_start_matches([' ', '\t']);
        let mut end = from;
        for (_, place) in self.tokens(from).take_while(is_comment) {
            if blanks(self.text(end..place.start)).is_empty() {
                end = place.end;
            } else {
                break;
            }
        }
        let rest = blanks(self.text(end..self.body.len()));
        let ends = rest.starts_with('\n') || rest.starts_with("\r\n");
        (ends && !self.text(from..end).contains('\n')).then_some(end)
    }

    /// The comma after this byte, if it comes before anything but blanks and comments.
    fn comma(&self, at: usize) -> Option<usize> {
        let (token, place) = self.tokens(at).find(|token| !is_comment(token))?;
        (token == Token::Comma).then_some(place.start)
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        self.text(range).trim().is_empty()
    }
}

fn is_comment((token, _): &(Token<'_>, Range<usize>)) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// A new member at the end of an object; without a key, a new item at the end of an array.
pub(super) fn add(
    object: &Whole<'_>,
    style: &Style<'_>,
    key: Option<&str>,
    value: &Value,
) -> Result<Vec<Splice>, EditError> {
    let Some(last) = object.last() else {
        return Ok(vec![open(object, style, key, value)?]);
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
        let member = style.text(key, value, Some(indent).filter(|_| !is_short), end)?;
        let at = object.end_of_line(after).unwrap_or(after);
        (at, [end, indent].concat(), member)
    } else {
        let member = style.text(key, value, None, "")?;
        (after, style.gap().to_owned(), member)
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
) -> Result<Splice, EditError> {
    let inside = object.start + 1..object.end - 1;
    let text = object.text(inside.clone());
    let kept = inside.start + text.trim_end().len();
    let is_commented = kept > inside.start;
    if !style.opens_lines && !text.contains('\n') {
        let member = style.text(key, value, None, "")?;
        let gap = if is_commented { " " } else { "" };
        return Ok((kept..inside.end, [gap, &member].concat()));
    }
    let outer = indent(object.body, object.start);
    let inner = [outer, style.unit].concat();
    let end = end_near(object.body, object.start);
    let member = style.text(key, value, Some(&inner), end)?;
    if is_commented && object.text(kept..inside.end).contains('\n') {
        return Ok(put(kept, [end, &inner, &member].concat()));
    }
    let text = [end, &inner, &member, end, outer].concat();
    Ok((kept..inside.end, text))
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
    let cut_lost = lost.map(|at| cut(at..at + 1));
    let tight = container.is_blank(item.end..comma.unwrap_or(item.end));
    if container.on_own_line(item.start)
        && tight
        && let Some(end) = container.end_of_line(after)
    {
        let rest = container.text(end..container.body.len());
        let newline = rest.find('\n').map_or(0, |newline| newline + 1);
        let line = line_start(container.body, item.start)..end + newline;
        return cut_lost.into_iter().chain([cut(line)]).collect();
    }
    if !tight {
        let own = comma.map(|at| cut(at..at + 1));
        let item = [cut(item)];
        return cut_lost.into_iter().chain(item).chain(own).collect();
    }
    if let (Some(at), Some(previous)) = (lost, &previous)
        && container.is_blank(at + 1..item.start)
    {
        let with_blanks = container.is_blank(previous.end..at);
        let start = if with_blanks { previous.end } else { at };
        return vec![cut(start..item.end)];
    }
    let gap = container.text(after..container.end);
    let blanks = gap.len() - gap.trim_start_matches([' ', '\t']).len();
    let has_next = comma.is_some() && index + 1 < count;
    let end = if has_next { after + blanks } else { after };
    let item = [cut(item.start..end)];
    cut_lost.into_iter().chain(item).collect()
}

/// Replaces a value. The new one has the style of the old one, or of its parent.
pub(super) fn update(
    old: &Whole<'_>,
    parent: Option<&Whole<'_>>,
    style: &Style<'_>,
    value: &Value,
) -> Result<Splice, EditError> {
    let whole = Some(old).filter(|old| !old.parts.is_empty()).or(parent);
    let indent = whole.map_or("", |_| indent(old.body, old.start));
    let lines = Some(indent).filter(|_| whole.is_none_or(Whole::has_lines));
    let text = style.text(None, value, lines, end_near(old.body, old.start))?;
    Ok((old.start..old.end, text))
}

/// How the document is written.
pub(super) struct Style<'s> {
    /// One level of indentation.
    unit: &'s str,
    /// Between a key and its value: `: `, `:`.
    colon: &'s str,
    /// Whether an object that gets its first member gets lines.
    opens_lines: bool,
    budget: &'s Budget<'s>,
}

impl<'s> Style<'s> {
    pub(super) fn of(body: &'s str, outline: &Outline, budget: &'s Budget<'s>) -> Self {
        let unit = outline.unit(body);
        Self {
            colon: outline.colon(body).unwrap_or(": "),
            opens_lines: unit.is_some() || outline.is_empty(body),
            unit: unit.unwrap_or("  "),
            budget,
        }
    }

    /// The blank after a comma on one line.
    fn gap(&self) -> &'static str {
        if self.colon.ends_with(':') { "" } else { " " }
    }

    /// The text of a value, or of a member; its first line starts where it is put. `lines` is the indentation of that
    /// line, if a collection has a line for each item.
    fn text(
        &self,
        key: Option<&str>,
        value: &Value,
        lines: Option<&str>,
        end: &str,
    ) -> Result<String, EditError> {
        let mut text = String::new();
        self.write(&mut text, key, value, lines, end)?;
        Ok(text)
    }

    /// Appends text. It stops when the result would be too large, because an indentation may be long.
    fn push(&self, text: &mut String, part: &str) -> Result<(), EditError> {
        self.budget.fits((text.len() + part.len()) as u64)?;
        text.push_str(part);
        Ok(())
    }

    fn write(
        &self,
        text: &mut String,
        key: Option<&str>,
        value: &Value,
        lines: Option<&str>,
        end: &str,
    ) -> Result<(), EditError> {
        if let Some(key) = key {
            self.push(text, &Value::from(key).to_string())?;
            self.push(text, self.colon)?;
        }
        let (open, close, items): (_, _, Vec<(Option<&str>, &Value)>) = match value {
            Value::Object(members) => {
                let members = members.iter().map(|(key, value)| (Some(&**key), value));
                ("{", "}", members.collect())
            }
            Value::Array(items) => ("[", "]", items.iter().map(|item| (None, item)).collect()),
            scalar => return self.push(text, &scalar.to_string()),
        };
        let inner = lines.map(|indent| [indent, self.unit].concat());
        self.push(text, open)?;
        for (index, (key, item)) in items.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            self.push(text, comma)?;
            match &inner {
                Some(indent) => self.push(text, &[end, indent].concat())?,
                None if index > 0 => self.push(text, self.gap())?,
                None => {}
            }
            self.write(text, *key, item, inner.as_deref(), end)?;
        }
        if let Some(outer) = lines.filter(|_| !items.is_empty()) {
            self.push(text, &[end, outer].concat())?;
        }
        self.push(text, close)
    }
}
