//! The result of a task: one value, from which every projection is made. Also how far a run has come ([`Course`]).

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    Assessment, CallContext, Failure, Granted, RefId, Review, Risk, Suggestion, Waiting, cut_links,
};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    pub state: State,
    /// `None` for every success, also one from the ledger.
    pub failure: Option<Failure>,
    /// The ids of the capabilities whose tool was called (R-000-41).
    pub executed: Vec<String>,
    pub invocations: Vec<Invocation>,
    pub produced: Vec<Produced>,
    pub result_data: Option<Value>,
    /// The file that holds the result, if the result is too large for the answer.
    pub result_file: Option<String>,
    /// The place of an object whose write was under way when the run failed.
    pub perhaps_stored: Option<String>,
    /// From the last tool that reported it.
    pub ai: Ai,
    /// The answer of the last tool, if it cannot be used as a result. Only after a failure.
    pub unfit_result: Option<Value>,
    pub checks: Checks,
    pub effect: Effect,
    /// A once-only capability whose call happened, although the run then failed or was cancelled.
    pub spoiled: Option<String>,
    pub phase: Phase,
    /// Only in [`State::Pending`].
    pub waiting: Option<Waiting>,
    /// The review of the result; `None` if the entry demands none.
    pub review: Option<Review>,
    /// Only in [`State::Advised`].
    pub suggestion: Option<Suggestion>,
    /// What each step did, if the task has several.
    pub steps: Vec<StepReport>,
    pub server: Option<ServerReport>,
    pub plan: Option<Plan>,
    pub preview: Option<Preview>,
    /// 001 §4.1's report of a file plan.
    pub execution_report: Option<Value>,
    pub reports: Option<ReportFiles>,
    /// Files that a plan changed, relative to the root.
    pub changed: Vec<String>,
    /// The grant that the operation opened.
    pub opened: Option<Granted>,
    /// The decision of the gate; `None` if it was not asked.
    pub admission: Option<Admission>,
    /// The risk by the hints of a server, if it is higher than the catalog says.
    pub raised: Option<Assessment>,
    /// What the ledger holds about the task; `None` if the ledger was not asked.
    pub record: Option<Record>,
    /// Sentences for `audit.reasoning`, in the order of events (R-000-36).
    pub reasoning: Vec<String>,
    /// Sentences for `audit.compliance_notes`: what was assumed, ignored or not checked.
    pub notes: Vec<String>,
}

/// What a step of a task did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    pub capability_id: String,
    /// `None` if the ledger does not record the step.
    pub operation_id: Option<String>,
    pub state: State,
}

/// What the gate decided about the task, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Admission {
    pub context: CallContext,
    /// The profile of the catalog; `None` if the context follows from the launch alone.
    pub profile: Option<String>,
    #[serde(serialize_with = "in_lower_case")]
    pub risk: Risk,
    /// The rules that lead to this risk.
    pub because: Vec<String>,
}

impl Admission {
    /// The same admission with another risk of the task, if that is higher.
    #[must_use]
    pub fn with(self, other: Assessment) -> Self {
        let found = Assessment {
            risk: self.risk,
            because: self.because,
        };
        let Assessment { risk, because } = found.max(other);
        Self {
            risk,
            because,
            ..self
        }
    }
}

/// What a tool reports about the model that it asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ai {
    pub prompt: Option<AiPrompt>,
    pub response: Option<AiResponse>,
}

/// What the model was asked (R-004-14).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AiPrompt {
    pub system: String,
    pub user: String,
}

/// What the model answered (R-004-15).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AiResponse {
    pub summary: String,
    pub raw: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn in_lower_case<S: Serializer>(risk: &Risk, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(risk.name())
}

/// A sentence for [`Outcome::reasoning`], also logged at once for `-v`.
pub fn decided(sentence: String) -> String {
    tracing::info!("{sentence}");
    sentence
}

impl Outcome {
    /// Cuts what grants access from the links in all sentences (invariant 6).
    pub fn cut_links(&mut self) {
        let message = self.failure.iter_mut().map(|failure| &mut failure.message);
        let sentences = self.reasoning.iter_mut().chain(&mut self.notes);
        message.chain(sentences).for_each(cut_links);
    }

    /// The outcome of a run that ended in this phase, before any tool was called.
    pub fn nothing_done(state: State, phase: Phase, failure: Option<Failure>) -> Self {
        Self {
            state,
            failure,
            phase,
            ..Self::default()
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Done,
    /// `--dry-run`: everything was resolved and checked, and nothing was started.
    Planned,
    /// A suggestion, which is shown to a person.
    Advised,
    /// Refused before anything ran.
    #[default]
    Rejected,
    Failed,
    /// A file plan of which some actions were performed and remain.
    Partial,
    /// A file plan that failed after its first change; the tree is as it was.
    RolledBack,
    /// Something is missing that can be given to another run; see [`Outcome::waiting`].
    Pending,
    Cancelled,
    /// The same delivery was answered before. This is that answer, a success or a failure.
    Replayed,
    /// The same request was performed before in the session, and its answer is still valid.
    Reused,
    /// The request was performed before, and was not performed again.
    Suppressed,
}

impl State {
    /// Whether the answer is an earlier one, and nothing was performed.
    pub const fn repeats(self) -> bool {
        matches!(self, Self::Replayed | Self::Reused | Self::Suppressed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub request_hash: String,
    pub reuse: Option<ReuseReport>,
    /// The link that records the answer; `None` if recording failed.
    pub ledger: Option<LedgerRef>,
    /// The stored `MCPResponse` of an earlier answer, byte for byte (R-004-39).
    pub response: Option<String>,
}

/// Why an earlier answer was returned, or why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReuseReport {
    /// `replayed`, `reused` or `suppressed`; if it ran: `retry`, `repeat`, `taken_over` or a miss reason.
    pub why: &'static str,
    /// The operation that gave the answer.
    pub operation_id: Option<String>,
    /// The time of that answer, RFC 3339.
    pub answered_at: Option<String>,
    pub step_index: Option<u64>,
}

/// A link of the ledger's chain. It makes every envelope an anchor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRef {
    pub seq: u64,
    pub entry_hash: String,
}

/// Whether the run may have changed anything, which decides whether it may be repeated. Of several calls, the greatest
/// effect counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// No tool was called and no file changed, or all changes were undone.
    #[default]
    None,
    /// A call was answered, or files were changed.
    Done,
    /// A call was sent and not answered, or was answered with a question. The protocol does not say what a tool
    /// may do before it asks for input (2026-07-28, Multi Round-Trip Requests).
    Unknown,
}

/// The last phase that the run reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Read,
    Catalog,
    Inputs,
    Spawn,
    /// Agreeing with the server on a protocol.
    Negotiate,
    /// Checking the arguments against the server's schema.
    ValidateArguments,
    Call,
    /// Taking, checking and storing what the tool made.
    Quality,
    /// Checking, performing or undoing a file plan.
    Plan,
    Complete,
}

