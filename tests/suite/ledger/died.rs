//! Whoever dies in the middle: a fact per point of the crash table.

use super::*;
use crate::tracer::{
    is_refused,
    moments::{Moment, killed},
};

/// A run that dies at a point of the crash table, and what the next identical request comes to.
fn killed_at(moment: Moment, capability: &str) -> (Root, Answer) {
    let root = Root::with_catalog(CATALOG);
    let ask = request(capability, "t1", &json!({"what": "a"}));
    killed(&root, &ask, moment.of_the_task());
    let next = root.run(&ask);
    (root, next)
}

#[test]
fn whoever_died_before_it_could_happen_is_taken_over() {
    if is_refused() {
        return;
    }
    for capability in ["look", "again", "once"] {
        let (root, next) = killed_at(Moment::Reserved, capability);
        assert_eq!(
            (state(&next), why(&next)),
            ("done", "taken_over"),
            "{capability}"
        );
        assert_eq!(happened(&root), ["a"]);
        whole(&root);
    }
}

#[test]
fn what_may_be_repeated_is_repeated_when_whoever_did_it_died() {
    if is_refused() {
        return;
    }
    for moment in [Moment::Dispatched, Moment::Done] {
        for capability in ["look", "again"] {
            let (root, next) = killed_at(moment, capability);
            assert_eq!(
                (state(&next), why(&next)),
                ("done", "taken_over"),
                "{moment:?} {capability}"
            );
            whole(&root);
        }
    }
}

#[test]
fn what_must_not_happen_twice_is_nobodys_to_repeat_when_whoever_did_it_died() {
    if is_refused() {
        return;
    }
    for (moment, times) in [(Moment::Dispatched, 0), (Moment::Done, 1)] {
        let (root, next) = killed_at(moment, "once");
        assert_eq!(
            (next.exit, fault(&next)),
            (1, "outcome_unknown"),
            "{moment:?}"
        );
        assert_eq!(next.at("/error/recoverable"), &json!(false));
        let again = root.run(&request("once", "t2", &json!({"what": "a"})));
        assert_eq!(fault(&again), "outcome_unknown");
        assert_eq!(happened(&root).len(), times, "{moment:?}");
        whole(&root);
    }
}

#[test]
fn an_answer_that_was_recorded_and_never_printed_is_given_again() {
    if is_refused() {
        return;
    }
    for capability in ["look", "again", "once"] {
        let (root, next) = killed_at(Moment::Recorded, capability);
        assert_eq!((state(&next), next.exit), ("replayed", 0), "{capability}");
        assert_eq!(happened(&root), ["a"]);
    }
}

#[test]
fn a_server_that_dies_with_a_once_only_call_leaves_it_unknown() {
    let root = Root::with_catalog(CATALOG);
    let ask = request("once", "t1", &json!({"what": "a", "seconds": 60}));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &ask);
    until("it has happened", || happened(&root).first().cloned());
    child.kill().unwrap();
    child.wait().unwrap();
    let next = root.run(&ask);
    assert_eq!(
        (next.exit, fault(&next)),
        (1, "outcome_unknown"),
        "{}",
        next.envelope
    );
    assert_eq!(happened(&root), ["a"]);
}

/// The first step leaves a head that no run can read. The second step is then refused.
#[test]
fn a_task_goes_on_after_the_ledger_has_refused_one_of_its_steps() {
    let spoils = "test -e spoilt || echo nonsense > .oneact/ledger.head; touch spoilt; exec python3 servers/counter.py counted";
    let catalog = CATALOG.replace(
        "[capability.again]",
        &format!("[server.spoiler]\ncommand = ['sh', '-c', '{spoils}']\n[capability.again]"),
    );
    let catalog = catalog.replacen(
        "idempotent = true, open_world = false }\nmcp = { server = \"counter\"",
        "idempotent = true, open_world = false }\nmcp = { server = \"spoiler\"",
        1,
    );
    let root = Root::with_catalog(&catalog);
    let ask = json!({
        "metadata": {"session_id": "s", "request_id": "r", "idempotency_key": "k"},
        "dispatch": {
            "task_id": "t", "attempt": 1, "capability_ids": ["again", "once"],
            "parameters": {"again": {"what": "a"}, "once": {"what": "b"}},
        },
    });
    let first = root.run(&ask);
    assert_eq!(fault(&first), "ledger_unavailable", "{}", first.envelope);
    assert_eq!(happened(&root), ["a"]);
    fs::remove_file(root.path.join(".oneact/ledger.head")).unwrap();
    let next = root.run(&ask);
    assert_eq!(state(&next), "done", "{}", next.envelope);
    assert_eq!(happened(&root), ["a", "b"]);
    whole(&root);
}
