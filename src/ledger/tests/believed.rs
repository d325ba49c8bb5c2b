//! What is answered, and what is not done again, rests on what links seal: not on a row, a claim or an index that
//! somebody has changed (R-004-37, R-004-40).

use super::{
    tampering::{InFile, broken, other, record},
    *,
};
use crate::ledger::verify::Damage;

/// Asks for what [`InFile::filled`] did as `op_3`: once, whatever happened to its row.
pub(super) fn asked_again(file: &InFile) -> Result<Begun, LedgerError> {
    let mut ledger = file.open();
    begin(&mut ledger, &other(once("op_9"), 3), &Around::default())
}

/// The same delivery as `op_3`.
pub(super) fn delivered_again(file: &InFile) -> Result<Begun, LedgerError> {
    let mut ledger = file.open();
    begin(&mut ledger, &other(once("op_3"), 3), &Around::default())
}

/// Adds a row like the first one, but for these columns.
pub(super) fn forged(file: &InFile, columns: &str) {
    file.change(&format!(
        "CREATE TEMP TABLE forged AS SELECT * FROM agent_actions LIMIT 1;
         UPDATE forged SET id = 'forged', {columns};
         INSERT INTO agent_actions SELECT * FROM forged"
    ));
}

fn is_refused(file: &InFile, attack: &str) {
    for begun in [asked_again(file), delivered_again(file)] {
        match begun {
            Err(LedgerError::Damaged { operation, link }) => {
                assert_eq!((operation.as_str(), link), ("op_3", 7), "{attack}");
            }
            Err(LedgerError::Store(error)) => assert!(error.lasts(), "{attack}: {error}"),
            begun => panic!("{attack}: {begun:?}"),
        }
    }
}

#[test]
fn a_row_without_a_link_is_no_answer_and_is_found() {
    for (outcome, state) in [
        ("success", "done"),
        ("error", "failed"),
        ("success", "reused"),
    ] {
        let file = InFile::new();
        record(&mut file.open(), &other(once("op_1"), 1), &ended());
        // A request that was never made.
        let mut ledger = file.open();
        let wanted = other(once("op_2"), 2);
        let hash = wanted.asked.hashes(&[0; 32]).request_hash;
        let row = format!("request_hash = '{hash}', task_id = 'op_2', operation_id = 'op_2'");
        let ended = format!("seq = NULL, state = '{state}', outcome = '{outcome}'");
        forged(&file, &format!("{row}, step_index = 7, {ended}"));
        let begun = begin(&mut ledger, &wanted, &Around::default());
        assert_eq!(said(begun), Ok(Why::New), "{state}");
        let row = "forged".to_owned();
        assert_eq!(broken(&file).what, Damage::RowUnlinked { row });
    }
}

#[test]
fn a_row_that_borrows_the_link_of_another_is_no_answer() {
    let file = InFile::filled();
    let wanted = other(once("op_9"), 9);
    let hash = wanted.asked.hashes(&[0; 32]).request_hash;
    file.change(&format!(
        "UPDATE agent_actions SET request_hash = '{hash}', task_id = 'op_9', operation_id = 'op_9' WHERE seq = 3"
    ));
    let begun = begin(&mut file.open(), &wanted, &Around::default());
    assert_eq!(said(begun), Ok(Why::New));
}

