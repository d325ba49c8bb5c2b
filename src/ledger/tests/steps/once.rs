//! A once-only step is one call of its task, whatever parameters the earlier steps give it (R-004-35).

use super::*;

/// The same step, with the parameters that an earlier step with a new result gives it.
fn changed(mut ask: Ask<'_>) -> Ask<'_> {
    ask.asked.steps[0]
        .parameters
        .insert("a".to_owned(), 2.into());
    ask
}

/// R-004-35: what a step gets from an earlier one does not make it another call of the same task.
#[test]
fn a_once_only_step_is_not_performed_again_with_other_parameters() {
    for repeats in [false, true] {
        let of = |ask| if repeats { repeat(ask) } else { ask };
        let place = Place::new();
        let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
        finished(&place, &step(&run, 2, of(once("x"))), &ended());
        drop(dead);
        let (dead, next) = run_of(&mut place.open(), &task("op_2", 2));
        let second = changed(step(&next, 2, of(once("x"))));
        let refused = begin(&mut place.open(), &second, &Around::default());
        assert!(
            matches!(&refused, Err(LedgerError::OtherStep { operation }) if operation == "op_1.2"),
            "{refused:?}"
        );
        drop(dead);
        // A person withdraws the answer, and with it what forbids the call.
        take_back(&place, "op_1.2");
        assert!(begin(&mut place.open(), &second, &Around::default()).is_ok());
    }
}

/// Another task with the same content may do it meanwhile. This task has still not succeeded.
#[test]
fn the_success_of_another_task_does_not_make_a_once_only_step_another_call() {
    for succeeded in [false, true] {
        let place = Place::new();
        let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
        let second = step(&run, 2, repeat(once("x")));
        if succeeded {
            finished(&place, &second, &ended());
        } else {
            let mut owner = place.open();
            let begun = running(begin(&mut owner, &second, &Around::default()));
            owner.dispatch(&second, &begun, None).unwrap();
        }
        drop(dead);
        let other = task("op_2", 1);
        let other = Ask {
            who: Who {
                task_id: Some("other"),
                ..other.who
            },
            ..other
        };
        let mut ledger = place.open();
        let whole = running(begin(&mut ledger, &other, &Around::default()));
        ledger.finish(&other, whole, ended());
        let (_, next) = run_of(&mut place.open(), &task("op_3", 2));
        let second = changed(step(&next, 2, repeat(once("x"))));
        let refused = begin(&mut place.open(), &second, &Around::default());
        match refused {
            Err(LedgerError::OtherStep { operation }) => {
                assert!(succeeded && operation == "op_1.2");
            }
            Err(LedgerError::Unknown { operation }) => assert!(!succeeded && operation == "op_1.2"),
            other => panic!("{other:?}"),
        }
    }
}

/// A delivery is the same if its key is, whatever its task is called, and although the task was performed meanwhile.
#[test]
fn what_a_delivery_has_done_once_it_does_not_do_again() {
    let (t, t2) = ((Some("t"), Some("k")), (Some("t2"), Some("k")));
    for (first, between, then) in [
        (t, None, t2),
        (t, None, (None, Some("k"))),
        ((None, Some("k")), None, t),
        (t, Some((Some("t"), None)), t),
        (t, Some((Some("t"), Some("k2"))), t),
    ] {
        let place = Place::new();
        let (dead, run) = run_of(&mut place.open(), &delivered("op_1", first, 1));
        finished(&place, &second_of(&run, first), &ended());
        drop(dead);
        if let Some(other) = between {
            let other = delivered("op_2", other, 2);
            let mut ledger = place.open();
            let whole = running(begin(&mut ledger, &other, &Around::default()));
            ledger.finish(&other, whole, ended());
        }
        let (_, next) = run_of(&mut place.open(), &delivered("op_3", then, 3));
        let asked = begin(
            &mut place.open(),
            &second_of(&next, then),
            &Around::default(),
        );
        assert_eq!(
            said(asked),
            Err(Again::Replayed),
            "{first:?} {between:?} {then:?}"
        );
    }
}

#[test]
fn a_delivery_with_another_task_does_not_send_a_once_only_step_again() {
    let named = |operation, task_id, attempt| delivered(operation, (task_id, Some("k")), attempt);
    for (first, then) in [
        (Some("t"), Some("t2")),
        (Some("t"), None),
        (None, Some("t")),
    ] {
        let place = Place::new();
        let (dead, run) = run_of(&mut place.open(), &named("op_1", first, 1));
        let mut owner = place.open();
        let second = second_of(&run, (first, Some("k")));
        let begun = running(begin(&mut owner, &second, &Around::default()));
        owner.dispatch(&second, &begun, None).unwrap();
        drop((owner, dead));
        let (_, next) = run_of(&mut place.open(), &named("op_2", then, 2));
        let second = changed(second_of(&next, (then, Some("k"))));
        let refused = begin(&mut place.open(), &second, &Around::default());
        assert!(
            matches!(&refused, Err(LedgerError::Unknown { operation }) if operation == "op_1.2"),
            "{first:?} {then:?}: {refused:?}"
        );
    }
}

#[test]
fn a_once_only_step_of_unknown_outcome_stops_each_run_of_its_task() {
    let place = Place::new();
    let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
    let mut owner = place.open();
    let second = step(&run, 2, once("x"));
    let begun = running(begin(&mut owner, &second, &Around::default()));
    owner.dispatch(&second, &begun, None).unwrap();
    drop((owner, dead));
    let other = Ask {
        who: Who {
            task_id: Some("other"),
            ..task("op_3", 1).who
        },
        ..task("op_3", 1)
    };
    let unknown = |operation: &'static str, whole: Ask<'static>| {
        let (_, next) = run_of(&mut place.open(), &whole);
        let mut second = changed(step(&next, 2, once("x")));
        second.who.task_id = whole.who.task_id;
        let refused = begin(&mut place.open(), &second, &Around::default());
        assert!(
            matches!(&refused, Err(LedgerError::Unknown { operation }) if operation == "op_1.2"),
            "{operation}: {refused:?}"
        );
    };
    unknown("op_2", task("op_2", 1));
    unknown("op_3", other);
    let answer = |_: &_| "{}".to_owned();
    place
        .open()
        .resolve("op_1.2", Happened::Yes(&answer), None)
        .unwrap();
    let (_, next) = run_of(&mut place.open(), &task("op_4", 2));
    let second = changed(step(&next, 2, once("x")));
    let refused = begin(&mut place.open(), &second, &Around::default());
    assert!(
        matches!(refused, Err(LedgerError::OtherStep { .. })),
        "{refused:?}"
    );
}

/// How the first run of a delivery ends, after its step.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Killed,
    /// The run that takes it over is killed, too.
    KilledTwice,
    /// The same task takes it over with another key.
    TakenOver,
    Recorded(RowState),
}

