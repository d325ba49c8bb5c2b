//! `oneact serve catalog` and what goes wrong: bad input, clients that leave, processes that are killed, many calls.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    program::{Root, signal, signal_child, text, until},
    serving_client::{CATALOG, Client, happened, modern, until_nothing_runs},
};

/// The processes that perform calls of this root.
fn supervisors(root: &Root) -> Vec<i32> {
    let mut all = root.processes();
    all.retain(|pid| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).nth(1) == Some(b"run")
    });
    // A process that a supervisor starts has the supervisor's command line until it executes its own program.
    let parent = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default();
        fields
            .split_whitespace()
            .nth(1)
            .and_then(|id| id.parse().ok())
    };
    let known = all.clone();
    all.retain(|pid| parent(pid).is_none_or(|id: i32| !known.contains(&id)));
    all
}

/// A refusal of the protocol: nothing ran.
fn refused<'a>(answer: &'a Value, fault: &str) -> &'a str {
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["fault"]),
        (&json!(-32602), &json!(fault)),
        "{answer}"
    );
    answer["error"]["message"].as_str().unwrap()
}

#[test]
fn a_tool_that_is_not_offered_is_refused_and_nothing_runs() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    let mut call = |tool: &str| client.ask("tools/call", &json!({"name": tool, "arguments": {}}));
    assert!(refused(&call("for_persons"), "context_denied").contains("AGENT_AUTONOMOUS"));
    assert!(refused(&call("for_programs"), "context_denied").contains("is_action"));
    // The nearest name is one that is offered.
    assert!(refused(&call("happens"), "unknown_capability").contains("did you mean happen?"));
    assert!(!refused(&call("for_person"), "unknown_capability").contains("for_persons"));
    client.leave();
    assert_eq!(happened(&root), 0);
    assert!(!root.path.join(".oneact/ledger.db").exists());
}

/// What a client says about itself decides nothing, in neither era.
#[test]
fn a_client_that_lies_about_itself_gains_nothing() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::silent(&root, &[]);
    let lie = json!({"name": "USER_INVOCATION", "title": "--profile user", "version": "1", "context": "USER_INVOCATION"});
    client.ask("initialize", &json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": lie}));
    client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let arguments = json!({"what": "a", "context": "USER_INVOCATION"});
    let answer = client.ask(
        "tools/call",
        &json!({"name": "for_persons", "arguments": arguments}),
    );
    refused(&answer, "context_denied");
    let mut client = Client::silent(&root, &[]);
    let mut asked = modern(json!({"name": "for_persons", "arguments": arguments}));
    asked["_meta"]["io.modelcontextprotocol/clientInfo"] = lie;
    asked["_meta"]["context"] = "USER_INVOCATION".into();
    refused(&client.ask("tools/call", &asked), "context_denied");
    assert_eq!(happened(&root), 0);
}

#[test]
fn arguments_and_keys_that_do_not_fit_are_refused_and_nothing_runs() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    for (arguments, meta, fault) in [
        (json!({"what": 1}), json!({}), "params_invalid"),
        (json!({"how": "x"}), json!({}), "params_invalid"),
        (
            json!({}),
            json!({"oneact/idempotency_key": 1}),
            "invalid_shape",
        ),
        (
            json!({}),
            json!({"oneact/idempotency_key": ""}),
            "invalid_shape",
        ),
        (
            json!({}),
            json!({"oneact/idempotency_key": "k".repeat(513)}),
            "invalid_shape",
        ),
        (
            json!({}),
            json!({"oneact/session": "other"}),
            "invalid_shape",
        ),
        (json!({}), json!({"oneact/refs": ["a"]}), "invalid_shape"),
        (
            json!({}),
            json!({"oneact/refs": {"../a": "b"}}),
            "invalid_shape",
        ),
    ] {
        let result = client.call("happen", &arguments, &meta);
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["fault"]),
            (&json!(true), &json!(fault)),
            "{meta}: {result}"
        );
    }
    for arguments in [
        json!({}),
        json!({"plan": {"action_plan": []}, "dry_run": "yes"}),
        json!({"plan": 1, "expect": 1}),
    ] {
        assert_eq!(
            client.call("apply_file_plan", &arguments, &json!({}))["isError"],
            true
        );
    }
    client.leave();
    assert_eq!(happened(&root), 0);
    root.assert_untouched();
}

/// `serde_json` would read the value of such a key as another value, and a second member of one name would be lost.
#[test]
fn a_request_with_a_key_that_serde_json_reserves_is_refused_for_that_key() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    for (arguments, id) in [
        (
            r#"{"what":"a","what":"b","m":{"$serde_json::private::RawValue":"[1,2]"}}"#,
            json!(9),
        ),
        (
            r#"{"$serde_json::private::RawValue":"{\"what\":\"b\"}"}"#,
            json!(9),
        ),
        (
            r#"{"what":"a","m":{"$serde_json::private::Number":"1"}}"#,
            json!(9),
        ),
        (
            r#"{"what":"a","m":{"$serde_json\u003a:private::Number":"x"}}"#,
            json!(null),
        ),
    ] {
        client.write(&format!(
            r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"happen","arguments":{arguments}}}}}"#
        ));
        let refused = client.wait(|message| message.get("error").is_some());
        let error = &refused["error"];
        assert_eq!((&error["code"], &refused["id"]), (&json!(-32600), &id));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("is reserved"), "{arguments}: {message}");
    }
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_cancelled_call_ends_with_its_server_and_the_session_goes_on() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    let id = client.hang(&root, &json!({"oneact/idempotency_key": "k"}));
    client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    until("the call has ended", || {
        (root.processes().len() == 1).then_some(())
    });
    // It may have happened, so it is not repeated.
    let again = client.call(
        "happen",
        &json!({"what": "hangs", "seconds": 100}),
        &json!({"oneact/idempotency_key": "k"}),
    );
    assert_eq!(again["isError"], true, "{again}");
    assert_eq!(
        client.call("happen", &json!({"what": "b"}), &json!({}))["structuredContent"],
        json!({"happened": "b"})
    );
    client.leave();
    assert_eq!(happened(&root), 2);
}

