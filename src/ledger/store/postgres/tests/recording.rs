//! Links, rows and sessions: what is kept, how it looks to specification 004's queries, what is refused.

use super::{super::super::sql::Engine, *};
use crate::ledger::record::Which;

/// A database with one session, one link and one row, whose fields `change` has changed.
fn recorded(change: impl Fn(&mut Row)) -> (PostgresStore, String, Row) {
    let (mut store, name) = fresh();
    let mut row = row("sess-20260224-1000", 1);
    change(&mut row);
    write(&mut store, |tx| {
        append(tx)?;
        tx.put(&session(&row.session_id))?;
        tx.put(&row)
    })
    .unwrap();
    (store, name, row)
}

#[test]
fn a_row_comes_back_byte_for_byte() {
    let (mut store, _, row) = recorded(|_| ());
    assert_eq!(ask(&mut store, &Which::link(1)), [row]);
}

#[test]
fn a_row_whose_texts_hold_nul_comes_back_byte_for_byte_and_its_json_can_be_asked() {
    let (mut store, name, row) = recorded(|row| {
        row.task_id = Some("a\0b".to_owned());
        row.session_id = "s\0".to_owned();
        row.response = Some(r#"{"success":true,"n":"\u0000\u0000|\\u0000|\\\u0000"}"#.to_owned());
    });
    let task = Which::task("s\0", "a\0b");
    assert_eq!(ask(&mut store, &task), [row]);
    let seen = Cluster::shared().sql(&name, "SELECT response->>'n' FROM agent_actions");
    assert_eq!(seen, "\u{fffd}\u{fffd}|\\u0000|\\\u{fffd}");
}

#[test]
fn json_that_jsonb_cannot_hold_is_kept_as_text_alone() {
    let (mut store, name, row) = recorded(|row| {
        row.request = Some(r#"{"lone":"\ud800"}"#.to_owned());
        row.response = Some(r#"{"n":1e999999}"#.to_owned());
    });
    assert_eq!(ask(&mut store, &Which::newest()), [row]);
    let seen = "SELECT request IS NULL, response IS NULL FROM agent_actions";
    assert_eq!(Cluster::shared().sql(&name, seen), "t|t");
}

#[test]
fn specification_004_finds_the_row_by_its_own_columns() {
    let (_, name, _) = recorded(|row| {
        row.session_id = "0198a7c2-0000-7000-8000-00000000000a".to_owned();
        row.target_id = None;
    });
    let seen = Cluster::shared().sql(
        &name,
        "SELECT response->'success', request->'a'->1, outcome, step_index, confidence_score, timestamp = '2026-02-24T10:00:00.12Z', \
           session_key IS NULL, target_id IS NULL \
         FROM public.agent_actions WHERE session_id = '0198a7c2-0000-7000-8000-00000000000a' \
           AND action_type = 'CAP-PRE-002' AND request_hash LIKE 'sha256:0000%' ORDER BY step_index",
    );
    assert_eq!(seen, "true|2|success|0|0.30000000000000004|t|t|t");
}

#[test]
fn a_row_is_found_by_the_beginnings_of_its_ids_and_by_nothing_like_a_pattern() {
    let (mut store, _, row) = recorded(|row| row.operation_id = "op_a%b".to_owned());
    for found in [
        Which::operation("op_a%"),
        Which::operation("op_a%b"),
        Which::id_begins("0198A7C2-00"),
        Which::id(&row.id),
        Which::session("sess-20260224-1000"),
        Which::since(0),
    ] {
        assert_eq!(
            ask(&mut store, &found),
            std::slice::from_ref(&row),
            "{found:?}"
        );
    }
    for absent in [
        Which::operation("op_%"),
        Which::operation("opxa"),
        Which::id_begins("0198a7c3"),
        Which::id_begins("%"),
        Which::id_begins("not a uuid"),
        Which::reuses_of("0198a7c2"),
        Which::session("sess"),
        Which::since(2),
    ] {
        assert_eq!(ask(&mut store, &absent), [], "{absent:?}");
    }
}

#[test]
fn a_link_that_is_not_the_next_one_is_refused_by_the_database_itself() {
    let (mut store, _, _) = recorded(|_| ());
    let wrong = [
        link(9, 2, NOTHING),
        link(9, 0, NOTHING),
        link(9, 1, NOTHING),
        link(1, 1, NOTHING),
    ];
    for link in wrong {
        let refused = write(&mut store, |tx| tx.append(&link)).unwrap_err();
        let said = refused.to_string();
        assert_eq!(refused.trouble, Trouble::Refused, "{said}");
        assert!(said.contains("link "), "{said}");
    }
    write(&mut store, |tx| append(tx).map(drop)).unwrap();
}

#[test]
fn what_is_recorded_can_be_neither_changed_nor_deleted_by_its_owner() {
    let (_, name, _) = recorded(|_| ());
    for change in [
        "UPDATE ledger_events SET actor = 'me'",
        "DELETE FROM ledger_events",
        "TRUNCATE ledger_events CASCADE",
        "UPDATE agent_actions SET outcome = 'error'",
        "UPDATE agent_actions SET response = '{}'",
        "UPDATE agent_actions SET response_text = '{}'",
        "UPDATE agent_actions SET seq = NULL",
        "DELETE FROM agent_actions",
        "TRUNCATE agent_actions",
    ] {
        let refused = Cluster::shared().try_sql(&name, change).unwrap_err();
        assert!(refused.contains("is refused"), "{change}: {refused}");
    }
}

#[test]
fn a_row_is_pruned_and_revoked_once_and_for_all() {
    let (mut store, name, row) = recorded(|_| ());
    write(&mut store, |tx| {
        let by = taken_back(tx, &row.id)?;
        tx.revoke(&row.id, by)?;
        let by = pruned(tx, &row.id)?;
        tx.prune(&row.id, by)
    })
    .unwrap();
    let left = Row {
        request: None,
        response: None,
        revoked_by: Some(2),
        pruned: Some(3),
        ..row
    };
    assert_eq!(ask(&mut store, &Which::newest()), [left]);
    for change in [
        "UPDATE agent_actions SET revoked_by = NULL",
        "UPDATE agent_actions SET request = '{}', request_text = '{}'",
    ] {
        assert!(Cluster::shared().try_sql(&name, change).is_err());
    }
    let absent = "0198a7c2-0000-7000-8000-0000000000ff";
    let refused = write(&mut store, |tx| tx.prune(absent, 2)).unwrap_err();
    assert!(refused.to_string().contains(absent));
}

#[test]
fn rows_of_other_programs_are_theirs() {
    let (_, name, _) = recorded(|_| ());
    let cluster = Cluster::shared();
    cluster.sql(
        &name,
        "INSERT INTO agent_actions (agent_name) VALUES ('other')",
    );
    cluster.sql(
        &name,
        "UPDATE agent_actions SET outcome = 'error' WHERE seq IS NULL",
    );
    cluster.sql(&name, "DELETE FROM agent_actions WHERE seq IS NULL");
    assert_eq!(
        cluster.sql(&name, "SELECT count(*) FROM agent_actions"),
        "1"
    );
}

#[test]
fn a_transaction_one_of_whose_steps_was_refused_is_kept_by_nobody() {
    let (mut store, _, row) = recorded(|_| ());
    let done = write(&mut store, |tx| {
        append(tx)?;
        // It is sent with the next statement that finds something.
        tx.put(&row)?;
        let refused = tx.session("sess-1");
        assert!(matches!(&refused, Err(error) if error.trouble == Trouble::Refused));
        Ok(())
    });
    assert!(
        matches!(&done, Err(error) if error.trouble == Trouble::Refused),
        "{done:?}"
    );
    let head = seen(&mut store, Tx::newest_link);
    assert_eq!(head.unwrap().seq, 1);
}

#[test]
fn nothing_can_be_written_while_reading() {
    let (mut store, _, _) = recorded(|_| ());
    let refused = super::super::super::read(&mut store, |tx| {
        append(tx)?;
        tx.session("sess-1").map(drop)
    });
    let refused: StoreError = refused.unwrap_err();
    assert_eq!(refused.trouble, Trouble::ReadOnly, "{refused}");
}

#[test]
fn sixteen_writers_make_one_chain_and_steps_without_gaps() {
    let (mut store, name, first) = recorded(|_| ());
    let one = || {
        let mut store = open(&name);
        (0..5)
            .map(|_| {
                let mut step = 0;
                write(&mut store, |tx| {
                    let seq = append(tx)?;
                    step = tx.next_step(&first.session_id)?;
                    tx.put(&Row {
                        step_index: step,
                        ..row(&first.session_id, seq)
                    })
                })
                .unwrap();
                step
            })
            .collect::<Vec<_>>()
    };
    let mut steps: Vec<u64> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|_| scope.spawn(one)).collect();
        all.into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect()
    });
    steps.sort_unstable();
    assert!(steps.into_iter().eq(1..=80));
    let links = seen(&mut store, |tx| tx.page::<Link>(0, 1000));
    assert_eq!(links.len(), 81);
    let mut before = NOTHING.to_owned();
    for (number, link) in links.iter().enumerate() {
        assert_eq!((link.number, &link.prev_hash), (number as u64, &before));
        before = link.hash();
    }
}

