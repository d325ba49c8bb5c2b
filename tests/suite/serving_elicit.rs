//! Approvals that the user of the host gives: `approval.by = ["elicitation"]` (issue part 10), and calls under a grant
//! over `oneact serve catalog`.

use std::fs;

use serde_json::{Value, json};

use crate::{
    approvals::{approve, asks, oneact},
    program::Root,
    serving_client::{Client, happened, modern, until_nothing_runs},
};

/// Entries that wait for an approval: one that the host may answer, and one that it may not.
const CATALOG: &str = r#"
catalog = 1

[server.counter]
command = ["python3", "-SB", "servers/counter.py", "counted"]

[capability.publish]
is_action = true
description = "Publish."
mcp = { server = "counter", tool = "happen" }
approval = { when = "always", by = ["elicitation"] }
secret = ["/token"]
parameter_schema_for_action = { type = "object", properties = { what = { type = "string" }, token = { type = "string" } } }

[capability.erase]
is_action = true
description = "Erase."
mcp = { server = "counter", tool = "happen" }
approval = { when = "always" }
parameter_schema_for_action = { type = "object", properties = { what = { type = "string" } } }

[capability.note]
is_action = true
description = "Note."
mcp = { server = "counter", tool = "happen" }
effects = { destructive = false, open_world = false }
parameter_schema_for_action = { type = "object", properties = { what = { type = "string" } } }
"#;

fn asking(root: &Root) -> Client {
    Client::able(root, &["--session", "s"], &json!({"elicitation": {}}))
}

/// Sends a call, and returns its id and the server's question about it.
fn asked(client: &mut Client, what: &str) -> (u64, Value) {
    let call = json!({"name": "publish", "arguments": {"what": what}});
    let id = client.send("tools/call", &call);
    let question = client.wait(|message| message["method"] == "elicitation/create");
    (id, question)
}

fn result(client: &mut Client, id: u64) -> Value {
    client.wait(|message| message["id"] == id && message.get("method").is_none())["result"].clone()
}

/// The only recorded request for an approval.
fn request(root: &Root) -> Value {
    let (exit, listed, _) = oneact(root, &["approvals", "--all", "--json"]);
    assert_eq!(exit, 0, "{listed}");
    let listed: Value = serde_json::from_str(&listed).unwrap();
    listed["approvals"][0].clone()
}