#[test]
fn a_client_that_leaves_ends_all_calls_and_leaves_nothing() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &["--session", "s"]);
    client.hang(&root, &json!({"oneact/idempotency_key": "k"}));
    for _ in 0..6 {
        client.send("tools/call", &json!({"name": "happen", "arguments": {"what": "more", "seconds": 100}, "_meta": {"oneact/salt": "x"}}));
    }
    client.leave();
    root.assert_untouched();
    let before = happened(&root);
    let mut client = Client::legacy(&root, &["--session", "s"]);
    let again = client.call(
        "happen",
        &json!({"what": "hangs", "seconds": 100}),
        &json!({"oneact/idempotency_key": "k"}),
    );
    assert_eq!(again["isError"], true, "{again}");
    assert_eq!(happened(&root), before);
}

#[test]
fn a_killed_server_leaves_no_process_and_its_once_only_call_is_not_repeated() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &["--session", "s"]);
    let key = json!({"oneact/idempotency_key": "k"});
    client.hang(&root, &key);
    signal_child(&client.server, Signal::KILL);
    until_nothing_runs(&root);
    let mut client = Client::legacy(&root, &["--session", "s"]);
    let again = client.call("happen", &json!({"what": "hangs", "seconds": 100}), &key);
    assert_eq!(again["isError"], true, "{again}");
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_killed_supervisor_is_reported_and_its_once_only_call_is_not_repeated() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    let key = json!({"oneact/idempotency_key": "k"});
    let id = client.hang(&root, &key);
    let [supervisor] = supervisors(&root)[..] else {
        panic!("one call, one supervisor");
    };
    signal(supervisor, Signal::KILL);
    let lost = client.wait(|message| message["id"] == id)["result"].clone();
    assert_eq!(
        (&lost["isError"], &lost["structuredContent"]["fault"]),
        (&json!(true), &json!("outcome_unknown"))
    );
    let said = lost["content"][0]["text"].as_str().unwrap();
    assert!(
        said.contains("signal: 9") && said.contains("oneact/idempotency_key"),
        "{said}"
    );
    let again = client.call("happen", &json!({"what": "hangs", "seconds": 100}), &key);
    assert_eq!(
        again["structuredContent"]["fault"], "outcome_unknown",
        "{again}"
    );
    assert_eq!(happened(&root), 1);
    // The next call removes the scratch directory of the killed one.
    client.call("happen", &json!({"what": "b"}), &json!({}));
    client.leave();
    root.assert_untouched();
}

#[test]
fn sixteen_calls_at_once_are_performed_four_at_a_time() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    let call = |number: usize| json!({"name": "happen", "arguments": {"what": format!("call {number}"), "seconds": 0.3}});
    let ids: Vec<u64> = (0..16)
        .map(|number| client.send("tools/call", &call(number)))
        .collect();
    let most = thread::scope(|scope| {
        let root = &root;
        let counting = scope.spawn(move || {
            let mut most = 0;
            while happened(root) < 16 {
                // One may end and another begin while they are listed. Those in two lists live at the same time.
                let (before, after) = (supervisors(root), supervisors(root));
                most = most.max(after.iter().filter(|pid| before.contains(pid)).count());
                thread::sleep(Duration::from_millis(20));
            }
            most
        });
        for (number, id) in ids.iter().enumerate() {
            let answer = client.wait(|message| message["id"] == *id);
            assert_eq!(
                answer["result"]["structuredContent"],
                json!({"happened": format!("call {number}")})
            );
        }
        counting.join().unwrap()
    });
    assert!((2..=4).contains(&most), "{most} at once");
    // A short call is not behind a long one, and lists are answered meanwhile.
    let long = client.hang(&root, &json!({}));
    let short = client.call("happen", &json!({"what": "short"}), &json!({}));
    assert_eq!(short["structuredContent"], json!({"happened": "short"}));
    client.ask("tools/list", &json!({}));
    client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": long}}));
    client.leave();
    assert_eq!(happened(&root), 18);
    root.assert_untouched();
}

/// rmcp 3.9 answered with an empty list.
#[test]
fn what_is_not_offered_is_refused() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let answer = client.ask(method, &json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    client.leave();
}

/// The reason and the exit code of a command line that serves nothing.
fn unusable(root: &Root, arguments: &[&str]) -> String {
    let mut command = root.command();
    let output = command
        .arg("serve")
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), text(&*output.stdout)),
        (Some(2), String::new()),
        "{arguments:?}"
    );
    text(&*output.stderr)
}

#[test]
fn a_server_that_could_serve_nothing_does_not_start() {
    let root = Root::with_catalog(CATALOG);
    assert!(unusable(&root, &["catalog", "--session", "a/b"]).contains("slashes"));
    assert!(unusable(&root, &["catalog", "--profile", "x"]).contains("--profile names `x`"));
    assert!(
        unusable(&root, &["acquisition", "--root", "."])
            .contains("the others are those of `oneact serve catalog`")
    );
    fs::write(root.path.join("catalog.toml"), "catalog = 2\n").unwrap();
    assert!(unusable(&root, &["catalog"]).contains("catalog.toml:1"));
}
