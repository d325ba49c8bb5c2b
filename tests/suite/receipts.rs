//! A receipt of an answer is checked by the program of `examples/`, which knows nothing of oneact.

use std::fs;

use serde_json::{Value, json};

use crate::program::{Root, run};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.study]
effects = { idempotent = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "analysis", asset_type = "note" }
"#;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/check_receipt.py");

/// Performs a task of that session in that minute, and returns its operation. A run ties what is older than ten seconds.
fn studied(root: &Root, session: &str, minute: u32) -> String {
    let name = format!("t{minute}");
    let task = json!({
        "metadata": {"session_id": session, "request_id": name},
        "dispatch": {
            "task_id": name, "attempt": 1, "capability_ids": ["study"], "parameters": {"what": "é \u{1}"},
            "output_refs_expected": [format!("derived_{minute}")], "salt": name,
        },
    });
    let mut command = root.command();
    let clock = format!("2026-02-24T10:{minute:02}:00+00:00[UTC]");
    command.args(["run", "--clock", &clock, "--seed", &minute.to_string()]);
    let answer = run(command, task.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let operation = answer.at("/output/content/oneact/operation_id").as_str();
    operation.unwrap().to_owned()
}

fn anchored(root: &Root, file: &str) {
    let anchors = root.command().args(["verify", "--anchor-out"]).output();
    fs::write(root.path.join(file), anchors.unwrap().stdout).unwrap();
}

fn receipt(root: &Root, operation: &str, more: &[&str]) -> Result<Value, String> {
    let mut command = root.command();
    let output = command
        .args(["show", operation, "--receipt"])
        .args(more)
        .output()
        .unwrap();
    match output.status.code() {
        Some(0) => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        _ => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

/// What the program says.
fn checked(root: &Root, receipt: &Value, more: &[&str]) -> Result<String, String> {
    fs::write(root.path.join("receipt.json"), receipt.to_string()).unwrap();
    let mut command = root.within("python3");
    let output = command
        .args([PROGRAM, "receipt.json"])
        .args(more)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap().trim().to_owned();
    match output.status.code() {
        Some(0) => Ok(text(output.stdout)),
        _ => Err(text(output.stderr)),
    }
}

#[test]
fn a_receipt_is_proven_by_an_anchor_of_its_session_and_by_one_behind_knots() {
    let root = Root::with_catalog(CATALOG);
    let operation = studied(&root, "s", 1);
    anchored(&root, "soon");
    for minute in 2..5 {
        studied(&root, if minute == 3 { "s" } else { "t" }, minute);
    }
    anchored(&root, "later");
    let printed = root
        .command()
        .args(["replay", "0", "--session", "s"])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{printed:?}");
    fs::write(root.path.join("response"), printed.stdout.trim_ascii_end()).unwrap();
    let proven = format!("proven: {operation} study, done, effect done");
    for (anchors, knots) in [("soon", 0), ("later", 1)] {
        let receipt = receipt(&root, &operation, &["--anchor", anchors]).unwrap();
        let predicate = &receipt["predicate"];
        let links = predicate["links"].as_array().unwrap();
        let is_knot = |link: &&Value| link["session_id"] == "";
        assert!(links.iter().filter(is_knot).count() >= knots, "{receipt}");
        assert_eq!(predicate["tied"].as_array().unwrap().is_empty(), knots == 0);
        assert_eq!(receipt["_type"], "https://in-toto.io/Statement/v1");
        assert_eq!(
            checked(&root, &receipt, &[anchors, "response"]),
            Ok(proven.clone())
        );
    }
    // Without a file, it leads to what ties the answer.
    let alone = receipt(&root, &operation, &[]).unwrap();
    let end = alone["predicate"]["anchor"].to_string();
    fs::write(root.path.join("end"), end).unwrap();
    assert_eq!(checked(&root, &alone, &["end", "response"]), Ok(proven));
    assert_eq!(
        checked(&root, &alone, &["soon"]),
        Err("not proven: the anchor".to_owned())
    );
}

#[test]
fn a_receipt_that_was_changed_is_not_proven() {
    let root = Root::with_catalog(CATALOG);
    let operation = studied(&root, "s", 1);
    studied(&root, "t", 2);
    studied(&root, "t", 3);
    anchored(&root, "anchors");
    let whole = receipt(&root, &operation, &["--anchor", "anchors"]).unwrap();
    checked(&root, &whole, &["anchors"]).unwrap();
    let changes: [(&str, Value, &str); 8] = [
        (
            "/predicate/effect",
            json!("none"),
            "what it says of the operation",
        ),
        (
            "/predicate/capability",
            json!("other"),
            "what it says of the operation",
        ),
        ("/predicate/row", json!("{}"), "the row"),
        ("/subject/0/digest/sha256", json!("00"), "the response"),
        ("/subject/1/digest/sha256", json!("00"), "the request"),
        ("/predicate/link/actor", json!("mallory"), "link "),
        ("/predicate/tied/0", json!("00"), "link "),
        ("/predicate/links/0/at", json!("now"), "link "),
    ];
    for (pointer, value, what) in changes {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let said = checked(&root, &changed, &["anchors"]).unwrap_err();
        let fits = said.starts_with(&format!("not proven: {what}")) || said.contains("KeyError");
        assert!(fits, "{pointer}: {said}");
    }
    // The chain knows of no other subject.
    let mut more = whole.clone();
    let subjects = more["subject"].as_array_mut().unwrap();
    subjects.push(json!({"name": "catalog.toml", "digest": {"sha256": "00"}}));
    let said = checked(&root, &more, &["anchors"]);
    assert_eq!(said, Err("not proven: the subjects".to_owned()));
    let said = checked(&root, &whole, &["anchors", "catalog.toml"]);
    assert_eq!(said, Err("not proven: a file".to_owned()));
}

#[test]
fn there_is_no_receipt_of_what_no_anchor_vouches_for() {
    let root = Root::with_catalog(CATALOG);
    studied(&root, "s", 1);
    anchored(&root, "anchors");
    let later = studied(&root, "s", 2);
    let refused = receipt(&root, &later, &["--anchor", "anchors"]).unwrap_err();
    assert!(
        refused.contains("no anchor of the file vouches for it"),
        "{refused}"
    );
}
