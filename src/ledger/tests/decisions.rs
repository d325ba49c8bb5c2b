//! What people decide, and what it changes.

use super::{
    tampering::{other, record},
    *,
};
use crate::{
    evidence::Signers,
    ledger::Case,
    people::{CommandError, Filter, Happened, Reading, Review, UnansweredState},
};

fn name(text: &str) -> Name<'_> {
    Name {
        text,
        session: None,
        alone: Alone::Refused,
    }
}

fn events(place: &Place) -> Vec<(String, Option<String>)> {
    let mut ledger = place.open();
    let links = read::<_, StoreError>(&mut *ledger.store, |tx| {
        tx.page::<crate::ledger::Link>(0, 100)
    })
    .unwrap();
    let told = |link: &crate::ledger::record::Link| (link.event.clone(), link.body().unwrap().note);
    links.iter().map(told).collect()
}

fn whole(place: &Place) {
    let verdict =
        crate::evidence::verify::verify(&mut place.open(), Vec::new(), Signers::Nobody).unwrap();
    assert_eq!(verdict.broken, None);
}

/// An operation that died when it may have happened.
fn died(ask: &Ask<'_>) -> Place {
    let place = Place::new();
    let mut owner = place.open();
    let begun = running(begin(&mut owner, ask, &Around::default()));
    owner.dispatch(ask, &begun, None).unwrap();
    drop(owner);
    place
}

fn yes(case: &Case) -> String {
    json!({"success": true, "of": case.operation_id, "task": case.task_id, "by": case.by})
        .to_string()
}

#[test]
fn what_happened_is_recorded_and_not_done_again() {
    let place = died(&once("op_1"));
    let resolved = place
        .open()
        .resolve("op_", Happened::Yes(&yes), Some("seen in the mailbox"));
    let resolved = resolved.unwrap();
    assert_eq!(resolved.case.action.as_deref(), Some("CAP-PRE-002"));
    assert_eq!(resolved.step_index, Some(0));
    let row = &place.rows()[0];
    assert_eq!(
        (row.state, row.outcome),
        (Some(RowState::Done), RowOutcome::Success)
    );
    assert_eq!(row.reason.as_deref(), Some("resolved"));
    assert_eq!(row.operation_id, "op_1");
    let said: Value = serde_json::from_str(row.response.as_ref().unwrap()).unwrap();
    assert_eq!(said["task"], "op_1");
    assert!(said["by"].as_str().unwrap().starts_with("uid:"));
    let last = events(&place).pop().unwrap();
    assert_eq!(
        last,
        (
            "resolved".to_owned(),
            Some("seen in the mailbox".to_owned())
        )
    );
    assert_eq!(
        again(&place, &once("op_2"), &Around::default()),
        Err(Again::Suppressed)
    );
    whole(&place);
}

#[test]
fn what_did_not_happen_is_done_by_the_next_run() {
    let place = died(&once("op_1"));
    let resolved = place.open().resolve("op_1", Happened::No, None).unwrap();
    assert_eq!(resolved.step_index, None);
    assert_eq!(events(&place).pop().unwrap().0, "resolved");
    assert_eq!(
        again(&place, &once("op_2"), &Around::default()),
        Ok(Why::New)
    );
    whole(&place);
}

#[test]
fn what_another_run_has_found_dead_is_resolved_alike() {
    for (happened, then) in [
        (Happened::Yes(&yes), Err(Again::Suppressed)),
        (Happened::No, Ok(Why::New)),
    ] {
        let place = died(&once("op_1"));
        let asked = begin(&mut place.open(), &once("op_2"), &Around::default());
        assert!(matches!(asked, Err(LedgerError::Unknown { .. })));
        place.open().resolve("op_1", happened, None).unwrap();
        assert_eq!(again(&place, &once("op_3"), &Around::default()), then);
        whole(&place);
    }
}

