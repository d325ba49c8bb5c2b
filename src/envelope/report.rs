//! `--reply report`: what 001's protocol layer reads, without the envelope around it.

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use uuid::Builder;

use super::adl::{Answered, to_json};

/// The execution report (001 §4.1). Where there is none because the request was refused, 001 §8.2's error
/// response; where there is none and nothing failed, the envelope.
pub fn to_report(answered: &Answered<'_>) -> Vec<u8> {
    let outcome = answered.outcome;
    if let Some(report) = &outcome.execution_report {
        return serde_json::to_vec(report).unwrap_or_default();
    }
    let Some(failure) = &outcome.failure else {
        return to_json(answered);
    };
    let digest: [u8; 32] = Sha256::digest(answered.operation.as_str()).into();
    let mut id = [0; 16];
    for (to, from) in id.iter_mut().zip(digest) {
        *to = from;
    }
    let response = ErrorResponse {
        error_id: Builder::from_random_bytes(id).into_uuid().to_string(),
        error_code: failure.fault.number(),
        error_category: json!(failure.fault.category()),
        error_type: failure.fault.kind(),
        message: &failure.message,
        details: Map::new(),
        recovery_action: "MANUAL_REQUIRED",
        timestamp: answered
            .executed_at
            .strftime("%Y-%m-%dT%H:%M:%S%.3f%:z")
            .to_string(),
    };
    serde_json::to_vec(&response).unwrap_or_default()
}

/// Field order is output order.
#[derive(Serialize)]
struct ErrorResponse<'a> {
    error_id: String,
    error_code: u16,
    error_category: Value,
    error_type: String,
    message: &'a str,
    details: Map<String, Value>,
    /// Nothing was skipped and nothing was changed: whoever asked has to act.
    recovery_action: &'static str,
    timestamp: String,
}
