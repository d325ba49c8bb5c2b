//! Runs that heed neither their time nor a signal: they end a little later all the same, with one answer.

use std::{
    fs,
    io::{BufRead as _, BufReader},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, Root, run};
use crate::tracer::{
    Act, Traced, first, is_refused,
    moments::{self, Moment},
};

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

/// A run of that task that hangs at that point.
fn hanging(root: &Root, task: &Value, moment: Moment, flags: &[&str]) -> Traced {
    let mut command = root.command();
    command.args(flags);
    let hang = moments::at(root, moment.of_the_task(), None, Act::Hang);
    let mut run = Traced::start(&command, &root.path, hang);
    run.feed(task);
    run
}

fn ended(run: Traced) -> Answer {
    Answer::of(run.end().output)
}

const SOON: [&str; 2] = ["--timeout", "0.5"];

#[test]
fn a_run_that_hangs_before_anything_is_begun_ends_after_its_time_and_can_be_sent_again() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    let answer = ended(hanging(&root, &happen(), Moment::Reserved, &SOON));
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
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    let answer = ended(hanging(&root, &happen(), Moment::Done, &["--timeout", "8"]));
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
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    let run = hanging(&root, &happen(), Moment::Reserved, &[]);
    run.until_met();
    run.signal(Signal::TERM);
    let answer = ended(run);
    assert_eq!((answer.exit, answer.state()), (143, &json!("cancelled")));
}

#[test]
fn a_replay_that_does_not_heed_a_signal_is_ended_and_the_reason_is_on_stderr() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(&CATALOG.replace("read_only = false", "idempotent = true"));
    assert_eq!(root.run(&happen()).exit, 0);
    let mut command = root.command();
    command.args(["-v", "replay", "0", "--execute"]);
    // Its own session is named by no task, and the claim is the newest.
    let hang = moments::at(&root, Moment::Reserved.of_the_task(), None, Act::Hang);
    let mut run = Traced::start(&command, &root.path, hang);
    run.until_met();
    run.signal(Signal::TERM);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let mut said = || lines.next().unwrap().unwrap();
    while !said().contains("did not end within 5s after SIGTERM") {}
    assert_eq!(run.end().output.status.code(), Some(143));
}

#[test]
fn a_plan_that_hangs_between_apply_and_done_is_stuck_and_settled_by_the_next_start() {
    if is_refused() {
        return;
    }
    let unfinished = |root: &Root| {
        let dir = root.path.join("agent_outputs/reports/.unfinished");
        dir.read_dir_utf8()
            .is_ok_and(|mut entries| entries.next().is_some())
    };
    let root = Root::with_catalog(CATALOG);
    let made = root.path.join("a.txt");
    let hang = first(move |call| call.changes() && made.exists(), Act::Hang);
    let mut command = root.command();
    command.args(["--timeout", "2"]);
    let mut hanging = Traced::start(&command, &root.path, hang);
    hanging.feed(&plan());
    let answer = ended(hanging);
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
    let mut command = root.command();
    command.args(["--timeout", "1"]);
    let answer = run(command, task.to_string().as_bytes());
    assert_eq!(answer.fault(), &json!("timeout"), "{}", answer.envelope);
    assert_eq!(answer.state(), &json!("rolled_back"));
    assert!(!root.path.join("a.json").exists());
}