/// One tool call, as the envelope lists it (R-000-23).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Invocation {
    pub tool_name: String,
    pub mcp_server: String,
    /// As sent, without secrets and presign parts (invariant 6).
    pub parameters: Map<String, Value>,
    pub execution_time_ms: u64,
    #[serde(flatten)]
    pub status: InvocationStatus,
}

/// How the call ended (R-000-24, R-000-87).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum InvocationStatus {
    Success,
    Error {
        #[serde(rename = "error_detail")]
        detail: String,
    },
}

/// An asset at its final place (R-000-26).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Produced {
    pub ref_id: RefId,
    pub storage_uri: String,
    pub asset_type: String,
    pub capability_id: String,
    /// The input from which the asset was made.
    pub parent_ref_id: Option<RefId>,
    pub bytes: u64,
}

/// The checks that passed. A check that was not made is `false` (C-07, C-08).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    pub output_exists: bool,
    pub output_non_empty: bool,
    pub format_valid: bool,
    /// `None` if the entry asks for no result document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_complete: Option<bool>,
}

/// The state of a tool server's process after its answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerReport {
    pub name: String,
    /// The name and version that the server reports.
    pub info: Option<String>,
    /// How the process ended, e.g. `exit code 1` or `signal 9 (SIGKILL)`; only after a failure.
    pub exit_status: Option<String>,
    /// The end of its standard error, without secrets; only after a failure.
    pub stderr_tail: Option<String>,
    /// Processes that the server left running and oneact ended; only after a failure.
    pub killed: Vec<String>,
    /// The number of lines on standard output that are not MCP messages.
    pub stdout_noise: u64,
    /// The negotiated protocol version.
    pub protocol: Option<String>,
    pub timings: Timings,
}

/// Durations in milliseconds; all zero under a fixed clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    pub spawn_ms: u64,
    /// From the start of the server to the end of the handshake.
    pub negotiate_ms: u64,
    /// The time of `tools/call` alone.
    pub call_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub steps: Vec<PlannedStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// `sha256:…`: the value for `--expect`.
    pub hash: String,
    /// As `git diff` prints it.
    pub diff: String,
}

/// Where the reports of a plan are, relative to the root (001 §4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportFiles {
    pub directory: String,
    pub execution_report: String,
    pub change_log: String,
    /// Null if nothing was changed.
    pub rollback_manifest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub capability_id: String,
    pub mcp_server: String,
    pub tool_name: String,
    /// The address of a server that is not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The argv that a run would start; empty if the server has an address.
    pub command: Vec<String>,
    pub cwd: String,
    /// The names of the environment variables that the server would get, or whose values would be sent to it.
    pub environment: Vec<String>,
    pub parameters: Map<String, Value>,
    pub timeout_seconds: f64,
    /// The quality checks that a run would make.
    pub checks: Vec<String>,
    /// The ref and the place that the asset would get.
    pub output: Option<PlannedOutput>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedOutput {
    pub ref_id: String,
    pub storage_uri: String,
    pub asset_type: String,
}

/// How far a run has come. The run writes it, and whatever must answer in the run's place reads it.
#[derive(Debug, Default)]
pub struct Course(Mutex<Reach>);

/// What may have happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Nothing that is visible outside the run.
    #[default]
    Nothing,
    /// A call was started that may be repeated.
    Begun,
    /// A once-only call was started.
    BegunOnce,
    /// A plan is changing files or undoing its changes: from APPLY to DONE.
    Changing,
    /// A plan has finished.
    Changed,
}

impl Course {
    fn reach(&self) -> MutexGuard<'_, Reach> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Reach {
        *self.reach()
    }

    pub fn set(&self, reach: Reach) {
        *self.reach() = reach;
    }

    /// Sets the value, unless the present one is higher.
    pub fn raise(&self, reach: Reach) {
        let mut now = self.reach();
        *now = reach.max(*now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_several_tools_has_come_as_far_as_the_gravest() {
        let course = Course::default();
        assert_eq!(course.now(), Reach::Nothing);
        course.raise(Reach::BegunOnce);
        course.raise(Reach::Begun);
        assert_eq!(course.now(), Reach::BegunOnce);
        for reach in [Reach::Changing, Reach::Changed, Reach::Nothing] {
            course.set(reach);
            assert_eq!(course.now(), reach);
        }
    }
}
