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

    /// Whether there is nothing to cut.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The length of the longest, however it is written: a window must overlap by this much to see
    /// all of it.
    pub(super) fn longest(&self) -> usize {
        /// `\u0022` for one byte is the longest JSON makes of any.
        const ESCAPED: usize = 6;
        self.0.first().map_or(0, |secret| secret.len() * ESCAPED)
    }

    pub(crate) fn cut(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
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
            // Most bytes begin no secret, and are taken in one go.
            let plain = rest.iter().position(|byte| self.may_begin(*byte));
            let plain = plain.unwrap_or(rest.len());
            if plain > 0 {
                let run = at.max(window.start)..(at + plain).min(window.end);
                kept.extend_from_slice(bytes.get(run).unwrap_or_default());
                at += plain;
                continue;
            }
            let secret = self.0.iter().find_map(|secret| length(rest, secret));
            let end = at + secret.unwrap_or(1);
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

    /// Whether a secret, however it is written, may begin with this byte.
    fn may_begin(&self, byte: u8) -> bool {
        byte == b'\\'
            || self
                .0
                .iter()
                .any(|secret| secret.as_bytes().first() == Some(&byte))
    }

    /// The same in every string of a JSON value, names included; and a number that is a secret.
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
            Value::Number(number) if self.0.contains(&number.to_string()) => Value::from(MASK),
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
        }
    }
}

/// How many bytes at the front of `text` are the secret: as it is, or as any JSON writer escapes it.
fn length(text: &[u8], secret: &str) -> Option<usize> {
    if text.starts_with(secret.as_bytes()) {
        return Some(secret.len());
    }
    let mut at = 0;
    for letter in secret.chars() {
        let rest = text.get(at..)?;
        at += if rest.first()? == &b'\\' {
            escape(rest, letter)?
        } else {
            let mut raw = [0; 4];
            let raw = letter.encode_utf8(&mut raw).as_bytes();
            rest.starts_with(raw).then_some(raw.len())?
        };
    }
    Some(at)
}

/// How many bytes at the front of `text` are an escape (RFC 8259, section 7) for this letter.
fn escape(text: &[u8], letter: char) -> Option<usize> {
    let meant = match text.get(1)? {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let mut units = [0; 2];
            let units = letter.encode_utf16(&mut units);
            let mut parts = text.chunks(6);
            let same = units.iter().all(|unit| {
                let hex = parts.next().and_then(|part| part.strip_prefix(br"\u"));
                let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
                hex.and_then(|hex| u16::from_str_radix(hex, 16).ok()) == Some(*unit)
            });
            return same.then_some(units.len() * 6);
        }
        plain => char::from(*plain),
    };
    (meant == letter).then_some(2)
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
    fn a_secret_is_found_however_json_escapes_it() {
        let secret = "p\"a\\s/s<é\u{1f511}\n";
        let secrets = secrets(&[secret]);
        for written in [
            secret,
            r#"p\"a\\s/s<é🔑\n"#,
            r#"p\"a\\s\/s\u003c\u00e9\ud83d\udd11\u000A"#,
        ] {
            assert_eq!(secrets.cut(&format!("({written})")), "(***)", "{written}");
            assert!(written.len() <= secrets.longest());
        }
        for other in [r#"p\"a\s"#, r"p\u0022a\u", r"p\"] {
            assert_eq!(secrets.cut(other), other);
        }
    }

    #[test]
    fn names_and_values_of_json_are_cut_alike() {
        let cut = secrets(&["s3"]).cut_value(serde_json::json!({"s3": ["s3", 3]}));
        assert_eq!(cut, serde_json::json!({"***": ["***", 3]}));
    }

    #[test]
    fn a_number_that_is_a_secret_goes_and_one_that_holds_its_digits_stays() {
        let cut = secrets(&["4711"]).cut_value(serde_json::json!([4711, 47110, "4711", true]));
        assert_eq!(cut, serde_json::json!(["***", 47110, "***", true]));
    }
}
