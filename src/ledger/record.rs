//! What the ledger keeps: links of the chain, rows of `agent_actions` with what went in and came out, claims,
//! sessions. Values only.

use serde::{
    Deserialize, Serialize,
    de::{
        IntoDeserializer as _,
        value::{Error, StrDeserializer},
    },
};

use crate::task::{Print, Produced};

/// The number of a link: gapless, 0 is the first.
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
    /// Who caused it.
    pub(crate) actor: String,
    /// Canonical JSON (RFC 8785), at most 4,096 bytes.
    pub(crate) body: String,
    /// Of the link before; 64 zeros at the first.
    pub(crate) prev_hash: String,
    /// SHA-256 over everything above, in lower-case hexadecimal.
    pub(crate) entry_hash: String,
}

/// By what the body of a link says that it may change what later reads see, to be looked for in its text: no other text of a body can hold it unescaped.
pub(super) const CHANGES_STATE: &str = r#""changes":"state""#;

/// The hash that the first link holds of the one before.
pub(crate) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A body larger than this is refused, in bytes.
pub(super) const MOST_BODY: usize = 4096;

/// The last link: where the next one is added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) seq: Seq,
    pub(crate) entry_hash: String,
}

/// The kinds of link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The first link of every chain.
    Genesis,
    Rejected,
    Pending,
    /// Somebody is about to do it.
    Reserved,
    /// From here on it may have happened.
    Dispatched,
    /// The owner of a claim was gone.
    TakenOver,
    Succeeded,
    Failed,
    RolledBack,
    Cancelled,
    /// It may or may not have happened: a person decides.
    Unknown,
    Resolved,
    Replayed,
    Reused,
    Suppressed,
    /// An answer of an owner whose claim had been taken over.
    Late,
    Reviewed,
    Revoked,
    Pruned,
    /// The key for hashes of secrets was made.
    Keyed,
}

impl Event {
    /// As it is stored.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Genesis => "genesis",
            Self::Rejected => "rejected",
            Self::Pending => "pending",
            Self::Reserved => "reserved",
            Self::Dispatched => "dispatched",
            Self::TakenOver => "taken_over",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::RolledBack => "rolled_back",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
            Self::Resolved => "resolved",
            Self::Replayed => "replayed",
            Self::Reused => "reused",
            Self::Suppressed => "suppressed",
            Self::Late => "late",
            Self::Reviewed => "reviewed",
            Self::Revoked => "revoked",
            Self::Pruned => "pruned",
            Self::Keyed => "keyed",
        }
    }
}

/// A row of `agent_actions`: one answer. The first thirteen columns are specification 004's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// A UUID.
    pub(crate) id: String,
    pub(crate) agent_name: Option<String>,
    /// The catalog entry; several are joined by `+`.
    pub(crate) action_type: Option<String>,
    pub(crate) target_type: Option<String>,
    pub(crate) target_id: Option<String>,
    pub(crate) outcome: RowOutcome,
    /// The `MCPRequest` as JSON text, without secrets; none after pruning.
    pub(crate) request: Option<String>,
    /// `sha256:…`; empty in rows of before oneact, which are never reused.
    pub(crate) request_hash: String,
    /// The `MCPResponse` as JSON text, byte for byte as it was answered; none after pruning.
    pub(crate) response: Option<String>,
    pub(crate) confidence_score: Option<f64>,
    pub(crate) session_id: String,
    /// Of the answers of the session, from 0 without gaps; rows of before oneact are counted by their time.
    pub(crate) step_index: u64,
    /// RFC 3339, UTC, milliseconds: when it was answered.
    pub(crate) timestamp: String,
    /// None in rows of before oneact: they are history.
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
    /// Specification 004's own hash of the inputs alone, made correct.
    pub(crate) inputs_hash: Option<String>,
    /// [`Print`](super::Print)s of the inputs, as JSON text.
    pub(crate) input_ids: Option<String>,
    /// [`Made`](super::Made) assets or files, as JSON text.
    pub(crate) output_ids: Option<String>,
    /// What a retry changed, as JSON text.
    pub(crate) adjusted: Option<String>,
    /// The id of the row whose answer this is.
    pub(crate) reused_from: Option<String>,
    /// Why it ran although the same had been asked before, or why not: a name.
    pub(crate) reason: Option<String>,
    /// The fault of a failure, by its name.
    pub(crate) fault: Option<String>,
    pub(crate) started_at: String,
    pub(crate) duration_ms: u64,
    pub(crate) request_sha256: String,
    pub(crate) response_sha256: String,
    /// The link that this row belongs to; none in rows of before oneact.
    pub(crate) seq: Option<Seq>,
    /// The link that took it back.
    pub(crate) revoked_by: Option<Seq>,
}

/// Specification 004's two words (R-004-42).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowOutcome {
    Success,
    #[default]
    Error,
    /// Neither of the two, in a row of ours: somebody else wrote it.
    Other,
}

impl RowOutcome {
    /// As it is stored.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

/// How it ended (C-40).
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
    /// As it is stored.
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

/// Somebody at work on a request: the only rows that come and go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) key: ClaimKey,
    pub(crate) operation_id: String,
    /// The `reserved` or `taken_over` link. Its owner holds the lock of that number as long as it lives,
    /// and a claim that was taken over has another one.
    pub(crate) seq: Seq,
    pub(crate) state: ClaimState,
    pub(crate) effects: Effects,
}

/// What is claimed: a request of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClaimKey {
    pub(crate) session_id: String,
    /// Where duplicates are to run, the operation id stands here, so that nothing collides.
    pub(crate) request_hash: String,
}

/// How far its owner is known to have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClaimState {
    /// Nothing has happened yet.
    #[default]
    Reserved,
    /// It may have happened.
    Dispatched,
    /// Its owner died after it was dispatched, and nobody has decided.
    Unknown,
}

impl ClaimState {
    /// As it is stored.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Dispatched => "dispatched",
            Self::Unknown => "unknown",
        }
    }
}

/// What doing it twice would mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effects {
    /// It changes nothing.
    None,
    /// Twice is as good as once.
    Idempotent,
    /// Twice is once too often.
    #[default]
    Once,
}

impl Effects {
    /// As it is stored.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Idempotent => "idempotent",
            Self::Once => "once",
        }
    }
}

/// A session: who may use it is fixed by whoever opened it, never by a payload (R-004-03).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the name that it has everywhere else"
)]
pub(crate) struct Session {
    /// The link that opened it, which says the same.
    pub(crate) seq: Seq,
    pub(crate) session_id: String,
    /// The invocation context, e.g. `AGENT_AUTONOMOUS`.
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
    /// It was written to between the beginning of the run and its end.
    pub(crate) changed_meanwhile: bool,
}

/// Something that was made, and what it was when it was made.
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
    /// An asset, with its fingerprint.
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

    /// A file that is no asset is called by its place.
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

/// The word of one of these lists that has that name.
pub(in crate::ledger) fn word<'w, T: Deserialize<'w>>(name: &'w str) -> Option<T> {
    let name: StrDeserializer<'w, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}
