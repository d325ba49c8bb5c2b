//! The task in every dialect. It contains plans unread: the room `plan` reads them.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Clarification, Declared, Failure, Fault, Improvised, RefId, Risk, Suggestion, redact_presigned,
};

pub const MAX_STEPS: usize = 64;

/// One task (R-000-03): a single unit of work.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Capabilities by their ids. The catalog says what each of them is.
    Capabilities(Box<CapabilityTask>),
    /// A file plan to perform (001 §3).
    Plan(PlanOrder),
    /// A finished plan to undo (001 §6).
    Rollback(RollbackOrder),
    /// A question about the progress of that plan.
    Status(PlanName),
    /// An order to that running plan to stop and undo its changes.
    Cancel(PlanName),
    /// A grant (003). An improvised action that declares its steps is a task of capabilities.
    Improvised(Improvised),
    // The proposals that are never performed:
    Suggestion(Suggestion),
    Clarification(Clarification),
}

/// Capability ids with resolved input references (000 §Step 1).
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityTask {
    pub task_id: String,
    /// Plain text. Only the `extract` rules of an entry may read it (C-09).
    pub action: String,
    /// In the order in which they are performed (C-06). Never empty.
    pub capability_ids: Vec<String>,
    pub named_as: NamedAs,
    pub inputs: Vec<InputRef>,
    pub expected: Vec<RefId>,
    /// The parameters that the task sets, for each element of `capability_ids`.
    pub parameters: Vec<Map<String, Value>>,
    /// 1 is the first attempt.
    pub attempt: u32,
    pub input: Input,
    /// What the task says about a file plan, if anything.
    pub carried: Option<Carried>,
    /// Part of the request: another salt makes it another request.
    pub salt: Option<String>,
    /// The operation that asked for a clarification, which this task answers.
    pub clarifies: Option<String>,
    /// The operation that opened the grant under which the only capability is called.
    pub under: Option<String>,
    /// The `context` of an `MCPRequest`: data for the tools whose entries ask for it (R-004-06).
    pub context: Option<Value>,
    /// The risk that a proposal states; low for every other task.
    pub stated: Risk,
}

/// What a task may name as its capability. The operator decides it, not the task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Nameable {
    #[default]
    Entries,
    /// Also a tool of a server that no entry calls: `SERVER.TOOL`.
    Tools,
}

/// Which entries of the catalog a task may name.
#[derive(Debug, Clone, PartialEq)]
pub enum NamedAs {
    /// Each of them.
    Capability,
    /// Only those with `is_action = true` (R-003-01): the task is a proposal.
    StandardAction,
    /// Those of the steps that an improvised action declares. Its only capability is no entry of the catalog.
    Declared(Declared),
}

/// Who asks, in which session, and to which message the answer belongs (R-000-133, R-000-134).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub session_id: String,
    pub session_from: SessionFrom,
    pub request_id: Option<String>,
    /// The number of the answer: that of the received message plus one, or 1.
    pub sequence_number: u64,
    pub parent_message_id: Option<String>,
    /// The caller's name for this delivery.
    pub idempotency_key: Option<String>,
}

/// Who named the session of a task. An approval is bound to a session only if the caller named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionFrom {
    /// The task, `$ONEACT_SESSION`, or `oneact serve catalog --session`.
    Caller,
    /// `oneact serve catalog` made the session for all calls of its process.
    Process,
    /// oneact made the session for this task.
    Run,
}

/// The idempotency keys begin so that `oneact serve catalog` gives to calls whose caller gives none.
pub const OF_CALLS: &str = "jsonrpc:";

/// The session of a task that names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSession {
    pub id: String,
    pub from: SessionFrom,
}

impl NamedSession {
    /// Why an id cannot be that of a session, which is also the name of a directory in the store; `None` if it can.
    pub fn unusable(session: &str) -> Option<&'static str> {
        if session.is_empty() || session.len() > 128 {
            return Some("must have 1 to 128 bytes");
        }
        let seen = |c: char| {
            !c.is_whitespace()
                && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
        };
        if !session.chars().any(seen) {
            return Some("must contain at least one visible character");
        }
        if session.starts_with('.') {
            return Some("must not start with `.`");
        }
        if session
            .chars()
            .any(|c| c == '/' || c == '\\' || c.is_control())
        {
            return Some(
                "must not contain slashes or control characters, because it names a directory of assets",
            );
        }
        if redact_presigned(session) != session {
            return Some("must not contain the credentials of a URL, because it is recorded");
        }
        None
    }
}

impl From<String> for NamedSession {
    /// A session that was made for one task.
    fn from(id: String) -> Self {
        Self {
            id,
            from: SessionFrom::Run,
        }
    }
}

/// An input reference that can be used: it has a URI, and its status says that the input exists.
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
    /// A source (`src_N`) that is stored elsewhere.
    Reference,
}

impl RefStatus {
    /// Reads the status of that ref. The error says what is wrong (C-13).
    pub fn parse(status: &str, ref_id: &RefId) -> Result<Self, String> {
        match status {
            "stored" => Ok(Self::Stored),
            "created" => Ok(Self::Created),
            "reference" if ref_id.as_str().starts_with("src_") => Ok(Self::Reference),
            "reference" => Err(format!(
                "`{ref_id}` has the status `reference`, which only sources (src_N) may have"
            )),
            other => Err(format!(
                "`{ref_id}` has the status `{other}`; it must be `stored`, `created` or, for sources, `reference`"
            )),
        }
    }
}

