//! Words what the ledger decided: a recorded answer is repeated (R-004-38, C-38), or the request is refused. What was checked
//! before is in `ledger/validity.rs`.

use crate::{
    envelope::read_response,
    executor::Executed,
    ledger::{Again, Answered, LedgerError, Made, RowOutcome, holds_cut_link},
    task::{Failure, Fault, Outcome, Phase, Produced, Record, RefId, ReuseReport, State, decided},
};

use super::review;

/// The note of an answer whose links were cut.
const CUT_LINKS: &str = "Signed links and credentials of the result were redacted (`***`), because the ledger \
     does not keep them. To get new ones, send the task again with `salt`.";

/// The outcome that repeats a recorded answer, with the link of the repetition (R-004-39, C-38).
pub(super) fn old_answer(answered: Answered) -> Outcome {
    let Answered {
        how,
        effect,
        original,
        review,
        request_hash,
        head,
    } = answered;
    let stored = original.response.as_deref().and_then(read_response);
    let at = &original.timestamp;
    let action = original.action_type.as_deref().unwrap_or("the action");
    let session = &original.session_id;
    let (state, sentence) = match how {
        // Specification 004's own words (R-004-38).
        Again::Reused => (
            State::Reused,
            format!("Reusing result for {action} from session {session} with matching hash"),
        ),
        Again::Replayed => (
            State::Replayed,
            format!(
                "This delivery of {action} was answered at {at}; the same answer is returned again"
            ),
        ),
        Again::Suppressed => (
            State::Suppressed,
            format!(
                "{action} was already performed at {at} in {} ({}) and was not performed again. Send `salt` to repeat it",
                original.task_id.as_deref().unwrap_or("a task"),
                original.operation_id
            ),
        ),
    };
    tracing::warn!("{sentence}");
    let record = Record {
        request_hash,
        reuse: Some(ReuseReport {
            why: how.name(),
            operation_id: Some(original.operation_id.clone()),
            answered_at: Some(at.clone()),
            step_index: Some(original.step_index),
        }),
        ledger: Some(head),
        response: original.response.clone(),
    };
    let mut outcome = Outcome {
        produced: original.made().iter().filter_map(asset).collect(),
        record: Some(record),
        review,
        reasoning: vec![decided(format!("{sentence}."))],
        ..Outcome::nothing_done(state, Phase::Complete, None)
    };
    let Some(stored) = stored else {
        let pruned = "the answer was pruned, so the ledger no longer contains its content";
        match (&original.response, how, original.outcome) {
            (None, Again::Suppressed | Again::Replayed, RowOutcome::Success) => {
                outcome.notes.push(decided(format!("pruned: {pruned}.")));
                if how == Again::Replayed {
                    outcome.effect = effect;
                }
            }
            (None, ..) => give_up(&mut outcome, pruned),
            (Some(_), ..) => give_up(
                &mut outcome,
                "the stored answer cannot be read; `oneact verify` checks whether it was changed",
            ),
        }
        return outcome;
    };
    if stored.result_data.as_ref().is_some_and(holds_cut_link) {
        outcome.notes.push(CUT_LINKS.to_owned());
    }
    outcome.result_data = stored.result_data;
    outcome.checks = stored.checks;
    outcome.execution_report = stored.execution_report;
    outcome.failure = stored.failure;
    review::release(&mut outcome);
    if how == Again::Replayed {
        outcome.executed = stored.executed;
        outcome.invocations = stored.invocations;
        outcome.effect = effect;
    }
    outcome
}

/// Makes the outcome a failure: the old answer cannot be repeated.
fn give_up(outcome: &mut Outcome, why: &str) {
    outcome.state = State::Failed;
    outcome.produced.clear();
    outcome.failure = Some(Failure::new(Fault::Internal, why));
}

fn asset(made: &Made) -> Option<Produced> {
    if !made.is_asset() {
        return None;
    }
    Some(Produced {
        ref_id: RefId::parse(&made.ref_id).ok()?,
        storage_uri: made.storage_uri.clone(),
        asset_type: made.asset_type.clone(),
        capability_id: made.capability_id.clone(),
        parent_ref_id: made
            .parent_ref_id
            .as_deref()
            .and_then(|id| RefId::parse(id).ok()),
        bytes: 0,
    })
}

/// The answer if an approval is needed but could not be recorded.
pub(super) fn unrecordable() -> Executed {
    let message = "the task needs an approval or a grant, but the ledger is switched off (`none`), so neither can be recorded";
    let mut failure = Failure::new(Fault::LedgerUnavailable, message);
    failure.recoverable = false;
    Outcome::nothing_done(State::Rejected, Phase::Inputs, Some(failure)).into()
}

pub(super) fn refused(error: LedgerError) -> Executed {
    let review = match &error {
        LedgerError::ReviewOpen(review) => Some((**review).clone()),
        _ => None,
    };
    let failure = Failure::from(error);
    let state = match failure.fault {
        Fault::Cancelled => State::Cancelled,
        Fault::RequestInFlight | Fault::ReviewOpen => State::Pending,
        Fault::IdempotencyConflict | Fault::ContextChanged => State::Rejected,
        _ => State::Failed,
    };
    let outcome = Outcome::nothing_done(state, Phase::Inputs, Some(failure));
    Outcome { review, ..outcome }.into()
}
