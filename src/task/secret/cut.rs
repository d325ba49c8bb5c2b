//! How parts are cut from a text and from the texts of a JSON value.

use std::ops::Range;

use serde_json::{Number, Value};

use crate::task::ids::unique;

/// The text that replaces each cut part.
pub(crate) const CUT: &str = "***";

/// The text with [`CUT`] in place of these ranges, which must be in order and disjoint.
pub(super) fn without(text: &[u8], cuts: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut shown = Vec::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        shown.extend_from_slice(text.get(from..cut.start).unwrap_or_default());
        shown.extend_from_slice(CUT.as_bytes());
        from = cut.end;
    }
    shown.extend_from_slice(text.get(from..).unwrap_or_default());
    String::from_utf8(shown)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The ranges in order, with overlapping ranges joined.
pub(super) fn joined(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    found.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    found
}

/// The value with every text in it, names included, as `cut` leaves it. A number becomes such a text if it `tells`
/// a secret.
pub(super) fn cut_json(
    value: Value,
    cut: &mut dyn FnMut(&str) -> String,
    tells: &dyn Fn(&Number) -> bool,
) -> Value {
    match value {
        Value::String(text) => Value::String(cut(&text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| cut_json(item, cut, tells))
            .collect(),
        Value::Object(members) => object(
            members
                .into_iter()
                .map(|(name, item)| (cut(&name), cut_json(item, cut, tells))),
        ),
        Value::Number(number) if tells(&number) => Value::String(cut(&number.to_string())),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

/// An object with these members. The second and later members of the same name get a number, so that none is lost.
pub(super) fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let (names, items): (Vec<String>, Vec<Value>) = members.into_iter().unzip();
    let names = unique(names.iter().map(String::as_str), |name, number| {
        format!("{name} ({number})")
    });
    names.into_iter().zip(items).collect()
}