#[test]
fn what_was_done_once_is_not_done_again_whatever_became_of_its_row() {
    for attack in [
        "DELETE FROM agent_actions WHERE seq = 7",
        "UPDATE agent_actions SET response = '{\"success\":true,\"data\":1}' WHERE seq = 7",
        "UPDATE agent_actions SET response = '{}', response_sha256 = '44' WHERE seq = 7",
        "UPDATE agent_actions SET response = NULL WHERE seq = 7",
        "UPDATE agent_actions SET request = NULL WHERE seq = 7",
        "UPDATE agent_actions SET response = NULL, request = NULL WHERE seq = 7",
        "UPDATE agent_actions SET outcome = 'error' WHERE seq = 7",
        "UPDATE agent_actions SET outcome = NULL WHERE seq = 7",
        "UPDATE agent_actions SET state = 'failed', outcome = 'error' WHERE seq = 7",
        "UPDATE agent_actions SET state = 'cancelled' WHERE seq = 7",
        "UPDATE agent_actions SET state = 'nothing' WHERE seq = 7",
        "UPDATE agent_actions SET state = NULL, seq = NULL WHERE seq = 7",
        "UPDATE agent_actions SET seq = 6 WHERE seq = 7",
        "UPDATE agent_actions SET seq = -1 WHERE seq = 7",
        "UPDATE agent_actions SET session_id = 'other' WHERE seq = 7",
        "UPDATE agent_actions SET action_type = 'other' WHERE seq = 7",
        "UPDATE agent_actions SET task_id = 'other', request_hash = 'sha256:0' WHERE seq = 7",
        "UPDATE agent_actions SET output_ids = '[]' WHERE seq = 7",
        "UPDATE agent_actions SET input_ids = NULL WHERE seq = 7",
        "UPDATE agent_actions SET operation_id = 'op_other' WHERE seq = 7",
        "UPDATE agent_actions SET confidence_score = 9e999 WHERE seq = 7",
        "DELETE FROM sessions",
        "UPDATE sessions SET context = 'USER_INVOCATION'",
        "UPDATE sessions SET session_id = 'other'",
        "UPDATE ledger_events SET body = '{}' WHERE seq = 7; DELETE FROM sessions",
        "UPDATE ledger_events SET event = 'failed' WHERE seq = 7",
        "DROP INDEX ledger_events_request",
    ] {
        let file = InFile::filled();
        file.change(attack);
        is_refused(&file, attack);
        assert!(file.verdict().broken.is_some(), "{attack}");
    }
}

#[test]
fn what_was_done_once_is_not_done_again_when_its_links_are_hidden_or_removed() {
    for attack in [
        "UPDATE ledger_events SET session_id = 'other' WHERE seq BETWEEN 5 AND 7;
         UPDATE agent_actions SET session_id = 'other' WHERE seq = 7",
        "UPDATE ledger_events SET event = 'replayed' WHERE seq BETWEEN 5 AND 7;
         DELETE FROM agent_actions WHERE seq = 7",
        "UPDATE ledger_events SET body = json_set(body, '$.request_hash', 'sha256:00') WHERE seq BETWEEN 5 AND 7;
         UPDATE agent_actions SET request_hash = 'sha256:00', task_id = 'other' WHERE seq = 7",
        "DELETE FROM ledger_events WHERE seq BETWEEN 5 AND 7; DELETE FROM agent_actions WHERE seq = 7",
        // The newest links are others, and each of them is whole.
        "DELETE FROM ledger_events WHERE seq BETWEEN 5 AND 7; DELETE FROM agent_actions WHERE seq IN (7, 10);
         UPDATE ledger_events SET seq = seq - 3 WHERE seq > 7",
    ] {
        let file = InFile::filled();
        file.change(attack);
        let begun = asked_again(&file);
        let refused = matches!(&begun, Err(LedgerError::Store(error)) if error.lasts());
        assert!(
            refused || matches!(begun, Err(LedgerError::Older { .. })),
            "{attack}: {begun:?}"
        );
        std::fs::remove_file(file.path("ledger.head")).unwrap();
        match asked_again(&file) {
            Err(LedgerError::Store(error)) => assert!(error.lasts(), "{attack}: {error}"),
            begun => panic!("{attack}: {begun:?}"),
        }
        assert!(file.verdict().broken.is_some(), "{attack}");
    }
}

#[test]
fn the_newest_links_of_a_long_chain_are_examined() {
    let file = InFile::new();
    let mut ledger = file.open();
    for attempt in 1..=200 {
        let mut asked = ask("op_1");
        asked.who.attempt = Some(attempt);
        record(&mut ledger, &asked, &failed());
    }
    // A link for the first, and three for each: 601.
    let wanted = other(once("op_9"), 999);
    file.change("UPDATE ledger_events SET actor = 'another' WHERE seq = 88");
    let begun = begin(&mut ledger, &other(once("op_8"), 998), &Around::default());
    assert_eq!(said(begun), Ok(Why::New));
    file.change("UPDATE ledger_events SET actor = 'another' WHERE seq = 92");
    let begun = begin(&mut ledger, &wanted, &Around::default());
    match begun {
        Err(LedgerError::Store(error)) => {
            assert!(error.to_string().contains("link 92 "), "{error}");
        }
        begun => panic!("{begun:?}"),
    }
}

#[test]
fn a_relabelled_row_of_what_may_be_repeated_has_it_done_again() {
    let file = InFile::filled();
    file.change("UPDATE agent_actions SET output_ids = NULL WHERE seq IN (3, 4)");
    let begun = begin(&mut file.open(), &ask("op_9"), &Around::default());
    assert_eq!(said(begun), Ok(Why::Miss(Miss::LedgerDamaged)));
}

