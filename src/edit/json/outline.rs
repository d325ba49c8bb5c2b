//! Where each value of a JSON text is, found in one pass over its tokens (`jsonc-parser`). An edit needs no further pass:
//! it finds its place here, and then only the changed values are read again.

use std::{borrow::Cow, collections::HashSet, iter, ops::Range};

use jsonc_parser::{Scanner, ScannerOptions, tokens::Token};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use super::strict;
use crate::edit::{
    Budget, EditError, JsonPath, Language,
    language::Grammar,
    path::{PathStep, item, no_key},
    text::{Splice, line_start},
};

/// Where a value is in the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Extent {
    /// Where its key starts; where it starts itself, if it has no key.
    pub(super) first: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// How many values it contains, at any depth.
    inside: usize,
}

impl Extent {
    /// The value with its key.
    pub(super) const fn whole(&self) -> Range<usize> {
        self.first..self.end
    }

    fn key(&self, body: &str) -> Option<String> {
        let text = body.get(self.first..self.start).unwrap_or_default();
        let mut strings = Deserializer::from_str(text).into_iter();
        strings.next().and_then(Result::ok)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Object,
    Array,
    /// With a word for it.
    Scalar(&'static str),
}

impl ValueKind {
    /// The kind of the value with which the text starts.
    fn of(text: &str) -> Self {
        match text.as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::Scalar("a string"),
            Some(b't' | b'f') => Self::Scalar("true or false"),
            Some(b'n') => Self::Scalar("null"),
            _ => Self::Scalar("a number"),
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::Scalar(words) => words,
        }
    }
}

/// An object or array, with its members or items. Any other value has no parts.
pub(super) struct Whole<'b> {
    pub(super) body: &'b str,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Their positions in the outline, and their places.
    pub(super) parts: Vec<(usize, Extent)>,
}

impl Whole<'_> {
    pub(super) fn last(&self) -> Option<&Extent> {
        self.parts.last().map(|(_, last)| last)
    }

    /// The bytes around a part, up to the next ones or the brackets.
    pub(super) fn gap(&self, index: usize) -> Range<usize> {
        let part = |index: usize| self.parts.get(index).map(|(_, part)| part);
        let before = index.checked_sub(1).and_then(part);
        let after = part(index + 1);
        before.map_or(self.start + 1, |before| before.end)
            ..after.map_or(self.end - 1, |after| after.first)
    }

    /// Whether any part starts a line.
    pub(super) fn has_lines(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|(_, part)| starts_line(self.body, self.start, part.first))
    }

    /// The index of the member with this key.
    pub(super) fn member(&self, key: &str) -> Option<usize> {
        let mut parts = self.parts.iter();
        parts.position(|(_, part)| part.key(self.body).as_deref() == Some(key))
    }

    /// The sentence about a key that it does not have.
    pub(super) fn without(&self, key: &str) -> String {
        let keys = self.parts.iter().map(|(_, part)| part.key(self.body));
        let keys: Vec<String> = keys.flatten().collect();
        no_key("object", keys.iter().map(String::as_str), key)
    }
}

/// What an edit puts in place of what.
pub(super) struct Swap<'e> {
    pub(super) splices: Vec<Splice>,
    /// The bytes between the values that stay, or the bytes of the value that gets another one.
    pub(super) gap: Range<usize>,
    /// The positions of the values that it removes or replaces, or where it adds one.
    pub(super) gone: Range<usize>,
    /// The positions of the values that contain these, the outermost first.
    pub(super) around: Vec<usize>,
    /// What the gap becomes, with its key if that is written, too; `None` if no value.
    pub(super) written: Option<(Option<&'e str>, &'e Value)>,
}

/// The values of a text, in the order in which they start.
#[derive(PartialEq, Eq)]
pub(super) struct Outline {
    extents: Vec<Extent>,
}

impl Outline {
    /// Reads the text with two readers, and finds its grammar. It is an error if an object has two members of the same
    /// name.
    pub(super) fn read(body: &str, budget: &Budget<'_>) -> Result<(Self, Grammar), EditError> {
        budget.go_on()?;
        let mut scanned = scan(body, 0);
        budget.go_on()?;
        strict::read::<IgnoredAny>(body, &scanned.loose)?;
        scanned.problem.map_or(Ok(()), Err)?;
        let grammar = if scanned.loose.is_empty() {
            Grammar::Strict
        } else {
            Grammar::Loose
        };
        scanned.extents.shrink_to_fit();
        let extents = scanned.extents;
        Ok((Self { extents }, grammar))
    }

