//! A row of `agent_actions`, which is one answer: its fields, its columns and its rules.

use serde::{Deserialize, Serialize};

use super::super::store::{
    columns::{Column, Kind, Record, Rule, SEQ, column, is_json, must, unsealed},
    sql::{Engine, Field, Value, Writer, text},
};
use super::{Made, Seq, name, stored_word};

/// A row of `agent_actions`: one answer. The first thirteen columns are those of specification 004. Only rows from
/// before oneact have neither state nor link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// A UUID.
    pub(crate) id: String,
    pub(crate) agent_name: Option<String>,
    /// The catalog entries, joined by `+`.
    pub(crate) action_type: Option<String>,
    pub(crate) target_type: Option<String>,
    pub(crate) target_id: Option<String>,
    pub(crate) outcome: RowOutcome,
    /// The `MCPRequest` as JSON text without secrets; none after pruning.
    pub(crate) request: Option<String>,
    /// `sha256:…`; empty in rows from before oneact.
    pub(crate) request_hash: String,
    /// The `MCPResponse` as JSON text, byte for byte; none after pruning.
    pub(crate) response: Option<String>,
    pub(crate) confidence_score: Option<f64>,
    pub(crate) session_id: String,
    /// The number of the answer in its session, from 0 without gaps. Rows from before oneact are counted by their
    /// time.
    pub(crate) step_index: u64,
    /// When it was answered: RFC 3339, UTC, milliseconds.
    pub(crate) timestamp: String,
    pub(crate) state: Option<RowState>,
    pub(crate) operation_id: String,
    pub(crate) request_id: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) task_id: Option<String>,
    pub(crate) attempt: u32,
    pub(crate) entry_version: Option<String>,
    pub(crate) entry_digest: Option<String>,
    pub(crate) tool_pin: Option<String>,
    pub(crate) oneact_version: String,
    /// Specification 004's own hash of the inputs alone.
    pub(crate) inputs_hash: Option<String>,
    /// The [`Print`]s of the inputs, as JSON text.
    pub(crate) input_ids: Option<String>,
    /// The [`Made`] assets or files, as JSON text.
    pub(crate) output_ids: Option<String>,
    /// What a retry changed, as JSON text.
    pub(crate) adjusted: Option<String>,
    /// The id of the row whose answer was repeated.
    pub(crate) reused_from: Option<String>,
    /// The name of the reason why the request was performed, or not.
    pub(crate) reason: Option<String>,
    /// The name of a failure's fault.
    pub(crate) fault: Option<String>,
    pub(crate) started_at: String,
    pub(crate) duration_ms: u64,
    pub(crate) request_sha256: String,
    pub(crate) response_sha256: String,
    /// The link of this row.
    pub(crate) seq: Option<Seq>,
    /// The link that revoked it.
    pub(crate) revoked_by: Option<Seq>,
    /// The link that says that its request and its response were removed.
    pub(crate) pruned: Option<Seq>,
    /// Of a step of a task: the operation of the task.
    pub(crate) parent: Option<String>,
    /// The number of the step in its task, from 1.
    pub(crate) position: Option<u64>,
}

/// The request of a row, if the owner recorded none. Only the hash of the request is known then.
pub(in crate::ledger) const UNRECORDED: &str = "null";

/// Specification 004's two words (R-004-42).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowOutcome {
    Success,
    #[default]
    Error,
    /// Another word, in a row that has a link: another program wrote it.
    Other,
}

impl RowOutcome {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

/// How a request ended (C-40).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowState {
    Done,
    Partial,
    Failed,
    RolledBack,
    Cancelled,
    Unknown,
    Rejected,
    Pending,
    Reused,
    Suppressed,
    Replayed,
    Late,
}

impl RowState {
    pub(crate) fn name(self) -> String {
        name(&self)
    }
}

/// The columns of `agent_actions` in both schemas of specification 004.
pub(in crate::ledger) const ALWAYS: [&str; 9] = [
    "id",
    "agent_name",
    "action_type",
    "target_type",
    "target_id",
    "outcome",
    "confidence_score",
    "session_id",
    "timestamp",
];

/// The columns of specification 004 that have a newer and an older name.
pub(in crate::ledger) const RENAMED: [[&str; 2]; 3] = [
    ["response", "payload"],
    ["request", "input"],
    ["request_hash", "input_hash"],
];

