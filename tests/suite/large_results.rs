//! Results that are too large for an answer.

use std::fs;

use camino::Utf8PathBuf;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::program::{Answer, Root};

const CATALOG: &str = r#"
catalog = 1
[server.large]
command = ["python3", "servers/large.py"]
env_pass = ["LARGE_SECRET"]
[capability.records]
effects = { read_only = true }
mcp = { server = "large", tool = "records" }
secret = ["/word"]
success = [{ pointer = "/found", equals = "yes" }]
parameter_schema_for_action = { type = "object", required = ["n"] }
result = { kind = "metadata" }
[capability.records_again]
effects = { read_only = true }
mcp = { server = "large", tool = "records" }
parameter_schema_for_action = { type = "object", required = ["n"] }
result = { kind = "metadata" }
[capability.asset]
effects = { read_only = true }
parameter_schema_for_action = { type = "object", required = ["n"] }
mcp = { server = "large", tool = "records" }
bind = { path = "output.path" }
result = { kind = "asset", asset_type = "text", format = "text" }
[capability.analysis]
effects = { read_only = true }
parameter_schema_for_action = { type = "object", required = ["n"] }
mcp = { server = "large", tool = "records" }
result = { kind = "analysis", asset_type = "records", format = "json" }
[capability.kept]
effects = { read_only = true, open_world = false }
on_duplicate = { mode = "reuse" }
parameter_schema_for_action = { type = "object", required = ["n"] }
mcp = { server = "large", tool = "records" }
result = { kind = "metadata" }
"#;

fn records(root: &Root, parameters: &Value) -> Answer {
    steps(root, &["records"], parameters)
}

fn steps(root: &Root, capabilities: &[&str], parameters: &Value) -> Answer {
    let task = json!({"task_id": "t", "capability_ids": capabilities, "parameters": parameters});
    let mut command = root.command();
    command.env("LARGE_SECRET", "record 77");
    crate::program::run(command, task.to_string().as_bytes())
}

