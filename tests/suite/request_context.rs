//! The `context` of an `MCPRequest`: it reaches the tools that ask for it, and is part of their requests (R-004-06,
//! R-004-32).

use serde_json::{Value, json};

use crate::program::{Answer, Root, text};

const CATALOG: &str = r#"
catalog = 1
[server.tools]
command = ["python3", "-SB", "servers/toolbox.py"]
[capability.with]
uses_context = true
effects = { idempotent = true }
mcp = { server = "tools", tool = "context_cacher" }
[capability.without]
effects = { idempotent = true }
mcp = { server = "tools", tool = "context_cacher" }
[workflow.both]
step = [{ id = "one", run = "without" }, { id = "two", run = "with" }]
"#;

fn ask(root: &Root, action: &str, task: &str, context: &Value) -> Answer {
    root.run(&json!({
        "actionId": action, "taskId": task, "sessionId": "s", "args": {}, "context": context, "attempt": 1,
    }))
}

fn hash(answer: &Answer) -> &Value {
    answer.at("/output/content/oneact/request_hash")
}

#[test]
fn another_context_is_another_request_where_a_tool_gets_it() {
    let root = Root::with_catalog(CATALOG);
    let ada = json!({"profileId": "ada"});
    for action in ["with", "both"] {
        let first = ask(&root, action, &format!("{action} 1"), &ada);
        let other = ask(
            &root,
            action,
            &format!("{action} 2"),
            &json!({"profileId": "bob"}),
        );
        let again = ask(&root, action, &format!("{action} 3"), &ada);
        let none = ask(&root, action, &format!("{action} 4"), &Value::Null);
        let states = [&first, &other, &again, &none].map(|answer| answer.state().clone());
        assert_eq!(states, ["done", "done", "suppressed", "done"], "{action}");
        assert_eq!(hash(&first), hash(&again));
        assert_ne!(hash(&first), hash(&other));
        assert_ne!(hash(&first), hash(&none));
        let received = first.at("/output/content/task_result/result_data/received");
        assert_eq!(*received, json!({"context": ada}), "{action}");
    }
}

#[test]
fn a_context_that_no_tool_gets_is_no_part_of_the_request() {
    let root = Root::with_catalog(CATALOG);
    let first = ask(&root, "without", "1", &json!({"profileId": "ada"}));
    let other = ask(&root, "without", "2", &json!({"profileId": "bob"}));
    let none = ask(&root, "without", "3", &Value::Null);
    assert_eq!(other.state(), "suppressed");
    assert_eq!((hash(&first), hash(&other)), (hash(&none), hash(&none)));
    let notes = |answer: &Answer| {
        let notes = answer.at("/audit/compliance_notes").as_str();
        notes
            .unwrap()
            .contains("`context` of the request was not used")
    };
    assert!(notes(&first) && !notes(&none));
}

#[test]
fn a_replay_gives_the_tool_the_same_context() {
    let root = Root::with_catalog(CATALOG);
    for action in ["with", "both"] {
        let answer = ask(&root, action, action, &json!({"profileId": "ada"}));
        let operation = answer.at("/output/content/oneact/operation_id");
        let replay = ["replay", operation.as_str().unwrap(), "--execute"];
        let output = root.command().args(replay).output().unwrap();
        let said = text(&*output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(
            said.contains("result_data") && said.contains("differs: nothing"),
            "{said}"
        );
    }
}
