//! The sentences of an answer. The same facts always give the same sentences.

use crate::task::{Effect, InvocationStatus, Outcome, Phase, State, Waiting};

use super::read::Received;

/// How the task ended, in the words of the specifications.
pub(super) struct Words {
    /// `status.code`.
    pub(super) code: &'static str,
    /// The state of the machine of specification 003 (R-003-18, R-003-32, R-003-33) in which the answer leaves the task.
    pub(super) fsm: &'static str,
    /// `next_agent.reason` (R-000-29, R-000-90).
    pub(super) next: &'static str,
}

pub(super) fn words(outcome: &Outcome) -> Words {
    const DONE: &str =
        "Task execution complete. Returning to dispatch agent for workflow state update.";
    const FAILED: &str = "Task failed. Returning to dispatch agent for error handling.";
    let (code, fsm, next) = match outcome.state {
        State::Done | State::Reused | State::Suppressed => ("success", "DONE", DONE),
        State::Replayed if outcome.failure.is_none() => ("success", "DONE", DONE),
        State::Planned => (
            "success",
            "AWAITING_CONFIRMATION",
            "Dry run complete; nothing was started. Returning to dispatch agent.",
        ),
        State::Advised => (
            "success",
            "DONE",
            "A suggestion is to be shown to the user. Returning to dispatch agent for workflow state update.",
        ),
        State::Pending => waiting(outcome),
        State::Partial => ("partial", "AWAITING_REDIRECT", FAILED),
        State::Rejected
        | State::Failed
        | State::RolledBack
        | State::Cancelled
        | State::Replayed => ("failed", "AWAITING_REDIRECT", FAILED),
    };
    let is_result = matches!(
        outcome.state,
        State::Done | State::Reused | State::Suppressed | State::Replayed
    );
    let fsm = if is_result && is_open(outcome) {
        "AWAITING_REVIEW"
    } else {
        fsm
    };
    Words { code, fsm, next }
}

/// The words of a task that waits. The call of a tool that asks is open, or another run performs it.
fn waiting(outcome: &Outcome) -> (&'static str, &'static str, &'static str) {
    let (fsm, next) = match outcome.waiting {
        _ if is_open(outcome) => (
            "AWAITING_REVIEW",
            "Task is waiting for a review of its result. Returning to dispatch agent.",
        ),
        None => (
            "EXECUTING",
            "The same task is being performed by another run. Returning to dispatch agent.",
        ),
        Some(Waiting::Input(_)) => (
            "EXECUTING",
            "Task is waiting for input. Returning to dispatch agent.",
        ),
        Some(Waiting::Approval(_)) => (
            "AWAITING_CONFIRMATION",
            "Task is waiting for approval. Returning to dispatch agent.",
        ),
        Some(Waiting::Clarification { .. }) => (
            "AWAITING_ACTION_CLARIFICATION",
            "Task is waiting for a clarification. Returning to dispatch agent.",
        ),
    };
    ("pending", fsm, next)
}

/// Whether a review of the result is open.
fn is_open(outcome: &Outcome) -> bool {
    let review = outcome.review.as_ref();
    review.is_some_and(|review| review.state.is_open())
}

/// `status.message`, in one line.
pub(super) fn status_message(task_id: &str, outcome: &Outcome) -> String {
    let task = title(task_id);
    let class = outcome
        .failure
        .as_ref()
        .map_or("unknown", |failure| failure.fault.name())
        .replace('_', " ");
    match outcome.state {
        State::Done => format!("{task} completed successfully"),
        State::Planned => format!("{task} was resolved and checked; nothing was started"),
        State::Rejected => format!("{task} was rejected: {class}"),
        State::Failed => format!("{task} failed: {class}"),
        State::Partial => format!("{task} was performed in part: {class}"),
        State::RolledBack => format!("{task} was rolled back: {class}"),
        State::Advised => format!("{task} is a suggestion; nothing was performed"),
        State::Pending if is_open(outcome) => {
            format!("{task} is waiting for a review of its result")
        }
        State::Pending => match &outcome.waiting {
            None => format!("{task} is being performed by another run"),
            Some(Waiting::Input(_)) => format!("{task} is waiting for input"),
            Some(Waiting::Clarification { .. }) => format!("{task} is waiting for a clarification"),
            Some(Waiting::Approval(waiting)) => {
                let until = waiting.expires_at.get(11..16).unwrap_or_default();
                format!(
                    "{task} waits for approval {} until {until}",
                    waiting.approval_id
                )
            }
        },
        State::Cancelled => format!("{task} was cancelled"),
        State::Reused => {
            format!("{task} completed successfully; an earlier result is returned again")
        }
        State::Suppressed => format!("{task} was performed before and was not performed again"),
        State::Replayed if outcome.failure.is_none() => {
            format!("{task} was answered before; the same answer is returned again")
        }
        State::Replayed => format!("{task} was answered before with a failure: {class}"),
    }
}

