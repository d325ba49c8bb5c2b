//! The records of the ledger: links, rows of `agent_actions`, claims and sessions. Values only.

use serde::{
    Deserialize, Serialize,
    de::{
        IntoDeserializer as _,
        value::{Error, StrDeserializer},
    },
};
use serde_json::Value;

use crate::task::{Print, Produced};

/// The number of a link. The first link is 0, and there are no gaps.
pub(crate) type Seq = u64;

/// One link of the chain: what happened, in hashes and names, never in payloads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) seq: Seq,
    pub(crate) operation_id: String,
    pub(crate) session_id: String,
    pub(crate) event: String,
    /// RFC 3339, UTC, milliseconds.
    pub(crate) at: String,
    /// Who caused it: `uid:1000`.
    pub(crate) actor: String,
    /// Canonical JSON (RFC 8785), at most 4,096 bytes.
    pub(crate) body: String,
    /// The hash of the link before; 64 zeros in the first link.
    pub(crate) prev_hash: String,
    /// SHA-256 over everything above, in lower-case hexadecimal.
    pub(crate) entry_hash: String,
}

/// The text in the body of a link that may change what later reads return. In other texts of a body, the quotation
/// marks are escaped.
pub(super) const CHANGES_STATE: &str = r#""changes":"state""#;

/// The `prev_hash` of the first link.
pub(crate) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The largest body, in bytes.
pub(super) const MOST_BODY: usize = 4096;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) seq: Seq,
    pub(crate) entry_hash: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The first link of every chain.
    Genesis,
    Rejected,
    Pending,
    /// A run has claimed the request.
    Reserved,
    /// From here on, the request may have happened.
    Dispatched,
    /// A run took over the claim of a dead owner.
    TakenOver,
    Succeeded,
    Failed,
    RolledBack,
    Cancelled,
    /// It may have happened, and a person decides.
    Unknown,
    Resolved,
    Replayed,
    Reused,
    Suppressed,
    /// The answer of an owner whose claim was taken over.
    Late,
    Reviewed,
    Revoked,
    Pruned,
    /// The key for hashes of secrets was made.
    Keyed,
}

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
}

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
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::RolledBack => "rolled_back",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
            Self::Rejected => "rejected",
            Self::Pending => "pending",
            Self::Reused => "reused",
            Self::Suppressed => "suppressed",
            Self::Replayed => "replayed",
            Self::Late => "late",
        }
    }
}

/// The mark that a run is performing a request. Claims are the only records that are removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) key: ClaimKey,
    pub(crate) operation_id: String,
    /// The `reserved` or `taken_over` link. A claim that was taken over has another number.
    pub(crate) seq: Seq,
    pub(crate) state: ClaimState,
    pub(crate) effects: Effects,
}

/// The key of a claim.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClaimKey {
    pub(crate) session_id: String,
    /// The hash of the request; if duplicates are repeated, the delivery or the operation.
    pub(crate) request_hash: String,
}

/// How far the owner of a claim has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimState {
    /// Nothing has happened yet.
    #[default]
    Reserved,
    /// It may have happened.
    Dispatched,
    /// It may have happened, and a person has to decide.
    Unknown,
}

/// What it would mean to perform a request twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effects {
    /// It changes nothing.
    None,
    /// Twice is the same as once.
    Idempotent,
    /// It must not happen twice.
    #[default]
    Once,
}

/// A session. Its opener fixes who may use it; a payload never does (R-004-03).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the name that it has everywhere else"
)]
pub(crate) struct Session {
    /// The link that opened it.
    pub(crate) seq: Seq,
    pub(crate) session_id: String,
    /// The context of the calls: `AGENT_AUTONOMOUS`.
    pub(crate) context: String,
    pub(crate) profile: String,
    /// `uid:1000`
    pub(crate) principal: String,
    pub(crate) opened_at: String,
}

/// An input, as it was after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeenInput {
    pub(crate) print: Print,
    /// It was written during the run.
    pub(crate) changed_meanwhile: bool,
}

/// An asset or a file that was made, as it was then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Made {
    pub(crate) ref_id: String,
    pub(crate) storage_uri: String,
    pub(crate) asset_type: String,
    pub(crate) capability_id: String,
    pub(crate) parent_ref_id: Option<String>,
    pub(crate) print: Print,
}

impl Made {
    pub(crate) fn of(produced: &Produced, print: Print) -> Self {
        Self {
            ref_id: produced.ref_id.to_string(),
            storage_uri: produced.storage_uri.clone(),
            asset_type: produced.asset_type.clone(),
            capability_id: produced.capability_id.clone(),
            parent_ref_id: produced.parent_ref_id.as_ref().map(ToString::to_string),
            print,
        }
    }

    /// A file that is no asset. Its path stands for its ref.
    pub(crate) fn file(place: &str, asset_type: &str, capability_id: &str, print: Print) -> Self {
        Self {
            ref_id: place.to_owned(),
            storage_uri: place.to_owned(),
            asset_type: asset_type.to_owned(),
            capability_id: capability_id.to_owned(),
            parent_ref_id: None,
            print,
        }
    }

    pub(crate) fn is_asset(&self) -> bool {
        self.ref_id != self.storage_uri
    }
}

/// The stored name of a variant.
pub(super) fn name(word: &impl Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The variant with that stored name.
pub(in crate::ledger) fn word<'w, T: Deserialize<'w>>(name: &'w str) -> Option<T> {
    let name: StrDeserializer<'w, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}
