//! The steps of a task: each has a row, a claim and a delivery of its own.

mod once;
mod shared;
mod unfinished;

use super::*;
use crate::{
    ledger::Part,
    people::{Happened, Review},
};

/// The step at that place of a task `t`, in the run `op`.
fn step<'a>(run: &'a TaskRunOf, position: u64, ask: Ask<'a>) -> Ask<'a> {
    let at = usize::try_from(position).unwrap() - 1;
    let mut asked = ask.asked;
    asked.steps[0]
        .parameters
        .insert("position".to_owned(), position.into());
    Ask {
        who: Who {
            operation_id: &run.operations[at],
            task_id: Some("t"),
            idempotency_key: Some(&run.parts[at].key),
            part: Some(&run.parts[at]),
            ..ask.who
        },
        asked,
        ..ask
    }
}

/// The names of a run of a task with three steps.
struct TaskRunOf {
    operations: Vec<String>,
    parts: Vec<Part>,
}

fn task(operation: &'static str, attempt: u32) -> Ask<'static> {
    let whole = ask(operation);
    Ask {
        who: Who {
            task_id: Some("t"),
            attempt: Some(attempt),
            ..whole.who
        },
        on_duplicate: OnDuplicate::Repeat,
        parts: 3,
        ..whole
    }
}

/// Begins the task, and names its steps.
fn run_of(ledger: &mut Ledger<'_>, task: &Ask<'static>) -> (Running, TaskRunOf) {
    let running = running(begin(ledger, task, &Around::default()));
    let run = TaskRunOf::of(task, &running);
    (running, run)
}

impl TaskRunOf {
    /// The deliveries of its steps.
    fn keys(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.key.as_str()).collect()
    }

    fn of(task: &Ask<'static>, running: &Running) -> Self {
        let run = running.task.clone().unwrap();
        let parent = task.who.operation_id;
        let part = |nth: usize| Part {
            parent: parent.to_owned(),
            position: nth as u64 + 1,
            key: run.key("step", nth),
            equals: 0,
            capability: "step".to_owned(),
            nth,
            run: run.clone(),
        };
        Self {
            operations: (1..=3).map(|at| format!("{parent}.{at}")).collect(),
            parts: (0..3).map(part).collect(),
        }
    }
}

/// A whole task of that name in a delivery of that key.
fn delivered(
    operation: &'static str,
    (task_id, key): (Option<&'static str>, Option<&'static str>),
    attempt: u32,
) -> Ask<'static> {
    let whole = task(operation, attempt);
    Ask {
        who: Who {
            task_id,
            idempotency_key: key,
            ..whole.who
        },
        ..whole
    }
}

/// Its second step.
fn second_of<'a>(run: &'a TaskRunOf, (task_id, _): (Option<&'a str>, Option<&'a str>)) -> Ask<'a> {
    let mut second = step(run, 2, repeat(once("x")));
    second.who.task_id = task_id;
    second
}

fn finished(place: &Place, ask: &Ask<'_>, ended: &Ended) {
    done(place, ask, ended);
}

