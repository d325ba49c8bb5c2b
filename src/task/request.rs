//! What was asked: one unit of work, whichever dialect it came in. Plans are carried unread: the room `plan` reads them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Failure, Fault, RefId};

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

/// The most actions of one plan: ours, so that a person can read it.
pub const MAX_ACTIONS: usize = 1000;

/// Why a plan with so many actions is not read.
pub fn too_many_actions(actions: usize) -> Failure {
    let message = format!(
        "`action_plan` has {actions} actions, and a plan can have {MAX_ACTIONS}; split the plan"
    );
    Failure::new(Fault::LimitExceeded, message)
}

/// A plan to carry out.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOrder {
    pub plan: Value,
    /// YAML text, or the same as an object; unread.
    pub system_config: Option<Value>,
    pub validation: Validation,
    /// Makes a request another one: "yes, again".
    pub salt: Option<String>,
}

/// What a task of capabilities says of a file plan. Whether its capability carries plans out, the catalog
/// knows; a tool may well have a parameter called `plan`.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// The plan itself; where there is none, an input reference leads to it.
    pub plan: Option<Value>,
    pub system_config: Option<Value>,
    pub validation: Validation,
    pub place: CarriedIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CarriedIn {
    /// Beside `capability_ids`: meant for oneact.
    Task,
    /// In `parameters`: a tool's, unless the capability carries plans out.
    Parameters,
}

/// What the protocol layer says of the plan (R-001-28, R-001-30, C-17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    /// `true`, `"APPROVED"`, or a validation block whose checksum fits the payload.
    Approved,
    Unsaid,
    /// It is said not to be approved, or the checksum does not fit: the reason, for people.
    Refused(String),
}

impl Validation {
    /// Both are said: a refusal wins over an approval, and anything over silence.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Refused(why), _) | (_, Self::Refused(why)) => Self::Refused(why),
            (Self::Approved, _) | (_, Self::Approved) => Self::Approved,
            (Self::Unsaid, Self::Unsaid) => Self::Unsaid,
        }
    }
}

/// A finished plan to undo, wholly or partly (R-001-105, R-001-109, R-001-110).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackOrder {
    pub plan: PlanName,
    /// Empty = all of them.
    pub checkpoints: Vec<String>,
    pub belief: Belief,
}

/// Whose journal a rollback trusts: a report directory that was copied here may come from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belief {
    /// One that was written where it lies.
    WrittenHere,
    /// The one that a person named, wherever it was written.
    Named,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanName {
    /// The report directory or the manifest in it, as given.
    Path(String),
    ManifestId(String),
    PlanId(String),
    TaskId(String),
}

/// What a task says of questions that a tool asks before it goes on (MCP 2026-07-28, Multi Round-Trip Requests).
///
/// A run that is asked ends; a later one is given the answers. Nothing of the first is kept: what the second needs is in
/// its task.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Input {
    /// Nothing: questions cannot be answered.
    #[default]
    Refused,
    /// The sender of the task can answer.
    Accepted,
    /// These are the answers to what was asked before.
    Given(Given),
}

/// What takes a call up again.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// By the names of the questions; none where nothing was asked.
    pub responses: Option<Vec<(String, Response)>>,
    /// As it was received, to the byte; none where there was none.
    pub request_state: Option<String>,
    /// The questions as they were received, if the caller shows them again.
    pub requests: Option<Vec<(String, Question)>>,
}

/// An answer, and what kind of question it is one to.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub kind: ResponseKind,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResponseKind {
    /// `ElicitResult`: a person's.
    Elicited(Elicited),
    /// `CreateMessageResult`: a model's.
    Sampled,
    /// `ListRootsResult`.
    Roots,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// With what was filled in, if it was a form.
    Accepted(Option<Map<String, Value>>),
    Declined,
    Cancelled,
}

/// A question, as far as an answer can be checked against it.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// With the JSON Schema of the answer.
    Form(Option<Value>),
    /// To be answered elsewhere: only whether the person went there is told.
    Url,
    Sampling,
    Roots,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waiting {
    pub r#for: WaitingFor,
    pub capability_id: String,
    pub mcp_server: String,
    pub tool_name: String,
    /// As the server sent them, but for secrets.
    pub input_requests: Map<String, Value>,
    /// To be sent back as it is; null where there is none.
    pub request_state: Option<String>,
    pub resume: &'static str,
}

/// Why a run cannot go on by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    Input,
}
