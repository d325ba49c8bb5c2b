//! The `MCPResponse`: what every action returns, what the ledger stores, and what `--reply mcp` prints
//! (004, "`MCPResponse` Format", R-004-08 … R-004-16).

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::task::{
    Checks, Failure, Fault, Invocation, InvocationStatus, Outcome, Waiting, numbered,
};

use super::{
    adl::{data, without_null},
    read::Received,
};

/// The response to that task, as one line of JSON. An earlier answer is returned as it was stored (R-004-39).
pub fn to_response(received: &Received, outcome: &Outcome) -> String {
    let stored = outcome
        .record
        .as_ref()
        .and_then(|record| record.response.clone());
    if let Some(stored) = stored {
        return stored;
    }
    response(received, outcome).to_string()
}

/// Field order is output order. Absent fields are left out.
fn response(received: &Received, outcome: &Outcome) -> Value {
    let error = outcome.failure.as_ref().map(|failure| {
        let details = json!({
            "error_code": failure.fault.code(),
            "recoverable": failure.recoverable,
            "code_001": failure.fault.number(),
        });
        json!({"type": failure.fault.name(), "message": failure.message, "details": details})
    });
    let calls = outcome.invocations.iter().zip(&outcome.executed);
    let taken = calls.map(|(call, capability)| {
        let result = match call.status {
            InvocationStatus::Success => "success",
            InvocationStatus::Error { .. } => "failure",
        };
        json!({"tool": call.tool_name, "reason": capability, "result": result, "inputs": call.parameters})
    });
    let mut response = json!({
        "success": outcome.failure.is_none(),
        "data": data(received, outcome, None),
        "error": error,
        "actionsTaken": taken.collect::<Value>(),
        "nextActions": next(outcome),
        // The effective parameters, without secrets.
        "inputs": inputs(outcome),
        "aiPrompt": outcome.ai.prompt,
        "aiResponse": outcome.ai.response,
    });
    without_null(&mut response, &["error", "aiPrompt", "aiResponse"]);
    response
}

fn next(outcome: &Outcome) -> Vec<Value> {
    let open = outcome
        .review
        .iter()
        .filter(|review| review.state.is_open());
    let mut next: Vec<Value> = open.map(|review| review.terms.next_action()).collect();
    let Some(failure) = &outcome.failure else {
        return next;
    };
    let (kind, priority, description) = match (&outcome.waiting, failure.fault) {
        (Some(Waiting::Approval(waiting)), _) => {
            let perform = waiting.perform.as_ref();
            let perform = perform.map_or_else(String::new, |how| format!(", or perform it: {how}"));
            let text = format!(
                "Have a person approve: {}. Then send the same task again{perform}.",
                waiting.approve
            );
            return vec![json!({"type": "approval", "description": text, "priority": "high"})];
        }
        (Some(waiting), _) => ("answer", "high", waiting.resume()),
        (None, Fault::ReviewOpen) => (
            "retry",
            "medium",
            "Send the same task again after the review.",
        ),
        // Nothing was tried, so the next task is still the same attempt.
        (None, Fault::RequestInFlight) => ("retry", "medium", "Send the same task again later."),
        (None, _) if failure.recoverable => (
            "retry",
            "medium",
            "Send the same task again, with the next attempt.",
        ),
        (None, _) => return next,
    };
    next.push(json!({"type": kind, "description": description, "priority": priority}));
    next
}

/// The parameters of one call; for several calls, an object by tool name, in which the second call of a tool is
/// `TOOL#2`.
fn inputs(outcome: &Outcome) -> Map<String, Value> {
    match outcome.invocations.as_slice() {
        [] => Map::new(),
        [call] => call.parameters.clone(),
        calls => {
            let names = numbered(calls.iter().map(|call| call.tool_name.as_str()));
            let parameters = calls.iter().map(|call| call.parameters.clone());
            names
                .into_iter()
                .zip(parameters.map(Value::Object))
                .collect()
        }
    }
}

/// How a task ended, according to a stored response.
#[derive(Debug, Clone, PartialEq)]
pub struct OldAnswer {
    pub failure: Option<Failure>,
    pub executed: Vec<String>,
    pub invocations: Vec<Invocation>,
    pub result_data: Option<Value>,
    pub checks: Checks,
    pub execution_report: Option<Value>,
}

#[derive(Deserialize)]
struct Stored {
    data: StoredData,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct StoredData {
    task_result: StoredResult,
    execution_report: Option<Value>,
}

#[derive(Deserialize)]
struct StoredResult {
    capability_ids_executed: Vec<String>,
    tool_invocations: Vec<Invocation>,
    result_data: Option<Value>,
    quality_checks: Checks,
}

/// Reads a response that oneact wrote; `None` for any other text.
pub fn read_response(text: &str) -> Option<OldAnswer> {
    let Stored { data, error } = serde_json::from_str(text).ok()?;
    let result = data.task_result;
    Some(OldAnswer {
        failure: error.as_ref().map(failure),
        executed: result.capability_ids_executed,
        invocations: result.tool_invocations,
        result_data: result.result_data,
        checks: result.quality_checks,
        execution_report: data.execution_report,
    })
}

fn failure(error: &Value) -> Failure {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let fault = Fault::named(text("type")).unwrap_or(Fault::Internal);
    Failure {
        fault,
        message: text("message").to_owned(),
        recoverable: error
            .pointer("/details/recoverable")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
    }
}
