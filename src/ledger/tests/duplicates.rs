//! What comes twice: what must not happen again, a delivery, an attempt.

use super::{tampering::other, *};
use crate::{
    ledger::{Part, TaskRun},
    people::Happened,
};

#[test]
fn what_must_not_happen_twice_is_suppressed_unless_it_is_about_something_else_by_now_c_36() {
    let place = Place::new();
    done(&place, &once("op_1"), &ended());
    let other_catalog = Ask {
        entry_digest: "other".to_owned(),
        reuse: Reuse::Off,
        ..once("op_2")
    };
    assert_eq!(
        again(&place, &other_catalog, &Around::default()),
        Err(Again::Suppressed)
    );
    let changed = |uri| Around {
        still: HashMap::from([(uri, Still::Other)]),
        ..Around::default()
    };
    assert_eq!(
        again(&place, &once("op_3"), &changed("out.wav")),
        Err(Again::Suppressed)
    );
    assert_eq!(
        again(&place, &once("op_4"), &changed("in.mp4")),
        Ok(Why::Miss(Miss::InputChanged))
    );
    let files = Ask {
        on_duplicate: OnDuplicate::Suppress(Unless::FilesChanged),
        ..once("op_5")
    };
    assert_eq!(
        again(&place, &files, &changed("out.wav")),
        Ok(Why::TakenOver)
    );
}

/// Both deliveries have claimed the call, and one of them was killed before it made the call.
#[test]
fn a_claim_of_a_dead_delivery_does_not_hide_that_another_one_may_have_made_the_call() {
    let attempt = |operation, attempt| {
        let mut attempted = once(operation);
        attempted.on_duplicate = OnDuplicate::Repeat;
        (attempted.who.task_id, attempted.who.attempt) = (Some("t"), Some(attempt));
        attempted
    };
    let place = Place::new();
    for (operation, number) in [("op_1", 1), ("op_2", 2)] {
        let mut owner = place.open();
        let call = attempt(operation, number);
        let begun = running(begin(&mut owner, &call, &Around::default()));
        if number == 2 {
            owner.dispatch(&call, &begun, None).unwrap();
        }
    }
    let refused = begin(&mut place.open(), &attempt("op_3", 1), &Around::default());
    assert!(
        matches!(&refused, Err(LedgerError::Unknown { operation }) if operation == "op_2"),
        "{refused:?}"
    );
}

#[test]
fn duplicates_that_are_to_be_repeated_do_not_meet() {
    let place = Place::new();
    let repeat = |operation| Ask {
        on_duplicate: OnDuplicate::Repeat,
        ..ask(operation)
    };
    let (mut one, mut other) = (place.open(), place.open());
    let world = Around::default();
    assert_eq!(said(begin(&mut one, &repeat("op_1"), &world)), Ok(Why::New));
    assert_eq!(
        said(begin(&mut other, &repeat("op_2"), &world)),
        Ok(Why::New)
    );
}

#[test]
fn what_is_to_be_repeated_is_done_once_for_each_delivery() {
    let repeat = |operation| Ask {
        on_duplicate: OnDuplicate::Repeat,
        who: Who {
            operation_id: operation,
            ..once("op_1").who
        },
        ..once("op_1")
    };
    let world = Around::default();
    // In flight.
    let place = Place::new();
    let mut owner = place.open();
    running(begin(&mut owner, &repeat("op_1"), &world));
    let waited = begin(&mut place.open(), &repeat("op_2"), &world);
    assert!(
        matches!(waited, Err(LedgerError::InFlight { .. })),
        "{waited:?}"
    );
    drop(owner);
    // Dead, when it may have happened.
    let place = Place::new();
    let mut owner = place.open();
    let begun = running(begin(&mut owner, &repeat("op_1"), &world));
    owner.dispatch(&repeat("op_1"), &begun, None).unwrap();
    drop(owner);
    let asked = begin(&mut place.open(), &repeat("op_2"), &world);
    assert!(
        matches!(asked, Err(LedgerError::Unknown { .. })),
        "{asked:?}"
    );
    // Done, and then by another delivery.
    let place = Place::new();
    done(&place, &repeat("op_1"), &ended());
    assert_eq!(again(&place, &repeat("op_2"), &world), Err(Again::Replayed));
    let mut other = repeat("op_3");
    other.who.attempt = Some(2);
    assert_eq!(again(&place, &other, &world), Ok(Why::Repeat));
}

