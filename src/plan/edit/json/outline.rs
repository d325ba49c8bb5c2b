//! Finds the places in a JSON text that an edit needs, in one pass over its tokens (`jsonc-parser`). The text was
//! read strictly before. Only these places are kept in memory.

use std::{borrow::Cow, collections::HashSet, ops::Range};

use jsonc_parser::{Scanner, ScannerOptions, tokens::Token};

use crate::plan::edit::{
    Budget, EditError, JsonPath, Language,
    path::{Step, item},
    text::line_start,
};

/// An object or array: its place, and facts about its members or items.
#[derive(Debug, Clone)]
pub(super) struct Container<'b> {
    pub(super) body: &'b str,
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) count: usize,
    pub(super) last: Option<Range<usize>>,
    /// Whether any of them starts a line.
    pub(super) lines: bool,
    /// The member or item that was asked for.
    pub(super) picked: Option<Picked>,
    /// The first keys, if it is an object on the path.
    pub(super) keys: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Picked {
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

/// The result of a pass over the text.
pub(super) struct Outline<'b> {
    /// The path, its indices counted from the start.
    pub(super) path: JsonPath,
    pub(super) place: Reached<'b>,
    /// The object or array that contains the place.
    pub(super) parent: Option<Container<'b>>,
    pub(super) habits: Habits<'b>,
}

pub(super) struct Reached<'b> {
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    /// Of an object or array.
    pub(super) node: Option<Container<'b>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Habits<'b> {
    /// The first step of indentation.
    pub(super) unit: Option<String>,
    /// The text between the first key and its value.
    pub(super) colon: Option<&'b str>,
    /// Whether the document is one empty collection.
    pub(super) empty: bool,
}

/// How many keys the message about a missing key contains.
const KEYS_TOLD: usize = 10;

/// Looks for a place. `pick` is the key, or the decimal index, of a child of it that is asked for.
pub(super) fn outline<'b>(
    body: &'b str,
    path: &JsonPath,
    pick: Option<&str>,
    budget: &Budget<'_>,
) -> Result<Outline<'b>, EditError> {
    let mut steps = path.steps().to_vec();
    loop {
        budget.go_on()?;
        let mut pass = Pass::new(body, &steps, pick);
        pass.run()?;
        // An index from the end can be resolved after the array has been passed; then the pass is repeated.
        let depth = pass.reached.len().saturating_sub(1);
        let node = pass.reached.get(depth).and_then(|it| it.node.as_ref());
        let length = node.filter(|node| node.kind == Kind::Array);
        let length = length.map(|node| node.count);
        let found = match (steps.get(depth), length) {
            (Some(Step::Index(index @ ..0)), Some(length)) => item(*index, length),
            _ => None,
        };
        if let Some(found) = found.and_then(|found| i64::try_from(found).ok()) {
            if let Some(step) = steps.get_mut(depth) {
                *step = Step::Index(found);
            }
            continue;
        }
        return pass.found(path, &steps);
    }
}

