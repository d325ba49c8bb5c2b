//! Engines that do what they should not, and what else goes wrong around them: each is told, and nothing is repeated.
//! What they do with streams, signals and the environment stands in `callers`, `ends` and `spawned`.

use std::{
    fs,
    io::{Write as _, copy},
    net::{Shutdown, TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    approvals::approve,
    engines::{post_office, sent, states},
    ledger_shared::cluster::Cluster,
    program::{Answer, ONEACT, feed, run, signal_child, until},
};

/// A letter under a key, as an engine sends it in each attempt.
fn letter(to: &str, text: &str) -> Value {
    json!({
        "dispatch": {"task_id": "letter", "capability_ids": ["send_letter"], "parameters": {"to": to, "text": text},
                     "idempotency_key": "attempts-of-one-step"},
        "metadata": {"session_id": "engine"},
    })
}

fn hello() -> Value {
    letter("ada@example.org", "Hello")
}

fn ended(answer: &Answer) -> (i32, &Value) {
    (answer.exit, answer.state())
}

#[test]
fn an_engine_that_kills_at_once_and_tries_again_repeats_nothing_until_a_person_has_spoken() {
    let root = post_office(600);
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &hello());
    until("the letter is sent", || {
        (!sent(&root).is_empty()).then_some(())
    });
    signal_child(&child, Signal::KILL);
    child.wait().unwrap();
    for _ in 0..2 {
        let again = root.run(&hello());
        assert_eq!((again.exit, again.fault()), (1, &json!("outcome_unknown")));
        assert_eq!(again.at("/error/recoverable"), &json!(false));
    }
    assert_eq!(sent(&root).len(), 1);
    let history = root.command().args(["history", "--json"]).output().unwrap();
    let history: Value = serde_json::from_slice(&history.stdout).unwrap();
    let operation = history["open"][0]["operation_id"].as_str();
    let operation = operation.unwrap_or_else(|| panic!("{history}"));
    let settled = root
        .command()
        .args(["resolve", operation, "--happened"])
        .status();
    assert!(settled.unwrap().success());
    assert_eq!(root.run(&hello()).exit, 0);
    assert_eq!(sent(&root).len(), 1);
}

#[test]
fn an_engine_that_ignores_exit_codes_has_each_step_performed_once() {
    let root = post_office(0);
    for state in ["done", "replayed", "replayed"] {
        assert_eq!(ended(&root.run(&hello())), (0, &json!(state)));
    }
    let mut nobody = letter("nobody", "Hello");
    nobody["dispatch"]["idempotency_key"] = json!("another step");
    for state in ["failed", "replayed", "replayed"] {
        assert_eq!(ended(&root.run(&nobody)), (1, &json!(state)));
    }
    assert_eq!(sent(&root).len(), 1);
}

#[test]
fn an_engine_that_changes_the_task_between_attempts_is_told_and_sends_one_letter() {
    let root = post_office(0);
    for key in [json!("attempts-of-one-step"), Value::Null] {
        let mut first = letter("ada@example.org", &format!("It is ten, {key}"));
        let mut second = letter("ada@example.org", &format!("It is eleven, {key}"));
        for task in [&mut first, &mut second] {
            task["dispatch"]["idempotency_key"] = key.clone();
            task["dispatch"]["task_id"] = json!(format!("letter of {key}"));
        }
        assert_eq!(root.run(&first).exit, 0);
        let changed = root.run(&second);
        assert_eq!(
            (changed.exit, changed.fault()),
            (2, &json!("idempotency_conflict")),
            "{}",
            changed.envelope
        );
        assert_eq!(ended(&root.run(&first)), (0, &json!("replayed")));
    }
    assert_eq!(sent(&root).len(), 2);
}