impl Record for Row {
    /// The first thirteen are those of specification 004. A new unsealed column also belongs into `oneact_row_change()`
    /// and the `GRANT UPDATE`, both in `postgres.sql`.
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", Kind::Uuid, |r| &mut r.id),
        column("agent_name", Kind::Text, |r| &mut r.agent_name),
        column("action_type", Kind::Text, |r| &mut r.action_type),
        column("target_type", Kind::Text, |r| &mut r.target_type),
        column("target_id", Kind::Id, |r| &mut r.target_id),
        column("outcome", Kind::Text, |r| &mut r.outcome),
        unsealed("request", Kind::Payload, |r| &mut r.request),
        column("request_hash", Kind::Text, |r| &mut r.request_hash),
        unsealed("response", Kind::Payload, |r| &mut r.response),
        column("confidence_score", Kind::Score, |r| &mut r.confidence_score),
        column("session_id", Kind::Id, |r| &mut r.session_id),
        column("step_index", Kind::Step, |r| &mut r.step_index),
        column("timestamp", Kind::Moment, |r| &mut r.timestamp),
        column("state", Kind::Text, |r| &mut r.state),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("request_id", Kind::Text, |r| &mut r.request_id),
        column("idempotency_key", Kind::Text, |r| &mut r.idempotency_key),
        column("task_id", Kind::Text, |r| &mut r.task_id),
        column("attempt", Kind::Count, |r| &mut r.attempt),
        column("entry_version", Kind::Text, |r| &mut r.entry_version),
        column("entry_digest", Kind::Text, |r| &mut r.entry_digest),
        column("tool_pin", Kind::Text, |r| &mut r.tool_pin),
        column("oneact_version", Kind::Text, |r| &mut r.oneact_version),
        column("inputs_hash", Kind::Text, |r| &mut r.inputs_hash),
        column("input_ids", Kind::Text, |r| &mut r.input_ids),
        column("output_ids", Kind::Text, |r| &mut r.output_ids),
        column("adjusted", Kind::Text, |r| &mut r.adjusted),
        column("reused_from", Kind::Uuid, |r| &mut r.reused_from),
        column("reason", Kind::Text, |r| &mut r.reason),
        column("fault", Kind::Text, |r| &mut r.fault),
        column("started_at", Kind::Moment, |r| &mut r.started_at),
        column("duration_ms", Kind::Count, |r| &mut r.duration_ms),
        column("request_sha256", Kind::Text, |r| &mut r.request_sha256),
        column("response_sha256", Kind::Text, |r| &mut r.response_sha256),
        column(SEQ, Kind::Count, |r| &mut r.seq),
        unsealed("revoked_by", Kind::Count, |r| &mut r.revoked_by),
        unsealed("pruned", Kind::Count, |r| &mut r.pruned),
        column("parent", Kind::Text, |r| &mut r.parent),
        column("position", Kind::Count, |r| &mut r.position),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["agent_actions", "public.agent_actions"])
    }

    /// The payloads of rows from before oneact are not checked.
    fn rule(&self) -> Rule {
        let linked = self.state.is_some() == self.seq.is_some();
        must(
            linked,
            "a row must have both a state and a link, or neither",
        )?;
        let lists = [&self.input_ids, &self.output_ids, &self.adjusted];
        let lists = lists.into_iter().all(|list| is_json(list.as_deref()));
        must(
            lists,
            "the inputs, the outputs or the changed parameters of a row are not JSON",
        )?;
        if self.state.is_none() {
            return Ok(());
        }
        let part = self.parent.is_some() == self.position.is_some();
        must(
            part,
            "a step of a task must have both a parent and a position",
        )?;
        let payloads = is_json(self.request.as_deref()) && is_json(self.response.as_deref());
        must(payloads, "a request or a response is not JSON")?;
        must(
            self.request_hash.len() == 71,
            "the hash of a request has the wrong length",
        )?;
        let confidence = self
            .confidence_score
            .is_none_or(|score| (0.0..=1.0).contains(&score));
        must(confidence, "a confidence must be between 0 and 1")
    }
}

impl Field for RowOutcome {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        *self = match (text(value)?.as_deref(), writer) {
            (Some("success"), _) => Self::Success,
            // In a row of another program, every other word means that it was no success.
            (Some("error"), _) | (_, Writer::Another) => Self::Error,
            (_, Writer::Oneact) => Self::Other,
        };
        Ok(())
    }

    fn take(&mut self) -> Value {
        self.name().into()
    }
}

impl Field for Option<RowState> {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        *self = match (value, writer) {
            (Value::Null, _) => None,
            (value, Writer::Another) => stored_word(value).ok(),
            (value, Writer::Oneact) => Some(stored_word(value)?),
        };
        Ok(())
    }

    fn take(&mut self) -> Value {
        self.map_or(Value::Null, |state| Value::Text(state.name()))
    }
}

impl Row {
    pub(crate) fn made(&self) -> Vec<Made> {
        let read = |text: &str| serde_json::from_str(text).ok();
        let made = self.output_ids.as_deref().and_then(read);
        made.unwrap_or_default()
    }
}
