//! Cuts values that were passed on to a server from the server's output.

use std::{
    collections::BTreeSet,
    fmt,
    ops::Range,
    sync::{Arc, OnceLock},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use serde_json::{Number, Value};

use super::{
    cut::{add, cut_json, without},
    escapes, redact_presigned,
};

/// The shortest secret, in bytes. Shorter values are flags, and cutting them would garble every text.
const SHORTEST: usize = 4;

/// The shortest line of a value that is searched for on its own. Shorter lines are punctuation.
const SHORTEST_LINE: usize = 8;

/// A number that contains this many digits of a value does not contain them by chance.
const LONG_NUMBER: usize = 8;

/// The most bytes that all values have together. The search takes some hundred times their length in memory.
const MOST: usize = 256 * 1024;

/// The most bytes that one byte takes when it is escaped: `\u0022`.
const ESCAPED: usize = 6;

/// The values to cut. All copies share them, and the search, which is built for the first text.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<Known>);

#[derive(Default)]
struct Known {
    values: Vec<String>,
    /// `None` if the values are too long for it. Then nothing is shown.
    search: OnceLock<Option<AhoCorasick>>,
}

impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        self.0.values == other.0.values
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.values.len())
    }
}

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let long = |value: &String| value.trim().len() >= SHORTEST;
        Self(Arc::new(Known {
            values: values.into_iter().filter(long).collect(),
            ..Known::default()
        }))
    }

    /// The secrets of several calls together, because one tool may get what another tool returned.
    pub(crate) fn all(of: impl IntoIterator<Item = Self>) -> Self {
        let of: Vec<Self> = of.into_iter().filter(|each| !each.is_empty()).collect();
        match of.as_slice() {
            [one] => one.clone(),
            several => Self::new(several.iter().flat_map(|each| &each.0.values).cloned()),
        }
    }

    pub(crate) fn and(&self, others: Vec<String>) -> Self {
        Self::all([self.clone(), Self::new(others)])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.values.is_empty()
    }

    /// How far windows of a text must overlap, in bytes, so that every value is found: the longest value, with all bytes
    /// escaped.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.0.values.iter().map(String::len);
        lengths.max().unwrap_or(0).min(MOST) * ESCAPED
    }

    pub(crate) fn cut(&self, text: &str) -> String {
        without(text.as_bytes(), self.found(text.as_bytes()))
    }

    /// The text for people: without the values, and without what grants access in links.
    pub(crate) fn shown(&self, text: &str) -> String {
        redact_presigned(&self.cut(text)).into_owned()
    }

    /// The bytes of `window` as lossy text without the values, also without a value that is partly outside the
    /// window.
    pub(crate) fn cut_within(&self, bytes: &[u8], window: Range<usize>) -> String {
        let end = window.end.min(bytes.len());
        let start = window.start.min(end);
        let found = self.found(bytes).into_iter();
        let inside = found.filter(|cut| cut.end > start && cut.start < end);
        let inside = inside.map(|cut| cut.start.max(start) - start..cut.end.min(end) - start);
        without(bytes.get(start..end).unwrap_or_default(), inside)
    }

    /// Cuts the values from every text of a JSON value, names included, and from numbers that tell a value.
    pub(crate) fn cut_value(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        cut_json(value, &mut |text| self.cut(text), &|number| {
            self.is_told_by(number)
        })
    }

    /// Whether a number is a value, or contains a long one. A short value, such as a port, occurs in many numbers by
    /// chance.
    pub(super) fn is_told_by(&self, number: &Number) -> bool {
        let text = number.to_string();
        let digits = text.trim_start_matches('-');
        let mut found = self.found(digits.as_bytes()).into_iter();
        found.any(|found| found.len() == digits.len() || found.len() >= LONG_NUMBER)
    }

    /// The ranges of the values in the text, in order, with overlapping ranges joined.
    pub(super) fn found(&self, text: &[u8]) -> Vec<Range<usize>> {
        if self.is_empty() {
            return Vec::new();
        }
        let search = self.0.search.get_or_init(|| search(&self.0.values));
        escapes::find(text, |text| {
            let mut found = Vec::new();
            match search {
                Some(search) => search
                    .find_overlapping_iter(text)
                    .for_each(|form| add(&mut found, form.range())),
                None => found.push(0..text.len()),
            }
            found
        })
    }
}

/// The search for all forms of these values; `None` if they are too long together.
fn search(values: &[String]) -> Option<AhoCorasick> {
    if values.iter().map(String::len).sum::<usize>() > MOST {
        return None;
    }
    let forms = values.iter().flat_map(|value| words(value)).flat_map(forms);
    let forms: BTreeSet<String> = forms.filter(|form| form.len() >= SHORTEST).collect();
    let kind = Some(AhoCorasickKind::ContiguousNFA);
    AhoCorasick::builder().kind(kind).build(forms).ok()
}

/// The parts of a value that are searched for: the value, the value without blanks around it, and its lines.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let lines = value.lines().map(str::trim);
    let lines = lines.filter(|line| line.len() >= SHORTEST_LINE);
    [value, value.trim()].into_iter().chain(lines)
}

/// A word as it is, as an HTML form writes it (`+` for a space), and in base64.
fn forms(word: &str) -> Vec<String> {
    let mut forms = vec![word.to_owned(), word.replace(' ', "+")];
    // The word may stand behind other bytes. Only the characters that depend on nothing but the word are searched for.
    for before in 0..3 {
        let bytes = [&vec![0; before], word.as_bytes()].concat();
        let whole = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for base64 in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let encoded = base64.encode(&bytes);
            forms.extend(encoded.get(whole.clone()).map(str::to_owned));
        }
    }
    forms
}

#[cfg(test)]
mod tests;
