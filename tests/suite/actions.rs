//! Who may perform what, and at what risk: search and dispatch agree in every context (specification 003).

use std::{collections::BTreeSet, fs};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    program::{Answer, ONEACT, Root, run, text},
    serving_client::Client,
};

const CONTEXTS: [&str; 5] = [
    "AGENT_CONVERSATION",
    "AGENT_AUTONOMOUS",
    "FSM_INTERNAL",
    "ACTION_PROPOSAL",
    "USER_INVOCATION",
];

/// A profile for each context; an action for each context, one with the default, one for a file plan.
fn catalog() -> String {
    let uid = rustix::process::getuid().as_raw();
    let entry = |id: &str, more: &str| {
        format!(
            "[capability.{id}]\nis_action = true\ndescription = \"Count {id}.\"\nmcp = {{ server = \"counter\", tool = \"happen\" }}\n\
             effects = {{ destructive = false, open_world = false }}\nparameter_schema_for_action = {{ type = \"object\" }}\n{more}\n"
        )
    };
    let of_context = CONTEXTS.map(|context| {
        let name = context.to_lowercase();
        let entry = entry(
            &format!("only_{name}"),
            &format!("available_in = [\"{context}\"]"),
        );
        format!("[profile.{name}]\ncontext = \"{context}\"\nuid = {uid}\n{entry}")
    });
    let server = "catalog = 1\n[server.counter]\ncommand = [\"python3\", \"servers/counter.py\", \"counted\"]\n";
    let plans = "[capability.plans]\navailable_in = [\"USER_INVOCATION\"]\nfile_plan = { validation = \"none\" }\n";
    [server, &of_context.concat(), &entry("for_all", ""), plans].concat()
}

fn request(capability: &str, session: &str) -> Value {
    json!({
        "metadata": {"session_id": session, "request_id": "r"},
        "dispatch": {"task_id": capability, "attempt": 1, "capability_ids": [capability]},
    })
}

fn as_profile(root: &Root, profile: &str, task: &Value) -> Answer {
    let mut command = root.command();
    command.args(["--profile", profile]);
    run(command, task.to_string().as_bytes())
}

