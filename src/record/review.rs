//! The review of a result during a run (R-003-32, R-003-33).

use jiff::Timestamp;

use crate::{
    executor::Work,
    task::{Outcome, Release, Review, ReviewRule, ReviewTerms, State, decided},
};

/// The rule for the result of a task. A rollback, a status query and a cancellation have none.
pub(super) fn rule(work: &Work) -> Option<ReviewRule> {
    match work {
        Work::Tools(ready) => {
            let steps = ready.job.steps.iter();
            ReviewRule::strictest(steps.filter_map(|step| step.entry.review))
        }
        Work::Files(files) => files.order.entry()?.review,
        Work::Grant(_) | Work::Said(_) => None,
    }
}

/// Opens the review of a complete success. Anything else leaves nothing to review.
pub(super) fn open(
    outcome: &mut Outcome,
    rule: Option<ReviewRule>,
    operation_id: &str,
    now: Timestamp,
) {
    let succeeded = outcome.state == State::Done && outcome.failure.is_none();
    let review = rule.filter(|_| succeeded).map(|rule| {
        let terms = ReviewTerms::new(rule, operation_id, now);
        Review::new(terms, None, now)
    });
    outcome.review = review;
}

/// Makes what is answered of a recorded success, by the state of its review.
pub(super) fn release(outcome: &mut Outcome) {
    let Some(review) = &outcome.review else {
        return;
    };
    match review.release() {
        Release::Given | Release::Withdrawn => {}
        Release::Unreviewed => {
            let note = format!(
                "No person has reviewed the result yet: `{}`.",
                review.terms.how()
            );
            outcome.notes.push(decided(note));
        }
        // The ledger names what was made, and the answer does not.
        Release::Withheld => {
            outcome.failure = Some(review.withheld());
            outcome.state = State::Pending;
            outcome.produced.clear();
            outcome.result_data = None;
            outcome.result_file = None;
            outcome.execution_report = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::Blocks;

    fn reviewed(blocks: Blocks, state: State) -> Outcome {
        let rule = ReviewRule {
            blocks,
            timeout: std::time::Duration::from_hours(1),
        };
        let mut outcome = Outcome {
            result_data: Some(json!(1)),
            ..Outcome::nothing_done(state, crate::task::Phase::Complete, None)
        };
        open(&mut outcome, Some(rule), "op_1", Timestamp::UNIX_EPOCH);
        release(&mut outcome);
        outcome
    }

    #[test]
    fn a_result_that_a_person_must_accept_first_is_withheld() {
        let withheld = reviewed(Blocks::Yes, State::Done);
        assert_eq!(withheld.state, State::Pending);
        assert_eq!(withheld.result_data, None);
        assert!(withheld.failure.is_some());
    }

    #[test]
    fn any_other_result_is_given_with_a_note() {
        let given = reviewed(Blocks::No, State::Done);
        assert_eq!(given.result_data, Some(json!(1)));
        assert!(given.notes[0].contains("oneact review op_1"), "{given:?}");
    }

    #[test]
    fn what_is_no_complete_success_is_not_reviewed() {
        let partial = reviewed(Blocks::Yes, State::Partial);
        assert_eq!(partial.review, None);
        assert_eq!(partial.result_data, Some(json!(1)));
    }
}
