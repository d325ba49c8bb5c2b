//! File plans in the ledger: done once, and known by their journal when their run died.

use super::*;

#[test]
fn a_plan_is_done_once_and_again_after_it_was_undone() {
    let root = Root::with_catalog(CATALOG);
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let plan = |task: &str| {
        json!({
            "task_plan": {"plan_id": "p", "action_plan": [{
                "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
            }]},
            "protocol_validation": true, "task_id": task, "metadata": {"session_id": "s", "request_id": task},
        })
    };
    let text = || fs::read_to_string(root.path.join("a.txt")).unwrap();
    let first = root.run(&plan("t1"));
    assert_eq!(
        (state(&first), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        first.envelope
    );
    assert_eq!(state(&root.run(&plan("t2"))), "suppressed");
    assert_eq!(state(&root.run(&plan("t1"))), "replayed");
    assert_eq!(text(), "zero\none\n");
    let reports = first
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap()
        .to_owned();
    let undone = root
        .command()
        .args(["rollback", &reports])
        .output()
        .unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(text(), "one\n");
    let again = root.run(&plan("t1"));
    assert_eq!(
        (state(&again), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        again.envelope
    );
}

#[test]
fn the_journal_of_a_plan_tells_what_became_of_it_when_its_run_died() {
    // Before it was begun nothing is left of it; after it was made, its answer is.
    for (point, wanted) in [("dispatched", Value::Null), ("done", json!("taken_over"))] {
        let root = Root::with_catalog(CATALOG);
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
        let plan = json!({
            "task_plan": {"plan_id": "p", "action_plan": [{
                "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
            }]},
            "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
        });
        let mut command = root.command();
        command.env("ONEACT_FAULTS", format!("ledger:{point}"));
        let mut child = command.spawn().unwrap();
        feed(&mut child, &plan);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let next = root.run(&plan);
        let why = next.envelope.pointer("/output/content/oneact/reuse/why");
        assert_eq!(
            (state(&next), why.unwrap_or(&Value::Null)),
            ("done", &wanted),
            "{point}: {}",
            next.envelope
        );
        let text = fs::read_to_string(root.path.join("a.txt")).unwrap();
        assert_eq!(text, "zero\none\n", "{point}");
        assert_eq!(state(&root.run(&plan)), "replayed");
    }
}

#[test]
fn the_journals_of_another_root_say_nothing_of_a_plan_that_died_in_this_one() {
    let (here, there) = (Root::with_catalog(CATALOG), Root::with_catalog(CATALOG));
    let ledger = format!("sqlite:{}", here.path.join("shared.db"));
    let plan = json!({
        "task_plan": {"plan_id": "p", "action_plan": [{
            "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
        }]},
        "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
    });
    let command = |root: &Root| {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", &ledger);
        command
    };
    for root in [&here, &there] {
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
    }
    let mut died = command(&here);
    died.env("ONEACT_FAULTS", "ledger:done");
    let mut child = died.spawn().unwrap();
    feed(&mut child, &plan);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let elsewhere = run(command(&there), plan.to_string().as_bytes());
    assert_eq!(
        fault(&elsewhere),
        "outcome_unknown",
        "{}",
        elsewhere.envelope
    );
    let text = |root: &Root| fs::read_to_string(root.path.join("a.txt")).unwrap();
    assert_eq!(text(&there), "one\n");
    // Where it happened it is known.
    let next = run(command(&here), plan.to_string().as_bytes());
    assert_eq!((state(&next), why(&next)), ("done", "taken_over"));
    assert_eq!(text(&here), "zero\none\n");
}
