//! `sessions`, `history` over all sessions, and `report`: what was done is found without knowing its session.

use std::fs;

use serde_json::{Value, json};

use crate::{
    looking::Seen,
    program::{Root, run},
};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.count]
effects = { idempotent = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
[capability.read]
effects = { read_only = true }
mcp = { server = "counter", tool = "happen" }
[capability.fails]
effects = { idempotent = true, open_world = false }
mcp = { server = "counter", tool = "gone" }
[capability.waits]
effects = { destructive = false }
mcp = { server = "counter", tool = "happen" }
approval = { when = "always" }
"#;

fn task(session: Option<&str>, id: &str, capabilities: &[&str]) -> Value {
    let parameters = match capabilities {
        [_] => json!({"what": id}),
        several => several
            .iter()
            .map(|capability| ((*capability).to_owned(), json!({"what": id})))
            .collect(),
    };
    let metadata = session.map_or(json!({}), |session| json!({"session_id": session}));
    json!({
        "metadata": metadata,
        "dispatch": {"task_id": id, "attempt": 1, "capability_ids": capabilities, "parameters": parameters},
    })
}

/// A session with a success, a failure and a task that waits; two tasks without a session; a task of two steps.
fn root() -> Root {
    let root = Root::with_catalog(CATALOG);
    let on = |day: u32, task: &Value| {
        let clock = format!("2026-02-{day:02}T10:00:00+00:00[UTC]");
        let mut command = root.command();
        command.args(["run", "--clock", &clock, "--seed", &day.to_string()]);
        run(command, task.to_string().as_bytes());
    };
    on(10, &task(Some("first"), "a", &["count"]));
    on(11, &task(Some("first"), "b", &["fails"]));
    on(12, &task(Some("first"), "c", &["waits"]));
    on(13, &task(None, "d", &["count"]));
    on(14, &task(None, "e", &["fails"]));
    on(15, &task(Some("steps"), "f", &["count", "read"]));
    root
}

fn tasks(seen: &Seen) -> Vec<String> {
    let steps = seen.json()["steps"].as_array().unwrap().clone();
    let tasks = steps
        .iter()
        .map(|step| step["task_id"].as_str().unwrap_or("–").to_owned());
    tasks.collect()
}

#[test]
fn the_session_that_was_used_last_comes_first() {
    let root = root();
    let schema = root.look(&["schema", "ledger"]).json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let sessions = root.look(&["sessions", "--json"]).json();
    assert!(schema.is_valid(&sessions), "{sessions}");
    let all = sessions["sessions"].as_array().unwrap();
    let numbers =
        |session: &Value| ["steps", "failed", "waiting"].map(|key| session[key].as_u64().unwrap());
    assert_eq!(
        (all.len(), &all[0]["session_id"], numbers(&all[0])),
        (4, &json!("steps"), [3, 0, 0])
    );
    let first = &all[3];
    assert_eq!(
        (&first["session_id"], numbers(first)),
        (&json!("first"), [3, 1, 1])
    );
    assert_eq!(first["first_at"], "2026-02-10T10:00:00.000Z");
    assert_eq!(first["last_at"], "2026-02-12T10:00:00.000Z");
    assert_eq!(first["last_failure"]["action_type"], "fails");
    let told = root.look(&["sessions", "--utc"]).out;
    let line = told.split("first").nth(1).unwrap();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        line.starts_with("2026-02-10 10:00 to 2026-02-12 10:00 · 3 steps · 1 failed · 1 waiting · last failure: fails"),
        "{told}"
    );
    assert_eq!(
        root.look(&["sessions", "--limit", "1"])
            .out
            .matches(" · ")
            .count(),
        1
    );
    assert!(
        told.lines().all(|line| line.chars().count() <= 80),
        "{told}"
    );
}

#[test]
fn without_a_session_the_history_is_that_of_all_by_time() {
    let root = root();
    let schema = root.look(&["schema", "ledger"]).json();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let seen = root.look(&["history", "--json"]);
    assert!(schema.is_valid(&seen.json()), "{}", seen.out);
    let all = tasks(&seen);
    assert_eq!(
        all.iter().filter(|task| *task != "f").collect::<Vec<_>>(),
        ["a", "b", "c", "d", "e"]
    );
    let of = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["history", "--json"]
            .into_iter()
            .chain(arguments.iter().copied())
            .collect();
        tasks(&root.look(&arguments))
    };
    assert_eq!(of(&["--failed"]), ["b", "e"]);
    assert_eq!(of(&["--since", "2026-02-14"])[0], "e");
    assert_eq!(of(&["--since", "2026-02-14T10:00:00Z", "--failed"]), ["e"]);
    assert_eq!(of(&["--capability", "waits"]), ["c"]);
    assert!(of(&["--capability", "read"]).contains(&"f".to_owned()));
    assert_eq!(of(&["--grep", "\"d\""]), ["d"]);
    assert_eq!(of(&["--session", "first", "--failed"]), ["b"]);
    assert_eq!(of(&["--limit", "1"]).len(), 1);
    assert_eq!(of(&["--since", "1h"]), [] as [&str; 0]);
    let bad = root.look(&["history", "--since", "soon"]);
    assert!(
        bad.exit == 2 && bad.err.contains("give a duration (90m, 2h, 7d) or a date"),
        "{}",
        bad.err
    );
    let none = root.look(&["history", "--capability", "none"]);
    assert_eq!(
        none.out,
        "all sessions · no steps yet\nno step is as the flags say\n"
    );
}

