//! The catalog as an MCP server: `oneact serve catalog` (issue part 10; R-003-28, R-003-36).

use std::{fs, process::Command};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    installed::installed,
    program::{ONEACT, Root, text},
    serving_client::{CATALOG, Client, happened, modern, until_nothing_runs},
};

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

const OFFERED: [&str; 6] = [
    "convert",
    "happen",
    "transcribe",
    "apply_file_plan",
    "improvise",
    "run_approved",
];

#[test]
fn the_actions_of_the_context_are_tools_in_both_eras() {
    let root = Root::with_catalog(CATALOG);
    let mut legacy = Client::legacy(&root, &[]);
    let list = legacy.ask("tools/list", &json!({}));
    assert_eq!(names(&list), OFFERED);
    let happen = &list["result"]["tools"][1];
    assert_eq!(
        (&happen["title"], &happen["description"]),
        (&json!("Happen"), &json!("Count once."))
    );
    let hints = json!({"readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false});
    assert_eq!(happen["annotations"], hints);
    assert_eq!(
        happen["inputSchema"]["properties"]["what"],
        json!({"type": "string"})
    );
    let convert = &list["result"]["tools"][0]["inputSchema"];
    assert_eq!(convert["required"], json!(["input_ref"]));
    assert!(convert["properties"].get("output_path").is_none());
    let mut client = Client::silent(&root, &[]);
    let found = client.ask("server/discover", &modern(json!({})));
    assert!(
        found["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28"))
    );
    assert_eq!(
        client.ask("tools/list", &modern(json!({})))["result"]["tools"],
        list["result"]["tools"]
    );
    let called = client.ask(
        "tools/call",
        &modern(json!({"name": "happen", "arguments": {"what": "modern"}})),
    );
    assert_eq!(
        called["result"]["structuredContent"],
        json!({"happened": "modern"})
    );
    assert_eq!(called["result"]["resultType"], "complete");
    legacy.leave();
    client.leave();
    root.assert_untouched();
}

/// Every call is gated, performed once and recorded, in the session of the process.
#[test]
fn a_call_is_a_task_like_one_on_stdin() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &["--session", "s1"]);
    let first = client.call("happen", &json!({"what": "a"}), &json!({}));
    assert_eq!(
        first["structuredContent"],
        json!({"happened": "a"}),
        "{first}"
    );
    assert_eq!(
        first["content"],
        json!([{"type": "text", "text": "{\"happened\":\"a\"}"}])
    );
    assert_ne!(first["isError"], true);
    assert_eq!(first["_meta"]["oneact/effect"], "done");
    let envelope = &first["_meta"]["oneact/envelope"];
    assert_eq!(envelope.pointer("/metadata/session_id"), Some(&json!("s1")));
    assert_eq!(
        envelope.pointer("/output/content/oneact/gate/context"),
        Some(&json!("AGENT_AUTONOMOUS"))
    );
    // Another delivery of the same once-only request, then one that is wanted again.
    let again = client.call("happen", &json!({"what": "a"}), &json!({}));
    assert_eq!(again["_meta"]["oneact/state"], "suppressed");
    assert_eq!(again["_meta"]["oneact/effect"], "none");
    let said = again["content"][1]["text"].as_str().unwrap();
    assert!(said.contains("was not performed again"), "{said}");
    assert_eq!(again["structuredContent"], first["structuredContent"]);
    assert_eq!(happened(&root), 1);
    let salted = client.call(
        "happen",
        &json!({"what": "a"}),
        &json!({"oneact/salt": "2"}),
    );
    assert_eq!(salted["_meta"]["oneact/state"], "done");
    assert_eq!(happened(&root), 2);
    client.leave();
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let rows = "SELECT count(*), min(session_id), max(session_id) FROM agent_actions";
    let rows = ledger.query_row(rows, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    assert_eq!(rows.unwrap(), (3, "s1".to_owned(), "s1".to_owned()));
    // The same task on stdin is the same request.
    let task = json!({"metadata": {"session_id": "s1"}, "task_id": "t", "capability_ids": ["happen"], "parameters": {"what": "a"}});
    assert_eq!(root.run(&task).state(), "suppressed");
}

