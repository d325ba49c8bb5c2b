//! The ADL envelope, the answer to every task (R-000-14 … R-000-36), and the form that 001's protocol layer reads
//! instead (`--reply report`).
//!
//! Field order is output order. Only `output.content.oneact` contains fields that are not in the specification.

use jiff::{Zoned, tz::TimeZone};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::task::{
    Admission, Checks, Effect, Invocation, Kind, LedgerRef, OperationId, Outcome, Phase, Plan,
    Preview, Produced, RefId, ReportFiles, Resources, ReuseReport, Review, ServerReport, State,
    StepReport, Suggestion, Waiting, message_id,
};

use super::{prose, read::Received};

/// The files that an answer lists as consulted (R-000-135).
const GOVERNANCE: &[&str] = &[
    "context/application.md",
    "context/governance/message_format.md",
    "context/governance/audit.md",
    "agent/executional/action.md",
];

/// A task and its outcome, with the operation and the time.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    pub received: &'a Received,
    pub outcome: &'a Outcome,
    pub operation: &'a OperationId,
    pub executed_at: &'a Zoned,
}

/// The envelope of that answer, as one line of JSON.
pub fn to_json(answered: &Answered<'_>) -> Vec<u8> {
    // Every part is already a string, a number or a JSON value, so serializing to memory cannot fail.
    serde_json::to_vec(&envelope(answered)).unwrap_or_default()
}

/// The execution report (001 §4.1) as one line of JSON. Without a report: 001 §8.2's error response if the task
/// failed, otherwise the envelope.
pub fn to_report(answered: &Answered<'_>) -> Vec<u8> {
    let outcome = answered.outcome;
    if let Some(report) = &outcome.execution_report {
        return serde_json::to_vec(report).unwrap_or_default();
    }
    let Some(failure) = &outcome.failure else {
        return to_json(answered);
    };
    let digest: [u8; 32] = Sha256::digest(answered.operation.as_str()).into();
    let id = digest.first_chunk().copied().unwrap_or_default();
    let response = json!({
        "error_id": Builder::from_random_bytes(id).into_uuid().to_string(),
        "error_code": failure.fault.number(),
        "error_category": failure.fault.category(),
        "error_type": failure.fault.kind(),
        "message": failure.message,
        "details": {},
        // Nothing was skipped and nothing was changed, so the caller must act.
        "recovery_action": "MANUAL_REQUIRED",
        "timestamp": timestamp(answered.executed_at),
    });
    serde_json::to_vec(&response).unwrap_or_default()
}

fn envelope<'a>(answered: &Answered<'a>) -> Envelope<'a> {
    let Answered {
        received,
        outcome,
        operation,
        executed_at,
    } = *answered;
    let identity = &received.identity;
    let at = named(executed_at);
    let record = outcome.record.as_ref();
    let failure = outcome.failure.as_ref();
    Envelope {
        message_id: message_id(&at, operation),
        // The IANA name belongs to the offset of `executed_at` (R-000-16).
        timestamp: json!({
            "executed_at": timestamp(&at),
            "timezone": at.time_zone().iana_name().unwrap_or("UTC"),
        }),
        agent: json!({"name": "action_agent", "type": "executional"}),
        input: Input {
            source: "dispatch_agent",
            content: &received.echo,
        },
        output: Output {
            content: Content {
                task_result: task_result(&received.task_id, outcome),
                execution_report: outcome.execution_report.as_ref(),
                suggestion: outcome.suggestion.as_ref(),
                oneact: Extras {
                    version: env!("CARGO_PKG_VERSION"),
                    operation_id: operation.as_str(),
                    kind: received.kind,
                    state: outcome.state,
                    fsm: prose::fsm(outcome),
                    fault: failure.map(|failure| failure.fault.name()),
                    effect: outcome.effect,
                    phase: outcome.phase,
                    gate: outcome.admission.as_ref(),
                    request_hash: record.map(|record| record.request_hash.as_str()),
                    reuse: record.and_then(|record| record.reuse.as_ref()),
                    waiting: outcome.waiting.as_ref(),
                    review: outcome.review.as_ref().map(review),
                    steps: &outcome.steps,
                    ledger: record.and_then(|record| record.ledger.as_ref()),
                    server: outcome.server.as_ref(),
                    unfit_result: outcome.unfit_result.as_ref(),
                    plan: outcome.plan.as_ref(),
                    preview: outcome.preview.as_ref(),
                    reports: outcome.reports.as_ref(),
                },
            },
            content_type: match outcome.suggestion {
                Some(_) => "suggestion",
                None => "task_result",
            },
        },
        next_agent: json!({"name": "dispatch_agent", "reason": prose::next_reason(outcome)}),
        status: json!({
            "code": prose::status_code(outcome),
            "message": prose::status_message(&received.task_id, outcome),
        }),
        error: json!({
            "has_error": failure.is_some(),
            "error_code": failure.map(|failure| failure.fault.code()),
            "error_message": failure.map(|failure| &failure.message),
            "retry_count": received.attempt - 1,
            "recoverable": failure.is_some_and(|failure| failure.recoverable),
        }),
        metadata: json!({
            "session_id": identity.session_id,
            "request_id": identity.request_id,
            "sequence_number": identity.sequence_number,
            "parent_message_id": identity.parent_message_id,
        }),
        resources: resources(
            &received.resources,
            &outcome.produced,
            identity.sequence_number,
        ),
        audit: json!({
            "compliance_notes": prose::compliance_notes(received, outcome),
            "governance_files_consulted": GOVERNANCE,
            "reasoning": prose::reasoning(received, outcome),
        }),
    }
}

