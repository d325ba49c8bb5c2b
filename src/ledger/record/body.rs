//! The body of a link: what it says about the records that it makes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{canonical::canonical, store::Seq};
use crate::task::{Effect, Granted};

/// The largest body, in bytes.
pub(super) const MOST_BODY: usize = 4096;

/// The body of a link: hashes and names, never parameters, in at most 4 KiB. Its JSON is canonical and leaves out
/// empty members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Body {
    /// The other operation or row that this link is about.
    pub(crate) about: Option<String>,
    /// The catalog entries of a claim. If the owner dies, there is no row with them.
    pub(crate) action: Option<String>,
    /// The id of the approval that this link requests, gives, denies, uses or ends.
    pub(crate) approval: Option<String>,
    /// What an approval has to be for.
    pub(crate) asked: Option<AskedApproval>,
    /// Of a claim or a repeated answer with a delivery: the attempt.
    pub(crate) attempt: Option<u32>,
    /// `state` if the request may change what later reads return.
    pub(crate) changes: Option<String>,
    /// The number of the claim that this link settles or advances.
    pub(crate) claim: Option<Seq>,
    /// The key of a claim, if that is not the request's hash.
    pub(crate) claimed: Option<String>,
    /// Of a claim of a task of several steps: the claim with which the unfinished task began that this run continues.
    pub(crate) continues: Option<Seq>,
    /// Of a claim or a repeated answer: the hash that names its delivery, without the attempt.
    pub(crate) delivery: Option<String>,
    /// Of a claim: the name of its [`Effects`](super::Effects).
    pub(crate) effects: Option<String>,
    pub(crate) entry_digest: Option<String>,
    /// Of a claim: the hash of the action, if the entry has a `fence`.
    pub(crate) fence: Option<String>,
    /// The grant that the answer opens.
    pub(crate) grant: Option<Granted>,
    /// The root in which a claimed plan is performed, or in which a grant was opened.
    pub(crate) home: Option<String>,
    /// The host that told the decision of its user.
    pub(crate) host: Option<String>,
    /// SHA-256 of the key for secrets that was made.
    pub(crate) key: Option<String>,
    /// The reason that a person gave.
    pub(crate) note: Option<String>,
    /// The name of the reason why the request was performed, or not.
    pub(crate) reason: Option<String>,
    pub(crate) request_hash: Option<String>,
    pub(crate) row: Option<RowSeal>,
    pub(crate) rows: Vec<String>,
    pub(crate) session: Option<SessionSeal>,
    /// The signature of a decision, without its armour.
    pub(crate) signature: Option<String>,
    pub(crate) task: Option<String>,
    /// Of a knot: SHA-256 over the hashes of the knot before and of all links since.
    pub(crate) tied: Option<String>,
    /// Of an answer.
    pub(crate) told: Option<Told>,
    /// The operation whose grant covers the dispatched call.
    pub(crate) under: Option<String>,
}

/// What an answer told its caller about the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Told {
    pub(crate) effect: Effect,
    pub(crate) recoverable: bool,
}

/// Whether a request may change what later reads return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StateChange {
    #[default]
    Nothing,
    State,
}

pub(crate) fn changes(change: StateChange) -> Option<String> {
    match change {
        StateChange::Nothing => None,
        StateChange::State => Some("state".to_owned()),
    }
}

/// The hashes of a link's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowSeal {
    pub(crate) id: String,
    pub(crate) request_sha256: String,
    pub(crate) response_sha256: String,
    /// The hash of all columns except request, response, `revoked_by` and `pruned`.
    pub(crate) row_sha256: String,
}

/// The facts of the session that a link opens. The link has the opener and the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionSeal {
    pub(crate) context: String,
    pub(crate) profile: String,
}

/// What a request for an approval is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedApproval {
    #[serde(default)]
    pub(crate) bound: Bound,
    pub(crate) expires_at: String,
    /// The hash of everything that would be performed.
    pub(crate) intent_hash: String,
    /// A random text, so that no signature fits two requests.
    pub(crate) nonce: String,
    /// SHA-256 of the policy under which it was requested.
    pub(crate) policy: String,
    /// Of a plan: the hash of its preview.
    pub(crate) preview_hash: Option<String>,
    /// The name of the root in which it would be performed.
    pub(crate) root: Option<String>,
    /// Of a step: the `request_hash` of its task.
    #[serde(default)]
    pub(crate) whole: Option<String>,
}

/// To what an approval is bound, beside the effective call, the root and the asker: to that which the caller named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    /// To the session and the task.
    #[default]
    Task,
    /// To the session.
    Session,
    /// To the call alone.
    Call,
}

/// The longest name of an action in a link, in bytes.
const MOST_ACTION: usize = 2048;

impl Body {
    /// The body with names that fit into a link. Only names can be too long.
    pub(crate) fn fitting(self) -> Self {
        let fits = |body: &Self| body.json().len() <= MOST_BODY;
        if fits(&self) {
            return self;
        }
        let shortened = |action: String| {
            let end = action.floor_char_boundary(MOST_ACTION);
            action.get(..end).unwrap_or_default().to_owned()
        };
        let short = Self {
            action: self.action.map(shortened),
            ..self
        };
        if fits(&short) {
            return short;
        }
        Self {
            task: None,
            ..short
        }
    }

    pub(crate) fn json(&self) -> String {
        let mut value = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.retain(|_, member| !member.is_null() && *member != Value::Array(Vec::new()));
        }
        canonical(&value)
    }
}
