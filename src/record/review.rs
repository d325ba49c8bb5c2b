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
