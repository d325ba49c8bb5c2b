//! Programs that start oneact: how they cancel it, what they read of it, and where they start it.

use std::{
    fs,
    io::Write,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::{Signal, getuid};
use serde_json::{Value, json};

use crate::approvals::{asks, at_a_terminal_with};
use crate::program::{
    Answer, ONEACT, Root, download, feed, run, signal_child, text, until_signals_are_caught,
};
use crate::tracer::{
    Act, Traced, is_refused,
    moments::{self, Moment},
};

/// Closes stdout and cancels the run, as Node does.
fn abandoned(mut child: Child) -> Option<i32> {
    drop(child.stdout.take());
    drop(child.stderr.take());
    signal_child(&child, Signal::TERM);
    child.wait().unwrap().code()
}

#[test]
fn a_run_that_is_cancelled_while_nobody_reads_stdout_ends_with_the_signal() {
    let root = Root::new();
    assert_eq!(abandoned(root.hanging()), Some(143));
    root.assert_untouched();
    // Also before the task is there, and if the run does not heed the signal.
    let child = root.command().spawn().unwrap();
    until_signals_are_caught(&child);
    assert_eq!(abandoned(child), Some(143));
    let root = Root::new();
    if is_refused() {
        return;
    }
    let hang = moments::at(&root, Moment::Reserved.of_the_task(), None, Act::Hang);
    let mut run = Traced::start(&root.command(), &root.path, hang);
    run.feed(&download("good"));
    run.until_met();
    drop((run.stdout.take(), run.stderr.take()));
    run.signal(Signal::TERM);
    assert_eq!(run.end().output.status.code(), Some(143));
}

#[test]
fn a_run_that_nodes_exec_file_cancels_ends_with_the_signal_and_the_ledger_has_the_answer() {
    let root = Root::new();
    let script = "const { execFile } = require('node:child_process');
        const [program, task] = process.argv.slice(1);
        const child = execFile(program, [], { timeout: 5000 }, (error, stdout) =>
            console.log(JSON.stringify({ code: error.code, killed: error.killed, stdout })));
        child.stdin.end(task);";
    let mut node = root.within("node");
    let task = download("silent").to_string();
    let output = node.args(["-e", script, ONEACT, &task]).output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!({"code": 143, "killed": true, "stdout": ""});
    assert_eq!(told, expected, "{}", text(&*output.stderr));
    let history = root.command().arg("history").output().unwrap();
    assert!(text(&*history.stdout).contains("cancelled"));
}

#[test]
fn a_run_whose_stdin_stays_open_says_once_what_it_waits_for() {
    let root = Root::new();
    let waiting = |flags: &[&str], begun: &[u8]| {
        let mut child = root.command().args(flags).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(begun).unwrap();
        thread::sleep(Duration::from_secs(5));
        signal_child(&child, Signal::TERM);
        let answer = Answer::of(child.wait_with_output().unwrap());
        drop(stdin);
        assert_eq!(answer.exit, 143);
        answer.stderr.matches("waiting for a task on stdin").count()
    };
    assert_eq!(waiting(&[], b""), 1);
    assert_eq!(waiting(&["run", "-"], b"{"), 1);
    assert_eq!(waiting(&["--quiet"], b""), 0);
    assert_eq!(run(root.command(), b"{}").stderr.lines().count(), 1);
}

#[test]
fn after_the_time_of_a_stdin_that_stays_open_exit_code_and_recoverable_agree() {
    let root = Root::new();
    for begun in ["", "{\"task_id\": "] {
        let mut child = root.command().args(["--timeout", "1"]).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(begun.as_bytes()).unwrap();
        let answer = Answer::of(child.wait_with_output().unwrap());
        drop(stdin);
        assert_eq!((answer.exit, answer.fault()), (2, &json!("timeout")));
        assert_eq!(answer.at("/error/recoverable"), false);
    }
}

#[test]
fn in_merged_streams_the_envelope_comes_last() {
    let root = Root::new();
    let mut merged = root.within("sh");
    merged.args(["-c", "exec \"$0\" \"$@\" 2>&1", ONEACT]);
    for (flags, first) in [
        (&[][..], "oneact: invalid_shape: "),
        (&["--frobnicate"], "oneact: invalid_usage: "),
        (&["--timeout", "0.1"], "oneact: "),
    ] {
        let mut command = root.within("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 2>&1", ONEACT]);
        let mut child = command.args(flags).spawn().unwrap();
        feed(&mut child, &json!({}));
        let merged = text(child.stdout.take().unwrap());
        child.wait().unwrap();
        let lines: Vec<&str> = merged.lines().collect();
        assert_eq!(lines.len(), 2, "{merged}");
        assert!(lines[0].starts_with(first), "{merged}");
        assert!(lines[1].starts_with('{'), "{merged}");
    }
}

