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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        ledger::{Row, RowState, StoreError, Trouble},
        task::Effect,
    };

    fn answered(how: Again, response: Option<&str>) -> Answered {
        Answered {
            how,
            effect: Effect::Done,
            original: Row {
                action_type: Some("CAP-PRE-002".to_owned()),
                outcome: RowOutcome::Success,
                state: Some(RowState::Done),
                operation_id: "op_1".to_owned(),
                session_id: "s".to_owned(),
                step_index: 4,
                timestamp: "2026-02-24T10:00:00.000Z".to_owned(),
                response: response.map(ToOwned::to_owned),
                ..Row::default()
            },
            review: None,
            request_hash: "sha256:1".to_owned(),
            head: crate::task::LedgerRef::default(),
        }
    }

    #[test]
    fn a_repeated_answer_has_the_recorded_result_and_says_where_it_is_from() {
        let response = json!({
            "success": true,
            "data": {"task_result": {
                "result_data": {"a": 1}, "capability_ids_executed": [], "tool_invocations": [],
                "quality_checks": {"output_exists": false, "output_non_empty": false, "format_valid": false},
            }},
        });
        for (how, state, effect) in [
            (Again::Replayed, State::Replayed, Effect::Done),
            (Again::Reused, State::Reused, Effect::None),
            (Again::Suppressed, State::Suppressed, Effect::None),
        ] {
            let outcome = old_answer(answered(how, Some(&response.to_string())));
            assert_eq!((outcome.state, outcome.effect), (state, effect));
            assert_eq!(outcome.result_data, Some(json!({"a": 1})));
            let reuse = outcome.record.unwrap().reuse.unwrap();
            assert_eq!((reuse.why, reuse.step_index), (how.name(), Some(4)));
            assert_eq!(reuse.operation_id.as_deref(), Some("op_1"));
        }
    }

    #[test]
    fn a_pruned_answer_is_still_no_reason_to_perform_a_request_again() {
        let suppressed = old_answer(answered(Again::Suppressed, None));
        assert_eq!(suppressed.state, State::Suppressed);
        assert!(suppressed.notes[0].contains("pruned"), "{suppressed:?}");
        let reused = old_answer(answered(Again::Reused, None));
        assert_eq!(reused.state, State::Failed);
        assert_eq!(reused.failure.unwrap().fault, Fault::Internal);
        let unreadable = old_answer(answered(Again::Replayed, Some("{")));
        assert_eq!(unreadable.state, State::Failed);
    }

    #[test]
    fn what_the_ledger_refuses_is_told_by_its_kind() {
        let busy = || LedgerError::InFlight {
            by: "operation op_1".to_owned(),
            waited: std::time::Duration::from_secs(1),
        };
        let damaged = || LedgerError::Damaged {
            operation: "op_1".to_owned(),
            link: 7,
        };
        let gone: StoreError = Trouble::Unreachable.with("ledger.db", "it is gone");
        for (error, state, fault) in [
            (busy(), State::Pending, Fault::RequestInFlight),
            (damaged(), State::Failed, Fault::OutcomeUnknown),
            (gone.into(), State::Failed, Fault::LedgerUnavailable),
            (
                LedgerError::NoReview,
                State::Failed,
                Fault::LedgerUnavailable,
            ),
        ] {
            let outcome = refused(error).outcome;
            assert_eq!(outcome.state, state);
            assert_eq!(outcome.failure.unwrap().fault, fault);
        }
    }
}