    /// The positions of the values on the path: the outermost first, its own last.
    pub(super) fn find(&self, body: &str, path: &JsonPath) -> Result<Vec<usize>, EditError> {
        let mut at = 0;
        let mut trail = vec![at];
        for (depth, step) in path.steps().iter().enumerate() {
            let whole = self.whole(body, at);
            let missing = |problem: String| path.first(depth + 1).missing(problem);
            let index = match (step, self.kind(body, at)) {
                (PathStep::Name(name), ValueKind::Object) => {
                    let index = whole.member(name);
                    index.ok_or_else(|| missing(whole.without(name)))?
                }
                (PathStep::Index(index), ValueKind::Array) => {
                    let count = whole.parts.len();
                    let index = item(*index, count);
                    index.ok_or_else(|| missing(format!("the array has {count} items")))?
                }
                (_, kind) => {
                    let (kind, here) = (kind.words(), path.first(depth));
                    let problem = format!("there is {kind} at {here}, which has no such step");
                    return Err(missing(problem));
                }
            };
            at = whole.parts.get(index).map_or(at, |(at, _)| *at);
            trail.push(at);
        }
        Ok(trail)
    }

    pub(super) fn extent(&self, at: usize) -> Extent {
        self.extents.get(at).copied().unwrap_or_default()
    }

    pub(super) fn kind(&self, body: &str, at: usize) -> ValueKind {
        ValueKind::of(body.get(self.extent(at).start..).unwrap_or_default())
    }

    /// The positions of this value and of all that it contains.
    pub(super) fn values(&self, at: usize) -> Range<usize> {
        at..at + 1 + self.extent(at).inside
    }

    pub(super) fn whole<'b>(&self, body: &'b str, at: usize) -> Whole<'b> {
        let values = self.values(at);
        let Extent { start, end, .. } = self.extent(at);
        let next = |at: &usize| Some(self.values(*at).end);
        let parts = iter::successors(Some(at + 1), next);
        let parts = parts.take_while(|part| values.contains(part));
        Whole {
            body,
            start,
            end,
            parts: parts.map(|part| (part, self.extent(part))).collect(),
        }
    }

    /// The first step of indentation, of the first collection that shows one.
    pub(super) fn unit<'b>(&self, body: &'b str) -> Option<&'b str> {
        let mut pairs = self.extents.iter().zip(self.extents.iter().skip(1));
        pairs.find_map(|(whole, first)| {
            if whole.inside == 0 || !starts_line(body, whole.start, first.first) {
                return None;
            }
            let unit = indent(body, first.first).strip_prefix(indent(body, whole.start));
            unit.filter(|unit| !unit.is_empty())
        })
    }

    /// The text between the first key and its value.
    pub(super) fn colon<'b>(&self, body: &'b str) -> Option<&'b str> {
        self.extents.iter().find_map(|extent| {
            let member = body.get(extent.first..extent.start)?;
            let (_, colon) = member.rsplit_once('"')?;
            let is_plain = colon.chars().all(|c| matches!(c, ':' | ' '));
            is_plain.then_some(colon)
        })
    }

    /// Whether the document is one empty object or array.
    pub(super) fn is_empty(&self, body: &str) -> bool {
        self.extents.len() == 1
            && matches!(self.kind(body, 0), ValueKind::Object | ValueKind::Array)
    }

    /// Brings the outline up to date with an edit. An edit that touches another value, or writes something else than
    /// what is wanted, is refused.
    pub(super) fn swap(
        &mut self,
        swap: &Swap<'_>,
        before: &str,
        after: &str,
    ) -> Result<(), EditError> {
        let (gap, gone) = (&swap.gap, &swap.gone);
        let mut splices = swap.splices.iter();
        if !splices.all(|(range, _)| gap.start <= range.start && range.end <= gap.end) {
            return Err(EditError::risky("would change another value"));
        }
        let moved = |at: usize| (at + after.len()).saturating_sub(before.len());
        let text = after.get(..moved(gap.end)).unwrap_or_default();
        let mut new = scan(text, gap.start).extents;
        if !is_written(text, &new, swap.written) {
            return Err(EditError::risky("is not what was meant"));
        }
        // The key of a value that gets another one is before the gap.
        if let (Some(new), false) = (new.first_mut(), gone.is_empty()) {
            new.first = self.extent(gone.start).first;
        }
        for at in &swap.around {
            if let Some(extent) = self.extents.get_mut(*at) {
                extent.end = moved(extent.end);
                extent.inside = (extent.inside + new.len()).saturating_sub(gone.len());
            }
        }
        for extent in self.extents.iter_mut().skip(gone.end) {
            extent.first = moved(extent.first);
            extent.start = moved(extent.start);
            extent.end = moved(extent.end);
        }
        self.extents.splice(gone.clone(), new);
        Ok(())
    }
}

