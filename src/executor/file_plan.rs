//! File plans: calls the room `plan` and makes an outcome of its result.

use std::time::Duration;

use serde_json::Value;

use crate::{
    catalog::{APPLY_FILE_PLAN, FilePlan},
    plan::{self, Desk, Finished, Rejected, Status},
    task::{Checks, Fault, Outcome, Phase, PlanName, PlanOrder, RollbackOrder, State},
};

use super::{Context, Executed};

/// What is to be done about plans.
pub(crate) struct FileWork {
    pub(crate) order: FileOrder,
    /// Sentences for `audit.reasoning`.
    pub(crate) reasoning: Vec<String>,
}

/// One thing that can be asked of plans.
pub(crate) enum FileOrder {
    Plan {
        plan: PlanOrder,
        entry: Box<FilePlan>,
        /// The hash of the preview that it has to agree with.
        expect: Option<String>,
    },
    Rollback(RollbackOrder),
    Status(PlanName),
    Cancel(PlanName),
}

/// Does it.
pub(super) fn carry_out(work: FileWork, context: &Context<'_>) -> Executed {
    let desk = context.desk();
    let (capability, finished) = match work.order {
        FileOrder::Plan {
            plan,
            entry,
            expect,
        } => {
            let desk = within(desk, &entry);
            let finished = plan::execute(&plan, &entry.bounds, expect.as_deref(), desk);
            (entry.id, finished)
        }
        FileOrder::Rollback(order) => (APPLY_FILE_PLAN.to_owned(), plan::rollback(&order, desk)),
        FileOrder::Status(name) => (APPLY_FILE_PLAN.to_owned(), plan::status(&name, desk)),
        FileOrder::Cancel(name) => (APPLY_FILE_PLAN.to_owned(), plan::cancel(&name, desk)),
    };
    executed(capability, finished, work.reasoning)
}

/// Shows what a plan would do. The only other order of a dry run is a question, which changes nothing.
pub(super) fn preview(work: FileWork, context: &Context<'_>) -> Executed {
    let FileOrder::Plan { plan, entry, .. } = work.order else {
        return carry_out(work, context);
    };
    let desk = within(context.desk(), &entry);
    let finished = plan::preview(&plan, &entry.bounds, desk);
    executed(entry.id, finished, work.reasoning)
}

fn executed(capability: String, finished: Finished, reasoning: Vec<String>) -> Executed {
    let mut outcome = outcome(capability, finished);
    outcome.reasoning.splice(0..0, reasoning);
    outcome.into()
}

impl<'a> Context<'a> {
    /// For the room of plans.
    pub(crate) fn desk(&self) -> Desk<'a> {
        Desk {
            host: self.host,
            root: self.root,
            task_id: self.task_id,
            operation_id: self.operation_id,
            begun: self.begun,
            budget: self.budget,
            own: self.own,
            course: self.course,
        }
    }
}

/// The entry may give less time than the run has.
fn within<'a>(desk: Desk<'a>, entry: &FilePlan) -> Desk<'a> {
    let budget: Duration = desk
        .budget
        .unwrap_or(entry.bounds.longest)
        .min(entry.bounds.longest);
    Desk {
        budget: Some(budget),
        ..desk
    }
}

/// One outcome of whatever plans can come to.
fn outcome(capability: String, finished: Finished) -> Outcome {
    let state = state(&finished);
    let report = Some(finished.report).filter(|report| !report.is_null());
    let written = finished.files.is_some();
    let executed = match (state, finished.status) {
        (State::Rejected | State::Planned, _) | (_, None) => Vec::new(),
        _ => vec![capability],
    };
    Outcome {
        executed,
        // What tools make is looked at; of a plan it is the report (C-07, C-08).
        checks: Checks {
            output_exists: written,
            output_non_empty: written && report.is_some(),
            format_valid: written && report.as_ref().is_some_and(Value::is_object),
            result_complete: None,
        },
        effect: finished.effect,
        preview: finished.preview,
        execution_report: report,
        reports: finished.files,
        changed: finished.changed.iter().map(ToString::to_string).collect(),
        reasoning: finished.reasoning,
        notes: finished.notes,
        ..Outcome::nothing_done(
            state,
            match state {
                State::Done => Phase::Complete,
                _ => Phase::Plan,
            },
            finished.failure,
        )
    }
}