fn timestamp(at: &Zoned) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
}

/// The time in its own zone if that has a name and an offset of whole minutes, otherwise in UTC.
fn named(at: &Zoned) -> Zoned {
    match at.time_zone().iana_name() {
        Some(_) if at.offset().seconds() % 60 == 0 => at.clone(),
        _ => at.with_time_zone(TimeZone::UTC),
    }
}

/// The review of the result (R-003-33).
fn review(review: &Review) -> Value {
    let Review {
        terms,
        state,
        decision,
    } = review;
    json!({
        "state": state,
        "blocks": terms.blocks,
        "since": terms.since,
        "until": terms.until,
        "decided_at": decision.as_ref().map(|decision| &decision.at),
        "how": terms.how(),
    })
}

/// The seven keys of the specification, and no other (R-000-20).
pub(super) fn task_result<'a>(task_id: &'a str, outcome: &'a Outcome) -> TaskResult<'a> {
    TaskResult {
        task_id,
        status: if outcome.failure.is_none() {
            "complete"
        } else {
            "failed"
        },
        capability_ids_executed: &outcome.executed,
        tool_invocations: &outcome.invocations,
        output_refs_produced: outcome.produced.iter().map(output_ref).collect(),
        result_data: outcome.result_data.as_ref(),
        quality_checks: outcome.checks,
    }
}

pub(super) fn output_ref(produced: &Produced) -> Value {
    json!({
        "ref_id": produced.ref_id.as_str(),
        "storage_uri": produced.storage_uri,
        "asset_type": produced.asset_type,
        "status": "created",
    })
}

/// The inherited resources with the produced ones added. A produced ref replaces a pending entry of the same ref
/// (R-000-33, C-02).
fn resources(inherited: &Resources, produced: &[Produced], sequence: u64) -> Resources {
    let mut block = inherited.clone();
    for each in produced {
        let parent = each.parent_ref_id.as_ref().map(RefId::as_str);
        let ref_id = each.ref_id.as_str();
        let (list, entry) = if ref_id.starts_with("store_") {
            let entry = json!({
                "ref_id": ref_id, "source_ref_id": parent, "storage_uri": each.storage_uri, "storage_backend": "file",
                "media_type": each.asset_type, "created_at_sequence": sequence, "status": "stored",
            });
            (&mut block.storage_refs, entry)
        } else {
            let entry = json!({
                "ref_id": ref_id, "parent_ref_id": parent, "storage_uri": each.storage_uri, "asset_type": each.asset_type,
                "capability_id": each.capability_id, "created_at_sequence": sequence, "status": "created",
            });
            (&mut block.derived_refs, entry)
        };
        let pending = |old: &&mut Value| {
            old.get("ref_id").and_then(Value::as_str) == Some(ref_id)
                && old.get("status").and_then(Value::as_str) == Some("pending")
        };
        match list.iter_mut().find(pending) {
            Some(old) => *old = entry,
            None => list.push(entry),
        }
    }
    block
}

#[derive(Serialize)]
struct Envelope<'a> {
    message_id: String,
    timestamp: Value,
    agent: Value,
    input: Input<'a>,
    output: Output<'a>,
    next_agent: Value,
    status: Value,
    error: Value,
    metadata: Value,
    resources: Resources,
    audit: Value,
}

#[derive(Serialize)]
struct Input<'a> {
    source: &'static str,
    content: &'a Value,
}

#[derive(Serialize)]
struct Output<'a> {
    content: Content<'a>,
    content_type: &'static str,
}

#[derive(Serialize)]
struct Content<'a> {
    task_result: TaskResult<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution_report: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggestion: Option<&'a Suggestion>,
    oneact: Extras<'a>,
}

/// The result of the task (R-000-19 … R-000-28).
#[derive(Serialize)]
pub(super) struct TaskResult<'a> {
    task_id: &'a str,
    status: &'static str,
    capability_ids_executed: &'a [String],
    tool_invocations: &'a [Invocation],
    output_refs_produced: Vec<Value>,
    result_data: Option<&'a Value>,
    quality_checks: Checks,
}

/// The fields that oneact adds to the envelope of the specification.
#[derive(Serialize)]
struct Extras<'a> {
    version: &'static str,
    operation_id: &'a str,
    kind: Kind,
    state: State,
    fsm: &'static str,
    fault: Option<&'static str>,
    effect: Effect,
    phase: Phase,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<&'a Admission>,
    request_hash: Option<&'a str>,
    reuse: Option<&'a ReuseReport>,
    waiting: Option<&'a Waiting>,
    review: Option<Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    steps: &'a [StepReport],
    ledger: Option<&'a LedgerRef>,
    server: Option<&'a ServerReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unfit_result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a Plan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<&'a Preview>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reports: Option<&'a ReportFiles>,
}
