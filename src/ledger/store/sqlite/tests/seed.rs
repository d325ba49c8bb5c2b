//! A table of specification 004's own schema becomes history (R-004-29, R-004-52).

use super::*;
use crate::ledger::record::{Row, RowOutcome};

/// As the specification writes it, but for what SQLite has not: schemas and functions as defaults.
const CURRENT: &str = "CREATE TABLE agent_actions (
  id uuid PRIMARY KEY, agent_name text, action_type text, target_type text, target_id uuid, outcome text,
  payload jsonb, confidence_score numeric, session_id uuid, timestamp timestamptz DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX agent_actions_request ON agent_actions (session_id);
INSERT INTO agent_actions VALUES
  ('5f0c2f9e-0000-4000-8000-000000000002', 'planner', 'SUMMARIZE', 'profile', '11', 'error', '{\"success\":false}', 0.25,
   's1', '2025-01-02 03:04:05'),
  ('5f0c2f9e-0000-4000-8000-000000000001', 'planner', 'SUMMARIZE', 'profile', NULL, 'success', '{\"success\":true}', '0.5',
   's1', '2025-01-01T03:04:05.5+01:00'),
  (x'5f0c2f9e000040008000000000000003', NULL, NULL, NULL, NULL, 'gave up', 'no JSON', 87, NULL, 1735787045),
  (NULL, NULL, NULL, NULL, NULL, NULL, 42, 'high', 's2', 'yesterday'),
  ('5', 'planner', 'SUMMARIZE', 'profile', NULL, 'success', jsonb('{\"success\":true}'), 1, 's2', 1735787045123);";

const VARIANT: &str = "CREATE TABLE agent_actions (
  id TEXT PRIMARY KEY, agent_name TEXT, action_type TEXT, target_type TEXT, target_id TEXT, outcome TEXT,
  input TEXT, input_hash TEXT, payload TEXT, confidence_score REAL, session_id TEXT, timestamp TEXT) WITHOUT ROWID;
INSERT INTO agent_actions VALUES ('a', 'planner', 'SUMMARIZE', 'profile', 'p', 'success', '{\"x\":1}', 'abc', '{}', 0.5,
  's1', '2025-01-01T00:00:00Z');";

const UPDATED: &str = "CREATE TABLE agent_actions (
  id uuid PRIMARY KEY, agent_name text, action_type text, target_type text, target_id uuid, outcome text,
  request jsonb, request_hash text, response jsonb, confidence_score numeric, session_id uuid, step_index integer,
  timestamp timestamptz);
INSERT INTO agent_actions VALUES
  ('b', 'planner', 'X', 'profile', 'p', 'success', '{}', 'h2', '{}', 0.5, 's1', 5, '2025-01-01T00:00:00Z'),
  ('a', 'planner', 'X', 'profile', 'p', 'success', '{}', 'h1', '{}', 0.5, 's1', 4, '2025-01-01T00:00:00Z');";

fn old(text: &str) -> (TempDir, Utf8PathBuf) {
    let (dir, path) = nowhere();
    fs::create_dir(path.parent().unwrap()).unwrap();
    by_hand(&path).execute_batch(text).unwrap();
    (dir, path)
}

fn rows(store: &mut SqliteStore, session_id: &str) -> Vec<Row> {
    seen(store, |tx| tx.rows(&Which::session(session_id), 10))
}

