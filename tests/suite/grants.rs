//! Grants: what an agent may call under one, how often, how long, and who ends it (R-003-06 … R-003-08).

use std::{fs, thread, time::Duration};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::tracer::{
    is_refused,
    moments::{self, Moment},
};
use crate::{
    approvals::{approve, asks, at_a_terminal, its_summary_is_shown, oneact},
    program::{Answer, Root, run},
};

/// Entries of each risk over one server.
const CATALOG: &str = "catalog = 1
[server.counter]
command = [\"python3\", \"servers/counter.py\", \"counted\"]

[capability.note]
description = \"Note.\"
is_action = true
mcp = { server = \"counter\", tool = \"happen\" }
effects = { destructive = false, open_world = false }
parameter_schema_for_action = { type = \"object\", properties = { what = { type = \"string\" } } }

[capability.look]
mcp = { server = \"counter\", tool = \"happen\" }
effects = { read_only = true, open_world = false }

[capability.publish]
mcp = { server = \"counter\", tool = \"happen\" }
effects = { destructive = false, open_world = true }
approval = { when = \"always\", expires = \"10m\" }

[capability.remove]
mcp = { server = \"counter\", tool = \"happen\" }
effects = { destructive = true }
";

fn root() -> Root {
    Root::with_catalog(CATALOG)
}

fn proposal(entries: &[&str], max_calls: u32, lasts: &str) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {
            "kind": "improvised", "task_id": "tidy", "attempt": 1, "plan_summary": "Note what is to be done.",
            "grant": {"entries": entries, "max_calls": max_calls, "for": lasts},
        },
    })
}

/// Opens the grant that is proposed, and returns its operation.
fn opened(root: &Root, proposal: &Value) -> String {
    let id = asks(&root.run(proposal));
    approve(root, &id);
    let answer = root.run(proposal);
    assert_eq!(
        (answer.exit, answer.state()),
        (0, &json!("done")),
        "{}",
        answer.envelope
    );
    let under = &answer.result_data()["grant"]["under"];
    assert_eq!(under, answer.at("/output/content/oneact/operation_id"));
    under.as_str().unwrap().to_owned()
}

fn grant(root: &Root, entries: &[&str], max_calls: u32) -> String {
    opened(root, &proposal(entries, max_calls, "10m"))
}

/// A call of `entry` under the grant of that operation.
fn call(under: &str, entry: &str, what: &str) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"task_id": what, "attempt": 1, "capability_ids": [entry], "parameters": {"what": what}, "under": under},
    })
}

fn happened(root: &Root) -> usize {
    let counted = fs::read_to_string(root.path.join("counted"));
    counted.unwrap_or_default().lines().count()
}

fn succeeds(answer: &Answer) {
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
}

/// Asserts that nothing was performed, for that reason.
fn refused(answer: &Answer, fault: &str, why: &str) {
    assert_eq!(
        (answer.exit, answer.fault(), answer.state()),
        (2, &json!(fault), &json!("rejected")),
        "{}",
        answer.envelope
    );
    let message = answer.at("/error/error_message").as_str().unwrap();
    assert!(message.contains(why), "{message}");
    assert_eq!(answer.at("/error/error_code"), "VALIDATION_ERROR");
}

#[test]
fn a_call_that_the_hints_of_its_server_make_risky_is_not_covered() {
    let server = "[\"python3\", \"servers/counter.py\", \"counted\"]";
    let hinting =
        r#"["python3", "-SB", "servers/toolbox.py", "--hints", '{"destructiveHint": true}']"#;
    let catalog = CATALOG.replace(server, hinting);
    let root = Root::with_catalog(&catalog.replace("\"happen\"", "\"context_cacher\""));
    let under = grant(&root, &["note"], 2);
    let answer = root.run(&call(&under, "note", "one"));
    assert_eq!(answer.fault(), "tool_changed", "{}", answer.envelope);
    assert_eq!(answer.at("/output/content/oneact/effect"), "none");
    let mut alone = call(&under, "note", "two");
    alone["dispatch"].as_object_mut().unwrap().remove("under");
    succeeds(&root.run(&alone));
}

