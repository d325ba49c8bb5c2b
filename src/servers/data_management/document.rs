//! JSON that is handed over, by value or as a file, and what it comes to in the index.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::servers::{
    files::{is_explicit_path, is_file_uri, local_path, read_small},
    tool::ToolError,
};
use crate::task::hexadecimal;

/// The largest file that is read as JSON: 64 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// The JSON that `given` is, or, where it is a text, that lies at that path or `file:` URI.
pub(super) fn by_value_or_file(argument: &'static str, given: &Value) -> Result<Value, ToolError> {
    let Value::String(reference) = given else {
        return Ok(given.clone());
    };
    let path = local_path(argument, reference)?;
    let bytes = read_small(argument, &path, MOST_BYTES)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ToolError::Corrupt(format!("{} is not JSON: {error}", path.display())))
}

/// As [`by_value_or_file`], but a text is itself unless it is a `file:` URI or begins as an
/// absolute or dotted path; a file that is not JSON is its text.
pub(super) fn by_value_or_explicit_file(
    argument: &'static str,
    given: &Value,
) -> Result<Value, ToolError> {
    let is_explicit = |text: &&str| is_file_uri(text) || is_explicit_path(text);
    let Some(reference) = given.as_str().filter(is_explicit) else {
        return Ok(given.clone());
    };
    let path = local_path(argument, reference)?;
    let bytes = read_small(argument, &path, MOST_BYTES)?;
    serde_json::from_slice(&bytes).or_else(|error| {
        String::from_utf8(bytes).map(Value::String).map_err(|_| {
            let path = path.display();
            ToolError::Corrupt(format!("{path} is neither JSON ({error}) nor UTF-8 text"))
        })
    })
}

/// The document's own name: the same content with the same metadata has the same, in whatever
/// order the keys stand.
pub(super) fn id(content: &Value, metadata: &Value) -> String {
    let canonical = Value::Array(vec![sorted(content), sorted(metadata)]).to_string();
    let mut id = hexadecimal(&Sha256::digest(canonical));
    id.truncate(32);
    format!("idx_{id}")
}

/// Every string of a document, keys aside, in order.
pub(super) fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members = members
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
