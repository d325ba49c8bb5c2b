//! What came of a task: one value, from which every projection is made; and how far its run has come by now.

use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Failure, RefId, Waiting, cut_links};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    pub state: State,
    /// `Some` in every state but [`State::Done`] and [`State::Planned`].
    pub failure: Option<Failure>,
    /// The ids whose tool was called (R-000-41).
    pub executed: Vec<String>,
    pub invocations: Vec<Invocation>,
    pub produced: Vec<Produced>,
    pub result_data: Option<Value>,
    /// The file that holds the result, where it is too large for the answer.
    pub result_file: Option<String>,
    /// Of the last tool that said it.
    pub ai: Ai,
    /// What the last tool answered, where that cannot be taken for a result: only after a failure.
    pub unfit_result: Option<Value>,
    pub checks: Checks,
    pub effect: Effect,
    /// A capability that says it must not happen twice, and happened, although what came after it failed.
    pub spoiled: Option<String>,
    pub phase: Phase,
    /// Only in [`State::Pending`].
    pub waiting: Option<Waiting>,
    pub server: Option<ServerReport>,
    pub plan: Option<Plan>,
    pub preview: Option<Preview>,
    /// 001 §4.1's report of a file plan.
    pub execution_report: Option<Value>,
    pub reports: Option<ReportFiles>,
    /// Files that a plan changed, relative to the root.
    pub changed: Vec<String>,
    /// What the ledger has of it; none where nothing was asked of it.
    pub record: Option<Record>,
    /// Sentences for `audit.reasoning`, in the order of events (R-000-36).
    pub reasoning: Vec<String>,
    /// Sentences for `audit.compliance_notes`: what was assumed, ignored or not checked.
    pub notes: Vec<String>,
}

/// What a tool says of the model that it asked.
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

/// A sentence for [`Outcome::reasoning`], told under `-v` at the moment of the decision.
pub fn decided(sentence: String) -> String {
    tracing::info!("{sentence}");
    sentence
}

impl Outcome {
    /// Whatever its sentences quote, none shows what grants access in links (invariant 6).
    pub fn cut_links(&mut self) {
        let message = self.failure.iter_mut().map(|failure| &mut failure.message);
        let sentences = self.reasoning.iter_mut().chain(&mut self.notes);
        message.chain(sentences).for_each(cut_links);
    }

    /// No tool was called: the run ended in this phase.
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
    /// `--dry-run`: resolved and checked, nothing started.
    Planned,
    /// Refused before anything ran.
    #[default]
    Rejected,
    Failed,
    /// A file plan of which some actions were done and stay done.
    Partial,
    /// A file plan that failed after its first change; the tree is as it was.
    RolledBack,
    /// Something is missing that another run can be given; see [`Outcome::waiting`].
    Pending,
    Cancelled,
    /// The same delivery came before: its answer, success or failure.
    Replayed,
    /// The same request was done before in the session, and its answer is still good.
    Reused,
    /// It was done before, and was not done again.
    Suppressed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub request_hash: String,
    pub reuse: Option<ReuseReport>,
    /// Where it is recorded; none where it could not be.
    pub ledger: Option<LedgerRef>,
    /// The stored `MCPResponse` of an old answer, byte for byte (R-004-39).
    pub response: Option<String>,
}

/// Why an answer is an old one, or why the old one was not given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReuseReport {
    /// `replayed`, `reused`, `suppressed`; or why it ran: `retry`, `repeat`, `taken_over`, a miss reason.
    pub why: &'static str,
    /// Whose answer it is.
    pub operation_id: Option<String>,
    /// When that was answered, RFC 3339.
    pub answered_at: Option<String>,
    pub step_index: Option<u64>,
}

/// A link of the ledger's chain: with it every envelope is an anchor of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerRef {
    pub seq: u64,
    pub entry_hash: String,
}