#[test]
fn what_its_owner_could_not_tell_is_resolved_with_all_that_is_known_of_it() {
    let place = Place::new();
    let open = Ended {
        state: RowState::Unknown,
        ..failed()
    };
    done(&place, &once("op_1"), &open);
    place
        .open()
        .resolve("op_1", Happened::Yes(&yes), None)
        .unwrap();
    let rows = place.rows();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].request, rows[0].request);
    assert_eq!(
        (rows[1].state, rows[1].fault.as_ref()),
        (Some(RowState::Done), None)
    );
    // The same delivery is answered by what was resolved.
    assert_eq!(
        again(&place, &once("op_1"), &Around::default()),
        Err(Again::Replayed)
    );
    whole(&place);
}

/// With the same seed and clock, several operations have one id.
#[test]
fn a_person_settles_the_call_of_unknown_outcome_and_none_of_two() {
    let dies_in = |place: &Place, call: &Ask<'_>| {
        let mut owner = place.open();
        let begun = running(begin(&mut owner, call, &Around::default()));
        owner.dispatch(call, &begun, None).unwrap();
    };
    let of_content = |ask: Ask<'static>, content| {
        let mut ask = Ask {
            asked: other(once("op_1"), content).asked,
            ..ask
        };
        ask.who.task_id = None;
        ask
    };
    let place = Place::new();
    dies_in(&place, &of_content(ask("op_1"), 1));
    dies_in(&place, &of_content(once("op_1"), 2));
    place.open().resolve("op_1", Happened::No, None).unwrap();
    for content in [3, 4] {
        dies_in(&place, &of_content(once("op_1"), content));
    }
    let refused = place.open().resolve("op_1", Happened::No, None);
    assert!(matches!(refused, Err(CommandError::SameId { .. })));
}

#[test]
fn only_what_is_open_is_resolved() {
    let refused =
        |place: &Place, text: &str| place.open().resolve(text, Happened::No, None).unwrap_err();
    // Nobody has it.
    let place = Place::new();
    done(&place, &once("op_1"), &ended());
    assert!(matches!(
        refused(&place, "op_1"),
        CommandError::Ended { state, .. } if state == "done"
    ));
    for nothing in ["op_9", ""] {
        let error = refused(&place, nothing);
        assert!(matches!(error, CommandError::Nothing { .. }), "{error:?}");
    }
    // It lives.
    let place = Place::new();
    let mut owner = place.open();
    let first = once("op_1");
    let begun = running(begin(&mut owner, &first, &Around::default()));
    assert!(matches!(
        refused(&place, "op_1"),
        CommandError::AtWork { .. }
    ));
    owner.dispatch(&first, &begun, None).unwrap();
    assert!(matches!(
        refused(&place, "op_1"),
        CommandError::AtWork { .. }
    ));
    drop(owner);
    // Nothing happened yet.
    let place = Place::new();
    let mut owner = place.open();
    running(begin(&mut owner, &once("op_1"), &Around::default()));
    drop(owner);
    assert!(matches!(
        refused(&place, "op_1"),
        CommandError::NothingHappened { .. }
    ));
    // It may be done twice.
    let place = died(&ask("op_1"));
    assert!(matches!(
        refused(&place, "op_1"),
        CommandError::MayRepeat { .. }
    ));
}

#[test]
fn of_several_open_operations_one_has_to_be_named() {
    let place = died(&once("op_1"));
    let mut owner = place.open();
    let second = other(once("op_12"), 2);
    let begun = running(begin(&mut owner, &second, &Around::default()));
    owner.dispatch(&second, &begun, None).unwrap();
    drop(owner);
    let error = place.open().resolve("op_", Happened::No, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`op_` is the beginning of several ids: op_1, op_12; give more characters"
    );
    // A whole id is no beginning.
    place.open().resolve("op_1", Happened::No, None).unwrap();
    let mut ledger = place.open();
    let claims = read::<_, StoreError>(&mut *ledger.store, |tx| tx.open_claims(None)).unwrap();
    assert_eq!(claims[0].operation_id, "op_12");
}

