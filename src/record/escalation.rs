//! Escalation: people are told of a plan that only a person can bring to its end (R-001-144, R-001-153). Its report says
//! `MANUAL_REQUIRED`, stderr has a line, and the program of `[approval] notify` is told.

use serde_json::{Value, json};

use super::RunLedger;
use crate::{
    executor::{Context, FileOrder},
    task::{Outcome, State, abridge, redact_presigned, visible},
};

/// The id of the plan that an order names. `None` for a rollback, whose report names it.
pub(crate) fn plan_named(order: &FileOrder) -> Option<String> {
    let FileOrder::Plan { plan, .. } = order else {
        return None;
    };
    let id = plan.plan.get("plan_id").and_then(Value::as_str);
    id.map(|id| redact_presigned(id).into_owned())
}

impl RunLedger<'_> {
    /// Escalates the plan if it ended so. `named` is the id that the order names.
    pub(crate) fn escalate(
        &self,
        named: Option<String>,
        outcome: &mut Outcome,
        context: &Context<'_>,
    ) {
        let report = outcome.execution_report.as_ref();
        let Some(failure) = outcome.failure.as_ref().filter(|failure| {
            report.map_or(failure.fault.escalates(), needs_a_person) && is_new(outcome.state)
        }) else {
            return;
        };
        let of_report = report.and_then(|report| report.get("plan_id")?.as_str());
        let plan_id = of_report.map(str::to_owned).or(named);
        let directory = outcome.reports.as_ref().map(|reports| &reports.directory);
        let class = failure.fault.name();
        tracing::warn!(
            "escalated ({class}): a person has to act on the plan {}; {}",
            visible(plan_id.as_deref().unwrap_or("of this task")),
            directory.map_or_else(
                || "it has no report".to_owned(),
                |directory| format!("its report is in {directory}")
            )
        );
        let mut told = json!({
            "kind": "escalation", "plan_id": plan_id, "report_directory": directory, "class": class,
            "error_code": failure.fault.number(), "message": redact_presigned(&failure.message),
            "root": context.desk.root.as_str(), "session_id": context.session_id, "task_id": context.desk.task_id,
            "operation_id": context.desk.operation_id,
        });
        abridge(&mut told);
        let note = self.approvals.notify(&told, "escalation", context);
        outcome.notes.extend(note);
    }
}

/// Whether a report says that a person has to act.
fn needs_a_person(report: &Value) -> bool {
    let errors = report.get("errors").and_then(Value::as_array);
    let mut errors = errors.into_iter().flatten();
    errors.any(|error| {
        error.get("recovery_action").and_then(Value::as_str) == Some("MANUAL_REQUIRED")
    })
}

/// Whether this run itself came to the end. An old answer was escalated by its own run.
fn is_new(state: State) -> bool {
    !matches!(state, State::Replayed | State::Reused | State::Suppressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_person_must_do_escalates() {
        let report = |action: &str| json!({"errors": [{"recovery_action": action}]});
        assert!(needs_a_person(&report("MANUAL_REQUIRED")));
        assert!(!needs_a_person(&report("RETRY")));
        assert!(!needs_a_person(&json!({})));
        assert!(is_new(State::Failed) && !is_new(State::Replayed));
    }
}
