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
    if let Some(Value::Object(schema)) = schema {
        marks(schema, &mut Vec::new(), &mut marked)?;
    }
    let mut headers = HeaderMap::new();
    let mut seen = Vec::new();
    for Marked { path, name, kind } in marked {
        let place = path.join(".");
        let wrong = |problem: &str| format!("`{MARK}` of its parameter `{place}` {problem}");
        let name = name.as_str().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("is no name"))?;
        let header = HeaderName::try_from(format!("mcp-param-{name}"));
        let header = header.map_err(|_| wrong("is no name of a header"))?;
        if seen.contains(&header) {
            return Err(wrong("is a name that another parameter has"));
        }
        seen.push(header.clone());
        let kind = kind.and_then(Value::as_str);
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

struct Marked<'s> {
    path: Vec<&'s str>,
    name: &'s Value,
    kind: Option<&'s Value>,
}

/// The marked properties. A mark at any other place is an error.
fn marks<'s>(
    schema: &'s Map<String, Value>,
    path: &mut Vec<&'s str>,
    found: &mut Vec<Marked<'s>>,
) -> Result<(), String> {
    for (key, value) in schema {
        match (key.as_str(), value) {
            (MARK, name) if !path.is_empty() => found.push(Marked {
                path: path.clone(),
                name,
                kind: schema.get("type"),
            }),
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name);
                    property
                        .as_object()
                        .map_or(Ok(()), |property| marks(property, path, found))?;
                    path.pop();
                }
            }
            ("default" | "const" | "enum" | "examples", _) => {}
            (key, value) if key == MARK || mentions(value) => {
                return Err(format!("`{MARK}` stands at a place that is no parameter"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn mentions(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(MARK) || members.values().any(mentions),
        Value::Array(items) => items.iter().any(mentions),
        _ => false,
    }
}