#[test]
fn a_task_and_the_beginning_of_its_id_name_its_answer() {
    let root = root();
    // The ids of the steps begin with the id of their task.
    let listed = root.look(&["history", "--json"]).json();
    let of_task = |step: &&Value| step["task_id"] == "f" && step["parent"].is_null();
    let operation = listed["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(of_task)
        .unwrap()["operation_id"]
        .clone();
    let beginning = &operation.as_str().unwrap()[..20];
    for name in [beginning, "f"] {
        let shown = root.look(&["show", name]);
        assert!(
            shown.out.starts_with(operation.as_str().unwrap()),
            "{name}: {}{}",
            shown.out,
            shown.err
        );
    }
    let why = root.look(&["history", "--why", "b"]).out;
    assert!(why.starts_with("b fails (#1)"), "{why}");
}

#[test]
fn a_step_that_waits_is_told_as_waiting() {
    let root = root();
    let history = root.look(&["history", "--capability", "waits"]).out;
    assert!(
        history.contains("pending") && history.contains("waits for an"),
        "{history}"
    );
    assert!(!history.contains("recoverable"), "{history}");
    let shown = root.look(&["show", "c"]).out;
    assert!(
        shown.contains("waits    waits for an approval") && !shown.contains("failed"),
        "{shown}"
    );
    let why = root.look(&["history", "--why", "c"]).out;
    assert!(why.contains("waits, and was not performed"), "{why}");
    root.run(&task(Some("first"), "c", &["waits"]));
    let why = root
        .look(&["history", "--session", "first", "--why", "3"])
        .out;
    assert!(!why.contains("had failed"), "{why}");
}

#[test]
fn the_list_tells_the_repetition_that_a_run_does() {
    let root = root();
    let entry = |id: &str| {
        let listed = root.look(&["catalog", "show", id, "--json"]).json();
        listed[0]["on_duplicate"].as_str().unwrap().to_owned()
    };
    // It binds no asset, so nothing shows whether an old answer is still valid.
    assert_eq!(entry("read"), "repeat");
    assert_eq!(entry("waits"), "suppress");
    let session = |id| task(Some("again"), id, &["read"]);
    let (mut first, mut second) = (session("1"), session("2"));
    for task in [&mut first, &mut second] {
        task["dispatch"]["parameters"] = json!({"what": "same"});
    }
    root.run(&first);
    assert_eq!(root.run(&second).state(), "done");
}

#[test]
fn a_report_is_found_by_the_id_of_its_plan() {
    let root = Root::with_catalog("catalog = 1\n");
    let plan = json!({
        "plan_id": "plan_42", "task_id": "task_7", "protocol_validation": true,
        "action_plan": [{
            "action_id": "a1", "action_type": "FILE_CREATE", "target": "new.txt",
            "operation": {"type": "create", "content": "x\n"},
        }],
    });
    let mut task = plan.clone();
    task["metadata"] = json!({"session_id": "s"});
    let answer = root.run(&task);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let report = root.look(&["report", "plan_42"]);
    assert_eq!(
        (report.exit, &report.json()["plan_id"]),
        (0, &json!("plan_42")),
        "{}",
        report.err
    );
    let (exit, shown) = crate::approvals::at_a_terminal(&root, "", &["report", "plan_42"]);
    assert_eq!(exit, 0, "{shown}");
    for told in [
        "plan plan_42 of task_7: SUCCESS",
        "done     a1: ",
        " oneact rollback agent_outputs/reports/",
    ] {
        assert!(shown.contains(told), "{shown}");
    }
    let directory = answer
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(root.look(&["report", &directory]).out, report.out);
    let shown = root.look(&["show", "plan_42"]);
    assert_eq!(shown.exit, 0, "{}", shown.err);
    let missing = root.look(&["report", "plan_43"]);
    assert!(
        missing.exit == 1 && missing.err.contains("no plan with plan_id `plan_43`"),
        "{}",
        missing.err
    );
    let undone = root.look(&["rollback", "plan_42"]);
    assert_eq!(undone.exit, 0, "{}{}", undone.out, undone.err);
    assert!(!root.path.join("new.txt").exists());
}

/// A plan that was sent again by mistake was refused; its id still means the run that changed something.
#[test]
fn the_id_of_a_plan_means_the_newest_run_that_can_be_undone() {
    let root = Root::new();
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let plan = json!({"plan_id": "plan_43", "protocol_validation": true, "action_plan": [
        {"action_id": "a1", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "text_replace", "pattern": "one", "replacement": "two"}}]});
    assert_eq!(root.run(&plan).exit, 0);
    assert_eq!(root.run(&plan).fault(), "pattern_not_found");
    let undone = root.look(&["rollback", "plan_43"]);
    assert!(
        undone.out.contains("Undone."),
        "{}{}",
        undone.out,
        undone.err
    );
    assert_eq!(
        fs::read_to_string(root.path.join("a.txt")).unwrap(),
        "one\n"
    );
}
