//! The records of the ledger: links, rows of `agent_actions`, claims and sessions. Each has its columns and its rules
//! below it.

mod row;

use crate::task::{CallContext, Print, Produced};
use serde::{
    Deserialize, Serialize,
    de::{
        DeserializeOwned, IntoDeserializer as _,
        value::{Error, StrDeserializer},
    },
};

use super::store::{
    columns::{Column, Kind, Record, Rule, SEQ, column, is_json, must},
    sql::{Engine, Field, Value, Writer, text},
};

/// A link by its number and its hash.
pub(crate) use crate::task::LedgerRef as Head;
pub(in crate::ledger) use row::{ALWAYS, RENAMED};
pub(crate) use row::{Row, RowOutcome, RowState};

/// The number of a link. The first link is 0, and there are no gaps.
pub(crate) type Seq = u64;

/// One link of the chain: what happened, in hashes and names, never in payloads. Its hash is over the JSON of its
/// fields, so they are in the order of RFC 8785.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Link {
    /// Who caused it: `uid:1000`.
    pub(crate) actor: String,
    /// RFC 3339, UTC, milliseconds.
    pub(crate) at: String,
    /// Canonical JSON (RFC 8785), at most 4,096 bytes.
    pub(crate) body: String,
    /// SHA-256 over all other fields, in lower-case hexadecimal.
    #[serde(skip)]
    pub(crate) entry_hash: String,
    pub(crate) event: String,
    pub(crate) operation_id: String,
    /// The hash of the link before; 64 zeros in the first link.
    pub(crate) prev_hash: String,
    pub(crate) seq: Seq,
    pub(crate) session_id: String,
}

impl Record for Link {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("session_id", Kind::Text, |r| &mut r.session_id),
        column("event", Kind::Text, |r| &mut r.event),
        column("at", Kind::Text, |r| &mut r.at),
        column("actor", Kind::Text, |r| &mut r.actor),
        column("body", Kind::Text, |r| &mut r.body),
        column("prev_hash", Kind::Text, |r| &mut r.prev_hash),
        column("entry_hash", Kind::Text, |r| &mut r.entry_hash),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["ledger_events", "public.ledger_events"])
    }

    fn rule(&self) -> Rule {
        let known: Option<Event> = word(&self.event);
        must(known.is_some(), "the event of a link is unknown")?;
        must(
            self.entry_hash.len() == 64,
            "the hash of a link has the wrong length",
        )?;
        must(
            self.body.len() <= MOST_BODY,
            "the body of a link is too long",
        )?;
        must(is_json(Some(&self.body)), "the body of a link is not JSON")
    }
}

/// The text in the body of a link that may change what later reads return. In other texts of a body, the quotation
/// marks are escaped.
pub(super) const CHANGES_STATE: &str = r#""changes":"state""#;

/// The `prev_hash` of the first link.
pub(crate) const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The largest body, in bytes.
pub(super) const MOST_BODY: usize = 4096;

impl Record for Head {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("entry_hash", Kind::Text, |r| &mut r.entry_hash),
    ];

    fn table(engine: Engine) -> &'static str {
        Link::table(engine)
    }
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
    /// A run found that the request needs an approval, and performed nothing.
    ApprovalRequested,
    /// A person approved the request.
    Approved,
    /// A person denied the request.
    Denied,
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

impl Claim {
    /// Whether it is of a once-only call that was sent.
    pub(crate) fn may_have_happened(&self) -> bool {
        self.state != ClaimState::Reserved && self.effects == Effects::Once
    }
}

impl Record for Claim {
    const COLUMNS: &'static [Column<Self>] = &[
        column("session_id", Kind::Text, |r| &mut r.key.session_id),
        column("request_hash", Kind::Text, |r| &mut r.key.request_hash),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("state", Kind::Text, |r| &mut r.state),
        column("effects", Kind::Text, |r| &mut r.effects),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["claims", "public.oneact_claims"])
    }
}

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

impl Record for Session {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("session_id", Kind::Key, |r| &mut r.session_id),
        column("context", Kind::Text, |r| &mut r.context),
        column("profile", Kind::Text, |r| &mut r.profile),
        column("principal", Kind::Text, |r| &mut r.principal),
        column("opened_at", Kind::Moment, |r| &mut r.opened_at),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["sessions", "public.oneact_sessions"])
    }

    fn rule(&self) -> Rule {
        let context: Option<CallContext> = word(&self.context);
        must(context.is_some(), "the context of a session is unknown")
    }
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
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The variant with that stored name.
pub(in crate::ledger) fn word<'w, T: Deserialize<'w>>(name: &'w str) -> Option<T> {
    let name: StrDeserializer<'w, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

/// A field that is stored as a word of a list.
trait Word: Serialize + DeserializeOwned {}

impl Word for ClaimState {}
impl Word for Effects {}

impl<T: Word> Field for T {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        *self = stored_word(value)?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::Text(name(self))
    }
}

fn stored_word<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    let name = text(value)?.unwrap_or_default();
    word(&name).ok_or_else(|| format!("is `{name}`, which is not an allowed value"))
}
