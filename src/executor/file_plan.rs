//! File plans: calls the room `plan`.

use crate::{
    catalog::{APPLY_FILE_PLAN, FilePlan},
    plan::{self, Desk, Reader},
    task::{Activity, Asker, Effect, Failure, Fault, Outcome, Phase, Preview, Sanction, State},
};

use super::{
    context::Context,
    executed::Executed,
    work::{FileOrder, FileWork},
};

pub(super) fn perform(work: FileWork, context: &Context<'_>) -> Executed {
    context.begins(Activity::Plan {
        capability: work
            .order
            .entry()
            .map_or(APPLY_FILE_PLAN, |entry| &entry.id),
    });
    let desk = context.desk;
    let (capability, mut outcome) = match &work.order {
        FileOrder::Plan {
            plan,
            entry,
            expect,
            sanction,
        } => {
            let bounds = entry.bounds.under(sanction.clone());
            let desk = within(desk, entry);
            let outcome = plan::execute(plan, &bounds, expect.as_deref(), desk);
            (Some(entry.id.clone()), outcome)
        }
        FileOrder::Rollback { order, sanction } => (
            Some(APPLY_FILE_PLAN.to_owned()),
            plan::rollback(order, sanction, desk),
        ),
        FileOrder::Status(name) => (None, plan::status(name, desk)),
        FileOrder::Cancel(name) => (None, plan::cancel(name, desk)),
    };
    if can_wait(&work.order) && needs_approval(&outcome) {
        let asks = |failure: &Failure| failure.fault == Fault::ApprovalRequired;
        match foresee(&work, context) {
            Ok(preview) => return held(work, outcome, preview),
            // No approval helps a plan that asks for one and cannot be applied.
            Err(foreseen) if outcome.failure.as_ref().is_some_and(asks) => {
                outcome.failure = foreseen.failure.or(outcome.failure);
            }
            Err(_) => {}
        }
    }
    executed(capability, outcome, work.reasoning)
}

/// Whether the order can wait for a person. A person at the command line needs no approval for a rollback.
fn can_wait(order: &FileOrder) -> bool {
    match order {
        FileOrder::Plan { sanction, .. } => *sanction == Sanction::None,
        FileOrder::Rollback { order, sanction } => {
            (order.by, sanction) == (Asker::Task, &Sanction::None)
        }
        FileOrder::Status(_) | FileOrder::Cancel(_) => false,
    }
}

/// The outcome of a plan that a person has to approve first. The work is kept for another try.
fn held(work: FileWork, outcome: Outcome, preview: Preview) -> Executed {
    let failure = outcome
        .failure
        .map(|failure| Failure::new(Fault::ApprovalRequired, failure.message));
    let mut executed = Executed::from(Outcome {
        preview: Some(preview),
        notes: outcome.notes,
        ..Outcome::nothing_done(State::Pending, Phase::Plan, failure)
    });
    executed.again = Some(Box::new(work));
    executed
}

/// Whether a plan was refused, before anything was changed, because a person has to approve it.
fn needs_approval(outcome: &Outcome) -> bool {
    let failure = outcome.failure.as_ref().map(|failure| failure.fault);
    outcome.effect == Effect::None
        && matches!(
            failure,
            Some(Fault::ProtectedFile | Fault::ApprovalRequired)
        )
}

/// The preview of a plan as an approval of it would let it be applied; or the outcome if it could not be applied.
pub(crate) fn foresee(work: &FileWork, context: &Context<'_>) -> Result<Preview, Box<Outcome>> {
    let desk = context.desk;
    let mut outcome = match &work.order {
        FileOrder::Plan { plan, entry, .. } => {
            let bounds = entry.bounds.under(Sanction::Sought);
            plan::preview(plan, &bounds, Reader::Approvers, within(desk, entry))
        }
        FileOrder::Rollback { order, .. } => plan::rollback_preview(order, desk),
        FileOrder::Status(_) | FileOrder::Cancel(_) => {
            let failure = Failure::new(Fault::Internal, "only a plan has a preview");
            Outcome::nothing_done(State::Rejected, Phase::Plan, Some(failure))
        }
    };
    outcome.preview.take().ok_or_else(|| Box::new(outcome))
}

/// Shows what a plan would change. The only other order of a dry run is a status query, which changes nothing.
pub(super) fn preview(work: FileWork, context: &Context<'_>) -> Executed {
    let FileOrder::Plan { plan, entry, .. } = work.order else {
        return perform(work, context);
    };
    let desk = within(context.desk, &entry);
    let mut outcome = plan::preview(&plan, &entry.bounds, Reader::User, desk);
    if needs_approval(&outcome) {
        let sought = entry.bounds.under(Sanction::Sought);
        let shown = plan::preview(&plan, &sought, Reader::User, desk);
        if shown.preview.is_some() {
            let why = outcome
                .failure
                .map(|failure| failure.message)
                .unwrap_or_default();
            let note = format!("A run of this plan waits for an approval: {why}.");
            outcome = Outcome {
                notes: shown.notes.into_iter().chain([note]).collect(),
                ..shown
            };
        }
    }
    executed(None, outcome, work.reasoning)
}

/// Adds the capability if a plan was performed: it has a report, and was neither rejected nor only shown.
fn executed(capability: Option<String>, mut outcome: Outcome, reasoning: Vec<String>) -> Executed {
    let undone = matches!(outcome.state, State::Rejected | State::Planned);
    if outcome.execution_report.is_some() && !undone {
        outcome.executed.extend(capability);
    }
    outcome.reasoning.splice(0..0, reasoning);
    outcome.into()
}

/// The desk with the time limit of the entry, if that is shorter.
fn within<'a>(desk: Desk<'a>, entry: &FilePlan) -> Desk<'a> {
    let longest = entry.bounds.longest;
    let budget = Some(desk.budget.map_or(longest, |budget| budget.min(longest)));
    Desk { budget, ..desk }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::Phase;

    #[test]
    fn only_a_plan_that_was_carried_out_was_exercised_r_000_41() {
        let ran = |state, report| {
            let outcome = Outcome {
                execution_report: report,
                ..Outcome::nothing_done(state, Phase::Plan, None)
            };
            let capability = Some("apply_file_plan".to_owned());
            executed(capability, outcome, Vec::new()).outcome.executed
        };
        let report = || Some(json!({"status": "SUCCESS"}));
        assert_eq!(ran(State::Done, report()), ["apply_file_plan"]);
        assert_eq!(ran(State::Failed, report()), ["apply_file_plan"]);
        for state in [State::Rejected, State::Planned] {
            assert!(ran(state, report()).is_empty(), "{state:?}");
        }
        assert!(ran(State::Done, None).is_empty());
    }
}
