//! `oneact call` with servers that others wrote: typed parameters, tools without an entry, and the answer on a terminal.

use std::fs;

use serde_json::{Value, json};

use crate::{
    approvals::{approve, asks, at_a_terminal, at_a_terminal_with},
    installed::installed,
    looking::Seen,
    program::{Answer, Root, feed, run},
};

/// Two reference servers, with an entry for one tool of each.
fn root(more: &str) -> Root {
    let modules = installed("node_modules/@modelcontextprotocol");
    let root = Root::with_catalog(&format!(
        r#"
catalog = 1

[server.everything]
command = ["node", "{modules}/server-everything/dist/index.js", "stdio"]

[server.files]
command = ["node", "{modules}/server-filesystem/dist/index.js", "{{root}}/files"]

[capability.sum]
description = "Add two numbers"
mcp = {{ server = "everything", tool = "get-sum" }}
effects = {{ read_only = true, open_world = false }}
parameter_schema_for_action = {{ type = "object", required = ["a", "b"], additionalProperties = false, properties = {{ a = {{ type = "number" }}, b = {{ type = "number" }} }} }}

[capability.write]
mcp = {{ server = "files", tool = "write_file" }}
effects = {{ destructive = true, idempotent = true, open_world = false }}
approval = {{ when = "always" }}

[capability.read]
mcp = {{ server = "files", tool = "read_text_file" }}
effects = {{ read_only = true, open_world = false }}
bind = {{ path = "ref.store_1.path" }}

{more}
"#
    ));
    fs::create_dir(root.path.join("files")).unwrap();
    fs::write(root.path.join("files/a.txt"), "hello\n").unwrap();
    root
}

fn call(root: &Root, arguments: &[&str]) -> Answer {
    let mut command = root.command();
    command.arg("call").args(arguments);
    run(command, b"")
}

fn echo(answer: &Answer) -> &Value {
    answer.at("/input/content")
}

fn message(answer: &Answer) -> &str {
    answer.at("/error/error_message").as_str().unwrap()
}

#[test]
fn the_schema_of_the_entry_types_the_parameters_and_the_echo_is_the_task() {
    let root = root("");
    let answer = call(&root, &["sum", "a=1", "b=0.5"]);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(
        answer.result_data(),
        &json!({"text": "The sum of 1 and 0.5 is 1.5."})
    );
    assert_eq!(echo(&answer)["parameters"], json!({"a": 1, "b": 0.5}));
    assert_eq!(echo(&answer)["capability_ids"], json!(["sum"]));
}

#[test]
fn the_schema_of_the_tool_types_the_parameters_of_an_entry_without_one() {
    let root = root(
        "[capability.long]\nmcp = { server = \"everything\", tool = \"trigger-long-running-operation\" }\n",
    );
    let answer = call(&root, &["long", "duration=0.1", "steps=1"]);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(
        echo(&answer)["parameters"],
        json!({"duration": 0.1, "steps": 1})
    );
    let answer = call(&root, &["long", "duration=soon"]);
    assert_eq!((answer.exit, answer.fault()), (2, &json!("params_invalid")));
    assert!(
        message(&answer).contains("must be a number"),
        "{}",
        answer.envelope
    );
}

#[test]
fn an_input_is_a_local_file_of_the_working_directory() {
    let root = root("");
    let answer = call(&root, &["read", "--ref", "store_1=files/a.txt"]);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let uri = format!("file://{}/files/a.txt", root.path);
    let input = json!([{"ref_id": "store_1", "storage_uri": uri, "status": "stored"}]);
    assert_eq!(echo(&answer)["input_refs_resolved"], input);
    for (refs, told) in [
        ("store_1=files/none", "there is no file"),
        ("store_1", "write NAME=PATH"),
        ("a b=files/a.txt", "a ref id must consist of"),
    ] {
        let answer = call(&root, &["read", "--ref", refs]);
        assert_eq!(
            (answer.exit, answer.fault()),
            (2, &json!("input_unresolved"))
        );
        assert!(message(&answer).contains(told), "{}", answer.envelope);
    }
}

#[test]
fn a_tool_without_an_entry_has_the_worst_effects_and_is_recorded() {
    let root = root("");
    let answer = call(&root, &["everything.echo", "message=hi", "--session", "s"]);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(answer.result_data(), &json!({"text": "Echo: hi"}));
    assert_eq!(answer.at("/output/content/oneact/gate/risk"), "high");
    // It is once-only, so the same request is not performed twice in a session.
    let again = call(&root, &["everything.echo", "message=hi", "--session", "s"]);
    assert_eq!(again.state(), "suppressed");
    let salted = call(
        &root,
        &[
            "everything.echo",
            "message=hi",
            "--session",
            "s",
            "--salt",
            "2",
        ],
    );
    assert_eq!(salted.state(), "done");
    let history = root
        .look(&["history", "--capability", "everything.echo", "--json"])
        .json();
    assert_eq!(history["steps"].as_array().unwrap().len(), 3);
}