fn oneact(root: &Root, arguments: &[&str]) -> Value {
    let output = root.command().args(arguments).output().unwrap();
    assert!(output.status.code() < Some(2), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn happened(root: &Root) -> usize {
    let counted = fs::read_to_string(root.path.join("counted"));
    counted.unwrap_or_default().lines().count()
}

/// R-003-28, R-003-29, R-003-34, R-003-36, R-003-37.
#[test]
fn search_dispatch_and_the_server_agree_about_every_entry_in_every_context() {
    let root = Root::with_catalog(&catalog());
    let entries = CONTEXTS.map(|context| format!("only_{}", context.to_lowercase()));
    for context in CONTEXTS {
        let profile = context.to_lowercase();
        let found = oneact(
            &root,
            &["catalog", "search", "count", "--context", context, "--json"],
        );
        let found = found.as_array().unwrap().iter();
        let found: BTreeSet<String> = found
            .map(|hit| hit["id"].as_str().unwrap().to_owned())
            .collect();
        let mut done = BTreeSet::new();
        for entry in entries.iter().map(String::as_str).chain(["for_all"]) {
            let before = happened(&root);
            let answer = as_profile(&root, &profile, &request(entry, context));
            if answer.exit == 0 {
                assert_eq!(happened(&root), before + 1, "{entry} in {context}");
                assert_eq!(answer.at("/output/content/oneact/gate/context"), context);
                done.insert(entry.to_owned());
            } else {
                assert_eq!((answer.exit, answer.fault()), (2, &json!("context_denied")));
                assert_eq!(answer.at("/error/error_code"), "OUT_OF_SCOPE");
                assert_eq!(happened(&root), before, "{entry} in {context}");
            }
        }
        assert_eq!(found, done, "{context}");
        let mut client = Client::legacy(&root, &["--profile", &profile]);
        let offered = client.ask("tools/list", &json!({}));
        let offered = offered["result"]["tools"].as_array().unwrap().iter();
        let offered = offered.map(|tool| tool["name"].as_str().unwrap().to_owned());
        let built_in = |name: &String| {
            ["apply_file_plan", "improvise", "run_approved"].contains(&name.as_str())
        };
        let offered: BTreeSet<String> = offered.filter(|name| !built_in(name)).collect();
        assert_eq!(offered, done, "{context}");
        assert!(done.contains(&format!("only_{profile}")), "{context}");
        assert_eq!(
            done.contains("for_all"),
            context != "FSM_INTERNAL",
            "{context}"
        );
    }
}

/// R-003-35: a person at a terminal needs no profile.
#[test]
fn a_task_that_is_typed_at_a_terminal_is_a_persons() {
    let root = Root::with_catalog(&catalog());
    let task = request("only_user_invocation", "s");
    let piped = root.run(&task);
    assert_eq!(piped.fault(), &json!("context_denied"));
    fs::write(root.path.join("task.json"), task.to_string()).unwrap();
    let line = "import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.dup2(os.open('answer', os.O_WRONLY | os.O_CREAT, 0o600), 1)
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while os.read(terminal, 1000):
        pass
except OSError:
    pass
os.waitpid(pid, 0)";
    let mut command = root.within("python3");
    let output = command
        .args(["-c", line, ONEACT, "run", "task.json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&*output.stderr));
    let envelope: Value =
        serde_json::from_slice(&fs::read(root.path.join("answer")).unwrap()).unwrap();
    let gate = envelope.pointer("/output/content/oneact/gate").unwrap();
    assert_eq!(gate["context"], "USER_INVOCATION", "{envelope}");
    assert_eq!(gate["profile"], Value::Null);
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_session_keeps_the_context_of_its_first_task() {
    let root = Root::with_catalog(&catalog());
    assert_eq!(
        as_profile(&root, "agent_conversation", &request("for_all", "s")).exit,
        0
    );
    let other = as_profile(&root, "agent_autonomous", &request("for_all", "s"));
    assert_eq!((other.exit, other.fault()), (2, &json!("context_changed")));
    assert_eq!(happened(&root), 1);
}

/// A plan that names no capability is bound by the entry `apply_file_plan`, and one that names an entry by that entry.
#[test]
fn a_plan_is_refused_in_a_context_that_its_entry_does_not_name() {
    let plan = json!({
        "plan_id": "p", "version": "1.0.0", "task_summary": "Write one file for a test.",
        "action_plan": [{"action_id": "a001", "action_type": "FILE_CREATE", "target": "made.txt", "risk_level": "HIGH",
                         "operation": {"type": "create", "content": "made\n"}}],
    });
    let task = json!({"task_id": "t", "capability_ids": ["plans"], "parameters": {"task_plan": plan}, "metadata": {"session_id": "s"}});
    let root = Root::with_catalog(&catalog());
    let refused = as_profile(&root, "agent_autonomous", &task);
    assert_eq!(
        (refused.exit, refused.fault()),
        (2, &json!("context_denied")),
        "{}",
        refused.envelope
    );
    assert!(!root.path.join("made.txt").exists());
    let done = as_profile(
        &root,
        "user_invocation",
        &json!({"metadata": {"session_id": "u"}, "task_id": "t", "capability_ids": ["plans"], "parameters": {"task_plan": plan}}),
    );
    assert_eq!(done.exit, 0, "{}", done.envelope);
    assert_eq!(done.at("/output/content/oneact/gate/risk"), "high");
    assert_eq!(
        done.at("/output/content/oneact/gate/because"),
        &json!(["the task states a high risk"])
    );
    let bare = Root::with_catalog(
        &catalog().replace("[capability.plans]", "[capability.apply_file_plan]"),
    );
    let refused = as_profile(
        &bare,
        "agent_autonomous",
        &json!({"task_plan": plan, "protocol_validation": true}),
    );
    assert_eq!(
        refused.fault(),
        &json!("context_denied"),
        "{}",
        refused.envelope
    );
}

/// R-003-30: what an agent states about its proposal raises the risk.
#[test]
fn a_proposal_can_raise_the_risk_and_never_lower_it() {
    for (claims, risk) in [
        (json!({}), "medium"),
        (
            json!({"irreversibility": "low", "regret_potential": "low"}),
            "medium",
        ),
        (json!({"irreversibility": "high"}), "high"),
        (json!({"risk_amplifier": true}), "high"),
        (
            json!({"irreversibility": "high", "regret_potential": "high"}),
            "critical",
        ),
    ] {
        let root = Root::with_catalog(&catalog());
        let mut task =
            json!({"kind": "standard", "name": "for_all", "metadata": {"session_id": "s"}});
        task.as_object_mut()
            .unwrap()
            .extend(claims.as_object().unwrap().clone());
        let answer = as_profile(&root, "agent_conversation", &task);
        // A critical call waits for a person.
        let exit = if risk == "critical" { 3 } else { 0 };
        assert_eq!(answer.exit, exit, "{}", answer.envelope);
        assert_eq!(
            answer.at("/output/content/oneact/gate/risk"),
            risk,
            "{claims}"
        );
    }
}

#[test]
fn the_ledger_keeps_what_the_gate_decided() {
    let root = Root::with_catalog(&catalog());
    let answer = as_profile(&root, "agent_conversation", &request("for_all", "s"));
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let request: String = ledger
        .query_row("SELECT request FROM agent_actions", [], |row| row.get(0))
        .unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    let gate = answer.at("/output/content/oneact/gate");
    assert_eq!(&request["context"]["gate"], gate);
    assert_eq!(gate["risk"], "medium");
    assert_eq!(gate["profile"], "agent_conversation");
}

#[test]
fn the_ledger_keeps_what_the_hints_of_a_server_add_to_the_risk() {
    let root = Root::with_catalog(
        r#"catalog = 1
[server.tools]
command = ["python3", "-SB", "servers/toolbox.py", "--hints", '{"openWorldHint": true}']
[capability.note]
effects = { destructive = false, idempotent = true, open_world = false }
mcp = { server = "tools", tool = "context_cacher" }
"#,
    );
    let answer = root.run(&request("note", "s"));
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let request: String = ledger
        .query_row("SELECT request FROM agent_actions", [], |row| row.get(0))
        .unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    let gate = answer.at("/output/content/oneact/gate");
    assert_eq!(&request["context"]["gate"], gate);
    assert_eq!(gate["risk"], "medium");
    let verified = root.command().arg("verify").status().unwrap();
    assert!(verified.success());
}

#[test]
fn the_catalog_of_this_repository_has_no_errors() {
    let root = Root::with_catalog(include_str!("../../catalog.toml"));
    let checked = oneact(&root, &["catalog", "check", "--json"]);
    let findings = checked["findings"].as_array().unwrap().iter();
    let errors: Vec<&Value> = findings
        .filter(|finding| finding["level"] == "error")
        .collect();
    assert_eq!(errors, Vec::<&Value>::new());
    assert_eq!(checked["entries"], 35);
}

#[test]
fn the_commands_of_the_catalog_start_nothing_and_print_what_a_person_can_read() {
    let root = Root::with_catalog(&catalog());
    let said = |arguments: &[&str]| {
        let output = root.command().args(arguments).output().unwrap();
        assert_eq!(text(&*output.stderr), "", "{arguments:?}");
        (output.status.code().unwrap(), text(&*output.stdout))
    };
    let (code, list) = said(&["catalog", "list"]);
    assert_eq!(code, 0);
    assert_eq!(list.lines().count(), 8, "{list}");
    assert!(
        list.lines().all(|line| line.chars().count() <= 80),
        "{list}"
    );
    // The block is only for a model that can choose a standard action, wherever its schema says so (R-003-25, R-003-26).
    let combined = json!({"$defs": {"action": {"anyOf": [{"properties": {"kind": {"enum": ["standard", "suggestion"]}}}]}}});
    let advice = json!({"properties": {"kind": {"enum": ["suggestion"]}, "standard": {"const": "standard"}}});
    for (schema, is_printed) in [(combined, true), (advice, false)] {
        fs::write(root.path.join("schema.json"), schema.to_string()).unwrap();
        let (code, block) = said(&["catalog", "render", "--schema", "schema.json"]);
        assert_eq!((code, !block.is_empty()), (0, is_printed), "{schema}");
    }
    fs::write(root.path.join("schema.json"), "{").unwrap();
    let mut command = root.command();
    let broken = command.args(["catalog", "render", "--schema", "schema.json"]);
    assert_eq!(broken.status().unwrap().code(), Some(2));
    let (code, block) = said(&["catalog", "render"]);
    assert_eq!((code, block.lines().count()), (0, 5), "{block}");
    let (code, shown) = said(&["catalog", "show", "for_all"]);
    assert!(
        code == 0 && shown.contains("  risk              medium\n"),
        "{shown}"
    );
    let (code, found) = said(&["catalog", "search", "for_all"]);
    assert_eq!((code, found.as_str()), (0, "for_all  id: for_all\n"));
    let (code, none) = said(&["catalog", "search", "nothing-like-this"]);
    assert!(code == 1 && none.starts_with("Nothing found."), "{none}");
    let (code, checked) = said(&["catalog", "check"]);
    assert!(code == 1 && checked.contains("error CAT010"), "{checked}");
    let output = root
        .command()
        .args(["catalog", "show", "for_al"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&*output.stderr).contains("did you mean for_all?"));
    root.assert_untouched();
}

/// R-000-59: the mapping of the application document is the mapping of the catalog.
#[test]
fn an_imported_document_is_a_catalog_and_a_difference_is_an_error() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/context/application.md");
    let root = Root::new();
    let verb = |arguments: &[&str]| root.command().args(arguments).output().unwrap();
    let imported = verb(&["catalog", "import", page]);
    assert_eq!(imported.status.code(), Some(0));
    fs::write(root.path.join("catalog.toml"), &imported.stdout).unwrap();
    let rendered = verb(&["catalog", "render", "--as", "application"]);
    assert_eq!(rendered.stdout, fs::read(page).unwrap());
    let same = verb(&["catalog", "check", "--against", page]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&*same.stdout));
    let other = text(&*rendered.stdout).replace("| transcriber |", "| scribe |");
    fs::write(root.path.join("other.md"), other).unwrap();
    let differs = verb(&["catalog", "check", "--against", "other.md"]);
    assert_eq!(differs.status.code(), Some(1));
    let found = text(&*differs.stdout);
    assert!(
        found.contains("error CAT091  CAP-AUD-001: tool: other.md:24 says scribe"),
        "{found}"
    );
    let missing = verb(&["catalog", "import", "none.md"]);
    assert_eq!(missing.status.code(), Some(2));
}