#[test]
fn flags_stand_in_any_place() {
    let root = Root::new();
    fs::write(root.path.join("task.json"), download("good").to_string()).unwrap();
    // A root that is called like a verb.
    symlink(&root.path, root.path.join("run")).unwrap();
    let told = |words: &[&str]| {
        let mut command = root.within(ONEACT);
        command.current_dir("/").env_remove("ONEACT_ROOT");
        let here = |word: &&str| word.replace("HERE", root.path.as_str());
        command.args(words.iter().map(here));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let told = format!("{words:?}: {}", text(&*output.stderr));
        (output.status.code().unwrap(), text(&*output.stdout), told)
    };
    for words in [
        &["run", "HERE/task.json", "--root", "HERE"][..],
        &["--root", "HERE", "run", "HERE/task.json"],
        &["--root=HERE", "-q", "run", "--", "HERE/task.json"],
        &["--root", "HERE/run", "run", "HERE/task.json"],
        &[
            "-vv",
            "--root",
            "HERE",
            "--log",
            "json",
            "run",
            "HERE/task.json",
            "--timeout",
            "60",
        ],
        &[
            "--timeout",
            "1m",
            "--no-reuse",
            "run",
            "--root",
            "HERE",
            "HERE/task.json",
        ],
        &["--root", "HERE", "history"],
        &["--limit", "5", "--root", "HERE", "history"],
        &["--root", "HERE", "--json", "catalog", "list"],
        &["--json", "catalog", "--root", "HERE", "show", "CAP-ACQ-002"],
        &["--root", "HERE", "verify"],
        &["--help", "history"],
    ] {
        let (code, stdout, told) = told(words);
        assert_eq!(code, 0, "{told}{stdout}");
        assert!(!stdout.is_empty(), "{told}");
    }
    // What is no flag of the verb is refused.
    for (words, what) in [
        (&["--seed", "1", "--root", "HERE", "history"][..], "--seed"),
        (&["--frobnicate", "history"], "--frobnicate"),
        (&["frobnicate", "run", "HERE/task.json"], "frobnicate"),
        (&["--root", "HERE", "frobnicate", "history"], "frobnicate"),
    ] {
        let (code, _, told) = told(words);
        assert!(code == 2 && told.contains(what), "{told}");
    }
}

#[test]
fn an_unknown_verb_is_told_in_one_line() {
    let root = Root::new();
    for (words, what) in [
        (&["frobnicate"][..], "unrecognized subcommand 'frobnicate'"),
        (&["histroy"], "'history'"),
        (&["--root", ".", "histroy"], "'history'"),
        (&["--tiemout", "1"], "--timeout"),
        (&["frobnicate", "--log", "json"], "frobnicate"),
        (&["--log", "json", "frobnicate"], "frobnicate"),
    ] {
        let mut command = root.command();
        let answer = run_with(command.args(words));
        assert_eq!((answer.exit, answer.fault()), (2, &json!("invalid_usage")));
        let told = &answer.stderr;
        assert!(told.lines().count() == 1 && told.contains(what), "{told}");
        let is_json = serde_json::from_str::<Value>(told).is_ok();
        assert_eq!(is_json, words[0] == "--log", "{told}");
    }
    let quiet = run_with(root.command().args(["--quiet", "frobnicate"]));
    assert_eq!((quiet.exit, quiet.stderr.as_str()), (2, ""));
}