#[test]
fn an_answer_that_was_taken_back_is_neither_reused_nor_replayed() {
    for asked in ["op_1", "op_2"] {
        let place = Place::new();
        done(&place, &ask("op_1"), &ended());
        let revoke = || {
            let why = Some("wrong file");
            place.open().revoke(name("op_1"), Dependants::Listed, why)
        };
        let revoked = revoke().unwrap();
        assert_eq!((revoked.left.len(), revoked.along.len()), (0, 0));
        assert_eq!(place.rows()[0].revoked_by, Some(revoked.link.seq));
        let last = events(&place).pop().unwrap();
        assert_eq!(last, ("revoked".to_owned(), Some("wrong file".to_owned())));
        let ran = again(&place, &ask(asked), &Around::default());
        assert_eq!(ran, Ok(Why::Miss(Miss::Revoked)), "{asked}");
        let error = revoke().unwrap_err();
        assert!(matches!(error, CommandError::RevokedBefore { .. }));
        whole(&place);
    }
}

#[test]
fn what_was_given_from_it_is_listed_or_taken_back_with_it() {
    for (dependants, left, along) in [(Dependants::Listed, 2, 0), (Dependants::Revoked, 0, 2)] {
        let place = Place::new();
        done(&place, &ask("op_1"), &ended());
        for reuse in ["op_2", "op_3"] {
            assert_eq!(
                again(&place, &ask(reuse), &Around::default()),
                Err(Again::Reused)
            );
        }
        let revoked = place.open().revoke(name("op_1"), dependants, None).unwrap();
        assert_eq!((revoked.left.len(), revoked.along.len()), (left, along));
        let taken = place
            .rows()
            .iter()
            .filter(|row| row.revoked_by.is_some())
            .count();
        assert_eq!(taken, 1 + along);
        whole(&place);
    }
}

#[test]
fn a_review_is_recorded_and_a_rejection_takes_the_answer_back() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    let reviewed = place
        .open()
        .review(name("op_1"), Review::Accept, Some("good"))
        .unwrap();
    assert_eq!(reviewed.revoked, None);
    assert_eq!(
        again(&place, &ask("op_2"), &Around::default()),
        Err(Again::Reused)
    );
    let reviewed = place
        .open()
        .review(name("op_1"), Review::Reject, Some("swapped"))
        .unwrap();
    assert_eq!(reviewed.revoked, None);
    assert_eq!(
        again(&place, &ask("op_3"), &Around::default()),
        Ok(Why::Miss(Miss::Revoked))
    );
    let unknown = place
        .open()
        .review(name("op_9"), Review::Accept, None)
        .unwrap_err();
    assert!(matches!(unknown, CommandError::Nothing { .. }));
    whole(&place);
}

#[test]
fn an_answer_is_named_by_operation_row_or_step() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    done(&place, &other(ask("op_2"), 2), &ended());
    let rows = place.rows();
    let step = Name {
        text: "1",
        session: Some("s"),
        alone: Alone::Refused,
    };
    for named in [
        name("op_2"),
        name(&rows[1].id),
        name(&rows[1].id[..20]),
        step,
    ] {
        let reviewed = place.open().review(named, Review::Accept, None).unwrap();
        assert_eq!(reviewed.row.operation_id, "op_2", "{named:?}");
    }
    let error = |named| {
        place
            .open()
            .review(named, Review::Accept, None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(name("op_")),
        "`op_` is the beginning of several ids: op_1, op_2; give more characters"
    );
    // A number alone is a step of some session, also where a row's id begins so.
    assert!(error(name("7")).contains("name its session"));
    assert!(error(name("op_7")).contains("no recorded id"));
    let beyond = Name {
        text: "7",
        session: Some("s"),
        alone: Alone::Refused,
    };
    assert_eq!(
        error(beyond),
        "the session `s` has no step 7; its steps are 0 to 1"
    );
    let step = Name { text: "#1", ..step };
    let reviewed = place.open().review(step, Review::Accept, None).unwrap();
    assert_eq!(reviewed.row.operation_id, "op_2");
    let elsewhere = Name {
        text: "op_2",
        session: Some("t"),
        alone: Alone::Refused,
    };
    assert!(error(elsewhere).contains("has no session `t`"));
}

