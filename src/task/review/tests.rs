//! The table of reviews has one row for each combination; when a review is overdue; which of several rules counts.

use super::*;

const RULE: ReviewRule = ReviewRule {
    blocks: Blocks::No,
    timeout: Duration::from_hours(72),
};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn terms() -> ReviewTerms {
    ReviewTerms::new(RULE, "op_1", at("2026-02-24T02:00:00Z"))
}

#[test]
fn every_combination_has_exactly_one_row_in_the_table() {
    use ReviewState::{Accepted, Open, Overdue, Rejected};
    for blocks in [Blocks::No, Blocks::Yes] {
        for state in [Open, Overdue, Accepted, Rejected] {
            let rows = RELEASES.iter();
            let rows = rows.filter(|row| (row.0, row.1) == (blocks, state));
            assert_eq!(rows.count(), 1, "{blocks:?} {state:?}");
        }
    }
}

#[test]
fn the_terms_of_a_review_are_read_from_the_answer_that_records_them() {
    let response = json!({
        "success": true,
        "data": {"task_result": {"result_data": {"nextActions": [{"type": "review", "context": {}}]}}},
        "nextActions": [{"type": "retry"}, terms().next_action()],
    });
    assert_eq!(ReviewTerms::recorded(&response.to_string()), Some(terms()));
}

#[test]
fn the_answer_of_a_tool_demands_no_review() {
    let response = json!({
        "data": {"task_result": {"result_data": {"nextActions": [terms().next_action()]}}},
        "nextActions": [],
    });
    assert_eq!(ReviewTerms::recorded(&response.to_string()), None);
}

#[test]
fn a_review_is_overdue_after_its_time_and_stays_open() {
    for (now, state) in [
        ("2026-02-24T02:00:00Z", ReviewState::Open),
        ("2026-02-27T02:00:00Z", ReviewState::Open),
        ("2026-02-27T02:00:01Z", ReviewState::Overdue),
        ("2036-02-27T02:00:01Z", ReviewState::Overdue),
    ] {
        assert_eq!(Review::new(terms(), None, at(now)).state, state, "{now}");
        assert!(state.is_open());
    }
}

#[test]
fn of_several_rules_the_strictest_counts() {
    let blocking = ReviewRule {
        blocks: Blocks::Yes,
        timeout: Duration::from_hours(90),
    };
    let both = ReviewRule {
        blocks: Blocks::Yes,
        ..RULE
    };
    assert_eq!(
        ReviewRule::strictest([RULE, blocking].into_iter()),
        Some(both)
    );
    assert_eq!(ReviewRule::strictest([].into_iter()), None);
}

#[test]
fn a_time_for_a_review_is_at_most_a_year() {
    assert_eq!(review_timeout("72h"), Ok(RULE.timeout));
    assert_eq!(review_timeout("8760h"), Ok(YEAR));
    for text in ["", "0s", "-1h", "8761h", "3 moons", "72"] {
        assert!(review_timeout(text).is_err(), "{text}");
    }
}
