//! Once, and provably: many processes on one ledger, and processes that die at the wrong moment.

use std::{collections::BTreeMap, fs, os::unix::process::ExitStatusExt, thread};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::program::{Answer, Root, feed, run, until};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.look]
effects = { read_only = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.again]
effects = { idempotent = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.once]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
"#;

fn request(capability: &str, task: &str, parameters: &Value) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": task},
        "dispatch": {"task_id": task, "attempt": 1, "capability_ids": [capability], "parameters": parameters},
    })
}

fn happened(root: &Root) -> Vec<String> {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn state(answer: &Answer) -> &str {
    answer.state().as_str().unwrap()
}

fn why(answer: &Answer) -> &str {
    let why = answer.at("/output/content/oneact/reuse/why");
    why.as_str().unwrap()
}

fn fault(answer: &Answer) -> &str {
    answer.fault().as_str().unwrap()
}

/// Every link, by its own hash and the one before; what is recorded, by `oneact verify`; and the steps of
/// each session, which have no gaps.
fn whole(root: &Root) -> BTreeMap<String, i64> {
    let verified = root.look(&["verify"]);
    assert_eq!(verified.exit, 0, "{}{}", verified.out, verified.err);
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let mut before = "0".repeat(64);
    let mut links = ledger
        .prepare("SELECT seq, prev_hash, entry_hash FROM ledger_events ORDER BY seq")
        .unwrap();
    let links = links.query_map([], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
        ))
    });
    for (at, link) in links.unwrap().enumerate() {
        let (seq, prev, hash) = link.unwrap();
        assert_eq!((seq, prev), (i64::try_from(at).unwrap(), before));
        before = hash;
    }
    let mut steps = BTreeMap::<String, i64>::new();
    let mut rows = ledger
        .prepare("SELECT session_id, step_index FROM agent_actions ORDER BY session_id, step_index")
        .unwrap();
    let rows = rows.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
    });
    for row in rows.unwrap() {
        let (session, step) = row.unwrap();
        let next = steps.entry(session).or_default();
        assert_eq!(step, *next);
        *next += 1;
    }
    steps
}

#[test]
fn sixteen_processes_that_ask_for_the_same_forty_requests_do_forty_things() {
    let root = Root::with_catalog(CATALOG);
    thread::scope(|scope| {
        for process in 0..16 {
            let root = &root;
            scope.spawn(move || {
                for turn in 0..40 {
                    // Each asks in another order, and calls its tasks by other names.
                    let number = (turn * 7 + process) % 40;
                    let capability = ["look", "again", "once"][number % 3];
                    let parameters = json!({"what": number.to_string()});
                    let task = format!("t-{process}-{number}");
                    let answer = root.run(&request(capability, &task, &parameters));
                    assert_eq!(answer.exit, 0, "{}", answer.envelope);
                }
            });
        }
    });
    let mut done = happened(&root);
    done.sort_by_key(|number| number.parse::<u32>().unwrap());
    let wanted: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    assert_eq!(done, wanted);
    assert_eq!(whole(&root), BTreeMap::from([("s".to_owned(), 640)]));
}

#[test]
fn a_b_a_reuses_the_first_a() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str, what: &str| root.run(&request("again", task, &json!({"what": what})));
    assert_eq!(state(&ask("t1", "a")), "done");
    assert_eq!(state(&ask("t2", "b")), "done");
    let third = ask("t3", "a");
    assert_eq!((state(&third), third.exit), ("reused", 0));
    assert_eq!(
        third.at("/output/content/task_result/result_data"),
        &json!({"happened": "a"})
    );
    assert_eq!(happened(&root), ["a", "b"]);
}

#[test]
fn the_same_delivery_is_answered_as_before_failures_too() {
    let root = Root::with_catalog(CATALOG);
    let fails = request("again", "t1", &json!({"what": "fails"}));
    let first = root.run(&fails);
    let second = root.run(&fails);
    assert_eq!((first.exit, second.exit), (75, 75));
    assert_eq!(state(&second), "replayed");
    assert_eq!(
        first.at("/error/error_message"),
        second.at("/error/error_message")
    );
    assert_eq!(happened(&root), ["fails"]);
    let mut again = fails.clone();
    again["dispatch"]["attempt"] = json!(2);
    assert_eq!(why(&root.run(&again)), "retry");
    assert_eq!(happened(&root), ["fails", "fails"]);
}

