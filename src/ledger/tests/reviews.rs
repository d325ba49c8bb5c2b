//! What a repeated request gets while its answer is under review, and after the review (R-003-33).

use super::{
    tampering::{InFile, record},
    *,
};
use crate::{
    evidence::Signers,
    people::{Filter, PruneWish, Reading, Review},
    task::{Blocks, RELEASES, Release, ReviewRule, ReviewState, ReviewTerms},
};

const fn rule(blocks: Blocks) -> ReviewRule {
    ReviewRule {
        blocks,
        timeout: Duration::from_hours(72),
    }
}

/// A success that a person has to review.
fn under_review(blocks: Blocks) -> Ended {
    let terms = ReviewTerms::new(rule(blocks), "op_1", NOW.parse().unwrap());
    Ended {
        response: json!({"success": true, "nextActions": [terms.next_action()]}).to_string(),
        ..ended()
    }
}

fn later(hours: i64) -> Host {
    let now: jiff::Zoned = "2026-02-24T10:00:00+08:00[Asia/Singapore]".parse().unwrap();
    let now = now + jiff::Span::new().hours(hours);
    Host::new(Some(now), Some(2), Interrupts::catch())
}

fn named(text: &str) -> Name<'_> {
    Name {
        text,
        session: None,
        alone: Alone::Refused,
    }
}

#[test]
fn a_review_in_a_session_that_does_not_exist_says_so() {
    let place = Place::new();
    let refused = |text| {
        let name = Name {
            session: Some("sess-x"),
            ..named(text)
        };
        let refused = place.open().review(name, Review::Accept, None);
        refused.err().unwrap().to_string()
    };
    assert!(refused("5").ends_with("is empty: nothing has been recorded yet"));
    record(&mut place.open(), &ask("op_1"), &ended());
    for text in ["5", "op_1"] {
        assert_eq!(
            refused(text),
            "the ledger has no session `sess-x`; the last one that was used is `s`"
        );
    }
}

fn review(place: &Place, operation: &str, review: Review) {
    let reviewed = place.open().review(named(operation), review, None);
    assert_eq!(reviewed.unwrap().row.operation_id, "op_1");
}

fn reach(place: &mut Place, state: ReviewState) {
    match state {
        ReviewState::Open => {}
        ReviewState::Overdue => place.host = later(73),
        ReviewState::Accepted => review(place, "op_1", Review::Accept),
        ReviewState::Rejected => review(place, "op_1", Review::Reject),
    }
}

#[test]
fn every_row_of_the_table_holds_for_every_repetition() {
    for (blocks, state, wanted) in RELEASES {
        for (first, repeated, how) in [
            (ask("op_1"), ask("op_1"), Again::Replayed),
            (ask("op_1"), ask("op_2"), Again::Reused),
            (once("op_1"), once("op_1"), Again::Replayed),
            (once("op_1"), once("op_2"), Again::Suppressed),
        ] {
            let mut place = Place::new();
            done(&place, &first, &under_review(blocks));
            reach(&mut place, state);
            let begun = begin(&mut place.open(), &repeated, &Around::default());
            let case = format!("{blocks:?} {state:?} {how:?}: {begun:?}");
            match (wanted, begun) {
                (Release::Given | Release::Unreviewed, Ok(Reply::Answered(answered))) => {
                    let review = answered.review.unwrap();
                    assert_eq!((answered.how, review.state), (how, state), "{case}");
                    assert_eq!(review.release(), wanted, "{case}");
                    assert_eq!(review.terms.operation_id, "op_1", "{case}");
                }
                (Release::Withheld, Err(LedgerError::ReviewOpen(review))) => {
                    assert_eq!(review.state, state, "{case}");
                    assert_eq!(place.rows().len(), 1, "nothing is recorded: {case}");
                }
                (Release::Withdrawn, Ok(Reply::Run(running))) => {
                    assert_eq!(running.why, Why::Miss(Miss::Revoked), "{case}");
                }
                _ => panic!("{case}"),
            }
        }
    }
}