fn run_with(command: &mut Command) -> Answer {
    Answer::of(command.stdin(Stdio::null()).output().unwrap())
}

#[test]
fn a_root_that_was_found_in_a_temporary_directory_is_told() {
    let root = Root::new();
    let told = |set: &dyn Fn(&mut Command)| {
        let mut command = root.command();
        set(command.env_remove("ONEACT_ROOT"));
        let answer = run(command, &download("good").to_string().into_bytes());
        let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
        let is_noted = notes.contains("temporary_root: ");
        assert_eq!(answer.stderr.contains("temporary_root: "), is_noted);
        is_noted
    };
    assert!(told(&|_| ()));
    assert!(told(
        &|command| _ = command.args(["--catalog", "catalog.toml"])
    ));
    assert!(told(&|command| _ = command.env("ONEACT_ROOT", "")));
    assert!(!told(&|command| _ = command.args(["--root", "."])));
    assert!(!told(&|command| _ = command.env("ONEACT_ROOT", ".")));
    // A task that is refused, too, but no other verb.
    let mut command = root.command();
    let refused = run_with(command.env_remove("ONEACT_ROOT"));
    assert!(
        refused.stderr.contains("temporary_root: "),
        "{}",
        refused.stderr
    );
    let mut command = root.command();
    let output = command
        .env_remove("ONEACT_ROOT")
        .arg("history")
        .output()
        .unwrap();
    assert_eq!(text(&*output.stderr), "");
}

const CATALOG: &str = r#"
catalog = 1
[server.wordy]
command = ["python3", "-SB", "servers/wordy.py"]
[server.strict]
command = ["python3", "-SB", "servers/wordy.py", '{"type": "object", "required": ["missing"]}']
[capability.say]
effects = { read_only = true }
mcp = { server = "wordy", tool = "say" }
success = [{ pointer = "/ok", equals = true, message = "/why" }]
parameter_schema_for_action = { type = "object" }
[capability.tell]
effects = { read_only = true }
mcp = { server = "wordy", tool = "say" }
parameter_schema_for_action = { type = "object" }
[capability.tell.result]
[capability.once]
mcp = { server = "wordy", tool = "say" }
parameter_schema_for_action = { type = "object" }
[capability.unfit]
effects = { read_only = true }
mcp = { server = "strict", tool = "say" }
output_schema = "check"
parameter_schema_for_action = { type = "object" }
"#;

/// Node's buffer, and what every envelope is smaller than, but for the task that it repeats.
const ENVELOPE: usize = 1 << 20;

fn bounded(root: &Root, capabilities: &[&str], parameters: &Value, reply: &str) -> Answer {
    let task = json!({"task_id": "t", "capability_ids": capabilities, "parameters": parameters});
    let mut command = root.command();
    command.args(["--reply", reply]);
    let mut child = command.spawn().unwrap();
    feed(&mut child, &task);
    let output = child.wait_with_output().unwrap();
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
    let echo = envelope.pointer("/input/content");
    let echo = echo.map_or(0, |echo| echo.to_string().len());
    let bytes = output.stdout.len() - echo;
    assert!(bytes < ENVELOPE, "{capabilities:?} {reply}: {bytes} bytes");
    Answer::of(output)
}

