//! Who is doing it, and what becomes of it when that one dies or cannot record it.

use super::*;

#[test]
fn a_live_owner_is_waited_for_and_a_dead_one_is_not() {
    let place = Place::new();
    let world = Around::default();
    let mut owner = place.open();
    running(begin(&mut owner, &ask("op_1"), &world));
    let waited = begin(&mut place.open(), &ask("op_2"), &world);
    assert!(
        matches!(waited, Err(LedgerError::InFlight { .. })),
        "{waited:?}"
    );
    drop(owner);
    assert_eq!(again(&place, &ask("op_3"), &world), Ok(Why::TakenOver));
}

#[test]
fn a_once_only_request_whose_owner_died_in_the_middle_is_nobodys() {
    let place = Place::new();
    let world = Around::default();
    let mut owner = place.open();
    let first = once("op_1");
    let begun = running(begin(&mut owner, &first, &world));
    owner.dispatch(&first, &begun).unwrap();
    drop(owner);
    for operation in ["op_2", "op_3"] {
        let asked = begin(&mut place.open(), &once(operation), &world);
        let told = matches!(&asked, Err(LedgerError::Unknown { operation }) if operation == "op_1");
        assert!(told, "{asked:?}");
    }
    let claims = read::<_, StoreError>(&mut *place.open().store, |tx| tx.claims()).unwrap();
    assert_eq!(claims[0].state, ClaimState::Unknown);
}

#[test]
fn whoever_was_taken_over_is_late_and_loses_nothing() {
    let place = Place::new();
    let world = Around::default();
    let first = ask("op_1");
    let mut slow = place.open();
    let begun = running(begin(&mut slow, &first, &world));
    // Its connection is gone, and it does not know.
    slow.store = Box::new(place.memory.open());
    assert_eq!(again(&place, &ask("op_2"), &world), Ok(Why::TakenOver));
    assert!(slow.finish(&first, begun, &ended()).head.is_some());
    assert_eq!(place.rows()[0].state, Some(RowState::Late));
}

#[test]
fn a_call_that_may_have_happened_stays_unknown_after_its_failure() {
    let place = Place::new();
    let end = Ended {
        state: RowState::Unknown,
        ..failed()
    };
    done(&place, &once("op_1"), &end);
    let asked = begin(&mut place.open(), &once("op_2"), &Around::default());
    assert!(
        matches!(asked, Err(LedgerError::Unknown { .. })),
        "{asked:?}"
    );
}

#[test]
fn what_could_not_be_recorded_waits_in_the_outbox_and_is_taken_in_once() {
    let place = Place::new();
    let first = once("op_1");
    let mut owner = place.open();
    let begun = running(begin(&mut owner, &first, &Around::default()));
    place.memory.break_down();
    let recorded = owner.finish(&first, begun, &ended());
    assert!(
        recorded.head.is_none() && recorded.notes[0].contains("outbox"),
        "{recorded:?}"
    );
    place.memory.mend();
    drop(owner);
    assert_eq!(
        again(&place, &once("op_2"), &Around::default()),
        Err(Again::Suppressed)
    );
    assert_eq!(place.rows().len(), 2);
    let outbox = place.dir.path().join("outbox");
    assert_eq!(outbox.read_dir().unwrap().count(), 0);
}

#[test]
fn a_run_is_asked_whether_it_may_go_on_while_it_waits() {
    let place = Place::new();
    let mut owner = place.open();
    running(begin(&mut owner, &ask("op_1"), &Around::default()));
    let asked = RefCell::new(0);
    let stopped = place.open().begin(&ask("op_2"), &Around::default(), &|| {
        *asked.borrow_mut() += 1;
        if *asked.borrow() < 3 {
            return Ok(());
        }
        Err(crate::task::Failure::new(Fault::Cancelled, "cancelled"))
    });
    assert!(
        matches!(stopped, Err(LedgerError::Stopped(_))),
        "{stopped:?}"
    );
}
