//! The names of the fields of messages and tasks, each list in one text, and what is wrong with their values.

use serde_json::Value;

use crate::task::{CallContext, Failure, Fault, Found};

/// The fields of a dispatch and of a proposal, without those of only one of them and those about questions and plans. The
/// last five are known, and of no consequence for one task.
pub(super) const OF_DISPATCH: &str = "task_id action input_refs_resolved output_refs_expected parameters attempt salt \
    idempotency_key clarifies under execution_group workflow_progress metadata resources message_id";

/// The fields of a proposal that a dispatch does not have, and those that carry something to perform.
pub(super) const OF_PROPOSAL: &str = "name parameters_json parameters task_plan title plan_summary rationale confidence \
    blocked_on irreversibility regret_potential risk_amplifier steps grant clarifies under";

pub(super) const OF_QUESTIONS: &str = "accepts_input input_responses request_state input_requests";

/// The fields about plans; a task of capabilities may have each of them.
pub(super) const OF_PLANS: &str = "task_plan system_config protocol_validation";

/// The fields that may be beside a plan and are not part of it.
pub(super) const BESIDE_A_PLAN: &str = "system_config protocol_validation task_id attempt salt idempotency_key metadata \
    resources message_id";

/// The fields that a request and a dispatch have under the same name.
pub(super) const OF_REQUEST_AND_DISPATCH: &str = "input_refs_resolved output_refs_expected attempt salt idempotency_key \
    clarifies under input_responses request_state";

/// Whether a list of names has this one.
pub(super) fn names(list: &str, name: &str) -> bool {
    list.split(' ').any(|each| each == name)
}

/// A value of a task or of its message.
pub(super) fn found<'v>(place: &str, value: &'v Value) -> Found<'v> {
    Found::new(place, value, Fault::InvalidShape)
}

/// Whether a field names the kind of caller, which only the launch decides (C-32).
pub(super) fn is_context(key: &str, value: &Value) -> bool {
    let word = |word: &str| {
        let mut known = CallContext::ALL.into_iter();
        known.any(|context| context.name().eq_ignore_ascii_case(word))
    };
    match key {
        "invocation_context" => !value.is_null(),
        "context" => value.as_str().is_some_and(word),
        _ => false,
    }
}

/// The failure of a task, or of its message, that has the wrong shape.
pub(super) fn shape(message: impl Into<String>) -> Failure {
    Failure::new(Fault::InvalidShape, message)
}

/// The failure of an input with several tasks (R-000-108).
pub(super) fn multiple(what: &str) -> Failure {
    let message = format!(
        "multiple tasks: found {what}; oneact performs exactly one task, so send them one at a time"
    );
    Failure::new(Fault::MultipleTasks, message)
}
