//! Once-only steps that several tasks, or several deliveries of one task, have in common.

use super::{super::tampering::InFile, *};

fn suppressed(ask: Ask<'_>) -> Ask<'_> {
    Ask {
        on_duplicate: OnDuplicate::Suppress(Unless::InputsChanged),
        ..ask
    }
}

/// The inputs have changed.
fn changed() -> Around {
    Around {
        still: HashMap::from([("in.mp4", Still::Other), ("out.wav", Still::Other)]),
        ..Around::default()
    }
}

fn of_task(name: &'static str, mut ask: Ask<'static>) -> Ask<'static> {
    ask.who.task_id = Some(name);
    ask
}

/// Performs the whole task, whose steps have no records.
fn succeeded(place: &Place, whole: &Ask<'static>, around: &Around) {
    let mut ledger = place.open();
    let begun = running(begin(&mut ledger, whole, around));
    ledger.finish(whole, begun, ended());
}

/// Another task with the same content has succeeded in between.
#[test]
fn a_step_that_was_replayed_is_replayed_again() {
    let place = Place::new();
    let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
    finished(&place, &step(&run, 2, repeat(once("x"))), &ended());
    drop(dead);
    succeeded(&place, &of_task("u", task("op_2", 1)), &Around::default());
    for (operation, attempt) in [("op_3", 2), ("op_4", 3), ("op_5", 4)] {
        let (dead, run) = run_of(&mut place.open(), &task(operation, attempt));
        let second = step(&run, 2, repeat(once("x")));
        assert_eq!(
            again(&place, &second, &Around::default()),
            Err(Again::Replayed),
            "{operation}"
        );
        drop(dead);
    }
}

/// Another task with the same content succeeds in between, and an input changes. The step was performed for this task, or
/// for the other one.
#[test]
fn a_step_that_was_answered_stays_answered_after_another_task_has_succeeded() {
    let of = |name, ask: Ask<'static>| {
        let mut ask = ask;
        (ask.who.task_id, ask.who.idempotency_key) = name;
        ask
    };
    let named = (Some("t"), None);
    for (ours, is_performed) in [
        (named, true),
        ((Some("t"), Some("k")), true),
        ((None, Some("k")), true),
        (named, false),
    ] {
        let place = Place::new();
        let other = |operation| of((Some("u"), None), task(operation, 1));
        if !is_performed {
            let (dead, run) = run_of(&mut place.open(), &other("op_0"));
            finished(&place, &step(&run, 2, suppressed(once("x"))), &ended());
            drop(dead);
        }
        let (dead, run) = run_of(&mut place.open(), &of(ours, task("op_1", 1)));
        let second = step(&run, 2, of(ours, suppressed(once("x"))));
        if is_performed {
            finished(&place, &second, &ended());
        } else {
            let answered = again(&place, &second, &Around::default());
            assert_eq!(answered, Err(Again::Suppressed));
        }
        drop(dead);
        succeeded(&place, &other("op_2"), &Around::default());
        for operation in ["op_3", "op_4"] {
            let (dead, run) = run_of(&mut place.open(), &of(ours, task(operation, 1)));
            let second = step(&run, 2, of(ours, suppressed(once("x"))));
            let answered = again(&place, &second, &changed());
            assert_eq!(answered, Err(Again::Replayed), "{ours:?} {operation}");
            drop(dead);
        }
    }
}

/// The delivery dies after its step. Another attempt at the task succeeds, and the inputs change. The delivery may come
/// again under another name of its task.
#[test]
fn a_delivery_that_comes_again_has_its_steps_although_its_task_has_succeeded() {
    let uncounted = |mut ask: Ask<'static>| {
        (ask.who.attempt, ask.who.request_id) = (None, Some("r"));
        ask
    };
    let (counted, keyed, renamed) = (
        (Some("t"), None),
        (Some("t"), Some("k")),
        (Some("u"), Some("k")),
    );
    let suppress = OnDuplicate::Suppress(Unless::InputsChanged);
    for on_duplicate in [suppress, OnDuplicate::Repeat] {
        for (name, then, counts) in [
            (counted, counted, true),
            (counted, counted, false),
            (keyed, keyed, true),
            (keyed, renamed, true),
        ] {
            let whole = |operation, name| {
                let whole = delivered(operation, name, 1);
                if counts { whole } else { uncounted(whole) }
            };
            let place = Place::new();
            let (dead, run) = run_of(&mut place.open(), &whole("op_1", name));
            let first = Ask {
                on_duplicate,
                ..second_of(&run, name)
            };
            finished(&place, &first, &ended());
            drop(dead);
            let mut ledger = place.open();
            let between = task("op_2", 2);
            let (begun, run) = run_of(&mut ledger, &between);
            let second = Ask {
                on_duplicate,
                ..second_of(&run, counted)
            };
            let answered = again(&place, &second, &Around::default());
            assert_eq!(answered, Err(Again::Replayed), "{name:?}");
            ledger.finish(&between, begun, ended());
            for operation in ["op_3", "op_4"] {
                let (dead, run) = run_of(&mut place.open(), &whole(operation, then));
                let third = Ask {
                    on_duplicate,
                    ..second_of(&run, then)
                };
                let answered = again(&place, &third, &changed());
                assert_eq!(answered, Err(Again::Replayed), "{name:?} {then:?}");
                drop(dead);
            }
        }
    }
}

