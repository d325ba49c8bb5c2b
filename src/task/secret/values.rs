//! Cuts values that were passed on to a server from the server's output. Numbers are compared by their value: `4821`,
//! `4821.0` and `4.821e+03` are equal.

use std::{
    fmt, iter,
    ops::Range,
    sync::{Arc, OnceLock},
};

use serde_json::{Number, Value};

use super::{
    CUT, decoded,
    forms::{Forms, MANY, SHORTEST},
    object, redact_presigned, without,
};

/// A number that contains this many digits of a value does not contain them by chance.
const LONG_NUMBER: usize = 8;

/// The most bytes that one byte takes when it is escaped. `\\\\u0022` and `%255Cu0022` are the longest escapes in
/// use.
const ESCAPED: usize = 12;

/// The values to cut. The search is built only if there are values, and all copies share it.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Option<Arc<Known>>);

impl PartialEq for Secrets {
    fn eq(&self, other: &Self) -> bool {
        self.values() == other.values()
    }
}

struct Known {
    values: Vec<String>,
    numbers: Vec<Numeral>,
    /// The values that are the JSON of an object or an array. A server may send them in another spelling.
    documents: Vec<Value>,
    /// The search; `None` if it could not be built. Then nothing is shown.
    forms: OnceLock<Option<Forms>>,
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
        let known = Known {
            numbers: values
                .iter()
                .filter_map(|value| Numeral::read(value))
                .collect(),
            documents: values.iter().filter_map(|value| document(value)).collect(),
            values,
            forms: OnceLock::new(),
        };
        Self((!known.values.is_empty()).then(|| Arc::new(known)))
    }

    /// The secrets of several calls together, because one tool may get what another tool returned.
    pub(crate) fn all(of: impl IntoIterator<Item = Self>) -> Self {
        let of: Vec<Self> = of.into_iter().filter(|each| !each.is_empty()).collect();
        match of.as_slice() {
            [one] => one.clone(),
            several => Self::new(several.iter().flat_map(Self::values).cloned()),
        }
    }

    pub(crate) fn and(&self, others: Vec<String>) -> Self {
        Self::all([self.clone(), Self::new(others)])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn values(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |known| &known.values)
    }

    /// How far windows of a text must overlap, in bytes, so that every value is found in any spelling: the longest
    /// value, or the beginning of a very long one, with all bytes escaped.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.values().iter().map(String::len);
        lengths.max().unwrap_or(0).min(MANY) * ESCAPED
    }

    pub(crate) fn cut(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
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

    /// Cuts the values from every text of a JSON value, names included, and replaces numbers that reveal a value.
    pub(crate) fn cut_value(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        if self.is_document(&value) {
            return Value::from(CUT);
        }
        match value {
            Value::String(text) => Value::String(self.cut(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.cut_value(item)).collect(),
            Value::Object(members) => object(
                members
                    .into_iter()
                    .map(|(name, item)| (self.cut(&name), self.cut_value(item))),
            ),
            Value::Number(number) if self.stand_in(&number) => Value::from(CUT),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }

    /// Whether a number has the digits of a value, whatever its sign, point and exponent are, or contains a long
    /// value. A short value, such as a port, occurs in many numbers by chance.
    pub(super) fn stand_in(&self, number: &Number) -> bool {
        let text = number.to_string();
        let text = text.trim_start_matches('-');
        if Numeral::read(text).is_some_and(|number| self.tell(&number)) {
            return true;
        }
        let (decimal, _) = text.split_once(['e', 'E']).unwrap_or((text, ""));
        let whole = match decimal.split_once('.') {
            Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
            _ => decimal,
        };
        let digits = decimal.replace('.', "");
        [text, whole, &digits].into_iter().any(|spelling| {
            let is_all = |found: &Range<usize>| found.len() == spelling.len();
            let mut found = self.found(spelling.as_bytes()).into_iter();
            found.any(|found| is_all(&found) || found.len() >= LONG_NUMBER)
        })
    }

    /// Whether a number in a text tells a value, as in [`Self::stand_in`]. A short one without an exponent occurs by
    /// chance. Numbers that contain a value as it is written are found by the search.
    fn told(&self, number: &str, forms: &Forms) -> bool {
        let (decimal, power) = number.split_once(['e', 'E']).unwrap_or((number, ""));
        if power.is_empty() && number.len() < SHORTEST {
            return false;
        }
        let tells = |read: &Numeral| (read.is_long() || !power.is_empty()) && self.tell(read);
        let mut found = Vec::new();
        if decimal.contains('.') {
            forms.find(decimal.replace('.', "").as_bytes(), &mut found);
        }
        Numeral::read(number).as_ref().is_some_and(tells)
            || found.iter().any(|found| found.len() >= LONG_NUMBER)
    }

    fn has_a_number(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|known| !known.numbers.is_empty())
    }

    /// Whether a value is found with certainty only among the values of JSON, because its spelling may differ.
    pub(crate) fn has_json(&self) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|known| !known.numbers.is_empty() || !known.documents.is_empty())
    }

    fn is_document(&self, value: &Value) -> bool {
        let known = self.0.as_ref();
        known.is_some_and(|known| known.documents.contains(value))
    }

    /// Whether a number is a value in another spelling.
    fn tell(&self, number: &Numeral) -> bool {
        let numbers = self.0.as_ref().map_or(&[][..], |known| &known.numbers);
        numbers.iter().any(|known| known.tells(number))
    }

    /// The ranges of the values in the text, in order, with overlapping ranges joined.
    pub(super) fn found(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(known) = &self.0 else {
            return Vec::new();
        };
        match known.forms.get_or_init(|| Forms::of(&known.values)) {
            Some(forms) => decoded::find(text, |text, found| {
                forms.find(text, found);
                if self.has_a_number() {
                    let told = within(text).filter(|place| {
                        let spelling = text.get(place.clone()).map(str::from_utf8);
                        spelling.is_some_and(|text| text.is_ok_and(|text| self.told(text, forms)))
                    });
                    found.extend(told);
                }
            }),
            None => iter::once(0..text.len()).collect(),
        }
    }
}

