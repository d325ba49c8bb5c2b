//! The entries of the catalog for people and programs: as a table, one by one, and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::printing::{Table, columns};
use crate::{
    catalog::{Executor, Listed},
    task::{
        Argument, Contexts, Network, OnDuplicate, PipelineApproval, SharedMemory, visible,
        visible_lines,
    },
};

pub(super) fn table(entries: &[Listed]) -> String {
    let head = ["id", "what", "acts", "risk", "contexts", "dup"].map(str::to_owned);
    let rows = entries.iter().map(|entry| {
        [
            visible(&entry.id).into_owned(),
            visible(&entry.common.description).into_owned(),
            if entry.common.is_action { "yes" } else { "–" }.to_owned(),
            entry.assessment.risk.name().to_owned(),
            contexts(&entry.available_in),
            duplicates(entry.on_duplicate),
        ]
    });
    let table = Table {
        rows: [head].into_iter().chain(rows).collect(),
        shortened: &[1],
        ..Table::default()
    };
    table.text(columns())
}

/// The number of the contexts if it is the usual set, otherwise their names.
fn contexts(available_in: &Contexts) -> String {
    if *available_in == Contexts::default() {
        return available_in.names().len().to_string();
    }
    available_in.names().join(" ").to_lowercase()
}

fn duplicates(on_duplicate: Option<OnDuplicate>) -> String {
    match on_duplicate {
        Some(OnDuplicate::Reuse { ttl: Some(ttl), .. }) => format!("reuse {}", short(ttl)),
        Some(OnDuplicate::Reuse { ttl: None, .. }) => "reuse".to_owned(),
        Some(OnDuplicate::Suppress(_)) => "suppress".to_owned(),
        Some(OnDuplicate::Repeat) => "repeat".to_owned(),
        None => "by step".to_owned(),
    }
}

fn short(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds > 0 && seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        seconds if seconds > 0 && seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{time:?}"),
    }
}

/// The widest name of a fact, and the blanks before and behind it.
const INDENT: usize = 20;

/// The facts of [`json_of`], each with its name. Lists of texts are in one line, and other values are JSON.
pub(super) fn one(entry: &Listed) -> String {
    let document = json_of(entry);
    let facts = document.as_object().into_iter().flatten();
    let lines = facts.filter_map(|(name, value)| {
        let said = match value {
            Value::Null => return None,
            Value::String(text) => text.clone(),
            Value::Array(all) if all.iter().all(Value::is_string) => {
                let texts = all.iter().filter_map(Value::as_str);
                texts.collect::<Vec<_>>().join("; ")
            }
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        let said = visible_lines(&said).replace('\n', &format!("\n{}", " ".repeat(INDENT)));
        (!said.is_empty()).then(|| format!("  {name:<16}  {said}\n"))
    });
    lines.collect()
}

/// The command as the catalog spells it.
fn words_of(command: &[Argument]) -> Vec<String> {
    let word = |argument: &Argument| match argument {
        Argument::Fixed(text) => text.clone(),
        Argument::Parameter(name) => format!("{{{name}}}"),
    };
    command.iter().map(word).collect()
}

pub(super) fn json_of(entry: &Listed) -> Value {
    let words = &entry.common;
    let (tool, server, steps) = match &entry.executor {
        Executor::Tool { tool, server } => (Some(tool), Some(server), None),
        Executor::FilePlan | Executor::Pipeline(_) => (None, None, None),
        Executor::Steps(steps) => {
            let step = |(id, run): &(String, String)| json!({"id": id, "run": run});
            (None, None, Some(steps.iter().map(step).collect::<Value>()))
        }
    };
    let pipeline = match &entry.executor {
        Executor::Pipeline(pipeline) => json!({
            "command": words_of(&pipeline.command), "writes": pipeline.writes,
            "network": pipeline.network == Network::Allowed,
            "shared_memory": pipeline.shared_memory == SharedMemory::Allowed, "timeout": short(pipeline.timeout),
            "approval": pipeline.approval == PipelineApproval::Needed,
        }),
        _ => Value::Null,
    };
    json!({
        "id": entry.id, "name": words.name, "description": words.description, "version": words.version,
        "is_action": words.is_action, "aliases": words.aliases, "tags": words.tags,
        "examples": words.examples, "available_in": entry.available_in.names(),
        "risk": entry.assessment.risk.name(), "because": entry.assessment.because,
        "on_duplicate": duplicates(entry.on_duplicate), "fence": entry.fence,
        "server": server, "tool": tool, "steps": steps, "pipeline": pipeline,
        "parameter_schema": entry.schema,
    })
}