#[test]
fn whether_an_answer_was_taken_back_the_links_say() {
    // Nobody did.
    let file = InFile::filled();
    file.change("UPDATE agent_actions SET revoked_by = 3 WHERE seq = 7");
    assert_eq!(said(asked_again(&file)), Err(Again::Suppressed));
    assert_eq!(said(delivered_again(&file)), Err(Again::Replayed));
    // Somebody did.
    let file = InFile::filled();
    let revoke = |text| {
        let name = Name {
            text,
            session: None,
            alone: Alone::Refused,
        };
        file.open().revoke(name, Dependants::Listed, None).unwrap()
    };
    revoke("op_3");
    file.change("UPDATE agent_actions SET revoked_by = NULL WHERE seq = 7");
    assert_eq!(said(asked_again(&file)), Ok(Why::Miss(Miss::Revoked)));
    assert!(file.verdict().broken.is_some());
    // The link that revokes one answer is named by another, which can still be revoked.
    file.change("UPDATE agent_actions SET revoked_by = 11 WHERE seq = 3");
    assert_eq!(revoke("op_1").link.seq, 13);
}

#[test]
fn an_older_ledger_beside_a_newer_head_does_nothing_that_has_effects() {
    let file = InFile::new();
    record(&mut file.open(), &once("op_1"), &ended());
    let older = std::fs::read(file.path("ledger.db")).unwrap();
    let ahead = std::fs::read(file.path("ledger.db-wal")).unwrap_or_default();
    record(&mut file.open(), &other(once("op_3"), 3), &ended());
    let head = std::fs::read(file.path("ledger.head")).unwrap();
    let put_back = || {
        for name in ["ledger.db-wal", "ledger.db-shm"] {
            let _ = std::fs::remove_file(file.path(name));
        }
        std::fs::write(file.path("ledger.db"), &older).unwrap();
        std::fs::write(file.path("ledger.db-wal"), &ahead).unwrap();
    };
    let emptied = || {
        for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
            let _ = std::fs::remove_file(file.path(name));
        }
    };
    for undo in [&put_back as &dyn Fn(), &emptied] {
        undo();
        for wanted in [once("op_9"), ask("op_9")] {
            let begun = begin(&mut file.open(), &other(wanted, 3), &Around::default());
            match begun {
                Err(LedgerError::Older { link, .. }) => assert_eq!(link, 6),
                begun => panic!("{begun:?}"),
            }
        }
        let reads = Ask {
            effects: Effects::None,
            ..other(ask("op_8"), 8)
        };
        let begun = begin(&mut file.open(), &reads, &Around::default());
        assert_eq!(said(begun), Ok(Why::New));
        assert_eq!(std::fs::read(file.path("ledger.head")).unwrap(), head);
    }
}

#[test]
fn a_key_that_was_exchanged_has_nothing_done_under_it() {
    for attack in [
        "UPDATE ledger_keys SET key = zeroblob(32)",
        "DELETE FROM ledger_keys",
    ] {
        let file = InFile::new();
        let secret = |operation| {
            let mut ask = once(operation);
            let step = &mut ask.asked.steps[0];
            let mut shown = step.parameters.clone();
            shown.insert("a".to_owned(), json!("***"));
            step.shown = Some(shown);
            ask
        };
        record(&mut file.open(), &secret("op_1"), &ended());
        file.change(attack);
        let begun = begin(&mut file.open(), &secret("op_2"), &Around::default());
        assert!(matches!(begun, Err(LedgerError::Store(_))), "{begun:?}");
    }
}

#[test]
fn what_somebody_added_to_the_database_is_found_and_not_run() {
    for attack in [
        "CREATE TRIGGER t AFTER INSERT ON claims BEGIN DELETE FROM claims; END",
        "CREATE TRIGGER t AFTER INSERT ON agent_actions BEGIN UPDATE agent_actions SET outcome = 'error'; END",
        "CREATE VIEW v AS SELECT * FROM agent_actions",
        "CREATE TABLE t (a)",
        "CREATE INDEX i ON claims (state)",
        "ALTER TABLE claims ADD COLUMN a TEXT",
        "ALTER TABLE ledger_keys RENAME TO keys",
        "DROP INDEX agent_actions_task",
        "UPDATE schema_migrations SET name = 'x' WHERE version = 1",
    ] {
        let file = InFile::filled();
        file.change(attack);
        let damage = broken(&file).what;
        assert!(
            matches!(damage, Damage::Stored { .. }),
            "{attack}: {damage}"
        );
        if attack.starts_with("CREATE TRIGGER") {
            record(&mut file.open(), &other(once("op_8"), 9), &ended());
            assert_eq!(said(asked_again(&file)), Err(Again::Suppressed), "{attack}");
        }
    }
}

