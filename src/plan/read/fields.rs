//! Reads one object strictly: a wrong type or a missing key is an error, an unknown key is noted, and an unknown
//! key that looks like a typing error is refused.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::task::{Fault, RelPath};

use super::{findings::Findings, synonyms};

/// A value of the plan and its place. If a method returns `None`, the findings contain the reason.
#[derive(Debug, Clone)]
pub(super) struct Found<'a> {
    /// `action_plan[2].operation.pattern`
    pub(super) place: String,
    pub(super) value: &'a Value,
    pub(super) findings: &'a Findings,
}

impl<'a> Found<'a> {
    pub(super) fn new(place: &str, value: &'a Value, findings: &'a Findings) -> Self {
        Self {
            place: place.to_owned(),
            value,
            findings,
        }
    }

    /// The plan does not have its schema's shape here.
    pub(super) fn invalid<T>(&self, problem: impl Display) -> Option<T> {
        let message = format!("`{}` {problem}", self.place);
        self.findings.invalid(message);
        None
    }

    /// The value has the wrong type. The message does not contain the value, because it may be a secret.
    pub(super) fn wrong<T>(&self, expected: &str) -> Option<T> {
        self.invalid(format!("must be {expected}, and is {}", kind(self.value)))
    }

    /// The result of a conversion, or its error as a finding.
    pub(super) fn good<T, E: Display>(&self, made: Result<T, E>) -> Option<T> {
        let told = |error| {
            let message = format!("`{}`: {error}", self.place);
            self.findings.invalid(message);
        };
        made.map_err(told).ok()
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.as_str().or_else(|| self.wrong("a text"))
    }

    pub(super) fn flag(&self) -> Option<bool> {
        self.value.as_bool().or_else(|| self.wrong("true or false"))
    }

    pub(super) fn whole(&self) -> Option<u64> {
        let number = self.value.as_u64().filter(|number| *number >= 1);
        number.or_else(|| self.wrong("a whole number from 1 on"))
    }

    pub(super) fn list(&self) -> Option<impl ExactSizeIterator<Item = Self> + use<'a>> {
        let Value::Array(items) = self.value else {
            return self.wrong("an array");
        };
        let (place, findings) = (self.place.clone(), self.findings);
        let item = move |(at, value)| Self {
            place: format!("{place}[{at}]"),
            value,
            findings,
        };
        Some(items.iter().enumerate().map(item))
    }

    /// The texts of a list; items of another type are left out.
    pub(super) fn texts(&self) -> Option<Vec<&'a str>> {
        let items = self.list()?;
        Some(items.filter_map(|item| item.text()).collect())
    }

    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let known = listed(words.iter().map(|(word, _)| *word));
        self.word_of(words, &known)
    }

    /// The same; `known` are the words that a message names.
    pub(super) fn word_of<T: Copy>(&self, words: &[(&str, T)], known: &str) -> Option<T> {
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text);
        found
            .map(|(_, meaning)| *meaning)
            .or_else(|| self.invalid(format!("is {}; known are {known}", quoted(text))))
    }

    /// An object whose keys are not the plan's.
    pub(super) fn object(&self) -> Option<Map<String, Value>> {
        let object = self.value.as_object().cloned();
        object.or_else(|| self.wrong("an object"))
    }

    pub(super) fn fields(&self) -> Option<Fields<'a>> {
        let Value::Object(map) = self.value else {
            return self.wrong("an object");
        };
        Some(Fields {
            layers: vec![(self.place.clone(), map)],
            known: Vec::new(),
            findings: self.findings,
        })
    }

    /// A path below the root (R-001-24, R-001-157): `./a//b.txt` is `a/b.txt`.
    pub(super) fn path(&self) -> Option<RelPath> {
        let path = self.text()?;
        let refused = |problem| {
            let fault = if leads_out(path) {
                "Path traversal attempt detected: "
            } else {
                ""
            };
            let message = format!("{fault}`{}` is {}: {problem}", self.place, quoted(path));
            self.findings.problem(Fault::PathOutside, message);
        };
        RelPath::parse(&plain(path)).map_err(refused).ok()
    }
}

/// An object of the plan and its place. Operations have two layers: the object and its `details`
/// (C-18).
pub(super) struct Fields<'a> {
    /// Their places and their contents.
    layers: Vec<(String, &'a Map<String, Value>)>,
    /// The keys that were asked for. These are all known keys.
    known: Vec<&'static str>,
    pub(super) findings: &'a Findings,
}

/// From this similarity on, an unknown key counts as a misspelt known key.
const LIKE: f64 = 0.8;

/// Characters of a key that is compared with known ones.
const LONGEST: usize = 40;

