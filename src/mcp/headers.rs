//! What a call over HTTP says in headers of its own: the parameters that the tool's schema marks with `x-mcp-header`
//! (2026-07-28, Streamable HTTP).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

const MARK: &str = "x-mcp-header";

/// The value of a header: the text, or its base64 form if a header cannot contain the text.
pub(super) fn encoded(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let marked = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !marked && text.trim() == text {
        return HeaderValue::try_from(text).ok();
    }
    HeaderValue::try_from(format!("=?base64?{}?=", BASE64_STANDARD.encode(text))).ok()
}

/// The headers of a call. An error says why the schema must not be used.
pub(super) fn mirrored(
    schema: Option<&Value>,
    arguments: &Map<String, Value>,
) -> Result<HeaderMap, String> {
    let mut marked = Vec::new();
    let schema = schema.unwrap_or(&Value::Null);
    collect(schema, &mut Vec::new(), &mut marked);
    if marked.len() != count(schema) {
        return Err(format!("`{MARK}` stands at a place that is no parameter"));
    }
    let mut headers = HeaderMap::new();
    let mut seen = Vec::new();
    for (path, property) in marked {
        let place = path.join(".");
        let wrong = |problem: &str| format!("`{MARK}` of its parameter `{place}` {problem}");
        let name = property.get(MARK).and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("is no name"))?;
        let header = HeaderName::try_from(format!("mcp-param-{name}"));
        let header = header.map_err(|_| wrong("is no name of a header"))?;
        if seen.contains(&header) {
            return Err(wrong("is a name that another parameter has"));
        }
        seen.push(header.clone());
        let kind = property.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(wrong(
                "is on a value that is no text, whole number or truth value",
            ));
        }
        let mut steps = path.iter();
        let first = steps.next().and_then(|first| arguments.get(*first));
        let value = first.and_then(|first| steps.try_fold(first, |value, key| value.get(*key)));
        let text = match value {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other @ (Value::Bool(_) | Value::Number(_))) => Some(other.to_string()),
            _ => None,
        };
        headers.extend(text.and_then(|text| Some((header, encoded(&text)?))));
    }
    Ok(headers)
}

/// Finds the properties that are marked, each with its path.
fn collect<'s>(
    schema: &'s Value,
    path: &mut Vec<&'s str>,
    marked: &mut Vec<(Vec<&'s str>, &'s Value)>,
) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name);
        if property.get(MARK).is_some() {
            marked.push((path.clone(), property));
        }
        collect(property, path, marked);
        path.pop();
    }
}

/// The number of marks, wherever they are in a schema. Values of parameters are no schemas.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| match (key.as_str(), value) {
                (MARK, _) => 1,
                ("default" | "const" | "enum" | "examples", _) => 0,
                ("properties", Value::Object(all)) => all.values().map(count).sum(),
                _ => count(value),
            })
            .sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}