fn repeat(ask: Ask<'_>) -> Ask<'_> {
    Ask {
        on_duplicate: OnDuplicate::Repeat,
        ..ask
    }
}

#[test]
fn a_step_has_a_row_with_its_task_and_its_place() {
    let place = Place::new();
    let mut ledger = place.open();
    let whole = task("op_1", 1);
    let (running, run) = run_of(&mut ledger, &whole);
    finished(&place, &step(&run, 1, ask("x")), &ended());
    finished(&place, &step(&run, 2, ask("x")), &ended());
    ledger.finish(&whole, running, ended());
    let told: Vec<_> = place
        .rows()
        .into_iter()
        .map(|row| (row.step_index, row.operation_id, row.parent, row.position))
        .collect();
    let of = |at| (Some("op_1".to_owned()), Some(at));
    assert_eq!(
        told,
        [
            (0, "op_1.1".to_owned(), of(1).0, of(1).1),
            (1, "op_1.2".to_owned(), of(2).0, of(2).1),
            (2, "op_1".to_owned(), None, None),
        ]
    );
    // The delivery of the task is that of the task alone.
    assert_eq!(
        again(&place, &task("op_2", 1), &Around::default()),
        Err(Again::Replayed)
    );
}

#[test]
fn a_finished_step_answers_until_the_whole_task_has_succeeded() {
    let place = Place::new();
    let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
    finished(&place, &step(&run, 1, repeat(ask("x"))), &ended());
    drop(dead);
    // The next attempt goes on.
    let mut ledger = place.open();
    let whole = task("op_2", 2);
    let (running, next) = run_of(&mut ledger, &whole);
    assert_eq!(running.why, Why::New);
    assert_eq!(run.keys(), next.keys());
    let first = step(&next, 1, repeat(ask("x")));
    assert_eq!(
        again(&place, &first, &Around::default()),
        Err(Again::Replayed)
    );
    let gone = Around {
        still: HashMap::from([("out.wav", Still::Gone)]),
        ..Around::default()
    };
    assert_eq!(again(&place, &first, &gone), Ok(Why::Repeat));
    ledger.finish(&whole, running, ended());
    // The whole task is repeated, and so are its steps.
    let (running, later) = run_of(&mut place.open(), &task("op_3", 3));
    assert_eq!(running.why, Why::Repeat);
    assert_ne!(later.keys(), next.keys());
}

#[test]
fn a_failed_step_is_performed_again_and_one_of_unknown_outcome_is_not() {
    let place = Place::new();
    let (_, run) = run_of(&mut place.open(), &task("op_1", 1));
    finished(&place, &step(&run, 1, ask("x")), &failed());
    let mut owner = place.open();
    let second = step(&run, 2, once("x"));
    let begun = running(begin(&mut owner, &second, &Around::default()));
    owner.dispatch(&second, &begun, None).unwrap();
    drop(owner);
    let (_, next) = run_of(&mut place.open(), &task("op_2", 2));
    assert_eq!(
        again(&place, &step(&next, 1, ask("x")), &Around::default()),
        Ok(Why::New)
    );
    let second = step(&next, 2, once("x"));
    let refused = begin(&mut place.open(), &second, &Around::default());
    assert!(
        matches!(&refused, Err(LedgerError::Unknown { operation }) if operation == "op_1.2"),
        "{refused:?}"
    );
    let answer = |_: &_| "{}".to_owned();
    let happened = Happened::Yes(&answer);
    place.open().resolve("op_1.2", happened, None).unwrap();
    assert_eq!(
        again(&place, &second, &Around::default()),
        Err(Again::Suppressed)
    );
}

/// An answer that may be reused for a limited time has no age within its task.
#[test]
fn the_answer_of_a_step_does_not_expire_before_its_task_has_succeeded() {
    let place = Place::new();
    let brief = |ask| Ask {
        on_duplicate: reuse(Some(Duration::ZERO), Ground::Declared),
        ..ask
    };
    let (dead, run) = run_of(&mut place.open(), &task("op_1", 1));
    let first = brief(step(&run, 1, ask("x")));
    finished(&place, &first, &ended());
    drop(dead);
    let (_, next) = run_of(&mut place.open(), &task("op_2", 2));
    let first = brief(step(&next, 1, ask("x")));
    assert_eq!(
        again(&place, &first, &Around::default()),
        Err(Again::Replayed)
    );
    let alone = Ask {
        asked: first.asked.clone(),
        ..brief(ask("op_3"))
    };
    assert_eq!(
        again(&place, &alone, &Around::default()),
        Ok(Why::Miss(Miss::Expired))
    );
}

#[test]
fn a_single_capability_reuses_the_answer_of_a_step() {
    let place = Place::new();
    let (_, run) = run_of(&mut place.open(), &task("op_1", 1));
    let first = step(&run, 1, ask("x"));
    finished(&place, &first, &ended());
    let alone = Ask {
        asked: first.asked.clone(),
        ..ask("op_2")
    };
    assert_eq!(
        again(&place, &alone, &Around::default()),
        Err(Again::Reused)
    );
}

#[test]
fn the_answer_of_a_task_falls_with_that_of_a_step() {
    for reject in [false, true] {
        let place = Place::new();
        let whole = Ask {
            on_duplicate: reuse(None, Ground::Content),
            ..task("op_1", 1)
        };
        let mut ledger = place.open();
        let (running, run) = run_of(&mut ledger, &whole);
        finished(&place, &step(&run, 1, ask("x")), &ended());
        ledger.finish(&whole, running, ended());
        let other = |operation| Ask {
            who: Who {
                operation_id: operation,
                task_id: Some(operation),
                ..whole.who
            },
            ..whole.clone()
        };
        assert_eq!(
            again(&place, &other("op_2"), &Around::default()),
            Err(Again::Reused)
        );
        let name = Name {
            text: "op_1.1",
            session: None,
            alone: Alone::Refused,
        };
        if reject {
            place.open().review(name, Review::Reject, None).unwrap();
        } else {
            let revoked = place.open().revoke(name, Dependants::Listed, None).unwrap();
            let left: Vec<_> = revoked
                .left
                .iter()
                .map(|row| row.operation_id.as_str())
                .collect();
            assert_eq!(left, ["op_1"]);
        }
        assert_eq!(
            again(&place, &other("op_3"), &Around::default()),
            Ok(Why::Miss(Miss::Revoked))
        );
    }
}

#[test]
fn who_revokes_a_task_revokes_its_steps() {
    let place = Place::new();
    let mut ledger = place.open();
    let whole = task("op_1", 1);
    let (running, run) = run_of(&mut ledger, &whole);
    let first = step(&run, 1, ask("x"));
    finished(&place, &first, &ended());
    ledger.finish(&whole, running, ended());
    take_back(&place, "op_1");
    let alone = Ask {
        asked: first.asked.clone(),
        ..ask("op_2")
    };
    assert_eq!(
        again(&place, &alone, &Around::default()),
        Ok(Why::Miss(Miss::Revoked))
    );
}
