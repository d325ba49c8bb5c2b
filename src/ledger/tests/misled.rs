//! An index of SQLite that somebody has changed, while the tables are as they were: what it leads to is examined, and
//! where it leads to nothing, the call is refused (R-004-37, R-004-40).

use rusqlite::Connection;

use super::{
    believed::{asked_again, delivered_again, forged},
    tampering::{InFile, broken, other, record},
    *,
};
use crate::ledger::{Part, verify::Damage};

/// Fills an index as if its text were another, and puts the text back. Each connection reads the text anew.
fn refilled(open: &dyn Fn() -> Connection, index: &str, other: impl Fn(&str) -> String) {
    let text = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    let made: String = open().query_row(text, [index], |row| row.get(0)).unwrap();
    let put = |text: &str| {
        let database = open();
        database
            .execute_batch("PRAGMA writable_schema = ON")
            .unwrap();
        let put = "UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1";
        database.execute(put, (index, text)).unwrap();
    };
    put(&other(&made));
    open().execute_batch(&format!("REINDEX {index}")).unwrap();
    put(&made);
}

/// Takes all entries out of an index.
pub(super) fn emptied(open: &dyn Fn() -> Connection, index: &str) {
    refilled(open, index, |made| {
        let all = made.split(" WHERE").next().unwrap().trim_end();
        format!("{all} WHERE 1 = 2")
    });
}

fn is_refused(begun: Result<Begun, LedgerError>, attack: &str) {
    match begun {
        Err(LedgerError::Store(error)) => assert!(error.lasts(), "{attack}: {error}"),
        begun => panic!("{attack}: {begun:?}"),
    }
}

fn is_found(file: &InFile, attack: &str) {
    let damage = broken(file).what;
    assert!(
        matches!(damage, Damage::Stored { .. }),
        "{attack}: {damage}"
    );
}

#[test]
fn entries_that_an_index_has_lost_have_nothing_done_again_and_are_found() {
    for index in [
        "agent_actions_request",
        "agent_actions_delivery",
        "agent_actions_task",
        "ledger_events_request",
        "ledger_events_session",
    ] {
        let file = InFile::filled();
        emptied(&|| file.database(), index);
        for begun in [asked_again(&file), delivered_again(&file)] {
            assert!(!matches!(begun, Ok(Begun::Run(_))), "{index}: {begun:?}");
        }
        is_found(&file, index);
    }
}

#[test]
fn a_second_content_of_a_delivery_is_refused_although_an_index_has_lost_the_first() {
    for (index, is_several) in [
        ("ledger_events_delivery", false),
        ("ledger_events_delivery", true),
        ("ledger_events_session", false),
    ] {
        second_content(index, is_several);
    }
}

/// A task of several steps, or a workflow, may be performed again itself.
fn second_content(index: &str, is_several: bool) {
    let file = InFile::filled();
    let delivered = |mut ask: Ask<'static>| {
        ask.who.task_id = Some("t");
        if is_several {
            ask.effects = Effects::Idempotent;
        }
        ask
    };
    let mut owner = file.open();
    let first = delivered(other(once("op_8"), 8));
    let begun = running(begin(&mut owner, &first, &Around::default()));
    owner.dispatch(&first, &begun, None).unwrap();
    drop((begun, owner));
    emptied(&|| file.database(), index);
    let second = delivered(other(once("op_9"), 9));
    is_refused(begin(&mut file.open(), &second, &Around::default()), index);
    is_found(&file, index);
}

/// A task may be performed again itself, but its once-only step may not.
#[test]
fn a_once_only_step_is_not_performed_again_although_an_index_has_lost_its_task() {
    let file = InFile::filled();
    let task = |operation| Ask {
        effects: Effects::Idempotent,
        on_duplicate: OnDuplicate::Repeat,
        parts: 1,
        ..other(once(operation), 8)
    };
    let step = |of: &Running, parent, operation| {
        let mut step = once(operation);
        step.who.part = Some(Part {
            parent,
            position: 1,
            equals: 0,
            capability: "x",
            nth: 0,
            run: Box::leak(Box::new(of.task.clone().unwrap())),
        });
        step
    };
    let mut owner = file.open();
    let whole = running(begin(&mut owner, &task("op_8"), &Around::default()));
    let once_only = other(step(&whole, "op_8", "op_8.1"), 8);
    let mut of_step = file.open();
    let begun = running(begin(&mut of_step, &once_only, &Around::default()));
    of_step.dispatch(&once_only, &begun, None).unwrap();
    drop((begun, of_step, owner));
    emptied(&|| file.database(), "ledger_events_request");
    let again = begin(&mut file.open(), &task("op_9"), &Around::default());
    is_refused(again, "the task");
    let changed = other(step(&whole, "op_9", "op_9.1"), 9);
    is_refused(
        begin(&mut file.open(), &changed, &Around::default()),
        "its step",
    );
}

