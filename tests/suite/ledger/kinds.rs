//! What the ledger holds of proposals (003, "The four kinds").

use super::*;

fn propose(task: &str, more: &Value) -> Value {
    let mut proposal = json!({
        "kind": "standard", "name": "once", "parameters": {"what": "mail"}, "task_id": task, "attempt": 1,
        "metadata": {"session_id": "s"},
    });
    let more = more.as_object().unwrap().clone();
    proposal.as_object_mut().unwrap().extend(more);
    proposal
}

#[test]
fn a_standard_action_and_a_dispatch_of_its_entry_are_one_request_r_003_05() {
    let root = Root::with_catalog(CATALOG);
    let dispatch = json!({
        "dispatch": {"task_id": "t1", "attempt": 1, "capability_ids": ["once"], "parameters": {"what": "mail"}},
        "metadata": {"session_id": "s"},
    });
    assert_eq!(state(&root.run(&dispatch)), "done");
    assert_eq!(state(&root.run(&propose("t2", &json!({})))), "suppressed");
    let salted = propose("t3", &json!({"salt": "again", "confidence": 0.25}));
    assert_eq!(state(&root.run(&salted)), "done");
    assert_eq!(happened(&root), ["mail", "mail"]);
    let ledger = Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let confidence: f64 = ledger
        .query_row(
            "SELECT confidence_score FROM agent_actions WHERE task_id = 't3'",
            (),
            |row| row.get(0),
        )
        .unwrap();
    assert!((confidence - 0.25).abs() < f64::EPSILON);
}

#[test]
fn the_record_of_a_task_says_which_clarification_it_answers() {
    let root = Root::with_catalog(CATALOG);
    let asked = root.run(&json!({
        "kind": "clarification", "blocked_on": "what to send", "metadata": {"session_id": "s"},
    }));
    let operation = asked.at("/output/content/oneact/operation_id").clone();
    root.run(&propose("t1", &json!({"clarifies": operation})));
    root.run(&propose("t2", &json!({"salt": "again"})));
    let session = root.look(&["replay"]).json();
    let context = |step: usize| &session["steps"][step]["request"]["context"];
    assert_eq!(session["steps"][0]["step"]["operation_id"], operation);
    assert_eq!(context(1)["clarifies"], operation, "{session}");
    assert_eq!(context(2).get("clarifies"), None);
}

#[test]
fn a_suggestion_and_a_clarification_need_no_ledger_r_003_19() {
    let root = Root::with_catalog(CATALOG);
    for (proposal, exit) in [
        (json!({"kind": "suggestion", "title": "Archive this"}), 0),
        (json!({"kind": "clarification", "blocked_on": "the day"}), 3),
    ] {
        let mut command = root.command();
        command.env("ONEACT_LEDGER", "nonsense://nowhere");
        let answer = run(command, proposal.to_string().as_bytes());
        assert_eq!(answer.exit, exit, "{}", answer.stderr);
        let notes = answer.at("/audit/compliance_notes").as_str().unwrap();
        assert!(notes.contains("The answer is not recorded"), "{notes}");
    }
    assert!(!root.path.join(".oneact").exists());
}

#[test]
fn a_suggestion_is_a_row_that_its_next_delivery_gets_again_r_003_13() {
    let root = Root::with_catalog(CATALOG);
    let suggestion = json!({
        "kind": "suggestion", "task_id": "t1", "title": "Archive this", "attempt": 1, "confidence": 0.5,
        "metadata": {"session_id": "s", "request_id": "r"},
    });
    let first = root.run(&suggestion);
    let again = root.run(&suggestion);
    assert_eq!((state(&first), state(&again)), ("advised", "replayed"));
    let card = |answer: &Answer| answer.at("/output/content/suggestion").clone();
    assert_eq!((card(&first), again.exit), (card(&again), 0));
    assert_eq!(again.at("/output/content_type"), "suggestion");
    let session = root.look(&["replay"]).json();
    let row = &session["steps"][0];
    assert_eq!(row["request"]["actionId"], "suggestion", "{session}");
    assert_eq!(row["request"]["args"]["title"], "Archive this");
    assert_eq!(session["steps"].as_array().unwrap().len(), 2);
    whole(&root);
}

#[test]
fn a_clarification_is_a_row_that_waits_r_003_18() {
    let root = Root::with_catalog(CATALOG);
    let asked = root.run(&json!({
        "kind": "clarification", "task_id": "t1", "blocked_on": "the day", "metadata": {"session_id": "s"},
    }));
    assert_eq!((asked.exit, state(&asked)), (3, "pending"));
    let session = root.look(&["replay"]).json();
    let row = &session["steps"][0];
    assert_eq!(row["request"]["args"]["blocked_on"], json!(["the day"]));
    assert_eq!(
        &row["step"]["operation_id"],
        asked.at("/output/content/oneact/operation_id"),
        "{session}"
    );
    assert_eq!(happened(&root), Vec::<String>::new());
    whole(&root);
}