/// `task_5` reads as `Task 5`, as the specification's examples write it.
fn title(task_id: &str) -> String {
    match task_id.strip_prefix("task_") {
        Some(number) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("Task {number}")
        }
        _ => format!("Task {task_id}"),
    }
}

/// `audit.compliance_notes` (R-000-35).
pub(super) fn compliance_notes(received: &Received, outcome: &Outcome) -> String {
    let mut sentences = Vec::new();
    sentences.push(match &received.task {
        Ok(_) => "Input parsed successfully.".to_owned(),
        Err(failure) => format!("Input could not be used ({}).", failure.fault.name()),
    });
    let executed = outcome.executed.join(", ");
    sentences.push(match outcome.state {
        State::Done if outcome.opened.is_some() => {
            "The grant was opened; nothing was executed.".to_owned()
        }
        State::Done if executed.is_empty() => "The query was answered.".to_owned(),
        State::Done => format!("Execution of {executed} completed within quality constraints."),
        State::Planned => "Dry run: resolved and checked, nothing executed.".to_owned(),
        State::Rejected | State::Advised => "Nothing was executed.".to_owned(),
        State::Failed => failed_at(outcome),
        State::Partial => {
            format!("Execution of {executed} was completed in part; the completed part is kept.")
        }
        State::RolledBack => format!("Execution of {executed} failed; its changes were undone."),
        State::Pending if is_open(outcome) && !executed.is_empty() => format!(
            "Execution of {executed} completed within quality constraints; the result is withheld."
        ),
        State::Pending => match outcome.waiting {
            Some(Waiting::Input(_)) => {
                format!("Execution of {executed} is waiting for input; nothing was stored.")
            }
            Some(Waiting::Approval(_)) => {
                "Nothing was executed: a person has to approve first.".to_owned()
            }
            Some(Waiting::Clarification { .. }) | None => "Nothing was executed.".to_owned(),
        },
        State::Cancelled if outcome.steps.is_empty() => match &outcome.perhaps_stored {
            None => "Execution was cancelled; nothing was stored.".to_owned(),
            Some(uri) => format!("Execution was cancelled; an object may be stored at {uri}."),
        },
        State::Cancelled => "Execution was cancelled.".to_owned(),
        State::Reused | State::Suppressed | State::Replayed => {
            "Nothing was executed: the answer is from the ledger.".to_owned()
        }
    });
    for produced in &outcome.produced {
        sentences.push(format!("Ref {} successfully produced.", produced.ref_id));
    }
    sentences.extend(received.notes.iter().chain(&outcome.notes).cloned());
    sentences.join(" ")
}

fn failed_at(outcome: &Outcome) -> String {
    let (last, call) = match (outcome.executed.last(), outcome.invocations.last()) {
        (Some(last), Some(call)) => (last, call),
        (Some(plan), None) => return format!("Execution of {plan} failed."),
        (None, _) if outcome.effect != Effect::None => {
            return "The run was ended before an answer of a tool was recorded.".to_owned();
        }
        (None, _) => return "Task execution failed before a tool was called.".to_owned(),
    };
    match (&call.status, outcome.phase) {
        (InvocationStatus::Error { .. }, _) => format!("Execution of {last} failed."),
        (InvocationStatus::Success, Phase::Quality) => {
            format!("Task execution failed during quality checks of {last}.")
        }
        (InvocationStatus::Success, _) => {
            format!("Execution of {last} completed, but a later phase failed.")
        }
    }
}

/// `audit.reasoning` (R-000-36): what happened, in order, and who continues.
pub(super) fn reasoning(received: &Received, outcome: &Outcome) -> String {
    let mut sentences = vec![format!(
        "Received {} from dispatch_agent.",
        received.task_id
    )];
    sentences.extend(outcome.reasoning.iter().cloned());
    if let Some(failure) = &outcome.failure {
        let mut sentence = format!("Stopped: {}", failure.message);
        if !sentence.ends_with(['.', '?', '!']) {
            sentence.push('.');
        }
        sentences.push(sentence);
    }
    let refs: Vec<&str> = outcome
        .produced
        .iter()
        .map(|produced| produced.ref_id.as_str())
        .collect();
    sentences.push(match refs.as_slice() {
        [] => "Returning control to dispatch_agent.".to_owned(),
        refs => format!(
            "Wrote {} to output_refs_produced and returning control to dispatch_agent.",
            refs.join(", ")
        ),
    });
    sentences.join(" ")
}
