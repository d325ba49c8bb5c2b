//! How parts are cut from a text and from the texts of a JSON value.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use crate::task::ids::unique;

/// The text that replaces each cut part.
pub(crate) const CUT: &str = "***";

/// The text with [`CUT`] in place of these ranges, which must be in order and disjoint.
pub(super) fn without(text: &[u8], cuts: impl IntoIterator<Item = Range<usize>>) -> String {
    let part = |range| String::from_utf8_lossy(text.get(range).unwrap_or_default());
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for cut in cuts {
        shown += &part(from..cut.start);
        shown += CUT;
        from = cut.end;
    }
    shown + &part(from..text.len())
}

/// Adds a range, joined with the last one if it begins within that.
pub(super) fn add(found: &mut Vec<Range<usize>>, next: Range<usize>) {
    match found.last_mut() {
        Some(last) if last.contains(&next.start) => last.end = last.end.max(next.end),
        _ => found.push(next),
    }
}

/// The ranges in order, with overlapping ranges joined.
pub(super) fn joined(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| range.start);
    let mut joined = Vec::new();
    for range in found {
        add(&mut joined, range);
    }
    joined
}

/// The value with every text in it, names included, as `cut` leaves it. A number becomes such a text if it `tells`
/// a secret.
pub(super) fn cut_json(
    value: Value,
    cut: &mut dyn FnMut(&str) -> String,
    tells: &dyn Fn(&Number) -> bool,
) -> Value {
    match value {
        Value::String(text) => cut(&text).into(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| cut_json(item, cut, tells))
            .collect(),
        Value::Object(members) => object(
            members
                .into_iter()
                .map(|(name, item)| (cut(&name), cut_json(item, cut, tells))),
        )
        .into(),
        Value::Number(number) if tells(&number) => cut(&number.to_string()).into(),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

/// An object with these members. The second and later members of the same name get a number, so that none is lost.
pub(super) fn object(members: impl IntoIterator<Item = (String, Value)>) -> Map<String, Value> {
    let (names, items): (Vec<String>, Vec<Value>) = members.into_iter().unzip();
    let names = unique(names.iter().map(String::as_str), |name, number| {
        format!("{name} ({number})")
    });
    names.into_iter().zip(items).collect()
}