/// The file that stands for the result, checked against what the answer says of it.
fn spilled(root: &Root, answer: &Answer) -> Value {
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let blob = answer.at("/output/content/task_result/result_data/$blob");
    let uri = blob["storage_uri"].as_str().unwrap();
    let path = Utf8PathBuf::from(uri.strip_prefix("file://").unwrap());
    let bytes = fs::read(&path).unwrap();
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"));
    assert_eq!(blob["sha256"], json!(hash));
    assert_eq!(blob["bytes"], json!(bytes.len()));
    assert_eq!(
        path.strip_prefix(root.path.join("agent_outputs/assets"))
            .unwrap()
            .components()
            .count(),
        2
    );
    assert_eq!(
        path.file_name(),
        Some(format!("sha256-{hash}.json").as_str())
    );
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn a_result_of_megabytes_is_a_file_whatever_part_of_the_answer_it_came_in() {
    let root = Root::with_catalog(CATALOG);
    for form in ["structured", "text", "both"] {
        let answer = records(&root, &json!({"n": 30_000, "form": form}));
        let result = spilled(&root, &answer);
        assert_eq!(
            result["records"].as_array().unwrap().len(),
            30_000,
            "{form}"
        );
        assert_eq!(result["records"][29_999]["id"], json!(29_999));
        assert!(answer.envelope.to_string().len() < 10_000);
    }
}

#[test]
fn two_steps_may_find_out_the_same_at_length() {
    let root = Root::with_catalog(CATALOG);
    let given = json!({"n": 30_000});
    let both = json!({"records": given, "records_again": given});
    let answer = steps(&root, &["records", "records_again"], &both);
    let result = spilled(&root, &answer);
    assert_eq!(result["records"].as_array().unwrap().len(), 30_000);
}

#[test]
fn a_result_of_hundreds_of_kilobytes_is_in_the_answer() {
    let root = Root::with_catalog(CATALOG);
    let answer = records(&root, &json!({"n": 5_000}));
    let records = answer.at("/output/content/task_result/result_data/records");
    assert_eq!(records.as_array().unwrap().len(), 5_000);
    assert!(!root.path.join("agent_outputs").exists());
}

#[test]
fn a_large_result_shows_no_secret() {
    let root = Root::with_catalog(CATALOG);
    let answer = records(&root, &json!({"n": 30_000, "word": "opensesame"}));
    let result = spilled(&root, &answer);
    assert_eq!(result["word"], json!("***"));
    assert_eq!(result["records"][77]["name"], json!("***"));
    assert_eq!(result["records"][78]["name"], json!("record 78"));
}

#[test]
fn a_failed_tool_with_megabytes_of_words_is_quoted_in_brief_and_nothing_is_stored() {
    let root = Root::with_catalog(CATALOG);
    let answer = records(&root, &json!({"n": 30_000, "form": "error"}));
    assert_eq!(answer.exit, 1);
    assert!(answer.envelope.to_string().len() < 20_000);
    assert!(!root.path.join("agent_outputs").exists());
}

/// The `MCPResponse` to a task.
fn response(root: &Root, capabilities: &[&str], parameters: &Value) -> Value {
    let task = json!({"task_id": "t", "capability_ids": capabilities, "parameters": parameters});
    let mut command = root.command();
    command
        .args(["--reply", "mcp"])
        .env("LARGE_SECRET", "record 77");
    let answer = crate::program::run(command, task.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer.envelope
}

#[test]
fn what_a_model_was_asked_is_told_of_every_kind_of_result_r_004_14_r_004_15() {
    let ai = json!({
        "aiPrompt": {"system": "be brief", "user": "who is record 77?"},
        "aiResponse": {"summary": "nobody", "raw": "I do not know."},
    });
    let shown = json!({"system": "be brief", "user": "who is ***?"});
    let said = json!({"n": 1, "ai": ai});
    let root = Root::with_catalog(CATALOG);
    for (capabilities, parameters) in [
        (vec!["records"], said.clone()),
        (vec!["records"], json!({"n": 30_000, "ai": ai})),
        (
            vec!["records"],
            json!({"n": 30_000, "ai": ai, "form": "text"}),
        ),
        (vec!["asset"], said.clone()),
        (vec!["analysis"], said.clone()),
        (
            vec!["records", "records_again"],
            json!({"records": said, "records_again": {"n": 2}}),
        ),
    ] {
        let response = response(&root, &capabilities, &parameters);
        assert_eq!(response["aiPrompt"], shown, "{capabilities:?}");
        assert_eq!(response["aiResponse"], ai["aiResponse"], "{capabilities:?}");
    }
    for other in [
        json!({"aiPrompt": "why?", "aiResponse": {"summary": "s"}}),
        json!({"aiPrompt": {"system": 1, "user": "u"}, "aiResponse": null}),
    ] {
        let response = response(&root, &["records"], &json!({"n": 1, "ai": other}));
        assert_eq!(response.get("aiPrompt"), None);
        assert_eq!(response.get("aiResponse"), None);
    }
}

#[test]
fn an_answer_whose_large_result_is_gone_or_changed_is_not_given_again() {
    let root = Root::with_catalog(CATALOG);
    let ask = |task: &str| {
        let task = json!({
            "task_id": task, "capability_ids": ["kept"], "metadata": {"session_id": "s"}, "parameters": {"n": 30_000},
        });
        let mut command = root.command();
        command.env("LARGE_SECRET", "record 77");
        crate::program::run(command, task.to_string().as_bytes())
    };
    let first = ask("t1");
    spilled(&root, &first);
    let file = first.at("/output/content/task_result/result_data/$blob/storage_uri");
    let file = file.as_str().unwrap().strip_prefix("file://").unwrap();
    let again = ask("t2");
    assert_eq!(again.state(), "reused");
    let refs = again.at("/output/content/task_result/output_refs_produced");
    assert_eq!(refs, &json!([]));
    let why = |answer: &Answer| answer.at("/output/content/oneact/reuse/why").clone();
    fs::remove_file(file).unwrap();
    assert_eq!(why(&ask("t3")), "output_missing");
    fs::write(file, "{}").unwrap();
    assert_eq!(why(&ask("t4")), "output_changed");
}