/// What is known of the world after the run: may it be repeated?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// No tool was called, no file changed; or all changes are undone.
    #[default]
    None,
    /// A call was sent and never answered, or answered with a question. What a tool does before it asks
    /// for input is unknown: the protocol leaves it to the tool (2026-07-28, Multi Round-Trip Requests).
    Unknown,
    /// A call was answered, or files were changed.
    Done,
}

/// How far the run came.
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
    /// Taking, checking and storing what the tool gave.
    Quality,
    /// Checking a file plan, carrying it out, or undoing it.
    Plan,
    Complete,
}

/// One tool call, as the envelope lists it (R-000-23).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Invocation {
    pub tool_name: String,
    pub mcp_server: String,
    /// As sent, but for secrets and presign parts (invariant 6).
    pub parameters: Map<String, Value>,
    pub execution_time_ms: u64,
    #[serde(flatten)]
    pub status: InvocationStatus,
}

/// How the call ended (R-000-24, R-000-87).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// The input it was made from.
    pub parent_ref_id: Option<RefId>,
    pub bytes: u64,
}

/// What was observed; what was not observed is `false` (C-07, C-08).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    pub output_exists: bool,
    pub output_non_empty: bool,
    pub format_valid: bool,
    /// `None` where no result document is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_complete: Option<bool>,
}

/// What is known of a tool server's process once the answer is in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerReport {
    pub name: String,
    /// What it calls itself: name and version.
    pub info: Option<String>,
    /// How it ended, e.g. `exit code 1` or `signal 9 (SIGKILL)`; only after a failure.
    pub exit_status: Option<String>,
    /// The last of its standard error, secrets cut out; only after a failure.
    pub stderr_tail: Option<String>,
    /// Processes it left behind, which were ended; only after a failure.
    pub killed: Vec<String>,
    /// Lines on its standard output that are no MCP messages.
    pub stdout_noise: u64,
    /// The protocol version agreed on.
    pub protocol: Option<String>,
    pub timings: Timings,
}

/// Milliseconds spent; all zero under a fixed clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Timings {
    pub spawn_ms: u64,
    /// From the start of the server to the end of the handshake.
    pub negotiate_ms: u64,
    /// Of `tools/call` alone.
    pub call_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    pub steps: Vec<PlannedStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    /// `sha256:…`: what `--expect` binds a run to.
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
    /// Null where nothing was changed.
    pub rollback_manifest: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedStep {
    pub capability_id: String,
    pub mcp_server: String,
    pub tool_name: String,
    /// The argv that would be started.
    pub command: Vec<String>,
    pub cwd: String,
    /// Names of the environment variables the server would get.
    pub environment: Vec<String>,
    pub parameters: Map<String, Value>,
    pub timeout_seconds: f64,
    /// The quality checks that would be made.
    pub checks: Vec<String>,
    /// The ref and the place its asset would get.
    pub output: Option<PlannedOutput>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlannedOutput {
    pub ref_id: String,
    pub storage_uri: String,
    pub asset_type: String,
}

/// How far a run has come: shared by the run and by what may have to answer in its place.
#[derive(Debug, Default)]
pub struct Course(AtomicU8);

/// What may have happened by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Nothing that is visible outside.
    Nothing,
    /// A tool was begun that may be called again.
    Begun,
    /// A tool was begun that must not be called twice.
    BegunOnce,
    /// The files of a plan are made or taken back right now: from APPLY to DONE.
    Changing,
    /// A plan is done.
    Changed,
}

impl Course {
    pub fn now(&self) -> Reach {
        let all = [
            Reach::Begun,
            Reach::BegunOnce,
            Reach::Changing,
            Reach::Changed,
        ];
        let now = self.0.load(Ordering::Acquire);
        let found = all.into_iter().find(|reach| *reach as u8 == now);
        found.unwrap_or(Reach::Nothing)
    }

    pub fn set(&self, reach: Reach) {
        self.0.store(reach as u8, Ordering::Release);
    }

    /// The graver of what was and of what is.
    pub fn raise(&self, reach: Reach) {
        self.0.fetch_max(reach as u8, Ordering::AcqRel);
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
