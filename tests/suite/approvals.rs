//! Approvals: who is asked, for exactly what, and how often it is used (specification 003).

mod arrive;
mod binding;
mod doubt;
mod hosts;
mod people;
mod plans;

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command, thread, time::Duration};

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

/// Runs oneact at a pseudo-terminal. Each question, also for a passphrase, is answered with the next line of `typed`. Returns
/// the exit code and all that was shown.
pub(crate) fn at_a_terminal(root: &Root, typed: &str, arguments: &[&str]) -> (i32, String) {
    at_a_terminal_with(root, &[], typed, arguments)
}

/// The same with variables of the environment.
pub(crate) fn at_a_terminal_with(
    root: &Root,
    variables: &[(&str, &str)],
    typed: &str,
    arguments: &[&str],
) -> (i32, String) {
    let line = "import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
typed = sys.argv[1].encode().splitlines(True)
shown = b''
try:
    while True:
        part = os.read(terminal, 1000)
        if not part:
            break
        shown += part
        last = shown.splitlines()[-1]
        if typed and (last.endswith(b'[y/N] ') or b'passphrase' in last):
            os.write(terminal, typed.pop(0))
except OSError:
    pass
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(status))";
    let mut command = root.within("python3");
    let output = command
        .envs(variables.iter().copied())
        .args(["-c", line, typed, "/usr/bin/env"])
        .args(["--default-signal=HUP,INT,QUIT", ONEACT])
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
        "Hidden in `plan_summary`: 22 characters of what looks like the credentials of a URL.";
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
