//! The commands about the record, as people and programs see them: words, JSON and exit codes.

use std::{fs, os::unix::fs::symlink, process::Command};

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{ONEACT, Root, run, signal_child, until};
use crate::tracer::{
    is_refused,
    moments::{self, Moment},
};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.again]
effects = { idempotent = true, open_world = false }
on_duplicate = { mode = "reuse" }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.once]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
"#;

const KEY: &str = include_str!("../../src/evidence/signature/tests/key");
const PUBLIC: &str = include_str!("../../src/evidence/signature/tests/key.pub");

fn request(capability: &str, task: &str) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": task},
        "dispatch": {"task_id": task, "attempt": 1, "capability_ids": [capability], "parameters": {"what": "a"}},
    })
}

/// Exit code, stdout, stderr.
fn oneact(root: &Root, args: &[&str]) -> (i32, String, String) {
    let output = root.command().args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let exit = output.status.code().unwrap();
    (exit, text(output.stdout), text(output.stderr))
}

fn document(root: &Root, args: &[&str]) -> Value {
    let (exit, stdout, stderr) = oneact(root, args);
    assert_eq!(exit, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// A ledger with one answer: links 1 to 3.
fn answered() -> Root {
    let root = Root::with_catalog(CATALOG);
    assert_eq!(root.run(&request("again", "t1")).exit, 0);
    root
}

fn state(root: &Root, task: &str) -> String {
    let answer = root.run(&request("again", task));
    answer.state().as_str().unwrap().to_owned()
}

/// Lines that were folded at 80 columns, as they were said.
fn unfolded(text: &str) -> String {
    text.replace("\n  ", " ")
}

fn change(root: &Root, text: &str) {
    let database = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let text = format!("PRAGMA foreign_keys = OFF; {text}");
    database.execute_batch(&text).unwrap();
}

#[test]
fn a_ledger_that_the_environment_names_is_found_also_beside_a_broken_catalog() {
    let root = answered();
    fs::write(root.path.join("catalog.toml"), "catalog = [").unwrap();
    for args in [["history"], ["verify"]] {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", ".oneact/ledger.db").args(args);
        assert_eq!(command.output().unwrap().status.code(), Some(0), "{args:?}");
    }
    assert_eq!(oneact(&root, &["verify"]).0, 2);
}

#[test]
fn a_whole_ledger_says_how_much_of_it_is_vouched_for() {
    let root = answered();
    let (exit, stdout, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 0);
    assert!(
        stdout.lines().all(|line| line.chars().count() <= 80),
        "{stdout}"
    );
    let stdout = unfolded(&stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], "3 links, chain unbroken, 1 payloads match");
    assert!(lines[1].contains("it is not signed"), "{stdout}");
    assert!(
        lines[2].starts_with("links that no anchor confirms: "),
        "{stdout}"
    );
    let verdict = document(&root, &["verify", "--json"]);
    assert_eq!(verdict["whole"], true);
    assert_eq!(
        (&verdict["links"], &verdict["not_anchored"]),
        (&json!(3), &json!(3))
    );
}

#[test]
fn a_changed_answer_is_exit_1_and_names_the_link() {
    let root = answered();
    change(
        &root,
        "UPDATE agent_actions SET response = '{}' WHERE seq = 3",
    );
    let (exit, stdout, _) = oneact(&root, &["verify"]);
    let stdout = unfolded(&stdout);
    assert_eq!(exit, 1);
    assert!(
        stdout.starts_with("BROKEN at link 3: contents do not match its hash (agent_actions "),
        "{stdout}"
    );
    assert!(
        stdout.contains("response changed)\nlinks 1–2 are good\n"),
        "{stdout}"
    );
    let (exit, stdout, _) = oneact(&root, &["verify", "--json"]);
    let verdict: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((exit, &verdict["whole"]), (1, &json!(false)));
    let broken = &verdict["broken"];
    assert_eq!(
        (&broken["what"], &broken["link"], &broken["good_to"]),
        (&json!("row_changed"), &json!(3), &json!(2))
    );
    // What is broken is no anchor for anybody.
    let (exit, stdout, _) = oneact(&root, &["verify", "--anchor-out"]);
    assert_eq!((exit, stdout.as_str()), (1, ""));
}

/// R-004-03
#[test]
fn a_session_that_was_given_to_another_context_is_exit_1_and_named() {
    let root = answered();
    change(&root, "UPDATE sessions SET context = 'USER_INVOCATION'");
    let (exit, stdout, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 1);
    assert!(
        unfolded(&stdout).contains("about it (table sessions)"),
        "{stdout}"
    );
    let broken = oneact(&root, &["verify", "--json"]).1;
    assert!(broken.contains("\"record_changed\""), "{broken}");
}

#[test]
fn what_somebody_wrote_into_the_ledger_says_nothing_of_it_on_a_terminal() {
    let root = answered();
    change(
        &root,
        "UPDATE claims SET operation_id = char(27) || '[2J1 284 links, chain unbroken' || char(10) || char(8238)",
    );
    let (exit, stdout, _) = oneact(&root, &["verify"]);
    let stdout = unfolded(&stdout);
    assert_eq!(exit, 1);
    let broken = "BROKEN at link 1: the record that it made or changed does not match the links about it (table claims)";
    assert!(stdout.starts_with(broken), "{stdout:?}");
    let (exit, stdout, stderr) = oneact(&root, &["resolve", "\u{1b}[3", "--happened"]);
    assert_eq!((exit, stdout.as_str()), (2, ""));
    assert!(stderr.contains("`^[[3`"), "{stderr:?}");
    let (_, _, stderr) = oneact(&root, &["revoke", "\u{202e}"]);
    assert!(stderr.contains("`<U+202E>`"), "{stderr:?}");
}

#[test]
fn every_envelope_that_was_kept_is_an_anchor() {
    let root = Root::with_catalog(CATALOG);
    let kept = root.run(&request("again", "t1")).envelope;
    fs::write(root.path.join("kept.jsonl"), format!("{kept}\n")).unwrap();
    let (exit, stdout, _) = oneact(&root, &["verify", "--anchor", "kept.jsonl"]);
    assert!(
        exit == 0 && stdout.contains("anchored to 3 (the anchor given)"),
        "{stdout}"
    );
    change(
        &root,
        "DELETE FROM agent_actions; DELETE FROM sessions; DELETE FROM claims; DELETE FROM ledger_events",
    );
    fs::remove_file(root.path.join(".oneact/ledger.head")).unwrap();
    assert_eq!(oneact(&root, &["verify"]).0, 0);
    let (exit, stdout, _) = oneact(&root, &["verify", "--anchor", "kept.jsonl"]);
    let stdout = unfolded(&stdout);
    assert_eq!(exit, 1);
    assert!(
        stdout.contains("an anchor names link 3, which the ledger does not contain"),
        "{stdout}"
    );
}

/// The mount point of a volume that is away is an empty directory.
#[test]
fn a_ledger_whose_volume_is_away_is_not_taken_for_a_new_one() {
    let root = Root::with_catalog(&format!("{CATALOG}[ledger]\nuri = \"volume/ledger.db\"\n"));
    assert_eq!(root.run(&request("once", "t1")).exit, 0);
    let [volume, away] = ["volume", "away"].map(|name| root.path.join(name));
    fs::rename(&volume, &away).unwrap();
    fs::create_dir(&volume).unwrap();
    let refused = root.run(&request("once", "t1"));
    assert_eq!(
        refused.fault(),
        "ledger_unavailable",
        "{}",
        refused.envelope
    );
    fs::remove_dir_all(&volume).unwrap();
    fs::rename(&away, &volume).unwrap();
    let again = root.run(&request("once", "t1"));
    assert_eq!(again.state(), "replayed", "{}", again.envelope);
}

#[test]
fn a_signed_head_is_checked_against_the_public_key_and_ssh_keygen_agrees() {
    let signed = format!("{CATALOG}[ledger]\nsign_key = \"key\"\n");
    let root = Root::with_catalog(&signed);
    fs::write(root.path.join("key"), KEY).unwrap();
    fs::write(root.path.join("key.pub"), PUBLIC).unwrap();
    assert_eq!(root.run(&request("again", "t1")).exit, 0);
    let (exit, stdout, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 0);
    assert!(stdout.contains("anchored to 3 (signed head, "), "{stdout}");
    assert!(!stdout.contains("no anchor confirms"), "{stdout}");
    let (exit, stdout, _) = oneact(&root, &["verify", "--signers", "key.pub", "--anchor-out"]);
    assert_eq!(exit, 0);
    let line: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(line["seq"], 3);
    let signature = line["signature"].as_str().unwrap();
    assert!(signature.starts_with("-----BEGIN SSH SIGNATURE-----\n"));
    // The key itself says which public key it has. Without any key, nothing is verified.
    fs::remove_file(root.path.join("key.pub")).unwrap();
    assert_eq!(oneact(&root, &["verify"]).0, 0);
    fs::rename(root.path.join("key"), root.path.join("aside")).unwrap();
    assert_eq!(oneact(&root, &["verify"]).0, 2);
    fs::rename(root.path.join("aside"), root.path.join("key")).unwrap();
    let head = root.path.join(".oneact/ledger.head");
    let text = fs::read_to_string(&head).unwrap();
    fs::write(&head, text.replace("\"seq\":3", "\"seq\":2")).unwrap();
    assert_eq!(oneact(&root, &["verify"]).0, 1);
}

#[test]
fn without_a_ledger_an_anchor_or_a_key_it_is_exit_2_and_nothing_is_made() {
    let root = Root::with_catalog(CATALOG);
    for args in [
        &["verify"][..],
        &["resolve", "op_1", "--did-not"],
        &["revoke", "op_1"],
        &["review", "op_1", "--accept"],
        &["prune", "--older", "90d"],
    ] {
        let (exit, stdout, stderr) = oneact(&root, args);
        assert_eq!((exit, stdout.as_str()), (2, ""), "{args:?}");
        assert!(stderr.contains("nothing was recorded here yet"), "{stderr}");
    }
    assert!(!root.path.join(".oneact").exists());
    let root = answered();
    for args in [
        &["verify", "--anchor", "nowhere"][..],
        &["verify", "--signers", "nowhere"],
        &["resolve", "op_1"],
        &["resolve", "op_1", "--happened", "--did-not"],
        &["review", "op_1"],
        &["prune", "--older", "soon"],
        &["prune"],
        &["revoke", "op_nobody"],
        &["revoke", "0"],
    ] {
        let (exit, stdout, _) = oneact(&root, args);
        assert_eq!((exit, stdout.as_str()), (2, ""), "{args:?}");
    }
    // Neither answer is proposed before the other.
    let (_, _, stderr) = oneact(&root, &["resolve", "op_1"]);
    assert!(stderr.contains("<--happened|--did-not>"), "{stderr}");
}

#[test]
fn a_named_file_that_is_a_pipe_is_refused_and_not_waited_for() {
    let root = answered();
    let made = Command::new("mkfifo").arg(root.path.join("pipe")).status();
    assert!(made.unwrap().success());
    for args in [
        &["verify", "--signers", "pipe"][..],
        &["verify", "--anchor", "pipe"],
        &["verify", "--catalog", "pipe"],
        &["run", "pipe"],
        &["catalog", "import", "pipe"],
        &["catalog", "import", "/dev/zero"],
        &["catalog", "check", "--against", "pipe"],
    ] {
        let (exit, _, stderr) = in_time(&root, args);
        assert_eq!(exit, 2, "{args:?}: {stderr}");
    }
    let signed = format!("{CATALOG}[ledger]\nsign_key = \"pipe\"\n");
    fs::write(root.path.join("catalog.toml"), signed).unwrap();
    let (exit, _, stderr) = in_time(&root, &["verify"]);
    assert_eq!(exit, 2, "{stderr}");
    // A file is found behind a symbolic link.
    fs::write(root.path.join("catalog.toml"), CATALOG).unwrap();
    fs::write(root.path.join("key.pub"), PUBLIC).unwrap();
    symlink("key.pub", root.path.join("link")).unwrap();
    assert_eq!(oneact(&root, &["verify", "--signers", "link"]).0, 1);
}

/// As [`oneact`], but a run that hangs is ended.
fn in_time(root: &Root, args: &[&str]) -> (i32, String, String) {
    let mut limited = root.within("timeout");
    limited.args(["20", ONEACT]).args(args);
    let output = limited.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let exit = output.status.code().unwrap();
    (exit, text(output.stdout), text(output.stderr))
}

/// A once-only call whose run died in the middle.
fn died() -> (Root, String) {
    let root = Root::with_catalog(CATALOG);
    moments::killed(
        &root,
        &request("once", "t1"),
        Moment::Dispatched.of_the_task(),
    );
    let next = root.run(&request("once", "t2"));
    assert_eq!((next.exit, next.fault()), (1, &json!("outcome_unknown")));
    let message = next.at("/error/error_message").as_str().unwrap();
    let operation = message
        .split_whitespace()
        .find(|word| word.starts_with("op_"));
    let operation = operation.unwrap().to_owned();
    (root, operation)
}

#[test]
fn a_person_says_that_it_happened_and_it_is_not_done_again() {
    if is_refused() {
        return;
    }
    let (root, operation) = died();
    let (_, stdout, _) = oneact(&root, &["verify"]);
    assert!(stdout.contains("unknown outcome"), "{stdout}");
    let said = document(
        &root,
        &[
            "resolve",
            &operation,
            "--happened",
            "-m",
            "it is in the mailbox",
            "--json",
        ],
    );
    assert_eq!(
        (&said["happened"], &said["action"], &said["task_id"]),
        (&json!(true), &json!("once"), &json!("t1"))
    );
    let next = root.run(&request("once", "t3"));
    assert_eq!((next.exit, next.state()), (0, &json!("suppressed")));
    assert_eq!(
        next.result_data()["resolved"]["why"],
        "it is in the mailbox"
    );
    assert!(!root.path.join("counted").exists());
    assert_eq!(oneact(&root, &["verify"]).0, 0);
    let (exit, _, stderr) = oneact(&root, &["resolve", &operation, "--did-not"]);
    assert!(
        exit == 2 && stderr.contains("is settled by link 4: a person said that it happened"),
        "{stderr}"
    );
}

#[test]
fn a_person_says_that_it_did_not_happen_and_it_is_done() {
    if is_refused() {
        return;
    }
    let (root, operation) = died();
    let (exit, stdout, _) = oneact(&root, &["resolve", &operation, "--did-not"]);
    assert!(
        exit == 0
            && stdout.contains("did not happen. The next run of the same request performs it."),
        "{stdout}"
    );
    let next = root.run(&request("once", "t3"));
    assert_eq!((next.exit, next.state()), (0, &json!("done")));
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

#[test]
fn what_could_not_be_compared_did_not_come_out_otherwise() {
    let root = Root::with_catalog(CATALOG);
    let mut slow = request("again", "t1");
    slow["dispatch"]["parameters"] = json!({"what": "a", "seconds": 1.5});
    assert_eq!(root.run(&slow).exit, 0);
    let execute = ["replay", "0", "--session", "s", "--execute", "--json"];
    let child = root.command().args(execute).spawn().unwrap();
    until("it is done again", || {
        let counted = fs::read_to_string(root.path.join("counted")).ok()?;
        (counted.lines().count() == 2).then_some(())
    });
    signal_child(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &said["verdict"]),
        (Some(130), &json!("cancelled"))
    );
    // A ledger that can be read and not written: of a newer oneact.
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    ledger
        .execute_batch(
            "PRAGMA user_version = 99; INSERT INTO schema_migrations VALUES (99, 'n', 'c', '9.0.0', '')",
        )
        .unwrap();
    let (exit, stdout, _) = oneact(&root, &execute);
    let said: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((exit, &said["verdict"]), (2, &json!("refused")), "{said}");
    let (exit, stdout, stderr) = oneact(&root, &["replay", "7", "--session", "s", "--execute"]);
    assert_eq!((exit, stdout.as_str()), (2, ""), "{stderr}");
}

#[test]
fn what_was_taken_back_is_done_anew_and_what_came_of_it_is_listed() {
    let root = answered();
    assert_eq!(state(&root, "t2"), "reused");
    let (exit, stdout, _) = oneact(
        &root,
        &["revoke", "0", "--session", "s", "-m", "wrong file"],
    );
    assert_eq!(exit, 0);
    assert!(stdout.starts_with("again, step 0 of s (op_"), "{stdout}");
    assert!(
        stdout.contains("Answers that repeated it and are not revoked"),
        "{stdout}"
    );
    assert_eq!(state(&root, "t3"), "done");
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

#[test]
fn a_review_is_recorded_and_a_rejected_answer_not_reused() {
    let root = answered();
    let accepted = document(
        &root,
        &["review", "0", "--session", "s", "--accept", "--json"],
    );
    assert_eq!(
        (&accepted["verdict"], &accepted["revoked_by"]),
        (&json!("accepted"), &Value::Null)
    );
    assert_eq!(state(&root, "t2"), "reused");
    let (exit, stdout, _) = oneact(
        &root,
        &["review", "0", "--session", "s", "--reject", "-m", "swapped"],
    );
    assert!(exit == 0 && stdout.contains("was rejected"), "{stdout}");
    assert_eq!(state(&root, "t3"), "done");
}

#[test]
fn what_is_old_is_pruned_and_every_command_says_so() {
    let root = Root::with_catalog(CATALOG);
    for (day, capability, task) in [("01", "once", "t2"), ("02", "again", "t1")] {
        let mut command = root.command();
        let clock = format!("2020-01-{day}T10:00:00+00:00[UTC]");
        command.args(["run", "--clock", &clock]);
        let answer = run(command, request(capability, task).to_string().as_bytes());
        assert_eq!(answer.exit, 0, "{}", answer.envelope);
    }
    assert_eq!(root.run(&request("again", "t3")).exit, 0);
    let (exit, stdout, _) = oneact(&root, &["prune", "--older", "90d", "--dry-run"]);
    assert_eq!(exit, 0);
    assert!(
        stdout.starts_with("2 answers would be pruned, "),
        "{stdout}"
    );
    let stored = oneact(&root, &["replay", "0"]).1;
    assert!(stored.starts_with('{'), "{stored}");
    let pruned = document(&root, &["prune", "--older", "90d", "--json"]);
    let all = ["dry_run", "rows", "kept"].map(|key| &pruned[key]);
    assert_eq!(all, [&json!(false), &json!(2), &json!(0)]);
    assert!(pruned["bytes"].as_u64().unwrap() > stored.len() as u64);
    assert_eq!(pruned["links"].as_array().unwrap().len(), 1);
    let (exit, stdout, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 0);
    assert!(stdout.contains("1 payloads match, 2 pruned"), "{stdout}");
    let (_, history, _) = oneact(&root, &["history"]);
    let lines = history.lines().filter(|line| line.ends_with("pruned"));
    assert_eq!(lines.count(), 2, "{history}");
    let (exit, stdout, stderr) = oneact(&root, &["replay", "0"]);
    assert_eq!((exit, stdout.as_str()), (1, ""));
    assert!(stderr.contains("the answer of #0 was pruned"), "{stderr}");
    let shown = oneact(&root, &["show", "1"]).1;
    assert!(shown.contains("their hashes remain"), "{shown}");
    let session = document(&root, &["replay"]);
    assert_eq!(session["steps"][0]["response"], Value::Null);
    // What could have been given again is done; what must not happen twice still is not.
    assert_eq!(state(&root, "t4"), "done");
    let why = oneact(&root, &["history", "--why", "t4"]).1;
    assert!(why.contains("(pruned)"), "{why}");
    let once = root.run(&request("once", "t5"));
    assert_eq!(once.state(), &json!("suppressed"), "{}", once.envelope);
    // So is the same delivery, of which the answer is lost, too.
    let same = root.run(&request("once", "t2"));
    assert_eq!(
        (same.exit, same.state()),
        (0, &json!("replayed")),
        "{}",
        same.envelope
    );
    assert_eq!(
        same.envelope["output"]["content"]["oneact"]["effect"],
        "done"
    );
    let again = document(&root, &["prune", "--older", "90d", "--json"]);
    assert_eq!(again["rows"], 0);
}
