//! What servers say, wherever they say it: their secret is in nothing that leaves us, in every spelling that docs/trust.md names,
//! and no terminal and no log is steered by it (ARCHITECTURE, Trust and invariant 7).

use std::{
    fs,
    io::Write,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::program::{ONEACT, Root};

const SECRET: &str = "p\"4ss/w<rd&+%41 9";

const CATALOG: &str = r#"
catalog = 1
[server.teller]
command = ["python3", "servers/teller.py"]
env_pass = ["TELLER_SECRET"]
[capability.say]
effects = { idempotent = true, open_world = false }
mcp = { server = "teller", tool = "say" }
result = { kind = "metadata" }
[capability.sai]
effects = { idempotent = true, open_world = false }
mcp = { server = "teller", tool = "sai" }
result = { kind = "metadata" }
"#;

/// What betrays the secret, or grants access in a link: parts that stand in no other text here.
const TRACES: [&str; 6] = [
    "4ss/",
    "cCI0c3Mvdzxy",
    "IjRzcy93PHJk",
    "%34%73%73",
    r"\u0034\u0073",
    "LINKWORD",
];

fn task(capability: &str, how: &str) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": how},
        "dispatch": {"task_id": format!("t-{how}"), "attempt": 1, "capability_ids": [capability],
                     "parameters": {"how": how}},
    })
}

fn output(mut command: Command, task: &Value) -> Output {
    let mut child = command.env("TELLER_SECRET", SECRET).spawn().unwrap();
    // A verb does not read its stdin, and may have ended already.
    let mut stdin = child.stdin.take().unwrap();
    let _ = stdin.write_all(task.to_string().as_bytes());
    drop(stdin);
    child.wait_with_output().unwrap()
}

/// Nothing in it but ordinary characters and the ends of its own lines.
fn assert_tame(text: &str, of: &str) {
    let unseen = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    let found = text.find(unseen);
    let around = found.map(|at| text[at..].chars().take(40).collect::<String>());
    assert_eq!(around, None, "{of}");
    let forged = text.lines().find(|line| line.starts_with("ERROR forged"));
    assert_eq!(forged, None, "{of}");
}

fn assert_silent(text: &str, of: &str) {
    for trace in TRACES {
        let at = text.find(trace);
        let around = at.map(|at| {
            text[at.saturating_sub(60)..]
                .chars()
                .take(120)
                .collect::<String>()
        });
        assert_eq!(around, None, "{trace} in {of}");
    }
}

fn assert_fit(output: &Output, of: &str) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert_tame(&text, of);
        assert_silent(&text, of);
    }
}

#[test]
fn no_run_and_no_verb_shows_a_secret_or_is_steered() {
    let root = Root::with_catalog(CATALOG);
    for (capability, how) in [("say", "goes"), ("say", "fails"), ("sai", "unknown")] {
        for logs in [["-vv"].as_slice(), &["-vv", "--log", "json"]] {
            let mut command = root.command();
            command.args(logs);
            let output = output(command, &task(capability, how));
            assert!(!output.stdout.is_empty() && !output.stderr.is_empty());
            assert_fit(&output, &format!("{how} {logs:?}"));
            if logs.len() > 1 {
                let lines = String::from_utf8(output.stderr).unwrap();
                for line in lines.lines() {
                    let line: Value = serde_json::from_str(line).unwrap();
                    let said = line.pointer("/fields/message").unwrap();
                    let said = said.as_str().unwrap();
                    assert!(!said.contains('\n'), "{said:?}");
                    assert_tame(said, "a value of the log");
                }
            }
        }
    }
    for args in [
        ["history"].as_slice(),
        &["history", "--json"],
        &["show", "0"],
        &["show", "0", "--json"],
        &["show", "1"],
        &["replay"],
        &["replay", "1"],
        &["verify"],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        let mut command = root.command();
        command.args(args);
        let output = output(command, &Value::Null);
        assert!(!output.stdout.is_empty(), "{args:?}");
        assert_fit(&output, &format!("{args:?}"));
    }
    for name in ["ledger.db", "ledger.db-wal", "ledger.head"] {
        let bytes = fs::read(root.path.join(".oneact").join(name)).unwrap();
        assert_silent(&String::from_utf8_lossy(&bytes), name);
    }
}

#[test]
fn progress_steers_no_terminal() {
    let root = Root::with_catalog(CATALOG);
    fs::write(root.path.join("task"), task("say", "goes").to_string()).unwrap();
    let mut command = root.within("python3");
    command.env("TERM", "xterm");
    // A terminal on stderr alone.
    let line = format!("exec {ONEACT} < task > answer");
    command.args([
        "-c",
        "import pty, sys; pty.spawn(['sh', '-c', sys.argv[1]])",
        &line,
    ]);
    let shown = output(command, &Value::Null);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("% 0s say"), "{shown:?}");
    for raw in [
        "\x1b]0",
        "\x07",
        "\x1b[2J\u{9b}",
        "\u{202e}",
        "\u{200b}",
        "\nERROR",
    ] {
        assert!(!shown.contains(raw), "{raw:?} in {shown:?}");
    }
    // The bar never moves the cursor up: above it stands what others have written.
    let moves = shown.split("\x1b[").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest.get(end..)?.chars().next()
    });
    assert!(!moves.into_iter().any(|letter| letter == 'A'), "{shown:?}");
    assert_silent(&shown, "the bar");
}

#[test]
fn a_link_where_the_task_should_have_a_name_is_shown_and_recorded_without_its_signature() {
    let root = Root::with_catalog(CATALOG);
    let link = "https://u:LINKWORD@h/?sig=LINKWORD";
    for (place, value) in [
        ("capability_ids", json!([link])),
        (
            "input_refs_resolved",
            json!([{"ref_id": link, "storage_uri": "x", "status": "stored"}]),
        ),
        (link, json!(1)),
        ("idempotency_key", json!(link)),
        ("task_id", json!(link)),
        ("parameters", json!({"how": "goes", link: [{link: 1}]})),
    ] {
        let mut task = task("say", "goes");
        task["metadata"]["request_id"] = json!(link);
        task["dispatch"][place] = value;
        for logs in [["-q"].as_slice(), &["-v"], &["-vv", "--log", "json"]] {
            let mut command = root.command();
            command.args(logs);
            let output = output(command, &task);
            let mut envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
            // The caller's own words and ids come back to the caller.
            envelope["input"] = Value::Null;
            envelope["metadata"] = Value::Null;
            if place != "task_id" {
                assert_silent(&envelope.to_string(), place);
            }
            assert_silent(&String::from_utf8_lossy(&output.stderr), place);
        }
    }
    for name in ["ledger.db", "ledger.db-wal"] {
        let bytes = fs::read(root.path.join(".oneact").join(name)).unwrap();
        assert_silent(&String::from_utf8_lossy(&bytes), name);
    }
}
