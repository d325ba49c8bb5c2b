//! Which unfinished task a run continues (R-004-35).

use super::*;
use crate::task::IMPROVISED;

type Name = (Option<&'static str>, Option<&'static str>);

fn suppressed(ask: Ask<'_>) -> Ask<'_> {
    Ask {
        on_duplicate: OnDuplicate::Suppress(Unless::InputsChanged),
        ..ask
    }
}

fn of(name: Name, step: Ask<'_>) -> Ask<'_> {
    let mut step = step;
    step.who.task_id = name.0;
    step
}

/// The run is killed after its second step, which repeats duplicates.
fn killed(place: &Place, whole: &Ask<'static>, name: Name) {
    let (_dead, run) = run_of(&mut place.open(), whole);
    finished(place, &second_of(&run, name), &ended());
}

/// What the second step of that task gets.
fn second(place: &Place, whole: &Ask<'static>, name: Name) -> Result<(), Again> {
    let (_dead, run) = run_of(&mut place.open(), whole);
    again(place, &second_of(&run, name), &Around::default()).map(drop)
}

/// The whole task is performed once, because a step of it suppresses duplicates. This step repeats them.
#[test]
fn a_step_that_got_the_answer_of_another_task_keeps_it() {
    let (t, u) = ((Some("t"), None), (Some("u"), None));
    let whole = |operation, name| suppressed(delivered(operation, name, 1));
    let place = Place::new();
    killed(&place, &whole("op_1", u), u);
    let answered = second(&place, &whole("op_2", t), t);
    assert_eq!(answered, Err(Again::Suppressed));
    let mut ledger = place.open();
    let other = whole("op_3", u);
    let begun = running(begin(&mut ledger, &other, &Around::default()));
    ledger.finish(&other, begun, ended());
    // An input of the whole has changed since.
    let changed = Around {
        still: HashMap::from([("in.mp4", Still::Other)]),
        ..Around::default()
    };
    for operation in ["op_4", "op_5"] {
        let whole = whole(operation, t);
        let dead = running(begin(&mut place.open(), &whole, &changed));
        let run = TaskRunOf::of(&whole, &dead);
        let answered = again(&place, &second_of(&run, t), &changed);
        assert_eq!(answered, Err(Again::Replayed), "{operation}");
    }
}

/// The approval of an improvised action is for whoever proposes it again.
#[test]
fn an_improvised_action_without_a_name_continues_the_unfinished_one() {
    for (entry, keys, is_continued) in [
        (IMPROVISED, [None, None], true),
        (IMPROVISED, [Some("k"), Some("k2")], true),
        ("other", [None, None], false),
    ] {
        let whole = |operation, key| {
            let mut whole = delivered(operation, (None, key), 1);
            whole.who.attempt = None;
            whole.asked.steps[0].entry = entry.to_owned();
            whole
        };
        let place = Place::new();
        let [first, then] = keys;
        killed(&place, &whole("op_1", first), (None, first));
        let answered = second(&place, &whole("op_2", then), (None, then));
        let expected = if is_continued {
            Err(Again::Replayed)
        } else {
            Ok(())
        };
        assert_eq!(answered, expected, "{entry} {keys:?}");
    }
}

/// A delivery of another task comes under the name of this one, too.
#[test]
fn a_task_that_began_under_its_name_is_continued_whatever_else_came_under_it() {
    let (t, k) = ((Some("t"), None), |task| (Some(task), Some("k")));
    let place = Place::new();
    killed(&place, &delivered("op_1", t, 1), t);
    for (operation, name) in [("op_2", k("u")), ("op_3", k("t"))] {
        run_of(&mut place.open(), &delivered(operation, name, 1));
    }
    let answered = second(&place, &delivered("op_4", t, 2), t);
    assert_eq!(answered, Err(Again::Replayed));
}

/// With a fixed seed and clock, runs of different tasks have the same operation id.
#[test]
fn a_step_of_another_content_with_the_same_operation_id_is_no_step_of_this_one() {
    let place = Place::new();
    let whole = |name, content: u64| {
        let mut whole = suppressed(delivered("op_1", (Some(name), None), 1));
        whole.asked.steps[0]
            .parameters
            .insert("content".to_owned(), content.into());
        whole
    };
    run_of(&mut place.open(), &whole("t", 1));
    let x = (Some("x"), None);
    killed(&place, &whole("x", 2), x);
    let (_dead, run) = run_of(&mut place.open(), &whole("u", 1));
    let mut second = of((Some("u"), None), step(&run, 2, suppressed(once("x"))));
    second.asked.steps[0]
        .parameters
        .insert("a".to_owned(), 2.into());
    let begun = begin(&mut place.open(), &second, &Around::default());
    assert!(matches!(begun, Ok(Reply::Run(_))), "{begun:?}");
}

/// A workflow got another step in between, or lost its first one.
#[test]
fn a_step_is_known_by_its_capability_and_not_by_its_place() {
    let place = Place::new();
    let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
    finished(&place, &step(&run, 2, repeat(once("x"))), &ended());
    drop(dead);
    let (_dead, run) = run_of(&mut place.open(), &task("op_2", 2));
    let mut moved = step(&run, 2, repeat(once("x")));
    let part = Part {
        position: 3,
        ..run.parts[1].clone()
    };
    moved.who.part = Some(&part);
    moved.who.operation_id = "op_2.3";
    assert_eq!(
        again(&place, &moved, &Around::default()),
        Err(Again::Replayed)
    );
}

/// Performs the whole task, or what is left of it, and says which of its two steps were performed in this run.
fn performed(place: &Place, whole: &Ask<'static>, name: Name, how: &Ended) -> Vec<u64> {
    let mut ledger = place.open();
    let (begun, run) = run_of(&mut ledger, whole);
    let mut calls = Vec::new();
    for position in [1, 2] {
        let step = of(name, step(&run, position, repeat(once("x"))));
        let mut of_step = place.open();
        if let Ok(Reply::Run(running)) = begin(&mut of_step, &step, &Around::default()) {
            calls.push(position);
            of_step.finish(&step, running, ended());
        }
    }
    ledger.finish(whole, begun, how.clone());
    calls
}

#[test]
fn a_delivery_performs_again_only_the_step_whose_answer_was_withdrawn() {
    for (name, withdrawn, expected) in [
        ((None, Some("k")), "op_1.1", vec![1]),
        ((Some("t"), None), "op_1.1", vec![1]),
        ((Some("t"), None), "op_1", vec![1, 2]),
    ] {
        let place = Place::new();
        let calls = performed(&place, &delivered("op_1", name, 1), name, &ended());
        assert_eq!(calls, [1, 2]);
        take_back(&place, withdrawn);
        let calls = performed(&place, &delivered("op_2", name, 1), name, &ended());
        assert_eq!(calls, expected, "{name:?} {withdrawn}");
    }
}

/// The caller does not count: a delivery whose last attempt has failed is the next attempt.
#[test]
fn the_next_attempt_after_a_failure_does_not_continue_a_task_that_has_succeeded_since() {
    let place = Place::new();
    let t = (Some("t"), None);
    let whole = |operation, request| {
        let mut whole = delivered(operation, t, 1);
        (whole.who.attempt, whole.who.request_id) = (None, Some(request));
        whole
    };
    let calls = performed(&place, &whole("op_1", "r1"), t, &failed());
    assert_eq!(calls, [1, 2]);
    let calls = performed(&place, &whole("op_2", "r2"), t, &ended());
    assert_eq!(calls, [0; 0]);
    let calls = performed(&place, &whole("op_3", "r1"), t, &ended());
    assert_eq!(calls, [1, 2]);
}

/// The file that the step reads has changed since the other task was killed.
#[test]
fn a_step_gets_no_answer_of_another_task_about_another_input() {
    for (still, is_performed) in [(Still::Same, false), (Still::Other, true)] {
        let (t, u) = ((Some("t"), None), (Some("u"), None));
        let place = Place::new();
        killed(&place, &suppressed(delivered("op_1", t, 1)), t);
        let whole = suppressed(delivered("op_2", u, 1));
        let (_dead, run) = run_of(&mut place.open(), &whole);
        let around = Around {
            still: HashMap::from([("in.mp4", still)]),
            ..Around::default()
        };
        let begun = begin(&mut place.open(), &second_of(&run, u), &around);
        let begun = match begun {
            Ok(Reply::Run(_)) => true,
            other => {
                assert_eq!(said(other), Err(Again::Suppressed));
                false
            }
        };
        assert_eq!(begun, is_performed, "{still:?}");
    }
}

#[test]
fn who_revokes_a_task_revokes_the_steps_of_its_earlier_runs() {
    let place = Place::new();
    let t = (Some("t"), None);
    let calls = performed(&place, &delivered("op_1", t, 1), t, &failed());
    assert_eq!(calls, [1, 2]);
    let calls = performed(&place, &delivered("op_2", t, 2), t, &ended());
    assert_eq!(calls, [0; 0]);
    take_back(&place, "op_2");
    let calls = performed(&place, &delivered("op_3", t, 3), t, &ended());
    assert_eq!(calls, [1, 2]);
    let rows = place.rows();
    let revoked = rows.iter().filter(|row| row.revoked_by.is_some());
    let revoked: Vec<_> = revoked.map(|row| row.operation_id.as_str()).collect();
    assert!(
        revoked.contains(&"op_1.1") && revoked.contains(&"op_1.2"),
        "{revoked:?}"
    );
}

/// The first task is killed after it has claimed its step, and before the call. The claim hides nothing that another task
/// with the same content has done since.
#[test]
fn a_claim_of_a_dead_run_does_not_hide_the_call_of_another_task() {
    let (t, u) = ((Some("t"), None), (Some("u"), None));
    for is_finished in [true, false] {
        for rule in [repeat, suppressed] {
            let whole = |operation, name| suppressed(delivered(operation, name, 1));
            let second = |run, name| of(name, rule(step(run, 2, once("x"))));
            let place = Place::new();
            let (dead, run) = run_of(&mut place.open(), &whole("op_1", t));
            let claimed = begin(&mut place.open(), &second(&run, t), &Around::default());
            assert!(matches!(claimed, Ok(Reply::Run(_))));
            drop((claimed, dead));
            let (dead, run) = run_of(&mut place.open(), &whole("op_2", u));
            if is_finished {
                finished(&place, &second(&run, u), &ended());
            } else {
                let mut owner = place.open();
                let begun = running(begin(&mut owner, &second(&run, u), &Around::default()));
                owner.dispatch(&second(&run, u), &begun, None).unwrap();
            }
            drop(dead);
            let (_dead, run) = run_of(&mut place.open(), &whole("op_3", t));
            let asked = begin(&mut place.open(), &second(&run, t), &Around::default());
            match asked {
                Err(LedgerError::Unknown { operation }) => {
                    assert!(!is_finished && operation == "op_2.2", "{operation}");
                }
                asked => {
                    assert!(is_finished, "{asked:?}");
                    assert_eq!(said(asked), Err(Again::Suppressed));
                }
            }
        }
    }
}

/// One task has performed the step with an older input. Another one may have performed it with the present input.
#[test]
fn an_answer_about_another_input_does_not_hide_a_call_of_unknown_outcome() {
    let names = ["t", "u", "w"].map(|name| (Some(name), None));
    let [t, u, w] = names;
    let whole = |operation, name| suppressed(delivered(operation, name, 1));
    let changed = Around {
        still: HashMap::from([("in.mp4", Still::Other)]),
        ..Around::default()
    };
    let place = Place::new();
    killed(&place, &whole("op_1", t), t);
    let (dead, run) = run_of(&mut place.open(), &whole("op_2", u));
    let mut owner = place.open();
    let second = second_of(&run, u);
    let begun = running(begin(&mut owner, &second, &changed));
    owner.dispatch(&second, &begun, None).unwrap();
    drop((owner, dead));
    let (_dead, run) = run_of(&mut place.open(), &whole("op_3", w));
    let refused = begin(&mut place.open(), &second_of(&run, w), &changed);
    assert!(
        matches!(&refused, Err(LedgerError::Unknown { operation }) if operation == "op_2.2"),
        "{refused:?}"
    );
}

/// A person has stated that the step happened, so its row does not name its delivery.
#[test]
fn who_revokes_a_task_revokes_a_step_that_a_person_settled() {
    let place = Place::new();
    let k = (None, Some("k"));
    let (dead, run) = run_of(&mut place.open(), &delivered("op_1", k, 1));
    let mut owner = place.open();
    let second = second_of(&run, k);
    let begun = running(begin(&mut owner, &second, &Around::default()));
    owner.dispatch(&second, &begun, None).unwrap();
    drop((owner, dead));
    let answer = |_: &_| "{}".to_owned();
    place
        .open()
        .resolve("op_1.2", Happened::Yes(&answer), None)
        .unwrap();
    let calls = performed(&place, &delivered("op_2", k, 1), k, &ended());
    assert_eq!(calls, [1]);
    take_back(&place, "op_2");
    let calls = performed(&place, &delivered("op_3", k, 1), k, &ended());
    assert_eq!(calls, [1, 2]);
}
