//! `oneact catalog promote`: the calls of an improvised action become a workflow of the catalog (R-003-09, R-003-10).

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown, symlink},
    thread,
};

use rusqlite::Connection;
use rustix::fs::{XattrFlags, setxattr};
use serde_json::{Value, json};

use crate::{
    approvals::{approve, asks, at_a_terminal, oneact},
    installed::installed,
    program::{Answer, Root},
};

/// Entries over one server, and formatting that must stay.
const CATALOG: &str = "catalog = 1   # the format

[server.counter]
command = [\"python3\", \"servers/counter.py\", \"counted\"]

[capability.note]   # notes it
description = \"Note.\"
mcp     = { server = \"counter\", tool = \"happen\" }
effects = { destructive = false, open_world = false }
on_duplicate = { mode = \"repeat\" }
secret  = [\"/token\"]
parameter_schema_for_action = { type = \"object\", properties = { what = { type = \"string\" }, more = { type = \"string\" }, token = { type = \"string\" } } }
# the end, without a newline";

fn task(mut dispatch: Value) -> Value {
    dispatch["attempt"] = json!(1);
    json!({"metadata": {"session_id": "s", "request_id": "r"}, "dispatch": dispatch})
}

/// Runs the proposal after a person has approved it, and returns its operation.
fn improvised(root: &Root, fields: &[(&str, Value)]) -> String {
    let mut dispatch = json!({"kind": "improvised", "task_id": "tidy", "plan_summary": "Tidy up."});
    for (key, value) in fields {
        dispatch[*key] = value.clone();
    }
    let task = task(dispatch);
    approve(root, &asks(&root.run(&task)));
    operation(&succeeds(root.run(&task)))
}

fn grant(root: &Root, entries: &[&str]) -> String {
    let limits = json!({"entries": entries, "max_calls": 9, "for": "10m"});
    improvised(root, &[("grant", limits)])
}

fn call(root: &Root, under: &str, name: &str, entry: &str, parameters: &Value) -> Answer {
    call_with(root, under, (name, entry), parameters, &json!([]))
}

fn call_with(
    root: &Root,
    under: &str,
    (name, entry): (&str, &str),
    parameters: &Value,
    inputs: &Value,
) -> Answer {
    root.run(&task(json!({
        "task_id": name, "capability_ids": [entry], "parameters": parameters, "under": under,
        "input_refs_resolved": inputs,
    })))
}

fn succeeds(answer: Answer) -> Answer {
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer
}

fn operation(answer: &Answer) -> String {
    let operation = answer.at("/output/content/oneact/operation_id");
    operation.as_str().unwrap().to_owned()
}

fn catalog(root: &Root) -> String {
    fs::read_to_string(root.path.join("catalog.toml")).unwrap()
}

/// Promotes it, and returns what was added to the catalog.
fn promoted(root: &Root, operation: &str, id: &str) -> String {
    let before = catalog(root);
    let (exit, told, why) = oneact(
        root,
        &["catalog", "promote", operation, "--as", id, "--yes"],
    );
    assert_eq!(exit, 0, "{why}");
    assert!(told.contains(&format!("[workflow.{id}]")), "{told}");
    let after = catalog(root);
    let added = after.strip_prefix(&before).expect("the text before stays");
    added.to_owned()
}

/// Asserts that nothing is written, for that reason.
fn refused(root: &Root, operation: &str, id: &str, why: &str) {
    let before = catalog(root);
    let (exit, _, told) = oneact(
        root,
        &["catalog", "promote", operation, "--as", id, "--yes"],
    );
    assert!(exit == 2 && told.contains(why), "{why}: {told}");
    assert_eq!(catalog(root), before);
}

#[test]
fn a_grant_with_three_real_calls_becomes_a_workflow_that_a_person_makes_a_standard_action() {
    let modules = installed("node_modules/@modelcontextprotocol");
    let root = Root::with_catalog(&format!(
        "catalog = 1
# A server that others wrote.
[server.everything]
command  = [\"node\", \"{modules}/server-everything/dist/index.js\", \"stdio\"]

[capability.echo]   # comments stay
mcp     = {{ server = \"everything\", tool = \"echo\" }}
effects = {{ read_only = true, open_world = false }}
on_duplicate = {{ mode = \"repeat\" }}
[capability.add]
mcp     = {{ server = \"everything\", tool = \"get-sum\" }}
effects = {{ read_only = true, open_world = false }}
on_duplicate = {{ mode = \"repeat\" }}
"
    ));
    let under = grant(&root, &["echo", "add"]);
    let message = &json!({"message": "fox"});
    let first = succeeds(call(&root, &under, "one", "echo", message));
    let text = first.result_data()["text"].clone();
    assert_eq!(text, "Echo: fox");
    // A call that fails is no part of the workflow.
    let failed = call(
        &root,
        &under,
        "two",
        "add",
        &json!({"a": "no number", "b": 1}),
    );
    assert_eq!(failed.exit, 1, "{}", failed.envelope);
    succeeds(call(
        &root,
        &under,
        "three",
        "add",
        &json!({"a": 16000, "b": 0.5}),
    ));
    succeeds(call(
        &root,
        &under,
        "four",
        "echo",
        &json!({"message": text}),
    ));
    let (exit, _, told) = oneact(&root, &["close", &under]);
    assert_eq!(exit, 0, "{told}");
    let added = promoted(&root, &under, "say_twice");
    for line in [
        "is_action = false",
        "with = { message = \"fox\" }",
        "with = { a = 16000, b = 0.5 }",
        "with = { message = \"{step_1.output.text}\" }",
        &format!("operation = \"{under}\""),
    ] {
        assert!(added.contains(line), "{line}: {added}");
    }
    let proposal = task(json!({"kind": "standard", "name": "say_twice", "task_id": "standard"}));
    let early = root.run(&proposal);
    assert_eq!(early.fault(), "kind_rule", "{}", early.envelope);
    let edited = catalog(&root).replace("is_action = false", "is_action = true");
    fs::write(root.path.join("catalog.toml"), edited).unwrap();
    let (exit, found, _) = oneact(&root, &["catalog", "check"]);
    assert!(exit == 0 && found.contains(" 0 errors"), "{found}");
    let done = succeeds(root.run(&proposal));
    assert_eq!(done.result_data(), &json!({"text": "Echo: Echo: fox"}));
    let steps = done.at("/output/content/oneact/steps").as_array().unwrap();
    assert_eq!(steps.len(), 3, "{}", done.envelope);
}

#[test]
fn inputs_become_refs_and_assets_go_from_step_to_step() {
    let root = Root::with_catalog(
        "catalog = 1
[server.tools]
command = [\"python3\", \"-SB\", \"servers/toolbox.py\"]
[capability.convert]
effects  = { idempotent = true, destructive = false }
defaults = { target_format = \"wav\" }
mcp      = { server = \"tools\", tool = \"format_converter\" }
bind     = { input_uri = \"input.uri\", output_path = \"output.path\" }
result   = { kind = \"asset\", asset_type = \"audio_track\", format = \"wav\" }
[capability.detect]
effects  = { idempotent = true, destructive = false }
mcp      = { server = \"tools\", tool = \"language_detector\" }
bind     = { audio_uri = \"input.path\" }
",
    );
    let stored =
        |id: &str, uri: &str| json!([{"ref_id": id, "storage_uri": uri, "status": "stored"}]);
    let under = grant(&root, &["convert", "detect"]);
    let inputs = stored("store_1", "s3://bucket/speech.mp4");
    let made = call_with(&root, &under, ("one", "convert"), &json!({}), &inputs);
    let made = succeeds(made);
    let uri = made.at("/output/content/task_result/output_refs_produced/0/storage_uri");
    let inputs = stored("derived_1", uri.as_str().unwrap());
    succeeds(call_with(
        &root,
        &under,
        ("two", "detect"),
        &json!({}),
        &inputs,
    ));
    let added = promoted(&root, &under, "hear");
    for line in [
        "with = { target_format = \"wav\", input_uri = \"{store_1.uri}\" }",
        "with = { audio_uri = \"{step_1.output.path}\" }",
        "required = [\"store_1\"]",
    ] {
        assert!(added.contains(line), "{line}: {added}");
    }
    let again = root.run(&task(json!({
        "task_id": "again", "capability_ids": ["hear"], "parameters": {"store_1": "store_7"},
        "input_refs_resolved": stored("store_7", "s3://bucket/other.mp4"),
    })));
    let again = succeeds(again);
    let calls = again.at("/output/content/task_result/tool_invocations");
    assert_eq!(calls[0]["parameters"]["input_uri"], "s3://bucket/other.mp4");
    let path = calls[1]["parameters"]["audio_uri"].as_str().unwrap();
    assert!(path.starts_with('/') && !path.contains("s3:"), "{path}");
}

#[test]
fn declared_steps_keep_their_names_and_references() {
    let root = Root::with_catalog(CATALOG);
    let steps = json!([
        {"id": "noted", "name": "note", "parameters": {"what": "a"}},
        {"name": "note", "parameters": {"what": "{noted.output.happened}"}},
    ]);
    let operation = improvised(&root, &[("steps", steps)]);
    let added = promoted(&root, &operation, "note_twice");
    for line in [
        "id = \"noted\"\nrun = \"note\"\nwith = { what = \"a\" }",
        "id = \"step_2\"\nrun = \"note\"\nwith = { what = \"{noted.output.happened}\" }",
    ] {
        assert!(added.contains(line), "{line}: {added}");
    }
    succeeds(root.run(&task(
        json!({"task_id": "again", "capability_ids": ["note_twice"]}),
    )));
    refused(&root, &operation, "note_twice", "already");
    refused(&root, &operation, "note", "already");
    refused(&root, &operation, "Note-1", "neither like");
    let (_, _, told) = oneact(&root, &["revoke", &operation]);
    refused(&root, &operation, "again", &format!("revoked{told}"));
}

#[test]
fn a_person_sees_what_is_added_and_only_then_it_is_written() {
    let root = Root::with_catalog(CATALOG);
    let steps = json!([{"name": "note", "parameters": {"what": "a\u{202e}b"}}]);
    let operation = improvised(&root, &[("steps", steps)]);
    let arguments = ["catalog", "promote", &operation, "--as", "note_it"];
    let (exit, _, told) = oneact(&root, &arguments);
    assert!(exit == 2 && told.contains("no terminal"), "{told}");
    let (exit, shown) = at_a_terminal(&root, "n\n", &arguments);
    assert!(exit == 1 && shown.contains("[workflow.note_it]"), "{shown}");
    assert_eq!(catalog(&root), CATALOG);
    let path = root.path.join("catalog.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let (exit, shown) = at_a_terminal(&root, "y\n", &arguments);
    assert!(exit == 0 && shown.contains("Added"), "{shown}");
    // Nothing that an editor would not show is written.
    let written = catalog(&root);
    assert!(
        written.starts_with(CATALOG) && written.contains(r#""a\U0000202eb""#),
        "{written}"
    );
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    // `.oneact`, the catalog, the servers and what the server wrote.
    assert_eq!(fs::read_dir(&root.path).unwrap().count(), 4);
}

#[test]
fn a_catalog_that_is_a_link_or_that_another_user_owns_is_not_changed() {
    let root = Root::with_catalog(CATALOG);
    let steps = json!([{"name": "note", "parameters": {"what": "a"}}]);
    let operation = improvised(&root, &[("steps", steps)]);
    let (path, real) = (root.path.join("catalog.toml"), root.path.join("real.toml"));
    fs::rename(&path, &real).unwrap();
    symlink(&real, &path).unwrap();
    refused(&root, &operation, "note_it", "is a symbolic link");
    fs::remove_file(&path).unwrap();
    fs::rename(&real, &path).unwrap();
    // Only root can give a file away.
    if chown(&path, Some(54321), None).is_ok() {
        refused(&root, &operation, "note_it", "belongs to user 54321");
        let mut arguments = vec!["catalog", "promote", &operation, "--as", "note_it", "--yes"];
        arguments.extend(["--catalog", "catalog.toml"]);
        let (exit, _, told) = oneact(&root, &arguments);
        assert!(
            exit == 2 && told.contains("54321; nothing was written"),
            "{told}"
        );
        assert_eq!(catalog(&root), CATALOG);
    }
}

#[test]
fn what_is_no_successful_improvised_action_or_has_a_secret_is_refused() {
    let root = Root::with_catalog(CATALOG);
    let done =
        task(json!({"task_id": "t", "capability_ids": ["note"], "parameters": {"what": "a"}}));
    let plain = operation(&succeeds(root.run(&done)));
    refused(
        &root,
        &plain,
        "note_it",
        "no improvised action that succeeded",
    );
    refused(&root, "op_unknown", "note_it", "op_unknown");
    let waits = root.run(&task(json!({
        "kind": "improvised", "task_id": "waits", "plan_summary": "Wait.", "steps": [{"name": "note"}],
    })));
    refused(
        &root,
        &operation(&waits),
        "note_it",
        "no improvised action that succeeded",
    );
    let under = grant(&root, &["note"]);
    refused(&root, &under, "note_it", "no call of");
    for (what, why) in [
        (json!({"what": "a", "token": "hunter2"}), "a secret"),
        (
            json!({"what": "a", "more": "{step_1.output}"}),
            "as a reference",
        ),
    ] {
        let under = improvised(
            &root,
            &[
                ("task_id", json!(why)),
                (
                    "grant",
                    json!({"entries": ["note"], "max_calls": 2, "for": "10m"}),
                ),
            ],
        );
        succeeds(call(&root, &under, &format!("of {why}"), "note", &what));
        refused(&root, &under, "note_it", why);
        assert!(!catalog(&root).contains("hunter2"));
    }
    // A row that was changed tells nothing.
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let changed = "UPDATE agent_actions SET request = replace(request, 'Tidy', 'tidy') WHERE operation_id = ?1";
    assert_eq!(ledger.execute(changed, [&under]).unwrap(), 1);
    refused(
        &root,
        &under,
        "note_it",
        "no improvised action that succeeded",
    );
}

/// A killed process leaves nothing under another name.
#[test]
fn the_next_change_of_the_catalog_removes_what_a_killed_one_has_left() {
    let root = Root::with_catalog(CATALOG);
    let steps = json!([{"name": "note", "parameters": {"what": "a"}}]);
    let operation = improvised(&root, &[("steps", steps)]);
    let left = root.path.join(".catalog.toml.oneact");
    fs::write(&left, "half of a cat").unwrap();
    promoted(&root, &operation, "note_it");
    assert!(!left.exists());
    // What oneact has not made stays.
    symlink("elsewhere", &left).unwrap();
    refused(&root, &operation, "note_again", ".catalog.toml.oneact");
    assert!(left.is_symlink());
}

/// Without its list, the mask would become the rights of the group.
#[test]
fn a_catalog_with_an_access_control_list_is_not_replaced() {
    let root = Root::with_catalog(CATALOG);
    let steps = json!([{"name": "note", "parameters": {"what": "a"}}]);
    let operation = improvised(&root, &[("steps", steps)]);
    // Version 2: the owner and user 54321 may read, the group may do nothing.
    let mut list = vec![2, 0, 0, 0];
    let everyone = u32::MAX;
    for (tag, rights, id) in [
        (1_u16, 6_u16, everyone),
        (2, 4, 54321),
        (4, 0, everyone),
        (16, 4, everyone),
        (32, 0, everyone),
    ] {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let path = root.path.join("catalog.toml");
    let (path, name) = (path.as_std_path(), "system.posix_acl_access");
    if setxattr(path, name, &list, XattrFlags::empty()).is_ok() {
        refused(&root, &operation, "note_it", "has an access control list");
    }
}

/// Of several persons at the same time, each finds the workflow that was added, or is told that it was not.
#[test]
fn workflows_that_are_added_at_the_same_time_are_not_lost() {
    let root = Root::with_catalog(CATALOG);
    let under = grant(&root, &["note"]);
    succeeds(call(&root, &under, "t1", "note", &json!({"what": "a"})));
    let add = |id: &str| {
        let arguments = ["catalog", "promote", &under, "--as", id, "--yes"];
        oneact(&root, &arguments).0
    };
    let added: Vec<String> = thread::scope(|scope| {
        let ids = (0..6).map(|number| format!("made_{number}"));
        let adding: Vec<_> = ids
            .map(|id| scope.spawn(move || (add(&id) == 0).then_some(id)))
            .collect();
        let added = adding.into_iter().map(|adding| adding.join().unwrap());
        added.flatten().collect()
    });
    assert!(!added.is_empty());
    for id in added {
        assert!(catalog(&root).contains(&format!("[workflow.{id}]")), "{id}");
    }
}

#[test]
fn a_call_whose_row_was_changed_is_not_left_out() {
    let root = Root::with_catalog(CATALOG);
    let under = grant(&root, &["note"]);
    succeeds(call(&root, &under, "t1", "note", &json!({"what": "a"})));
    succeeds(call(&root, &under, "t2", "note", &json!({"what": "b"})));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let change =
        "UPDATE agent_actions SET response = replace(response, 'a', 'b') WHERE task_id = 't1'";
    assert_eq!(ledger.execute(change, []).unwrap(), 1);
    drop(ledger);
    refused(&root, &under, "noted", "was changed");
}

/// A workflow with such an id would have the name of something else in the ledger.
#[test]
fn an_id_by_which_the_ledger_names_something_else_is_refused() {
    let root = Root::with_catalog(CATALOG);
    let under = grant(&root, &["note"]);
    succeeds(call(&root, &under, "t1", "note", &json!({"what": "a"})));
    for id in ["improvised", "suggestion", "clarification", "rollback"] {
        refused(&root, &under, id, "names something else");
    }
}
