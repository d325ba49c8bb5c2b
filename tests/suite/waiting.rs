//! A tool that asks, and the process after that answers: nothing is handed on but what the first
//! envelope says (MCP 2026-07-28, Multi Round-Trip Requests).

use std::fs;

use serde_json::{Value, json};

use crate::program::{Answer, Root};

fn task(capability: &str) -> Value {
    json!({
        "task_id": "task_1", "capability_ids": [capability], "accepts_input": true, "attempt": 1,
        "metadata": {"session_id": "sess-1"}
    })
}

/// The same task with answers to what the envelope asks, in the envelope's own words.
fn answered(task: &Value, asked: &Answer, responses: Value) -> Value {
    assert_eq!(asked.exit, 3, "{}", asked.envelope);
    let waiting = asked.at("/output/content/oneact/waiting");
    let mut task = task.clone();
    task["input_responses"] = responses;
    for key in ["input_requests", "request_state"] {
        task[key] = waiting[key].clone();
    }
    task
}

#[test]
fn three_processes_make_three_rounds() {
    let root = Root::new();
    let task = task("CAP-ASK-002");
    let seats = root.run(&task);
    let seats = answered(
        &task,
        &seats,
        json!({"seats": {"action": "accept", "content": {"n": 2}}}),
    );
    let payment = root.run(&seats);
    let payment = answered(&task, &payment, json!({"payment": {"action": "accept"}}));
    let ticket = root.run(&payment);
    assert_eq!(ticket.exit, 0, "{}", ticket.envelope);
    assert_eq!(
        ticket.at("/output/content/task_result/result_data/ticket"),
        "paid? seats=2"
    );
}

#[test]
fn a_state_of_odd_characters_comes_back_as_it_was() {
    let root = Root::new();
    let task = task("CAP-ASK-001");
    let asked = root.run(&task);
    let who = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    let greeted = root.run(&answered(&task, &asked, who));
    assert_eq!(greeted.exit, 0, "{}", greeted.envelope);
}

#[test]
fn a_call_with_answers_is_not_replayed_because_the_ledger_does_not_keep_them() {
    let root = Root::new();
    let task = task("CAP-ASK-001");
    let asked = root.run(&task);
    let who = json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    root.run(&answered(&task, &asked, who));
    let mut replay = root.command();
    replay.args(["replay", "1", "--session", "sess-1", "--execute"]);
    let output = replay.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("answers to a tool's questions"), "{said}");
}

#[test]
fn an_asset_is_asked_for_at_the_same_path_in_every_round() {
    let root = Root::new();
    let task = task("CAP-ASK-008");
    let asked = root.run(&task);
    assert_eq!(root.scratch().next(), None);
    let made = root.run(&answered(
        &task,
        &asked,
        json!({"taste": {"action": "accept", "content": {}}}),
    ));
    assert_eq!(made.exit, 0, "{}", made.envelope);
    let refs = made.at("/output/content/task_result/output_refs_produced");
    let uri = refs[0]["storage_uri"].as_str().unwrap();
    let text = fs::read_to_string(uri.trim_start_matches("file://")).unwrap();
    assert_eq!(text, "it tastes\n");
    assert_eq!(root.scratch().next(), None);
}

#[test]
fn another_answer_to_a_tool_is_another_request() {
    let root = Root::new();
    let state = |task: &str, action: &str| {
        let answer = root.run(&json!({
            "task_id": task, "capability_ids": ["CAP-ASK-003"], "metadata": {"session_id": "sess-1"},
            "input_responses": {"sure": {"action": action}},
        }));
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
        answer.state().as_str().unwrap().to_owned()
    };
    assert_eq!(state("task_1", "decline"), "done");
    assert_eq!(state("task_2", "accept"), "done");
    assert_eq!(state("task_3", "accept"), "suppressed");
}