#[test]
fn a_caller_that_counts_no_attempts_gets_the_next_after_a_failure() {
    let root = Root::with_catalog(CATALOG);
    let mut fails = request("again", "t1", &json!({"what": "fails"}));
    fails["dispatch"].as_object_mut().unwrap().remove("attempt");
    root.run(&fails);
    assert_eq!(why(&root.run(&fails)), "retry");
    assert_eq!(happened(&root), ["fails", "fails"]);
}

#[test]
fn what_must_not_happen_twice_is_suppressed_and_a_salt_repeats_it() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| request("once", task, &json!({"what": "mail"}));
    assert_eq!(state(&root.run(&ask("t1"))), "done");
    let second = root.run(&ask("t2"));
    assert_eq!((state(&second), second.exit), ("suppressed", 0));
    assert!(
        second
            .stderr
            .contains("it was not done again. Send `salt` to repeat it"),
        "{}",
        second.stderr
    );
    let mut salted = ask("t3");
    salted["dispatch"]["salt"] = json!("yes, again");
    assert_eq!(state(&root.run(&salted)), "done");
    assert_eq!(happened(&root), ["mail", "mail"]);
}

#[test]
fn a_task_that_comes_again_with_another_content_is_refused() {
    let root = Root::with_catalog(CATALOG);
    root.run(&request("again", "t1", &json!({"what": "a"})));
    let other = root.run(&request("again", "t1", &json!({"what": "b"})));
    assert_eq!((other.exit, fault(&other)), (2, "idempotency_conflict"));
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn the_reply_of_a_reused_request_is_the_stored_one_byte_for_byte() {
    let root = Root::with_catalog(CATALOG);
    let reply = |task: &str| {
        let mut command = root.command();
        command.args(["--reply", "mcp"]);
        let mut child = command.spawn().unwrap();
        feed(&mut child, &request("look", task, &json!({"what": "a"})));
        child.wait_with_output().unwrap().stdout
    };
    assert_eq!(reply("t1"), reply("t2"));
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn no_reuse_does_it_again_but_never_what_must_not_happen_twice() {
    let root = Root::with_catalog(CATALOG);
    for (capability, times) in [("look", 2), ("once", 1)] {
        for task in ["t1", "t2"] {
            let mut command = root.command();
            command.arg("--no-reuse");
            let task = request(
                capability,
                &format!("{capability}-{task}"),
                &json!({"what": capability}),
            );
            run(command, task.to_string().as_bytes());
        }
        let done = happened(&root)
            .iter()
            .filter(|what| *what == capability)
            .count();
        assert_eq!(done, times, "{capability}");
    }
}

/// A run that dies at a point of the crash table, and what the next identical request comes to.
fn killed_at(point: &str, capability: &str) -> (Root, Answer) {
    let root = Root::with_catalog(CATALOG);
    let ask = request(capability, "t1", &json!({"what": "a"}));
    let mut command = root.command();
    command.env("ONEACT_FAULTS", format!("ledger:{point}"));
    let mut child = command.spawn().unwrap();
    feed(&mut child, &ask);
    let died = child.wait_with_output().unwrap();
    assert_eq!(died.status.signal(), Some(9), "{point}: {died:?}");
    assert_eq!(died.stdout, b"");
    let next = root.run(&ask);
    (root, next)
}

#[test]
fn whoever_died_before_it_could_happen_is_taken_over() {
    for capability in ["look", "again", "once"] {
        let (root, next) = killed_at("reserved", capability);
        assert_eq!(
            (state(&next), why(&next)),
            ("done", "taken_over"),
            "{capability}"
        );
        assert_eq!(happened(&root), ["a"]);
        whole(&root);
    }
}

#[test]
fn what_may_be_repeated_is_repeated_when_whoever_did_it_died() {
    for point in ["dispatched", "done"] {
        for capability in ["look", "again"] {
            let (root, next) = killed_at(point, capability);
            assert_eq!(
                (state(&next), why(&next)),
                ("done", "taken_over"),
                "{point} {capability}"
            );
            whole(&root);
        }
    }
}

#[test]
fn what_must_not_happen_twice_is_nobodys_to_repeat_when_whoever_did_it_died() {
    for (point, times) in [("dispatched", 0), ("done", 1)] {
        let (root, next) = killed_at(point, "once");
        assert_eq!((next.exit, fault(&next)), (1, "outcome_unknown"), "{point}");
        assert_eq!(next.at("/error/recoverable"), &json!(false));
        let again = root.run(&request("once", "t2", &json!({"what": "a"})));
        assert_eq!(fault(&again), "outcome_unknown");
        assert_eq!(happened(&root).len(), times, "{point}");
        whole(&root);
    }
}

#[test]
fn an_answer_that_was_recorded_and_never_printed_is_given_again() {
    for capability in ["look", "again", "once"] {
        let (root, next) = killed_at("recorded", capability);
        assert_eq!((state(&next), next.exit), ("replayed", 0), "{capability}");
        assert_eq!(happened(&root), ["a"]);
    }
}

#[test]
fn a_server_that_dies_with_a_once_only_call_leaves_it_unknown() {
    let root = Root::with_catalog(CATALOG);
    let ask = request("once", "t1", &json!({"what": "a", "seconds": 60}));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &ask);
    until("it has happened", || happened(&root).first().cloned());
    child.kill().unwrap();
    child.wait().unwrap();
    let next = root.run(&ask);
    assert_eq!(
        (next.exit, fault(&next)),
        (1, "outcome_unknown"),
        "{}",
        next.envelope
    );
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn an_identical_request_waits_for_the_one_that_is_being_done() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| request("once", task, &json!({"what": "a", "seconds": 2}));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &ask("t1"));
    until("it has happened", || happened(&root).first().cloned());
    let second = root.run(&ask("t2"));
    assert_eq!(state(&second), "suppressed", "{}", second.envelope);
    assert!(child.wait().unwrap().success());
    assert_eq!(happened(&root), ["a"]);
}