#[test]
fn a_tool_without_an_entry_waits_where_the_defaults_say_so() {
    let root = root("[defaults]\napproval = { when = \"risk >= high\" }\n");
    let arguments = ["files.create_directory", "path=new"];
    let id = asks(&call(&root, &arguments));
    approve(&root, &id);
    // The same command again, or the stored call, performs what was approved.
    let again = call(&root, &arguments);
    assert_eq!(again.exit, 0, "{}", again.envelope);
    let other = ["files.create_directory", "path=other"];
    let id = asks(&call(&root, &other));
    approve(&root, &id);
    let mut command = root.command();
    command.args(["run", "--approved", &id]);
    let stored = run(command, b"");
    assert_eq!(stored.exit, 0, "{}", stored.envelope);
    assert!(root.path.join("files/new").is_dir() && root.path.join("files/other").is_dir());
}

#[test]
fn nobody_goes_round_the_entry_of_a_tool() {
    let other = r#"
[server.twin]
command = ["node", "MODULES/server-filesystem/dist/index.js", "{root}/files"]
[capability.again]
mcp = { server = "everything", tool = "get-env" }
[capability.and_again]
mcp = { server = "everything", tool = "get-env" }
available_in = ["USER_INVOCATION"]
"#;
    let modules = installed("node_modules/@modelcontextprotocol");
    let root = root(&other.replace("MODULES", modules.as_str()));
    // By the server's own name, and by that of a server that starts the same program.
    for server in ["files", "twin"] {
        let tool = format!("{server}.write_file");
        let answer = call(&root, &[&tool, "path=files/b.txt", "content=x"]);
        asks(&answer);
        assert_eq!(echo(&answer)["capability_ids"], json!(["write"]));
        let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
        assert!(notes.contains("by the rules of its entry write"), "{notes}");
    }
    let answer = call(&root, &["everything.get-env"]);
    assert_eq!(
        (answer.exit, answer.fault()),
        (2, &json!("unknown_capability"))
    );
    assert!(
        message(&answer).ends_with("name one of them: again, and_again"),
        "{}",
        answer.envelope
    );
    assert!(!root.path.join("files/b.txt").exists());
}

#[test]
fn no_other_door_takes_a_tool_without_an_entry() {
    let root = root("");
    let dispatch = json!({"task_id": "t", "capability_ids": ["everything.echo"], "parameters": {"message": "x"}});
    let request = json!({"actionId": "everything.echo", "args": {"message": "x"}});
    let proposal = json!({"kind": "standard", "task_id": "t", "name": "everything.echo", "parameters_json": "{}", "plan_summary": "x"});
    let steps = json!({
        "kind": "improvised", "task_id": "t", "plan_summary": "x",
        "steps": [{"name": "everything.echo", "parameters": {"message": "x"}}],
    });
    let grant = json!({
        "kind": "improvised", "task_id": "t", "plan_summary": "x",
        "grant": {"entries": ["everything.echo"], "max_calls": 1, "for": "30m"},
    });
    for task in [dispatch, request, proposal, steps, grant] {
        let answer = root.run(&task);
        assert_eq!(
            (answer.exit, answer.fault()),
            (2, &json!("unknown_capability")),
            "{task}"
        );
    }
}

