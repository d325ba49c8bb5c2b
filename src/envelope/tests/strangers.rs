//! Keys that a task should not have: none of them is lost without a word.

use serde_json::{Value, json};

use crate::{
    envelope::{Received, read},
    task::Fault,
};

fn received(document: &Value) -> Received {
    read(document.to_string().as_bytes(), || "sess-fresh".to_owned())
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

fn task() -> Value {
    json!({"task_id": "t", "capability_ids": ["CAP-ACQ-001"], "attempt": 1})
}

/// It is refused, and the message names what was probably meant.
fn means(document: &Value, key: &str, meant: &str) {
    let failure = received(document).task.expect_err(key);
    assert_eq!(
        failure.fault,
        Fault::InvalidShape,
        "{key}: {}",
        failure.message
    );
    let (named, wanted) = (format!("`{key}`"), format!("did you mean `{meant}`?"));
    assert!(
        failure.message.contains(&named) && failure.message.contains(&wanted),
        "{key}: {}",
        failure.message
    );
}

#[test]
fn a_key_that_was_meant_for_a_known_one_is_refused_wherever_the_task_stands() {
    for (key, meant) in [
        ("paramters", "parameters"),
        ("parameter", "parameters"),
        ("Parameters", "parameters"),
        ("perameters", "parameters"),
        ("params", "parameters"),
        ("args", "parameters"),
        ("arguments", "parameters"),
        ("argumens", "parameters"),
        ("input", "parameters"),
        ("kwargs", "parameters"),
        ("toolInput", "parameters"),
        ("toolParams", "parameters"),
        ("call_args", "parameters"),
        ("inputs_resolved", "input_refs_resolved"),
        ("inputs", "input_refs_resolved"),
        ("input_refs", "input_refs_resolved"),
        ("inputRefsResolved", "input_refs_resolved"),
        ("input-refs-resolved", "input_refs_resolved"),
        ("outputs", "output_refs_expected"),
        ("output_ref_expected", "output_refs_expected"),
        ("capability", "capability_ids"),
        ("atempt", "attempt"),
        ("attempts", "attempt"),
        ("idempotencyKey", "idempotency_key"),
        ("idempotence_key", "idempotency_key"),
        ("session_id", "metadata.session_id"),
        ("accept_input", "accepts_input"),
        ("inputResponses", "input_responses"),
        ("plan", "task_plan"),
        ("salts", "salt"),
        ("dry_run", "--dry-run"),
        ("dryRun", "--dry-run"),
        ("actoin", "action"),
    ] {
        let task = with(task(), key, json!({"a": 1}));
        means(&task, key, meant);
        means(&json!({"dispatch": task}), key, meant);
        means(
            &json!({"output": {"content": {"dispatch": task}}}),
            key,
            meant,
        );
    }
}

#[test]
fn a_key_of_an_mcp_request_or_beside_a_plan_that_was_meant_for_a_known_one_is_refused() {
    let request = json!({"actionId": "CAP-ACQ-001"});
    for (key, meant) in [
        ("parameters", "args"),
        ("params", "args"),
        ("arguments", "args"),
        ("input", "args"),
        ("session_id", "sessionId"),
        ("taskID", "taskId"),
        ("dry_run", "--dry-run"),
    ] {
        means(&with(request.clone(), key, json!({})), key, meant);
    }
    let plan = json!({"task_plan": {"plan_id": "p", "action_plan": []}});
    for (key, meant) in [
        ("protocol_validaton", "protocol_validation"),
        ("config", "system_config"),
        ("systemConfig", "system_config"),
        ("session_id", "sessionId"),
        ("dry_run", "--dry-run"),
    ] {
        means(&with(plan.clone(), key, json!({})), key, meant);
    }
}

#[test]
fn what_stands_around_the_task_is_looked_at_too() {
    means(
        &json!({"dispatch": task(), "metdata": {}}),
        "metdata",
        "metadata",
    );
    means(
        &json!({"dispatch": task(), "dry_run": true}),
        "dry_run",
        "--dry-run",
    );
    for message in [
        json!({"dispatch": task(), "metadata": {"dry_run": true}}),
        json!({"output": {"content": {"dispatch": task()}, "dry_run": true}}),
        json!({"output": {"content": {"dispatch": task(), "dry_run": true}}}),
        with(task(), "metadata", json!({"dry_run": true})),
        json!({"task_plan": {"action_plan": []}, "metadata": {"dry_run": true}}),
    ] {
        means(&message, "dry_run", "--dry-run");
    }
    let metadata = json!({"sesion_id": "s"});
    means(
        &with(task(), "metadata", metadata),
        "sesion_id",
        "session_id",
    );
    for key in [
        "parameters",
        "params",
        "input_refs_resolved",
        "salt",
        "attempt",
    ] {
        for document in [
            json!({"dispatch": task(), key: {}}),
            json!({"output": {"content": {"dispatch": task()}}, key: {}}),
            json!({"output": {"content": {"dispatch": task(), key: {}}}}),
        ] {
            let failure = received(&document).task.expect_err(key);
            assert!(
                failure.message.contains("move it into the task"),
                "{}",
                failure.message
            );
        }
    }
}

#[test]
fn any_other_key_is_told_and_kept_in_the_echo() {
    let document = [
        "priority",
        "retries",
        "deadline",
        "notes",
        "tags",
        "trace_id",
        "timeout",
        "x-vendor",
        "description",
        "reaction",
        "context",
        "sale",
    ]
    .into_iter()
    .fold(task(), |task, key| with(task, key, json!(1)));
    let received = received(&document);
    assert!(received.task.is_ok(), "{:?}", received.task);
    assert_eq!(received.echo, document);
    let note = "Ignored fields of the task: `priority`, `retries`";
    let told = |told: &&String| told.starts_with(note) && told.ends_with(" and 2 more.");
    assert!(
        received.notes.iter().any(|note| told(&note)),
        "{:?}",
        received.notes
    );
}

#[test]
fn what_is_said_twice_and_agrees_is_no_mistake() {
    let metadata = json!({"session_id": "s", "request_id": "r"});
    let own = with(
        with(task(), "session_id", json!("s")),
        "requestId",
        json!("r"),
    );
    let agrees = json!({"dispatch": own, "metadata": metadata});
    assert!(received(&agrees).task.is_ok());
    let other = json!({"dispatch": own, "metadata": {"session_id": "other"}});
    means(&other, "session_id", "metadata.session_id");
    let bare = with(
        with(task(), "sessionId", json!("s")),
        "requestId",
        json!("r"),
    );
    assert_eq!(received(&bare).identity.session_id, "s");
    assert!(received(&bare).task.is_ok());
}

#[test]
fn a_key_of_any_length_and_content_is_told_in_one_short_line() {
    let key = format!("\u{1b}[31m\u{202e}{}", "x".repeat(100_000));
    let received = received(&with(task(), &key, json!(1)));
    let note = received.notes.iter().find(|note| note.contains("Ignored"));
    let note = note.expect("a note");
    assert!(
        note.len() < 200 && !note.contains('\u{1b}') && !note.contains('\u{202e}'),
        "{note}"
    );
}

/// A task that asks for a person where nothing reads it is not performed.
#[test]
fn a_key_that_asks_for_an_approval_belongs_into_the_instructions_of_a_plan_r_001_34() {
    let plan = json!({"plan_id": "p", "action_plan": []});
    let meant = "task_plan.execution_instructions.human_approval_required";
    for key in [
        "requires_approval",
        "human_approval_required",
        "approvalRequired",
    ] {
        for document in [
            json!({"task_plan": plan, "protocol_validation": true}),
            task(),
        ] {
            means(&with(document, key, json!(true)), key, meant);
        }
    }
}