#[test]
fn a_delivery_key_gives_the_old_answer_again_also_in_another_process() {
    let root = Root::with_catalog(CATALOG);
    let key = json!({"oneact/idempotency_key": "k1"});
    let mut client = Client::legacy(&root, &["--session", "s1"]);
    let first = client.call("happen", &json!({"what": "a"}), &key);
    client.server.kill().unwrap();
    drop(client);
    let mut client = Client::legacy(&root, &["--session", "s1"]);
    let again = client.call("happen", &json!({"what": "a"}), &key);
    assert_eq!(again["_meta"]["oneact/state"], "replayed");
    assert_eq!(again["structuredContent"], first["structuredContent"]);
    let other = client.call("happen", &json!({"what": "b"}), &key);
    assert_eq!(
        (&other["isError"], &other["structuredContent"]["fault"]),
        (&json!(true), &json!("idempotency_conflict"))
    );
    // The same JSON-RPC id in another process is another delivery.
    assert_eq!(
        client.call("happen", &json!({"what": "c"}), &json!({}))["_meta"]["oneact/state"],
        "done"
    );
    assert_eq!(happened(&root), 2);
}

#[test]
fn an_asset_of_one_call_is_the_input_of_the_next() {
    let root = Root::with_catalog(CATALOG);
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/media/fox.mp4"),
        root.path.join("fox.mp4"),
    )
    .unwrap();
    let mut client = Client::legacy(&root, &["--session", "s1"]);
    let unknown = client.call("convert", &json!({"input_ref": "store_1"}), &json!({}));
    assert_eq!(unknown["structuredContent"]["fault"], "input_unresolved");
    let said = unknown["content"][0]["text"].as_str().unwrap();
    assert!(
        said.contains("`store_1` is unknown") && said.contains("oneact/refs"),
        "{said}"
    );
    let refs = json!({"oneact/refs": {"store_1": "fox.mp4"}});
    let made = client.call("convert", &json!({"input_ref": "store_1"}), &refs);
    assert_ne!(made["isError"], true, "{made}");
    let produced = made["_meta"]["oneact/refs"].as_object().unwrap();
    let (id, uri) = produced.iter().next().unwrap();
    assert_eq!(
        made["structuredContent"]["output_refs_produced"][0]["ref_id"],
        json!(id)
    );
    assert!(uri.as_str().unwrap().starts_with("file://"));
    let heard = client.call("transcribe", &json!({"input_ref": id}), &json!({}));
    assert!(heard["structuredContent"]["segments"].is_array(), "{heard}");
    assert_eq!(
        client.call("convert", &json!({"input_ref": 1}), &json!({}))["isError"],
        true
    );
    client.leave();
}

#[test]
fn a_plan_is_a_tool_and_its_diff_the_preview() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    let list = client.ask("tools/list", &json!({}));
    let tool = &list["result"]["tools"][3];
    assert_eq!(tool["inputSchema"]["required"], json!(["plan"]));
    assert_eq!(tool["annotations"]["destructiveHint"], true);
    let plan = json!({"plan_id": "p1", "protocol_validation": true, "action_plan": [
        {"action_id": "a001", "action_type": "FILE_CREATE", "target": "made.txt", "operation": {"type": "create", "content": "made\n"}}]});
    let preview = client.call(
        "apply_file_plan",
        &json!({"plan": plan, "dry_run": true}),
        &json!({}),
    );
    let said = preview["content"][0]["text"].as_str().unwrap();
    assert!(
        said.contains("+made\n") && said.contains("call again with `expect`"),
        "{preview}"
    );
    assert!(!root.path.join("made.txt").exists());
    let hash = &preview["structuredContent"]["preview"]["hash"];
    let other = format!("sha256:{}", "0".repeat(64));
    let refused = client.call(
        "apply_file_plan",
        &json!({"plan": plan, "expect": other}),
        &json!({}),
    );
    assert_eq!(refused["isError"], true, "{refused}");
    let flag = client.call(
        "apply_file_plan",
        &json!({"plan": plan, "expect": "x --root /"}),
        &json!({}),
    );
    assert_eq!(
        flag["structuredContent"]["fault"], "invalid_usage",
        "{flag}"
    );
    assert!(!root.path.join("made.txt").exists());
    let done = client.call(
        "apply_file_plan",
        &json!({"plan": plan, "expect": hash}),
        &json!({}),
    );
    assert!(
        done["structuredContent"]["execution_report"].is_object(),
        "{done}"
    );
    assert_eq!(
        fs::read_to_string(root.path.join("made.txt")).unwrap(),
        "made\n"
    );
    client.leave();
}

