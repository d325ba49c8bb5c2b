//! Servers that others wrote: reference servers of the MCP project, on Node.

use std::fs;

use serde_json::{Value, json};

use crate::{
    installed::{call, entry, installed},
    program::{Answer, Root, run},
};

/// A root whose catalog has both servers, and those lines.
fn root(protocol: &str, entries: &str) -> Root {
    let modules = installed("node_modules/@modelcontextprotocol");
    Root::with_catalog(&format!(
        r#"
catalog = 1

[server.everything]
command  = ["node", "{modules}/server-everything/dist/index.js", "stdio"]
protocol = "{protocol}"

[server.filesystem]
command  = ["node", "{modules}/server-filesystem/dist/index.js", "{{root}}/files"]
protocol = "{protocol}"

{entries}
"#
    ))
}

/// One call of a tool of server-everything that needs nothing special.
fn everything(tool: &str, parameters: &Value, more: &str) -> Answer {
    call(
        &root("auto", &entry("everything", tool, more)),
        tool,
        parameters,
    )
}

#[test]
fn a_text_answer_is_result_data() {
    let answer = everything("echo", &json!({"message": "hello — fox"}), "");
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(answer.result_data(), &json!({"text": "Echo: hello — fox"}));
}

#[test]
fn numbers_reach_the_tool_as_numbers() {
    let answer = everything("get-sum", &json!({"a": 2, "b": 0.5}), "");
    assert_eq!(
        answer.result_data(),
        &json!({"text": "The sum of 2 and 0.5 is 2.5."})
    );
}

#[test]
fn arguments_are_checked_against_the_schema_of_the_server() {
    let answer = everything("get-sum", &json!({"a": "two", "b": 1}), "");
    assert_eq!((answer.exit, answer.fault()), (1, &json!("params_invalid")));
    assert_eq!(answer.at("/output/content/oneact/effect"), "none");
}

#[test]
fn structured_content_is_the_result() {
    let more =
        "result = { kind = \"metadata\", schema = { required = [\"temperature\", \"humidity\"] } }";
    let answer = everything(
        "get-structured-content",
        &json!({"location": "Chicago"}),
        more,
    );
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert!(answer.result_data()["temperature"].is_number());
    assert_eq!(
        answer.at("/output/content/task_result/quality_checks/result_complete"),
        true
    );
}

#[test]
fn an_image_in_the_answer_is_stored_as_a_png() {
    let more = "result = { kind = \"asset\", asset_type = \"image\", format = \"png\" }";
    let root = root("auto", &entry("everything", "get-tiny-image", more));
    let answer = call(&root, "get-tiny-image", &json!({}));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let png = fs::read(
        root.path
            .join("agent_outputs/assets/sess-1/task_1_output.png"),
    )
    .unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    assert_eq!(answer.result_data(), &Value::Null);
}

#[test]
fn a_link_that_only_its_server_can_read_is_no_asset() {
    let more = "result = { kind = \"asset\", asset_type = \"text\", format = \"text\" }";
    let answer = everything("get-resource-links", &json!({"count": 1}), more);
    assert_eq!(
        (answer.exit, answer.fault()),
        (75, &json!("output_missing"))
    );
}

#[test]
fn progress_keeps_a_call_alive_beyond_its_idle_timeout() {
    let parameters = json!({"duration": 3, "steps": 12});
    let more = "timeout = \"1500ms\"\ntimeout_max = \"60s\"";
    let answer = everything("trigger-long-running-operation", &parameters, more);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
}

#[test]
fn a_call_without_progress_ends_at_its_idle_timeout() {
    let parameters = json!({"duration": 600, "steps": 1});
    let more = "timeout = \"1s\"\ntimeout_max = \"60s\"";
    let answer = everything("trigger-long-running-operation", &parameters, more);
    assert_eq!((answer.exit, answer.fault()), (75, &json!("timeout")));
}