/// Whether these places hold that value, with that key, and nothing else.
fn is_written(text: &str, new: &[Extent], written: Option<(Option<&str>, &Value)>) -> bool {
    let (Some(first), Some((key, value))) = (new.first(), written) else {
        return new.is_empty() && written.is_none();
    };
    let read: Result<Value, _> =
        serde_json::from_str(text.get(first.start..first.end).unwrap_or_default());
    // The text shows the order of the members, too.
    let said = |value: &Value| value.to_string();
    read.is_ok_and(|read| said(&read) == said(value))
        && first.key(text).as_deref() == key
        && new.len() == first.inside + 1
}

/// What one pass over the tokens finds.
#[derive(Default)]
pub(super) struct Scanned {
    extents: Vec<Extent>,
    /// Comments and trailing commas, up to the problem.
    pub(super) loose: Vec<Range<usize>>,
    problem: Option<EditError>,
}

/// The levels that `serde_json` reads.
const DEEPEST: usize = 127;

pub(super) const STRICT: ScannerOptions = ScannerOptions {
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The values that start at this byte or after it. Anything that is no JSON and has these tokens is not seen.
pub(super) fn scan(body: &str, from: usize) -> Scanned {
    let invalid = |problem: String, at: usize| {
        Some(EditError::invalid(Language::Json, problem, body, from + at))
    };
    let mut scanner = Scanner::new(body.get(from..).unwrap_or_default(), &STRICT);
    let mut scanned = Scanned::default();
    // The positions of the collections that have not ended yet, and their keys so far.
    let mut open: Vec<(usize, HashSet<Cow<'_, str>>)> = Vec::new();
    // The last string, and where it starts if it is a key.
    let (mut text, mut key) = (Cow::Borrowed(""), None);
    // Whether a value has just ended, and the comma after it.
    let (mut ended, mut comma) = (false, None);
    loop {
        let token = match scanner.scan() {
            Ok(Some(token)) => token,
            Ok(None) => return scanned,
            Err(error) => {
                scanned.problem = scanned
                    .problem
                    .or_else(|| invalid(error.kind().to_string(), error.range().start));
                return scanned;
            }
        };
        let (start, end) = (from + scanner.token_start(), from + scanner.token_end());
        let opens = matches!(token, Token::OpenBrace | Token::OpenBracket);
        let extents = &mut scanned.extents;
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => {
                scanned.loose.push(start..end);
                continue;
            }
            Token::Comma => {
                comma = Some(start..end).filter(|_| ended);
                ended = false;
                continue;
            }
            Token::Colon => {
                key = extents.pop().map(|extent| extent.start);
                if let (Some((_, names)), Some(start)) = (open.last_mut(), key)
                    && !names.insert(text.clone())
                    && scanned.problem.is_none()
                {
                    scanned.problem = invalid(format!("duplicate key `{text}`"), start - from);
                }
                continue;
            }
            Token::CloseBrace | Token::CloseBracket => {
                scanned.loose.extend(comma.take());
                ended = true;
                if let Some((at, _)) = open.pop() {
                    let inside = extents.len() - at - 1;
                    if let Some(extent) = extents.get_mut(at) {
                        (extent.end, extent.inside) = (end, inside);
                    }
                }
                continue;
            }
            Token::OpenBrace | Token::OpenBracket => {
                open.push((extents.len(), HashSet::new()));
                if open.len() > DEEPEST && scanned.problem.is_none() {
                    scanned.problem = invalid(format!("more than {DEEPEST} levels"), start - from);
                }
            }
            Token::String(string) => text = string,
            Token::Number(_) | Token::Boolean(_) | Token::Null | Token::Word(_) => {}
        }
        (ended, comma) = (!opens, None);
        extents.push(Extent {
            first: key.take().unwrap_or(start),
            start,
            end,
            inside: 0,
        });
    }
}

/// Whether only blanks precede this byte in its line, and the line starts after `from`.
pub(super) fn starts_line(body: &str, from: usize, at: usize) -> bool {
    let before = body.get(from..at).unwrap_or_default();
    let blanks = before.trim_end_matches([' ', '\t', '\r', '\n']).len();
    before
        .get(blanks..)
        .is_some_and(|blanks| blanks.contains('\n'))
}

/// The blanks at the start of the line that holds this byte.
pub(super) fn indent(body: &str, at: usize) -> &str {
    let line = body.get(line_start(body, at)..).unwrap_or_default();
    let end = line.find(|c| !matches!(c, ' ' | '\t'));
    line.get(..end.unwrap_or(line.len())).unwrap_or_default()
}
