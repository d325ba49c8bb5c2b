//! How answers are judged that say little: errors without a reason, success that cannot be judged, empty results.

use std::fs;

use serde_json::{Value, json};

use crate::{
    installed::installed,
    program::{Answer, ONEACT, Root, run},
};

const CATALOG: &str = r#"
catalog = 1
[server.sayer]
command = ["python3", "-SB", "servers/sayer.py"]
env_pass = ["CALLS"]
[capability.read]
effects = { read_only = true }
mcp = { server = "sayer", tool = "say" }
[capability.rows]
effects = { read_only = true }
mcp = { server = "sayer", tool = "say" }
result = { kind = "metadata", rows = true }
[capability.once]
effects = { read_only = false, destructive = false, idempotent = false }
mcp = { server = "sayer", tool = "say" }
[capability.ruled]
effects = { read_only = false, destructive = false, idempotent = false }
mcp = { server = "sayer", tool = "say" }
success = [{ pointer = "/success", equals = true }]
failure = [{ match = "Timeout", class = "rate_limited" }, { match = "opaque by rule", class = "rate_limited" }]
"#;

fn root() -> Root {
    Root::with_catalog(CATALOG)
}

fn ask(root: &Root, task: &Value) -> Answer {
    let mut command = root.command();
    command.env("CALLS", root.path.join("calls"));
    run(command, task.to_string().as_bytes())
}

fn said(root: &Root, capability: &str, parameters: &Value) -> Answer {
    ask(
        root,
        &json!({"task_id": "t", "capability_ids": [capability], "parameters": parameters}),
    )
}

/// Exit code, class of the failure, effect.
fn judged(answer: &Answer) -> (i32, Value, Value) {
    let at = |pointer: &str| answer.at(pointer).clone();
    (
        answer.exit,
        at("/output/content/oneact/fault"),
        at("/output/content/oneact/effect"),
    )
}

fn error(text: &str) -> Value {
    json!(json!({"isError": true, "content": [{"type": "text", "text": text}]}).to_string())
}

