//! What a run learns of a server, through the whole program: kept for the next, and never in its way.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Answer, Root};

/// A server that is modern and refuses `initialize`, under `protocol = "auto"`.
fn root() -> Root {
    Root::with_catalog(
        r#"
        catalog = 1
        [server.s]
        command = ["python3", "-SB", "servers/misbehaving.py", "modern"]
        env = { RECEIVED = "received", PIDS = "pids" }
        [capability.C]
        effects = { read_only = true }
        mcp = { server = "s", tool = "echo" }
        parameter_schema_for_action = { type = "object" }
        "#,
    )
}

fn run(root: &Root) -> Answer {
    root.run(&json!({
        "task_id": "task_1", "capability_ids": ["C"], "parameters": {"text": "hello"},
    }))
}

/// What the server has got since the last look.
fn methods(root: &Root) -> Vec<String> {
    let path = root.path.join("received");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(path).unwrap();
    let method = |line: &str| serde_json::from_str::<Value>(line).unwrap()["method"].clone();
    let methods = text.lines().map(method);
    methods
        .map(|method| method.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_second_run_does_not_ask_what_the_first_found_out() {
    let root = root();
    assert_eq!(run(&root).exit, 0);
    assert_eq!(
        methods(&root),
        ["initialize", "server/discover", "tools/call"]
    );
    let answer = run(&root);
    assert_eq!(answer.exit, 0);
    assert_eq!(methods(&root), ["server/discover", "tools/call"]);
    assert_eq!(
        answer.at("/output/content/oneact/server/protocol"),
        "2026-07-28"
    );
}

#[test]
fn a_state_directory_that_takes_no_notes_fails_no_run() {
    let root = root();
    fs::create_dir(root.path.join(".oneact")).unwrap();
    fs::write(root.path.join(".oneact/servers"), "in the way").unwrap();
    for _ in 0..2 {
        assert_eq!(run(&root).exit, 0);
        assert_eq!(methods(&root).len(), 3);
    }
}

#[test]
fn the_doctor_finds_out_anew() {
    let root = root();
    run(&root);
    methods(&root);
    let examined = root.command().arg("doctor").output().unwrap();
    assert!(examined.status.success(), "{examined:?}");
    assert_eq!(methods(&root)[..2], ["initialize", "server/discover"]);
}