#[test]
fn the_last_review_counts_and_all_of_them_stay_in_the_chain() {
    let place = Place::new();
    done(&place, &ask("op_1"), &under_review(Blocks::Yes));
    review(&place, "op_1", Review::Reject);
    review(&place, "op_1", Review::Accept);
    let accepted = again(&place, &ask("op_2"), &Around::default());
    assert_eq!(accepted, Err(Again::Reused));
    review(&place, "op_1", Review::Reject);
    let rejected = again(&place, &ask("op_3"), &Around::default());
    assert_eq!(rejected, Ok(Why::Miss(Miss::Revoked)));
    let mut ledger = place.open();
    let reviews = read::<_, StoreError>(&mut *ledger.store, |tx| tx.reviews("s", 0)).unwrap();
    let states: Vec<_> = reviews.iter().map(|review| review.state).collect();
    assert_eq!(
        states,
        [
            ReviewState::Rejected,
            ReviewState::Accepted,
            ReviewState::Rejected
        ]
    );
    assert_eq!(
        crate::evidence::verify::verify(&mut ledger, Vec::new(), Signers::Nobody)
            .unwrap()
            .broken,
        None
    );
}

#[test]
fn a_rejection_also_withdraws_the_answers_that_repeated_it() {
    let place = Place::new();
    done(&place, &ask("op_1"), &under_review(Blocks::No));
    let reused = again(&place, &ask("op_2"), &Around::default());
    assert_eq!(reused, Err(Again::Reused));
    // A repetition is reviewed where its answer was made.
    review(&place, "op_2", Review::Reject);
    let redelivered = again(&place, &ask("op_2"), &Around::default());
    assert_eq!(redelivered, Ok(Why::Miss(Miss::Revoked)));
}

#[test]
fn an_acceptance_does_not_undo_a_revocation() {
    let place = Place::new();
    done(&place, &ask("op_1"), &under_review(Blocks::No));
    review(&place, "op_1", Review::Reject);
    take_back(&place, "op_1");
    let accepted = place.open().review(named("op_1"), Review::Accept, None);
    assert!(accepted.unwrap().revoked.is_some());
    let revoked = again(&place, &ask("op_2"), &Around::default());
    assert_eq!(revoked, Ok(Why::Miss(Miss::Revoked)));
    assert_eq!(
        crate::evidence::verify::verify(&mut place.open(), Vec::new(), Signers::Nobody)
            .unwrap()
            .broken,
        None
    );
}

#[test]
fn a_rejection_holds_however_many_links_about_the_request_follow() {
    let repeat = |operation| Ask {
        on_duplicate: OnDuplicate::Repeat,
        ..ask(operation)
    };
    let place = Place::new();
    done(&place, &repeat("op_1"), &under_review(Blocks::No));
    let first = again(&place, &repeat("op_1"), &Around::default());
    assert_eq!(first, Err(Again::Replayed));
    review(&place, "op_1", Review::Reject);
    for number in 0..40 {
        let operation = Box::leak(format!("later_{number}").into_boxed_str());
        done(&place, &repeat(operation), &ended());
    }
    let begun = again(&place, &repeat("op_1"), &Around::default());
    assert_eq!(begun, Ok(Why::Repeat));
}

#[test]
fn an_answer_from_before_the_rule_is_under_review_by_the_rule() {
    for (blocks, recorded) in [
        (Blocks::Yes, ended()),
        (Blocks::Yes, under_review(Blocks::No)),
    ] {
        let place = Place::new();
        done(&place, &ask("op_1"), &recorded);
        let now = |operation| Ask {
            review: Some(rule(blocks)),
            ..ask(operation)
        };
        let begun = begin(&mut place.open(), &now("op_2"), &Around::default());
        assert!(
            matches!(begun, Err(LedgerError::ReviewOpen(_))),
            "{begun:?}"
        );
        review(&place, "op_1", Review::Accept);
        let accepted = again(&place, &now("op_2"), &Around::default());
        assert_eq!(accepted, Err(Again::Reused));
    }
}

