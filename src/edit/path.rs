//! Places in JSON and YAML documents: RFC 9535 singular queries.

use std::{fmt, str::Chars};

use serde_json::Value;

use super::error::EditError;

/// A place in a JSON or YAML document: an RFC 9535 singular query (`$`, `.name`, `['name']`,
/// `["name"]`, `[n]`, `[-n]`). It names one place; the last step need not lead anywhere yet.
///
/// Displays as a normalized path (RFC 9535 §2.7): `$['a'][0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath {
    steps: Vec<PathStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathStep {
    Name(String),
    /// Counted from 0; from the end if negative.
    Index(i64),
}

/// Why a text is not a singular query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not a path to one place: at character {at}, {problem}")]
pub(crate) struct PathError {
    path: String,
    /// Counted from 1.
    at: usize,
    problem: &'static str,
}

/// RFC 9535 §2.1: what I-JSON can count.
const LARGEST: i64 = (1 << 53) - 1;

impl JsonPath {
    /// The error that there is no such place, or no suitable one.
    pub(super) fn missing(self, problem: impl Into<String>) -> EditError {
        EditError::PlaceNotFound {
            path: self.to_string(),
            problem: problem.into(),
        }
    }

    /// Reads a path. It must start with `$`.
    pub(crate) fn parse(text: &str) -> Result<Self, PathError> {
        let mut reader = Reader { rest: text.chars() };
        reader.path().map_err(|problem| PathError {
            path: text.to_owned(),
            at: text.chars().count() - reader.rest.count() + 1,
            problem,
        })
    }

    pub(crate) fn steps(&self) -> &[PathStep] {
        &self.steps
    }

    pub(crate) fn child(&self, name: &str) -> Self {
        let mut steps = self.steps.clone();
        steps.push(PathStep::Name(name.to_owned()));
        Self { steps }
    }

    pub(crate) fn first(&self, count: usize) -> Self {
        Self {
            steps: self.steps.iter().take(count).cloned().collect(),
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.steps.iter().try_for_each(|step| write!(f, "{step}"))
    }
}

impl fmt::Display for PathStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Name(name) => {
                // JSON escapes the same characters, but for the quotes.
                let json = Value::from(name.as_str()).to_string();
                let inner = json.get(1..json.len() - 1).unwrap_or_default();
                let inner = inner.replace("\\\"", "\"").replace('\'', "\\'");
                write!(f, "['{inner}']")
            }
        }
    }
}

/// The index that a step means among so many items.
pub(super) fn item(index: i64, length: usize) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    let index = if index < 0 {
        length.checked_sub(distance)?
    } else {
        distance
    };
    (index < length).then_some(index)
}

/// The sentence about a key that is not there. It names the most similar key, or the first ones. `whole` is what has the
/// keys: an object or a mapping.
pub(super) fn no_key<'k>(whole: &str, keys: impl Iterator<Item = &'k str>, key: &str) -> String {
    /// How many keys are compared, and of how many bytes at most.
    const COMPARED: usize = 1000;
    const LONGEST: usize = 100;
    /// From this likeness on, a key may be meant. Otherwise so many keys are named.
    const LIKE: f64 = 0.4;
    const TOLD: usize = 10;
    let keys: Vec<&str> = keys.take(COMPARED).collect();
    let like = |name: &str| strsim::normalized_damerau_levenshtein(name, key);
    let short = keys
        .iter()
        .filter(|name| name.len().max(key.len()) <= LONGEST);
    let nearest = short.max_by(|a, b| like(a).total_cmp(&like(b)));
    let said = match nearest.filter(|nearest| like(nearest) >= LIKE) {
        Some(nearest) => format!("the nearest of its {whole} is `{nearest}`"),
        None if keys.is_empty() => format!("the {whole} is empty"),
        None => {
            let told = keys.iter().take(TOLD).map(|key| format!("`{key}`"));
            format!("the {whole} has {}", told.collect::<Vec<_>>().join(", "))
        }
    };
    format!("there is no such key; {said}")
}

struct Reader<'a> {
    rest: Chars<'a>,
}