#[test]
fn an_improvised_action_always_waits_and_then_covers_its_calls_until_they_are_used_up() {
    let root = root();
    let proposal = proposal(&["note", "publish"], 2, "10m");
    let id = asks(&root.run(&proposal));
    // Neither a refusal nor an unanswered request opens anything.
    let (exit, shown) = at_a_terminal(&root, "n\n", &["approve", &id]);
    assert_eq!(exit, 1);
    for told in [
        "Note what is to be done.",
        "publish",
        "max_calls",
        "always approved",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    assert_eq!(asks(&root.run(&proposal)), id);
    let operation = opened(&root, &proposal);
    // The same proposal again gets the same grant, and no second one.
    let again = root.run(&proposal);
    assert_eq!(again.state(), "replayed");
    assert_eq!(again.result_data()["grant"]["under"], json!(operation));
    succeeds(&root.run(&call(&operation, "note", "one")));
    // `publish` says `when = "always"`; the approval of the grant was given under its rule.
    let repeated = again
        .at("/output/content/oneact/operation_id")
        .as_str()
        .unwrap();
    succeeds(&root.run(&call(repeated, "publish", "two")));
    let third = call(&operation, "note", "three");
    refused(&root.run(&third), "grant_used_up", "all 2 calls were made");
    // An old answer is no call.
    assert_eq!(
        root.run(&call(&operation, "note", "one")).state(),
        "replayed"
    );
    assert_eq!(happened(&root), 2);
    // A proposal of kind `standard` is such a call too.
    let other = grant_of(&root, "more");
    succeeds(&root.run(&json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"kind": "standard", "name": "note", "task_id": "four", "parameters": {"what": "four"}, "under": other},
    })));
    assert_eq!(happened(&root), 3);
    let (exit, verified, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 0, "{verified}");
}

/// A person who approves a grant sees the words that its summary hides in a URL. No record holds the
/// credentials.
#[test]
fn the_words_of_the_summary_of_a_grant_are_shown_and_what_is_hidden_is_counted() {
    let root = root();
    let task = proposal(&["note"], 2, "10m");
    its_summary_is_shown(&root, task);
}