/// The object or array whose JSON a value is.
fn document(value: &str) -> Option<Value> {
    let is_document = value.trim_start().starts_with(['{', '[']);
    let read = is_document.then(|| serde_json::from_str(value));
    read?.ok()
}

#[cfg(test)]
mod tests;

/// A decimal number without its sign: its digits without leading and trailing zeros, and the power of ten of the
/// last.
#[derive(Debug, PartialEq, Eq)]
struct Numeral {
    digits: String,
    power: i64,
}

impl Numeral {
    /// Reads a whole text as a number; `None` if it is zero or not a number.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches(['-', '+']);
        let (decimal, power) = match text.split_once(['e', 'E']) {
            Some((decimal, power)) => (decimal, i64::from(power.parse::<i32>().ok()?)),
            None => (text, 0),
        };
        let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
        let all = format!("{whole}{fraction}");
        if !all.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        let last =
            i64::try_from(fraction.len() + kept.len()).ok()? - i64::try_from(all.len()).ok()?;
        (!digits.is_empty()).then_some(Self {
            digits,
            power: power - last,
        })
    }

    /// Whether one number reveals the other: they have the same value or, if these are long enough, the same
    /// digits.
    pub(super) fn tells(&self, other: &Self) -> bool {
        self.digits == other.digits && (self.power == other.power || self.is_long())
    }

    /// Whether it has so many digits that they do not occur by chance.
    pub(super) fn is_long(&self) -> bool {
        self.digits.len() >= SHORTEST
    }
}

/// The numbers in a text: from the beginning of each group of digits, as far as one number reaches. Anything can stand
/// beside them: `v6e+09`, `1-6e+09`, `0.6.5`.
fn within(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut next = 0;
    iter::from_fn(move || {
        let start = next + text.get(next..)?.iter().position(u8::is_ascii_digit)?;
        next = start + digits(start);
        let fraction = match text.get(next) {
            Some(b'.') => 1 + digits(next + 1),
            _ => 0,
        };
        let mark = next + fraction;
        let sign = usize::from(matches!(text.get(mark + 1), Some(b'+' | b'-')));
        let power = match (text.get(mark), digits(mark + 1 + sign)) {
            (Some(b'e' | b'E'), count @ 1..) => 1 + sign + count,
            _ => 0,
        };
        // A full stop is no part of a number.
        let end = if fraction == 1 && power == 0 {
            next
        } else {
            mark + power
        };
        Some(start..end)
    })
}
