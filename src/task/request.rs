//! What was asked: one unit of work, whichever dialect it came in.

use serde_json::{Map, Value};

use super::{Carried, Input, PlanName, PlanOrder, RefId, RollbackOrder};

/// The most steps of one task.
pub const MAX_STEPS: usize = 64;

/// One task (R-000-03): a single unit of work, whichever dialect it came in.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Capabilities by their ids: what each of them is, the catalog says.
    Capabilities(Box<CapabilityTask>),
    /// A file plan to carry out (001 §3).
    Plan(PlanOrder),
    /// A finished plan to undo (001 §6).
    Rollback(RollbackOrder),
    /// How far is that plan?
    Status(PlanName),
    /// That plan, which is at work, is to stop and undo.
    Cancel(PlanName),
}

/// Capability ids with resolved input references (000 §Step 1).
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityTask {
    pub task_id: String,
    /// Plain text; only a catalog entry's `extract` rules may read it (C-09).
    pub action: String,
    /// In the order in which they run (C-06). Never empty.
    pub capability_ids: Vec<String>,
    pub inputs: Vec<InputRef>,
    pub expected: Vec<RefId>,
    /// What the task says of the parameters, per step of `capability_ids`.
    pub parameters: Vec<Map<String, Value>>,
    /// 1 = first try.
    pub attempt: u32,
    pub input: Input,
    /// What it says of a file plan, if it does.
    pub carried: Option<Carried>,
    /// Makes a request another one: "yes, again".
    pub salt: Option<String>,
}

/// Who asks, in which session, and where the answer belongs (R-000-133, R-000-134).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub session_id: String,
    pub request_id: Option<String>,
    /// Of the answer: the received message's number plus one, or 1.
    pub sequence_number: u64,
    /// The message this answers.
    pub parent_message_id: Option<String>,
    /// The caller's own name of this delivery.
    pub idempotency_key: Option<String>,
}

/// Whether the caller counts attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Said,
    /// A failure before it makes it the next.
    Unsaid,
}

/// An input reference that can be used: it has a URI, and a status that says it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRef {
    pub ref_id: RefId,
    /// As received; passed to tools unchanged (R-000-140).
    pub storage_uri: String,
    pub status: RefStatus,
}

/// The statuses an input may have (R-000-55, C-13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefStatus {
    Stored,
    Created,
    /// A source (`src_N`) that lies elsewhere.
    Reference,
}

impl RefStatus {
    /// Reads a status for that ref; answers what is wrong with it (C-13).
    pub fn parse(status: &str, ref_id: &RefId) -> Result<Self, String> {
        match status {
            "stored" => Ok(Self::Stored),
            "created" => Ok(Self::Created),
            "reference" if ref_id.as_str().starts_with("src_") => Ok(Self::Reference),
            "reference" => Err(format!(
                "`{ref_id}` has status `reference`, which only sources (src_N) may have"
            )),
            other => Err(format!(
                "`{ref_id}` has status `{other}`; it must be `stored`, `created` or, for sources, `reference`"
            )),
        }
    }
}

/// The session's resources as inherited: never dropped, only added to (R-000-33, C-02).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Resources {
    pub source_refs: Vec<Value>,
    pub storage_refs: Vec<Value>,
    pub derived_refs: Vec<Value>,
}
