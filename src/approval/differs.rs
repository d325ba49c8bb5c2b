//! In which fields a call differs from an approved one, by name. Values are not shown: they can be secrets.

use serde_json::{Map, Value, json};

use crate::{ledger::Asked, task::visible};

/// How many fields are named.
const MOST: usize = 5;

/// The longest name of a field, in characters.
const NAME: usize = 80;

/// What two requests for an approval are compared by.
#[derive(Debug, Clone, Default)]
pub(super) struct Compared {
    /// The effective call as it is hashed, with the salt. Null for a plan.
    pub(super) call: Value,
    /// The parameters as people see them.
    pub(super) args: Value,
    pub(super) diff: Option<String>,
}

impl Compared {
    /// The effective call as a request keeps it.
    pub(super) fn call(mut call: Value, asked: &Asked) -> Value {
        if let Value::Object(call) = &mut call {
            call.insert("salt".to_owned(), json!(asked.salt));
        }
        call
    }

    /// The fields that differ, as a part of a sentence. None if none is known.
    pub(super) fn from(&self, other: &Self) -> Option<String> {
        let mut fields = Vec::new();
        if self.call.is_object() && other.call.is_object() {
            walk("", &self.call, &other.call, &mut fields);
        } else {
            walk("parameters", &self.args, &other.args, &mut fields);
        }
        let changed = || file_of(self.diff.as_deref()?, other.diff.as_deref()?);
        if fields.is_empty() {
            fields
                .extend(changed().map(|path| format!("the file {path}, which was changed since")));
        }
        let more = fields.len().saturating_sub(MOST);
        fields.truncate(MOST);
        let named = fields.join(", ");
        match more {
            0 => (!named.is_empty()).then_some(named),
            more => Some(format!("{named} and {more} more")),
        }
    }
}

/// The keys of both, with the values.
fn members<'v>(
    one: &'v Map<String, Value>,
    other: &'v Map<String, Value>,
) -> impl Iterator<Item = (&'v str, &'v Value, &'v Value)> {
    let added = other.keys().filter(|key| !one.contains_key(*key));
    let value = |of: &'v Map<String, Value>, key: &String| of.get(key).unwrap_or(&Value::Null);
    let keys = one.keys().chain(added);
    keys.map(move |key| (key.as_str(), value(one, key), value(other, key)))
}

fn walk(path: &str, one: &Value, other: &Value, fields: &mut Vec<String>) {
    match (one, other) {
        _ if one == other => {}
        (Value::Object(one), Value::Object(other)) if !is_marked(one) && !is_marked(other) => {
            for (key, was, is) in members(one, other) {
                let path = match (path, key) {
                    ("", "params") => "parameters".to_owned(),
                    ("", "answers") => "input_responses".to_owned(),
                    ("", "session" | "task") => format!("{key}_id"),
                    ("", key) => key.to_owned(),
                    (path, key) => format!("{path}.{key}"),
                };
                walk(&path, was, is, fields);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (at, (was, is)) in one.iter().zip(other).enumerate() {
                walk(&format!("{path}[{at}]"), was, is, fields);
            }
        }
        _ => fields.push(match (path, path.strip_prefix("inputs.")) {
            ("entry_digest", _) => "the entry of the catalog or its server".to_owned(),
            (_, Some(input)) => format!("the content of the input in `{}`", name(input)),
            (path, None) => format!("`{}`", name(path)),
        }),
    }
}

/// Whether the object stands for a value that has another form in the hash: a secret, or a large number.
fn is_marked(object: &Map<String, Value>) -> bool {
    object.len() == 1 && object.keys().all(|key| key.starts_with('$'))
}

fn name(text: &str) -> String {
    visible(text).chars().take(NAME).collect()
}

/// The first file whose part of the diff differs.
fn file_of(one: &str, other: &str) -> Option<String> {
    const FILE: &str = "diff --git ";
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split(FILE).skip(1);
        parts.map(ToOwned::to_owned).collect()
    };
    let (one, other) = (parts(one), parts(other));
    let changed = other.iter().find(|part| !one.contains(part))?;
    let line = changed.lines().next()?;
    let path = line.rsplit_once(" b/").map_or(line, |(_, path)| path);
    Some(name(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(call: Value) -> Compared {
        Compared {
            call,
            ..Compared::default()
        }
    }

    #[test]
    fn the_fields_that_differ_are_named_and_their_values_are_not_shown() {
        let one = json!({
            "entry": "send", "params": {"to": ["a"], "body": {"text": "one"}, "token": {"$mac": "1"}},
            "inputs": {"file": "blake3:1"}, "entry_digest": "1", "session": null, "task": null, "salt": null,
        });
        for (pointer, value, named) in [
            ("/params/to/0", json!("b"), "`parameters.to[0]`"),
            ("/params/body/text", json!("two"), "`parameters.body.text`"),
            ("/params/token", json!({"$mac": "2"}), "`parameters.token`"),
            (
                "/inputs/file",
                json!("blake3:2"),
                "the content of the input in `file`",
            ),
            (
                "/entry_digest",
                json!("2"),
                "the entry of the catalog or its server",
            ),
            ("/session", json!("s"), "`session_id`"),
            ("/task", json!("t"), "`task_id`"),
            ("/salt", json!("again"), "`salt`"),
        ] {
            let mut other = one.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            let named_fields = compared(one.clone()).from(&compared(other));
            assert_eq!(named_fields.as_deref(), Some(named));
        }
        assert_eq!(compared(one.clone()).from(&compared(one)), None);
    }

    #[test]
    fn of_a_plan_the_file_is_named_that_was_changed_since() {
        let of = |text: &str| Compared {
            diff: Some(format!(
                "2 files\ndiff --git a/x b/x\n-1\ndiff --git a/d/y b/d/y\n-{text}\n"
            )),
            ..Compared::default()
        };
        let named = of("1").from(&of("2"));
        assert_eq!(
            named.as_deref(),
            Some("the file d/y, which was changed since")
        );
        assert_eq!(of("1").from(&of("1")), None);
    }

    #[test]
    fn of_many_fields_the_first_are_named() {
        let call = |from: u32| {
            let params = (0..9).map(|at| (at.to_string(), json!(at + from)));
            compared(json!({"params": params.collect::<Map<_, _>>()}))
        };
        let named = call(0).from(&call(1)).unwrap();
        assert!(named.ends_with("`parameters.4` and 4 more"), "{named}");
    }
}
