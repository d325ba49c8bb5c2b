//! The command line as a contract: what goes in, what comes out, how often, how reproducibly.

use std::{io::Write, os::unix::process::CommandExt as _, thread};

use serde_json::{Value, json};

use crate::{
    approvals::at_a_terminal,
    program::{Answer, ONEACT, Root, download, feed, run, task, text, until},
};

#[test]
fn sixteen_runs_at_once_in_one_root_do_not_meet() {
    let root = Root::new();
    let one = |number: usize| {
        let id = format!("store_{number}");
        let answer = root.run(&task(
            "CAP-ACQ-002",
            "https://example-source.com/good",
            &[&id],
        ));
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
        let uri = answer.at("/output/content/task_result/output_refs_produced/0/storage_uri");
        let path = root
            .path
            .join(format!("agent_outputs/assets/sess-1/{id}.mp4"));
        assert_eq!(uri, &json!(format!("file://{path}")));
        assert!(path.is_file());
    };
    thread::scope(|scope| {
        for number in 1..=16 {
            scope.spawn(move || one(number));
        }
    });
    assert_eq!(root.scratch().next(), None);
    assert_eq!(root.processes(), Vec::<i32>::new());
}

#[test]
fn the_same_ref_made_sixteen_times_at_once_is_whole_in_the_end() {
    let root = Root::new();
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(root.run(&download("good")).exit, 0));
        }
    });
    let made = std::fs::read(root.path.join("agent_outputs/assets/sess-1/store_1.mp4")).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/media/fox.mp4");
    assert!(made == std::fs::read(fixture).unwrap());
}

#[test]
fn seventeen_mebibytes_are_too_much_and_answered_as_such() {
    let root = Root::new();
    let mut input = download("good");
    input["padding"] = json!("x".repeat(17 << 20));
    let answer = run(root.command(), input.to_string().as_bytes());
    assert_eq!(
        (answer.exit, answer.at("/error/error_code")),
        (2, &json!("INVALID_INPUT"))
    );
    root.assert_untouched();
}

#[test]
fn a_task_that_arrives_byte_by_byte_is_one_task() {
    let root = Root::new();
    let mut child = root.command().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for byte in task("CAP-ACQ-001", "https://example-source.com/a", &[])
        .to_string()
        .bytes()
    {
        stdin.write_all(&[byte]).unwrap();
        stdin.flush().unwrap();
    }
    drop(stdin);
    assert_eq!(Answer::of(child.wait_with_output().unwrap()).exit, 0);
}

#[test]
fn clock_and_seed_make_every_byte_of_the_answer_the_same() {
    let root = Root::new();
    let task = download("good");
    let answer = || {
        let mut command = root.command();
        command.args([
            "--clock",
            "2026-02-24T10:00:00+08:00[Asia/Singapore]",
            "--seed",
            "7",
        ]);
        command.env("ONEACT_LEDGER", "none");
        run(command, task.to_string().as_bytes())
            .envelope
            .to_string()
    };
    assert_eq!(answer(), answer());
}

/// The second run has the same id, or the same task, which may be answered.
#[test]
fn a_task_whose_scratch_directory_another_run_has_is_in_flight() {
    for accepts_input in [false, true] {
        let root = Root::new();
        let command = || {
            let mut command = root.command();
            if !accepts_input {
                command.args(["--seed", "7", "--clock", "2026-02-24T10:00:00+00:00[UTC]"]);
                command.env("ONEACT_LEDGER", "none");
            }
            command
        };
        let task = |what: &str| {
            let mut task = download(what);
            task["dispatch"]["accepts_input"] = json!(accepts_input);
            task
        };
        let mut first = command().spawn().unwrap();
        feed(&mut first, &task("silent"));
        until("the tool is called", || {
            root.scratch().find(|path| path.join("called").exists())
        });
        let second = run(command(), task("good").to_string().as_bytes());
        assert_eq!((second.exit, second.state()), (3, &json!("pending")));
        assert_eq!(second.fault(), "request_in_flight", "{}", second.envelope);
        assert_eq!(second.at("/error/recoverable"), &json!(true));
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(run(command(), task("good").to_string().as_bytes()).exit, 0);
    }
}

#[test]
fn without_a_seed_no_two_answers_have_the_same_id() {
    let root = Root::new();
    let id = || root.run(&json!({})).at("/message_id").clone();
    assert_ne!(id(), id());
}

#[test]
fn bad_flags_of_a_run_get_an_envelope_whatever_stands_around_them() {
    let root = Root::new();
    for flags in [
        &["--frobnicate"][..],
        &["--frobnicate", "--seed", "1"],
        &["run", "--timeout", "0"],
        &["--timeout", "5 parsecs"],
        &["run", "one", "two"],
        &["--seed", "many"],
        &["frobnicate"],
    ] {
        let mut command = root.command();
        command.args(flags);
        let answer = run(command, b"");
        assert_eq!(
            (answer.exit, answer.fault()),
            (2, &json!("invalid_usage")),
            "{flags:?}"
        );
        assert!(!answer.stderr.is_empty(), "{flags:?}");
    }
}

