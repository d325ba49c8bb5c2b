//! Results that a person reviews after the call (R-003-32, R-003-33), as a dispatcher and a person see them.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Answer, Root, run};

/// The same tool under every rule. It counts its calls in `counted`.
const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.open]
effects = { idempotent = true, open_world = false }
on_duplicate = { mode = "reuse" }
requires_post_review = true
mcp = { server = "counter", tool = "happen" }
result = { kind = "analysis", asset_type = "note" }
[capability.blocks]
effects = { idempotent = true, open_world = false }
on_duplicate = { mode = "reuse" }
requires_post_review = true
review = { blocks = true, timeout = "1h" }
mcp = { server = "counter", tool = "happen" }
result = { kind = "analysis", asset_type = "note" }
[capability.once]
effects = { idempotent = false, destructive = false }
requires_post_review = true
review = { blocks = true }
mcp = { server = "counter", tool = "happen" }
[capability.plain]
effects = { idempotent = true, open_world = false }
on_duplicate = { mode = "reuse" }
mcp = { server = "counter", tool = "happen" }
[capability.apply_file_plan]
requires_post_review = true
review = { blocks = true }
file_plan = {}
"#;

fn request(capabilities: &[&str], task: &str, what: &str) -> Value {
    let parameters: Value = match capabilities {
        [_] => json!({"what": what}),
        several => several
            .iter()
            .map(|id| ((*id).to_owned(), json!({"what": what})))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    };
    let makes = |id: &&str| matches!(*id, "open" | "blocks");
    let expected = if capabilities.iter().any(makes) {
        vec!["derived_1"]
    } else {
        Vec::new()
    };
    json!({
        "metadata": {"session_id": "s", "request_id": task},
        "dispatch": {
            "task_id": task, "attempt": 1, "capability_ids": capabilities, "parameters": parameters,
            "output_refs_expected": expected,
        },
    })
}

fn ask(root: &Root, capability: &str, task: &str) -> Answer {
    root.run(&request(&[capability], task, "a"))
}

fn calls(root: &Root) -> usize {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().count()
}

