//! The result alone (`--reply result`), described by `schemas/result.schema.json`.

use serde_json::{Value, json};

use super::adl::{Answered, output_ref, without_null};
use crate::task::Outcome;

/// The data of the result as one line of JSON; after a failure, an object with `error`.
pub fn to_result(answered: &Answered<'_>) -> Vec<u8> {
    let Answered {
        outcome, operation, ..
    } = answered;
    let document = match &outcome.failure {
        None => data(outcome),
        Some(failure) => {
            let error = json!({
                "class": failure.fault.name(),
                "message": failure.message,
                "recoverable": failure.recoverable,
                "state": outcome.state,
                "effect": outcome.effect,
                "operation_id": operation.as_str(),
                "waiting": outcome.waiting,
            });
            json!({ "error": error })
        }
    };
    // Every part is already a JSON value, so serializing to memory cannot fail.
    serde_json::to_vec(&document).unwrap_or_default()
}

/// What the task asked for: data, the report of a plan, a card, or the names of what was made; in a dry run, the plan.
fn data(outcome: &Outcome) -> Value {
    let whole = outcome.result_data.clone();
    let whole = whole.or_else(|| outcome.execution_report.clone());
    let whole = whole.or_else(|| outcome.suggestion.as_ref().map(|card| json!(card)));
    if let Some(whole) = whole {
        return whole;
    }
    let made: Vec<Value> = outcome.produced.iter().map(output_ref).collect();
    let mut parts = json!({
        "output_refs_produced": Some(made).filter(|made| !made.is_empty()),
        "result_file": outcome.result_file,
        "plan": outcome.plan,
        "preview": outcome.preview,
    });
    let all = ["output_refs_produced", "result_file", "plan", "preview"];
    without_null(&mut parts, &all);
    match parts.as_object() {
        Some(parts) if parts.is_empty() => Value::Null,
        _ => parts,
    }
}
