//! Values that were handed on to a server, cut out of what it says.

use std::{
    fmt, iter,
    ops::Range,
    sync::{Arc, OnceLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::Value;

use super::{CUT, decoded, object, redact_presigned, without};
use crate::task::hexadecimal;

/// A value as short as a flag is no secret, and cutting it out would garble every text.
const SHORTEST: usize = 4;

/// Lines of a value are looked for by themselves from this length on: shorter ones are punctuation.
const SHORTEST_LINE: usize = 8;

/// Written with escapes, a byte takes at most so many: `\\\\u0022` and `%255Cu0022` are the longest of
/// those that are met.
const ESCAPED: usize = 12;

/// The values to cut. Nothing is built while there are none, and all copies share what is built.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Option<Arc<Known>>);

impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        let values = |secrets: &Self| secrets.0.as_ref().map(|known| known.values.clone());
        values(self) == values(other)
    }
}

struct Known {
    values: Vec<String>,
    /// None where it could not be built: then nothing is shown.
    forms: OnceLock<Option<Forms>>,
}

/// How the values may be written, but for escapes, which are undone.
struct Forms {
    finder: AhoCorasick,
    edges: Vec<Edges>,
}

/// How many letters beside a form hold a part of the value, too.
#[derive(Clone, Copy, Default)]
struct Edges {
    before: usize,
    after: usize,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values().len())
    }
}

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let long = |value: &String| value.trim().len() >= SHORTEST;
        let values: Vec<String> = values.into_iter().filter(long).collect();
        let forms = OnceLock::new();
        Self((!values.is_empty()).then(|| Arc::new(Known { values, forms })))
    }

    /// Those of several calls: what one is given, another may be told.
    pub(crate) fn all(of: impl IntoIterator<Item = Self>) -> Self {
        let of: Vec<Self> = of.into_iter().filter(|each| !each.is_empty()).collect();
        match of.as_slice() {
            [one] => one.clone(),
            several => Self::new(several.iter().flat_map(Self::values).cloned()),
        }
    }

    /// These and others.
    pub(crate) fn and(&self, others: Vec<String>) -> Self {
        Self::all([self.clone(), Self::new(others)])
    }

    /// Whether there is nothing to cut.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn values(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |known| &known.values)
    }

    /// The length of the longest, however it is written: a window must overlap by this much to see
    /// all of it.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.values().iter().map(String::len);
        lengths.max().unwrap_or(0) * ESCAPED
    }

    /// The text without them.
    pub(crate) fn cut(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        without(text.as_bytes(), self.found(text.as_bytes()))
    }

    /// The text without them, and without what grants access in links: what people may be shown.
    pub(crate) fn shown(&self, text: &str) -> String {
        redact_presigned(&self.cut(text)).into_owned()
    }

    /// The bytes of `window` as text, lossy, without them: also without one that reaches into the window,
    /// or out of it.
    pub(crate) fn cut_within(&self, bytes: &[u8], window: Range<usize>) -> String {
        let end = window.end.min(bytes.len());
        let start = window.start.min(end);
        let found = self.found(bytes).into_iter();
        let inside = found.filter(|cut| cut.end > start && cut.start < end);
        let inside = inside.map(|cut| cut.start.max(start) - start..cut.end.min(end) - start);
        without(bytes.get(start..end).unwrap_or_default(), inside)
    }

    /// The same in every text of a JSON value, names included; and a number that is one of them.
    pub(crate) fn cut_value(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.cut(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.cut_value(item)).collect(),
            Value::Object(members) => object(
                members
                    .into_iter()
                    .map(|(name, item)| (self.cut(&name), self.cut_value(item))),
            ),
            Value::Number(number) if self.values().contains(&number.to_string()) => {
                Value::from(CUT)
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    /// Where they stand, in order, overlaps joined.
    fn found(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(known) = &self.0 else {
            return Vec::new();
        };
        match known.forms.get_or_init(|| Forms::of(&known.values)) {
            Some(forms) => decoded::find(text, |text, found| forms.find(text, found)),
            None => iter::once(0..text.len()).collect(),
        }
    }
}

impl Forms {
    fn of(values: &[String]) -> Option<Self> {
        let mut patterns: Vec<(Vec<u8>, Edges)> = Vec::new();
        for value in values {
            for word in words(value) {
                plain_forms(word, &mut patterns);
                base64_forms(word.as_bytes(), &mut patterns);
            }
        }
        let (patterns, edges): (Vec<_>, Vec<_>) = patterns.into_iter().unzip();
        let finder = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(patterns)
            .ok()?;
        Some(Self { finder, edges })
    }

    fn find(&self, text: &[u8], found: &mut Vec<Range<usize>>) {
        for form in self.finder.find_overlapping_iter(text) {
            let edges = self.edges.get(form.pattern().as_usize());
            let edges = edges.copied().unwrap_or_default();
            let beside = |byte: Option<&u8>| byte.is_some_and(|byte| is_base64(*byte));
            let before = form.start().checked_sub(edges.before);
            let before = before.filter(|before| beside(text.get(*before)));
            let after = edges.after > 0 && beside(text.get(form.end()));
            let range = before.unwrap_or(form.start())..form.end() + usize::from(after);
            match found.last_mut() {
                Some(last) if range.start >= last.start && range.start < last.end => {
                    last.end = last.end.max(range.end);
                }
                _ => found.push(range),
            }
        }
    }
}

/// What is looked for of a value: itself, without blanks around it, and its lines.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let lines = value.trim().lines().map(str::trim);
    let lines = lines.filter(|line| line.len() >= SHORTEST_LINE);
    [value, value.trim()].into_iter().chain(lines)
}

/// As it is, with its own escapes undone, as a form of a page sends its blanks, and in hexadecimal.
fn plain_forms(word: &str, into: &mut Vec<(Vec<u8>, Edges)>) {
    let hexadecimal = hexadecimal(word.as_bytes());
    let forms = [
        word.as_bytes().to_vec(),
        decoded::meant(word.as_bytes()),
        word.replace(' ', "+").into_bytes(),
        hexadecimal.to_ascii_uppercase().into_bytes(),
        hexadecimal.into_bytes(),
    ];
    let long = forms.into_iter().filter(|form| form.len() >= SHORTEST);
    into.extend(long.map(|form| (form, Edges::default())));
}

/// In base64, wherever the value stands in what was encoded: the letters that depend on nothing else, and
/// beside them one at each side that holds the rest of its bits.
fn base64_forms(word: &[u8], into: &mut Vec<(Vec<u8>, Edges)>) {
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(word);
        let bits = bytes.len() * 8;
        let from = (before * 8).div_ceil(6);
        let whole = from..bits / 6;
        let edges = Edges {
            before: usize::from(before > 0),
            after: usize::from(bits % 6 > 0),
        };
        for encoded in [
            STANDARD_NO_PAD.encode(&bytes),
            URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            if let Some(form) = encoded
                .get(whole.clone())
                .filter(|form| form.len() >= SHORTEST)
            {
                into.push((form.as_bytes().to_vec(), edges));
            }
        }
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

#[cfg(test)]
mod tests;
