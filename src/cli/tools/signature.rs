//! A tool in one line: its name, its parameters and their types.

use serde_json::Value;

use crate::{catalog::Tool, task::visible};

/// The most words that an enum shows.
const WORDS: usize = 6;

/// `read_file(path: string, head?: integer)`
pub(super) fn signature(tool: &Tool) -> String {
    let text = |each: &Parameter| format!("{}{}: {}", each.name, each.mark, each.kind);
    let parameters: Vec<String> = parameters(tool).iter().map(text).collect();
    visible(&format!("{}({})", tool.name, parameters.join(", "))).into_owned()
}

/// How the tool is called by that name, with the parameters that it requires. A value that holds objects is JSON.
pub(super) fn call(name: &str, tool: &Tool) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut text = if name.chars().all(plain) {
        format!("oneact call {name}")
    } else {
        format!("oneact call '{}'", name.replace('\'', r"'\''"))
    };
    for Parameter { name, kind, .. } in parameters(tool).iter().filter(|each| each.mark.is_empty())
    {
        let sign = if kind.contains("object") { ":=" } else { "=" };
        text.extend([" ", name, sign, "…"]);
    }
    visible(&text).into_owned()
}

struct Parameter<'t> {
    name: &'t str,
    /// `?` if it is not required.
    mark: &'static str,
    kind: String,
}

/// In the order of the server, but what is required comes first.
fn parameters(tool: &Tool) -> Vec<Parameter<'_>> {
    let member = |name: &str| tool.schema.as_ref().and_then(|schema| schema.get(name));
    let required = member("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut names = required.into_iter().flatten();
        names.any(|each| each.as_str() == Some(name))
    };
    let properties = member("properties").and_then(Value::as_object);
    let parameters = properties.into_iter().flatten();
    let mut parameters: Vec<Parameter<'_>> = parameters
        .map(|(name, schema)| Parameter {
            name,
            mark: if is_required(name) { "" } else { "?" },
            kind: kind(schema),
        })
        .collect();
    parameters.sort_by_key(|each| each.mark.len());
    parameters
}

/// The type of a value, in the words of JSON Schema.
fn kind(schema: &Value) -> String {
    let words = |all: &[Value]| {
        let mut words: Vec<String> = all.iter().take(WORDS).map(Value::to_string).collect();
        words.extend((all.len() > WORDS).then(|| "…".to_owned()));
        words.join(" | ")
    };
    if let Some(Value::Array(all)) = schema.get("enum") {
        return words(all);
    }
    let any = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array());
    if let Some(all) = any {
        let mut kinds: Vec<String> = all.iter().map(kind).filter(|kind| kind != "null").collect();
        kinds.dedup();
        return kinds.join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(name)) if name == "array" => match schema.get("items").map(kind) {
            Some(items) if items.contains(' ') => format!("({items})[]"),
            Some(items) => format!("{items}[]"),
            None => "array".to_owned(),
        },
        Some(Value::String(name)) => name.clone(),
        Some(Value::Array(names)) => {
            let names = names
                .iter()
                .filter_map(Value::as_str)
                .filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" | ")
        }
        _ if schema.get("$ref").is_some() => "object".to_owned(),
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        catalog::SchemaForm,
        task::{Effects, Pin},
    };

    #[test]
    fn a_tool_is_one_line_and_its_call_has_what_it_requires() {
        let schema = json!({
            "type": "object", "required": ["path", "edits"],
            "properties": {
                "head": {"type": ["integer", "null"]}, "mode": {"enum": ["a", "b"]}, "path": {"type": "string"},
                "edits": {"type": "array", "items": {"type": "object"}},
                "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}, "more": {},
            },
        });
        let tool = Tool {
            name: "edit\u{202e}".to_owned(),
            description: String::new(),
            pin: Pin::of("edit", None, None, None),
            schema: Some(schema),
            schema_form: SchemaForm::Whole,
            hints: Effects::default(),
        };
        assert_eq!(
            signature(&tool),
            "edit<U+202E>(path: string, edits: object[], head?: integer, mode?: \"a\" | \"b\", tags?: string[], more?: any)"
        );
        assert_eq!(
            call("files_edit", &tool),
            "oneact call files_edit path=… edits:=…"
        );
        assert_eq!(call("s.a b", &tool), "oneact call 's.a b' path=… edits:=…");
        let none = Tool {
            schema: None,
            ..tool
        };
        assert_eq!(signature(&none), "edit<U+202E>()");
    }
}