#[test]
fn the_task_may_be_in_a_file_that_the_command_line_names() {
    let root = Root::new();
    let run_with = |file: &str, input: &[u8]| {
        let mut command = root.command();
        command.args(["run", file, "--timeout", "1m30s"]);
        run(command, input)
    };
    let task = download("good").to_string();
    std::fs::write(root.path.join("task.json"), &task).unwrap();
    std::os::unix::fs::symlink("task.json", root.path.join("link")).unwrap();
    // What is on stdin is nothing to it.
    assert_eq!(run_with("task.json", b"no json").exit, 0);
    assert_eq!(run_with("link", b"").state(), &json!("replayed"));
    assert_eq!(run_with("-", task.as_bytes()).state(), &json!("replayed"));
    let fifo = root.path.join("fifo");
    let made = root.within("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    for file in ["fifo", "missing", ".", "/dev/zero"] {
        let answer = run_with(file, b"");
        let expected = (2, &json!("invalid_usage"));
        assert_eq!((answer.exit, answer.fault()), expected, "{file}");
        assert!(answer.stderr.contains(file), "{}", answer.stderr);
    }
    std::fs::write(root.path.join("large"), "x".repeat(17 << 20)).unwrap();
    let answer = run_with("large", b"");
    assert_eq!(
        (answer.exit, answer.at("/error/error_code")),
        (2, &json!("INVALID_INPUT"))
    );
}

#[test]
fn bad_flags_of_another_verb_are_for_people_only() {
    let root = Root::new();
    let output = root
        .command()
        .args(["schema", "--frobnicate"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    assert!(!output.stderr.is_empty());
}

#[test]
fn no_argument_that_a_message_quotes_steers_the_terminal() {
    let root = Root::new();
    let odd = "\u{9b}31m\u{85}\r\u{202e}\u{200b}\u{e0041}x";
    let steers = |c: char| c > '\u{7f}' && odd.contains(c);
    for arguments in [
        &[odd][..],
        &["serve", odd],
        &["schema", odd],
        &["--timeout", odd],
        &["prune", "--older", odd],
        &["catalog", "render", "--as", odd],
        &["init", odd],
    ] {
        let output = root.command().args(arguments).output().unwrap();
        let piped = text(&*output.stderr);
        let (_, shown) = at_a_terminal(&root, "", arguments);
        for told in [&piped, &shown] {
            assert!(told.contains("<U+202E>"), "{arguments:?}: {told:?}");
            assert!(!told.contains(steers), "{arguments:?}: {told:?}");
        }
        assert!(!piped.contains('\r'), "{arguments:?}: {piped:?}");
    }
    // The name under which the program was started is an argument, too.
    let mut help = root.within(ONEACT);
    let help = help.arg0(odd).arg("--help").output().unwrap();
    assert!(text(&*help.stdout).contains("Usage: oneact [OPTIONS]"));
}

#[test]
fn a_message_about_arguments_says_what_is_possible() {
    let root = Root::new();
    for (arguments, what) in [
        (&["review", "x"][..], "<--accept|--reject>"),
        (&["history", "--limit", "x"], "a whole number from 0"),
        (&["--seed", "x"], "a whole number from 0"),
        (
            &["catalog", "list", "--catalog", "none.toml"],
            "write one with `oneact import` or `oneact init`",
        ),
        (
            &["catalog", "render", "--schema", "none"],
            "cannot read none",
        ),
    ] {
        let output = root.within(ONEACT).args(arguments).output().unwrap();
        let told = text(&*output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(told.contains(what), "{arguments:?}: {told}");
    }
}

#[test]
fn schemas_are_printed_as_json() {
    let root = Root::new();
    for name in ["task", "envelope", "catalog", "doctor"] {
        let output = root.command().args(["schema", name]).output().unwrap();
        let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(jsonschema::validator_for(&schema).is_ok(), "{name}");
    }
}

/// Two lines in, two answers out, and an end when stdin ends.
fn serve(name: &str) -> Vec<String> {
    let root = Root::new();
    let mut child = root.command().args(["serve", name]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    for message in [initialize, initialized, list] {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut answers = std::io::BufReader::new(child.stdout.take().unwrap());
    let answered = [(); 2].map(|()| {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut answers, &mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    });
    drop(stdin);
    assert_eq!(text(answers), "");
    assert!(child.wait().unwrap().success());
    assert_eq!(
        answered[0].pointer("/result/protocolVersion"),
        Some(&json!("2025-11-25"))
    );
    let tools = answered[1]
        .pointer("/result/tools")
        .unwrap()
        .as_array()
        .unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn built_in_servers_serve_any_client() {
    assert!(serve("media-processing").contains(&"audio_extractor".to_owned()));
    assert!(serve("acquisition").contains(&"url_validator".to_owned()));
}