/// The resources that the session has so far. The answer only adds to them (R-000-33, C-02).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Resources {
    pub source_refs: Vec<Value>,
    pub storage_refs: Vec<Value>,
    pub derived_refs: Vec<Value>,
}

/// The most actions of one plan: oneact's own limit, so that people can read plans.
pub const MAX_ACTIONS: usize = 1000;

/// The failure of a plan with more than [`MAX_ACTIONS`] actions.
pub fn too_many_actions(actions: usize) -> Failure {
    let message = format!(
        "`action_plan` has {actions} actions, but a plan can have at most {MAX_ACTIONS}; split the plan"
    );
    Failure::new(Fault::LimitExceeded, message)
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlanOrder {
    pub plan: Value,
    /// YAML text, or the same content as an object; not read yet.
    pub system_config: Option<Value>,
    pub validation: Validation,
    /// Part of the request: another salt makes it another request.
    pub salt: Option<String>,
}

/// What a task of capabilities says about a file plan. The catalog decides whether its capability performs plans;
/// a tool may have a parameter called `plan` too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Carried {
    /// The plan itself. If there is none, an input reference names its file.
    pub plan: Option<Value>,
    pub system_config: Option<Value>,
    pub validation: Validation,
    pub place: CarriedIn,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CarriedIn {
    /// Beside `capability_ids`: addressed to oneact.
    Task,
    /// In `parameters`: addressed to the tool, unless the capability performs plans.
    #[default]
    Parameters,
}

/// What the protocol layer says about the plan (R-001-28, R-001-30, C-17).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Validation {
    /// `true`, `"APPROVED"`, or a validation block whose checksum fits the payload.
    Approved,
    #[default]
    Unsaid,
    /// The plan is marked as not approved, or the checksum does not fit. The text is the reason, for people.
    Refused(String),
}

impl Validation {
    /// Combines two statements: a refusal wins over an approval, and an approval over silence.
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
    /// Empty means all.
    pub checkpoints: Vec<String>,
    pub by: Asker,
}

/// Who asks for a rollback, and which journals it therefore trusts. A report directory may have been copied here from
/// anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Only a journal that was written at its present place. What an approval allowed needs another approval.
    Task,
    /// The same journals.
    Person,
    /// The journal that a person named with `--yes`, wherever it was written.
    Confirmed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanName {
    /// The report directory or its manifest, as given.
    Path(String),
    ManifestId(String),
    PlanId(String),
    TaskId(String),
}

/// What a task says about questions that a tool asks before it continues (MCP 2026-07-28, Multi Round-Trip
/// Requests).
///
/// A run that receives questions ends, and a later task brings the answers. That task contains everything the
/// later run needs: oneact keeps nothing of the first run.
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

/// What continues a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// By the names of the questions; `None` if there were no questions.
    pub responses: Option<Vec<(String, Response)>>,
    /// Byte for byte as it was received; `None` if there was none.
    pub request_state: Option<String>,
    /// The questions as they were received, if the caller repeats them.
    pub requests: Option<Vec<(String, Question)>>,
}

/// An answer, and the kind of question that it answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub kind: ResponseKind,
    pub value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResponseKind {
    /// `ElicitResult`: the answer of a person.
    Elicited(Elicited),
    /// `CreateMessageResult`: the answer of a model.
    Sampled,
    Roots,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// With the values of the form, if the question was a form.
    Accepted(Option<Map<String, Value>>),
    Declined,
    Cancelled,
}

/// A question, as far as an answer can be checked against it.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// With the JSON Schema of the answer.
    Form(Option<Value>),
    /// To be answered at a URL: the answer only says whether the person agreed to open it.
    Url,
    Sampling,
    Roots,
}

/// What another run needs, because this one cannot continue by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum Waiting {
    Input(ToolQuestions),
    /// A person has to approve.
    Approval(WaitingApproval),
    Clarification {
        /// What is missing.
        blocked_on: Vec<String>,
        resume: &'static str,
    },
}

impl Waiting {
    /// What to do next.
    pub const fn resume(&self) -> &'static str {
        match self {
            Self::Input(ToolQuestions { resume, .. }) | Self::Clarification { resume, .. } => {
                resume
            }
            Self::Approval(_) => {
                "After a person has approved it (`approve`), send the same task again, or perform it from the ledger (`perform`)."
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingApproval {
    pub approval_id: String,
    pub risk: &'static str,
    pub why: Vec<String>,
    /// The hash of what would be performed; of a plan, the hash of its preview.
    pub intent_hash: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview_hash: Option<String>,
    pub expires_at: String,
    /// The command with which a person approves.
    pub approve: String,
    /// The command that performs it from the ledger, if the record of the task is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perform: Option<String>,
    /// Further ways to approve that the catalog allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<&'static str>,
    /// How many decisions the run knew when it gave this answer.
    #[serde(skip)]
    pub votes: usize,
}

/// The questions of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolQuestions {
    pub capability_id: String,
    pub mcp_server: String,
    pub tool_name: String,
    /// As the server sent them, without secrets.
    pub input_requests: Map<String, Value>,
    /// To be sent back unchanged; null if there is none.
    pub request_state: Option<String>,
    pub resume: &'static str,
}