#[test]
fn bad_input_is_told_with_its_remedy_and_nothing_is_started() {
    let root = root("");
    for (arguments, fault, told) in [
        (
            &["sum", "a=1", "c=2"][..],
            "params_invalid",
            "sum has no parameter `c`; its parameters: a (a number), b (a number)",
        ),
        (
            &["sum", "a=x", "b=1"],
            "params_invalid",
            "the parameter `a` of sum must be a number",
        ),
        (
            &["sum", "a=1"],
            "params_invalid",
            "\"b\" is a required property",
        ),
        (
            &["sum", "--a", "1"],
            "invalid_usage",
            "without dashes: a=VALUE",
        ),
        (
            &["sum", "a=1", "--timout", "1s"],
            "invalid_usage",
            "a similar argument exists: '--timeout'",
        ),
        (
            &["sum", "--", "--a=1"],
            "params_invalid",
            "a parameter has no dashes: a=…",
        ),
        (
            &["sum", "a:=@none.json"],
            "input_inaccessible",
            "cannot read the file \"none.json\"",
        ),
        (&[], "invalid_usage", "<CAPABILITY|SERVER.TOOL>"),
        (&["smu"], "unknown_capability", "did you mean sum?"),
        (
            &["everythin.echo"],
            "unknown_capability",
            "did you mean everything.echo?",
        ),
        (
            &["everything.ecko", "message=x"],
            "unknown_capability",
            "did you mean echo? `oneact tools everything`",
        ),
        (&["CAP-SYN-1"], "misrouted_synthesis", "reasoning_agent"),
        (
            &["sum", "a=1", "b=1", "--session", ".x"],
            "invalid_shape",
            "must not start with `.`",
        ),
    ] {
        let answer = call(&root, arguments);
        assert_eq!(
            (answer.exit, answer.fault()),
            (2, &json!(fault)),
            "{arguments:?} {}",
            answer.envelope
        );
        assert!(
            message(&answer).contains(told),
            "{arguments:?} {}",
            answer.envelope
        );
    }
}

#[test]
fn a_person_at_a_terminal_reads_the_result_first() {
    let root = root("");
    let (exit, shown) = at_a_terminal(&root, "", &["call", "sum", "a=1", "b=2"]);
    let mut lines = shown.lines();
    assert_eq!(
        (exit, lines.next()),
        (0, Some("The sum of 1 and 2 is 3.")),
        "{shown}"
    );
    let done = lines.next().unwrap();
    assert!(
        done.contains("done in ") && done.contains("oneact show op_"),
        "{shown}"
    );
    assert_eq!(lines.next(), None, "{shown}");
    // `--reply` is for programs, also on a terminal.
    let (_, shown) = at_a_terminal(
        &root,
        "",
        &["call", "sum", "a=1", "b=2", "--reply", "result"],
    );
    assert_eq!(shown, "{\"text\":\"The sum of 1 and 2 is 3.\"}\r\n");
    let (exit, shown) = at_a_terminal(&root, "", &["call", "sum", "a=x"]);
    assert_eq!(exit, 2);
    assert_eq!(
        shown,
        "oneact: params_invalid: the parameter `a` of sum must be a number\r\n"
    );
    let (exit, shown) = at_a_terminal(&root, "", &["call", "write", "path=files/b", "content=x"]);
    assert_eq!(exit, 3, "{shown}");
    assert!(shown.contains("waiting: oneact approve apr_"), "{shown}");
    let (_, shown) = at_a_terminal(&root, "", &["call", "sum", "a=1", "b=2", "--dry-run"]);
    assert!(
        shown.contains("would call get-sum @ everything with {\"a\":1,\"b\":2}"),
        "{shown}"
    );
}

#[test]
fn what_a_server_says_cannot_steer_the_terminal() {
    let root = root("");
    let message = "message=a\u{1b}[2Jb\u{202e}c\nd";
    let (_, shown) = at_a_terminal(&root, "", &["call", "everything.echo", message]);
    assert!(
        shown.starts_with("Echo: a^[[2Jb<U+202E>c\r\nd\r\n"),
        "{shown:?}"
    );
}

#[test]
fn produced_files_are_shown_with_their_sizes() {
    let asset = "[capability.image]\nmcp = { server = \"everything\", tool = \"get-tiny-image\" }\n\
         effects = { read_only = true }\nresult = { kind = \"asset\", asset_type = \"image\", format = \"png\" }\n";
    let root = root(asset);
    let (exit, shown) = at_a_terminal(&root, "", &["call", "image"]);
    assert_eq!(exit, 0, "{shown}");
    let line = shown.lines().next().unwrap();
    assert!(
        line.contains("image") && line.contains("kB") && line.contains("/agent_outputs/assets/"),
        "{shown}"
    );
    let answer = root.look(&["call", "image", "--reply", "result"]).json();
    assert_eq!(answer["output_refs_produced"][0]["asset_type"], "image");
}

