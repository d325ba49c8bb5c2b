//! The ADL envelope, the answer to every task (R-000-14 … R-000-36), and the form that 001's protocol layer reads
//! instead (`--reply report`).
//!
//! Field order is output order. Only `output.content.oneact` contains fields that are not in the specification.

use jiff::{Zoned, tz::TimeZone};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::task::{OperationId, Outcome, Produced, RefId, Resources, Review, message_id};

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

fn envelope(answered: &Answered<'_>) -> Value {
    let Answered {
        received,
        outcome,
        executed_at,
        operation,
    } = *answered;
    let identity = &received.identity;
    let at = named(executed_at);
    let failure = outcome.failure.as_ref();
    let words = prose::words(outcome);
    let content = data(received, outcome, Some(&extras(answered)));
    let content_type = match outcome.suggestion {
        Some(_) => "suggestion",
        None => "task_result",
    };
    json!({
        "message_id": message_id(&at, operation),
        // The IANA name belongs to the offset of `executed_at` (R-000-16).
        "timestamp": {
            "executed_at": timestamp(&at),
            "timezone": at.time_zone().iana_name().unwrap_or("UTC"),
        },
        "agent": {"name": "action_agent", "type": "executional"},
        "input": {"source": "dispatch_agent", "content": received.echo},
        "output": {"content": content, "content_type": content_type},
        "next_agent": {"name": "dispatch_agent", "reason": words.next},
        "status": {
            "code": words.code,
            "message": prose::status_message(&received.task_id, outcome),
        },
        "error": {
            "has_error": failure.is_some(),
            "error_code": failure.map(|failure| failure.fault.code()),
            "error_message": failure.map(|failure| &failure.message),
            "retry_count": received.attempt.unwrap_or(1) - 1,
            "recoverable": failure.is_some_and(|failure| failure.recoverable),
        },
        "metadata": {
            "session_id": identity.session_id,
            "request_id": identity.request_id,
            "sequence_number": identity.sequence_number,
            "parent_message_id": identity.parent_message_id,
        },
        "resources": resources(&received.resources, &outcome.produced, identity.sequence_number),
        "audit": {
            "compliance_notes": prose::compliance_notes(received, outcome),
            "governance_files_consulted": GOVERNANCE,
            "reasoning": prose::reasoning(received, outcome),
        },
    })
}

/// The fields that oneact adds to the envelope of the specification.
fn extras(answered: &Answered<'_>) -> Value {
    let (outcome, record) = (answered.outcome, answered.outcome.record.as_ref());
    let failure = outcome.failure.as_ref();
    let mut extras = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "operation_id": answered.operation.as_str(),
        "kind": answered.received.kind,
        "state": outcome.state,
        "fsm": prose::words(outcome).fsm,
        "fault": failure.map(|failure| failure.fault.name()),
        "effect": outcome.effect,
        "phase": outcome.phase,
        "gate": outcome.admission,
        "request_hash": record.map(|record| &record.request_hash),
        "reuse": record.map(|record| &record.reuse),
        "waiting": outcome.waiting,
        "review": outcome.review.as_ref().map(review),
        "steps": Some(&outcome.steps).filter(|steps| !steps.is_empty()),
        "ledger": record.map(|record| &record.ledger),
        "server": outcome.server,
        "unfit_result": outcome.unfit_result,
        "plan": outcome.plan,
        "preview": outcome.preview,
        "reports": outcome.reports,
    });
    without_null(
        &mut extras,
        &[
            "gate",
            "steps",
            "unfit_result",
            "plan",
            "preview",
            "reports",
        ],
    );
    extras
}

/// Takes those of these members out of an object that are null.
pub(super) fn without_null(object: &mut Value, optional: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|key, value| !value.is_null() || !optional.contains(&key.as_str()));
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

/// The result, the report of a plan or the card of a suggestion, and the fields that oneact adds.
pub(super) fn data(received: &Received, outcome: &Outcome, oneact: Option<&Value>) -> Value {
    let mut data = json!({
        "task_result": task_result(&received.task_id, outcome),
        "execution_report": outcome.execution_report,
        "suggestion": outcome.suggestion,
        "oneact": oneact,
    });
    without_null(&mut data, &["execution_report", "suggestion", "oneact"]);
    data
}

/// The result of the task (R-000-19 … R-000-28): the seven keys of the specification, and no other (R-000-20).
fn task_result(task_id: &str, outcome: &Outcome) -> Value {
    let status = match outcome.failure {
        None => "complete",
        Some(_) => "failed",
    };
    json!({
        "task_id": task_id,
        "status": status,
        "capability_ids_executed": outcome.executed,
        "tool_invocations": outcome.invocations,
        "output_refs_produced": outcome.produced.iter().map(output_ref).collect::<Value>(),
        "result_data": outcome.result_data,
        "quality_checks": outcome.checks,
    })
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
