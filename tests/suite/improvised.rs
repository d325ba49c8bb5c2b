//! Improvised actions that declare their steps: one approval of the whole, and each step as a step of a workflow
//! (R-003-06 … R-003-08, C-31).

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::tracer::{
    is_refused,
    moments::{self, Moment, Point},
};
use crate::{
    approvals::{approve, asks, at_a_terminal, its_summary_is_shown, oneact},
    program::{Answer, Root},
};

/// Entries of each risk over one server.
const CATALOG: &str = "catalog = 1
[server.counter]
command = [\"python3\", \"servers/counter.py\", \"counted\"]

[capability.note]
mcp = { server = \"counter\", tool = \"happen\" }
effects = { destructive = false, open_world = false, idempotent = false }
secret = [\"/token\"]

[capability.publish]
mcp = { server = \"counter\", tool = \"happen\" }
effects = { destructive = false, open_world = true, idempotent = false }
approval = { when = \"always\", expires = \"10m\" }

[capability.remove]
mcp = { server = \"counter\", tool = \"happen\" }
effects = { destructive = true, idempotent = false }
approval = { when = \"never\" }
";

fn root() -> Root {
    Root::with_catalog(CATALOG)
}

fn proposal(attempt: u32, steps: &Value) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {
            "kind": "improvised", "task_id": "tidy", "attempt": attempt, "plan_summary": "Note it and publish it.",
            "steps": steps,
        },
    })
}

fn step(entry: &str, what: &str) -> Value {
    json!({"name": entry, "parameters": {"what": what}})
}

/// The approval of the whole covers no step that the hints of its server make risky (C-30).
#[test]
fn a_step_that_the_hints_of_its_server_make_risky_is_not_covered() {
    let server = "[\"python3\", \"servers/counter.py\", \"counted\"]";
    let hinting =
        r#"["python3", "-SB", "servers/toolbox.py", "--hints", '{"destructiveHint": true}']"#;
    let catalog = CATALOG.replace(server, hinting);
    let root = Root::with_catalog(&catalog.replace("\"happen\"", "\"context_cacher\""));
    let answer = approved(&root, &proposal(1, &json!([step("publish", "one")])));
    assert_eq!(answer.fault(), "tool_changed", "{}", answer.envelope);
    assert_eq!(answer.at("/output/content/oneact/effect"), "none");
}

/// Runs the proposal, approves what it waits for, and runs it again.
fn approved(root: &Root, proposal: &Value) -> Answer {
    approve(root, &asks(&root.run(proposal)));
    root.run(proposal)
}

fn happened(root: &Root) -> Vec<String> {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

/// The states of the steps.
fn states(answer: &Answer) -> Vec<&str> {
    let steps = answer.at("/output/content/oneact/steps").as_array();
    let steps = steps.unwrap_or_else(|| panic!("{}", answer.envelope));
    steps
        .iter()
        .map(|step| step["state"].as_str().unwrap())
        .collect()
}

/// The `secret` pointer of one step hides the same characters in every other step, too.
#[test]
fn a_person_is_told_what_is_hidden_in_another_step_than_that_of_the_secret() {
    let root = root();
    let steps = json!([
        {"name": "note", "parameters": {"what": "first", "token": ", and all else"}},
        {"name": "publish", "parameters": {"what": "the news, and all else"}},
    ]);
    let mut task = proposal(1, &steps);
    task["dispatch"]["plan_summary"] = json!("Publish the news, and all else.");
    let id = asks(&root.run(&task));
    let (_, shown) = at_a_terminal(&root, "n\n", &["approve", &id]);
    let shown: Vec<&str> = shown.split_whitespace().collect();
    let shown = shown.join(" ");
    for told in [
        "Hidden in `plan_summary`: 14 characters of a secret parameter",
        "Hidden in `what` of the step `2 publish`: 14 characters of a secret parameter",
        "Parts of 2 parameters are hidden, as said above.",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    assert!(
        !shown.contains("`token`") && !shown.contains("all else"),
        "{shown}"
    );
}

/// A person who approves an improvised action sees the words that its summary hides in a URL. No record holds the
/// credentials.
#[test]
fn the_words_of_a_summary_are_shown_and_what_is_hidden_is_counted() {
    let root = root();
    let task = proposal(1, &json!([step("note", "first")]));
    its_summary_is_shown(&root, task);
}

#[test]
fn declared_steps_wait_for_one_approval_and_run_as_the_steps_of_one_task() {
    let root = root();
    let steps = json!([
        {"id": "noted", "name": "note", "parameters": {"what": "first", "token": "pw7"}},
        {"name": "publish", "parameters": {"what": "{noted.output.happened}"}},
    ]);
    let task = proposal(1, &steps);
    let first = root.run(&task);
    let id = asks(&first);
    // The person sees every step with its effective parameters, without secrets.
    let (exit, shown) = at_a_terminal(&root, "n\n", &["approve", &id]);
    assert_eq!(exit, 1);
    for told in [
        "Note it and publish it.",
        "1 note",
        r#""what":"first""#,
        "2 publish",
        "{noted.output.happened}",
        "always approved",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let (_, list, _) = oneact(&root, &["approvals", &id, "--json"]);
    let (_, history, _) = oneact(&root, &["history", "--json"]);
    for shown in [shown, list, history] {
        assert!(!shown.contains("pw7"), "{shown}");
    }
    assert!(happened(&root).is_empty());
    assert_eq!(asks(&root.run(&task)), id);
    // `publish` says `when = "always"`; the whole was approved under its rule.
    let done = approved(&root, &task);
    assert_eq!(
        (done.exit, done.state()),
        (0, &json!("done")),
        "{}",
        done.envelope
    );
    assert_eq!(states(&done), ["done", "done"]);
    assert_eq!(happened(&root), ["first", "first"]);
    let operation = done.at("/output/content/oneact/operation_id");
    let (_, shown, _) = oneact(&root, &["show", operation.as_str().unwrap()]);
    assert!(
        shown.contains("improvised") && shown.contains("publish"),
        "{shown}"
    );
    assert_eq!(root.run(&task).state(), "replayed");
    assert_eq!(happened(&root).len(), 2);
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let secret =
        "SELECT count(*) FROM agent_actions WHERE request LIKE '%pw7%' OR response LIKE '%pw7%'";
    let rows: i64 = ledger.query_row(secret, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0, "the ledger keeps no secret");
    let (exit, verified, _) = oneact(&root, &["verify"]);
    assert_eq!(exit, 0, "{verified}");
}

#[test]
fn a_step_of_high_risk_waits_for_its_own_approval_and_nothing_is_repeated() {
    let root = root();
    let steps = json!([
        step("note", "one"),
        step("remove", "two"),
        step("note", "three")
    ]);
    let task = proposal(1, &steps);
    let first = root.run(&task);
    let why = first.at("/output/content/oneact/waiting/why").to_string();
    assert!(why.contains("does not cover remove"), "{why}");
    let whole = asks(&first);
    approve(&root, &whole);
    let held = root.run(&task);
    let own = asks(&held);
    assert_ne!(own, whole);
    assert_eq!(states(&held), ["done", "pending"]);
    assert_eq!(happened(&root), ["one"]);
    // Until the step is approved, the same task waits for it and for nothing else.
    let again = root.run(&task);
    assert_eq!(
        (asks(&again), states(&again)),
        (own.clone(), vec!["replayed", "pending"])
    );
    approve(&root, &own);
    let done = root.run(&task);
    assert_eq!(
        (done.exit, states(&done)),
        (0, vec!["replayed", "done", "done"]),
        "{}",
        done.envelope
    );
    assert_eq!(happened(&root), ["one", "two", "three"]);
    assert_eq!(root.run(&task).state(), "replayed");
    assert_eq!(oneact(&root, &["verify"]).0, 0);
    let (_, listed, _) = oneact(&root, &["approvals", "--all"]);
    assert_eq!(listed.matches(" used").count(), 2, "{listed}");
}

#[test]
fn a_denied_step_ends_the_action_and_a_denied_action_performs_nothing() {
    let root = root();
    let task = proposal(1, &json!([step("note", "one"), step("remove", "two")]));
    let own = asks(&approved(&root, &task));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["deny", &own, "-m", "no"]);
    assert_eq!(exit, 0, "{shown}");
    let ended = root.run(&task);
    assert_eq!(ended.fault(), "approval_denied", "{}", ended.envelope);
    assert_eq!(states(&ended), ["replayed", "rejected"]);
    // The approval was used by the run that ended.
    let next = proposal(2, &json!([step("note", "one"), step("remove", "two")]));
    let whole = asks(&root.run(&next));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["deny", &whole, "-m", "no"]);
    assert_eq!(exit, 0, "{shown}");
    assert_eq!(root.run(&next).fault(), "approval_denied");
    assert_eq!(happened(&root), ["one"]);
}

#[test]
fn after_a_failure_and_after_a_kill_a_person_approves_again_and_finished_steps_are_not_repeated() {
    if is_refused() {
        return;
    }
    let steps = json!([
        step("note", "one"),
        step("note", "fails"),
        step("note", "three")
    ]);
    let root = root();
    let failed = approved(&root, &proposal(1, &steps));
    assert_eq!(failed.fault(), "rate_limited", "{}", failed.envelope);
    assert_eq!(states(&failed), ["done", "failed"]);
    let failed = approved(&root, &proposal(2, &steps));
    assert_eq!(states(&failed), ["replayed", "failed"]);
    assert_eq!(happened(&root), ["one", "fails", "fails"]);
    let root = self::root();
    let task = proposal(1, &json!([step("note", "one"), step("note", "two")]));
    killed(&root, &task, Moment::Recorded.of_step(1));
    let done = approved(&root, &task);
    assert_eq!(
        (done.exit, states(&done)),
        (0, vec!["replayed", "done"]),
        "{}",
        done.envelope
    );
    assert_eq!(happened(&root), ["one", "two"]);
    assert_eq!(oneact(&root, &["verify"]).0, 0);
}

/// Approves the proposal, and kills its run at that point.
fn killed(root: &Root, task: &Value, point: Point) {
    approve(root, &asks(&root.run(task)));
    moments::killed(root, task, point);
}

#[test]
fn nobody_is_asked_to_approve_an_action_again_while_the_outcome_of_a_step_is_unknown() {
    if is_refused() {
        return;
    }
    let steps = json!([step("note", "one"), step("note", "two")]);
    let root = root();
    killed(&root, &proposal(1, &steps), Moment::Dispatched.of_step(2));
    let (_, history, _) = oneact(&root, &["history"]);
    assert!(history.contains("first settle its step"), "{history}");
    assert!(!history.contains("can be sent again"), "{history}");
    for attempt in [1, 2] {
        let refused = root.run(&proposal(attempt, &steps));
        assert_eq!(refused.fault(), "outcome_unknown", "{}", refused.envelope);
        let message = refused.at("/error/error_message").to_string();
        assert!(message.contains(".2"), "{message}");
    }
    let (_, listed, _) = oneact(&root, &["approvals", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["approvals"], json!([]), "{listed}");
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let open = "SELECT operation_id FROM claims WHERE state = 'unknown'";
    let operation: String = ledger.query_row(open, [], |row| row.get(0)).unwrap();
    assert_eq!(oneact(&root, &["resolve", &operation, "--did-not"]).0, 0);
    let (_, history, _) = oneact(&root, &["history"]);
    assert!(history.contains("can be sent again"), "{history}");
    let done = approved(&root, &proposal(2, &steps));
    assert_eq!(states(&done), ["replayed", "done"], "{}", done.envelope);
    assert_eq!(happened(&root), ["one", "two"]);
}

#[test]
fn the_approval_is_for_these_steps_and_by_the_people_that_their_entries_name() {
    let task = proposal(1, &json!([step("note", "one"), step("publish", "two")]));
    // Another step, another parameter or another entry is another request.
    let root = root();
    approve(&root, &asks(&root.run(&task)));
    for changed in [
        json!([step("note", "one"), step("publish", "other")]),
        json!([step("publish", "two"), step("note", "one")]),
    ] {
        let mut other = proposal(1, &changed);
        other["dispatch"]["task_id"] = json!("other");
        asks(&root.run(&other));
    }
    for (from, to) in [
        ("\"counted\"]", "\"elsewhere\"]"),
        ("when = \"always\"", "when = \"always\", quorum = 2"),
    ] {
        fs::write(root.path.join("catalog.toml"), CATALOG.replace(from, to)).unwrap();
        let answer = root.run(&task);
        assert_eq!(answer.fault(), "approval_mismatch", "{}", answer.envelope);
        fs::write(root.path.join("catalog.toml"), CATALOG).unwrap();
        approve(&root, &asks(&root.run(&task)));
    }
    assert!(happened(&root).is_empty() && !root.path.join("elsewhere").exists());
    let catalog = CATALOG.replace("when = \"always\"", "approvers = [\"uid:54321\"]");
    let root = Root::with_catalog(&catalog);
    let id = asks(&root.run(&task));
    let (exit, shown) = at_a_terminal(&root, "y\n", &["approve", &id]);
    assert!(exit == 2 && shown.contains("may not approve"), "{shown}");
    asks(&root.run(&task));
    assert!(happened(&root).is_empty());
}

/// Without a ledger, nobody could approve.
#[test]
fn without_a_ledger_no_step_is_performed() {
    let root = Root::with_catalog(&format!("{CATALOG}\n[ledger]\nuri = \"none\"\n"));
    let answer = root.run(&proposal(1, &json!([step("note", "one")])));
    assert_eq!(answer.fault(), "ledger_unavailable", "{}", answer.envelope);
    assert!(happened(&root).is_empty());
}
