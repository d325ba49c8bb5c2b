//! JSON values, given directly or as a file, and their representation in the index.

use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    host,
    servers::{
        files::{is_explicit_path, is_file_uri, local_path},
        tool::ToolError,
    },
    task::hexadecimal,
};

/// The largest file that is read as JSON: 64 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// Returns the JSON value that is given, or, if it is a string, the value in the file at that path or `file:` URI.
pub(super) fn by_value_or_file(argument: &'static str, given: &Value) -> Result<Value, ToolError> {
    let Value::String(reference) = given else {
        return Ok(given.clone());
    };
    let (path, bytes) = read(argument, reference)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| ToolError::Corrupt(format!("{} is not JSON: {error}", path.display())))
}

/// As [`by_value_or_file`], but a string names a file only if it is a `file:` URI or begins with `/`, `./` or
/// `../`. The value of a file that is not JSON is its text.
pub(super) fn by_value_or_explicit_file(
    argument: &'static str,
    given: &Value,
) -> Result<Value, ToolError> {
    let is_explicit = |text: &&str| is_file_uri(text) || is_explicit_path(text);
    let Some(reference) = given.as_str().filter(is_explicit) else {
        return Ok(given.clone());
    };
    let (path, bytes) = read(argument, reference)?;
    serde_json::from_slice(&bytes).or_else(|error| {
        String::from_utf8(bytes).map(Value::String).map_err(|_| {
            let path = path.display();
            ToolError::Corrupt(format!("{path} is neither JSON ({error}) nor UTF-8 text"))
        })
    })
}

fn read(argument: &'static str, reference: &str) -> Result<(PathBuf, Vec<u8>), ToolError> {
    let path = local_path(argument, reference)?;
    let bytes = host::read_named(&path, MOST_BYTES).map_err(|error| {
        let problem = format!("cannot read {}: {error}", path.display());
        ToolError::argument(argument, problem)
    })?;
    Ok((path, bytes))
}

/// The id of a document: a hash of its content and metadata, whatever the order of the keys.
pub(super) fn id(content: Value, metadata: Value) -> String {
    let mut document = Value::Array(vec![content, metadata]);
    document.sort_all_objects();
    let mut id = hexadecimal(&Sha256::digest(document.to_string()));
    id.truncate(32);
    format!("idx_{id}")
}

/// Every string of a document in order, without keys.
pub(super) fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
