//! An agent loop without a model: it reads the rendered catalog, proposes an improvised action, drives it in five calls
//! over real servers, is interrupted, and goes on. A person signs each approval and promotes what the agent did, and the
//! result runs as a standard action. Once over stdin, once over `oneact serve catalog` (issue part 11).

use std::fs;

use serde_json::{Value, json};

use crate::tracer::{
    is_refused,
    moments::{self, Moment},
};
use crate::{
    approvals::{asks, key, oneact, sign},
    installed::installed,
    program::{Answer, ONEACT, Root},
};

/// Four servers: a clock in Python, files and a memory on Node, and the built-in tasks. Nobody but Alice's key approves.
fn root() -> Root {
    let modules = installed("node_modules/@modelcontextprotocol");
    let python = installed("servers/bin/python");
    let root = Root::with_catalog(&format!(
        r#"catalog = 1

[approval]
allowed_signers = "allowed"

[defaults.approval]
approvers = ["user:alice"]

[server.time]
command = ["{python}", "-m", "mcp_server_time", "--local-timezone=UTC"]

[server.filesystem]
command = ["node", "{modules}/server-filesystem/dist/index.js", "{{root}}/notes"]

[server.memory]
command = ["node", "{modules}/server-memory/dist/index.js"]
env = {{ MEMORY_FILE_PATH = "{{root}}/memory.json" }}

[server.data-management]
command = ["{{self}}", "serve", "data-management"]

[capability.now]
description = "Tell the time."
is_action = true
effects = {{ read_only = true, open_world = false }}
mcp = {{ server = "time", tool = "get_current_time" }}
parameter_schema_for_action = {{ type = "object", required = ["timezone"], properties = {{ timezone = {{ type = "string" }} }} }}

[capability.write_note]
description = "Write a note."
is_action = true
# The server says that it may overwrite a file, so each call waits for an approval of its own.
effects = {{ read_only = false, destructive = true, idempotent = true, open_world = false }}
approval = {{ when = "risk >= high" }}
mcp = {{ server = "filesystem", tool = "write_file" }}
parameter_schema_for_action = {{ type = "object", required = ["path", "content"], properties = {{ path = {{ type = "string" }}, content = {{ type = "string" }} }} }}

[capability.read_note]
description = "Read a note."
is_action = true
effects = {{ read_only = true, open_world = false }}
mcp = {{ server = "filesystem", tool = "read_text_file" }}
parameter_schema_for_action = {{ type = "object", required = ["path"], properties = {{ path = {{ type = "string" }} }} }}

[capability.remember]
description = "Remember entities."
is_action = true
effects = {{ read_only = false, destructive = false, idempotent = true, open_world = false }}
mcp = {{ server = "memory", tool = "create_entities" }}
parameter_schema_for_action = {{ type = "object", required = ["entities"], properties = {{ entities = {{ type = "array" }} }} }}

[capability.task_create]
description = "Create a new task."
is_action = true
effects = {{ read_only = false, destructive = false, idempotent = true, open_world = false }}
mcp = {{ server = "data-management", tool = "task_create" }}
parameter_schema_for_action = {{ type = "object", required = ["task_text"], properties = {{ task_text = {{ type = "string" }} }} }}

# Comments of the operator stay where they are.
"#
    ));
    fs::create_dir(root.path.join("notes")).unwrap();
    let alice = key(&root, "alice");
    fs::write(root.path.join("allowed"), format!("alice {alice}")).unwrap();
    root
}

const ENTRIES: [&str; 5] = ["now", "write_note", "read_note", "remember", "task_create"];

/// Alice signs the request.
fn approve(root: &Root, id: &str) {
    let signature = sign(root, id, "alice", ("oneact-approval", "approve"));
    let (exit, _, problem) = oneact(root, &["approve", id, "--signature", &signature]);
    assert_eq!(exit, 0, "{problem}");
}

/// A call of the agent under its grant.
fn call(under: &str, number: usize, entry: &str, parameters: &Value) -> Value {
    json!({
        "metadata": {"session_id": "agent", "request_id": format!("r{number}")},
        "dispatch": {"kind": "standard", "name": entry, "task_id": format!("call_{number}"), "attempt": 1,
                     "parameters": parameters, "under": under},
    })
}

fn done(answer: &Answer) -> &Value {
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer.result_data()
}

/// What both drivers have left: five calls of one grant, in a ledger that is whole.
fn assert_driven(root: &Root, under: &str) {
    let (exit, _, problem) = oneact(root, &["verify"]);
    assert_eq!(exit, 0, "{problem}");
    let (_, shown, _) = oneact(root, &["show", under]);
    for entry in ENTRIES {
        assert!(shown.contains(entry), "{shown}");
    }
    assert!(
        fs::read_to_string(root.path.join("notes/note.txt"))
            .unwrap()
            .contains('T')
    );
    let memory = fs::read_to_string(root.path.join("memory.json")).unwrap();
    assert_eq!(memory.matches("\"note\"").count(), 1, "{memory}");
}