#[test]
fn who_waits_too_long_is_told_who_is_at_work() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| request("again", task, &json!({"what": "a", "seconds": 20}));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &ask("t1"));
    until("it has happened", || happened(&root).first().cloned());
    let mut command = root.command();
    command.args(["--timeout", "1"]);
    let second = run(command, ask("t2").to_string().as_bytes());
    assert_eq!(
        (second.exit, state(&second), fault(&second)),
        (3, "pending", "request_in_flight")
    );
    assert_eq!(second.at("/error/recoverable"), &json!(true));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_session_belongs_to_the_context_it_was_opened_in() {
    let profiles = "[profile.chat]\ncontext = \"AGENT_CONVERSATION\"\n";
    let root = Root::with_catalog(&format!("{CATALOG}{profiles}"));
    let ask = |task: &str| request("look", task, &json!({"what": task}));
    assert_eq!(root.run(&ask("t1")).exit, 0);
    let mut command = root.command();
    command.args(["--profile", "chat"]);
    let other = run(command, ask("t2").to_string().as_bytes());
    assert_eq!((other.exit, fault(&other)), (2, "context_changed"));
    assert_eq!(happened(&root), ["t1"]);
}

#[test]
fn nothing_is_done_that_cannot_be_recorded_unless_it_only_reads_and_the_catalog_allows_it() {
    for (rule, capability, exit) in [
        ("", "look", 1),
        ("[ledger]\nrequired = false\n", "again", 1),
        ("[ledger]\nrequired = false\n", "look", 0),
    ] {
        let root = Root::with_catalog(&format!("{CATALOG}{rule}"));
        fs::create_dir(root.path.join(".oneact")).unwrap();
        fs::write(
            root.path.join(".oneact/ledger.db"),
            "no database, but long enough to be told from one",
        )
        .unwrap();
        let answer = root.run(&request(capability, "t1", &json!({"what": "a"})));
        assert_eq!(
            answer.exit, exit,
            "{rule} {capability}: {}",
            answer.envelope
        );
        if exit != 0 {
            assert_eq!(fault(&answer), "ledger_unavailable");
            assert_eq!(happened(&root), Vec::<String>::new());
        }
    }
}

#[test]
fn a_request_as_an_mcp_request_is_the_same_request() {
    let root = Root::with_catalog(CATALOG);
    let dispatched = root.run(&request("look", "t1", &json!({"what": "a"})));
    let asked = json!({"actionId": "look", "args": {"what": "a"}, "sessionId": "s", "context": {"page": 1}});
    let asked = root.run(&asked);
    assert_eq!(state(&asked), "reused", "{}", asked.envelope);
    assert_eq!(
        asked.at("/output/content/oneact/request_hash"),
        dispatched.at("/output/content/oneact/request_hash")
    );
}