fn elicit(client: &mut Client, question: &Value, answer: &Value) {
    client.tell(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
}

#[test]
fn the_user_of_the_host_approves_a_call_and_the_record_says_that_the_host_said_so() {
    let root = Root::with_catalog(CATALOG);
    let mut client = asking(&root);
    let (id, question) = asked(&mut client, "news");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.contains("publish") && message.contains("news"),
        "{message}"
    );
    let fields = &question["params"]["requestedSchema"];
    assert_eq!(fields["properties"]["approve"]["type"], "boolean");
    // Other calls go on while a person decides.
    let other = client.call("note", &json!({"what": "other"}), &json!({}));
    assert_eq!(other["isError"], false, "{other}");
    assert_eq!(happened(&root), 1);
    elicit(
        &mut client,
        &question,
        &json!({"action": "accept", "content": {"approve": true}}),
    );
    let done = result(&mut client, id);
    assert_eq!(
        done["structuredContent"],
        json!({"happened": "news"}),
        "{done}"
    );
    assert_eq!(happened(&root), 2);
    let decision = &request(&root)["decisions"][0];
    assert_eq!(
        (&decision["decision"], &decision["host"]),
        (&json!("approved"), &json!("t 1"))
    );
    let (_, listed, _) = oneact(&root, &["approvals", "--all"]);
    assert!(listed.contains("told by the host t 1"), "{listed}");
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

#[test]
fn the_form_says_what_is_hidden_outside_the_secret_pointers() {
    let root = Root::with_catalog(CATALOG);
    let mut client = asking(&root);
    let arguments = json!({"what": "news, and all else", "token": ", and all else"});
    let call = json!({"name": "publish", "arguments": arguments});
    let id = client.send("tools/call", &call);
    let question = client.wait(|message| message["method"] == "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    let words: Vec<&str> = message.split_whitespace().collect();
    let warning = "Hidden in `what`: 14 characters of a secret parameter";
    assert!(words.join(" ").contains(warning), "{message}");
    assert!(!message.contains("all else"), "{message}");
    elicit(&mut client, &question, &json!({"action": "decline"}));
    result(&mut client, id);
    assert_eq!(happened(&root), 0);
}

/// Both calls ask, because the first is not approved when the second arrives.
#[test]
fn two_calls_of_one_delivery_that_are_both_approved_get_the_answer_of_one_call() {
    let root = Root::with_catalog(CATALOG);
    let mut client = asking(&root);
    let key = json!({"oneact/idempotency_key": "k"});
    let call = json!({"name": "publish", "arguments": {"what": "news"}, "_meta": key});
    let mut asked = || {
        let id = client.send("tools/call", &call);
        (
            id,
            client.wait(|message| message["method"] == "elicitation/create"),
        )
    };
    let (first, second) = (asked(), asked());
    for (id, question) in [first, second] {
        let yes = json!({"action": "accept", "content": {"approve": true}});
        elicit(&mut client, &question, &yes);
        let done = result(&mut client, id);
        assert_eq!(
            done["structuredContent"],
            json!({"happened": "news"}),
            "{done}"
        );
    }
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_user_who_declines_has_denied_and_one_who_closes_the_form_has_not_decided() {
    for (answer, fault) in [
        (json!({"action": "decline"}), "approval_denied"),
        (
            json!({"action": "accept", "content": {"approve": false}}),
            "approval_denied",
        ),
        (json!({"action": "cancel"}), "approval_required"),
        (json!({"action": "accept"}), "approval_required"),
        (
            json!({"action": "accept", "content": {"approve": "yes"}}),
            "approval_required",
        ),
    ] {
        let root = Root::with_catalog(CATALOG);
        let mut client = asking(&root);
        let (id, question) = asked(&mut client, "news");
        elicit(&mut client, &question, &answer);
        let held = result(&mut client, id);
        assert_eq!(
            held["structuredContent"]["fault"], fault,
            "{answer}: {held}"
        );
        assert_eq!(happened(&root), 0);
    }
}

#[test]
fn an_answer_that_says_two_things_approves_nothing_and_ends_the_call_at_once() {
    let yes = r#"{"action":"accept","content":{"approve":true}}"#;
    let twice = r#"{"action":"accept","content":{"approve":false,"approve":true}}"#;
    let hidden = |value| format!(r#""n":{{"$serde_json::private::RawValue":"{value}"}}"#);
    for answer in [
        &format!(r#""result":{yes},"error":{{"code":-1,"message":"no"}}"#),
        &format!(r#""result":{{"action":"decline"}},"result":{yes}"#),
        &format!(r#""result":{twice}"#),
        r#""result":{"action":"decline","action":"accept","content":{"approve":true}}"#,
        r#""error":"no""#,
        &format!(
            r#""result":{{"action":"decline"}},"result":{yes},{}"#,
            hidden("[1,2,3]")
        ),
        &format!(r#""result":{twice},{}"#, hidden("[1,2]")),
        &format!(r#""result":{yes},{}"#, hidden("[]")),
    ] {
        let root = Root::with_catalog(CATALOG);
        let mut client = asking(&root);
        let (id, question) = asked(&mut client, "news");
        client.write(&format!(
            r#"{{"jsonrpc":"2.0","id":{},{answer}}}"#,
            question["id"]
        ));
        let held = result(&mut client, id);
        let fault = &held["structuredContent"]["fault"];
        assert_eq!(fault, "approval_required", "{answer}: {held}");
        assert_eq!(happened(&root), 0);
    }
    // In the modern era, the call that brings the answer is refused.
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::silent(&root, &["--session", "s"]);
    let asked = client.ask("tools/call", &able(modern_call("news")))["result"].clone();
    let call = answered("news", &asked["requestState"], true).to_string();
    let call = call.replace(r#"{"approve":true}"#, r#"{"approve":false,"approve":true}"#);
    assert!(call.contains(r#""approve":false"#), "{call}");
    client.write(&format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{call}}}"#
    ));
    let refused = client.wait(|message| message["id"] == 9);
    let why = refused["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("two members of an object have one name"),
        "{why}"
    );
    assert_eq!(happened(&root), 0);
}

#[test]
fn only_a_host_that_the_catalog_allows_and_that_can_ask_is_asked() {
    let root = Root::with_catalog(CATALOG);
    for (capabilities, tool) in [
        (json!({}), "publish"),
        (json!({"elicitation": {"url": {}}}), "publish"),
        (json!({"elicitation": {}}), "erase"),
    ] {
        let mut client = Client::able(&root, &[], &capabilities);
        let held = client.call(tool, &json!({"what": "a"}), &json!({}));
        assert_eq!(
            held["structuredContent"]["fault"], "approval_required",
            "{held}"
        );
    }
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_host_that_leaves_while_a_person_decides_has_decided_nothing() {
    let root = Root::with_catalog(CATALOG);
    let mut client = asking(&root);
    asked(&mut client, "news");
    client.leave();
    until_nothing_runs(&root);
    let request = request(&root);
    assert_eq!(
        (&request["state"], &request["decisions"]),
        (&json!("waiting"), &json!([]))
    );
    assert_eq!(happened(&root), 0);
}

fn able(params: Value) -> Value {
    let mut params = modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    params
}

fn modern_call(what: &str) -> Value {
    json!({"name": "publish", "arguments": {"what": what}})
}

/// The call again, with the user's answer.
fn answered(what: &str, state: &Value, approve: bool) -> Value {
    let mut call = modern_call(what);
    call["requestState"] = state.clone();
    call["inputResponses"] =
        json!({"approve": {"action": "accept", "content": {"approve": approve}}});
    able(call)
}

#[test]
fn in_the_modern_era_the_result_asks_and_its_state_is_for_that_call_of_that_process() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::silent(&root, &["--session", "s"]);
    let asked = client.ask("tools/call", &able(modern_call("news")))["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["approve"];
    assert_eq!(question["method"], "elicitation/create");
    assert!(
        question["params"]["message"]
            .as_str()
            .unwrap()
            .contains("news")
    );
    let state = &asked["requestState"];
    let mut forged = state.as_str().unwrap().to_owned();
    forged.replace_range(10..12, "AA");
    let stateless = {
        let mut call = answered("news", state, true);
        call.as_object_mut().unwrap().remove("requestState");
        call
    };
    for call in [
        answered("other news", state, true),
        answered("news", &json!(forged), true),
        stateless,
    ] {
        let refused = client.ask("tools/call", &call)["result"].clone();
        assert_eq!(
            refused["structuredContent"]["fault"], "invalid_shape",
            "{refused}"
        );
    }
    let mut other = answered("news", state, true);
    other["_meta"]["oneact/idempotency_key"] = json!("k2");
    let refused = client.ask("tools/call", &other)["result"].clone();
    let message = refused["structuredContent"]["message"].as_str().unwrap();
    assert!(message.contains("belongs to the call with"), "{refused}");
    let mut stranger = Client::silent(&root, &["--session", "s"]);
    let refused = stranger.ask("tools/call", &answered("news", state, true))["result"].clone();
    assert_eq!(refused["structuredContent"]["fault"], "invalid_shape");
    assert_eq!(happened(&root), 0);

    let done = client.ask("tools/call", &answered("news", state, true))["result"].clone();
    assert_eq!(
        done["structuredContent"],
        json!({"happened": "news"}),
        "{done}"
    );
    // If the result was lost, the same answer once more gets it again, and approves nothing.
    let again = client.ask("tools/call", &answered("news", state, true))["result"].clone();
    assert_eq!(again["_meta"]["oneact/state"], "replayed", "{again}");
    assert_eq!(happened(&root), 1);
    assert_eq!(request(&root)["decisions"][0]["host"], "t 1");
}

/// A no is a no, also if it comes too late to be recorded and somebody else has approved the next request.
#[test]
fn a_no_of_the_user_performs_nothing() {
    let brief = CATALOG.replace(
        "by = [\"elicitation\"]",
        "by = [\"elicitation\"], expires = \"1s\"",
    );
    let root = Root::with_catalog(&brief);
    let mut client = Client::silent(&root, &["--session", "s"]);
    let mut call = able(modern_call("news"));
    call["_meta"]["oneact/idempotency_key"] = json!("k");
    let asked = client.ask("tools/call", &call)["result"].clone();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let mut other = Client::legacy(&root, &["--session", "s"]);
    let key = json!({"oneact/idempotency_key": "k"});
    let mut held = other.call("publish", &json!({"what": "news"}), &key);
    if held["structuredContent"]["fault"] == "approval_expired" {
        held = other.call("publish", &json!({"what": "news"}), &key);
    }
    approve(
        &root,
        held["structuredContent"]["waiting"]["approval_id"]
            .as_str()
            .unwrap(),
    );
    let mut no = answered("news", &asked["requestState"], false);
    no["_meta"]["oneact/idempotency_key"] = json!("k");
    let refused = client.ask("tools/call", &no)["result"].clone();
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(happened(&root), 0);
}

#[test]
fn an_approval_by_the_host_is_none_after_the_catalog_has_changed() {
    let root = Root::with_catalog(CATALOG);
    let mut client = asking(&root);
    let (id, question) = asked(&mut client, "news");
    let strict = CATALOG.replace(r#", by = ["elicitation"]"#, "");
    fs::write(root.path.join("catalog.toml"), strict).unwrap();
    elicit(
        &mut client,
        &question,
        &json!({"action": "accept", "content": {"approve": true}}),
    );
    let held = result(&mut client, id);
    assert_eq!(
        held["structuredContent"]["fault"], "approval_mismatch",
        "{held}"
    );
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_host_answers_for_the_user_who_asks_so_prevent_self_forbids_it() {
    let both = CATALOG.replace(
        r#"by = ["elicitation"]"#,
        r#"by = ["elicitation"], prevent_self = true"#,
    );
    let root = Root::with_catalog(&both);
    let (exit, found, said) = oneact(&root, &["catalog", "check"]);
    assert_ne!(exit, 0);
    assert!((found + &said).contains("prevent_self"), "{exit}");
}

/// The grant is opened with a task on stdin, and its calls come from the host.
#[test]
fn a_call_of_the_host_can_be_covered_by_a_grant() {
    let root = Root::with_catalog(CATALOG);
    let proposal = json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"kind": "improvised", "task_id": "tidy", "attempt": 1, "plan_summary": "Note.",
                     "grant": {"entries": ["note"], "max_calls": 1, "for": "10m"}},
    });
    let id = asks(&root.run(&proposal));
    approve(&root, &id);
    let under = root.run(&proposal).result_data()["grant"]["under"].clone();
    let mut client = Client::legacy(&root, &["--session", "s"]);
    let covered = json!({"oneact/under": under});
    let done = client.call("note", &json!({"what": "a"}), &covered);
    assert_eq!(
        done["structuredContent"],
        json!({"happened": "a"}),
        "{done}"
    );
    let over = client.call("note", &json!({"what": "b"}), &covered);
    assert_eq!(
        over["structuredContent"]["fault"], "grant_used_up",
        "{over}"
    );
    let foreign = client.call("erase", &json!({"what": "c"}), &covered);
    assert_eq!(
        foreign["structuredContent"]["fault"], "grant_mismatch",
        "{foreign}"
    );
    assert_eq!(happened(&root), 1);
}