/// The request for a grant is recorded, so it has no secret of the servers whose calls it asks for. Another variable of
/// the server is not set.
#[test]
fn a_secret_of_the_environment_in_the_summary_of_a_grant_is_hidden() {
    let secret = "t0k3n-of-the-server";
    let passing = CATALOG.replacen(
        "[server.counter]\n",
        "[server.counter]\nenv_pass = [\"NOT_SET\", \"SERVER_TOKEN\"]\n",
        1,
    );
    assert_ne!(passing, CATALOG);
    let root = Root::with_catalog(&passing);
    let mut task = proposal(&["note"], 1, "10m");
    task["dispatch"]["plan_summary"] = json!(format!("Use {secret} for it"));
    let mut command = root.command();
    command.env("SERVER_TOKEN", secret).env_remove("NOT_SET");
    let id = asks(&run(command, task.to_string().as_bytes()));
    let (_, shown, _) = oneact(&root, &["approvals", &id, "--full"]);
    assert!(shown.contains("Use *** for it"), "{shown}");
    assert!(shown.contains("Hidden in `plan_summary`"), "{shown}");
    for file in root.path.join(".oneact").read_dir_utf8().unwrap().flatten() {
        let bytes = fs::read(file.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{}", file.path());
    }
}

/// A grant for one call of `note`, of another task.
fn grant_of(root: &Root, task: &str) -> String {
    let mut proposal = proposal(&["note"], 1, "10m");
    proposal["dispatch"]["task_id"] = json!(task);
    opened(root, &proposal)
}

#[test]
fn a_call_is_covered_only_in_the_session_of_its_grant_and_for_its_entries() {
    let root = root();
    let operation = grant(&root, &["note"], 5);
    let refuses = |task: &Value, fault, why| refused(&root.run(task), fault, why);
    let publish = call(&operation, "publish", "p");
    refuses(
        &publish,
        "grant_mismatch",
        "does not contain publish; it contains note",
    );
    let mut elsewhere = call(&operation, "note", "e");
    elsewhere["metadata"]["session_id"] = json!("s2");
    refuses(&elsewhere, "grant_not_found", "another session opened it");
    let nothing = "no operation with this id opened a grant";
    refuses(&call("op_unknown", "note", "u"), "grant_not_found", nothing);
    let beginning = &operation[..operation.len() - 1];
    refuses(&call(beginning, "note", "b"), "grant_not_found", nothing);
    let done = root.run(&call(&operation, "note", "done"));
    let other = done
        .at("/output/content/oneact/operation_id")
        .as_str()
        .unwrap();
    refuses(&call(other, "note", "o"), "grant_not_found", nothing);
    assert_eq!(happened(&root), 1);
    // Neither kind may have the name of an entry, and several capabilities are no single call.
    let mut several = call(&operation, "note", "several");
    several["dispatch"]["capability_ids"] = json!(["note", "look"]);
    several["dispatch"]["parameters"] = json!({});
    assert_eq!(root.run(&several).fault(), "invalid_shape");
    let mut unknown = proposal(&["note", "nota"], 1, "1m");
    unknown["dispatch"]["task_id"] = json!("unknown");
    assert_eq!(root.run(&unknown).fault(), "unknown_capability");
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_grant_ends_with_its_time_and_when_it_is_closed() {
    let root = root();
    let short = opened(&root, &proposal(&["note"], 5, "2s"));
    succeeds(&root.run(&call(&short, "note", "in time")));
    thread::sleep(Duration::from_millis(2100));
    refused(
        &root.run(&call(&short, "note", "late")),
        "grant_expired",
        "it expired at",
    );
    let root = self::root();
    let operation = grant(&root, &["note"], 5);
    succeeds(&root.run(&call(&operation, "note", "one")));
    let (exit, _, told) = oneact(&root, &["close", "op_unknown"]);
    assert!(exit == 2 && told.contains("op_unknown"), "{told}");
    let (exit, closed, told) = oneact(&root, &["close", &operation, "-m", "done"]);
    assert_eq!(exit, 0, "{told}");
    assert!(closed.contains("after 1 of 5 calls"), "{closed}");
    let (exit, _, told) = oneact(&root, &["close", &operation]);
    assert!(exit == 2 && told.contains("already closed"), "{told}");
    refused(
        &root.run(&call(&operation, "note", "two")),
        "grant_closed",
        "closed it",
    );
    assert_eq!(happened(&root), 1);
    // The same proposal asks again.
    asks(&root.run(&proposal(&["note"], 5, "10m")));
    let (_, shown, _) = oneact(&root, &["show", &operation]);
    for told in [
        "1 of 5 calls",
        "closed by link",
        "closed by uid:",
        "done",
        "note",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let (_, listed, _) = oneact(&root, &["history"]);
    assert!(
        listed.contains("under #1") && listed.contains("closed"),
        "{listed}"
    );
}

#[test]
fn a_call_of_high_risk_is_never_covered_and_counts() {
    let root = root();
    let proposal = proposal(&["note", "remove"], 1, "10m");
    let first = root.run(&proposal);
    let why = first.at("/output/content/oneact/waiting/why").to_string();
    assert!(why.contains("does not cover remove"), "{why}");
    let operation = opened(&root, &proposal);
    let remove = call(&operation, "remove", "all");
    let asked = root.run(&remove);
    let why = asked.at("/output/content/oneact/waiting/why").to_string();
    assert!(why.contains("covers no call of high risk"), "{why}");
    let id = asks(&asked);
    approve(&root, &id);
    succeeds(&root.run(&remove));
    assert_eq!(happened(&root), 1);
    refused(
        &root.run(&call(&operation, "note", "more")),
        "grant_used_up",
        "all 1 calls",
    );
    // The risk that a proposal states counts, too.
    let other = grant_of(&root, "other");
    asks(&root.run(&json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"kind": "standard", "name": "note", "task_id": "risky", "parameters": {"what": "risky"},
                     "under": other, "regret_potential": "high"},
    })));
    assert_eq!(happened(&root), 1);
}