/// As asyncio does, whose `readline` fails at 64 KiB, and whose transport then kills the program.
const CUTTING: &str = r#"
import asyncio, sys
async def main():
    run = await asyncio.create_subprocess_exec(*sys.argv[2:], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    run.stdin.write(open(sys.argv[1], "rb").read())
    run.stdin.close()
    try:
        print(len(await run.stdout.readline()))
    except ValueError as cut:
        print(cut)
asyncio.run(main())
"#;

#[test]
fn an_engine_that_cuts_lines_at_64_kib_finds_the_answer_in_the_ledger() {
    let root = post_office(0);
    let task = letter("ada@example.org", &"x".repeat(100_000));
    fs::write(root.path.join("task.json"), task.to_string()).unwrap();
    for _ in 0..2 {
        let mut python = root.within("python3");
        let output = python
            .args(["-c", CUTTING, "task.json", ONEACT, "--quiet"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("Separator is not found"), "{said}{output:?}");
    }
    assert_eq!(sent(&root).len(), 1);
    assert_eq!(states(&root), ["done", "replayed"]);
    let whole = root.run(&task);
    assert_eq!(ended(&whole), (0, &json!("replayed")));
    assert_eq!(whole.result_data()["text"].as_str().unwrap().len(), 100_000);
}

/// Passes connections on to a port, once it may. Until then, it ends each of them at once.
fn pass_on(listener: TcpListener, port: u16, may: Arc<AtomicBool>) {
    thread::spawn(move || {
        for from in listener.incoming().flatten() {
            if !may.load(Ordering::Relaxed) {
                continue;
            }
            let to = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let back = (to.try_clone().unwrap(), from.try_clone().unwrap());
            for (mut from, mut to) in [(from, to), back] {
                thread::spawn(move || {
                    let _ = copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
}

#[test]
fn while_the_ledger_is_away_nothing_is_sent_and_the_next_attempt_sends_it_once() {
    let cluster = Cluster::shared();
    let root = post_office(0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let is_back = Arc::new(AtomicBool::new(false));
    pass_on(listener, cluster.port, Arc::clone(&is_back));
    let ledger = cluster.network_uri("127.0.0.1", &cluster.database(), "sslmode=require");
    let ledger = ledger.replace(&format!(":{}/", cluster.port), &format!(":{port}/"));
    let send = || {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", &ledger);
        run(command, hello().to_string().as_bytes())
    };
    for _ in 0..2 {
        let away = send();
        assert_eq!(
            (away.exit, away.fault()),
            (75, &json!("ledger_unavailable"))
        );
        assert_eq!(away.at("/output/content/oneact/effect"), &json!("none"));
    }
    assert!(sent(&root).is_empty());
    is_back.store(true, Ordering::Relaxed);
    assert_eq!(ended(&send()), (0, &json!("done")));
    assert_eq!(ended(&send()), (0, &json!("replayed")));
    assert_eq!(sent(&root).len(), 1);
}

/// Performs tasks with a ledger on a file system of 3 MB, which is full for the second and the third. Prints the envelopes.
const FULL: &str = r#"
mount -t tmpfs -o size=3m tmpfs full || exit 9
export ONEACT_LEDGER=full/ledger.db
"$0" --quiet run first.json
cat /dev/zero > full/all 2>/dev/null
"$0" --quiet run second.json
"$0" --quiet run first.json
rm full/all
"$0" --quiet run second.json
"$0" --quiet run first.json
exit 0
"#;

#[test]
fn while_the_ledger_is_full_nothing_is_sent_and_afterwards_each_letter_once() {
    let root = post_office(0);
    fs::create_dir(root.path.join("full")).unwrap();
    let mut second = letter("bob@example.org", "Hello");
    second["dispatch"]["idempotency_key"] = json!("another step");
    fs::write(root.path.join("first.json"), hello().to_string()).unwrap();
    fs::write(root.path.join("second.json"), second.to_string()).unwrap();
    let mut unshare: Command = root.within("unshare");
    unshare.args(["--map-root-user", "--mount", "sh", "-c", FULL, ONEACT]);
    let output = unshare.output().unwrap();
    if !output.status.success() {
        writeln!(std::io::stderr(), "skipped: no mount namespace here").unwrap();
        return;
    }
    let envelopes = String::from_utf8(output.stdout).unwrap();
    let envelopes = envelopes
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let came_to: Vec<Value> = envelopes
        .map(|envelope| {
            let oneact = &envelope["output"]["content"]["oneact"];
            json!([oneact["state"], oneact["fault"]])
        })
        .collect();
    let owed = json!([
        ["done", null],
        ["failed", "disk_full"],
        ["failed", "disk_full"],
        ["done", null],
        ["replayed", null]
    ]);
    assert_eq!(json!(came_to), owed);
    assert_eq!(sent(&root).len(), 2);
}

#[test]
fn a_notify_command_that_hangs_is_told_once_and_the_letter_is_sent_once_after_the_approval() {
    let root = post_office(0);
    let path = root.path.join("catalog.toml");
    let rules = "\n[capability.send_letter.approval]\nwhen = \"always\"\n\
                 [approval]\nnotify = [\"sh\", \"-c\", \"echo told >> told; exec sleep 600\"]\n";
    let catalog = fs::read_to_string(&path).unwrap();
    fs::write(&path, catalog + rules).unwrap();
    let asked = root.run(&hello());
    assert_eq!(
        (asked.exit, asked.fault()),
        (3, &json!("approval_required")),
        "{}",
        asked.envelope
    );
    let notes = asked.at("/audit/compliance_notes").as_str().unwrap();
    assert!(notes.contains("sh did not end within 4s"), "{notes}");
    // A program that is told again and again would be started by each attempt.
    assert_eq!(root.run(&hello()).exit, 3);
    assert_eq!(
        fs::read_to_string(root.path.join("told")).unwrap(),
        "told\n"
    );
    assert!(root.processes().is_empty() && sent(&root).is_empty());
    let id = asked.at("/output/content/oneact/waiting/approval_id");
    approve(&root, id.as_str().unwrap());
    assert_eq!(ended(&root.run(&hello())), (0, &json!("done")));
    assert_eq!(ended(&root.run(&hello())), (0, &json!("replayed")));
    assert_eq!(sent(&root).len(), 1);
}
