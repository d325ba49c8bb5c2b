//! A row of `agent_actions`, which is one answer: its fields, its columns and its rules.

use serde::{Deserialize, Serialize};

use serde_json::{Map, Value};

use super::{
    super::{
        canonical::{canonical, exact, sha256},
        store::{ColumnType, Record, RuleResult, Seq, is_json, must},
    },
    body::RowSeal,
    made::Made,
    spelling::{name, word},
};

/// A row of `agent_actions`: one answer. The first thirteen columns are those of specification 004. Only rows from
/// before oneact have neither state nor link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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

/// The columns that no link seals, because pruning and revoking change them. A new one also belongs into
/// `oneact_row_change()` and the `GRANT UPDATE`, both in `postgres.sql`.
pub(crate) const UNSEALED: [&str; 4] = ["request", "response", "revoked_by", "pruned"];

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

impl Record for Row {
    const TABLE: [&'static str; 2] = ["agent_actions", "public.agent_actions"];
    const TYPES: &'static [(&'static str, ColumnType)] = &[
        ("id", ColumnType::Uuid),
        ("target_id", ColumnType::Id),
        ("request", ColumnType::Payload),
        ("response", ColumnType::Payload),
        ("confidence_score", ColumnType::Score),
        ("session_id", ColumnType::Id),
        ("step_index", ColumnType::Step),
        ("timestamp", ColumnType::Moment),
        ("reused_from", ColumnType::Uuid),
        ("started_at", ColumnType::Moment),
    ];

    /// The payloads of rows from before oneact are not checked.
    fn rule(&self) -> RuleResult {
        let is_linked = self.state.is_some() == self.seq.is_some();
        must(
            is_linked,
            "a row must have both a state and a link, or neither",
        )?;
        for list in [&self.input_ids, &self.output_ids, &self.adjusted] {
            must(is_json(list.as_deref()), "a list of a row is not JSON")?;
        }
        if self.state.is_none() {
            return Ok(());
        }
        let part = self.parent.is_some() == self.position.is_some();
        must(part, "a step must have both a parent and a position")?;
        for payload in [&self.request, &self.response] {
            must(
                is_json(payload.as_deref()),
                "a request or a response is not JSON",
            )?;
        }
        must(
            self.request_hash.len() == 71,
            "the hash of a request has the wrong length",
        )?;
        let score = self.confidence_score.unwrap_or_default();
        must(
            (0.0..=1.0).contains(&score),
            "a confidence must be between 0 and 1",
        )
    }

    /// A row of another program, or from before oneact, has no link, and may hold anything.
    fn admit(members: &mut Map<String, Value>) {
        let is_linked = members.get("seq").is_some_and(|seq| !seq.is_null());
        if let Some(outcome) = members.get_mut("outcome") {
            *outcome = match outcome.as_str() {
                Some(known @ ("success" | "error")) => known.into(),
                _ if is_linked => "other".into(),
                // Every other word means that it was no success.
                _ => "error".into(),
            };
        }
        if is_linked {
            return;
        }
        members.retain(|name, value| match name.as_str() {
            _ if value.is_null() => false,
            "confidence_score" => value.is_number(),
            "state" => value.as_str().and_then(word::<RowState>).is_some(),
            "attempt" => value
                .as_u64()
                .is_some_and(|number| u32::try_from(number).is_ok()),
            _ => value.as_i64().is_none_or(|number| number >= 0),
        });
    }
}

impl Row {
    pub(crate) fn made(&self) -> Vec<Made> {
        let read = |text: &str| serde_json::from_str(text).ok();
        let made = self.output_ids.as_deref().and_then(read);
        made.unwrap_or_default()
    }

    /// What the seal of the row covers: all columns, without request, response, `revoked_by` and `pruned`.
    pub(crate) fn sealed_text(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        for column in UNSEALED {
            if let Some(value) = value.get_mut(column) {
                *value = Value::Null;
            }
        }
        canonical(&exact(value))
    }

    pub(crate) fn seal(&self) -> RowSeal {
        RowSeal {
            id: self.id.clone(),
            request_sha256: self.request_sha256.clone(),
            response_sha256: self.response_sha256.clone(),
            row_sha256: sha256(self.sealed_text()),
        }
    }
}
