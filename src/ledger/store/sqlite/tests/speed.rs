//! A million rows are as fast as a thousand: every question of the hot path uses an index.

use rusqlite::params_from_iter;

use super::*;
use crate::ledger::store::sql::Engine;

/// How SQLite finds the answer, in its own words.
fn plan(store: &SqliteStore, which: &Which) -> Vec<String> {
    let (text, values) = which.statement(Engine::Sqlite, "*", 10);
    let mut statement = store
        .conn
        .prepare(&format!("EXPLAIN QUERY PLAN {text}"))
        .unwrap();
    let lines = statement.query_map(params_from_iter(values), |row| row.get("detail"));
    lines.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_question_is_answered_by_an_index() {
    let (_dir, path) = nowhere();
    let store = opened(&path);
    let (session_id, task_id) = ("s", "t");
    let of_task = "agent_actions_task (session_id=? AND task_id=?)";
    let task = |request_id, attempt| Which::delivery(session_id, request_id, task_id, attempt);
    let key = Which::key(session_id, "k");
    let step = Which::step(session_id, 1);
    for (which, index) in [
        (
            key,
            "agent_actions_key (session_id=? AND idempotency_key=?)",
        ),
        (
            task(None, Some(1)),
            "agent_actions_delivery (session_id=? AND task_id=? AND request_id=?)",
        ),
        (
            task(Some("r"), None),
            "agent_actions_delivery (session_id=? AND task_id=? AND request_id=?)",
        ),
        (Which::task(session_id, task_id), of_task),
        (Which::runs(session_id, task_id), of_task),
        (
            Which::operation("op_"),
            "agent_actions_operation (operation_id>? AND operation_id<?)",
        ),
        (
            Which::id_begins("0"),
            "sqlite_autoindex_agent_actions_1 (id>? AND id<?)",
        ),
        (
            Which::session(session_id),
            "sqlite_autoindex_agent_actions_3 (session_id=?)",
        ),
        (
            step,
            "sqlite_autoindex_agent_actions_3 (session_id=? AND step_index=?)",
        ),
        (Which::link(1), "sqlite_autoindex_agent_actions_2 (seq=?)"),
        (Which::since(1), "sqlite_autoindex_agent_actions_2 (seq>?)"),
        (
            Which::success(session_id, "h"),
            "agent_actions_request (session_id=? AND request_hash=?)",
        ),
        (Which::failure(session_id, task_id, 9), of_task),
        (
            Which::reuses_of("i"),
            "agent_actions_reused_from (reused_from=?)",
        ),
    ] {
        let lines = plan(&store, &which);
        assert_eq!(
            lines[0],
            format!("SEARCH agent_actions USING INDEX {index}"),
            "{which:?}"
        );
    }
}

#[test]
fn the_links_of_a_session_are_found_without_a_walk_over_all() {
    let (_dir, path) = nowhere();
    let store = opened(&path);
    let text = "EXPLAIN QUERY PLAN SELECT * FROM ledger_events WHERE session_id = 's' ORDER BY seq";
    let plan: String = store
        .conn
        .query_row(text, [], |row| row.get("detail"))
        .unwrap();
    assert_eq!(
        plan,
        "SEARCH ledger_events USING INDEX ledger_events_session (session_id=?)"
    );
}

#[test]
fn every_question_about_claims_is_answered_by_an_index() {
    let (_dir, path) = nowhere();
    let store = opened(&path);
    for (condition, index) in [
        (
            "session_id = 's' AND claimed = 'c' AND ended IS NULL",
            "claims_open",
        ),
        (
            "session_id = 's' AND delivery = 'd' ORDER BY seq DESC",
            "claims_delivery",
        ),
        (
            "session_id = 's' AND request_hash = 'h' ORDER BY seq",
            "claims_request",
        ),
        (
            "operation_id >= 'o' AND operation_id < 'p'",
            "claims_operation",
        ),
        ("under = 'o' ORDER BY sent", "claims_under"),
        ("session_id = 's' AND changed > 7", "claims_changed"),
    ] {
        let text = format!("EXPLAIN QUERY PLAN SELECT * FROM claims WHERE {condition}");
        let plan: String = store
            .conn
            .query_row(&text, [], |row| row.get("detail"))
            .unwrap();
        let wanted = format!("SEARCH claims USING INDEX {index} ");
        assert!(plan.starts_with(&wanted), "{condition}: {plan}");
    }
}

#[test]
fn what_can_be_many_is_read_in_order_and_not_sorted() {
    let (_dir, path) = nowhere();
    let store = opened(&path);
    let request = Which::success("s", "h");
    let delivery = |attempt| Which::delivery("s", Some("r"), "t", attempt);
    for which in [
        request,
        delivery(None),
        delivery(Some(1)),
        Which::key("s", "k"),
        Which::task("s", "t"),
        Which::runs("s", "t"),
        Which::session("s"),
        Which::since(1),
        Which::reuses_of("i"),
        Which::newest(),
    ] {
        let lines = plan(&store, &which);
        assert_eq!(lines.len(), 1, "{which:?}: {lines:?}");
        assert!(lines[0].contains("USING INDEX"), "{lines:?}");
    }
}