fn state(finished: &Finished) -> State {
    let Some(failure) = &finished.failure else {
        return match finished.preview {
            Some(_) => State::Planned,
            None => State::Done,
        };
    };
    if finished.rejected == Rejected::Yes && !failure.recoverable {
        return State::Rejected;
    }
    match finished.status {
        _ if failure.fault == Fault::Cancelled => State::Cancelled,
        Some(Status::Cancelled) => State::Cancelled,
        Some(Status::Partial) => State::Partial,
        Some(Status::RolledBack) => State::RolledBack,
        Some(Status::Success | Status::Failed | Status::Stuck) | None => State::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::{Effect, Failure, Preview, ReportFiles};

    fn finished(status: Option<Status>, failure: Option<Fault>) -> Finished {
        Finished {
            status,
            rejected: Rejected::No,
            failure: failure.map(|fault| Failure::new(fault, "why")),
            effect: Effect::None,
            report: json!({"status": "SUCCESS"}),
            files: Some(ReportFiles {
                directory: "d".to_owned(),
                execution_report: "d/e".to_owned(),
                change_log: "d/c".to_owned(),
                rollback_manifest: None,
            }),
            preview: None,
            changed: Vec::new(),
            reasoning: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn told(finished: Finished) -> Outcome {
        outcome("apply_file_plan".to_owned(), finished)
    }

    #[test]
    fn a_plans_end_is_a_runs_state_c_11() {
        for (status, fault, wanted) in [
            (Some(Status::Success), None, State::Done),
            (
                Some(Status::Partial),
                Some(Fault::FileNotFound),
                State::Partial,
            ),
            (Some(Status::Failed), Some(Fault::DiskFull), State::Failed),
            (
                Some(Status::RolledBack),
                Some(Fault::HashMismatch),
                State::RolledBack,
            ),
            (
                Some(Status::Cancelled),
                Some(Fault::Cancelled),
                State::Cancelled,
            ),
            (None, None, State::Done),
            (None, Some(Fault::InFlight), State::Failed),
        ] {
            assert_eq!(told(finished(status, fault)).state, wanted, "{status:?}");
        }
        let preview = Preview {
            hash: String::new(),
            diff: String::new(),
        };
        let shown = Finished {
            preview: Some(preview),
            ..finished(None, None)
        };
        assert_eq!(told(shown).state, State::Planned);
    }

    #[test]
    fn a_refused_request_is_rejected_unless_sending_it_again_may_help() {
        for (fault, wanted) in [
            (Fault::PlanInvalid, State::Rejected),
            (Fault::InFlight, State::Failed),
        ] {
            let refused = Finished {
                rejected: Rejected::Yes,
                ..finished(Some(Status::Failed), Some(fault))
            };
            assert_eq!(told(refused).state, wanted);
        }
    }

    #[test]
    fn the_checks_speak_of_the_report_and_only_what_ran_was_exercised_r_000_41_c_07() {
        let done = told(finished(Some(Status::Success), None));
        assert_eq!(done.executed, ["apply_file_plan"]);
        assert!(
            done.checks.output_exists && done.checks.output_non_empty && done.checks.format_valid
        );
        let refused = told(Finished {
            rejected: Rejected::Yes,
            report: Value::Null,
            files: None,
            ..finished(None, Some(Fault::PlanInvalid))
        });
        assert!(refused.executed.is_empty() && refused.execution_report.is_none());
        assert_eq!(refused.checks, Checks::default());
    }
}