/// The newest links, which are examined without an index, are all about others.
#[test]
fn a_claim_that_no_index_leads_to_stops_a_call_however_old_it_is() {
    let file = InFile::filled();
    let mut owner = file.open();
    let first = other(once("op_8"), 8);
    let begun = running(begin(&mut owner, &first, &Around::default()));
    owner.dispatch(&first, &begun, None).unwrap();
    drop((begun, owner));
    let mut ledger = file.open();
    for number in 0..180 {
        let mut another = other(ask("op_7"), 100 + number);
        another.who.task_id = None;
        record(&mut ledger, &another, &ended());
    }
    drop(ledger);
    emptied(&|| file.database(), "ledger_events_request");
    let again = other(once("op_9"), 8);
    is_refused(begin(&mut file.open(), &again, &Around::default()), "old");
}

#[test]
fn the_link_of_another_request_answers_nothing() {
    for (ask, seq) in [(once("op_9"), 7), (ask("op_9"), 3)] {
        let file = InFile::filled();
        let wanted = other(ask, 9);
        let hash = wanted.asked.hashes(&[0; 32]).request_hash;
        refilled(&|| file.database(), "ledger_events_request", |made| {
            let request = "body ->> '$.request_hash'";
            assert!(made.contains(request), "{made}");
            let another = format!("CASE seq WHEN {seq} THEN '{hash}' ELSE {request} END");
            made.replace(request, &another)
        });
        let begun = begin(&mut file.open(), &wanted, &Around::default());
        is_refused(begun, "request");
        is_found(&file, "request");
    }
}

#[test]
fn the_link_of_another_session_answers_nothing() {
    let file = InFile::filled();
    let mut elsewhere = other(once("op_9"), 3);
    elsewhere.who.session_id = "elsewhere";
    let mut first = other(once("op_8"), 8);
    first.who.session_id = "elsewhere";
    record(&mut file.open(), &first, &ended());
    refilled(&|| file.database(), "ledger_events_request", |made| {
        let session = "CASE seq WHEN 7 THEN 'elsewhere' ELSE session_id END";
        made.replacen("session_id", session, 1)
    });
    let begun = begin(&mut file.open(), &elsewhere, &Around::default());
    is_refused(begun, "session");
}

#[test]
fn a_session_that_lost_its_row_and_its_index_is_not_opened_again_for_a_once_only_call() {
    let file = InFile::filled();
    emptied(&|| file.database(), "ledger_events_session");
    file.change("DELETE FROM sessions");
    let mut wanted = other(once("op_9"), 9);
    wanted.who.context = "USER_INVOCATION";
    let begun = begin(&mut file.open(), &wanted, &Around::default());
    is_refused(begun, "session");
    assert!(matches!(broken(&file).what, Damage::SessionGone { .. }));
}

#[test]
fn the_row_of_another_delivery_answers_nothing() {
    let file = InFile::filled();
    let hash_of_op_3 = other(once("op_9"), 3);
    refilled(&|| file.database(), "agent_actions_delivery", |made| {
        let task = "CASE task_id WHEN 'op_3' THEN 'op_9' ELSE task_id END";
        made.replacen("task_id", task, 1)
    });
    let begun = begin(&mut file.open(), &hash_of_op_3, &Around::default());
    is_refused(begun, "delivery");
}

#[test]
fn a_key_for_secrets_that_no_index_leads_to_is_missed() {
    let file = InFile::new();
    let secret = |operation| {
        let mut ask = once(operation);
        let step = &mut ask.asked.steps[0];
        let mut shown = step.parameters.clone();
        step.parameters.insert("token".to_owned(), json!("hunter2"));
        shown.insert("token".to_owned(), json!("***"));
        step.shown = Some(shown);
        ask
    };
    record(&mut file.open(), &secret("op_1"), &ended());
    emptied(&|| file.database(), "ledger_events_keyed");
    file.change("DELETE FROM ledger_keys");
    let begun = begin(&mut file.open(), &secret("op_2"), &Around::default());
    is_refused(begun, "key");
}

#[test]
fn links_that_an_added_index_still_has_are_missed_in_the_table() {
    let file = InFile::filled();
    file.change(
        "CREATE INDEX z ON ledger_events (seq, entry_hash);
         CREATE TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'z';
         PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'z'",
    );
    file.change(
        "DELETE FROM agent_actions WHERE seq >= 5; DELETE FROM ledger_events WHERE seq >= 5",
    );
    file.change(
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept; DELETE FROM claims",
    );
    let all = "SELECT max(seq) FROM ledger_events";
    let last: i64 = file
        .database()
        .query_row(all, [], |row| row.get(0))
        .unwrap();
    assert_eq!(last, 10, "the index leads to links that are gone");
    assert!(
        matches!(asked_again(&file), Err(LedgerError::Older { link: 10, .. })),
        "{:?}",
        asked_again(&file)
    );
}

#[test]
fn a_row_that_leaves_no_number_for_the_answer_has_the_call_refused() {
    let file = InFile::filled();
    forged(&file, "seq = 1, step_index = 9223372036854775807");
    let begun = begin(
        &mut file.open(),
        &other(once("op_9"), 9),
        &Around::default(),
    );
    is_refused(begun, "step");
}
