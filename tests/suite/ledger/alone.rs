//! Tasks that name no session: each has one of its own.

use std::{thread, time::Duration};

use rusqlite::TransactionBehavior;

use super::*;
use crate::tracer::{
    is_refused,
    moments::{Moment, killed},
};

fn alone(capability: &str, task: &str) -> Value {
    json!({"task_id": task, "capability_ids": [capability], "parameters": {"what": task}})
}

#[test]
fn each_is_done_and_recorded_in_a_session_of_its_own() {
    let root = Root::with_catalog(CATALOG);
    thread::scope(|scope| {
        for process in 0..16 {
            let root = &root;
            scope.spawn(move || {
                for capability in ["look", "again", "once"] {
                    let answer = root.run(&alone(capability, &format!("{process}-{capability}")));
                    assert_eq!((answer.exit, state(&answer)), (0, "done"));
                    let seq = answer.at("/output/content/oneact/ledger/seq");
                    assert!(seq.is_u64(), "{}", answer.envelope);
                }
            });
        }
    });
    assert_eq!(happened(&root).len(), 48);
    let steps = whole(&root);
    assert_eq!(steps.len(), 48);
    assert!(steps.values().all(|rows| *rows == 1), "{steps:?}");
}

#[test]
fn nothing_happens_before_its_claim_is_recorded() {
    if is_refused() {
        return;
    }
    for (moment, times) in [
        (Moment::Reserved, 0),
        (Moment::Dispatched, 0),
        (Moment::Done, 1),
    ] {
        for capability in ["look", "again", "once"] {
            let root = Root::with_catalog(CATALOG);
            killed(&root, &alone(capability, "t"), moment.of_the_task());
            assert_eq!(happened(&root).len(), times, "{moment:?} {capability}");
            whole(&root);
        }
    }
}

#[test]
fn a_call_waits_for_a_record_that_somebody_else_writes_to() {
    let root = Root::with_catalog(CATALOG);
    root.run(&alone("look", "first"));
    let mut ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let held = ledger
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    thread::scope(|scope| {
        let second = scope.spawn(|| root.run(&alone("once", "second")));
        // Time enough for a server to be called.
        thread::sleep(Duration::from_millis(700));
        assert_eq!(happened(&root), ["first"]);
        held.rollback().unwrap();
        assert_eq!(state(&second.join().unwrap()), "done");
    });
    assert_eq!(happened(&root), ["first", "second"]);
    whole(&root);
}

#[test]
fn what_could_not_be_called_is_recorded_too() {
    let root = Root::with_catalog(&CATALOG.replace("servers/counter.py", "servers/none.py"));
    let answer = root.run(&alone("once", "t"));
    assert_eq!((answer.exit, fault(&answer)), (1, "server_not_found"));
    assert_eq!(whole(&root).len(), 1);
}