#[test]
fn every_envelope_is_smaller_than_a_mebibyte_but_for_the_task_that_it_repeats() {
    let root = Root::with_catalog(CATALOG);
    let failed = |text: String| json!({"result": {"isError": true, "content": [{"type": "text", "text": text}]}});
    let said = |text: String| json!({"result": {"content": [{"type": "text", "text": text}]}});
    let structured = |value: Value| json!({"result": {"content": [], "structuredContent": value}});
    let refused = |text: String, data: String| json!({"error": {"code": -32000, "message": text, "data": data}});
    // Letters, control characters (6 bytes for 1) and invisible characters (12 bytes for 4).
    for (letter, most) in [("x", 3_000_000), ("\u{1}", 300_000), ("\u{e0041}", 300_000)] {
        let long = |count: usize| format!("@{}@{letter}", count.min(most));
        let mut marked = structured(json!({"x": long(900_000)}));
        marked["result"]["isError"] = json!(true);
        let asked = json!({"aiPrompt": {"system": long(200_000), "user": "u"},
            "aiResponse": {"summary": "s", "raw": long(200_000)}});
        for (capability, answer) in [
            ("say", failed(long(3_000_000))),
            ("say", marked),
            (
                "say",
                structured(json!({"ok": false, "why": long(900_000)})),
            ),
            ("say", structured(json!({"why": {"a": long(3_000_000)}}))),
            ("say", refused(long(3_000_000), long(300_000))),
            ("once", failed(long(3_000_000))),
            ("once", refused(long(60_000), String::new())),
            ("tell", said(long(900_000))),
            ("tell", said(long(3_000_000))),
            ("tell", structured(json!({"x": long(500_000)}))),
            ("tell", structured(asked)),
            ("unfit", structured(json!({"x": long(900_000)}))),
            ("unfit", structured(json!({"x": long(500_000)}))),
        ] {
            let replies: &[&str] = if capability == "tell" {
                &["adl", "mcp"]
            } else {
                &["adl"]
            };
            for reply in replies {
                let given = json!({"answer": answer, "stderr": long(200_000)});
                let answer = bounded(&root, &[capability], &given, reply);
                assert_eq!(answer.exit == 0, capability == "tell", "{}", answer.stderr);
            }
        }
    }
}

#[test]
fn the_parameters_of_all_calls_together_are_bounded() {
    let root = Root::with_catalog(CATALOG);
    let said = json!({"result": {"content": [{"type": "text", "text": "ok"}]}});
    let given = json!({"answer": said, "more": "x".repeat(50_000)});
    let answer = bounded(&root, &["tell"; 40], &json!({"tell": given}), "adl");
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    let calls = answer.at("/output/content/task_result/tool_invocations");
    assert_eq!(calls.as_array().unwrap().len(), 40);
    assert_eq!(calls[39]["parameters"]["more"]["$blob"]["bytes"], 50_002);
    assert_eq!(calls[39]["parameters"]["answer"], given["answer"]);
}

#[test]
fn a_result_of_half_a_mebibyte_is_in_the_answer_and_a_longer_one_is_a_file() {
    let root = Root::with_catalog(CATALOG);
    let told = |letters: &str| {
        let answer = json!({"result": {"content": [], "structuredContent": {"x": letters}}});
        let answer = bounded(&root, &["tell"], &json!({"answer": answer}), "adl");
        answer.result_data().clone()
    };
    assert_eq!(told("@524000@x")["x"].as_str().unwrap().len(), 524_000);
    let blob = &told("@525000@x")["$blob"];
    let path = blob["storage_uri"].as_str().unwrap();
    let stored = fs::read(path.strip_prefix("file://").unwrap()).unwrap();
    assert_eq!(blob["bytes"], stored.len());
    // 100,000 of them have 200,000 bytes, and 600,000 when they are printed.
    assert!(told("@100000@\u{85}")["$blob"]["storage_uri"].is_string());
}

