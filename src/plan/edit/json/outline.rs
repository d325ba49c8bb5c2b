//! Where each value of a JSON text is, found in one pass over its tokens (`jsonc-parser`). The text was read strictly
//! before. An edit needs no further pass: it finds its place here, and then only the changed values are read again.

use std::{borrow::Cow, collections::HashSet, iter, ops::Range};

use jsonc_parser::{Scanner, ScannerOptions, tokens::Token};

use super::reading::string_length;
use crate::plan::edit::{
    EditError, JsonPath, Language,
    path::{Step, item},
    text::line_start,
};

/// Where a value is in the text.
#[derive(Debug, Clone, Copy)]
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

    fn kind(&self, body: &str) -> Kind {
        Kind::of(body.get(self.start..).unwrap_or_default())
    }

    fn key<'b>(&self, body: &'b str) -> Cow<'b, str> {
        let text = body.get(self.first..self.start).unwrap_or_default();
        let quoted = text.get(..string_length(text.as_bytes())).unwrap_or(text);
        match quoted.get(1..quoted.len().saturating_sub(1)) {
            Some(plain) if !plain.contains('\\') => plain.into(),
            _ => serde_json::from_str(quoted).unwrap_or_default(),
        }
    }
}

/// An object or array: its place, and facts about its members or items.
#[derive(Debug, Clone)]
pub(super) struct Container<'b> {
    pub(super) body: &'b str,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) count: usize,
    pub(super) last: Option<Range<usize>>,
    /// Whether any of them starts a line.
    pub(super) lines: bool,
    /// The member or item that was asked for.
    pub(super) picked: Option<Picked>,
    /// The first keys of an object.
    keys: Vec<Cow<'b, str>>,
}

#[derive(Debug, Clone)]
pub(super) struct Picked {
    /// Its position in the outline.
    pub(super) at: usize,
    pub(super) index: usize,
    pub(super) range: Range<usize>,
    pub(super) previous: Option<Range<usize>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl Kind {
    /// The kind of the value with which the text starts.
    fn of(text: &str) -> Self {
        match text.as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Null => "null",
        }
    }
}

/// A place that was found.
pub(super) struct Found<'b> {
    /// The steps of the path, their indices counted from the start.
    pub(super) steps: Vec<Step>,
    /// The positions in the outline of the values that contain the place, the outermost first, and its own.
    pub(super) trail: Vec<usize>,
    pub(super) kind: Kind,
    pub(super) place: Extent,
    /// The place, if it is an object or array.
    pub(super) node: Option<Container<'b>>,
    /// The object or array that contains the place.
    pub(super) parent: Option<Container<'b>>,
    pub(super) habits: Habits<'b>,
}

/// What an edit makes of the outline.
pub(super) struct Swap {
    /// The positions of the values that it removes or replaces, or where it adds one.
    pub(super) gone: Range<usize>,
    /// The positions of the values that contain these.
    pub(super) around: Vec<usize>,
    /// The bytes of the text before the edit that become a value; `None` if none is written.
    pub(super) written: Option<Range<usize>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Habits<'b> {
    /// The first step of indentation.
    pub(super) unit: Option<&'b str>,
    /// The text between the first key and its value.
    pub(super) colon: Option<&'b str>,
    /// Whether the document is one empty collection.
    pub(super) empty: bool,
}

/// How many keys the message about a missing key contains.
const KEYS_TOLD: usize = 10;

/// The values of a text, in the order in which they start.
#[derive(Default)]
pub(super) struct Outline {
    extents: Vec<Extent>,
}

impl Outline {
    /// Reads the text. It is an error if an object has two members of the same name.
    pub(super) fn read(body: &str) -> Result<Self, EditError> {
        let extents = scan(body, 0)?;
        Ok(Self { extents })
    }