#[test]
fn a_withheld_answer_grows_old_only_after_its_acceptance() {
    let hour = |operation| Ask {
        on_duplicate: reuse(Some(Duration::from_hours(1)), Ground::Content),
        ..ask(operation)
    };
    let at = |hours| Around {
        now: later(hours).timestamp(),
        ..Around::default()
    };
    let mut place = Place::new();
    done(&place, &hour("op_1"), &under_review(Blocks::Yes));
    place.host = later(10);
    let open = begin(&mut place.open(), &hour("op_2"), &at(10));
    assert!(matches!(open, Err(LedgerError::ReviewOpen(_))), "{open:?}");
    review(&place, "op_1", Review::Accept);
    assert_eq!(again(&place, &hour("op_2"), &at(10)), Err(Again::Reused));
    let old = again(&place, &hour("op_3"), &at(12));
    assert_eq!(old, Ok(Why::Miss(Miss::Expired)));

    let place = Place::new();
    done(&place, &hour("op_1"), &under_review(Blocks::No));
    let old = again(&place, &hour("op_2"), &at(10));
    assert_eq!(old, Ok(Why::Miss(Miss::Expired)));
}

#[test]
fn a_changed_row_or_review_releases_nothing() {
    let response = r#"UPDATE agent_actions SET response = '{"success":true}'"#;
    let body = "UPDATE ledger_events SET body = replace(body, 'rejected', 'accepted') WHERE event = 'reviewed'";
    for (make, change, reviewed) in [
        (once as fn(_) -> _, response, None),
        (ask, response, None),
        (once, body, Some(Review::Reject)),
        (ask, body, Some(Review::Reject)),
    ] {
        let file = InFile::new();
        let mut ledger = file.open();
        record(&mut ledger, &make("op_1"), &under_review(Blocks::Yes));
        if let Some(review) = reviewed {
            ledger.review(named("op_1"), review, None).unwrap();
        }
        drop(ledger);
        file.change(change);
        for operation in ["op_1", "op_2"] {
            let begun = begin(&mut file.open(), &make(operation), &Around::default());
            assert!(
                !matches!(begun, Ok(Reply::Answered(_))),
                "{change}: {begun:?}"
            );
        }
    }
}

#[test]
fn an_open_review_is_seen_and_overdue_after_its_time() {
    let place = Place::new();
    done(&place, &ask("op_1"), &under_review(Blocks::No));
    let reused = again(&place, &ask("op_2"), &Around::default());
    assert_eq!(reused, Err(Again::Reused));
    let page = |hours| {
        let store = Box::new(place.file.store());
        let mut reading = Reading::of(store, later(hours).timestamp());
        reading
            .answers(Some("s"), usize::MAX, &Filter::default())
            .unwrap()
    };
    let open = |hours| page(hours).open_reviews().collect::<Vec<_>>();
    assert_eq!(open(72), [ReviewState::Open]);
    assert_eq!(open(73), [ReviewState::Overdue]);
    review(&place, "op_1", Review::Reject);
    assert_eq!(open(73), []);
    for step in page(73).steps {
        assert_eq!(step.review.unwrap().state, ReviewState::Rejected);
    }
}

#[test]
fn an_answer_is_not_pruned_before_its_review() {
    let mut place = Place::new();
    done(&place, &ask("op_1"), &under_review(Blocks::No));
    place.host = later(24 * 100);
    let prune = || {
        let week = Duration::from_hours(24 * 7);
        let pruned = place.open().prune(week, PruneWish::Prune).unwrap();
        (pruned.rows, pruned.kept)
    };
    assert_eq!(prune(), (0, 1));
    review(&place, "op_1", Review::Accept);
    assert_eq!(prune(), (1, 0));
    // The links still say that it was accepted.
    let mut reading = Reading::of(Box::new(place.file.store()), later(0).timestamp());
    let page = reading
        .answers(Some("s"), usize::MAX, &Filter::default())
        .unwrap();
    let review = page.steps[0].review.as_ref().unwrap();
    assert_eq!(review.state, ReviewState::Accepted);
}