/// The second delivery of the task was answered with the success of another task. The input changes.
#[test]
fn a_task_that_got_an_old_answer_performs_its_steps_anew() {
    let file = InFile::new();
    let (dead, run) = run_of(&mut file.open(), &suppressed(task("op_1", 1)));
    let first = step(&run, 2, suppressed(once("x")));
    tampering::record(&mut file.open(), &first, &ended());
    drop(dead);
    let other = suppressed(of_task("u", task("op_2", 1)));
    tampering::record(&mut file.open(), &other, &ended());
    let whole = suppressed(task("op_3", 2));
    let answered = begin(&mut file.open(), &whole, &Around::default());
    assert_eq!(said(answered), Err(Again::Suppressed));
    let mut ledger = file.open();
    let whole = suppressed(task("op_4", 3));
    let begun = running(begin(&mut ledger, &whole, &changed()));
    let run = TaskRunOf::of(&whole, &begun);
    let second = step(&run, 2, suppressed(once("x")));
    let begun = begin(&mut file.open(), &second, &changed());
    assert!(matches!(begun, Ok(Reply::Run(_))), "{begun:?}");
}

/// A task performs its step and dies. Another task with the same content succeeds, so the answer of the first one is an old
/// one from then on.
#[test]
fn what_a_task_has_done_before_the_success_of_another_task_binds_no_third() {
    for on_duplicate in [
        OnDuplicate::Repeat,
        OnDuplicate::Suppress(Unless::InputsChanged),
    ] {
        for (third, parameters) in [("u", "same"), ("v", "same"), ("v", "other")] {
            let place = Place::new();
            let whole = |name, operation| suppressed(of_task(name, task(operation, 1)));
            let step = |name: &'static str, run| {
                let mut second = step(run, 2, once("x"));
                (second.on_duplicate, second.who.task_id) = (on_duplicate, Some(name));
                second
            };
            let (dead, run) = run_of(&mut place.open(), &whole("t", "op_1"));
            finished(&place, &step("t", &run), &ended());
            drop(dead);
            succeeded(&place, &whole("u", "op_2"), &Around::default());
            let mut again = whole(third, "op_3");
            again.who.attempt = Some(2);
            let mut ledger = place.open();
            let begun = running(begin(&mut ledger, &again, &changed()));
            let run = TaskRunOf::of(&again, &begun);
            let mut second = step(third, &run);
            if parameters == "other" {
                second.asked.steps[0]
                    .parameters
                    .insert("a".to_owned(), 2.into());
            }
            let begun = begin(&mut place.open(), &second, &changed());
            assert!(
                matches!(begun, Ok(Reply::Run(_))),
                "{third} {parameters}: {begun:?}"
            );
        }
    }
}

/// The delivery with the key `k` is sent for the task `t`, and then for the task `u`.
#[test]
fn a_task_has_the_steps_of_each_delivery_that_came_with_its_name() {
    let named = |task, key| (Some(task), Some(key));
    for on_duplicate in [
        OnDuplicate::Repeat,
        OnDuplicate::Suppress(Unless::InputsChanged),
    ] {
        let place = Place::new();
        let (dead, run) = run_of(&mut place.open(), &delivered("op_1", named("t", "k"), 1));
        let first = Ask {
            on_duplicate,
            ..second_of(&run, named("t", "k"))
        };
        finished(&place, &first, &ended());
        drop(dead);
        for (operation, name) in [("op_2", named("u", "k")), ("op_3", named("u", "k2"))] {
            let (dead, run) = run_of(&mut place.open(), &delivered(operation, name, 1));
            let second = Ask {
                on_duplicate,
                ..second_of(&run, name)
            };
            let answered = again(&place, &second, &changed());
            assert_eq!(answered, Err(Again::Replayed), "{operation}");
            drop(dead);
        }
    }
}

