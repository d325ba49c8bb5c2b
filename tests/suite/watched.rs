//! Runs that heed neither their time nor a signal: they end a little later all the same, with one answer.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::Child,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, Root, feed, signal_child, until, until_signals_are_caught};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.happen]
effects = { read_only = false }
mcp = { server = "counter", tool = "happen" }
parameter_schema_for_action = { type = "object" }
result = { kind = "metadata" }
[capability.apply_file_plan.file_plan]
"#;

fn happen() -> Value {
    json!({"task_id": "t", "capability_ids": ["happen"], "attempt": 1, "parameters": {"what": "x"},
        "metadata": {"session_id": "sess-1"}})
}

fn plan() -> Value {
    let create = |name: &str| {
        json!({"action_id": name, "action_type": "FILE_CREATE", "target": format!("{name}.txt"),
            "operation": {"type": "create", "content": name}})
    };
    json!({"plan_id": "p", "protocol_validation": true, "action_plan": [create("a"), create("b")]})
}

/// A run of that task with that fault.
fn begun(root: &Root, task: &Value, faults: &str, flags: &[&str]) -> Child {
    let mut command = root.command();
    command.env("ONEACT_FAULTS", faults).args(flags);
    let mut child = command.spawn().unwrap();
    feed(&mut child, task);
    child
}

fn ended(child: Child) -> Answer {
    Answer::of(child.wait_with_output().unwrap())
}

const SOON: [&str; 2] = ["--timeout", "0.5"];

#[test]
fn a_run_that_hangs_before_anything_is_begun_ends_after_its_time_and_can_be_sent_again() {
    let root = Root::with_catalog(CATALOG);
    let answer = ended(begun(&root, &happen(), "hang@ledger:reserved", &SOON));
    assert_eq!((answer.exit, answer.fault()), (75, &json!("timeout")));
    assert_eq!(answer.at("/output/content/oneact/effect"), &json!("none"));
    assert_eq!(
        answer.at("/output/content/task_result/task_id"),
        &json!("t")
    );
    assert_eq!(root.run(&happen()).exit, 0);
}

#[test]
fn after_a_call_that_must_not_be_made_twice_nobody_says_that_it_can_be_sent_again() {
    let root = Root::with_catalog(CATALOG);
    let answer = ended(begun(
        &root,
        &happen(),
        "hang@ledger:done",
        &["--timeout", "8"],
    ));
    assert_eq!((answer.exit, answer.fault()), (1, &json!("timeout")));
    assert_eq!(
        answer.at("/output/content/oneact/effect"),
        &json!("unknown")
    );
    let again = root.run(&happen());
    assert_ne!(again.exit, 0, "{}", again.envelope);
    assert_eq!(
        fs::read_to_string(root.path.join("counted")).unwrap(),
        "x\n"
    );
}

#[test]
fn a_signal_that_is_not_heeded_ends_the_run_as_cancelled() {
    let root = Root::with_catalog(CATALOG);
    let child = begun(&root, &happen(), "hang@ledger:reserved", &[]);
    until_signals_are_caught(&child);
    until("the ledger is there", || {
        root.path.join(".oneact/ledger.db").exists().then_some(())
    });
    signal_child(&child, Signal::TERM);
    let answer = ended(child);
    assert_eq!((answer.exit, answer.state()), (143, &json!("cancelled")));
}

#[test]
fn a_replay_that_does_not_heed_a_signal_is_ended_and_the_reason_is_on_stderr() {
    let root = Root::with_catalog(&CATALOG.replace("read_only = false", "idempotent = true"));
    assert_eq!(root.run(&happen()).exit, 0);
    let mut command = root.command();
    command.args(["-v", "replay", "0", "--execute"]);
    command.env("ONEACT_FAULTS", "hang@ledger:reserved");
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = || lines.next().unwrap().unwrap();
    while !said().contains("is performed; the reason is") {}
    signal_child(&child, Signal::TERM);
    while !said().contains("did not end within 5s after SIGTERM") {}
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_plan_that_hangs_between_apply_and_done_is_stuck_and_settled_by_the_next_start() {
    let unfinished = |root: &Root| {
        let dir = root.path.join("agent_outputs/reports/.unfinished");
        dir.read_dir_utf8()
            .is_ok_and(|mut entries| entries.next().is_some())
    };
    // The call before which the first file is there and the second is not.
    let between = (1..200).find(|at| {
        let root = Root::with_catalog(CATALOG);
        let fault = format!("each-barrier,kill@{at}");
        begun(&root, &plan(), &fault, &[])
            .wait_with_output()
            .unwrap();
        root.path.join("a.txt").exists() && unfinished(&root)
    });
    let root = Root::with_catalog(CATALOG);
    let fault = format!("each-barrier,hang@{}", between.unwrap());
    let answer = ended(begun(&root, &plan(), &fault, &SOON));
    assert_eq!((answer.exit, answer.fault()), (1, &json!("stuck")));
    assert!(root.path.join("a.txt").exists() && unfinished(&root));
    let recovered = root.command().arg("recover").output().unwrap();
    assert_eq!(recovered.status.code(), Some(0));
    assert!(!root.path.join("a.txt").exists() && !unfinished(&root));
}

/// Forty levels of two parts that refer to the next are 2^40 checks.
#[test]
fn a_schema_that_means_years_of_work_is_given_up_and_the_plan_undone_r_001_81() {
    let next = |n: usize| json!({"$ref": format!("#/$defs/{}", n + 1)});
    let level = |n: usize| (n.to_string(), json!({"anyOf": [next(n), next(n)]}));
    let mut levels: serde_json::Map<String, Value> = (0..40).map(level).collect();
    levels.insert("40".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/0", "$defs": levels});
    let task = json!({"plan_id": "p", "protocol_validation": true, "action_plan": [{
        "action_id": "a", "action_type": "FILE_CREATE", "target": "a.json",
        "operation": {"type": "create", "content": "1"},
        "validation_rules": [{"type": "json_schema", "schema": schema}],
    }]});
    let root = Root::with_catalog(CATALOG);
    let answer = ended(begun(&root, &task, "", &["--timeout", "1"]));
    assert_eq!(answer.fault(), &json!("timeout"), "{}", answer.envelope);
    assert_eq!(answer.state(), &json!("rolled_back"));
    assert!(!root.path.join("a.json").exists());
}
