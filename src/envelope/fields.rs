//! The fields of messages and tasks: their names, and functions that read one of them.

use serde_json::{Map, Value};

use crate::task::{CallContext, Failure, Fault};

/// The fields of a dispatch and of a proposal, without those of only one of them and those about questions and plans.
pub(super) const OF_DISPATCH: &[&str] = &[
    "task_id",
    "action",
    "input_refs_resolved",
    "output_refs_expected",
    "parameters",
    "attempt",
    "salt",
    "idempotency_key",
    "clarifies",
    "under",
    // Known, and of no consequence for one task:
    "execution_group",
    "workflow_progress",
    "metadata",
    "resources",
    "message_id",
];

/// The fields of a proposal that a dispatch does not have, and those that carry something to perform.
pub(super) const OF_PROPOSAL: &[&str] = &[
    "name",
    "parameters_json",
    "parameters",
    "task_plan",
    "title",
    "plan_summary",
    "rationale",
    "confidence",
    "blocked_on",
    "irreversibility",
    "regret_potential",
    "risk_amplifier",
    "steps",
    "grant",
    "clarifies",
    "under",
];

pub(super) const OF_QUESTIONS: &[&str] = &[
    "accepts_input",
    "input_responses",
    "request_state",
    "input_requests",
];

/// The fields about plans; a task of capabilities may have each of them.
pub(super) const OF_PLANS: &[&str] = &["task_plan", "system_config", "protocol_validation"];

/// The fields that may be beside a plan and are not part of it.
pub(super) const BESIDE_A_PLAN: &[&str] = &[
    "system_config",
    "protocol_validation",
    "task_id",
    "attempt",
    "salt",
    "idempotency_key",
    "metadata",
    "resources",
    "message_id",
];

/// The fields that a request and a dispatch have under the same name.
pub(super) const OF_REQUEST_AND_DISPATCH: &[&str] = &[
    "input_refs_resolved",
    "output_refs_expected",
    "attempt",
    "salt",
    "idempotency_key",
    "clarifies",
    "under",
    "input_responses",
    "request_state",
];

/// Whether a field names the kind of caller, which only the launch decides (C-32).
pub(super) fn is_context(key: &str, value: &Value) -> bool {
    let word = |word: &str| {
        let known = CallContext::ALL.into_iter();
        known
            .into_iter()
            .any(|context| context.name().eq_ignore_ascii_case(word))
    };
    match key {
        "invocation_context" => !value.is_null(),
        "context" => value.as_str().is_some_and(word),
        _ => false,
    }
}

/// The failure of a task, or of its message, that has the wrong shape.
pub(super) fn shape(message: impl Into<String>) -> Failure {
    Failure::new(Fault::InvalidShape, message)
}

/// The failure of an input with several tasks (R-000-108).
pub(super) fn multiple(what: &str) -> Failure {
    let message = format!(
        "multiple tasks: found {what}; oneact performs exactly one task, so send them one at a time"
    );
    Failure::new(Fault::MultipleTasks, message)
}

pub(super) fn required_text(object: &Map<String, Value>, key: &str) -> Result<String, Failure> {
    match object.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(_) => Err(shape(format!("`{key}` must be a non-empty string"))),
        None => Err(shape(format!("`{key}` is missing"))),
    }
}

pub(super) fn optional_text(
    object: &Map<String, Value>,
    key: &str,
) -> Result<Option<String>, Failure> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    optional(object, key, "a string", text)
}

/// Converts a value that may be absent or null with `take`; `what` names the expected type.
pub(super) fn optional<'o, T>(
    object: &'o Map<String, Value>,
    key: &str,
    what: &str,
    take: impl FnOnce(&'o Value) -> Option<T>,
) -> Result<Option<T>, Failure> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => take(value)
            .map(Some)
            .ok_or_else(|| shape(format!("`{key}` must be {what}"))),
    }
}
