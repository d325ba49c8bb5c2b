//! The pin of a tool: a fingerprint of the tool as its server lists it, by which a change is found.
//!
//! The form is `sha256:CONTRACT/INPUT/OUTPUT/DESCRIPTION`. CONTRACT is the SHA-256 of the canonical text (RFC 8785) of
//! `{inputSchema, name, outputSchema}`, without the members that are missing. INPUT and OUTPUT are the first
//! 8 digits of the SHA-256 of each schema alone, or `-`; they only show which one changed. DESCRIPTION is the same for
//! the description, as JSON. A pin can lack it, and no run depends on it.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{canonical, hexadecimal};

/// A tool's name, input schema, output schema and description, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin(String);

/// The part of a schema that is missing.
const NONE: &str = "-";
const PART: usize = 8;

impl Pin {
    /// The pin of a tool as its server lists it.
    pub fn of(
        name: &str,
        input: Option<&Value>,
        output: Option<&Value>,
        description: Option<&Value>,
    ) -> Self {
        let output = output.map(object_schema);
        let output = output.as_deref();
        let mut contract = Map::from_iter([("name".to_owned(), name.into())]);
        for (member, schema) in [("inputSchema", input), ("outputSchema", output)] {
            let schema = schema.map(|schema| (member.to_owned(), schema.clone()));
            contract.extend(schema);
        }
        let part = |schema: Option<&Value>| {
            let digits = schema.map(|schema| digest(schema).chars().take(PART).collect());
            digits.unwrap_or_else(|| NONE.to_owned())
        };
        let contract = digest(&contract.into());
        Self(format!(
            "sha256:{contract}/{}/{}/{}",
            part(input),
            part(output),
            part(description)
        ))
    }

    /// How a pinned tool differs from its pin; `None` if it does not.
    pub fn drift(&self, now: Self) -> Option<Drift> {
        let same = |part| self.part(part) == now.part(part);
        if (0..3).all(same) {
            return None;
        }
        let differs = match (same(1), same(2)) {
            (false, true) => Differs::Input,
            (true, false) => Differs::Output,
            (false, false) => Differs::Both,
            (true, true) => Differs::Tool,
        };
        Some(Drift {
            pinned: self.clone(),
            now: Some(now),
            differs,
        })
    }

    fn part(&self, part: usize) -> Option<&str> {
        self.0.split('/').nth(part)
    }

    /// Whether the tool's description differs from that of the pin, if the pin has one.
    pub fn describes_another(&self, now: &Self) -> bool {
        self.part(3).is_some() && self.part(3) != now.part(3)
    }

    /// The drift of a tool that is not listed any more.
    pub fn gone(&self) -> Drift {
        Drift {
            pinned: self.clone(),
            now: None,
            differs: Differs::Gone,
        }
    }
}

/// An output schema as the older era has it, in which a result that is no object is the value of `result`. A pin therefore
/// fits a tool in both eras.
fn object_schema(schema: &Value) -> Cow<'_, Value> {
    if schema.get("type") == Some(&json!("object")) {
        return Cow::Borrowed(schema);
    }
    let mut object =
        json!({"type": "object", "properties": {"result": schema}, "required": ["result"]});
    if let (Some(object), Some(dialect)) = (object.as_object_mut(), schema.get("$schema")) {
        object.insert("$schema".to_owned(), dialect.clone());
    }
    Cow::Owned(object)
}

