//! Diffs as plans, from outside. `fixtures/diffs/cases.json` has what tools and models write: each case is applied as it is meant,
//! or refused with its reason, and never half or wrong.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::{
    approvals::at_a_terminal,
    program::{Answer, Root, run},
};

fn apply(root: &Root, flags: &[&str], diff: &[u8]) -> Answer {
    let mut command = root.command();
    command.arg("apply").args(flags);
    run(command, diff)
}

fn bytes(content: &Value) -> Vec<u8> {
    match content {
        Value::String(text) => text.clone().into_bytes(),
        Value::Object(fields) => match fields.get("base64") {
            Some(text) => STANDARD.decode(text.as_str().unwrap()).unwrap(),
            None => bytes(&fields["content"]),
        },
        other => panic!("{other} is no content"),
    }
}

/// Writes the files of a case.
fn put(dir: &Utf8Path, files: &Value) {
    for (path, content) in files.as_object().unwrap() {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(to) = content.get("link") {
            symlink(to.as_str().unwrap(), path).unwrap();
            continue;
        }
        fs::write(&path, bytes(content)).unwrap();
        if let Some(mode) = content.get("mode").and_then(Value::as_str) {
            let mode = u32::from_str_radix(mode, 8).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
        }
    }
}

/// What a case sees of a file: whether it is a link, its content, and whether it is executable.
type Seen = (bool, Vec<u8>, bool);

fn tree(dir: &Utf8Path) -> BTreeMap<String, Seen> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(here) = dirs.pop() {
        for entry in here.read_dir_utf8().unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(dir).unwrap().to_string();
            if [
                "agent_outputs",
                "agent_logs",
                ".oneact",
                ".gitignore",
                "catalog.toml",
                "servers",
            ]
            .contains(&name.as_str())
            {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                let to = path.read_link_utf8().unwrap();
                found.insert(name, (true, to.into_string().into_bytes(), false));
            } else if kind.is_dir() {
                dirs.push(path.to_owned());
            } else {
                let mode = entry.metadata().unwrap().permissions().mode();
                found.insert(name, (false, fs::read(path).unwrap(), mode & 0o111 != 0));
            }
        }
    }
    found
}

/// The tree after a case, from the files that it names.
fn expected(case: &Value) -> BTreeMap<String, Seen> {
    let mut files = case["before"].as_object().unwrap().clone();
    files.extend(case["after"].as_object().cloned().unwrap_or_default());
    files.retain(|_, content| !content.is_null());
    let root = Root::new();
    put(&root.path, &Value::Object(files));
    tree(&root.path)
}

#[test]
fn each_case_is_applied_as_it_is_meant_or_refused_with_its_reason() {
    let file = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/diffs/cases.json");
    let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let root = Root::new();
        put(&root.path, &case["before"]);
        let before = tree(&root.path);
        let diff = bytes(&case["diff"]);
        let answer = apply(&root, &["--yes"], &diff);
        let after = tree(&root.path);
        let fits = if case["expect"] == "accept" {
            answer.exit == 0 && after == expected(case)
        } else {
            let why = case["why"].as_str().unwrap().to_lowercase();
            let is_waiting = answer.exit == 3;
            is_waiting == (case["expect"] == "waits")
                && answer.exit != 0
                && after == before
                && answer.stderr.to_lowercase().contains(&why)
        };
        if !fits {
            wrong.push(format!(
                "{}: exit {}, {}",
                case["case"], answer.exit, answer.stderr
            ));
        }
        if let Some(recounted) = case.get("recount_after") {
            let answer = apply(&root, &["--yes", "--recount"], &diff);
            let mut wanted = case.clone();
            wanted["after"] = recounted.clone();
            if answer.exit != 0 || tree(&root.path) != expected(&wanted) {
                wrong.push(format!("{}, recounted: {}", case["case"], answer.stderr));
            }
        }
    }
    assert!(cases.len() >= 64 && wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_applied_diff_is_rolled_back_with_its_links_and_modes() {
    let root = Root::new();
    put(
        &root.path,
        &json!({"a.txt": "a\n", "run.sh": {"content": "x\n", "mode": "0755"}, "old.txt": "o\n"}),
    );
    let before = tree(&root.path);
    let diff = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n\
        diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n\
        diff --git a/old.txt b/new.txt\nsimilarity index 100%\nrename from old.txt\nrename to new.txt\n\
        diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+a.txt\n\\ No newline at end of file\n";
    let done = apply(&root, &["--yes"], diff.as_bytes());
    assert_eq!(done.exit, 0, "{}", done.stderr);
    let after = tree(&root.path);
    assert_eq!(after["link"], (true, b"a.txt".to_vec(), false));
    assert!(!after["run.sh"].2 && after["new.txt"].1 == b"o\n");
    let report = done.at("/output/content/execution_report");
    assert!(
        report["warnings"]
            .to_string()
            .contains("protocol validation"),
        "{report}"
    );
    let directory = done
        .at("/output/content/oneact/reports/directory")
        .as_str()
        .unwrap();
    let mut command = root.command();
    command.args(["rollback", directory]);
    let undone = command.output().unwrap();
    assert!(undone.status.success(), "{undone:?}");
    assert_eq!(tree(&root.path), before);
}

#[test]
fn a_plan_of_a_diff_has_to_be_validated_by_who_sends_it() {
    let root = Root::new();
    put(&root.path, &json!({"a.txt": "a\n"}));
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    let mut command = root.command();
    command.args(["plan", "from-diff"]);
    let mut plan = run(command, diff.as_bytes()).envelope;
    assert_eq!(plan["action_plan"][0]["target"], "a.txt");
    let refused = run(root.command(), plan.to_string().as_bytes());
    assert_eq!(refused.fault(), &json!("not_validated"));
    plan["protocol_validation"] = json!(true);
    let done = run(root.command(), plan.to_string().as_bytes());
    assert_eq!(done.exit, 0, "{}", done.stderr);
    assert_eq!(fs::read(root.path.join("a.txt")).unwrap(), b"b\n");
}

#[test]
fn diffs_beyond_the_limits_are_refused() {
    let root = Root::new();
    let one = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let many: String = (0..10_000).map(|at| one(&format!("f{at}.txt"))).collect();
    let answer = apply(&root, &["--yes"], many.as_bytes());
    assert_eq!(
        answer.fault(),
        &json!("limit_exceeded"),
        "{}",
        answer.stderr
    );
    let large = one("f.txt") + &"+a line of the file\n".repeat(50 << 20 >> 4);
    let answer = apply(&root, &["--yes"], large.as_bytes());
    assert_eq!(
        answer.fault(),
        &json!("limit_exceeded"),
        "{}",
        answer.stderr
    );
    assert_eq!(tree(&root.path), BTreeMap::new());
}

#[test]
fn at_a_terminal_the_change_is_shown_and_a_person_is_asked() {
    let root = Root::new();
    put(&root.path, &json!({"a.txt": "a\n"}));
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b\n";
    fs::write(root.path.join("change.diff"), diff).unwrap();
    let asked = |answer: &str| {
        let (code, told) = at_a_terminal(&root, answer, &["apply", "change.diff"]);
        (
            code,
            told,
            fs::read_to_string(root.path.join("a.txt")).unwrap(),
        )
    };
    let (code, told, content) = asked("n\n");
    assert!(
        told.contains("-a") && told.contains("Nothing was changed."),
        "{told}"
    );
    assert_eq!((code, content.as_str()), (1, "a\n"));
    let (code, told, content) = asked("y\n");
    assert!(told.contains("done in"), "{told}");
    assert_eq!((code, content.as_str()), (0, "b\n"));
}
