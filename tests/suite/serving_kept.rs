//! Servers that live as long as a session of `oneact serve catalog` (`keep_alive = true`).

use std::{collections::BTreeSet, fs, time::Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    installed::{call, entry, installed},
    program::{Root, signal, until},
    serving_client::{CATALOG, Client, happened, until_nothing_runs},
};

fn kept() -> Root {
    let command = "command = [\"python3\", \"-SB\", \"servers/counter.py\", \"counted\"]";
    Root::with_catalog(&CATALOG.replace(command, &format!("{command}\nkeep_alive = true")))
}

/// The processes of this root whose command line has that word.
fn running(root: &Root, word: &str) -> BTreeSet<i32> {
    let has = |pid: &i32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command
            .split(|byte| *byte == 0)
            .any(|part| part == word.as_bytes())
    };
    root.processes().into_iter().filter(has).collect()
}

fn counters(root: &Root) -> BTreeSet<i32> {
    running(root, "servers/counter.py")
}

#[test]
fn one_process_serves_all_calls_of_the_session_and_ends_with_it() {
    let root = kept();
    let mut client = Client::legacy(&root, &[]);
    let ids: Vec<u64> = (0..8)
        .map(|number| {
            client.send(
                "tools/call",
                &json!({"name": "happen", "arguments": {"what": format!("call {number}")}}),
            )
        })
        .collect();
    let mut servers = BTreeSet::new();
    for id in ids {
        let answer = client.wait(|message| message["id"] == id);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        servers.extend(counters(&root));
    }
    // A failure of the tool, and one of its arguments, leave the server as it is.
    for (arguments, fault) in [
        (json!({"what": "fails"}), "rate_limited"),
        (json!({"what": 1}), "params_invalid"),
    ] {
        let failed = client.call("happen", &arguments, &json!({}));
        assert_eq!(failed["structuredContent"]["fault"], fault);
    }
    servers.extend(counters(&root));
    assert_eq!(servers.len(), 1);
    assert_eq!(happened(&root), 9);
    // A server that is not kept has its own run.
    assert_eq!(
        client.call(
            "transcribe",
            &json!({"input_ref": "store_1"}),
            &json!({"oneact/refs": {"store_1": "none.wav"}})
        )["isError"],
        true
    );
    client.leave();
    root.assert_untouched();
}

#[test]
fn the_calls_of_a_kept_server_leave_no_open_files() {
    let root = kept();
    let mut client = Client::legacy(&root, &[]);
    // A supervisor that has just answered may still close files, such as those of the ledger.
    let mut calls = |name: &str| -> Vec<usize> {
        let files = |number| {
            let arguments = json!({"what": format!("{name} {number}")});
            client.call("happen", &arguments, &json!({}));
            open_files(&root)
        };
        (0..8).map(files).collect()
    };
    calls("first");
    let few = *calls("second").iter().min().unwrap();
    calls("third");
    until("no call has left a file open", || {
        (open_files(&root) <= few).then_some(())
    });
    client.leave();
}

/// The number of files that the only supervisor has open.
fn open_files(root: &Root) -> usize {
    let supervisors = running(root, "supervise");
    assert_eq!(supervisors.len(), 1);
    let open = supervisors.into_iter().map(|pid| format!("/proc/{pid}/fd"));
    open.map(|files| fs::read_dir(files).unwrap().count()).sum()
}

