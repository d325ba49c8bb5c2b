//! A tool in one line: its name, its parameters and their types.

use serde_json::Value;

use crate::{catalog::Tool, task::visible};

/// The most words that an enum shows.
const WORDS: usize = 6;

/// `read_file(path: string, head?: integer)`
pub(super) fn signature(tool: &Tool) -> String {
    let properties = tool
        .schema
        .as_ref()
        .and_then(|schema| schema.get("properties")?.as_object());
    let required = required(tool);
    let parameter = |(name, schema): (&String, &Value)| {
        let mark = if required.contains(&name.as_str()) {
            ""
        } else {
            "?"
        };
        format!("{name}{mark}: {}", kind(schema))
    };
    let mut parameters: Vec<(bool, String)> = properties
        .into_iter()
        .flatten()
        .map(|each| (!required.contains(&each.0.as_str()), parameter(each)))
        .collect();
    // The order of the server, but what is required comes first.
    parameters.sort_by_key(|(is_optional, _)| *is_optional);
    let parameters: Vec<String> = parameters.into_iter().map(|(_, text)| text).collect();
    visible(&format!("{}({})", tool.name, parameters.join(", "))).into_owned()
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

/// How the tool is called by that name, with the parameters that it requires.
pub(super) fn call(name: &str, tool: &Tool) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let name = if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    };
    let required = required(tool).into_iter().map(|name| format!(" {name}=…"));
    visible(&format!(
        "oneact call {name}{}",
        required.collect::<String>()
    ))
    .into_owned()
}

fn required(tool: &Tool) -> Vec<&str> {
    let names = tool
        .schema
        .as_ref()
        .and_then(|schema| schema.get("required")?.as_array());
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
