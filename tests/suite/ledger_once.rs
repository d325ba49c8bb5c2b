//! What must not happen twice, seen from outside: what happened and was not good, and answers that are gone.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Answer, Root, run};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.sent]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "mail" }
result = { kind = "metadata" }
[capability.receipted]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "mail" }
result = { kind = "metadata", schema = { required = ["receipt"] } }
[capability.silent]
mcp = { server = "counter", tool = "happen" }
defaults = { what = "mail" }
result = { kind = "metadata", schema = { required = ["receipt"] } }
[capability.limited]
effects = { read_only = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "fails" }
result = { kind = "metadata" }
[capability.refused]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "fails" }
result = { kind = "metadata" }
"#;

fn request(capabilities: &[&str], task: &str, attempt: u32) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"task_id": task, "attempt": attempt, "capability_ids": capabilities},
    })
}

fn happened(root: &Root) -> Vec<String> {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn oneact(root: &Root, arguments: &[&str]) {
    let done = root.command().args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

fn valid(answer: &Answer) {
    let schema = include_str!("../../schemas/envelope.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let misfits: Vec<String> = schema
        .iter_errors(&answer.envelope)
        .map(|misfit| format!("{}: {misfit}", misfit.instance_path()))
        .collect();
    assert!(misfits.is_empty(), "{misfits:?} in {}", answer.envelope);
}

#[test]
fn what_happened_and_is_not_good_is_nobodys_to_repeat_until_a_person_has_spoken() {
    for (capabilities, fault) in [
        (&["receipted"][..], "result_incomplete"),
        (&["sent", "limited"], "rate_limited"),
    ] {
        let root = Root::with_catalog(CATALOG);
        let first = root.run(&request(capabilities, "t1", 1));
        assert_eq!((first.exit, first.fault()), (1, &json!(fault)));
        assert_eq!(first.at("/error/recoverable"), &json!(false));
        let operation = first.at("/output/content/oneact/operation_id");
        let operation = operation.as_str().unwrap();
        let said = first.at("/error/error_message").as_str().unwrap();
        let advice = format!("must not happen twice. `oneact resolve {operation}` settles it.");
        assert!(said.contains("happened before that"), "{said}");
        assert!(said.ends_with(&advice), "{said}");
        valid(&first);
        for (task, attempt) in [("t1", 1), ("t1", 2), ("t2", 1)] {
            let next = root.run(&request(capabilities, task, attempt));
            assert_eq!((next.exit, next.fault()), (1, &json!("outcome_unknown")));
        }
        assert_eq!(happened(&root)[0], "mail");
        assert_eq!(happened(&root).len(), capabilities.len());
        oneact(&root, &["verify"]);
        oneact(
            &root,
            &["resolve", operation, "--did-not", "-m", "not there"],
        );
        root.run(&request(capabilities, "t1", 2));
        assert_eq!(happened(&root).len(), 2 * capabilities.len());
        oneact(&root, &["verify"]);
    }
}

/// An answer that cannot be read, and a time-out that somebody behind the server reports: by the tool, and as a
/// gateway does.
#[test]
fn an_answer_that_leaves_open_what_happened_is_nobodys_to_repeat() {
    for (what, fault) in [
        ("mean", "tool_error"),
        ("late", "timeout"),
        ("gateway", "timeout"),
        ("late, node", "timeout"),
        ("late, limited", "rate_limited"),
        ("late, structured", "tool_error"),
        ("gateway, elsewhere", "tool_error"),
        ("gateway, data", "tool_error"),
        ("gateway, late", "tool_error"),
        ("gateway, long", "tool_error"),
    ] {
        let root = Root::with_catalog(CATALOG);
        let asked = |task: &str| {
            let mut asked = request(&["sent"], task, 1);
            asked["dispatch"]["parameters"] = json!({"what": what});
            root.run(&asked)
        };
        let first = asked("t1");
        valid(&first);
        assert_eq!((first.exit, first.fault()), (1, &json!(fault)), "{what}");
        let effect = first.at("/output/content/oneact/effect");
        assert_eq!(effect, &json!("unknown"), "{what}");
        let next = asked("t2");
        assert_eq!((next.exit, next.fault()), (1, &json!("outcome_unknown")));
        assert_eq!(happened(&root), [what]);
    }
}

#[test]
fn a_check_that_fails_is_worth_another_attempt_where_the_entry_says_nothing_r_000_102() {
    let root = Root::with_catalog(CATALOG);
    let first = root.run(&request(&["silent"], "t1", 1));
    assert_eq!(
        (first.exit, first.fault()),
        (75, &json!("result_incomplete"))
    );
    root.run(&request(&["silent"], "t1", 2));
    assert_eq!(happened(&root), ["mail", "mail"]);
}

#[test]
fn a_tool_that_says_it_failed_has_not_done_it() {
    let root = Root::with_catalog(CATALOG);
    let first = root.run(&request(&["refused"], "t1", 1));
    assert_eq!((first.exit, first.fault()), (75, &json!("rate_limited")));
    root.run(&request(&["refused"], "t1", 2));
    assert_eq!(happened(&root), ["fails", "fails"]);
}

#[test]
fn that_it_was_done_is_known_when_the_answer_was_pruned() {
    let root = Root::with_catalog(CATALOG);
    let mut command = root.command();
    command.args(["--clock", "2020-02-24T10:00:00+00:00[UTC]"]);
    let first = run(command, request(&["sent"], "t1", 1).to_string().as_bytes());
    assert_eq!(first.exit, 0, "{}", first.envelope);
    oneact(&root, &["prune", "--older", "90d"]);
    let suppressed = root.run(&request(&["sent"], "t2", 1));
    valid(&suppressed);
    assert_eq!(
        (suppressed.exit, suppressed.state()),
        (0, &json!("suppressed")),
        "{}",
        suppressed.envelope
    );
    assert_eq!(suppressed.at("/error/has_error"), &json!(false));
    assert_eq!(suppressed.result_data(), &Value::Null);
    let notes = suppressed.at("/audit/compliance_notes").to_string();
    assert!(notes.contains("pruned: the answer was pruned"), "{notes}");
    // What it said cannot be said again.
    let replayed = root.run(&request(&["sent"], "t1", 1));
    valid(&replayed);
    assert_eq!((replayed.exit, replayed.state()), (1, &json!("failed")));
    assert_eq!(happened(&root), ["mail"]);
    oneact(&root, &["verify"]);
}
