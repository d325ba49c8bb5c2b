//! What a person decides rests on what links seal as well: not on a row that somebody has added or changed.

use super::{
    believed::{asked_again, forged},
    tampering::{InFile, other, record},
    *,
};
use crate::ledger::{CommandError, Happened, Review};

#[test]
fn a_row_that_somebody_added_is_not_what_a_person_vouches_for() {
    let file = InFile::new();
    let dead = other(once("op_1"), 1);
    let mut ledger = file.open();
    record(&mut ledger, &other(once("op_0"), 5), &ended());
    let running = running(begin(&mut ledger, &dead, &Around::default()));
    ledger.dispatch(&dead, &running, None).unwrap();
    drop(ledger);
    let never = other(once("op_2"), 2);
    let hash = never.asked.hashes(&[0; 32]).request_hash;
    let row = format!("operation_id = 'op_1', task_id = 'op_2', request_hash = '{hash}'");
    forged(
        &file,
        &format!("{row}, step_index = 9, seq = NULL, state = NULL"),
    );
    let yes = |_: &_| "{}".to_owned();
    let happened = Happened::Yes(&yes);
    file.open().resolve("op_1", happened, None).unwrap();
    let again = begin(
        &mut file.open(),
        &other(once("op_9"), 1),
        &Around::default(),
    );
    assert_eq!(said(again), Err(Again::Suppressed));
    let begun = begin(&mut file.open(), &never, &Around::default());
    assert_eq!(said(begun), Ok(Why::New));
}

#[test]
fn an_answer_is_revoked_whatever_its_row_says() {
    let name = |text| Name {
        text,
        session: None,
        alone: Alone::Refused,
    };
    for review in [false, true] {
        let file = InFile::filled();
        file.change("UPDATE agent_actions SET revoked_by = 1 WHERE seq = 7");
        let mut ledger = file.open();
        if review {
            let reviewed = ledger.review(name("op_3"), Review::Reject, None).unwrap();
            assert_eq!(reviewed.revoked, None);
        } else {
            ledger
                .revoke(name("op_3"), Dependants::Listed, None)
                .unwrap();
        }
        drop(ledger);
        assert_eq!(said(asked_again(&file)), Ok(Why::Miss(Miss::Revoked)));
    }
}

#[test]
fn a_changed_row_is_not_decided_about() {
    let swap = "UPDATE agent_actions SET operation_id = CASE seq WHEN 3 THEN 'op_3' ELSE 'op_1' END WHERE seq IN (3, 7)";
    for text in ["op_3", "op_1"] {
        let file = InFile::filled();
        file.change(swap);
        let name = Name {
            text,
            session: None,
            alone: Alone::Refused,
        };
        let mut ledger = file.open();
        let revoked = ledger.revoke(name, Dependants::Listed, None);
        let reviewed = ledger.review(name, Review::Reject, None);
        for error in [revoked.unwrap_err(), reviewed.unwrap_err()] {
            assert!(matches!(error, CommandError::Unsealed { .. }), "{error}");
        }
        drop(ledger);
        let again = asked_again(&file);
        assert!(!matches!(again, Ok(Begun::Run(_))), "{again:?}");
    }
}

/// Two once-only calls whose owners died during the call.
fn two_that_died() -> InFile {
    let file = InFile::new();
    for (operation, number) in [("op_1", 1), ("op_2", 2)] {
        let ask = other(once(operation), number);
        let mut ledger = file.open();
        let running = running(begin(&mut ledger, &ask, &Around::default()));
        ledger.dispatch(&ask, &running, None).unwrap();
    }
    file
}

#[test]
fn a_changed_or_removed_claim_does_not_lead_a_person_to_another_operation() {
    for change in [
        "DELETE FROM claims WHERE operation_id = 'op_2';
         UPDATE claims SET seq = (SELECT seq FROM ledger_events WHERE operation_id = 'op_2' AND event = 'reserved')",
        "DELETE FROM claims",
    ] {
        let file = two_that_died();
        file.change(change);
        let resolved = file.open().resolve("op_1", Happened::No, None).unwrap();
        assert_eq!(resolved.case.operation_id, "op_1");
        let again = |operation, number| {
            let ask = other(once(operation), number);
            begin(&mut file.open(), &ask, &Around::default())
        };
        assert!(matches!(again("op_3", 1), Ok(Begun::Run(_))), "{change}");
        let second = again("op_4", 2);
        assert!(!matches!(second, Ok(Begun::Run(_))), "{change}: {second:?}");
    }
}

