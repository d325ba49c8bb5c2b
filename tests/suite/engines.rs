//! The recipes of `docs/engines.md`, performed by the engines themselves. `scripts/proof-engines` does it with the engines
//! that are too slow for the suite, and `clients/python/tests/test_agents.py` with the agent libraries.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Output},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    installed::installed,
    program::{ONEACT, Root, signal_child, until},
};

const CATALOG: &str = include_str!("../../examples/engines/catalog.toml");

/// A file of a recipe.
fn recipe(name: &str) -> String {
    format!("{}/examples/engines/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A letter takes so many seconds after it was sent.
fn catalog(seconds: u32) -> String {
    let changed = CATALOG.replace(
        r#"letters.py", "0""#,
        &format!(r#"letters.py", "{seconds}""#),
    );
    assert!(seconds == 0 || changed != CATALOG);
    changed
}

/// The root of the recipes, with a letter to Ada, and the directory in which programs find oneact.
pub(crate) fn post_office(seconds: u32) -> Root {
    let root = Root::with_catalog(&catalog(seconds));
    fs::copy(recipe("letters.py"), root.path.join("letters.py")).unwrap();
    fs::create_dir(root.path.join("bin")).unwrap();
    symlink(ONEACT, root.path.join("bin/oneact")).unwrap();
    fs::create_dir(root.path.join("letters")).unwrap();
    write(&root, "ada", "Hello");
    root
}

fn write(root: &Root, name: &str, text: &str) {
    fs::write(root.path.join(format!("letters/{name}.txt")), text).unwrap();
}

/// The letters that were sent, in the order of the alphabet.
pub(crate) fn sent(root: &Root) -> Vec<String> {
    let sent = fs::read_to_string(root.path.join("sent")).unwrap_or_default();
    let mut sent: Vec<String> = sent.lines().map(ToOwned::to_owned).collect();
    sent.sort();
    sent
}

/// An engine in the root, which finds oneact as its user would.
#[expect(clippy::disallowed_methods, reason = "engines are found on the PATH")]
fn engine(root: &Root, program: &str) -> Command {
    let path = format!("{}/bin:{}", root.path, std::env::var("PATH").unwrap());
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/python/src");
    let (celery, drivers) = (
        recipe("celery"),
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/engines"),
    );
    let mut command = root.within(program);
    command
        .env("PATH", path)
        .env("PYTHONPATH", format!("{client}:{celery}:{drivers}"))
        .env("ONEACT_BINARY", ONEACT);
    command
}

fn told(output: &Output) -> String {
    let both = [&output.stdout, &output.stderr];
    both.map(|bytes| String::from_utf8_lossy(bytes)).join("\n")
}

/// The state of each step that the ledger has, in order.
pub(crate) fn states(root: &Root) -> Vec<String> {
    let output = root.command().args(["history", "--json"]).output().unwrap();
    let history: Value = serde_json::from_slice(&output.stdout).unwrap();
    let steps = history["steps"].as_array().unwrap().iter();
    steps
        .map(|step| step["state"].as_str().unwrap().to_owned())
        .collect()
}

fn make(root: &Root, arguments: &[&str]) -> Command {
    let mut make = engine(root, "make");
    make.args(["--file", &recipe("make/Makefile")])
        .args(arguments);
    make
}

#[test]
fn make_sends_a_letter_once_and_keeps_no_target_of_one_that_failed() {
    let root = post_office(0);
    // The second time as if the target were older than the letter.
    for again in [&["letters/ada.sent"][..], &["-B", "letters/ada.sent"]] {
        let output = make(&root, again).output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
        let answer = fs::read_to_string(root.path.join("letters/ada.sent")).unwrap();
        assert_eq!(answer.trim(), r#"{"to":"ada@example.org","text":"Hello"}"#);
    }
    write(&root, "bob", "");
    let output = make(&root, &["letters/bob.sent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(
        told(&output).contains("/text: \"\" is shorter"),
        "{}",
        told(&output)
    );
    assert!(!root.path.join("letters/bob.sent").exists());
    assert_eq!(sent(&root), [r#"["ada@example.org", "Hello"]"#]);
    assert_eq!(states(&root), ["done", "suppressed"]);
}

#[test]
fn a_make_that_is_ended_ends_the_run_which_is_not_repeated() {
    let root = post_office(600);
    let child = make(&root, &["letters/ada.sent"]).spawn().unwrap();
    until("the letter is sent", || {
        (!sent(&root).is_empty()).then_some(())
    });
    signal_child(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    // `make` does not wait for what it ends.
    until("the run has ended", || {
        root.processes().is_empty().then_some(())
    });
    assert_eq!(states(&root), ["unknown"]);
    let again = make(&root, &["letters/ada.sent"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(
        told(&again).contains("oneact: outcome_unknown"),
        "{}",
        told(&again)
    );
    assert_eq!(sent(&root).len(), 1);
}

#[test]
fn gnu_parallel_sends_each_letter_of_a_list_once() {
    let root = post_office(0);
    let list = "ada@example.org\tHello\nbob@example.org\tHi, 'Bob' $HOME\nnobody\tHello\n";
    fs::write(root.path.join("monday.tsv"), list).unwrap();
    for time in 0..2 {
        let mut send = engine(&root, &recipe("parallel/send.sh"));
        let output = send.arg("monday.tsv").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{time}: {}", told(&output));
        let answers = String::from_utf8(output.stdout).unwrap();
        assert_eq!(answers.lines().count(), 3, "{answers}");
        assert!(answers.contains("nobody lives at nobody"), "{answers}");
    }
    let letters = [
        r#"["ada@example.org", "Hello"]"#,
        r#"["bob@example.org", "Hi, 'Bob' $HOME"]"#,
    ];
    assert_eq!(sent(&root), letters);
}

fn snakemake(root: &Root, more: &[&str]) -> Output {
    let mut snakemake = engine(root, installed("engines/bin/snakemake").as_str());
    snakemake.args([
        "--snakefile",
        &recipe("snakemake/Snakefile"),
        "--cores",
        "2",
    ]);
    snakemake.args(more).arg("--config");
    snakemake.args([&format!("root={}", root.path), "session=monday"]);
    snakemake.output().unwrap()
}

#[test]
fn snakemake_sends_a_letter_once_and_keeps_the_log_of_one_that_failed() {
    let root = post_office(0);
    for more in [&[][..], &["--forceall"]] {
        let output = snakemake(&root, more);
        assert!(output.status.success(), "{}", told(&output));
    }
    write(&root, "bob", "");
    let output = snakemake(&root, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(root.path.join("letters/ada.sent").exists());
    assert!(!root.path.join("letters/bob.sent").exists());
    let log = fs::read_to_string(root.path.join("logs/bob.log")).unwrap();
    assert!(log.starts_with("oneact: params_invalid: "), "{log}");
    assert_eq!(sent(&root), [r#"["ada@example.org", "Hello"]"#]);
    assert_eq!(states(&root), ["done", "suppressed"]);
}

#[test]
fn a_celery_worker_performs_a_delivery_once_and_its_soft_time_limit_ends_the_run() {
    let root = post_office(0);
    fs::write(root.path.join("slow.toml"), catalog(600)).unwrap();
    let mut python = engine(&root, installed("engines/bin/python").as_str());
    python.env("CELERY_BROKER", "filesystem://");
    let driver = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/engines/celery_letters.py"
    );
    let output = python.arg(driver).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let came_to: Value = serde_json::from_str(printed.trim()).unwrap_or_default();
    let letter = json!({"to": "ada@example.org", "text": "Hello"});
    let owed =
        json!({"one": [letter, letter], "bad": "RuntimeError", "slow": "SoftTimeLimitExceeded"});
    assert_eq!(came_to, owed, "{}", told(&output));
    assert_eq!(sent(&root).len(), 2);
    assert_eq!(states(&root), ["done", "replayed", "failed", "unknown"]);
}

/// Runs a linter on a file. A complaint is all that it says.
fn complaint(root: &Root, program: &str, arguments: &[&str]) -> String {
    let output = root.within(program).args(arguments).output().unwrap();
    let told = told(&output);
    assert!(output.status.success() || !told.trim().is_empty());
    told.trim().to_owned()
}

/// These are not run. Each linter finds what is wrong in a file that was spoilt.
#[test]
fn the_files_for_systemd_kubernetes_and_github_actions_pass_their_linters() {
    let root = Root::new();
    let linter = |name: &str| installed(&format!("linters/bin/{name}")).into_string();
    let cases = [
        (
            "systemd/letter.service",
            "systemd-analyze".to_owned(),
            &["verify", "--man=no"][..],
            "on-failure",
        ),
        (
            "kubernetes/job.yaml",
            linter("kubernetes-validate"),
            &["--strict", "--quiet"],
            "backoffLimit",
        ),
        (
            "github-actions/plan.yml",
            linter("actionlint"),
            &["-no-color"],
            "timeout-minutes",
        ),
    ];
    for (file, program, arguments, word) in cases {
        let text = fs::read_to_string(recipe(file)).unwrap();
        let text = text.replace("/usr/local/bin/oneact", ONEACT);
        let path = root.path.join(file.rsplit('/').next().unwrap());
        let check = |text: &str| {
            fs::write(&path, text).unwrap();
            complaint(&root, &program, &[arguments, &[path.as_str()]].concat())
        };
        assert_eq!(check(&text), "", "{file}");
        assert!(!check(&text.replace(word, "misspelt")).is_empty(), "{file}");
    }
}