impl<'a> Reader<'a> {
    fn path(&mut self) -> Result<JsonPath, &'static str> {
        self.expect('$', "a path starts with `$`, the whole document")?;
        let mut steps = Vec::new();
        loop {
            let blank = self.blank();
            match self.peek() {
                None if blank => return Err("white space may not end a path"),
                None => return Ok(JsonPath { steps }),
                Some('.') => {
                    self.rest.next();
                    steps.push(PathStep::Name(self.short_name()?));
                }
                Some('[') => {
                    self.rest.next();
                    steps.push(self.bracketed()?);
                }
                Some(_) => return Err("a step starts with `.` or `[`"),
            }
        }
    }

    fn short_name(&mut self) -> Result<String, &'static str> {
        let starts = self.peek().is_some_and(|c| !c.is_ascii_digit());
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c >= '\u{80}';
        let name = if starts { self.take(fits) } else { "" };
        if !name.is_empty() {
            return Ok(name.to_owned());
        }
        Err(match self.peek() {
            Some('.') => "`..` may match many places; name the one to change",
            Some('*') => "`*` may match many places; name the one to change",
            Some('0'..='9') => "a name after `.` may not start with a digit; write [0] or ['0']",
            _ => "a name is missing after `.`; write names with other characters as ['name']",
        })
    }

    fn bracketed(&mut self) -> Result<PathStep, &'static str> {
        self.blank();
        let step = match self.peek() {
            Some(quote @ ('\'' | '"')) => {
                self.rest.next();
                PathStep::Name(self.quoted(quote)?)
            }
            Some('-' | '0'..='9') => PathStep::Index(self.index()?),
            Some('*') => return Err("`*` may match many places; name the one to change"),
            Some('?') => return Err("a filter may match many places; name the one to change"),
            Some(':') => return Err("a slice may match many places; name the one to change"),
            _ => return Err("a quoted name or a whole number belongs here"),
        };
        self.blank();
        match self.peek() {
            Some(',') => Err("several selectors match many places; name the one to change"),
            Some(':') => Err("a slice may match many places; name the one to change"),
            _ => self.expect(']', "`]` is missing").map(|()| step),
        }
    }

    fn index(&mut self) -> Result<i64, &'static str> {
        let digits = self.take(|c| c.is_ascii_digit() || c == '-');
        let plain = digits.strip_prefix('-').unwrap_or(digits);
        if plain.contains('-') || plain.is_empty() || digits == "-0" {
            return Err("that is no whole number");
        }
        if plain.len() > 1 && plain.starts_with('0') {
            return Err("a number may not start with 0");
        }
        digits
            .parse()
            .ok()
            .filter(|index: &i64| index.abs() <= LARGEST)
            .ok_or("a number may not be beyond 2^53 - 1")
    }

    fn quoted(&mut self, quote: char) -> Result<String, &'static str> {
        let mut name = String::new();
        loop {
            match self.rest.next() {
                None => return Err("the closing quote is missing"),
                Some(c) if c == quote => return Ok(name),
                Some('\\') => name.push(self.escaped(quote)?),
                Some(c) if c < ' ' => return Err("a control character must be escaped"),
                Some(c) => name.push(c),
            }
        }
    }

    fn escaped(&mut self, quote: char) -> Result<char, &'static str> {
        Ok(match self.rest.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some(c @ ('/' | '\\')) => c,
            Some(c) if c == quote => c,
            Some('u') => return self.code_point(),
            _ => return Err("there is no such escape"),
        })
    }

    /// What follows `\u`: four digits, or two surrogates.
    fn code_point(&mut self) -> Result<char, &'static str> {
        const LONE: &str = "a surrogate stands alone";
        let first = self.four_digits()?;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        self.expect('\\', LONE)?;
        self.expect('u', LONE)?;
        let pair = [first, self.four_digits()?].map(|unit| u16::try_from(unit).unwrap_or_default());
        match char::decode_utf16(pair).next() {
            Some(Ok(c)) => Ok(c),
            _ => Err(LONE),
        }
    }

    fn four_digits(&mut self) -> Result<u32, &'static str> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.rest.next().and_then(|c| c.to_digit(16));
            value = value * 16 + digit.ok_or("`\\u` needs four hexadecimal digits")?;
        }
        Ok(value)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    /// The characters that come next and fit.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let text = self.rest.as_str();
        let end = text.find(|c| !fits(c)).unwrap_or(text.len());
        let (taken, rest) = text.split_at(end);
        self.rest = rest.chars();
        taken
    }

    fn blank(&mut self) -> bool {
        let blanks = self.take(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
        !blanks.is_empty()
    }

    fn expect(&mut self, wanted: char, problem: &'static str) -> Result<(), &'static str> {
        let rest = self.rest.as_str().strip_prefix(wanted).ok_or(problem)?;
        self.rest = rest.chars();
        Ok(())
    }
}