#[test]
fn the_head_names_the_last_link_of_a_decision() {
    let file = tampering::InFile::new();
    let mut ledger = file.open();
    record(&mut ledger, &ask("op_1"), &ended());
    let again = begin(&mut ledger, &ask("op_2"), &Around::default());
    assert_eq!(said(again), Err(Again::Reused));
    let all = Dependants::Revoked;
    let revoked = ledger.revoke(name("op_1"), all, None).unwrap();
    let last = revoked.link.seq + 1;
    drop(ledger);
    let verdict = file.verdict();
    assert_eq!(
        verdict.head,
        crate::evidence::verify::HeadSays::Unsigned { seq: last }
    );
}

#[test]
fn dependants_are_taken_back_however_many_they_are() {
    const MANY: usize = 300;
    let file = tampering::InFile::new();
    let mut ledger = file.open();
    record(&mut ledger, &ask("op_1"), &ended());
    for number in 0..MANY {
        let operation = Box::leak(format!("again_{number}").into_boxed_str());
        let again = begin(&mut ledger, &ask(operation), &Around::default());
        assert_eq!(said(again), Err(Again::Reused));
    }
    let revoked = ledger
        .revoke(name("op_1"), Dependants::Revoked, None)
        .unwrap();
    assert_eq!(revoked.along.len(), MANY);
}

#[test]
fn an_answer_of_a_session_is_found_however_many_are_newer_elsewhere() {
    let place = Place::new();
    let of = |operation, session_id, number| {
        let ask = other(ask(operation), number);
        Ask {
            who: Who {
                session_id,
                ..ask.who
            },
            ..ask
        }
    };
    done(&place, &of("op_1", "s", 1), &ended());
    for (operation, number) in [
        "op_20", "op_21", "op_22", "op_23", "op_24", "op_25", "op_26", "op_27", "op_28", "op_29",
    ]
    .into_iter()
    .zip(2..)
    {
        done(&place, &of(operation, "t", number), &ended());
    }
    let named = Name {
        text: "op_",
        session: Some("s"),
        alone: Alone::Refused,
    };
    let revoked = place.open().revoke(named, Dependants::Listed, None);
    assert_eq!(revoked.unwrap().row.operation_id, "op_1");
}

#[test]
fn the_beginning_of_several_operations_names_none_of_them() {
    let place = died(&once("op_1"));
    done(&place, &other(once("op_2"), 2), &ended());
    let refused = |text: &str| place.open().resolve(text, Happened::No, None).unwrap_err();
    // One is open and one has ended.
    match refused("op_") {
        CommandError::Several { candidates, .. } => {
            assert_eq!(candidates, ["op_1", "op_2"]);
        }
        error => panic!("{error:?}"),
    }
    // Both have ended.
    place.open().resolve("op_1", Happened::No, None).unwrap();
    done(&place, &other(once("op_3"), 3), &ended());
    let error = refused("op_");
    assert!(matches!(error, CommandError::Several { .. }), "{error:?}");
}

#[test]
fn what_died_and_must_not_happen_twice_is_shown_as_the_next_run_will_find_it() {
    for (dead, wanted) in [
        (once("op_1"), UnansweredState::Unknown),
        (ask("op_1"), UnansweredState::Died),
    ] {
        let place = died(&dead);
        let mut reading = Reading::of(Box::new(place.file.store()), NOW.parse().unwrap());
        let page = reading
            .answers(Some("s"), usize::MAX, &Filter::default())
            .unwrap();
        let how: Vec<UnansweredState> = page.open.iter().map(|open| open.state).collect();
        assert_eq!(how, [wanted]);
    }
}
