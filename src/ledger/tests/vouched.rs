//! What a person decides rests on what links seal as well: not on a row that somebody has added or changed.

use super::{
    believed::{asked_again, forged},
    tampering::{InFile, other, record},
    *,
};
use crate::ledger::{Happened, Review};

#[test]
fn a_row_that_somebody_added_is_not_what_a_person_vouches_for() {
    let file = InFile::new();
    let dead = other(once("op_1"), 1);
    let mut ledger = file.open();
    record(&mut ledger, &other(once("op_0"), 5), &ended());
    let running = running(begin(&mut ledger, &dead, &Around::default()));
    ledger.dispatch(&dead, &running).unwrap();
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
            assert!(reviewed.revoked.is_some());
        } else {
            ledger
                .revoke(name("op_3"), Dependants::Listed, None)
                .unwrap();
        }
        drop(ledger);
        assert_eq!(said(asked_again(&file)), Ok(Why::Miss(Miss::Revoked)));
    }
}
