//! The ADL envelope: the one answer every task gets, to the letter (R-000-14 … R-000-36).
//!
//! The structs are the wire format: field order is output order. Extras of ours live in
//! `output.content.oneact` alone.

use std::borrow::Cow;

use jiff::{Zoned, tz::TimeZone};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value, json};

use crate::task::{
    Checks, Effect, ErrorCode, Invocation, InvocationStatus, LedgerRef, MessageId, OperationId,
    Outcome, Phase, Plan, Preview, Produced, RefId, ReportFiles, Resources, ReuseReport,
    ServerReport, State, Waiting,
};

use super::{prose, read::Received};

/// The files an answer says it consulted (R-000-135).
const GOVERNANCE: [&str; 4] = [
    "context/application.md",
    "context/governance/message_format.md",
    "context/governance/audit.md",
    "agent/executional/action.md",
];

/// A task with its answer, and when and as what it was done.
#[derive(Debug, Clone, Copy)]
pub struct Answered<'a> {
    pub received: &'a Received,
    pub outcome: &'a Outcome,
    pub operation: &'a OperationId,
    pub executed_at: &'a Zoned,
}

/// The envelope of that answer, as one line of JSON.
pub fn to_json(answered: &Answered<'_>) -> Vec<u8> {
    // Every part is a string, a number or a JSON value already: writing them to memory cannot fail.
    serde_json::to_vec(&envelope(answered)).unwrap_or_default()
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
    Envelope {
        message_id: MessageId::new(&at, operation).as_str().to_owned(),
        timestamp: Timestamp::new(&at),
        agent: Agent {
            name: "action_agent",
            r#type: "executional",
        },
        input: Input {
            source: "dispatch_agent",
            content: &received.echo,
        },
        output: Output {
            content: Content {
                task_result: task_result(&received.task_id, outcome),
                execution_report: outcome.execution_report.as_ref(),
                oneact: Extras {
                    version: env!("CARGO_PKG_VERSION"),
                    operation_id: operation.as_str(),
                    kind: "standard",
                    state: outcome.state,
                    fault: outcome.failure.as_ref().map(|failure| failure.fault.name()),
                    effect: outcome.effect,
                    phase: outcome.phase,
                    request_hash: record.map(|record| record.request_hash.as_str()),
                    reuse: record.and_then(|record| record.reuse.as_ref()),
                    waiting: outcome.waiting.as_ref(),
                    review: None,
                    ledger: record.and_then(|record| record.ledger.as_ref()),
                    server: outcome.server.as_ref(),
                    unfit_result: outcome.unfit_result.as_ref(),
                    plan: outcome.plan.as_ref(),
                    preview: outcome.preview.as_ref(),
                    reports: outcome.reports.as_ref(),
                },
            },
            content_type: "task_result",
        },
        next_agent: NextAgent {
            name: "dispatch_agent",
            reason: prose::next_reason(outcome),
        },
        status: Status {
            code: match outcome.state {
                State::Done | State::Planned | State::Reused | State::Suppressed => "success",
                State::Replayed if succeeded(outcome) => "success",
                State::Pending => "pending",
                State::Partial => "partial",
                State::Rejected
                | State::Failed
                | State::RolledBack
                | State::Cancelled
                | State::Replayed => "failed",
            },
            message: prose::status_message(&received.task_id, outcome),
        },
        error: ErrorBlock {
            has_error: outcome.failure.is_some(),
            error_code: outcome.failure.as_ref().map(|failure| failure.fault.code()),
            error_message: outcome
                .failure
                .as_ref()
                .map(|failure| failure.message.as_str()),
            retry_count: received.attempt - 1,
            recoverable: outcome
                .failure
                .as_ref()
                .is_some_and(|failure| failure.recoverable),
        },
        metadata: Metadata {
            session_id: &identity.session_id,
            request_id: identity.request_id.as_deref(),
            sequence_number: identity.sequence_number,
            parent_message_id: identity.parent_message_id.as_deref(),
        },
        resources: resources(
            &received.resources,
            &outcome.produced,
            identity.sequence_number,
        ),
        audit: Audit {
            compliance_notes: prose::compliance_notes(received, outcome),
            governance_files_consulted: GOVERNANCE,
            reasoning: prose::reasoning(received, outcome),
        },
    }
}

/// The moment in a zone that has a name and an offset of whole minutes: its own, else UTC.
fn named(at: &Zoned) -> Zoned {
    match at.time_zone().iana_name() {
        Some(_) if at.offset().seconds() % 60 == 0 => at.clone(),
        _ => at.with_time_zone(TimeZone::UTC),
    }
}

pub(super) fn succeeded(outcome: &Outcome) -> bool {
    outcome.failure.is_none()
}

/// Seed's seven keys, and no other (R-000-20).
pub(super) fn task_result<'a>(task_id: &'a str, outcome: &'a Outcome) -> TaskResult<'a> {
    TaskResult {
        task_id,
        status: if succeeded(outcome) {
            "complete"
        } else {
            "failed"
        },
        capability_ids_executed: &outcome.executed,
        tool_invocations: outcome.invocations.iter().map(ToolInvocation).collect(),
        output_refs_produced: outcome.produced.iter().map(OutputRef::new).collect(),
        result_data: outcome.result_data.as_ref(),
        quality_checks: QualityChecks(outcome.checks),
    }
}

