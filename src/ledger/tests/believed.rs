//! A row that does not match its link is no answer (R-004-37, R-004-40).

use super::{
    tampering::{InFile, broken, other, record},
    *,
};
use crate::evidence::verify::Damage;

/// Asks for what [`InFile::filled`] did as `op_3`: once, whatever happened to its row.
pub(super) fn asked_again(file: &InFile) -> Result<Reply, LedgerError> {
    let mut ledger = file.open();
    begin(&mut ledger, &other(once("op_9"), 3), &Around::default())
}

/// The same delivery as `op_3`.
pub(super) fn delivered_again(file: &InFile) -> Result<Reply, LedgerError> {
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
                assert!(operation.starts_with("op_"), "{attack}");
                assert_eq!(link, 7, "{attack}");
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
        assert!(
            matches!(begun, Err(LedgerError::Damaged { .. })),
            "{state}: {begun:?}"
        );
        assert_eq!(
            broken(&file).what,
            Damage::Astray {
                table: "agent_actions"
            }
        );
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
    assert!(
        matches!(begun, Err(LedgerError::Damaged { .. })),
        "{begun:?}"
    );
}

#[test]
fn a_changed_answer_is_not_given_and_what_was_done_once_is_not_done_again() {
    for attack in [
        "UPDATE agent_actions SET response = '{\"success\":true,\"data\":1}' WHERE seq = 7",
        "UPDATE agent_actions SET response = '{}', response_sha256 = '44' WHERE seq = 7",
        "UPDATE agent_actions SET output_ids = '[]' WHERE seq = 7",
        "UPDATE agent_actions SET input_ids = NULL WHERE seq = 7",
        "UPDATE agent_actions SET operation_id = 'op_other' WHERE seq = 7",
        "UPDATE agent_actions SET confidence_score = 9e999 WHERE seq = 7",
        "UPDATE ledger_events SET event = 'failed' WHERE seq = 7",
        "DELETE FROM ledger_events WHERE seq = 7",
    ] {
        let file = InFile::filled();
        file.change(attack);
        is_refused(&file, attack);
        assert!(file.verdict().broken.is_some(), "{attack}");
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
            matches!(damage, Damage::Changed { .. }),
            "{outcome}: {damage}"
        );
    }
}

#[test]
fn a_success_is_reused_however_many_failures_came_before() {
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

/// Takes all entries out of an index of SQLite. Each connection reads the text of the index anew.
#[test]
fn entries_that_an_index_has_lost_are_found() {
    let file = InFile::filled();
    let put = |text: &str| {
        let database = file.database();
        database
            .execute_batch("PRAGMA writable_schema = ON")
            .unwrap();
        let put = "UPDATE sqlite_schema SET sql = ?1 WHERE name = 'claims_request'";
        database.execute(put, [text]).unwrap();
    };
    let text = "SELECT sql FROM sqlite_schema WHERE name = 'claims_request'";
    let made: String = file
        .database()
        .query_row(text, [], |row| row.get(0))
        .unwrap();
    put(&format!("{made} WHERE 1 = 2"));
    file.database()
        .execute_batch("REINDEX claims_request")
        .unwrap();
    put(&made);
    let damage = broken(&file).what;
    assert!(matches!(damage, Damage::Stored { .. }), "{damage}");
}