/// The delivery of the first task succeeds under the name of the second one. The inputs change.
#[test]
fn the_success_of_a_key_with_two_tasks_ends_the_sharing_of_both() {
    let named = |task, key| (Some(task), Some(key));
    for name in [named("t", "k2"), named("u", "k2")] {
        let place = Place::new();
        let (dead, run) = run_of(&mut place.open(), &delivered("op_1", named("t", "k"), 1));
        finished(&place, &second_of(&run, named("t", "k")), &ended());
        drop(dead);
        let whole = delivered("op_2", named("u", "k"), 1);
        succeeded(&place, &whole, &Around::default());
        let (_dead, run) = run_of(&mut place.open(), &delivered("op_3", name, 1));
        let begun = begin(&mut place.open(), &second_of(&run, name), &changed());
        assert!(matches!(begun, Ok(Reply::Run(_))), "{name:?}: {begun:?}");
    }
}

/// Two deliveries of the task have begun, and one of them succeeds. An earlier step then gives the other one other
/// parameters for its once-only step, which was performed for both.
#[test]
fn a_delivery_that_has_begun_does_not_perform_a_step_of_its_task_with_other_parameters() {
    for on_duplicate in [
        OnDuplicate::Repeat,
        OnDuplicate::Suppress(Unless::InputsChanged),
    ] {
        let place = Place::new();
        let second = |run| Ask {
            on_duplicate,
            ..step(run, 2, once("x"))
        };
        let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
        finished(&place, &second(&run), &ended());
        drop(dead);
        let (dead, run) = run_of(&mut place.open(), &task("op_2", 2));
        let answered = again(&place, &second(&run), &Around::default());
        assert_eq!(answered, Err(Again::Replayed));
        drop(dead);
        succeeded(&place, &task("op_3", 1), &Around::default());
        let (_dead, run) = run_of(&mut place.open(), &task("op_4", 2));
        let mut other = second(&run);
        other.asked.steps[0]
            .parameters
            .insert("a".to_owned(), 2.into());
        let refused = begin(&mut place.open(), &other, &changed());
        assert!(
            matches!(&refused, Err(LedgerError::OtherStep { operation }) if operation == "op_1.2"),
            "{refused:?}"
        );
    }
}

/// With the same seed and clock, the next run has the operation id of the run that died.
#[test]
fn a_dead_run_with_the_same_operation_id_counts() {
    for is_finished in [true, false] {
        let place = Place::new();
        let mut owner = place.open();
        let (begun, run) = run_of(&mut owner, &task("op_1", 1));
        let second = step(&run, 2, suppressed(once("x")));
        if is_finished {
            finished(&place, &second, &ended());
        } else {
            let mut owner = place.open();
            let begun = running(begin(&mut owner, &second, &Around::default()));
            owner.dispatch(&second, &begun, None).unwrap();
        }
        drop((begun, owner));
        let (_dead, run) = run_of(&mut place.open(), &task("op_1", 1));
        let mut other = step(&run, 2, suppressed(once("x")));
        other.asked.steps[0]
            .parameters
            .insert("a".to_owned(), 2.into());
        let refused = begin(&mut place.open(), &other, &changed());
        assert!(
            matches!(
                (&refused, is_finished),
                (Err(LedgerError::OtherStep { .. }), true)
                    | (Err(LedgerError::Unknown { .. }), false)
            ),
            "{refused:?}"
        );
    }
}

/// A person has withdrawn the old answer, and the step has failed since.
#[test]
fn a_step_whose_old_answer_was_withdrawn_and_which_failed_is_performed() {
    let place = Place::new();
    let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
    finished(&place, &step(&run, 2, suppressed(once("x"))), &ended());
    drop(dead);
    let other = |operation, attempt| {
        let mut other = task(operation, attempt);
        other.who.task_id = Some("u");
        other
    };
    let (dead, run) = run_of(&mut place.open(), &other("op_2", 1));
    let second = step(&run, 2, suppressed(once("x")));
    assert_eq!(
        again(&place, &second, &Around::default()),
        Err(Again::Suppressed)
    );
    drop(dead);
    for operation in ["op_1.2", "op_2.2"] {
        take_back(&place, operation);
    }
    let (dead, run) = run_of(&mut place.open(), &other("op_3", 2));
    finished(&place, &step(&run, 2, suppressed(once("x"))), &failed());
    drop(dead);
    let (_dead, run) = run_of(&mut place.open(), &other("op_4", 3));
    let second = step(&run, 2, suppressed(once("x")));
    assert!(again(&place, &second, &Around::default()).is_ok());
}