/// A person promotes the action and offers it to models.
fn promote(root: &Root, under: &str) {
    let before = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    let (exit, _, problem) = oneact(
        root,
        &[
            "catalog",
            "promote",
            under,
            "--as",
            "note_the_time",
            "--yes",
        ],
    );
    assert_eq!(exit, 0, "{problem}");
    let after = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    assert!(after.starts_with(&before), "{after}");
    assert!(after.contains("{step_1.output."), "{after}");
    let offered = after.replace("is_action = false", "is_action = true");
    fs::write(root.path.join("catalog.toml"), offered).unwrap();
    let (exit, found, _) = oneact(root, &["catalog", "check"]);
    assert_eq!(exit, 0, "{found}");
}

/// The promoted action is offered, waits where it has to, and does again what the agent did.
fn perform_as_standard_action(root: &Root) {
    let (_, menu, _) = oneact(root, &["catalog", "render"]);
    assert!(menu.contains("- note_the_time:"), "{menu}");
    let standard = json!({
        "metadata": {"session_id": "later", "request_id": "r0"},
        "dispatch": {"kind": "standard", "name": "note_the_time", "task_id": "again", "attempt": 1},
    });
    let note = root.path.join("notes/note.txt");
    fs::remove_file(&note).unwrap();
    approve(root, &asks(&root.run(&standard)));
    done(&root.run(&standard));
    assert!(fs::read_to_string(&note).unwrap().contains('T'));
    assert_eq!(oneact(root, &["verify"]).0, 0);
}

#[test]
fn an_agent_over_stdin_improvises_is_interrupted_goes_on_and_is_promoted() {
    if is_refused() {
        return;
    }
    let root = root();
    let (_, menu, _) = oneact(&root, &["catalog", "render"]);
    assert!(
        ENTRIES
            .iter()
            .all(|entry| menu.contains(&format!("- {entry}:"))),
        "{menu}"
    );
    let proposal = json!({
        "metadata": {"session_id": "agent", "request_id": "r0"},
        "dispatch": {"kind": "improvised", "task_id": "propose", "attempt": 1, "plan_summary": "Note the time and plan to read it.",
                     "grant": {"entries": ENTRIES, "max_calls": 6, "for": "30m"}},
    });
    let id = asks(&root.run(&proposal));
    approve(&root, &id);
    let opened = root.run(&proposal);
    let under = done(&opened)["grant"]["under"].as_str().unwrap().to_owned();

    let now = root.run(&call(&under, 1, "now", &json!({"timezone": "UTC"})));
    let time = done(&now)["datetime"].as_str().unwrap().to_owned();
    let path = root.path.join("notes/note.txt");
    let write = call(
        &under,
        2,
        "write_note",
        &json!({"path": path.as_str(), "content": time}),
    );
    // A call of high risk is not covered: it waits for an approval of its own.
    approve(&root, &asks(&root.run(&write)));
    done(&root.run(&write));
    let read = root.run(&call(
        &under,
        3,
        "read_note",
        &json!({"path": path.as_str()}),
    ));
    assert!(done(&read).to_string().contains(&time));
    let entity = json!({"name": "note", "entityType": "file", "observations": [time]});
    let remember = call(&under, 4, "remember", &json!({"entities": [entity]}));
    // The run is killed after the call, and before the answer is recorded.
    moments::killed(&root, &remember, Moment::Done.of_the_task());
    done(&root.run(&remember));
    // The agent has lost its memory: what it sends again is answered by the ledger.
    assert_eq!(root.run(&write).state(), "replayed");
    assert_eq!(root.run(&remember).state(), "replayed");
    let create = call(
        &under,
        5,
        "task_create",
        &json!({"task_text": "Read the note"}),
    );
    done(&root.run(&create));
    let over = root.run(&call(&under, 6, "now", &json!({"timezone": "Asia/Tokyo"})));
    assert_eq!(over.fault(), &json!("grant_used_up"), "{}", over.envelope);
    assert_driven(&root, &under);

    promote(&root, &under);
    perform_as_standard_action(&root);
}

#[test]
fn an_agent_over_mcp_improvises_is_interrupted_goes_on_and_is_promoted() {
    let root = root();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serving/agent.py");
    let mut command = root.within(installed("servers/bin/python").as_str());
    command
        .args(["-B", script, root.path.as_str()])
        .env("ONEACT", ONEACT);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        found["waits"],
        json!([true, "approval_required"]),
        "{found}"
    );
    assert_eq!(
        found["after the interruption"],
        json!(["replayed", "done", "done"]),
        "{found}"
    );
    assert_eq!(found["over"], "grant_used_up");
    let under = found["under"].as_str().unwrap();
    assert_driven(&root, under);
    promote(&root, under);
    perform_as_standard_action(&root);
}
