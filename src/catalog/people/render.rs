//! The catalog for a model: the block of specification 003 for a prompt, and the tool schemas of MCP and of the
//! large model APIs.

use serde_json::{Map, Value, json};

use crate::task::{Effects, ProposalKind, visible};

use crate::catalog::people::listing::{Listed, Parameter, Presence};

const HEADER: &str = "Available Standard Actions (pick one of these by name for kind='standard'; otherwise pick \
     improvised, suggestion, or clarification). A '*' marks a REQUIRED parameter you MUST fill in parameters_json:";
const NONE: &str =
    "Available Standard Actions: (none registered — use improvised, suggestion, or clarification)";

/// The longest description in a prompt, in characters.
const DESCRIPTION: usize = 160;
/// The most parameters of one entry in a prompt.
const PARAMETERS: usize = 6;

/// The block for a prompt (R-003-22). `most` limits its characters; entries that do not fit are counted.
pub(crate) fn prompt(listed: &[&Listed], most: Option<usize>) -> String {
    if listed.is_empty() {
        return format!("{NONE}\n");
    }
    let mut text = format!("{HEADER}\n");
    for (at, entry) in listed.iter().enumerate() {
        let lines = lines(entry);
        let left = listed.len() - at;
        let rest = format!("- … and {left} more: oneact catalog search\n");
        let length = |text: &str| text.chars().count();
        let ends = if left == 1 { 0 } else { length(&rest) };
        if most.is_some_and(|most| length(&text) + length(&lines) + ends > most) {
            return text + &rest;
        }
        text.push_str(&lines);
    }
    text
}

/// Whether a model that answers in this JSON Schema can choose a standard action: an enum of its property `kind` has
/// `standard`, in whatever part of the schema (R-003-25, R-003-26).
pub(crate) fn has_standard(schema: &Value) -> bool {
    let standard = Value::from(ProposalKind::Standard.name());
    match schema {
        Value::Object(members) => {
            let kind = members.get("kind").and_then(Value::as_object);
            let names = |key: &str, kind: &Map<String, Value>| match kind.get(key) {
                Some(Value::Array(names)) => names.contains(&standard),
                one => one == Some(&standard),
            };
            kind.is_some_and(|kind| names("enum", kind) || names("const", kind))
                || members.values().any(has_standard)
        }
        Value::Array(items) => items.iter().any(has_standard),
        _ => false,
    }
}

fn lines(entry: &Listed) -> String {
    let name = |parameter: &Parameter| match parameter.presence {
        Presence::Required => format!("{}*", inert(&parameter.name)),
        Presence::Optional => inert(&parameter.name),
    };
    let names: Vec<String> = entry.parameters.iter().take(PARAMETERS).map(name).collect();
    let parameters = match names.join(", ") {
        none if none.is_empty() => "(no params)".to_owned(),
        names if entry.parameters.len() > PARAMETERS => format!("{names}, ..."),
        names => names,
    };
    let first = entry.common.description.split(". ").next();
    let first: String = first
        .unwrap_or_default()
        .chars()
        .take(DESCRIPTION)
        .collect();
    format!(
        "- {}: {}\n    params: {parameters}\n",
        inert(&entry.id),
        inert(&first)
    )
}

/// A text of the catalog as one line of a prompt: control characters are named, and what would open a Markdown
/// block or element is escaped. A description may have been imported from a server.
fn inert(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = visible(&line);
    let mut inert = String::new();
    for (at, c) in line.chars().enumerate() {
        let opens =
            matches!(c, '`' | '<' | '[') || at == 0 && matches!(c, '#' | '>' | '-' | '*' | '+');
        if opens {
            inert.push('\\');
        }
        inert.push(c);
    }
    inert
}

/// A form of tool schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolForm {
    /// The result of `tools/list` (MCP).
    Mcp,
    /// `tools` of `OpenAI`'s chat completions.
    OpenAi,
    /// `tools` of Anthropic's messages.
    Anthropic,
    /// `tools` of Gemini's `generateContent`.
    Gemini,
}

/// A tool as a model sees it.
#[derive(Debug)]
pub(crate) struct Offered<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) effects: Effects,
}

/// The entries as tools, each with the schema of the parameters that a model may set.
pub(crate) fn tools(listed: &[&Listed], form: ToolForm) -> Value {
    let offered = listed.iter().map(|entry| Offered {
        name: &entry.id,
        title: entry.common.name.as_deref().unwrap_or(&entry.id),
        description: &entry.common.description,
        schema: &entry.schema,
        effects: entry.effects,
    });
    offered_tools(&offered.collect::<Vec<_>>(), form)
}

/// Tools in that form.
pub(crate) fn offered_tools(offered: &[Offered<'_>], form: ToolForm) -> Value {
    let each = |tool: &Offered<'_>| {
        let Offered {
            name,
            title,
            schema,
            effects,
            ..
        } = tool;
        let description = visible(tool.description);
        match form {
            ToolForm::Mcp => {
                json!({
                    "name": name, "title": visible(title), "description": description, "inputSchema": schema,
                    "annotations": annotations(*effects),
                })
            }
            ToolForm::OpenAi => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": schema},
            }),
            ToolForm::Anthropic => {
                json!({"name": name, "description": description, "input_schema": schema})
            }
            ToolForm::Gemini => {
                json!({"name": name, "description": description, "parametersJsonSchema": schema})
            }
        }
    };
    let tools: Vec<Value> = offered.iter().map(each).collect();
    match form {
        ToolForm::Mcp => json!({"tools": tools}),
        ToolForm::OpenAi | ToolForm::Anthropic => tools.into(),
        ToolForm::Gemini => json!([{"functionDeclarations": tools}]),
    }
}

/// MCP's hints with their defaults, so that none is better than what the catalog states.
fn annotations(effects: Effects) -> Value {
    json!({
        "readOnlyHint": effects.read_only.unwrap_or(false),
        "destructiveHint": effects.destructive.unwrap_or(true),
        "idempotentHint": effects.idempotent.unwrap_or(false),
        "openWorldHint": effects.open_world.unwrap_or(true),
    })
}