#[test]
fn an_error_without_a_reason_leaves_it_open_what_a_once_only_call_did() {
    let root = root();
    let timeout = "Traceback (most recent call last):\nTimeoutError: the bank is silent\n\nx.UnexpectedToolError: Error executing tool say";
    let rpc = |code: i64, message: &str| json!({"code": code, "message": message}).to_string();
    let silent = json!({"result": r#"{"isError":true,"content":[]}"#, "stderr": timeout});
    for (capability, parameters, (exit, class, effect)) in [
        (
            "once",
            json!({"result": error("Error executing tool say"), "stderr": timeout}),
            (1, "timeout", "unknown"),
        ),
        (
            "once",
            json!({"result": error("[object Object]")}),
            (1, "tool_error", "unknown"),
        ),
        ("once", silent.clone(), (1, "timeout", "unknown")),
        (
            "once",
            json!({"error": rpc(0, "")}),
            (1, "tool_error", "unknown"),
        ),
        (
            "once",
            json!({"error": rpc(-32603, "Internal error")}),
            (1, "tool_error", "unknown"),
        ),
        (
            "once",
            json!({"error": rpc(-32000, "Server error"), "stderr": "Error: 429"}),
            (1, "rate_limited", "unknown"),
        ),
        // A reason of the tool's own is its answer.
        (
            "once",
            json!({"result": error("card declined"), "stderr": timeout}),
            (1, "tool_error", "done"),
        ),
        (
            "once",
            json!({"error": rpc(-32603, "card declined")}),
            (1, "tool_error", "done"),
        ),
        (
            "once",
            json!({"error": rpc(-32602, "Error")}),
            (1, "tool_error", "done"),
        ),
        // A rule for the words of the answer decides; for a line of stderr, it gives the class alone.
        (
            "ruled",
            json!({"result": error("opaque by rule")}),
            (75, "rate_limited", "done"),
        ),
        (
            "ruled",
            json!({"result": error("Error"), "stderr": timeout}),
            (1, "rate_limited", "unknown"),
        ),
        // What may happen twice takes its class from stderr.
        ("read", silent, (75, "timeout", "done")),
        (
            "read",
            json!({"result": error("Error"), "stderr": "MemoryError"}),
            (75, "oom", "done"),
        ),
        (
            "read",
            json!({"result": error("Error")}),
            (1, "tool_error", "done"),
        ),
    ] {
        let answer = said(&root, capability, &parameters);
        let expected = (exit, json!(class), json!(effect));
        assert_eq!(
            judged(&answer),
            expected,
            "{capability} {parameters} {}",
            answer.envelope
        );
        let message = answer.at("/error/error_message").as_str().unwrap();
        assert!(!message.contains("from before"), "{message}");
    }
    let answer = said(
        &root,
        "once",
        &json!({"result": error("Error"), "stderr": timeout}),
    );
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(
        message.contains("Error (stderr: TimeoutError: the bank is silent)"),
        "{message}"
    );
    assert_eq!(answer.at("/error/recoverable"), &json!(false));
}

#[test]
fn a_success_that_cannot_be_judged_is_no_report_of_failure() {
    let root = root();
    let texts = |texts: &[&str]| {
        let blocks = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        json!({"result": json!({"content": blocks.collect::<Vec<_>>()}).to_string()})
    };
    for (parameters, (exit, class, effect)) in [
        (
            texts(&[r#"{"success": true, "score": NaN}"#]),
            (0, Value::Null, "done"),
        ),
        (
            texts(&["Paid.", r#"{"success": true}"#]),
            (0, Value::Null, "done"),
        ),
        (
            texts(&[r#"{"success": true}"#, r#"{"success": false}"#]),
            (0, Value::Null, "done"),
        ),
        (
            texts(&[r#"{"success": false}"#]),
            (1, json!("tool_error"), "done"),
        ),
        (
            texts(&["Failed.", r#"{"success": false}"#]),
            (1, json!("tool_error"), "done"),
        ),
        (
            texts(&[r#"{"success": NaN}"#]),
            (1, json!("tool_error"), "unknown"),
        ),
        (texts(&["Paid."]), (1, json!("tool_error"), "unknown")),
        (
            texts(&[r#"{"paid": true}"#]),
            (1, json!("tool_error"), "unknown"),
        ),
        (texts(&[]), (1, json!("tool_error"), "unknown")),
        (
            json!({"result": r#"{"content":[],"structuredContent":{"success":true,"score":-Infinity}}"#}),
            (0, Value::Null, "done"),
        ),
    ] {
        let answer = said(&root, "ruled", &parameters);
        let expected = (exit, class, json!(effect));
        assert_eq!(
            judged(&answer),
            expected,
            "{parameters} {}",
            answer.envelope
        );
    }
}

#[test]
fn results_keep_their_boundaries_whatever_their_number() {
    let root = root();
    let texts = |texts: &[&str]| {
        let blocks = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        json!({"content": blocks.collect::<Vec<_>>()}).to_string()
    };
    for (capability, result, data) in [
        ("read", texts(&[]), json!({})),
        ("read", texts(&[""]), json!({"text": ""})),
        ("read", texts(&["{}"]), json!({})),
        ("read", texts(&["[]"]), json!({"result": []})),
        (
            "read",
            r#"{"content":[],"structuredContent":{}}"#.to_owned(),
            json!({}),
        ),
        (
            "read",
            r#"{"content":[],"structuredContent":[]}"#.to_owned(),
            json!({"result": []}),
        ),
        (
            "read",
            r#"{"content":[],"structuredContent":null}"#.to_owned(),
            json!({"result": null}),
        ),
        (
            "read",
            r#"{"content":[],"structuredContent":[1]}"#.to_owned(),
            json!({"result": [1]}),
        ),
        (
            "read",
            r#"{"content":[{"type":"text","text":"Nothing was found."}],"structuredContent":{}}"#
                .to_owned(),
            json!({"text": "Nothing was found."}),
        ),
        (
            "read",
            texts(&["{\"id\":1}", "{\"id\":2}"]),
            json!({"result": [{"id": 1}, {"id": 2}]}),
        ),
        (
            "read",
            texts(&["one", "2"]),
            json!({"result": ["one", "2"]}),
        ),
        ("read", texts(&["{\"id\":1}"]), json!({"id": 1})),
        ("rows", texts(&[]), json!({"result": []})),
        (
            "rows",
            texts(&["{\"id\":1}"]),
            json!({"result": [{"id": 1}]}),
        ),
        (
            "rows",
            texts(&["{\"id\":1}", "{\"id\":2}"]),
            json!({"result": [{"id": 1}, {"id": 2}]}),
        ),
    ] {
        let answer = said(&root, capability, &json!({"result": result}));
        assert_eq!(answer.exit, 0, "{capability} {result} {}", answer.envelope);
        let found = answer.at("/output/content/task_result/result_data");
        assert_eq!(found, &data, "{capability} {result}");
    }
}

#[test]
fn what_an_answer_should_not_have_is_told() {
    let root = root();
    for (result, told) in [
        (
            r#"{"content":[{"type":"text","text":"{\"a\": [1, NaN]}"}]}"#,
            "null, at `/a/1`",
        ),
        (
            r#"{"content":[],"structuredContent":{"a":Infinity}}"#,
            "null, at `/result/structuredContent/a`",
        ),
    ] {
        let answer = said(&root, "read", &json!({"result": result}));
        let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
        assert!(notes.contains(told), "{result}: {notes}");
    }
}

#[test]
fn after_a_failure_that_a_retry_may_mend_the_same_key_is_the_next_attempt() {
    let root = root();
    let calls = || {
        let calls = fs::read_to_string(root.path.join("calls")).unwrap_or_default();
        calls.lines().count()
    };
    let keyed = |capability: &str, key: &str, parameters: &Value| {
        ask(
            &root,
            &json!({
                "dispatch": {"task_id": "t", "capability_ids": [capability], "parameters": parameters},
                "metadata": {"session_id": "s", "idempotency_key": key},
            }),
        )
    };
    let busy = json!({"result": error("HTTP 429: too many requests")});
    for attempt in 1..=3 {
        let answer = keyed("read", "busy", &busy);
        assert_eq!(answer.exit, 75, "{}", answer.envelope);
        assert_eq!(calls(), attempt);
    }
    // A once-only call that was answered happened.
    let before = calls();
    let first = keyed(
        "once",
        "declined",
        &json!({"result": error("card declined")}),
    );
    let second = keyed(
        "once",
        "declined",
        &json!({"result": error("card declined")}),
    );
    assert_eq!(calls(), before + 1);
    assert_eq!(judged(&first), judged(&second));
    assert_eq!(
        second.at("/output/content/oneact/state"),
        &json!("replayed")
    );
    // Nothing happened while there was no server, and the replay does not say otherwise.
    fs::rename(root.path.join("servers"), root.path.join("away")).unwrap();
    let absent = json!({"result": error("card declined"), "n": 2});
    let first = keyed("once", "absent", &absent);
    assert_eq!(
        first.at("/output/content/oneact/effect"),
        &json!("none"),
        "{}",
        first.envelope
    );
    let second = keyed("once", "absent", &absent);
    assert_eq!(judged(&first), judged(&second));
    assert_eq!(calls(), before + 1);
}

/// The third attempt of each engine finds a server.
#[test]
fn an_engine_that_retries_gets_through_and_the_call_is_made_once() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engines/retries.py");
    let python = installed("engines/bin/python");
    for engine in ["celery", "temporal"] {
        let root = root();
        fs::write(root.path.join("down"), "").unwrap();
        let mut command = root.within(python.as_str());
        command.env("CALLS", root.path.join("calls"));
        command.args([script, engine, ONEACT, root.path.as_str()]);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        // The engine may print something of its own before.
        let printed = String::from_utf8_lossy(&output.stdout);
        let last = printed.lines().last().unwrap_or_default();
        let said: Value = serde_json::from_str(last).unwrap_or_default();
        assert_eq!(
            said["exits"],
            json!([75, 75, 0, 0]),
            "{engine}: {printed} {told}"
        );
        assert_eq!(said["states"], json!(["done", "replayed"]), "{engine}");
        let calls = fs::read_to_string(root.path.join("calls")).unwrap();
        assert_eq!(calls.lines().count(), 1, "{engine}");
    }
}
