//! A million rows are as fast as a thousand: every question of the hot path uses an index.

use rusqlite::params_from_iter;

use super::*;
use crate::ledger::store::{Delivery, Earlier, sql::Engine};

/// How SQLite finds the answer, in its own words.
fn plan(store: &SqliteStore, which: &Which<'_>) -> Vec<String> {
    let query = which.query(Engine::Sqlite).unwrap();
    let (text, values) = query.statement("agent_actions", "*", 10);
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
    let (session_id, task_id, action_type) = ("s", "t", "a");
    let of_task = "agent_actions_task (session_id=? AND task_id=?)";
    let task = |request_id, attempt| {
        Which::Delivery(Delivery::Task {
            session_id,
            request_id,
            task_id,
            attempt,
        })
    };
    let earlier = |what| Which::Earlier {
        than: 9,
        session_id,
        what,
    };
    let key = Which::Delivery(Delivery::Key {
        session_id,
        idempotency_key: "k",
    });
    let step = Which::Step {
        session_id,
        step_index: 1,
    };
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
        (
            Which::Task {
                session_id,
                task_id,
            },
            of_task,
        ),
        (
            Which::Runs {
                session_id,
                task_id,
            },
            of_task,
        ),
        (
            Which::operation("op_"),
            "agent_actions_operation (operation_id>? AND operation_id<?)",
        ),
        (
            Which::id("0"),
            "sqlite_autoindex_agent_actions_1 (id>? AND id<?)",
        ),
        (
            Which::Session(session_id),
            "sqlite_autoindex_agent_actions_3 (session_id=?)",
        ),
        (
            step,
            "sqlite_autoindex_agent_actions_3 (session_id=? AND step_index=?)",
        ),
        (Which::Seq(1), "sqlite_autoindex_agent_actions_2 (seq=?)"),
        (Which::From(1), "sqlite_autoindex_agent_actions_2 (seq>?)"),
        (
            earlier(Earlier::Success {
                action_type,
                request_hash: "h",
            }),
            "agent_actions_request (session_id=? AND request_hash=? AND action_type=? AND seq<?)",
        ),
        (earlier(Earlier::Failure { task_id }), of_task),
        (
            Which::ReusesOf("i"),
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
fn what_can_be_many_is_read_in_order_and_not_sorted() {
    let (_dir, path) = nowhere();
    let store = opened(&path);
    let request = Which::Earlier {
        than: 999,
        session_id: "s",
        what: Earlier::Success {
            action_type: "a",
            request_hash: "h",
        },
    };
    let delivery = |attempt| {
        Which::Delivery(Delivery::Task {
            session_id: "s",
            request_id: Some("r"),
            task_id: "t",
            attempt,
        })
    };
    for which in [
        request,
        delivery(None),
        delivery(Some(1)),
        Which::Delivery(Delivery::Key {
            session_id: "s",
            idempotency_key: "k",
        }),
        Which::Task {
            session_id: "s",
            task_id: "t",
        },
        Which::Runs {
            session_id: "s",
            task_id: "t",
        },
        Which::Session("s"),
        Which::From(1),
        Which::Newest,
    ] {
        let lines = plan(&store, &which);
        assert_eq!(lines.len(), 1, "{which:?}: {lines:?}");
        assert!(lines[0].contains("USING INDEX"), "{lines:?}");
    }
}