#[test]
fn a_default_that_is_given_and_one_that_is_left_out_are_the_same_request() {
    let root = Root::with_catalog(&CATALOG.replacen(
        "result = { kind = \"metadata\" }",
        "defaults = { what = \"a\" }\nresult = { kind = \"metadata\" }",
        1,
    ));
    let hash = |task: &str, parameters: &Value| {
        let answer = root.run(&request("look", task, parameters));
        answer.at("/output/content/oneact/request_hash").clone()
    };
    assert_eq!(hash("t1", &json!({})), hash("t2", &json!({"what": "a"})));
    assert_ne!(hash("t3", &json!({})), hash("t4", &json!({"what": "b"})));
    assert_eq!(happened(&root), ["a", "b"]);
}

#[test]
fn where_the_catalog_wants_no_ledger_nothing_is_recorded() {
    let root = Root::with_catalog(&format!("{CATALOG}[ledger]\nuri = \"none\"\n"));
    for task in ["t1", "t2"] {
        let answer = root.run(&request("again", task, &json!({"what": "a"})));
        assert_eq!(
            (answer.exit, answer.at("/output/content/oneact/ledger")),
            (0, &Value::Null)
        );
    }
    assert_eq!(happened(&root), ["a", "a"]);
    assert!(!root.path.join(".oneact/ledger.db").exists());
}

