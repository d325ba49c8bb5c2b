//! Makes the result of a call from the envelope of its run.

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Map, Value, json};

use crate::task::{Failure, visible_lines};

use super::{caller::Refs, order::REFS};

/// The largest envelope that a result repeats in its `_meta`, in bytes.
const SMALL: usize = 64 << 10;

/// What the result of a suppressed call says, because the old answer alone looks like a new one.
const NOT_AGAIN: &str = "This call was not performed again: the same call was performed before in this session, and \
                         this is its answer. A client that sends a new `oneact/salt` in `_meta` has it performed.";

/// The result of a call, and the refs that the call has produced.
pub(super) struct Answered {
    pub(super) result: CallToolResult,
    pub(super) refs: Refs,
    /// The approval for which the call waits, as the envelope states it.
    pub(super) approval: Option<Value>,
}

/// Reads the envelope of a run. The error says that it is none.
pub(super) fn answered(line: &[u8]) -> Result<Answered, String> {
    let envelope: Value = serde_json::from_slice(line)
        .map_err(|error| format!("the run of this call printed no envelope: {error}"))?;
    let at = |pointer: &str| envelope.pointer(pointer).filter(|value| !value.is_null());
    let produced = at("/output/content/task_result/output_refs_produced");
    let produced = produced.and_then(Value::as_array).into_iter().flatten();
    let refs: Refs = produced
        .filter_map(|each| {
            let text = |key: &str| Some(each.get(key)?.as_str()?.to_owned());
            Some((text("ref_id")?, text("storage_uri")?))
        })
        .collect();
    let waiting = at("/output/content/oneact/waiting");
    let failed = at("/error/has_error") == Some(&Value::Bool(true)) || waiting.is_some();
    let approval = waiting.filter(|waiting| waiting["for"] == "approval");
    let approval = approval.cloned();
    let (structured, text) = if failed { failure(&at) } else { success(&at) };
    let mut result = if failed {
        CallToolResult::error(vec![ContentBlock::text(text)])
    } else {
        CallToolResult::success(vec![ContentBlock::text(text)])
    };
    if at("/output/content/oneact/state").is_some_and(|state| state == "suppressed") {
        result.content.push(ContentBlock::text(NOT_AGAIN));
    }
    result.structured_content = Some(structured);
    let mut meta = MetaObject::new();
    for (key, pointer) in [
        ("oneact/operation_id", "/output/content/oneact/operation_id"),
        ("oneact/state", "/output/content/oneact/state"),
        ("oneact/effect", "/output/content/oneact/effect"),
    ] {
        meta.0
            .insert(key.to_owned(), at(pointer).cloned().unwrap_or_default());
    }
    if !refs.is_empty() {
        meta.0.insert(REFS.to_owned(), json!(refs));
    }
    if line.len() <= SMALL {
        meta.0.insert("oneact/envelope".to_owned(), envelope);
    } else if let Some(made) = at("/output/content/task_result/output_refs_produced") {
        // The result has them, too, but a tool can name a part of its own so.
        meta.0.insert("oneact/output_refs".to_owned(), made.clone());
    }
    Ok(Answered {
        result: result.with_meta(Some(meta)),
        refs,
        approval,
    })
}

/// The result of a call that was refused before its run, or whose run gave no answer.
pub(super) fn refused(failure: &Failure) -> CallToolResult {
    let (class, message) = (failure.fault.name(), &failure.message);
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("{class}: {message}"))]);
    let recoverable = failure.recoverable;
    result.structured_content =
        Some(json!({"fault": class, "message": message, "recoverable": recoverable}));
    result
}

/// Why a run failed or what it waits for, for programs and as text.
fn failure<'v>(at: &dyn Fn(&str) -> Option<&'v Value>) -> (Value, String) {
    let take = |pointer: &str| at(pointer).cloned().unwrap_or_default();
    let message = at("/error/error_message").or_else(|| at("/status/message"));
    let message = message.and_then(Value::as_str).unwrap_or("the run failed");
    let fault = at("/output/content/oneact/fault").and_then(Value::as_str);
    let mut structured = Map::from_iter([
        ("fault".to_owned(), fault.into()),
        ("message".to_owned(), message.into()),
        ("effect".to_owned(), take("/output/content/oneact/effect")),
        ("recoverable".to_owned(), take("/error/recoverable")),
    ]);
    let mut text = match fault {
        Some(fault) => format!("{fault}: {message}"),
        None => message.to_owned(),
    };
    if let Some(waiting) = at("/output/content/oneact/waiting") {
        structured.insert("waiting".to_owned(), waiting.clone());
        text = format!("{text}\nIt waits for: {waiting}");
    }
    (structured.into(), text)
}

/// What a run has found out, made or shown. MCP before 2026-07-28 allows only objects.
fn success<'v>(at: &dyn Fn(&str) -> Option<&'v Value>) -> (Value, String) {
    if let Some(preview) = at("/output/content/oneact/preview") {
        let part = |key: &str| preview.get(key).and_then(Value::as_str).unwrap_or_default();
        let (diff, hash) = (visible_lines(part("diff")), part("hash"));
        let text = format!(
            "{diff}\nNothing was changed. To make exactly this change, call again with `expect`: \"{hash}\"."
        );
        return (json!({"preview": preview}), text);
    }
    let mut structured = match at("/output/content/task_result/result_data") {
        Some(Value::Object(data)) => data.clone(),
        Some(data) => Map::from_iter([("result".to_owned(), data.clone())]),
        None => Map::new(),
    };
    for (key, pointer) in [
        ("execution_report", "/output/content/execution_report"),
        (
            "output_refs_produced",
            "/output/content/task_result/output_refs_produced",
        ),
    ] {
        if let Some(value) =
            at(pointer).filter(|value| value.as_array().is_none_or(|list| !list.is_empty()))
        {
            structured.insert(key.to_owned(), value.clone());
        }
    }
    let alone = structured
        .get("text")
        .and_then(Value::as_str)
        .filter(|_| structured.len() == 1);
    let alone = alone.map(str::to_owned);
    let structured = Value::Object(structured);
    let text = alone.unwrap_or_else(|| structured.to_string());
    (structured, text)
}