fn oneact(root: &Root, args: &[&str]) -> String {
    let output = root.command().args(args).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn review(root: &Root, answer: &Answer, verdict: &str) -> String {
    let operation = answer.at("/output/content/oneact/review/how");
    let operation = operation.as_str().unwrap().split(' ').nth(2).unwrap();
    oneact(root, &["review", operation, verdict, "-m", "seen"])
}

fn state_of(answer: &Answer) -> [&Value; 2] {
    [
        answer.state(),
        answer.at("/output/content/oneact/review/state"),
    ]
}

fn result(answer: &Answer) -> [&Value; 2] {
    let refs = answer.at("/output/content/task_result/output_refs_produced");
    [answer.result_data(), refs]
}

#[test]
fn an_open_review_that_does_not_block_is_said_with_each_answer() {
    let root = Root::with_catalog(CATALOG);
    let first = ask(&root, "open", "t1");
    assert_eq!(
        (first.exit, state_of(&first)),
        (0, [&json!("done"), &json!("open")])
    );
    assert_eq!(first.at("/output/content/oneact/fsm"), "AWAITING_REVIEW");
    for (task, state) in [("t1", "replayed"), ("t2", "reused")] {
        let again = ask(&root, "open", task);
        assert_eq!(
            (again.exit, state_of(&again)),
            (0, [&json!(state), &json!("open")])
        );
        let notes = again.at("/audit/compliance_notes").as_str().unwrap();
        assert!(
            notes.contains("No person has reviewed the result yet"),
            "{notes}"
        );
        assert_eq!(result(&again), result(&first));
    }
    review(&root, &first, "--accept");
    let accepted = ask(&root, "open", "t3");
    assert_eq!(state_of(&accepted), [&json!("reused"), &json!("accepted")]);
    assert_eq!(accepted.at("/output/content/oneact/fsm"), "DONE");
    assert_eq!(calls(&root), 1);
    assert!(review(&root, &first, "--reject").contains("was rejected"));
    let anew = ask(&root, "open", "t4");
    assert_eq!(anew.at("/output/content/oneact/reuse/why"), "revoked");
    assert_eq!(
        (state_of(&anew), calls(&root)),
        ([&json!("done"), &json!("open")], 2)
    );
}

#[test]
fn a_blocking_review_withholds_the_result_until_a_person_accepts_it() {
    for (capability, repeated) in [("blocks", "reused"), ("once", "suppressed")] {
        let root = Root::with_catalog(CATALOG);
        let first = ask(&root, capability, "t1");
        for answer in [
            &first,
            &ask(&root, capability, "t1"),
            &ask(&root, capability, "t2"),
        ] {
            assert_eq!((answer.exit, answer.fault()), (3, &json!("review_open")));
            assert_eq!(state_of(answer), [&json!("pending"), &json!("open")]);
            assert_eq!(answer.at("/status/code"), "pending");
            assert_eq!(answer.at("/error/error_code"), "DEPENDENCY_ERROR");
            assert_eq!(answer.at("/error/recoverable"), true);
            assert_eq!(answer.at("/output/content/task_result/status"), "failed");
            assert_eq!(result(answer), [&Value::Null, &json!([])]);
        }
        let steps: Value = serde_json::from_str(&oneact(&root, &["history", "--json"])).unwrap();
        assert_eq!(steps["steps"].as_array().unwrap().len(), 1);
        assert_eq!(steps["steps"][0]["outcome"], "success");
        if capability == "blocks" {
            // What was made is there, and the ledger names it.
            let made = steps["steps"][0]["made"][0]["storage_uri"]
                .as_str()
                .unwrap();
            assert!(
                fs::exists(made.trim_start_matches("file://")).unwrap(),
                "{made}"
            );
        }
        review(&root, &first, "--accept");
        for (task, state) in [("t1", "replayed"), ("t3", repeated)] {
            let given = ask(&root, capability, task);
            assert_eq!(
                (given.exit, state_of(&given)),
                (0, [&json!(state), &json!("accepted")])
            );
            assert_eq!(given.result_data()["happened"], "a");
        }
        assert_eq!(calls(&root), 1);
        review(&root, &first, "--reject");
        let anew = ask(&root, capability, "t4");
        assert_eq!(
            (anew.exit, state_of(&anew)),
            (3, [&json!("pending"), &json!("open")])
        );
        assert_eq!(calls(&root), 2);
    }
}

#[test]
fn the_strictest_entry_of_a_task_decides() {
    let root = Root::with_catalog(CATALOG);
    let both = root.run(&request(&["plain", "blocks"], "t1", "a"));
    assert_eq!(
        (both.exit, both.fault()),
        (3, &json!("review_open")),
        "{}",
        both.stderr
    );
    let failed = root.run(&request(&["blocks"], "t2", "fails"));
    assert_eq!(failed.at("/output/content/oneact/review"), &Value::Null);
}

#[test]
fn an_entry_that_demands_a_review_now_demands_it_of_old_answers_too() {
    let root = Root::with_catalog(CATALOG);
    assert_eq!(ask(&root, "plain", "t1").exit, 0);
    let strict = CATALOG.replace(
        "[capability.plain]\n",
        "[capability.plain]\nrequires_post_review = true\nreview = { blocks = true }\n",
    );
    fs::write(root.path.join("catalog.toml"), strict).unwrap();
    let held = ask(&root, "plain", "t2");
    assert_eq!((held.exit, held.fault()), (3, &json!("review_open")));
    review(&root, &held, "--accept");
    let given = ask(&root, "plain", "t2");
    assert_eq!(state_of(&given), [&json!("reused"), &json!("accepted")]);
    assert_eq!(calls(&root), 1);
}

#[test]
fn nothing_is_called_whose_result_nobody_could_review() {
    let root = Root::with_catalog(CATALOG);
    for (capability, exit) in [("open", 1), ("plain", 0)] {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", "none");
        let answer = run(
            command,
            request(&[capability], "t1", "a").to_string().as_bytes(),
        );
        assert_eq!(answer.exit, exit, "{capability}: {}", answer.stderr);
    }
    assert_eq!(calls(&root), 1);
    let mut command = root.command();
    let doctor = command
        .env("ONEACT_LEDGER", "none")
        .args(["doctor", "open", "--json"]);
    let report: Value = serde_json::from_slice(&doctor.output().unwrap().stdout).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    assert!(
        findings.any(|finding| finding["finding"] == "review_unrecorded"),
        "{report}"
    );
}

#[test]
fn people_see_which_reviews_are_open_overdue_and_decided() {
    let root = Root::with_catalog(CATALOG);
    let at = |clock: &str| {
        let mut command = root.command();
        command.args(["run", "--clock", clock]);
        command
    };
    let overdue = at("2026-02-24T10:00:00+00:00[UTC]");
    run(
        overdue,
        request(&["blocks"], "t1", "a").to_string().as_bytes(),
    );
    let open = ask(&root, "open", "t2");
    let text = oneact(&root, &["history", "--session", "s", "--utc"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("2 steps · 2 awaiting review # time"),
        "{text}"
    );
    assert!(text.contains("awaiting review since"), "{text}");
    assert!(
        text.contains("awaiting review, overdue since 2026-02-24 11:00:00"),
        "{text}"
    );
    let shown = oneact(&root, &["show", "0"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("--accept | --reject"), "{shown}");
    review(&root, &open, "--reject");
    let listed = oneact(&root, &["history", "--session", "s", "--json"]);
    let page: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(page["session"]["awaiting_review"], 1);
    let states: Vec<&Value> = page["steps"].as_array().unwrap().iter().collect();
    assert_eq!(states[0]["review"]["state"], "overdue");
    assert_eq!(states[1]["review"]["state"], "rejected");
    assert!(
        states[1]["review"]["decision"]["by"]
            .as_str()
            .unwrap()
            .starts_with("uid:")
    );
    let shown = oneact(&root, &["show", "1"]);
    assert!(shown.contains("rejected by uid:"), "{shown}");
    assert!(shown.contains(": seen"), "{shown}");
    assert!(oneact(&root, &["verify"]).contains("chain unbroken"));
}

#[test]
fn a_plan_can_be_under_review_and_its_files_are_changed_once() {
    let root = Root::with_catalog(CATALOG);
    let plan = |task: &str| {
        json!({
            "metadata": {"session_id": "s", "request_id": task},
            "task_plan": {
                "plan_id": "plan-1", "protocol_validation": true,
                "action_plan": [{"action_id": "a", "action_type": "FILE_CREATE", "target": "made.txt",
                    "operation": {"type": "create", "content": "1\n"}}],
            },
        })
    };
    let first = root.run(&plan("t1"));
    assert_eq!(
        (first.exit, first.fault()),
        (3, &json!("review_open")),
        "{}",
        first.envelope
    );
    assert!(root.path.join("made.txt").exists());
    let again = root.run(&plan("t2"));
    assert_eq!(
        (again.exit, again.fault()),
        (3, &json!("review_open")),
        "{}",
        again.envelope
    );
    review(&root, &first, "--accept");
    let given = root.run(&plan("t3"));
    assert_eq!(
        (given.exit, given.state()),
        (0, &json!("suppressed")),
        "{}",
        given.envelope
    );
}

#[test]
fn a_result_that_would_be_withheld_is_not_repeated_for_a_comparison() {
    let root = Root::with_catalog(CATALOG);
    ask(&root, "blocks", "t1");
    let output = root
        .command()
        .args(["replay", "0", "--execute"])
        .output()
        .unwrap();
    assert_eq!((output.status.code(), calls(&root)), (Some(2), 1));
}
