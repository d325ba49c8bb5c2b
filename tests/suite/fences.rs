//! The same action, seen from outside: while nobody knows whether it happened, no key, salt or session repeats it.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, Root, feed, signal_child, until};
use crate::tracer::{
    Act, Traced, is_refused,
    moments::{self, Moment},
};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.pay]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
fence = ["invoice_id"]
secret = ["/invoice_id"]
result = { kind = "metadata" }
[server.asker]
command = ["python3", "-SB", "servers/misbehaving.py", "input_required"]
env = { RECEIVED = "received", PIDS = "pids" }
protocol = "modern"
[capability.book]
effects = { idempotent = false, destructive = false }
mcp = { server = "asker", tool = "echo" }
fence = ["trip"]
parameter_schema_for_action = { type = "object" }
result = { kind = "metadata" }
[workflow.settle]
parameter_schema_for_action = { type = "object", properties = { invoice = { type = "string" } } }
[[workflow.settle.step]]
id = "one"
run = "pay"
with = { what = "of a step", invoice_id = "{invoice}" }
"#;

/// The ledger keeps it nowhere, because the entry says that it is a secret.
const INVOICE: &str = "invoice-4711-bbbb-cccc";

fn pay(invoice: &str, session: &str, name: &str) -> Value {
    json!({
        "metadata": {"session_id": session, "request_id": name},
        "dispatch": {
            "task_id": name, "attempt": 1, "capability_ids": ["pay"], "idempotency_key": name, "salt": name,
            "parameters": {"what": name, "invoice_id": invoice},
        },
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

/// A call that stops for a question has ended, and may have done something.
#[test]
fn a_call_with_a_fence_cannot_ask_for_input() {
    let root = Root::with_catalog(CATALOG);
    let book = |session: &str| {
        json!({
            "task_id": session, "capability_ids": ["book"], "accepts_input": true, "parameters": {"trip": 7},
            "metadata": {"session_id": session},
        })
    };
    let asked = root.run(&book("one"));
    assert_eq!(asked.exit, 1, "{}", asked.envelope);
    assert_eq!(asked.at("/output/content/oneact/waiting"), &Value::Null);
    let other = refused(&root.run(&book("other")));
    assert_eq!(
        asked.at("/output/content/oneact/operation_id"),
        &json!(other)
    );
}

/// The operation that the refusal names.
fn refused(answer: &Answer) -> String {
    assert_eq!(answer.fault(), "outcome_unknown", "{}", answer.envelope);
    assert_eq!(answer.exit, 1);
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains("`oneact resolve op_"), "{message}");
    let mut words = message.split_whitespace();
    let operation = words.find(|word| word.starts_with("op_")).unwrap();
    operation.to_owned()
}

#[test]
fn a_payment_that_was_killed_in_the_middle_is_not_repeated_in_another_guise() {
    let root = Root::with_catalog(CATALOG);
    let mut task = pay(INVOICE, "s", "first");
    task["dispatch"]["parameters"]["seconds"] = json!(600);
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &task);
    until("the tool has paid", || {
        (!happened(&root).is_empty()).then_some(())
    });
    signal_child(&child, Signal::KILL);
    child.wait_with_output().unwrap();

    let operation = refused(&root.run(&pay(INVOICE, "t", "second")));
    assert_eq!(refused(&root.run(&pay(INVOICE, "s", "third"))), operation);
    let without_session = json!({"dispatch": {
        "task_id": "fourth", "attempt": 1, "capability_ids": ["pay"],
        "parameters": {"what": "fourth", "invoice_id": INVOICE},
    }});
    assert_eq!(refused(&root.run(&without_session)), operation);
    let step = json!({"dispatch": {
        "task_id": "fifth", "attempt": 1, "capability_ids": ["settle"], "parameters": {"invoice": INVOICE},
    }});
    assert_eq!(refused(&root.run(&step)), operation);
    assert_eq!(happened(&root), ["first"]);

    assert_eq!(root.run(&pay("another", "t", "other")).exit, 0);
    oneact(&root, &["resolve", &operation, "--did-not"]);
    assert_eq!(root.run(&pay(INVOICE, "t", "second")).exit, 0);
    assert_eq!(happened(&root), ["first", "other", "second"]);
    // What happened, and is known to have happened, is no reason to refuse a new request.
    assert_eq!(root.run(&pay(INVOICE, "u", "third")).exit, 0);
    oneact(&root, &["verify"]);
    for name in ["ledger.db", "ledger.db-wal"] {
        let kept = fs::read(root.path.join(".oneact").join(name)).unwrap_or_default();
        let mut parts = kept.windows(INVOICE.len());
        assert!(!parts.any(|part| part == INVOICE.as_bytes()), "{name}");
    }
}

/// Each of them dies as soon as it may send.
#[test]
fn of_payments_that_begin_at_once_in_several_sessions_one_is_sent() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    let runs: Vec<Traced> = (0..4)
        .map(|number| {
            let task = format!("t{number}");
            let dispatched = Moment::Dispatched.of_the_task();
            let kill = moments::at(&root, dispatched, Some(&task), Act::Kill);
            let mut run = Traced::start(&root.command(), &root.path, kill);
            run.feed(&pay(INVOICE, &format!("s{number}"), &task));
            run
        })
        .collect();
    let mut killed = 0;
    for run in runs {
        let ended = run.end();
        if ended.was_killed() {
            killed += 1;
        } else {
            refused(&Answer::of(ended.output));
        }
    }
    assert_eq!(killed, 1);
}

#[test]
fn a_task_that_does_not_say_which_action_it_is_is_rejected() {
    let root = Root::with_catalog(CATALOG);
    for parameters in [json!({"what": "a"}), json!({"invoice_id": null})] {
        let mut task = pay("", "s", "t");
        task["dispatch"]["parameters"] = parameters;
        let answer = root.run(&task);
        assert_eq!((answer.exit, answer.fault()), (2, &json!("params_invalid")));
        let message = answer.at("/error/error_message").as_str().unwrap();
        assert!(
            message.contains("`fence` of pay names `/invoice_id`"),
            "{message}"
        );
    }
    assert_eq!(happened(&root), [""; 0]);
}

#[test]
fn the_fence_of_an_entry_is_shown() {
    let root = Root::with_catalog(CATALOG);
    let mut command = root.command();
    let shown = command.args(["catalog", "show", "pay"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains("  fence             /invoice_id\n"),
        "{shown}"
    );
}
