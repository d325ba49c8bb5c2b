//! What a person decides about an answer or an operation.

use super::{
    believed::asked_again,
    tampering::{InFile, other, record},
    *,
};
use crate::people::{CommandError, Happened, Review};

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
        assert!(!matches!(again, Ok(Reply::Run(_))), "{again:?}");
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
