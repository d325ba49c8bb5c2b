//! Approvals that are not used: of a call that may have happened, after a denial, and under another clock.

use super::*;

fn slow(id: &str) -> Value {
    json!({"task_id": id, "capability_ids": ["send"], "parameters": {"what": "mail", "seconds": 30}})
}

fn under_clock(root: &Root, task: &Value, clock: &str) -> Answer {
    let mut command = root.command();
    command.args(["--clock", clock]);
    run(command, task.to_string().as_bytes())
}

/// The next run of a task without a session joins the session of a call that may have happened, so nothing is asked or
/// performed again before a person has checked.
#[test]
fn a_killed_call_without_a_session_is_neither_performed_nor_requested_again() {
    let root = waiting_root();
    let id = asks(&root.run(&slow("t")));
    approve(&root, &id);
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &slow("u"));
    until("the call has happened", || {
        (happened(&root) == 1).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    for again in ["v", "w"] {
        let answer = root.run(&slow(again));
        assert_eq!(answer.fault(), "outcome_unknown", "{}", answer.envelope);
    }
    assert_eq!(happened(&root), 1);
}

#[test]
fn no_approval_is_used_under_another_clock() {
    let root = waiting_root();
    let task = json!({"task_id": "t", "capability_ids": ["send"], "parameters": {"what": "mail"}});
    let id = asks(&root.run(&task));
    approve(&root, &id);
    let answer = under_clock(&root, &task, "2026-02-24T10:00:00+00:00[UTC]");
    assert_eq!(answer.fault(), "approval_mismatch", "{}", answer.envelope);
    let (exit, ..) = oneact(
        &root,
        &[
            "run",
            "--approved",
            &id,
            "--clock",
            "2026-02-24T10:00:00+00:00[UTC]",
        ],
    );
    assert_eq!((exit, happened(&root)), (2, 0));
    assert_eq!(root.run(&task).state(), "done");
}

#[test]
fn a_request_of_a_time_to_come_cannot_be_approved() {
    let root = waiting_root();
    let task = json!({"task_id": "t", "capability_ids": ["send"], "parameters": {"what": "mail"}});
    let id = asks(&under_clock(&root, &task, "2096-02-24T10:00:00+00:00[UTC]"));
    let (exit, said) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert!(exit == 2 && said.contains("still to come"), "{said}");
}