#[test]
fn old_rows_are_kept_as_history_in_the_order_of_their_time() {
    let (_dir, path) = old(CURRENT);
    let mut store = opened(&path);
    let found = rows(&mut store, "s1");
    assert_eq!(found.len(), 2);
    let first = &found[0];
    assert_eq!(first.id, "5f0c2f9e-0000-4000-8000-000000000001");
    assert_eq!(first.response.as_deref(), Some(r#"{"success":true}"#));
    assert_eq!(first.outcome, RowOutcome::Success);
    assert_eq!(first.confidence_score, Some(0.5));
    assert_eq!(first.timestamp, "2025-01-01T02:04:05.500Z");
    assert_eq!((first.step_index, first.seq, first.state), (0, None, None));
    assert_eq!(
        (first.request.as_deref(), first.request_hash.as_str()),
        (None, "")
    );
    let second = &found[1];
    assert_eq!(second.id, "5f0c2f9e-0000-4000-8000-000000000002");
    assert_eq!(second.target_id.as_deref(), Some("11"));
    assert_eq!(second.outcome, RowOutcome::Error);
    assert_eq!(
        (second.step_index, second.timestamp.as_str()),
        (1, "2025-01-02T03:04:05.000Z")
    );
}

#[test]
fn what_sqlite_made_of_old_values_is_kept_as_text() {
    let (_dir, path) = old(CURRENT);
    let mut store = opened(&path);
    let stray = &rows(&mut store, "")[0];
    assert_eq!(stray.id, "5f0c2f9e000040008000000000000003");
    assert_eq!(stray.response.as_deref(), Some("no JSON"));
    assert_eq!(stray.confidence_score, Some(87.0));
    assert_eq!(stray.timestamp, "2025-01-02T03:04:05.000Z");
    assert_eq!(stray.outcome, RowOutcome::Error);
    let found = rows(&mut store, "s2");
    assert_eq!(found[0].timestamp, "1735787045123");
    assert_eq!(found[0].response.as_deref(), Some(r#"{"success":true}"#));
    assert_eq!(found[1].timestamp, "yesterday");
    assert_eq!(found[1].response.as_deref(), Some("42"));
    assert_eq!(found[1].confidence_score, None);
    assert!(found[1].id.starts_with("nameless-"));
    // The word that was written then is there for people.
    let word: String = by_hand(&path)
        .query_row(
            "SELECT outcome FROM agent_actions WHERE session_id = ''",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(word, "gave up");
}

#[test]
fn old_names_become_new_ones_r_004_29() {
    let (_dir, path) = old(VARIANT);
    let found = &rows(&mut opened(&path), "s1")[0];
    assert_eq!(found.request.as_deref(), Some(r#"{"x":1}"#));
    assert_eq!(found.request_hash, "abc");
    assert_eq!(found.response.as_deref(), Some("{}"));
}

#[test]
fn the_recommended_schema_keeps_its_steps_in_order() {
    let (_dir, path) = old(UPDATED);
    let found = rows(&mut opened(&path), "s1");
    let found: Vec<_> = found
        .iter()
        .map(|row| (row.id.as_str(), row.request_hash.as_str(), row.step_index))
        .collect();
    assert_eq!(found, [("a", "h1", 0), ("b", "h2", 1)]);
}

#[test]
fn migrating_twice_changes_nothing_r_004_52() {
    let (_dir, path) = old(CURRENT);
    let everything = |store: &mut SqliteStore| seen(store, |tx| tx.rows(&Which::newest(), 100));
    let first = everything(&mut opened(&path));
    assert_eq!(everything(&mut opened(&path)), first);
    assert_eq!(first.len(), 5);
}

#[test]
fn old_rows_are_never_the_same_request_and_their_session_goes_on() {
    let (_dir, path) = old(VARIANT);
    let mut store = opened(&path);
    let which = Which::success("s1", "abc");
    assert_eq!(seen(&mut store, |tx| tx.rows(&which, 5)), []);
    written(&mut store, |tx| {
        open_session(tx, "s1")?;
        let seq = link(tx, Event::Succeeded)?.seq;
        let step = tx.next_step("s1")?;
        tx.put(&Row {
            session_id: "s1".to_owned(),
            ..full(seq, step)
        })
    });
    let steps: Vec<_> = rows(&mut store, "s1")
        .iter()
        .map(|row| row.step_index)
        .collect();
    assert_eq!(steps, [0, 1]);
}

#[test]
fn many_who_migrate_at_once_migrate_once() {
    let (_dir, path) = old(CURRENT);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| assert_eq!(rows(&mut opened(&path), "s1").len(), 2));
        }
    });
}

#[test]
fn whoever_looks_or_decides_migrates_nothing() {
    let (_dir, path) = old(CURRENT);
    let before = fs::read(&path).unwrap();
    for wish in [Wish::Read, Wish::Decide] {
        let error = SqliteStore::open(&path, wish).unwrap_err();
        assert!(
            error.to_string().contains("the next run takes it over"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_table_among_others_or_with_columns_of_its_own_is_left_alone() {
    for more in [
        "CREATE TABLE customers (id)",
        "CREATE VIEW mine AS SELECT id FROM agent_actions",
        "ALTER TABLE agent_actions ADD COLUMN mine",
        "ALTER TABLE agent_actions ADD COLUMN response",
    ] {
        let (_dir, path) = old(&format!("{CURRENT}{more}"));
        let error = SqliteStore::open(&path, Wish::Write).unwrap_err();
        assert_eq!(error.trouble, Trouble::Foreign, "{more}: {error}");
    }
}