/// The steps of a task are of the delivery of the task, also where the second content is one of them.
#[test]
fn a_delivery_whose_task_has_begun_a_step_performs_nothing_else() {
    let named = (Some("t"), Some("k"));
    let whole = |operation, named| Ask {
        effects: Effects::Once,
        strictest: Effects::Once,
        ..delivered(operation, named, 1)
    };
    for (end, finishes) in [
        (End::Killed, false),
        (End::Killed, true),
        (End::KilledTwice, true),
        (End::TakenOver, true),
        (End::Recorded(RowState::Cancelled), true),
        (End::Recorded(RowState::Pending), true),
    ] {
        let place = Place::new();
        let mut owner = place.open();
        let first = whole("op_1", named);
        let (begun, run) = run_of(&mut owner, &first);
        let step = second_of(&run, named);
        if finishes {
            finished(&place, &step, &ended());
        } else {
            let mut owner = place.open();
            let begun = running(begin(&mut owner, &step, &Around::default()));
            owner.dispatch(&step, &begun, None).unwrap();
        }
        if let End::Recorded(state) = end {
            let ended = Ended {
                state,
                outcome: RowOutcome::Error,
                ..ended()
            };
            owner.finish(&first, begun, ended);
        }
        drop(owner);
        let key = if end == End::TakenOver { "k2" } else { "k" };
        if matches!(end, End::KilledTwice | End::TakenOver) {
            run_of(&mut place.open(), &whole("op_2", (Some("t"), Some(key))));
        }
        let alone = Ask {
            asked: step.asked.clone(),
            ..whole("op_3", named)
        };
        let refused = begin(&mut place.open(), &alone, &Around::default());
        let ((Err(LedgerError::Unknown { operation }), false)
        | (Err(LedgerError::Conflict { operation, .. }), true)) = (&refused, finishes)
        else {
            panic!("{end:?}: {refused:?}")
        };
        assert_eq!(operation, if finishes { "op_1" } else { "op_1.2" });
    }
}