#[test]
fn the_diff_of_a_preview_is_bounded_and_tells_its_length() {
    let root = Root::with_catalog("catalog = 1\n");
    let line = "x".repeat(99) + "\n";
    fs::write(root.path.join("long.txt"), line.repeat(20_000)).unwrap();
    let task = json!({"plan_id": "p", "protocol_validation": true, "action_plan": [{
        "action_id": "a", "action_type": "FILE_DELETE", "target": "long.txt", "operation": {"type": "delete"}}]});
    let mut command = root.command();
    command.arg("--dry-run");
    let answer = run(command, task.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    assert!(answer.envelope.to_string().len() < ENVELOPE);
    let diff = answer
        .at("/output/content/oneact/preview/diff")
        .as_str()
        .unwrap();
    assert!(
        diff.ends_with("bytes in all)\n") && diff.len() > 200_000,
        "{}",
        diff.len()
    );
}

/// 001's report of a plan lists its actions; nothing else of its envelope grows with them.
#[test]
fn the_envelope_of_a_plan_of_a_thousand_actions_grows_by_its_report_alone() {
    let root = Root::with_catalog("catalog = 1\n");
    let line = |file: usize, n: usize| format!("{file} {n}: {}\n", "x".repeat(200));
    for file in 0..100 {
        let lines: String = (0..10).map(|n| line(file, n)).collect();
        fs::write(root.path.join(format!("{file}.txt")), lines).unwrap();
    }
    let action = |n: usize| {
        let (file, n) = (n / 10, n % 10);
        let pattern = line(file, n);
        json!({"action_id": format!("a{file}.{n}"), "action_type": "FILE_MODIFY", "target": format!("{file}.txt"),
            "operation": {"type": "text_replace", "pattern": pattern, "replacement": pattern.to_uppercase()}})
    };
    let actions: Vec<Value> = (0..1000).map(action).collect();
    let answer =
        root.run(&json!({"plan_id": "p", "protocol_validation": true, "action_plan": actions}));
    assert_eq!(answer.exit, 0, "{}", answer.stderr);
    let bytes = |pointer: &str| answer.at(pointer).to_string().len();
    let report = bytes("/output/content/execution_report");
    let rest = bytes("") - report - bytes("/input/content");
    assert!(report < 200_000 && rest < 10_000, "{report} {rest}");
}

/// The wrapper answers in place of a directory of users, as LDAP and SSSD are.
#[test]
fn users_and_groups_of_a_directory_exist() {
    let places =
        ["x86_64", "aarch64"].map(|kind| format!("/usr/lib/{kind}-linux-gnu/libnss_wrapper.so"));
    let wrapper = places.iter().find(|path| fs::exists(path).unwrap());
    let wrapper = wrapper.expect("scripts/setup-tests installs libnss-wrapper");
    let (uid, gid) = (getuid().as_raw(), 4001);
    for (approver, exit) in [
        ("user:ada", 0),
        ("group:ada", 0),
        ("group:signers", 0),
        ("user:bob", 2),
        ("group:others", 2),
    ] {
        let root = Root::with_catalog(&format!(
            "catalog = 1\n[capability.apply_file_plan.file_plan]\n[capability.apply_file_plan.approval]\n\
             when = \"always\"\napprovers = [\"{approver}\"]\n"
        ));
        let [users, groups] = ["users", "groups"].map(|name| root.path.join(name));
        let listed = format!("ada:x:{uid}:{gid}::/:/bin/sh\nbob:x:4242:4242::/:/bin/sh\n");
        fs::write(&users, listed).unwrap();
        let listed = format!("ada:x:{gid}:\nsigners:x:4002:bob,ada\nothers:x:4003:bob\n");
        fs::write(&groups, listed).unwrap();
        let variables = [
            ("LD_PRELOAD", wrapper.as_str()),
            ("NSS_WRAPPER_PASSWD", users.as_str()),
            ("NSS_WRAPPER_GROUP", groups.as_str()),
        ];
        let task = json!({"plan_id": "p", "protocol_validation": true, "action_plan": [{"action_id": "a",
            "action_type": "FILE_CREATE", "target": "x", "operation": {"type": "create", "content": "x"}}]});
        let id = asks(&root.run(&task));
        let (code, shown) = at_a_terminal_with(&root, &variables, "y\n", &["approve", &id]);
        assert_eq!(code, exit, "{approver}: {shown}");
        // The group of the root is the owner's own, or has another member.
        if chown(&root.path, None, Some(gid)).is_err() {
            // Only root gives files to any group.
            continue;
        }
        fs::set_permissions(&root.path, fs::Permissions::from_mode(0o770)).unwrap();
        for others in ["", "bob"] {
            fs::write(&groups, format!("ada:x:{gid}:{others}\n")).unwrap();
            let mut command = root.command();
            command
                .envs(variables)
                .env_remove("ONEACT_ROOT")
                .arg("history");
            let output = command.output().unwrap();
            assert_eq!(
                output.status.success(),
                others.is_empty(),
                "{}",
                text(&*output.stderr)
            );
        }
    }
}