/// The inherited resources with what was produced added; a pending entry of the same ref is
/// fulfilled where it stands (R-000-33, C-02).
fn resources<'a>(
    inherited: &'a Resources,
    produced: &[Produced],
    sequence: u64,
) -> ResourceLists<'a> {
    let lists = |list: &'a [Value]| list.iter().map(Cow::Borrowed).collect();
    let mut block = ResourceLists {
        source_refs: lists(&inherited.source_refs),
        storage_refs: lists(&inherited.storage_refs),
        derived_refs: lists(&inherited.derived_refs),
    };
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
        let pending = |old: &&mut Cow<'_, Value>| {
            old.get("ref_id").and_then(Value::as_str) == Some(ref_id)
                && old.get("status").and_then(Value::as_str) == Some("pending")
        };
        match list.iter_mut().find(pending) {
            Some(old) => *old = Cow::Owned(entry),
            None => list.push(Cow::Owned(entry)),
        }
    }
    block
}

#[derive(Serialize)]
struct Envelope<'a> {
    message_id: String,
    timestamp: Timestamp,
    agent: Agent,
    input: Input<'a>,
    output: Output<'a>,
    next_agent: NextAgent,
    status: Status,
    error: ErrorBlock<'a>,
    metadata: Metadata<'a>,
    resources: ResourceLists<'a>,
    audit: Audit,
}

#[derive(Serialize)]
struct Timestamp {
    executed_at: String,
    timezone: String,
}

impl Timestamp {
    /// ISO 8601 with milliseconds and offset, and the IANA name the offset belongs to (R-000-16).
    fn new(at: &Zoned) -> Self {
        Self {
            executed_at: at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            timezone: at.time_zone().iana_name().unwrap_or("UTC").to_owned(),
        }
    }
}

#[derive(Serialize)]
struct Agent {
    name: &'static str,
    r#type: &'static str,
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
    oneact: Extras<'a>,
}

/// What came of the task (R-000-19 … R-000-28).
#[derive(Serialize)]
pub(super) struct TaskResult<'a> {
    task_id: &'a str,
    status: &'static str,
    capability_ids_executed: &'a [String],
    tool_invocations: Vec<ToolInvocation<'a>>,
    output_refs_produced: Vec<OutputRef<'a>>,
    result_data: Option<&'a Value>,
    quality_checks: QualityChecks,
}

struct ToolInvocation<'a>(&'a Invocation);

impl Serialize for ToolInvocation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let call = self.0;
        let (status, detail) = match &call.status {
            InvocationStatus::Success => ("success", None),
            InvocationStatus::Error { detail } => ("error", Some(detail)),
        };
        let mut fields =
            serializer.serialize_struct("ToolInvocation", 5 + usize::from(detail.is_some()))?;
        fields.serialize_field("tool_name", &call.tool_name)?;
        fields.serialize_field("mcp_server", &call.mcp_server)?;
        fields.serialize_field::<Map<String, Value>>("parameters", &call.parameters)?;
        fields.serialize_field("execution_time_ms", &call.execution_time_ms)?;
        fields.serialize_field("status", status)?;
        if let Some(detail) = detail {
            fields.serialize_field("error_detail", detail)?;
        }
        fields.end()
    }
}

#[derive(Serialize)]
struct OutputRef<'a> {
    ref_id: &'a str,
    storage_uri: &'a str,
    asset_type: &'a str,
    status: &'static str,
}

impl<'a> OutputRef<'a> {
    fn new(produced: &'a Produced) -> Self {
        Self {
            ref_id: produced.ref_id.as_str(),
            storage_uri: &produced.storage_uri,
            asset_type: &produced.asset_type,
            status: "created",
        }
    }
}

struct QualityChecks(Checks);

impl Serialize for QualityChecks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let checks = self.0;
        let mut fields = serializer.serialize_struct(
            "QualityChecks",
            3 + usize::from(checks.result_complete.is_some()),
        )?;
        fields.serialize_field("output_exists", &checks.output_exists)?;
        fields.serialize_field("output_non_empty", &checks.output_non_empty)?;
        fields.serialize_field("format_valid", &checks.format_valid)?;
        if let Some(complete) = checks.result_complete {
            fields.serialize_field("result_complete", &complete)?;
        }
        fields.end()
    }
}

/// What oneact says beyond the specification's envelope.
#[derive(Serialize)]
struct Extras<'a> {
    version: &'static str,
    operation_id: &'a str,
    kind: &'static str,
    state: State,
    /// The failure's class in the one error table.
    fault: Option<&'static str>,
    effect: Effect,
    phase: Phase,
    request_hash: Option<&'a str>,
    reuse: Option<&'a ReuseReport>,
    waiting: Option<&'a Waiting>,
    /// Null until results can be reviewed.
    review: Option<()>,
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

#[derive(Serialize)]
struct NextAgent {
    name: &'static str,
    reason: &'static str,
}

#[derive(Serialize)]
struct Status {
    code: &'static str,
    message: String,
}

#[derive(Serialize)]
struct ErrorBlock<'a> {
    has_error: bool,
    error_code: Option<ErrorCode>,
    error_message: Option<&'a str>,
    retry_count: u32,
    recoverable: bool,
}

#[derive(Serialize)]
struct Metadata<'a> {
    session_id: &'a str,
    request_id: Option<&'a str>,
    sequence_number: u64,
    parent_message_id: Option<&'a str>,
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the wire's own names")]
struct ResourceLists<'a> {
    source_refs: Vec<Cow<'a, Value>>,
    storage_refs: Vec<Cow<'a, Value>>,
    derived_refs: Vec<Cow<'a, Value>>,
}

#[derive(Serialize)]
struct Audit {
    compliance_notes: String,
    governance_files_consulted: [&'static str; 4],
    reasoning: String,
}