impl<'a> Fields<'a> {
    /// Takes the keys of an inner object as if they were written beside it. A key may be in both only
    /// with one and the same value (C-18).
    pub(super) fn with_inner(mut self, key: &'static str) -> Self {
        let Some(found) = self.get(key) else {
            return self;
        };
        let Value::Object(map) = found.value else {
            found.wrong::<()>("an object");
            return self;
        };
        for (name, value) in map {
            let outer = self.layers.first().and_then(|(_, map)| map.get(name));
            if outer.is_some_and(|outer| outer != value) {
                let (outer, inner) = (self.place(name), format!("{}.{name}", found.place));
                self.findings.invalid(format!(
                    "`{}` and `{}` are given with different values; give it once",
                    printable(&outer),
                    printable(&inner)
                ));
            }
        }
        self.layers.push((found.place, map));
        self
    }

    /// Where a key is or would be: `action_plan[2].operation.pattern`.
    pub(super) fn place(&self, key: &str) -> String {
        let mut layers = self.layers.iter();
        let holder = layers.find(|(_, map)| map.contains_key(key));
        match holder.or(self.layers.first()) {
            Some((place, _)) if !place.is_empty() => format!("{place}.{key}"),
            _ => key.to_owned(),
        }
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<Found<'a>> {
        self.known.push(key);
        let value = self.layers.iter().find_map(|(_, map)| map.get(key))?;
        Some(Found::new(&self.place(key), value, self.findings))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.layers.iter().any(|(_, map)| map.contains_key(key))
    }

    /// Whether the value of a key is this text.
    pub(super) fn says(&self, key: &str, text: &str) -> bool {
        let mut values = self.layers.iter().filter_map(|(_, map)| map.get(key));
        values.next().and_then(Value::as_str) == Some(text)
    }

    pub(super) fn need(&mut self, key: &'static str, meaning: &str) -> Option<Found<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let message = format!("`{}` is missing: {meaning}", self.place(key));
            self.findings.invalid(message);
        }
        found
    }

    /// Reads the value of a key that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Found<'a>) -> Option<T>,
    ) -> Option<T> {
        read(&self.get(key)?)
    }

    /// Reads the value of a key that must be present.
    pub(super) fn required<T>(
        &mut self,
        key: &'static str,
        meaning: &str,
        read: impl FnOnce(&Found<'a>) -> Option<T>,
    ) -> Option<T> {
        read(&self.need(key, meaning)?)
    }

    /// Keys whose type is checked and which have no effect.
    pub(super) fn descriptive(&mut self, keys: &[(&'static str, Shape)]) {
        for (key, shape) in keys {
            let Some(found) = self.get(key) else {
                continue;
            };
            let (fits, expected) = shape;
            if !fits(found.value) {
                found.wrong::<()>(expected);
            }
        }
    }

    pub(super) fn finish(self) {
        let keys = self.layers.iter().flat_map(|(_, map)| map.keys());
        for key in keys.filter(|key| !self.known.contains(&key.as_str())) {
            let place = printable(&self.place(key));
            match self.meant(key) {
                Some(meant) => {
                    let message = format!("`{place}` is unknown; did you mean `{meant}`?");
                    self.findings.invalid(message);
                }
                None => self.findings.stranger(&place),
            }
        }
    }

    /// The known key that this one probably stands for: by a list of other names, otherwise by similarity.
    fn meant(&self, key: &str) -> Option<&'static str> {
        if key.chars().nth(LONGEST).is_some() {
            return None;
        }
        let like =
            |known: &&'static str| (strsim::normalized_damerau_levenshtein(key, known), *known);
        synonyms::meant(key, &self.known).or_else(|| {
            let near = self.known.iter().map(like);
            let near = near.filter(|(likeness, _)| *likeness >= LIKE);
            near.max_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(_, known)| known)
        })
    }
}

/// The type of a key that has no effect, and its name.
pub(super) type Shape = (fn(&Value) -> bool, &'static str);

pub(super) const TEXT: Shape = (Value::is_string, "a text");
pub(super) const NUMBER: Shape = (Value::is_number, "a number");
pub(super) const LIST: Shape = (Value::is_array, "an array");
pub(super) const OBJECT: Shape = (Value::is_object, "an object");

fn kind(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null; leave the key out if nothing is meant",
        Value::Bool(_) => "a boolean",
        Value::Number(number) => return format!("the number {number}"),
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    kind.to_owned()
}

/// The path without the components that lead nowhere, `.` and empty ones. The first component tells an
/// absolute path and the last one a directory: an empty first one stays, and so do `.` and empty last ones.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let last = parts.len() - 1;
    let kept = parts.iter().enumerate().filter(|(at, part)| match **part {
        "" => *at == 0 || *at == last,
        "." => *at == last,
        _ => true,
    });
    kept.map(|(_, part)| *part).collect::<Vec<_>>().join("/")
}

/// Whether a path that was refused would leave the root on this or another operating system.
fn leads_out(path: &str) -> bool {
    let drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    drive || path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..")
}

/// `a`, `b`, `c`
pub(super) fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// A word of the plan in a message, in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text))
}

/// The beginning of a text of the plan, with unprintable characters escaped.
fn printable(text: &str) -> String {
    const LONGEST: usize = 100;
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}