#[test]
fn the_same_delivery_is_replayed_success_or_failure() {
    for end in [ended(), failed()] {
        let place = Place::new();
        done(&place, &ask("op_1"), &end);
        let same = Ask {
            who: Who {
                operation_id: "op_2",
                ..ask("op_1").who
            },
            ..ask("op_1")
        };
        assert_eq!(
            again(&place, &same, &Around::default()),
            Err(Again::Replayed)
        );
    }
}

#[test]
fn a_key_of_the_callers_own_makes_two_deliveries_the_same() {
    let place = Place::new();
    let keyed = |operation| {
        let mut ask = ask(operation);
        ask.who.idempotency_key = Some("k");
        ask
    };
    done(&place, &keyed("op_1"), &ended());
    assert_eq!(
        again(&place, &keyed("op_2"), &Around::default()),
        Err(Again::Replayed)
    );
    let mut other = keyed("op_3");
    other.asked.outputs.clear();
    let refused = begin(&mut place.open(), &other, &Around::default());
    assert!(
        matches!(refused, Err(LedgerError::Conflict { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_failure_is_no_answer_to_the_next_attempt() {
    let place = Place::new();
    done(&place, &ask("op_1"), &failed());
    let mut next = ask("op_2");
    next.who.task_id = Some("op_1");
    next.who.attempt = Some(2);
    assert_eq!(again(&place, &next, &Around::default()), Ok(Why::Retry));
    let last = place.open().last_failure("s", "op_1").unwrap().unwrap();
    assert_eq!(last.fault.as_deref(), Some(Fault::OutOfMemory.name()));
}

#[test]
fn a_delivery_is_known_however_often_it_came() {
    let place = Place::new();
    let keyed = |operation| {
        let mut ask = ask(operation);
        ask.who.task_id = Some("t");
        ask.who.idempotency_key = Some("k");
        ask
    };
    done(&place, &keyed("op_1"), &failed());
    for _ in 0..25 {
        let replayed = again(&place, &keyed("op_2"), &Around::default());
        assert_eq!(replayed, Err(Again::Replayed));
    }
    let mut other = keyed("op_3");
    other.asked.outputs.clear();
    let refused = begin(&mut place.open(), &other, &Around::default());
    assert!(
        matches!(refused, Err(LedgerError::Conflict { .. })),
        "{refused:?}"
    );
    assert!(place.open().last_failure("s", "t").unwrap().is_some());
}

/// A failure that a retry may mend, after which the effect is told.
fn recoverable(effect: Effect) -> Ended {
    Ended {
        told: Told {
            effect,
            recoverable: true,
        },
        ..failed()
    }
}

#[test]
fn under_one_key_only_what_happened_or_may_have_happened_is_replayed() {
    let keyed = |operation, effects| {
        let mut ask = Ask {
            effects,
            strictest: effects,
            ..ask(operation)
        };
        ask.who.task_id = Some("t");
        ask.who.idempotency_key = Some("k");
        ask.who.attempt = None;
        ask
    };
    let replayed = Err(Again::Replayed);
    for (effects, end, second) in [
        (Effects::Once, recoverable(Effect::None), Ok(Why::Retry)),
        (Effects::Once, recoverable(Effect::Done), replayed),
        (Effects::Once, failed(), replayed),
        // What may happen twice repeats nothing.
        (Effects::None, recoverable(Effect::Done), Ok(Why::Retry)),
        (
            Effects::Idempotent,
            recoverable(Effect::Unknown),
            Ok(Why::Retry),
        ),
        (Effects::None, failed(), replayed),
        (Effects::None, ended(), replayed),
    ] {
        let place = Place::new();
        done(&place, &keyed("op_1", effects), &end);
        let again = again(&place, &keyed("op_2", effects), &Around::default());
        assert_eq!(again, second, "{effects:?} {:?}", end.told);
    }
    // Another content is still a conflict, and a success is replayed to each later delivery.
    let place = Place::new();
    done(
        &place,
        &keyed("op_1", Effects::Once),
        &recoverable(Effect::None),
    );
    let mut other = keyed("op_2", Effects::Once);
    other.asked.outputs.clear();
    let refused = begin(&mut place.open(), &other, &Around::default());
    assert!(
        matches!(refused, Err(LedgerError::Conflict { .. })),
        "{refused:?}"
    );
    done(&place, &keyed("op_3", Effects::Once), &ended());
    assert_eq!(
        again(&place, &keyed("op_4", Effects::Once), &Around::default()),
        replayed
    );
}

#[test]
fn what_must_not_happen_twice_is_done_again_only_for_what_is_known() {
    let touched = |end: &mut Ended| end.inputs[0].changed_meanwhile = true;
    let mut end = ended();
    touched(&mut end);
    let place = Place::new();
    done(&place, &once("op_1"), &end);
    let suppressed = again(&place, &once("op_2"), &Around::default());
    assert_eq!(suppressed, Err(Again::Suppressed));
    // Nor is it where nobody can read what its inputs were.
    let place = Place::new();
    done(&place, &once("op_1"), &end);
    place.reseal(|row| row.input_ids = Some("{}".to_owned()));
    let suppressed = again(&place, &once("op_2"), &Around::default());
    assert_eq!(suppressed, Err(Again::Suppressed));
}

/// A world in which somebody takes the answer back while it is looked at.
struct Meanwhile<'a>(&'a Place, RefCell<bool>);

impl World for Meanwhile<'_> {
    fn still(&self, _: &str, _: &Print, _: Links) -> Still {
        if !self.1.replace(true) {
            take_back(self.0, "op_1");
        }
        Still::Same
    }

    fn expires(&self, _: &str) -> Option<Timestamp> {
        None
    }

    fn now(&self) -> Timestamp {
        NOW.parse().unwrap()
    }
}

#[test]
fn an_answer_that_is_taken_back_while_it_is_judged_is_not_given() {
    for asked in [ask("op_2"), once("op_2")] {
        let place = Place::new();
        done(&place, &ask("op_1"), &ended());
        let world = Meanwhile(&place, RefCell::new(false));
        let begun = place.open().begin(&asked, &world, &|| Ok(()));
        assert_eq!(said(begun), Ok(Why::Miss(Miss::Revoked)));
    }
}

/// A caller who does not count sends the last attempt again.
#[test]
fn two_contents_of_one_attempt_are_not_both_performed() {
    for (first, then, is_one) in [
        (None, Some(1), true),
        (Some(1), None, true),
        (Some(2), None, true),
        (Some(1), Some(2), false),
        (None, Some(2), false),
    ] {
        let of = |ask: Ask<'static>, attempt| Ask {
            who: Who {
                task_id: Some("t"),
                attempt,
                ..ask.who
            },
            ..ask
        };
        let place = Place::new();
        let mut owner = place.open();
        let begun = running(begin(
            &mut owner,
            &of(once("op_1"), first),
            &Around::default(),
        ));
        let second = of(other(once("op_2"), 2), then);
        let begun_too = begin(&mut place.open(), &second, &Around::default());
        assert_eq!(
            matches!(begun_too, Err(LedgerError::InFlight { .. })),
            is_one,
            "{first:?}, {then:?}: {begun_too:?}"
        );
        drop(begun);
    }
}

/// The refusal is an answer, but the next attempt is not free of what the first one may have done.
#[test]
fn an_unsettled_step_stops_another_content_also_after_a_refusal() {
    let place = Place::new();
    let of_task = |ask: Ask<'static>| Ask {
        who: Who {
            task_id: Some("t"),
            attempt: None,
            ..ask.who
        },
        ..ask
    };
    let mut owner = place.open();
    let first = of_task(once("op_1"));
    let begun = running(begin(&mut owner, &first, &Around::default()));
    let run = TaskRun {
        attempt: 1,
        whole: String::new(),
        began: 0,
    };
    let part = Part {
        parent: "op_1".to_owned(),
        position: 1,
        key: String::new(),
        equals: 0,
        capability: "x".to_owned(),
        nth: 0,
        run,
    };
    let step = Ask {
        who: Who {
            operation_id: "op_1.1",
            part: Some(&part),
            ..other(once("op_1.1"), 2).who
        },
        ..other(once("op_1.1"), 2)
    };
    let at_step = running(begin(&mut owner, &step, &Around::default()));
    owner.dispatch(&step, &at_step, None).unwrap();
    drop((at_step, begun, owner));
    let mut ledger = place.open();
    let again = of_task(once("op_2"));
    let begun = running(begin(&mut ledger, &again, &Around::default()));
    let refused = Ended {
        state: RowState::Failed,
        outcome: RowOutcome::Error,
        ..ended()
    };
    ledger.finish(&again, begun, refused);
    let third = of_task(other(once("op_3"), 3));
    let third = begin(&mut place.open(), &third, &Around::default());
    assert!(
        matches!(&third, Err(LedgerError::Unknown { operation }) if operation == "op_1.1"),
        "{third:?}"
    );
}

/// Another content of the same delivery, before the first one has an answer (R-004-35).
#[test]
fn two_contents_of_one_delivery_are_not_both_performed() {
    let keyed = |ask: Ask<'static>| Ask {
        who: Who {
            idempotency_key: Some("k"),
            ..ask.who
        },
        ..ask
    };
    let of_task = |ask: Ask<'static>| Ask {
        who: Who {
            task_id: Some("t"),
            ..ask.who
        },
        ..ask
    };
    for deliver in [&keyed as &dyn Fn(Ask<'static>) -> Ask<'static>, &of_task] {
        let place = Place::new();
        let mut owner = place.open();
        let first = deliver(once("op_1"));
        let begun = running(begin(&mut owner, &first, &Around::default()));
        let second = |operation| deliver(other(once(operation), 2));
        let asked = |operation| begin(&mut place.open(), &second(operation), &Around::default());
        assert!(matches!(asked("op_2"), Err(LedgerError::InFlight { .. })));
        owner.dispatch(&first, &begun, None).unwrap();
        assert!(matches!(asked("op_3"), Err(LedgerError::InFlight { .. })));
        drop((begun, owner));
        let refused = asked("op_4");
        assert!(
            matches!(&refused, Err(LedgerError::Unknown { operation }) if operation == "op_1"),
            "{refused:?}"
        );
        // A person says that it happened.
        let answer = |_: &_| "{}".to_owned();
        place
            .open()
            .resolve("op_1", Happened::Yes(&answer), None)
            .unwrap();
        assert!(matches!(asked("op_6"), Err(LedgerError::Conflict { .. })));
        take_back(&place, "op_1");
        running(asked("op_7"));
        // Nothing was sent: two runs that died before do not hold the third up.
        let place = Place::new();
        for (operation, number) in [("op_1", 1), ("op_2", 2)] {
            let died = deliver(other(once(operation), number));
            running(begin(&mut place.open(), &died, &Around::default()));
        }
        let third = deliver(other(once("op_3"), 3));
        running(begin(&mut place.open(), &third, &Around::default()));
    }
}