#[test]
fn an_outcome_that_is_none_is_found() {
    for outcome in ["NULL", "'x'", "'success'", "''"] {
        let file = InFile::filled();
        file.change(&format!(
            "UPDATE agent_actions SET outcome = {outcome} WHERE seq = 10"
        ));
        let damage = broken(&file).what;
        assert!(
            matches!(damage, Damage::RowChanged { .. }),
            "{outcome}: {damage}"
        );
    }
}

#[test]
fn a_repeated_answer_is_repeated_although_the_row_that_made_it_is_lost() {
    for suppresses in [true, false] {
        let call = |operation, task| {
            let mut call = if suppresses {
                once(operation)
            } else {
                ask(operation)
            };
            (call.who.task_id, call.who.attempt) = (Some(task), Some(1));
            call
        };
        let file = InFile::new();
        record(&mut file.open(), &call("op_1", "t"), &ended());
        let asked = begin(&mut file.open(), &call("op_2", "u"), &Around::default());
        assert!(said(asked).is_err());
        file.change(
            "PRAGMA foreign_keys = OFF; DELETE FROM agent_actions WHERE operation_id = 'op_1'",
        );
        let asked = begin(&mut file.open(), &call("op_3", "u"), &Around::default());
        assert_eq!(said(asked), Err(Again::Replayed));
    }
}

#[test]
fn however_often_an_answer_is_given_again_no_more_links_are_read() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    let hash = ask("op_1").asked.hashes(&[0; 32]).request_hash;
    for operation in ["op_2", "op_3", "op_4", "op_5", "op_6"] {
        let again = again(&place, &ask(operation), &Around::default());
        assert_eq!(again, Err(Again::Reused));
    }
    let links = read::<_, StoreError>(&mut *place.open().store, |tx| {
        tx.links_about("s", &hash, 0, usize::MAX)
    });
    let events: Vec<String> = links.unwrap().into_iter().map(|link| link.event).collect();
    assert_eq!(events, ["reserved", "dispatched", "succeeded"]);
}

#[test]
fn what_may_be_repeated_is_known_from_its_newest_links() {
    let place = Place::new();
    for attempt in 1..40 {
        let mut asked = ask("op_1");
        asked.who.attempt = Some(attempt);
        done(&place, &asked, &failed());
    }
    done(&place, &ask("op_2"), &ended());
    let again = again(&place, &ask("op_3"), &Around::default());
    assert_eq!(again, Err(Again::Reused));
}

#[test]
fn a_link_that_was_changed_opens_no_session_and_takes_nothing_back() {
    for attack in [
        // The session, in another context.
        "UPDATE ledger_events SET body = replace(body, 'AGENT_AUTONOMOUS', 'USER_INVOCATION') WHERE seq = 1;
         UPDATE sessions SET context = 'USER_INVOCATION'",
        // An answer that nobody took back.
        "UPDATE ledger_events SET event = 'revoked', session_id = 'elsewhere', body = json_object('about',
           (SELECT id FROM agent_actions WHERE seq = 7)) WHERE seq = 10;
         UPDATE agent_actions SET revoked_by = 10 WHERE seq = 7",
    ] {
        let file = InFile::filled();
        file.change(attack);
        // A call that may be repeated examines no links but its own.
        let mut wanted = other(ask("op_3"), 3);
        if attack.contains("USER_INVOCATION") {
            wanted.who.context = "USER_INVOCATION";
        }
        let begun = begin(&mut file.open(), &wanted, &Around::default());
        assert!(
            matches!(&begun, Err(LedgerError::Store(error)) if error.lasts()),
            "{attack}: {begun:?}"
        );
    }
}

#[test]
fn a_step_number_that_somebody_took_stops_no_record() {
    let file = InFile::filled();
    forged(
        &file,
        "step_index = 9223372036854775807, seq = NULL, state = NULL",
    );
    record(&mut file.open(), &other(once("op_9"), 9), &ended());
    let begun = begin(
        &mut file.open(),
        &other(once("op_10"), 9),
        &Around::default(),
    );
    assert_eq!(said(begun), Err(Again::Suppressed));
}
