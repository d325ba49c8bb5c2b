//! What is kept of a run: no secret and no signature, in whatever file (invariant 7); and requests that
//! differ in nothing else are two all the same.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::program::{Answer, Root, run};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
env_pass = ["SERVICE_TOKEN"]
[capability.look]
effects = { read_only = true, open_world = false }
on_duplicate = { mode = "reuse" }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.once]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
secret = ["/key"]
result = { kind = "metadata" }
"#;

const TOKEN: &str = "hunter2-of-the-environment";

fn request(capabilities: &[&str], task: &str, parameters: &Value) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": task},
        "dispatch": {"task_id": task, "attempt": 1, "capability_ids": capabilities, "parameters": parameters},
    })
}

fn ask(root: &Root, capability: &str, task: &str, parameters: &Value) -> Answer {
    send(root, &request(&[capability], task, parameters))
}

fn send(root: &Root, task: &Value) -> Answer {
    let mut command = root.command();
    command.env("SERVICE_TOKEN", TOKEN);
    let answer = run(command, task.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer
}

/// The files below a directory that hold a text.
fn holding(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if let Ok(bytes) = fs::read(&path)
            && bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

fn assert_not_kept(root: &Root, secret: &str) {
    let state = root.path.join(".oneact");
    // The ledger is there, and holds what was asked.
    assert!(!holding(state.as_std_path(), "actionId").is_empty());
    assert_eq!(
        holding(state.as_std_path(), secret),
        Vec::<String>::new(),
        "{secret}"
    );
}

fn why(answer: &Answer) -> &str {
    let why = answer.at("/output/content/oneact/reuse/why");
    why.as_str().unwrap()
}

#[test]
fn a_secret_in_an_answer_is_in_no_asset_that_oneact_writes_from_it() {
    let key = "a-key-of-the-task";
    let said = format!("{key} and {TOKEN}");
    let answers = |block: Value| {
        format!(
            "{{{}",
            &json!({"result": {"content": [block]}}).to_string()[1..]
        )
    };
    let text = answers(json!({"type": "text", "text": said}));
    let resource = json!({"uri": "file:///note.txt", "text": said});
    let resource = answers(json!({"type": "resource", "resource": resource}));
    for (result, what) in [
        ("kind = \"analysis\"", &said),
        (
            "kind = \"asset\"\nformat = \"json\"\ntake = [\"data\"]",
            &said,
        ),
        (
            "kind = \"asset\"\nformat = \"text\"\ntake = [\"text\"]",
            &text,
        ),
        (
            "kind = \"asset\"\nformat = \"text\"\ntake = [\"blob\"]",
            &resource,
        ),
    ] {
        let catalog = format!(
            "{CATALOG}[capability.told]\nsecret = [\"/key\"]\nmcp = {{ server = \"counter\", tool = \"happen\" }}\n\
             [capability.told.result]\nasset_type = \"note\"\n{result}\n"
        );
        let root = Root::with_catalog(&catalog);
        ask(&root, "told", "t1", &json!({"what": what, "key": key}));
        let assets = root.path.join("agent_outputs");
        let holding = |text| holding(assets.as_std_path(), text);
        assert_eq!(holding("*** and ***").len(), 1, "{result}");
        assert!(
            holding(key).is_empty() && holding(TOKEN).is_empty(),
            "{result}"
        );
    }
}

#[test]
fn a_secret_of_the_environment_that_is_also_a_parameter_is_kept_nowhere() {
    let root = Root::with_catalog(CATALOG);
    let parameters =
        json!({"what": TOKEN, "key": "a-key-of-the-task", "again": ["a-key-of-the-task"]});
    let mut answer = ask(&root, "once", "t1", &parameters);
    assert_not_kept(&root, TOKEN);
    assert_not_kept(&root, "a-key-of-the-task");
    // The echo is the caller's own; all else of the answer does not have it either.
    answer.envelope["input"] = Value::Null;
    assert!(!answer.envelope.to_string().contains(TOKEN));
    assert!(!answer.envelope.to_string().contains("a-key-of-the-task"));
    // It counts all the same: another token is another request, and the same one the same.
    let other = json!({"what": "b", "key": "a-key-of-the-task", "again": ["a-key-of-the-task"]});
    assert_eq!(ask(&root, "once", "t2", &other).state(), "done");
    assert_eq!(ask(&root, "once", "t3", &parameters).state(), "suppressed");
}

#[test]
fn a_signed_link_in_a_result_is_the_callers_alone() {
    let link = "https://b.s3.amazonaws.com/a?X-Amz-Date=20260101T000000Z&X-Amz-Signature=5195a4e0";
    for (capability, second) in [("look", "done"), ("once", "suppressed")] {
        let root = Root::with_catalog(CATALOG);
        let first = ask(&root, capability, "t1", &json!({"what": link}));
        assert_eq!(first.result_data()["happened"], link);
        assert_not_kept(&root, "5195a4e0");
        let again = ask(&root, capability, "t2", &json!({"what": link}));
        assert_eq!(again.state(), second);
        if capability == "look" {
            // An answer whose links nobody can use is not good any more.
            assert_eq!(why(&again), "output_expiring");
            assert_eq!(again.result_data()["happened"], link);
        } else {
            let cut = link
                .replace("20260101T000000Z", "***")
                .replace("5195a4e0", "***");
            assert_eq!(again.result_data()["happened"], cut.as_str());
            let notes = again.at("/audit/compliance_notes").to_string();
            assert!(notes.contains("were redacted"), "{notes}");
        }
        assert_not_kept(&root, "5195a4e0");
    }
}

#[test]
fn a_link_that_was_signed_anew_is_the_same_request_and_one_to_another_policy_is_not() {
    let root = Root::with_catalog(CATALOG);
    let state = |task: &str, what: &str| {
        let answer = ask(&root, "once", task, &json!({"what": what}));
        answer.state().as_str().unwrap().to_owned()
    };
    assert_eq!(
        state("t1", "https://b/a?X-Amz-Date=1&X-Amz-Signature=1"),
        "done"
    );
    assert_eq!(
        state("t2", "https://b/a?X-Amz-Date=2&X-Amz-Signature=2"),
        "suppressed"
    );
    assert_eq!(state("t3", "https://crm/api?policy=123"), "done");
    assert_eq!(state("t4", "https://crm/api?policy=456"), "done");
    assert_eq!(state("t5", "https://crm/api?policy=123"), "suppressed");
    assert_eq!(state("t6", "ssh://alice@h"), "done");
    assert_eq!(state("t7", "ssh://bob@h"), "done");
}

#[test]
fn what_a_plan_writes_is_not_kept_where_its_diff_does_not_show_it() {
    let root = Root::with_catalog(CATALOG);
    let plan = |task: &str, link: &str, target: &str| {
        json!({
            "task_id": task, "metadata": {"session_id": "s"}, "protocol_validation": true,
            "task_plan": {"plan_id": "p", "action_plan": [{
                "action_id": "a1", "action_type": "FILE_CREATE", "target": target,
                "operation": {"type": "create", "content": format!("DB_PASSWORD=hunter2-of-a-plan\nurl={link}\n")},
            }]},
        })
    };
    let first = send(
        &root,
        &plan("t1", "https://b/a?X-Amz-Signature=5195a4e0", "one.ini"),
    );
    assert_eq!(first.state(), "done");
    for secret in ["hunter2-of-a-plan", "5195a4e0"] {
        assert_not_kept(&root, secret);
    }
    // A plan that only writes another signature is another plan.
    fs::remove_file(root.path.join("one.ini")).unwrap();
    let other = send(
        &root,
        &plan("t2", "https://b/a?X-Amz-Signature=77f01e22", "one.ini"),
    );
    assert_eq!(other.state(), "done");
    assert_eq!(other.at("/output/content/oneact/reuse"), &Value::Null);
}

#[test]
fn salt_repeats_a_plan_that_was_carried_out_in_whatever_dialect_it_comes() {
    let around = |mut task: Value, name: &str, salt: &Value| {
        task["task_id"] = json!(name);
        task["salt"] = salt.clone();
        task["metadata"] = json!({"session_id": "s"});
        task
    };
    let plan = json!({"plan_id": "p", "action_plan": [{
        "action_id": "a1", "action_type": "FILE_MODIFY", "target": "lines",
        "operation": {"type": "line_insert", "line_number": 1, "content": "more"},
    }]});
    let mut bare = plan.clone();
    bare["protocol_validation"] = json!(true);
    let under = json!({"task_plan": plan, "protocol_validation": true});
    let mut carried = under.clone();
    carried["capability_ids"] = json!(["apply_file_plan"]);
    let catalog = format!("{CATALOG}\n[capability.apply_file_plan.file_plan]\n");
    for task in [bare, under, carried] {
        let root = Root::with_catalog(&catalog);
        fs::write(root.path.join("lines"), "one\n").unwrap();
        let state = |name: &str, salt: Value| {
            let answer = send(&root, &around(task.clone(), name, &salt));
            answer.state().as_str().unwrap().to_owned()
        };
        assert_eq!(state("t1", Value::Null), "done");
        assert_eq!(state("t2", Value::Null), "suppressed");
        assert_eq!(state("t3", json!("again")), "done");
        let again = send(&root, &around(task.clone(), "t4", &json!("again")));
        assert_eq!(again.state(), "suppressed");
        // A file that was changed is no asset.
        let refs = again.at("/output/content/task_result/output_refs_produced");
        assert_eq!(refs, &json!([]));
        let lines = fs::read_to_string(root.path.join("lines")).unwrap();
        assert_eq!(lines, "more\nmore\none\n");
    }
}

#[test]
fn a_number_that_tells_a_secret_is_in_no_message_of_a_failure() {
    let data = r#""content":[],"structuredContent":{"n":-9988.7766}"#;
    for answer in [
        format!(r#"{{"result":{{"isError":true,{data}}}}}"#),
        r#"{"result":[-9988.7766]}"#.to_owned(),
        r#"{"error":{"code":1,"message":"got -9988.7766"}}"#.to_owned(),
    ] {
        let root = Root::with_catalog(CATALOG);
        let mut command = root.command();
        command.env("SERVICE_TOKEN", "9988.7766");
        let task = request(&["look"], "t1", &json!({"what": answer}));
        let mut answered = run(command, task.to_string().as_bytes());
        assert_eq!(answered.exit, 1, "{}", answered.envelope);
        assert_not_kept(&root, "9988.7766");
        // The echo is the caller's own.
        answered.envelope["input"] = Value::Null;
        let shown = answered.envelope.to_string();
        assert!(!shown.contains("9988.7766"), "{shown}");
    }
}