#[test]
fn the_result_alone_is_the_data_or_an_error() {
    let root = root("");
    let seen = |arguments: &[&str]| -> Seen { root.look(arguments) };
    let good = seen(&["call", "sum", "a=1", "b=2", "--reply", "result"]);
    assert_eq!(
        (good.exit, good.out.as_str()),
        (0, "{\"text\":\"The sum of 1 and 2 is 3.\"}\n")
    );
    let bad = seen(&[
        "call",
        "files.read_text_file",
        "path=files/none",
        "--reply",
        "result",
    ]);
    assert_eq!(bad.exit, 2, "{}", bad.out);
    let bad = seen(&[
        "call",
        "files.list_directory",
        "path=files/none",
        "--reply",
        "result",
    ]);
    let error = &bad.json()["error"];
    assert_eq!(
        (bad.exit, &error["class"], &error["state"]),
        (1, &json!("tool_error"), &json!("failed"))
    );
    let waits = seen(&[
        "call",
        "write",
        "path=files/b",
        "content=x",
        "--reply",
        "result",
    ]);
    assert_eq!(waits.exit, 3);
    assert_eq!(waits.json()["error"]["waiting"]["for"], "approval");
    let flags = seen(&["run", "--reply", "result", "--timeout", "x"]);
    assert_eq!(flags.exit, 2);
    let schema = seen(&["schema", "result"]).json();
    let validator = jsonschema::validator_for(&schema["$defs"]["failure"]).unwrap();
    for document in [bad.json(), waits.json()] {
        assert!(validator.is_valid(&document), "{document}");
    }
}

#[test]
fn several_documents_on_stdin_are_several_tasks_r_000_06() {
    let root = root("");
    let task = |a: u32| json!({"task_id": format!("t{a}"), "capability_ids": ["sum"], "parameters": {"a": a, "b": 1}});
    let lines = format!("{}\n{}\n", task(1), task(2));
    let answer = run(root.command(), lines.as_bytes());
    assert_eq!(
        (answer.exit, answer.at("/error/error_code")),
        (2, &json!("INVALID_INPUT"))
    );
    let told = message(&answer);
    for word in [
        "second begins in line 2",
        "xargs",
        "parallel",
        "oneact serve catalog",
    ] {
        assert!(told.contains(word), "{told}");
    }
    // The command that the message gives works.
    fs::write(root.path.join("tasks.jsonl"), lines).unwrap();
    let line = told.split('`').nth(3).unwrap().replace(
        "oneact",
        &format!("{} --reply result", crate::program::ONEACT),
    );
    let output = root.within("sh").args(["-c", &line]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        out.lines().count(),
        2,
        "{out} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(out.contains("The sum of 2 and 1 is 3."), "{out}");
}

#[test]
fn the_session_of_the_environment_is_that_of_every_command() {
    let root = root("");
    let with = |arguments: &[&str]| {
        let output = root
            .command()
            .env("ONEACT_SESSION", "mine")
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    with(&["call", "sum", "a=1", "b=2"]);
    let mut run = root.command();
    run.env("ONEACT_SESSION", "mine");
    let mut run = run.spawn().unwrap();
    feed(
        &mut run,
        &json!({"task_id": "t", "capability_ids": ["sum"], "parameters": {"a": 1, "b": 1}}),
    );
    let answer = run.wait_with_output().unwrap();
    let envelope: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(envelope["metadata"]["session_id"], "mine");
    let notes = envelope["audit"]["compliance_notes"].as_str().unwrap();
    assert!(!notes.contains("names no session"), "{notes}");
    call(&root, &["sum", "a=2", "b=2"]);
    assert!(with(&["history"]).starts_with("session mine "));
    assert!(with(&["history", "--all"]).starts_with("all sessions · "));
    assert!(with(&["show", "1"]).contains("mine #1"));
    let (exit, shown) = at_a_terminal_with(
        &root,
        &[("ONEACT_SESSION", "../x")],
        "",
        &["call", "sum", "a=1", "b=2"],
    );
    assert!(
        exit == 2 && shown.contains("the session of $ONEACT_SESSION must not start with `.`"),
        "{shown}"
    );
}

#[test]
fn nine_tasks_without_a_session_are_nine_steps_of_the_history() {
    let root = root("");
    for number in 0..9 {
        let answer = call(&root, &["sum", &format!("a={number}"), "b=1"]);
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
    }
    let history = root.look(&["history"]);
    let mut lines = history.out.lines();
    assert!(
        lines.next().unwrap().ends_with("9 steps"),
        "{}",
        history.out
    );
    assert_eq!(lines.count(), 10, "{}", history.out);
    // Each line begins with a name for `show`.
    let names: Vec<&str> = history
        .out
        .lines()
        .skip(2)
        .filter_map(|line| line.split(' ').next())
        .collect();
    let shown = root.look(&["show", names[4]]);
    assert!(
        shown.out.contains("get-sum @ everything"),
        "{}{}",
        shown.out,
        shown.err
    );
    let limited = root.look(&["history", "--limit", "3"]).out;
    assert!(
        limited.ends_with("the earlier steps are not shown; --limit 0 shows all\n"),
        "{limited}"
    );
    let sessions = root.look(&["sessions", "--json"]).json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 9);
}
