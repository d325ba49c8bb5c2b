//! Approvals of calls over `oneact serve catalog`, also of a host that sends no `_meta` and starts a server for each call.

use super::*;
use crate::{installed::installed, serving_client::Client};

fn offered_root() -> Root {
    let offered = catalog("expires = \"10m\"", "").replace(
        "[capability.send]",
        "[capability.send]\nis_action = true\n\
         parameter_schema_for_action = { type = \"object\", properties = { what = { type = \"string\" } } }",
    );
    Root::with_catalog(&offered)
}

/// The result of a call without `_meta`.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    client.ask("tools/call", &json!({"name": tool, "arguments": arguments}))["result"].clone()
}

fn waits(result: &Value) -> String {
    assert_eq!(
        result["structuredContent"]["fault"], "approval_required",
        "{result}"
    );
    let id = &result["structuredContent"]["waiting"]["approval_id"];
    id.as_str().unwrap().to_owned()
}

/// What each host does: a call that waits, the same call after the approval, another one in other words, and the tool that
/// performs the approved one.
fn journey(root: &Root, send: &dyn Fn(&str, &str, &str) -> Value) {
    let id = waits(&send("send", "what", "mail"));
    approve(root, &id);
    assert_eq!(
        send("send", "what", "mail")["structuredContent"],
        json!({"happened": "mail"})
    );
    let first = send("send", "what", "news");
    let id = waits(&first);
    let told = first["content"][0]["text"].as_str().unwrap();
    assert!(
        told.contains("run_approved") && told.contains(&format!("oneact approve {id}")),
        "{told}"
    );
    approve(root, &id);
    let reworded = send("send", "what", "some news");
    let told = reworded["content"][0]["text"].as_str().unwrap();
    let hint = format!("It differs from {id}, which was approved, in `parameters.what`");
    assert!(told.contains(&hint), "{told}");
    let done = send("run_approved", "approval_id", &id);
    assert_eq!(
        done["structuredContent"],
        json!({"happened": "news"}),
        "{done}"
    );
    let again = send("run_approved", "approval_id", &id);
    assert_eq!(
        again["structuredContent"]["fault"], "approval_mismatch",
        "{again}"
    );
    assert_eq!(happened(root), 2);
}

#[test]
fn a_host_that_sends_no_meta_and_starts_a_server_for_each_call() {
    let root = offered_root();
    journey(&root, &|tool, name, value| {
        call(&mut Client::legacy(&root, &[]), tool, &json!({name: value}))
    });
}

#[test]
fn the_python_sdk_with_a_server_for_each_call() {
    let root = offered_root();
    let python = installed("servers/bin/python");
    let script = format!("{}/tests/serving/once.py", env!("CARGO_MANIFEST_DIR"));
    journey(&root, &|tool, name, value| {
        let mut command = root.within(python.as_str());
        command
            .env("ONEACT", ONEACT)
            .args(["-B", &script, root.path.as_str(), tool]);
        let output = command
            .arg(json!({name: value}).to_string())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&*output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    });
}

#[test]
fn the_inspector_starts_a_server_for_each_call() {
    let root = offered_root();
    let (node, inspector) = (
        installed("conformance/node_modules/.bin/node"),
        installed("inspector/node_modules/.bin/mcp-inspector"),
    );
    journey(&root, &|tool, name, value| {
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
        command.args([
            "--method",
            "tools/call",
            "--tool-name",
            tool,
            "--tool-arg",
            &format!("{name}={value}"),
        ]);
        // It exits with an error if the result is one, after it has printed it.
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    });
}

/// A session that the operator names binds the approval, also if the host names no call.
#[test]
fn in_a_named_session_the_next_call_is_the_same_call() {
    let root = offered_root();
    let mut client = Client::legacy(&root, &["--session", "s"]);
    let id = waits(&call(&mut client, "send", &json!({"what": "mail"})));
    approve(&root, &id);
    for other in [&["--session", "s2"][..], &[]] {
        let mut other = Client::legacy(&root, other);
        assert_ne!(
            waits(&call(&mut other, "send", &json!({"what": "mail"}))),
            id
        );
    }
    for named in [id.as_str(), &id[..6]] {
        let mut other = Client::legacy(&root, &["--session", "s2"]);
        let refused = call(&mut other, "run_approved", &json!({"approval_id": named}));
        assert_eq!(refused["isError"], true, "{refused}");
    }
    let mut next = Client::legacy(&root, &["--session", "s"]);
    let done = call(&mut next, "send", &json!({"what": "mail"}));
    assert_eq!(
        done["structuredContent"],
        json!({"happened": "mail"}),
        "{done}"
    );
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_host_performs_only_what_was_requested_in_its_context() {
    let profiles = "[profile.agent]\ncontext = \"AGENT_AUTONOMOUS\"\n[profile.talk]\ncontext = \"AGENT_CONVERSATION\"\n";
    let root = Root::with_catalog(&(catalog("expires = \"10m\"", "") + profiles));
    let mut command = root.command();
    command.args(["--profile", "talk"]);
    let id = asks(&run(command, task("mail").to_string().as_bytes()));
    approve(&root, &id);
    let approved = json!({"approval_id": id});
    let mut other = Client::legacy(&root, &["--profile", "agent"]);
    let refused = call(&mut other, "run_approved", &approved);
    assert_eq!(
        refused["structuredContent"]["fault"], "context_denied",
        "{refused}"
    );
    let wrong = call(&mut other, "run_approved", &json!({"approval": id}));
    assert_eq!(
        wrong["structuredContent"]["fault"], "invalid_shape",
        "{wrong}"
    );
    let mut own = Client::legacy(&root, &["--profile", "talk"]);
    let done = call(&mut own, "run_approved", &approved);
    assert_eq!(
        done["structuredContent"],
        json!({"happened": "mail"}),
        "{done}"
    );
}
