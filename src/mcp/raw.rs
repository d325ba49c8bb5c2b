//! JSON as the text that was received, so that a large answer is not copied.

use std::{fmt, ops::Range, sync::Arc};

use serde_json::{Value, value::RawValue};

use super::bounds;
use crate::task::{has_all_members, values};

/// One JSON value inside a line of a server; clones share the line.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Raw {
    line: Arc<String>,
    range: Range<usize>,
}

/// Short: the text may be megabytes.
impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.range.len())
    }
}

impl Raw {
    pub(super) fn within(line: String, range: Range<usize>) -> Self {
        Self {
            line: Arc::new(line),
            range,
        }
    }

    pub(crate) fn get(&self) -> &str {
        self.line.get(self.range.clone()).unwrap_or_default()
    }

    /// A part of this value; it must borrow from [`Raw::get`].
    pub(crate) fn part(&self, part: &RawValue) -> Self {
        let within = place(self.get().as_bytes(), part.get());
        Self {
            line: Arc::clone(&self.line),
            range: self.range.start + within.start..self.range.start + within.end,
        }
    }

    /// The whole value, unless it contains too many values, which take many times the memory of their text.
    pub(crate) fn value(&self) -> Result<Value, String> {
        let values = values(self.get());
        if values > bounds::VALUES {
            return Err(format!(
                "it holds {values} values, and no more than {} are read",
                bounds::VALUES
            ));
        }
        serde_json::from_str(self.get()).map_err(|error| error.to_string())
    }

    /// The same. Fails if an object has two members with one name.
    pub(crate) fn distinct(&self) -> Result<Value, String> {
        let value = self.value()?;
        if has_all_members(&value, self.get()) {
            return Ok(value);
        }
        Err("two members of an object have one name".to_owned())
    }
}

impl From<String> for Raw {
    /// The text must be one JSON value.
    fn from(text: String) -> Self {
        let range = 0..text.len();
        Self::within(text, range)
    }
}

/// The range of `part` in `whole`, of which it is a slice.
pub(super) fn place(whole: &[u8], part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_members_with_one_name_are_not_distinct() {
        let raw = |text: &str| Raw::from(text.to_owned());
        for text in [r#"{"a":1,"a":2}"#, r#"{"b":[{"a":"x","\u0061":[]}]}"#] {
            assert!(raw(text).distinct().is_err(), "{text}");
        }
        for text in [
            r#"{"a":1,"b":{"a":",{"}}"#,
            "[ ]",
            r#"["\u002c"]"#,
            "-0.50e1",
        ] {
            assert!(raw(text).distinct().is_ok(), "{text}");
        }
    }

    #[test]
    fn a_part_of_a_part_is_the_text_that_came() {
        let line = r#"{"result": {"a": [1, {"b":2}]}}"#.to_owned();
        let end = line.len() - 1;
        let raw = Raw::within(line, 11..end);
        assert_eq!(raw.get(), r#"{"a": [1, {"b":2}]}"#);
        let members: std::collections::BTreeMap<&str, &RawValue> =
            serde_json::from_str(raw.get()).unwrap();
        let list = raw.part(members["a"]);
        assert_eq!(list.get(), r#"[1, {"b":2}]"#);
        let items: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap();
        assert_eq!(list.part(items[1]).get(), r#"{"b":2}"#);
    }
}