#[test]
fn a_kept_server_that_ends_is_started_again_for_the_next_call() {
    let root = kept();
    let mut client = Client::legacy(&root, &[]);
    let mut calls = |what: &str| {
        let result = client.call("happen", &json!({"what": what}), &json!({}));
        assert_eq!(
            result["structuredContent"],
            json!({"happened": what}),
            "{result}"
        );
    };
    calls("a");
    let first = counters(&root);
    signal(*first.first().unwrap(), Signal::KILL);
    calls("b");
    assert!(counters(&root).is_disjoint(&first));
    // Its supervisor is killed between two calls.
    signal(*running(&root, "supervise").first().unwrap(), Signal::KILL);
    until("the server is gone", || {
        counters(&root).is_empty().then_some(())
    });
    calls("c");
    // After a change of its entry, another server is started.
    let before = counters(&root);
    let changed = fs::read_to_string(root.path.join("catalog.toml"))
        .unwrap()
        .replace(
            "keep_alive = true",
            "keep_alive = true\nenv = { NEW = \"1\" }",
        );
    fs::write(root.path.join("catalog.toml"), changed).unwrap();
    calls("d");
    let after = counters(&root);
    assert!(
        after.is_disjoint(&before) && after.len() == 1,
        "{before:?} {after:?}"
    );
    client.leave();
    assert_eq!(happened(&root), 4);
    root.assert_untouched();
}

#[test]
fn a_call_of_a_kept_server_is_cancelled_or_lost_like_any_other() {
    let root = kept();
    let mut client = Client::legacy(&root, &["--session", "s"]);
    let key = |key: &str| json!({"oneact/idempotency_key": key});
    let id = client.hang(&root, &key("k1"));
    let waiting = client.send(
        "tools/call",
        &json!({"name": "happen", "arguments": {"what": "next"}}),
    );
    client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let next = client.wait(|message| message["id"] == waiting);
    assert_eq!(
        next["result"]["structuredContent"],
        json!({"happened": "next"}),
        "{next}"
    );
    let again = |client: &mut Client, name: &str| -> Value {
        let result = client.call(
            "happen",
            &json!({"what": "hangs", "seconds": 100}),
            &key(name),
        );
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"]["fault"].clone()
    };
    again(&mut client, "k1");
    assert_eq!(happened(&root), 2);
    client.leave();
    root.assert_untouched();
    let mut client = Client::legacy(&root, &["--session", "t"]);
    let id = client.hang(&root, &key("k2"));
    signal(*running(&root, "supervise").first().unwrap(), Signal::KILL);
    let lost = client.wait(|message| message["id"] == id);
    assert_eq!(
        lost["result"]["structuredContent"]["fault"],
        "outcome_unknown"
    );
    assert_eq!(again(&mut client, "k2"), "outcome_unknown");
    client.server.kill().unwrap();
    until_nothing_runs(&root);
    assert_eq!(happened(&root), 3);
}

/// The issue asks for 20 times with 500 calls of a release build; this bound holds also on a busy machine.
#[test]
fn calls_of_a_kept_server_on_node_are_many_times_faster_than_runs() {
    let modules = installed("node_modules/@modelcontextprotocol");
    let entry = entry(
        "everything",
        "echo",
        "is_action = true\ndescription = \"Echo.\"\nparameter_schema_for_action = { type = \"object\" }",
    );
    let root = Root::with_catalog(&format!(
        "catalog = 1\n[server.everything]\ncommand = [\"node\", \"{modules}/server-everything/dist/index.js\", \"stdio\"]\nkeep_alive = true\n{entry}"
    ));
    let begun = Instant::now();
    for number in 0..4 {
        assert_eq!(
            call(&root, "echo", &json!({"message": format!("run {number}")})).exit,
            0
        );
    }
    let run = begun.elapsed() / 4;
    let mut client = Client::legacy(&root, &[]);
    let mut echo = |message: &str| {
        let result = client.call("echo", &json!({"message": message}), &json!({}));
        assert_eq!(
            result["content"][0]["text"],
            json!(format!("Echo: {message}")),
            "{result}"
        );
    };
    echo("first");
    let begun = Instant::now();
    for number in 0..60 {
        echo(&format!("call {number}"));
    }
    let call = begun.elapsed() / 60;
    client.leave();
    root.assert_untouched();
    assert!(run > call * 5, "a run takes {run:?}, a call {call:?}");
}