#[test]
fn the_list_changes_when_the_catalog_does_in_both_eras() {
    let root = Root::with_catalog(CATALOG);
    let changed = |message: &Value| message["method"] == "notifications/tools/list_changed";
    let mut legacy = Client::legacy(&root, &[]);
    let mut client = Client::silent(&root, &[]);
    let asked = json!({"notifications": {"toolsListChanged": true}});
    let listen = client.send("subscriptions/listen", &modern(asked));
    client.wait(|message| message["method"] == "notifications/subscriptions/acknowledged");
    let more = CATALOG.replace(
        "[capability.for_programs]",
        "[capability.for_programs]\nis_action = true\ndescription = \"Now.\"",
    );
    fs::write(root.path.join("catalog.toml"), &more).unwrap();
    legacy.wait(changed);
    let told = client.wait(changed);
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(listen),
        "{told}"
    );
    for list in [
        legacy.ask("tools/list", &json!({})),
        client.ask("tools/list", &modern(json!({}))),
    ] {
        assert!(names(&list).contains(&"for_programs"));
    }
    // A catalog that cannot be used offers what it offered last, and its calls are refused.
    fs::write(root.path.join("catalog.toml"), "catalog = ").unwrap();
    assert!(names(&legacy.ask("tools/list", &json!({}))).contains(&"happen"));
    let refused = legacy.call("happen", &json!({}), &json!({}));
    assert_eq!(refused["structuredContent"]["fault"], "catalog_invalid");
    // A request sees a change at once.
    fs::write(root.path.join("catalog.toml"), CATALOG).unwrap();
    assert_eq!(names(&legacy.ask("tools/list", &json!({}))), OFFERED);
    legacy.leave();
    client.leave();
}

#[test]
fn progress_is_passed_on_to_a_client_that_asks_for_it() {
    let teller = CATALOG.to_owned()
        + "[server.teller]\ncommand = [\"python3\", \"-SB\", \"servers/teller.py\"]\n[capability.say]\nis_action = true\n\
           description = \"Say.\"\nmcp = { server = \"teller\", tool = \"say\" }\nparameter_schema_for_action = { type = \"object\" }\n";
    let root = Root::with_catalog(&teller);
    let mut client = Client::legacy(&root, &[]);
    client.call("say", &json!({}), &json!({"progressToken": "p1"}));
    for done in 0..3 {
        let seen = client.wait(|message| message["method"] == "notifications/progress");
        let expected = (&json!("p1"), Some(f64::from(done)), Some(3.0));
        let seen = &seen["params"];
        assert_eq!(
            (
                &seen["progressToken"],
                seen["progress"].as_f64(),
                seen["total"].as_f64()
            ),
            expected
        );
    }
    client.leave();
}

/// What a client of the official SDKs finds.
fn found(root: &Root, command: &mut Command) -> Value {
    let output = command.env("ONEACT", ONEACT).output().unwrap();
    let said = text(&*output.stderr);
    assert!(output.status.success(), "{said}");
    until_nothing_runs(root);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn script(name: &str) -> String {
    format!("{}/tests/serving/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_python_sdk_uses_it_in_both_eras() {
    let root = Root::with_catalog(CATALOG);
    let python = installed("servers/bin/python");
    let mut offered = OFFERED;
    offered.sort_unstable();
    for (era, version) in [("legacy", "2025-11-25"), ("modern", "2026-07-28")] {
        let mut command = root.within(python.as_str());
        command.args(["-B", &script("client.py"), era, root.path.as_str()]);
        let expected = json!({
            "version": version, "tools": offered, "happened": {"happened": format!("python {era}")}, "again": "suppressed",
            "wrong": [true, "params_invalid"],
        });
        assert_eq!(found(&root, &mut command), expected);
    }
    assert_eq!(happened(&root), 2);
}

#[test]
fn the_typescript_sdk_uses_it() {
    let root = Root::with_catalog(CATALOG);
    let mut command = root.within("node");
    command.args([
        &script("client.mjs"),
        installed("node_modules").as_str(),
        root.path.as_str(),
    ]);
    let found = found(&root, &mut command);
    assert_eq!(found["happened"], json!({"happened": "typescript"}));
    assert_eq!(
        (&found["again"], &found["wrong"]),
        (&json!("suppressed"), &json!([true, "params_invalid"]))
    );
    assert_eq!(happened(&root), 1);
}

#[test]
fn the_inspector_uses_it() {
    let root = Root::with_catalog(CATALOG);
    let (node, inspector) = (
        installed("conformance/node_modules/.bin/node"),
        installed("inspector/node_modules/.bin/mcp-inspector"),
    );
    let inspect = |arguments: &[&str]| {
        let mut command = root.within(node.as_str());
        command.args([
            inspector.as_str(),
            "--cli",
            ONEACT,
            "serve",
            "catalog",
            "--root",
            root.path.as_str(),
        ]);
        command.args(arguments);
        found(&root, &mut command)
    };
    let list = inspect(&["--method", "tools/list"]);
    assert_eq!(list["tools"].as_array().unwrap().len(), OFFERED.len());
    let called = inspect(&[
        "--method",
        "tools/call",
        "--tool-name",
        "happen",
        "--tool-arg",
        "what=inspected",
    ]);
    assert_eq!(
        called["structuredContent"],
        json!({"happened": "inspected"}),
        "{called}"
    );
    assert_eq!(happened(&root), 1);
}
