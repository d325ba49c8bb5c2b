//! Cuts secret values out of texts before they leave this room.

use std::{fmt, ops::Range};

use serde_json::Value;

/// What a secret is replaced by.
const MASK: &str = "***";

/// The values to cut, longest first, so that one which contains another goes as a whole.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    pub(crate) fn new(values: &[String]) -> Self {
        let mut values: Vec<String> = values
            .iter()
            .filter(|value| !value.is_empty())
            .cloned()
            .collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// The length of the longest: a window must overlap by this much to see all of it.
    pub(super) fn longest(&self) -> usize {
        self.0.first().map_or(0, String::len)
    }

    pub(crate) fn cut(&self, text: &str) -> String {
        self.cut_within(text.as_bytes(), 0..text.len())
    }

    /// The bytes of `window` as text, lossy, with every secret replaced: also one that reaches
    /// into the window, or out of it.
    pub(super) fn cut_within(&self, bytes: &[u8], window: Range<usize>) -> String {
        let mut kept = Vec::with_capacity(window.len().min(bytes.len()));
        let mut at = 0;
        while at < window.end
            && let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty())
        {
            let secret = self
                .0
                .iter()
                .find(|secret| rest.starts_with(secret.as_bytes()));
            let end = at + secret.map_or(1, String::len);
            if end > window.start {
                match secret {
                    Some(_) => kept.extend_from_slice(MASK.as_bytes()),
                    None => kept.extend(rest.first()),
                }
            }
            at = end;
        }
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// The same in every string of a JSON value, names included.
    pub(crate) fn cut_value(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.cut(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.cut_value(item)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(name, item)| (self.cut(&name), self.cut_value(item)))
                .collect(),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(&values.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn every_occurrence_goes_the_longest_secret_first() {
        assert_eq!(
            secrets(&["key", "key-1", ""]).cut("key-1 and key"),
            "*** and ***"
        );
    }

    #[test]
    fn a_secret_across_an_edge_of_the_window_leaves_no_part() {
        let secrets = secrets(&["hunter2"]);
        assert_eq!(secrets.cut_within(b"xxhunter2yy", 5..11), "***yy");
        assert_eq!(secrets.cut_within(b"xxhunter2yy", 0..5), "xx***");
    }

    #[test]
    fn names_and_values_of_json_are_cut_alike() {
        let cut = secrets(&["s3"]).cut_value(serde_json::json!({"s3": ["s3", 3]}));
        assert_eq!(cut, serde_json::json!({"***": ["***", 3]}));
    }
}