#[test]
fn a_second_attempt_answers_why_the_first_one_failed() {
    let rules = r#"
retry = [
  { after = ["rate_limited"], set = { seconds = 0.01 } },
  { after = ["oom"], set = { what = "less" } },
]
"#;
    let catalog = CATALOG.replacen("[capability.once]", &format!("{rules}[capability.once]"), 1);
    let root = Root::with_catalog(&catalog);
    let mut fails = request("again", "t1", &json!({"what": "fails"}));
    root.run(&fails);
    fails["dispatch"]["attempt"] = json!(2);
    let second = root.run(&fails);
    let sent = second.at("/output/content/task_result/tool_invocations/0/parameters");
    assert_eq!(sent, &json!({"what": "fails", "seconds": 0.01}));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let adjusted: String = ledger
        .query_row(
            "SELECT adjusted FROM agent_actions WHERE attempt = 2",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(adjusted, r#"{"again":{"seconds":0.01}}"#);
}

/// Sixteen processes ask for the same things, and many of them are killed.
#[test]
fn no_once_only_call_happens_twice_while_owners_are_killed() {
    const POINTS: [&str; 5] = ["reserved", "dispatched", "done", "recorded", "none"];
    let root = Root::with_catalog(CATALOG);
    thread::scope(|scope| {
        for process in 0..16 {
            let root = &root;
            scope.spawn(move || {
                for turn in 0..12 {
                    let number = (turn * 5 + process) % 12;
                    let capability = ["look", "again", "once"][number % 3];
                    let task = format!("t-{process}-{number}");
                    let mut command = root.command();
                    let point = POINTS[(process + turn) % POINTS.len()];
                    command.env("ONEACT_FAULTS", format!("ledger:{point}"));
                    let mut child = command.spawn().unwrap();
                    feed(
                        &mut child,
                        &request(capability, &task, &json!({"what": number.to_string()})),
                    );
                    child.wait_with_output().unwrap();
                }
            });
        }
    });
    let done = happened(&root);
    for number in 0..12 {
        let what = number.to_string();
        let times = done.iter().filter(|done| **done == what).count();
        if number % 3 == 2 {
            assert!(times <= 1, "{number} happened {times} times");
        }
        // Whoever asks now gets an answer: the old one, or that only a person can say.
        let capability = ["look", "again", "once"][number % 3];
        let answer = root.run(&request(
            capability,
            &format!("last-{number}"),
            &json!({"what": what}),
        ));
        let open = capability == "once" && answer.fault() == "outcome_unknown";
        assert!(answer.exit == 0 || open, "{}", answer.envelope);
    }
    whole(&root);
}

#[test]
fn sixteen_processes_that_begin_a_ledger_at_once_begin_one() {
    for _ in 0..8 {
        let root = Root::with_catalog(CATALOG);
        thread::scope(|scope| {
            for process in 0..16 {
                let root = &root;
                scope.spawn(move || {
                    let answer = root.run(&request(
                        "look",
                        &format!("t{process}"),
                        &json!({"what": "a"}),
                    ));
                    assert_eq!(answer.exit, 0, "{}", answer.envelope);
                });
            }
        });
        assert_eq!(happened(&root), ["a"]);
        whole(&root);
    }
}

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

#[test]
fn a_plan_is_done_once_and_again_after_it_was_undone() {
    let root = Root::with_catalog(CATALOG);
    fs::write(root.path.join("a.txt"), "one\n").unwrap();
    let plan = |task: &str| {
        json!({
            "task_plan": {"plan_id": "p", "action_plan": [{
                "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
            }]},
            "protocol_validation": true, "task_id": task, "metadata": {"session_id": "s", "request_id": task},
        })
    };
    let text = || fs::read_to_string(root.path.join("a.txt")).unwrap();
    let first = root.run(&plan("t1"));
    assert_eq!(
        (state(&first), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        first.envelope
    );
    assert_eq!(state(&root.run(&plan("t2"))), "suppressed");
    assert_eq!(state(&root.run(&plan("t1"))), "replayed");
    assert_eq!(text(), "zero\none\n");
    let reports = first
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap()
        .to_owned();
    let undone = root
        .command()
        .args(["rollback", &reports])
        .output()
        .unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(text(), "one\n");
    let again = root.run(&plan("t1"));
    assert_eq!(
        (state(&again), text().as_str()),
        ("done", "zero\none\n"),
        "{}",
        again.envelope
    );
}

#[test]
fn the_journal_of_a_plan_tells_what_became_of_it_when_its_run_died() {
    // Before it was begun nothing is left of it; after it was made, its answer is.
    for (point, wanted) in [("dispatched", Value::Null), ("done", json!("taken_over"))] {
        let root = Root::with_catalog(CATALOG);
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
        let plan = json!({
            "task_plan": {"plan_id": "p", "action_plan": [{
                "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
                "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
            }]},
            "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
        });
        let mut command = root.command();
        command.env("ONEACT_FAULTS", format!("ledger:{point}"));
        let mut child = command.spawn().unwrap();
        feed(&mut child, &plan);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let next = root.run(&plan);
        let why = next.envelope.pointer("/output/content/oneact/reuse/why");
        assert_eq!(
            (state(&next), why.unwrap_or(&Value::Null)),
            ("done", &wanted),
            "{point}: {}",
            next.envelope
        );
        let text = fs::read_to_string(root.path.join("a.txt")).unwrap();
        assert_eq!(text, "zero\none\n", "{point}");
        assert_eq!(state(&root.run(&plan)), "replayed");
    }
}

#[test]
fn the_journals_of_another_root_say_nothing_of_a_plan_that_died_in_this_one() {
    let (here, there) = (Root::with_catalog(CATALOG), Root::with_catalog(CATALOG));
    let ledger = format!("sqlite:{}", here.path.join("shared.db"));
    let plan = json!({
        "task_plan": {"plan_id": "p", "action_plan": [{
            "action_id": "a001", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "line_insert", "line_number": 1, "content": "zero"},
        }]},
        "protocol_validation": true, "task_id": "t", "metadata": {"session_id": "s", "request_id": "r"},
    });
    let command = |root: &Root| {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", &ledger);
        command
    };
    for root in [&here, &there] {
        fs::write(root.path.join("a.txt"), "one\n").unwrap();
    }
    let mut died = command(&here);
    died.env("ONEACT_FAULTS", "ledger:done");
    let mut child = died.spawn().unwrap();
    feed(&mut child, &plan);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let elsewhere = run(command(&there), plan.to_string().as_bytes());
    assert_eq!(
        fault(&elsewhere),
        "outcome_unknown",
        "{}",
        elsewhere.envelope
    );
    let text = |root: &Root| fs::read_to_string(root.path.join("a.txt")).unwrap();
    assert_eq!(text(&there), "one\n");
    // Where it happened it is known.
    let next = run(command(&here), plan.to_string().as_bytes());
    assert_eq!((state(&next), why(&next)), ("done", "taken_over"));
    assert_eq!(text(&here), "zero\none\n");
}