#[test]
fn an_entry_that_changed_since_is_not_covered() {
    for (from, to) in [
        ("\"counted\"]", "\"elsewhere\"]"),
        ("when = \"always\"", "when = \"always\", quorum = 2"),
        (
            "open_world = true }",
            "open_world = true, idempotent = true }",
        ),
        (
            "[capability.publish]",
            "[capability.publish]\nrequires_post_review = true",
        ),
        (
            "[capability.publish]",
            "[capability.publish]\ntimeout = \"5s\"",
        ),
    ] {
        let root = root();
        let operation = grant(&root, &["publish"], 5);
        let catalog = CATALOG.replace(from, to);
        fs::write(root.path.join("catalog.toml"), catalog).unwrap();
        let answer = root.run(&call(&operation, "publish", "p"));
        refused(
            &answer,
            "grant_mismatch",
            "publish has changed in the catalog since",
        );
        assert!(!root.path.join("elsewhere").exists() && happened(&root) == 0);
    }
}

/// The approval of a grant of file plans is also for their limits.
#[test]
fn the_limits_of_file_plans_are_part_of_their_entry() {
    let entry = "catalog = 1\n[capability.apply_file_plan]\napproval = { when = \"always\" }\n";
    let entry = format!("{entry}[capability.apply_file_plan.file_plan]\n");
    let root = Root::with_catalog(&entry);
    let operation = grant(&root, &["apply_file_plan"], 5);
    let plan = |name: &str| {
        let create = json!({"action_id": "a", "action_type": "FILE_CREATE", "target": name,
                            "operation": {"type": "create", "content": "x\n"}});
        json!({
            "metadata": {"session_id": "s", "request_id": "r"}, "protocol_validation": true,
            "task_id": name, "capability_ids": ["apply_file_plan"], "under": operation,
            "task_plan": {"plan_id": name, "action_plan": [create]},
        })
    };
    succeeds(&root.run(&plan("one")));
    let catalog = format!("{entry}protected.executes = {{ except = [\"**\"] }}\n");
    fs::write(root.path.join("catalog.toml"), catalog).unwrap();
    let why = "apply_file_plan has changed in the catalog since";
    refused(&root.run(&plan("two")), "grant_mismatch", why);
    assert!(!root.path.join("two").exists());
}

/// Without `capability_ids`, the plan would be applied under no grant.
#[test]
fn a_plan_that_names_a_grant_names_its_entry() {
    let root = Root::with_catalog("catalog = 1\n");
    let create = json!({"action_id": "a", "action_type": "FILE_CREATE", "target": "b",
                        "operation": {"type": "create", "content": "x\n"}});
    let beside = json!({
        "metadata": {"session_id": "s", "request_id": "r"}, "protocol_validation": true, "under": "op_1",
        "task_plan": {"plan_id": "p", "action_plan": [create]},
    });
    let mut within = beside["task_plan"].clone();
    within["under"] = json!("op_1");
    within["protocol_validation"] = json!(true);
    for plan in [beside, within] {
        let answer = root.run(&plan);
        assert_eq!((answer.exit, answer.fault()), (2, &json!("invalid_shape")));
        let message = answer.at("/error/error_message").as_str().unwrap();
        assert!(
            message.contains("\"capability_ids\": [\"apply_file_plan\"]"),
            "{message}"
        );
        assert!(!root.path.join("b").exists());
    }
}

/// Two roots can have the same text of a catalog, and record in one ledger.
#[test]
fn a_grant_covers_no_call_in_another_root() {
    let shared = |ledger: &str| format!("{CATALOG}[ledger]\nuri = \"sqlite:{ledger}\"\n");
    let first = root();
    let catalog = shared(first.path.join("shared.db").as_str());
    fs::write(first.path.join("catalog.toml"), &catalog).unwrap();
    let operation = grant(&first, &["note"], 5);
    let second = Root::with_catalog(&catalog);
    let answer = second.run(&call(&operation, "note", "one"));
    refused(&answer, "grant_mismatch", "it was opened in another root");
    assert_eq!(happened(&second), 0);
    succeeds(&first.run(&call(&operation, "note", "one")));
}