#[test]
fn every_question_is_answered_by_an_index() {
    let (store, _) = fresh();
    store.open.line.batch("SET enable_seqscan = off").unwrap();
    let (session_id, task_id, id) = ("s", "t", "0198a7c2-0000-7000-8000-000000000000");
    for which in [
        Which::key(session_id, "k"),
        Which::delivery(session_id, Some("r"), task_id, None),
        Which::task(session_id, task_id),
        Which::runs(session_id, task_id),
        Which::operation("op_"),
        Which::id(id),
        Which::session(session_id),
        Which::step(session_id, 1),
        Which::link(1),
        Which::since(1),
        Which::success(session_id, "h"),
        Which::failure(session_id, task_id, 9),
        Which::reuses_of(id),
        Which::newest(),
    ] {
        let (text, values) = which.statement(Engine::Postgres, "*", 10);
        let explain = format!("EXPLAIN {}", text.replace('?', "$"));
        let plan = store.open.line.rows(&explain, &values).unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        let scanned = plan.contains("Index Scan") || plan.contains("Bitmap Index Scan");
        assert!(scanned && !plan.contains("Seq Scan"), "{which:?}:\n{plan}");
    }
}

#[test]
fn the_newest_reuse_is_found_without_reading_all() {
    let (store, _) = fresh();
    let only = "SET enable_seqscan = off; SET enable_bitmapscan = off";
    store.open.line.batch(only).unwrap();
    let which = Which::reuses_of("0198a7c2-0000-7000-8000-000000000000");
    let (text, values) = which.statement(Engine::Postgres, "*", 1);
    let explain = format!("EXPLAIN {}", text.replace('?', "$"));
    let plan = store.open.line.rows(&explain, &values).unwrap();
    let plan: Vec<String> = plan.iter().map(|row| row.get(0)).collect();
    let plan = plan.join("\n");
    assert!(plan.contains("using agent_actions_reused"), "{plan}");
    assert!(!plan.contains("Sort"), "{plan}");
}

#[test]
fn writers_see_what_was_written_while_they_waited_whatever_the_habit_of_the_database() {
    use crate::ledger::store::tests::contract::{
        Ledger, stores_that_write_at_once_leave_a_chain_without_gaps,
    };
    struct Steady(String);
    impl Ledger for Steady {
        fn open(&self) -> Box<dyn Store + Send> {
            let uri = Cluster::shared().uri(&self.0);
            Box::new(PostgresStore::open(&uri, Wish::Write).unwrap())
        }
    }
    for habit in ["repeatable read", "serializable"] {
        let name = Cluster::shared().database();
        let set = format!("ALTER DATABASE {name} SET default_transaction_isolation = '{habit}'");
        Cluster::shared().sql(&name, &set);
        stores_that_write_at_once_leave_a_chain_without_gaps(&Steady(name));
    }
}