#[test]
fn a_claim_with_another_key_is_restored_from_the_links() {
    let file = two_that_died();
    file.change("UPDATE claims SET request_hash = 'x' WHERE operation_id = 'op_1'");
    let ask = other(once("op_3"), 1);
    for _ in 0..2 {
        let begun = begin(&mut file.open(), &ask, &Around::default());
        assert!(
            matches!(begun, Err(LedgerError::Unknown { .. })),
            "{begun:?}"
        );
    }
    file.open().resolve("op_1", Happened::No, None).unwrap();
    assert_eq!(file.verdict().broken, None);
}

#[test]
fn a_row_that_was_made_a_repetition_is_not_revoked_with_its_source() {
    let file = InFile::new();
    let mut ledger = file.open();
    record(&mut ledger, &other(once("op_1"), 1), &ended());
    record(&mut ledger, &other(once("op_2"), 2), &ended());
    drop(ledger);
    file.change(
        "UPDATE agent_actions SET reused_from =
             (SELECT id FROM agent_actions WHERE operation_id = 'op_1') WHERE operation_id = 'op_2'",
    );
    let name = Name {
        text: "op_1",
        session: None,
        alone: Alone::Refused,
    };
    let revoked = file.open().revoke(name, Dependants::Revoked, None);
    assert_eq!(revoked.unwrap().along.len(), 0);
    // The changed row is not believed, and the call is not performed again.
    let again = begin(
        &mut file.open(),
        &other(once("op_3"), 2),
        &Around::default(),
    );
    assert!(!matches!(again, Ok(Begun::Run(_))), "{again:?}");
}

#[test]
fn a_person_can_vouch_for_a_call_whatever_the_length_of_its_names() {
    let file = InFile::new();
    let mut ask = once("op_1");
    let name = "é".repeat(3000);
    ask.asked.steps[0].entry.clone_from(&name);
    let mut ledger = file.open();
    let running = running(begin(&mut ledger, &ask, &Around::default()));
    ledger.dispatch(&ask, &running, None).unwrap();
    drop(ledger);
    let yes = |_: &_| "{}".to_owned();
    let resolved = file.open().resolve("op_1", Happened::Yes(&yes), None);
    let action = resolved.unwrap().case.action.unwrap();
    assert!(
        name.starts_with(&action) && action.len() == 2048,
        "{action}"
    );
    let again = begin(&mut file.open(), &ask, &Around::default());
    assert_eq!(said(again), Err(Again::Suppressed));
    assert_eq!(file.verdict().broken, None);
}

#[test]
fn an_operation_that_was_settled_says_so_and_how() {
    let refused = |file: &InFile| {
        let resolved = file.open().resolve("op_1", Happened::No, None);
        resolved.unwrap_err().to_string()
    };
    let yes = |_: &_| "{}".to_owned();
    let unknown = Ended {
        state: RowState::Unknown,
        ..failed()
    };
    for (happened, how) in [
        (Happened::Yes(&yes), "happened"),
        (Happened::No, "did not happen"),
    ] {
        let file = InFile::new();
        record(&mut file.open(), &once("op_1.2"), &unknown);
        file.open().resolve("op_1.2", happened, None).unwrap();
        let said = format!("operation op_1.2 is settled by link 4: a person said that it {how}");
        assert_eq!(refused(&file), said);
        if how == "did not happen" {
            // Now a later run is the open one.
            record(&mut file.open(), &once("op_2.2"), &unknown);
            assert_eq!(refused(&file), said);
        }
    }
    // It died, also after a person had said that it did not happen.
    let file = two_that_died();
    file.open().resolve("op_1", Happened::No, None).unwrap();
    assert!(refused(&file).ends_with("a person said that it did not happen"));
    // It died before anything was sent.
    let file = InFile::new();
    running(begin(&mut file.open(), &once("op_1"), &Around::default()));
    record(&mut file.open(), &once("op_2"), &ended());
    assert_eq!(
        refused(&file),
        "operation op_1 is settled by link 2: operation op_2 took its request over"
    );
}