    /// Looks for a place. `pick` is the key, or the decimal index, of a child of it that is asked for.
    pub(super) fn find<'b>(
        &self,
        body: &'b str,
        path: &JsonPath,
        pick: Option<&str>,
    ) -> Result<Found<'b>, EditError> {
        let none = || Language::Json.invalid("there is no value", body, None);
        let mut place = *self.extents.first().ok_or_else(none)?;
        let mut kind = place.kind(body);
        let (mut at, mut trail, mut steps) = (0, vec![0], Vec::new());
        for (depth, step) in path.steps().iter().enumerate() {
            let here = || path.first(depth + 1);
            let (child, step) = match (step, kind) {
                (Step::Name(name), Kind::Object) => {
                    let mut members = self.children(at);
                    let member = members.find(|(_, member)| member.key(body) == **name);
                    let none = || no_key(here(), &self.container(body, at, place, None));
                    (member.ok_or_else(none)?, step.clone())
                }
                (Step::Index(index), Kind::Array) => {
                    let count = self.children(at).count();
                    let found = item(*index, count).and_then(|index| {
                        let step = Step::Index(i64::try_from(index).ok()?);
                        Some((self.children(at).nth(index)?, step))
                    });
                    let none = || here().missing(format!("the array has {count} items"));
                    found.ok_or_else(none)?
                }
                _ => {
                    return Err(here().missing(format!(
                        "there is {} at {}, which has no such step",
                        kind.words(),
                        path.first(depth)
                    )));
                }
            };
            (at, place) = child;
            kind = place.kind(body);
            trail.push(at);
            steps.push(step);
        }
        let parent = trail.iter().rev().nth(1).and_then(|at| {
            let parent = self.extents.get(*at)?;
            Some(self.container(body, *at, *parent, None))
        });
        Ok(Found {
            steps,
            trail,
            kind,
            place,
            node: is_collection(kind).then(|| self.container(body, at, place, pick)),
            parent,
            habits: self.habits(body),
        })
    }

    /// The positions of this value and of all that it contains.
    pub(super) fn values(&self, at: usize) -> Range<usize> {
        let inside = self.extents.get(at).map_or(0, |extent| extent.inside);
        at..at + 1 + inside
    }

    /// The members or items of this value, with their positions.
    fn children(&self, at: usize) -> impl Iterator<Item = (usize, Extent)> {
        let values = self.values(at);
        let mut next = at + 1;
        iter::from_fn(move || {
            let here = Some(next).filter(|next| values.contains(next))?;
            let child = *self.extents.get(here)?;
            next += child.inside + 1;
            Some((here, child))
        })
    }

    fn container<'b>(
        &self,
        body: &'b str,
        at: usize,
        place: Extent,
        pick: Option<&str>,
    ) -> Container<'b> {
        let mut container = Container {
            body,
            start: place.start,
            end: place.end,
            count: 0,
            last: None,
            lines: false,
            picked: None,
            keys: Vec::new(),
        };
        let is_object = place.kind(body) == Kind::Object;
        let wanted = pick.and_then(|pick| {
            let index: usize = pick.parse().ok()?;
            (index.to_string() == pick).then_some(index)
        });
        for (at, child) in self.children(at) {
            let index = container.count;
            if is_object && index < KEYS_TOLD {
                container.keys.push(child.key(body));
            }
            let is_picked = pick.is_some_and(|pick| {
                if is_object {
                    child.key(body) == pick
                } else {
                    wanted == Some(index)
                }
            });
            let range = child.whole();
            container.lines = container.lines || starts_line(body, place.start, range.start);
            let previous = container.last.replace(range.clone());
            if is_picked {
                container.picked = Some(Picked {
                    at,
                    index,
                    range,
                    previous,
                });
            }
            container.count += 1;
        }
        container
    }

    /// The first collection that shows a habit decides.
    fn habits<'b>(&self, body: &'b str) -> Habits<'b> {
        let mut habits = Habits::default();
        for (container, first) in self.extents.iter().zip(self.extents.iter().skip(1)) {
            if container.inside == 0 {
                continue;
            }
            if habits.unit.is_none() && starts_line(body, container.start, first.first) {
                let (inner, outer) = (indent(body, first.first), indent(body, container.start));
                let unit = inner.strip_prefix(outer);
                habits.unit = unit.filter(|unit| !unit.is_empty());
            }
            if habits.colon.is_none() {
                let member = body.get(first.first..first.start).unwrap_or_default();
                let colon = member.rsplit_once('"').map(|(_, colon)| colon);
                habits.colon = colon.filter(|text| text.chars().all(|c| matches!(c, ':' | ' ')));
            }
            if habits.unit.is_some() && habits.colon.is_some() {
                break;
            }
        }
        let only = self.extents.first().filter(|_| self.extents.len() == 1);
        habits.empty = only.is_some_and(|only| is_collection(only.kind(body)));
        habits
    }

    /// Brings the outline up to date with an edit of a text of `before` bytes.
    pub(super) fn swap(&mut self, swap: Swap, before: usize, after: &str) -> Result<(), EditError> {
        let moved = |at: usize| (at + after.len()).saturating_sub(before);
        let new = swap.written.map_or(Ok(Vec::new()), |written| {
            let text = after.get(..moved(written.end)).unwrap_or_default();
            scan(text, written.start)
        })?;
        for at in swap.around {
            if let Some(extent) = self.extents.get_mut(at) {
                extent.end = moved(extent.end);
                extent.inside = (extent.inside + new.len()).saturating_sub(swap.gone.len());
            }
        }
        for extent in self.extents.iter_mut().skip(swap.gone.end) {
            extent.first = moved(extent.first);
            extent.start = moved(extent.start);
            extent.end = moved(extent.end);
        }
        self.extents.splice(swap.gone, new);
        Ok(())
    }
}