#[test]
fn a_server_gets_the_variables_it_needs_and_no_others() {
    let root = root("auto", &entry("everything", "get-env", ""));
    let mut command = root.command();
    command.env("SOMEBODYS_TOKEN", "hunter2");
    let answer = run(
        command,
        br#"{"task_id": "task_1", "capability_ids": ["get-env"]}"#,
    );
    let text = answer.result_data().to_string();
    assert!(text.contains("PATH"), "{text}");
    assert!(!text.contains("SOMEBODYS_TOKEN"), "{text}");
}

#[test]
fn an_unknown_tool_is_a_mistake_in_the_catalog() {
    let answer = everything("get-summ", &json!({}), "");
    assert_eq!((answer.exit, answer.fault()), (1, &json!("tool_error")));
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains("get-sum"), "{message}");
}

/// A root with `files/`, and the file system server's tools.
fn files() -> Root {
    let tools = ["read_text_file", "write_file", "list_directory"];
    let entries: Vec<String> = tools.map(|tool| entry("filesystem", tool, "")).into();
    let root = root("auto", &entries.concat());
    fs::create_dir(root.path.join("files")).unwrap();
    root
}

#[test]
fn files_are_written_listed_and_read_back() {
    let root = files();
    let path = root.path.join("files/note.txt");
    let written = call(
        &root,
        "write_file",
        &json!({"path": path.as_str(), "content": "a fox\n"}),
    );
    assert_eq!(written.exit, 0, "{}", written.envelope);
    assert_eq!(fs::read(&path).unwrap(), b"a fox\n");

    let listed = call(
        &root,
        "list_directory",
        &json!({"path": root.path.join("files").as_str()}),
    );
    assert_eq!(listed.result_data(), &json!({"content": "[FILE] note.txt"}));

    let read = call(&root, "read_text_file", &json!({"path": path.as_str()}));
    assert_eq!(read.result_data(), &json!({"content": "a fox\n"}));
}

#[test]
fn what_the_server_denies_is_a_failed_task_with_its_words() {
    let root = files();
    let answer = call(&root, "read_text_file", &json!({"path": "/etc/hostname"}));
    assert_eq!((answer.exit, answer.fault()), (1, &json!("tool_error")));
    let detail = answer.at("/output/content/task_result/tool_invocations/0/error_detail");
    assert!(
        detail.as_str().unwrap().contains("Access denied"),
        "{detail}"
    );
}

#[test]
fn the_older_era_is_found_and_can_be_named() {
    for protocol in ["auto", "legacy"] {
        let root = root(protocol, &entry("everything", "echo", ""));
        let answer = call(&root, "echo", &json!({"message": "hello"}));
        assert_eq!(answer.exit, 0, "{protocol}: {}", answer.envelope);
        assert_eq!(
            answer.at("/output/content/oneact/server/protocol"),
            "2025-11-25"
        );
        let info = answer
            .at("/output/content/oneact/server/info")
            .as_str()
            .unwrap();
        assert!(info.starts_with("mcp-servers/everything "), "{info}");
    }
}

#[test]
fn a_server_of_the_older_era_that_is_called_modern_is_told_with_the_remedy() {
    let root = root("modern", &entry("everything", "echo", ""));
    let answer = call(&root, "echo", &json!({"message": "hello"}));
    assert_eq!(answer.at("/output/content/oneact/effect"), "none");
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains("protocol = \"legacy\""), "{message}");
}

#[test]
fn the_doctor_finds_the_real_servers_well() {
    for protocol in ["auto", "legacy"] {
        let entries = [
            entry(
                "filesystem",
                "list_directory",
                "defaults = { path = \".\" }",
            ),
            entry("everything", "echo", "defaults = { message = \"hello\" }"),
        ];
        let root = root(protocol, &entries.concat());
        fs::create_dir(root.path.join("files")).unwrap();
        let output = root.command().args(["doctor", "-v"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(
            said.contains("`list_directory` of filesystem exists"),
            "{said}"
        );
        assert!(said.contains("`echo` of everything exists"), "{said}");
        assert_eq!(root.processes(), Vec::<i32>::new());
    }
}
