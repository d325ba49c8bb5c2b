//! What is in no file and on no page.

use super::*;

#[test]
fn secrets_tokens_and_signatures_are_in_no_file_of_the_ledger_and_in_no_log() {
    let (secret, token, signature) = (
        "s3cr3t-of-the-caller",
        "t0k3n-of-the-server",
        "deadbeef0123456789",
    );
    let entry = r#"
[server.told]
command = ["python3", "servers/counter.py", "counted"]
env_pass = ["SERVER_TOKEN"]
[capability.told]
effects = { idempotent = true, open_world = false }
mcp = { server = "told", tool = "happen" }
secret = ["/what"]
result = { kind = "metadata" }
"#;
    let root = Root::with_catalog(&format!("{CATALOG}{entry}"));
    let link = format!(
        "https://b.s3.amazonaws.com/a.mp4?X-Amz-Date=20260101T000000Z&X-Amz-Signature={signature}"
    );
    for (task, parameters) in [
        ("t1", json!({"what": secret, "link": link})),
        (
            "t2",
            json!({"what": format!("fails {token}"), "link": link}),
        ),
        ("t1", json!({"what": secret, "link": link})),
    ] {
        let mut command = root.command();
        command.args(["-vv"]).env("SERVER_TOKEN", token);
        let answer = run(
            command,
            request("told", task, &parameters).to_string().as_bytes(),
        );
        let said =
            answer.at("/output").to_string() + &answer.at("/audit").to_string() + &answer.stderr;
        for hidden in [secret, token, signature] {
            assert!(!said.contains(hidden), "{task}: {hidden} in {said}");
        }
    }
    // Nor does anything show them that tells of it later.
    for args in [
        ["history"].as_slice(),
        &["history", "--json"],
        &["show", "0"],
        &["show", "1", "--json"],
        &["replay"],
        &["replay", "0"],
        &["replay", "--html", "/dev/stdout"],
        &["replay", "0", "--execute"],
        &["verify", "--anchor-out"],
    ] {
        let seen = root.look(args);
        assert!(!seen.out.is_empty(), "{args:?}: {}", seen.err);
        for hidden in [secret, token, signature] {
            let said = [&seen.out, &seen.err];
            assert!(
                !said.iter().any(|text| text.contains(hidden)),
                "{args:?}: {hidden}"
            );
        }
    }
    // What the server itself wrote is its own.
    fs::remove_file(root.path.join("counted")).unwrap();
    let mut looked_at = 0;
    for dir in [".oneact", "agent_logs", "agent_outputs"] {
        for file in walk(&root.path.join(dir)) {
            let bytes = fs::read(&file).unwrap();
            for hidden in [secret, token, signature] {
                let found = bytes
                    .windows(hidden.len())
                    .any(|window| window == hidden.as_bytes());
                assert!(!found, "{hidden} in {file}");
            }
            looked_at += 1;
        }
    }
    assert!(looked_at >= 1);
}

/// A link can be the name of a task. A plan whose own names contain credentials is refused.
#[test]
fn no_name_of_a_plan_takes_credentials_into_its_reports() {
    let (secret, signature) = ("PWs3cr3t", "deadbeef0123456789");
    let link = format!("https://u:{secret}@h.example/?sig={signature}");
    let plan = |plan_id: &str, action_id: &str| {
        json!({
            "task_plan": {"plan_id": plan_id, "action_plan": [{
                "action_id": action_id, "action_type": "FILE_CREATE", "target": "a.txt",
                "operation": {"type": "create", "content": "one\n"},
            }]},
            "protocol_validation": true, "task_id": link, "metadata": {"session_id": "s", "request_id": action_id},
        })
    };
    let root = Root::with_catalog(CATALOG);
    for refused in [plan(&link, "a1"), plan("p", &link)] {
        let answer = root.run(&refused);
        assert_eq!(
            (answer.exit, fault(&answer)),
            (2, "plan_invalid"),
            "{}",
            answer.envelope
        );
        assert!(
            answer
                .at("/error")
                .to_string()
                .contains("a URL with credentials"),
            "{}",
            answer.envelope
        );
    }
    assert_eq!(state(&root.run(&plan("p", "a1"))), "done");
    let status = root.run(&json!({
        "envelope": {"message_type": "STATUS_QUERY", "session_id": "s", "message_id": "q"},
        "payload": {"task_id": link, "content": {"task_id": link}},
    }));
    assert_eq!(state(&status), "done", "{}", status.envelope);
    for dir in [".oneact", "agent_logs", "agent_outputs"] {
        for file in walk(&root.path.join(dir)) {
            let bytes = fs::read(&file).unwrap();
            for hidden in [secret, signature] {
                let mut windows = bytes.windows(hidden.len());
                assert!(
                    !windows.any(|window| window == hidden.as_bytes()),
                    "{hidden} in {file}"
                );
                assert!(!file.as_str().contains(hidden), "{file}");
            }
        }
    }
}

/// The recorded answer is read again, so its own words are not cut.
#[test]
fn a_secret_that_is_a_word_of_the_record_does_not_spoil_the_answer() {
    let entry = r#"
[server.told]
command = ["python3", "servers/counter.py", "counted"]
env_pass = ["SERVER_TOKEN"]
[capability.told]
effects = { idempotent = false, destructive = false }
mcp = { server = "told", tool = "happen" }
result = { kind = "metadata" }
"#;
    for word in [
        "data",
        "task_result",
        "tool_invocations",
        "capability_ids_executed",
        "quality_checks",
        "result_data",
        "status",
        "error",
        "type",
        "tool_error",
        "message",
        "told",
    ] {
        let root = Root::with_catalog(&format!("{CATALOG}{entry}"));
        for what in ["done", "fails"] {
            let ask = request("told", what, &json!({"what": what})).to_string();
            let sent = || {
                let mut command = root.command();
                command.env("SERVER_TOKEN", word);
                run(command, ask.as_bytes())
            };
            let (first, second) = (sent(), sent());
            assert_eq!(state(&second), "replayed", "{word}: {}", second.envelope);
            let facts = |answer: &Answer| {
                [
                    "/output/content/oneact/fault",
                    "/output/content/task_result/result_data",
                    "/output/content/task_result/capability_ids_executed",
                ]
                .map(|place| answer.at(place).clone())
            };
            assert_eq!(facts(&second), facts(&first), "{word} {what}");
        }
    }
}

fn walk(dir: &camino::Utf8Path) -> Vec<camino::Utf8PathBuf> {
    let Ok(entries) = dir.read_dir_utf8() else {
        return Vec::new();
    };
    let entries = entries.flatten().map(|entry| entry.path().to_owned());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                walk(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