/// The values that start at this byte or after it.
fn scan(body: &str, from: usize) -> Result<Vec<Extent>, EditError> {
    let options = ScannerOptions {
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let invalid = |problem: String, at: usize| Language::Json.invalid(problem, body, from + at);
    let mut scanner = Scanner::new(body.get(from..).unwrap_or_default(), &options);
    let mut extents: Vec<Extent> = Vec::new();
    // The positions of the collections that have not ended yet, and their keys so far.
    let mut open: Vec<(usize, HashSet<Cow<'_, str>>)> = Vec::new();
    // The last string, and where it starts if it is a key.
    let (mut text, mut key) = (Cow::Borrowed(""), None);
    loop {
        let token = scanner
            .scan()
            .map_err(|error| invalid(error.kind().to_string(), error.range().start))?;
        let Some(token) = token else {
            return Ok(extents);
        };
        let (start, end) = (from + scanner.token_start(), from + scanner.token_end());
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) | Token::Comma => continue,
            Token::Word(_) => return Err(invalid("unexpected word".to_owned(), start - from)),
            Token::Colon => {
                key = extents.pop().map(|extent| extent.start);
                if let (Some((_, names)), Some(start)) = (open.last_mut(), key)
                    && !names.insert(text.clone())
                {
                    return Err(invalid(format!("duplicate key `{text}`"), start - from));
                }
                continue;
            }
            Token::CloseBrace | Token::CloseBracket => {
                if let Some((at, _)) = open.pop() {
                    let inside = extents.len() - at - 1;
                    if let Some(extent) = extents.get_mut(at) {
                        (extent.end, extent.inside) = (end, inside);
                    }
                }
                continue;
            }
            Token::OpenBrace | Token::OpenBracket => open.push((extents.len(), HashSet::new())),
            Token::String(string) => text = string,
            Token::Number(_) | Token::Boolean(_) | Token::Null => {}
        }
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

const fn is_collection(kind: Kind) -> bool {
    matches!(kind, Kind::Object | Kind::Array)
}

/// The error that the object does not have the last key of the path.
pub(super) fn no_key(path: JsonPath, object: &Container<'_>) -> EditError {
    let (count, told) = (object.count, object.keys.join(", "));
    path.missing(match count {
        0 => "the object is empty".to_owned(),
        _ if count > object.keys.len() => {
            format!("there is no such key; the first of its {count} are: {told}")
        }
        _ => format!("there is no such key; those of the object are: {told}"),
    })
}