/// Checks the tokens of the text, and that no object has two members of the same name.
pub(super) fn check(body: &str) -> Result<(), EditError> {
    Pass::new(body, &[], None).run()
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

/// An object or array whose end has not been reached yet.
struct Open<'b> {
    container: Container<'b>,
    names: HashSet<Cow<'b, str>>,
    /// In an object, the key of the current member and its place.
    key: Option<(Cow<'b, str>, Range<usize>)>,
    /// How many steps of the path lead here, if it is on the path.
    depth: Option<usize>,
}

struct Pass<'b, 'p> {
    body: &'b str,
    steps: &'p [Step],
    pick: Option<&'p str>,
    open: Vec<Open<'b>>,
    reached: Vec<Reached<'b>>,
    habits: Habits<'b>,
    values: usize,
}

impl<'b, 'p> Pass<'b, 'p> {
    fn new(body: &'b str, steps: &'p [Step], pick: Option<&'p str>) -> Self {
        Self {
            body,
            steps,
            pick,
            open: Vec::new(),
            reached: Vec::new(),
            habits: Habits::default(),
            values: 0,
        }
    }

    fn run(&mut self) -> Result<(), EditError> {
        let options = ScannerOptions {
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let mut scanner = Scanner::new(self.body, &options);
        loop {
            let token = scanner
                .scan()
                .map_err(|error| self.invalid(error.kind().to_string(), error.range().start))?;
            let Some(token) = token else { return Ok(()) };
            let range = scanner.token_start()..scanner.token_end();
            match token {
                Token::CommentLine(_) | Token::CommentBlock(_) | Token::Comma | Token::Colon => {}
                Token::OpenBrace => self.open(Kind::Object, range.start),
                Token::OpenBracket => self.open(Kind::Array, range.start),
                Token::CloseBrace | Token::CloseBracket => self.close(range.end),
                Token::String(text) if self.awaits_key() => self.key(text, range)?,
                Token::String(_) => self.scalar(Kind::String, range),
                Token::Number(_) => self.scalar(Kind::Number, range),
                Token::Boolean(_) => self.scalar(Kind::Boolean, range),
                Token::Null => self.scalar(Kind::Null, range),
                Token::Word(_) => return Err(self.invalid("unexpected word", range.start)),
            }
        }
    }

    fn invalid(&self, problem: impl Into<String>, at: impl Into<Option<usize>>) -> EditError {
        Language::Json.invalid(problem, self.body, at)
    }

    fn awaits_key(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_some_and(|open| open.container.kind == Kind::Object && open.key.is_none())
    }

    fn key(&mut self, name: Cow<'b, str>, range: Range<usize>) -> Result<(), EditError> {
        if let Some(open) = self.open.last_mut() {
            if !open.names.insert(name.clone()) {
                return Err(self.invalid(format!("duplicate key `{name}`"), range.start));
            }
            open.key = Some((name, range));
        }
        Ok(())
    }

    /// Called at the start of a value. Returns how many steps of the path lead to it, if it is on the path.
    fn starts(&mut self, kind: Kind, start: usize) -> Option<usize> {
        self.values += 1;
        let depth = match self.open.last_mut() {
            None => Some(0),
            Some(open) => {
                let container = &mut open.container;
                let (first, from) = match &open.key {
                    Some((_, key)) => (key.start, container.start),
                    None => (start, container.start),
                };
                // Only collections on the path need all their items for this, others only the first.
                if !container.lines && (open.depth.is_some() || container.count == 0) {
                    container.lines = starts_line(self.body, from, first);
                }
                if container.count == 0 {
                    self.habits.see(self.body, container, first);
                    if let (None, Some((_, key))) = (self.habits.colon, &open.key) {
                        let text = self.body.get(key.end..start);
                        self.habits.colon =
                            text.filter(|text| text.chars().all(|c| matches!(c, ':' | ' ')));
                    }
                }
                open.depth
                    .filter(|depth| match (self.steps.get(*depth), &open.key) {
                        (Some(Step::Name(wanted)), Some((name, _))) => wanted == name,
                        (Some(Step::Index(wanted)), None) => {
                            usize::try_from(*wanted) == Ok(container.count)
                        }
                        _ => false,
                    })
                    .map(|depth| depth + 1)
            }
        };
        if depth.is_some() {
            self.reached.push(Reached {
                kind,
                range: start..start,
                node: None,
            });
        }
        depth
    }

    fn ends(&mut self, range: &Range<usize>, depth: Option<usize>, node: Option<Container<'b>>) {
        if let Some(reached) = depth.and_then(|depth| self.reached.get_mut(depth)) {
            reached.range = range.clone();
            reached.node = node;
        }
        let (body, steps, pick) = (self.body, self.steps, self.pick);
        let Some(open) = self.open.last_mut() else {
            self.habits.empty =
                self.values == 1 && body.get(range.clone()).is_some_and(is_collection);
            return;
        };
        let key = open.key.take();
        let start = key.as_ref().map_or(range.start, |(_, key)| key.start);
        let whole = start..range.end;
        let container = &mut open.container;
        let index = container.count;
        if open.depth == Some(steps.len()) {
            let is_picked = match (&key, pick) {
                (_, None) => false,
                (Some((name, _)), Some(pick)) => name == pick,
                (None, Some(pick)) => pick.parse() == Ok(index),
            };
            if is_picked {
                container.picked = Some(Picked {
                    index,
                    range: whole.clone(),
                    previous: container.last.clone(),
                });
            }
        }
        if let (Some(_), Some((name, _))) = (open.depth, &key)
            && container.keys.len() < KEYS_TOLD
        {
            container.keys.push(name.clone().into_owned());
        }
        container.last = Some(whole);
        container.count += 1;
    }

    fn scalar(&mut self, kind: Kind, range: Range<usize>) {
        let depth = self.starts(kind, range.start);
        self.ends(&range, depth, None);
    }

    fn open(&mut self, kind: Kind, start: usize) {
        let depth = self.starts(kind, start);
        self.open.push(Open {
            container: Container {
                body: self.body,
                kind,
                start,
                end: start,
                count: 0,
                last: None,
                lines: false,
                picked: None,
                keys: Vec::new(),
            },
            names: HashSet::new(),
            key: None,
            depth,
        });
    }

    fn close(&mut self, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let container = Container {
            end,
            ..open.container
        };
        let range = container.start..end;
        self.ends(&range, open.depth, Some(container));
    }

    fn found(mut self, path: &JsonPath, steps: &[Step]) -> Result<Outline<'b>, EditError> {
        let Some(place) = self.reached.pop() else {
            return Err(self.invalid("there is no value", None));
        };
        let depth = self.reached.len();
        let Some(step) = steps.get(depth) else {
            return Ok(Outline {
                path: JsonPath::of(steps),
                place,
                parent: self.reached.pop().and_then(|parent| parent.node),
                habits: self.habits,
            });
        };
        let here = path.first(depth + 1);
        Err(match (step, place.node, place.kind) {
            (Step::Name(_), Some(object), Kind::Object) => no_key(here, &object),
            (Step::Index(_), Some(array), Kind::Array) => {
                here.missing(format!("the array has {} items", array.count))
            }
            (_, _, kind) => here.missing(format!(
                "there is {} at {}, which has no such step",
                kind.words(),
                path.first(depth)
            )),
        })
    }
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

fn is_collection(text: &str) -> bool {
    text.starts_with(['{', '['])
}

impl Habits<'_> {
    /// Learns from the place of the first item of a collection.
    fn see(&mut self, body: &str, container: &Container<'_>, first: usize) {
        if self.unit.is_some() || !container.lines {
            return;
        }
        let (inner, outer) = (indent(body, first), indent(body, container.start));
        self.unit = inner
            .strip_prefix(outer)
            .filter(|unit| !unit.is_empty())
            .map(str::to_owned);
    }
}