#[test]
fn who_revokes_a_repetition_of_the_answer_closes_the_grant() {
    let root = root();
    let proposal = proposal(&["note"], 5, "10m");
    let operation = opened(&root, &proposal);
    let again = root.run(&proposal);
    let repeated = again.at("/output/content/oneact/operation_id").as_str();
    let repeated = repeated.unwrap();
    assert_ne!(repeated, operation);
    assert_eq!(oneact(&root, &["revoke", repeated]).0, 0);
    for under in [repeated, &operation] {
        let answer = root.run(&call(under, "note", "one"));
        refused(&answer, "grant_closed", "closed it");
    }
    asks(&root.run(&proposal));
    let (exit, _, told) = oneact(&root, &["close", "0"]);
    assert!(
        exit == 2 && told.contains("the id of the operation"),
        "{told}"
    );
    assert!(!told.contains("--session"), "{told}");
}

#[test]
fn runs_that_race_for_the_last_call_never_exceed_the_limit() {
    let root = root();
    let operation = grant(&root, &["note", "look"], 3);
    let exits: Vec<i32> = thread::scope(|scope| {
        let runs: Vec<_> = (0..8)
            .map(|at| {
                let (root, operation) = (&root, &operation);
                let entry = if at % 2 == 0 { "note" } else { "look" };
                scope.spawn(move || root.run(&call(operation, entry, &format!("w{at}"))).exit)
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let count = |code| exits.iter().filter(|exit| **exit == code).count();
    assert_eq!((count(0), count(2)), (3, 5), "{exits:?}");
    assert_eq!(happened(&root), 3);
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

/// A call that may have happened counts. A grant whose opening was not recorded does not exist.
#[test]
fn a_killed_run_leaves_no_grant_and_frees_no_call() {
    if is_refused() {
        return;
    }
    let root = root();
    let killed = |task: &Value, moment: Moment| {
        moments::killed(&root, task, moment.of_the_task());
    };
    let proposal = proposal(&["look"], 2, "10m");
    approve(&root, &asks(&root.run(&proposal)));
    killed(&proposal, Moment::Dispatched);
    // The approval was used, so the proposal asks again.
    let operation = opened(&root, &proposal);
    let task = call(&operation, "look", "one");
    killed(&task, Moment::Reserved);
    killed(&task, Moment::Dispatched);
    succeeds(&root.run(&task));
    refused(
        &root.run(&call(&operation, "look", "two")),
        "grant_used_up",
        "all 2 calls",
    );
    assert_eq!(happened(&root), 1);
}

#[test]
fn a_forged_grant_covers_nothing_and_verify_finds_it() {
    let change = |root: &Root, statement: &str| {
        let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
        assert_eq!(ledger.execute(statement, []).unwrap(), 1, "{statement}");
    };
    for statement in [
        "UPDATE grants SET granted = replace(granted, '\"max_calls\":1', '\"max_calls\":9')",
        "UPDATE ledger_events SET body = replace(body, '\"max_calls\":1', '\"max_calls\":9') WHERE event = 'succeeded'",
        "UPDATE ledger_events SET body = replace(body, '\"under\":\"op', '\"under\":\"po') WHERE body LIKE '%\"under\"%'",
    ] {
        let root = root();
        let operation = grant(&root, &["note"], 1);
        succeeds(&root.run(&call(&operation, "note", "one")));
        let statement = if statement.contains("WHERE event") {
            format!("{statement} AND body LIKE '%max_calls%'")
        } else {
            statement.to_owned()
        };
        change(&root, &statement);
        assert_ne!(oneact(&root, &["verify"]).0, 0, "{statement}");
        let answer = root.run(&call(&operation, "note", "two"));
        assert_ne!(answer.exit, 0, "{statement}: {}", answer.envelope);
        assert_eq!(happened(&root), 1, "{statement}");
    }
}

/// Without a ledger, nobody could count.
#[test]
fn without_a_ledger_there_is_neither_a_grant_nor_a_call_under_one() {
    let catalog = format!("{CATALOG}\n[ledger]\nuri = \"none\"\n");
    let root = Root::with_catalog(&catalog);
    for task in [proposal(&["note"], 1, "1m"), call("op_1", "look", "one")] {
        let answer = root.run(&task);
        assert_eq!(answer.fault(), "ledger_unavailable", "{}", answer.envelope);
        assert_eq!(happened(&root), 0);
    }
}