fn digest(value: &Value) -> String {
    // A number that no double can hold has no canonical form: its plain JSON text is hashed.
    let text = canonical(value).unwrap_or_else(|_| value.to_string());
    hexadecimal(&Sha256::digest(text))
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Pin {
    type Err = NoPin;

    fn from_str(text: &str) -> Result<Self, NoPin> {
        let hex = |part: &str, digits| {
            part.len() == digits && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let part = |part: &str| hex(part, PART) || part == NONE;
        let mut parts = text.strip_prefix("sha256:").ok_or(NoPin)?.split('/');
        let fits = parts.next().is_some_and(|contract| hex(contract, 64))
            && parts.next().is_some_and(part)
            && parts.next().is_some_and(part)
            && parts.next().is_none_or(part)
            && parts.next().is_none();
        fits.then(|| Self(text.to_owned())).ok_or(NoPin)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "it must be `sha256:` with 64 hexadecimal digits, and, each after a `/`, two or three times 8 digits or `-`, as `oneact doctor CAPABILITY` prints it"
)]
pub struct NoPin;

/// A pin, and what happens if the tool differs from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    pub pin: Pin,
    pub on_drift: OnDrift,
}

/// What a run does if the tool differs from its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDrift {
    /// The tool is not called.
    Fail,
    /// The tool is called, and the answer reports the difference.
    Warn,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    pub pinned: Pin,
    pub now: Option<Pin>,
    pub differs: Differs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differs {
    Gone,
    Input,
    Output,
    Both,
    /// Both schemas are the same, so the pin was made from another tool.
    Tool,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.differs {
            Differs::Gone => "the tool no longer exists",
            Differs::Input => "its input schema differs",
            Differs::Output => "its output schema differs",
            Differs::Both => "its input schema and its output schema differ",
            Differs::Tool => "the pin belongs to another tool",
        };
        write!(f, "{what} (pinned {}", self.pinned)?;
        match &self.now {
            Some(now) => write!(f, ", now {now})"),
            None => f.write_str(")"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(name: &str, input: &str, output: Option<&str>) -> Pin {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let output = output.map(value);
        Pin::of(name, Some(&value(input)), output.as_ref(), None)
    }

    #[test]
    fn a_result_that_is_no_object_has_one_pin_in_both_eras() {
        let modern = r#"{"$schema": "s", "type": "array", "items": {"type": "integer"}}"#;
        let legacy = format!(
            r#"{{"$schema": "s", "type": "object", "properties": {{"result": {modern}}}, "required": ["result"]}}"#
        );
        let [modern, legacy] = [modern, &legacy].map(|output| pin("t", "{}", Some(output)));
        assert_eq!(modern, legacy);
    }

    #[test]
    fn the_order_of_members_and_the_spelling_of_numbers_do_not_matter() {
        let one = pin("t", r#"{"type": "object", "maxProperties": 1e1}"#, None);
        assert_eq!(
            one,
            pin("t", r#"{"maxProperties":10,"type":"object"}"#, None)
        );
    }

    #[test]
    fn what_differs_is_told() {
        let old = pin("t", "{}", Some("{}"));
        for (new, differs) in [
            (pin("t", r#"{"a":1}"#, Some("{}")), Differs::Input),
            (pin("t", "{}", Some(r#"{"a":1}"#)), Differs::Output),
            (pin("t", "{}", None), Differs::Output),
            (pin("t", r#"{"a":1}"#, None), Differs::Both),
            (pin("u", "{}", Some("{}")), Differs::Tool),
        ] {
            assert_eq!(old.drift(new).unwrap().differs, differs);
        }
        assert_eq!(old.drift(old.clone()), None);
        assert_eq!(old.gone().differs, Differs::Gone);
    }

    #[test]
    fn another_description_is_no_drift_and_is_told() {
        let described = |text: &str| Pin::of("t", None, None, Some(&text.into()));
        let (old, new) = (described("Says hello."), described("Says no."));
        let none = Pin::of("t", None, None, None);
        assert_eq!(old.drift(new.clone()), None);
        assert!(old.describes_another(&new) && old.describes_another(&none));
        let text = old.to_string();
        let short: Pin = text.rsplit_once('/').unwrap().0.parse().unwrap();
        assert!(!short.describes_another(&new) && !old.describes_another(&old));
        assert_eq!(short.drift(new), None);
    }

    #[test]
    fn the_sum_is_one_that_others_can_make() {
        // printf '{"inputSchema":{},"name":"t"}' | sha256sum; printf '{}' | sha256sum
        assert_eq!(
            pin("t", "{}", None).to_string(),
            "sha256:b36389c54a2da9b725519903a70ca5ef405b96bb0cf7b418b9b92acfa9711d0c/44136fa3/-/-"
        );
    }

    #[test]
    fn a_pin_is_read_as_it_is_written_and_nothing_else_is_one() {
        let described = Pin::of("t", None, None, Some(&"Says hello.".into()));
        for pin in [
            pin("t", "{}", None),
            pin("t", "{}", Some("true")),
            described,
        ] {
            assert_eq!(pin.to_string().parse(), Ok(pin));
        }
        let sum = "0".repeat(64);
        for text in [
            String::new(),
            sum.clone(),
            format!("sha256:{sum}"),
            format!("sha256:{sum}/-/0123456g"),
            format!("sha256:{sum}/-/-/-/-"),
            format!("sha256:{}/-/-", "A".repeat(64)),
            format!("md5:{sum}/-/-"),
        ] {
            assert_eq!(text.parse::<Pin>(), Err(NoPin), "{text}");
        }
    }
}
