//! Which run performs a request, what happens if that run dies or cannot record it, and what a changed claim does.

use super::{
    tampering::{InFile, broken, other, record},
    *,
};
use crate::{
    evidence::verify::Damage,
    ledger::{Body, chain, chain::Stamp},
    ledger::{Durability, Event, Wish, write},
    people::Happened,
};

#[test]
fn a_ledger_is_usable_only_if_it_takes_a_link_and_the_trial_leaves_none() {
    let place = Place::new();
    record(&mut place.open(), &ask("op_1"), &ended());
    let dir = place.file.dir();
    let usable = || super::super::Place::default_in(dir).usable(dir, "op_2", &place.host);
    let head = || read::<_, StoreError>(&mut *place.open().store, Tx::newest_link).unwrap();
    let before = head();
    assert!(usable().unwrap().is_some());
    assert_eq!(head(), before);
    place.file.break_down();
    let refused = usable().unwrap_err().to_string();
    assert!(refused.contains("refused a record"), "{refused}");
}

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
    owner.dispatch(&first, &begun, None).unwrap();
    drop(owner);
    for operation in ["op_2", "op_3"] {
        let asked = begin(&mut place.open(), &once(operation), &world);
        let told = matches!(&asked, Err(LedgerError::Unknown { operation }) if operation == "op_1");
        assert!(told, "{asked:?}");
    }
    let claims =
        read::<_, StoreError>(&mut *place.open().store, |tx| tx.open_claims(None)).unwrap();
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
    slow.store = Box::new(place.file.store());
    assert_eq!(again(&place, &ask("op_2"), &world), Ok(Why::TakenOver));
    assert!(slow.finish(&first, begun, ended()).head.is_some());
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
    place.file.break_down();
    let recorded = owner.finish(&first, begun, ended());
    assert!(
        recorded.head.is_none() && recorded.notes[0].contains("outbox"),
        "{recorded:?}"
    );
    place.file.mend();
    drop(owner);
    assert_eq!(
        again(&place, &once("op_2"), &Around::default()),
        Err(Again::Suppressed)
    );
    assert_eq!(place.rows().len(), 2);
    let outbox = place.file.dir().join("outbox");
    assert_eq!(outbox.read_dir().unwrap().count(), 0);
}

#[test]
fn a_run_is_asked_whether_it_may_go_on_while_it_waits() {
    let place = Place::new();
    let mut owner = place.open();
    running(begin(&mut owner, &ask("op_1"), &Around::default()));
    let asked = RefCell::new(0);
    let patient = Ask {
        patience: Duration::from_mins(1),
        ..ask("op_2")
    };
    let stopped = place.open().begin(&patient, &Around::default(), &|| {
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

/// An answer that is in the outbox, and the ledger that has not got it.
fn posted() -> Place {
    let place = Place::new();
    let first = once("op_1");
    let mut owner = place.open();
    let begun = running(begin(&mut owner, &first, &Around::default()));
    owner.dispatch(&first, &begun, None).unwrap();
    place.file.break_down();
    assert!(owner.finish(&first, begun, ended()).head.is_none());
    place.file.mend();
    drop(owner);
    place
}

fn letter(place: &Place) -> camino::Utf8PathBuf {
    place.file.dir().join("outbox/op_1.json")
}

#[test]
fn who_waits_gets_the_answer_that_its_owner_could_only_leave_in_the_outbox() {
    let place = Place::new();
    let first = once("op_1");
    let mut owner = place.open();
    let begun = running(begin(&mut owner, &first, &Around::default()));
    owner.dispatch(&first, &begun, None).unwrap();
    let owner = RefCell::new(Some((owner, begun)));
    let asked = RefCell::new(0);
    let patient = Ask {
        patience: Duration::from_secs(10),
        ..once("op_2")
    };
    let answered = place.open().begin(&patient, &Around::default(), &|| {
        *asked.borrow_mut() += 1;
        if *asked.borrow() == 2
            && let Some((mut owner, begun)) = owner.take()
        {
            place.file.break_down();
            owner.finish(&first, begun, ended());
            place.file.mend();
        }
        Ok(())
    });
    assert_eq!(said(answered), Err(Again::Suppressed));
}

#[test]
fn an_answer_that_comes_after_a_person_has_spoken_is_recorded_as_late() {
    let place = posted();
    let away = place.file.dir().join("op_1.json");
    std::fs::rename(letter(&place), &away).unwrap();
    let answer = |_: &crate::ledger::Case| "{}".to_owned();
    let happened = Happened::Yes(&answer);
    place.open().resolve("op_1", happened, None).unwrap();
    std::fs::rename(&away, letter(&place)).unwrap();
    let suppressed = again(&place, &once("op_2"), &Around::default());
    assert_eq!(suppressed, Err(Again::Suppressed));
    assert!(!letter(&place).exists());
    let states: Vec<_> = place.rows().iter().filter_map(|row| row.state).collect();
    assert_eq!(
        states,
        [RowState::Done, RowState::Late, RowState::Suppressed]
    );
}

#[test]
fn a_letter_that_was_taken_in_and_not_removed_is_not_taken_in_again() {
    let place = posted();
    let text = std::fs::read(letter(&place)).unwrap();
    place.open().absorb_outbox();
    std::fs::write(letter(&place), text).unwrap();
    place.open().absorb_outbox();
    assert!(!letter(&place).exists());
    assert_eq!(place.rows().len(), 1);
}

/// A database that crashed can give the number of a lost claim to the claim of another run.
#[test]
fn a_run_whose_claim_was_lost_does_not_send_on_the_claim_of_another() {
    for change in ["operation_id = 'op_9'", "session_id = 't'"] {
        let file = InFile::new();
        let mut ledger = file.open();
        let running = running(begin(&mut ledger, &once("op_1"), &Around::default()));
        file.change(&format!("UPDATE claims SET {change}"));
        let sent = ledger.dispatch(&once("op_1"), &running, None);
        assert!(
            matches!(sent, Err(LedgerError::InFlight { .. })),
            "{sent:?}"
        );
    }
}

#[test]
fn a_run_that_sent_on_the_claim_of_another_is_found() {
    for (operation, session) in [("op_9", "s"), ("op_1", "t")] {
        let file = InFile::new();
        let mut ledger = file.open();
        let claimed = running(begin(&mut ledger, &once("op_1"), &Around::default()));
        let stamp = Stamp {
            operation_id: operation,
            session_id: session,
            at: NOW.parse().unwrap(),
            actor: "uid:1000",
        };
        let body = Body {
            claim: Some(claimed.claim),
            ..Body::default()
        };
        write::<_, StoreError>(&mut *ledger.store, Durability::Disk, |tx| {
            chain::append(tx, Event::Dispatched, stamp, &body).map(drop)
        })
        .unwrap();
        let found = broken(&file);
        assert!(
            matches!(found.what, Damage::Changed { table: "claims" }),
            "{found:?}"
        );
    }
}

#[test]
fn a_letter_without_a_session_stays() {
    let place = posted();
    let text = std::fs::read_to_string(letter(&place)).unwrap();
    let text = text.replace(r#""session_id":"s""#, r#""session_id":"""#);
    std::fs::write(letter(&place), text).unwrap();
    place.open().absorb_outbox();
    assert!(letter(&place).exists());
    assert_eq!(place.rows().len(), 0);
}

/// After a power failure, a letter can be blank: it was written without a sync.
#[test]
fn a_blank_letter_is_removed() {
    let place = Place::new();
    record(&mut place.open(), &ask("op_2"), &ended());
    for blank in [&b""[..], &[0; 512]] {
        std::fs::create_dir_all(place.file.dir().join("outbox")).unwrap();
        std::fs::write(letter(&place), blank).unwrap();
        place.open().absorb_outbox();
        assert!(!letter(&place).exists());
    }
}

#[test]
fn a_letter_to_another_ledger_waits_for_that_one() {
    let place = posted();
    let text = std::fs::read_to_string(letter(&place)).unwrap();
    let mut other: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(other["ledger"], "ledger.db");
    other["ledger"] = json!("postgres://db.example.org/ledger");
    std::fs::write(letter(&place), other.to_string()).unwrap();
    place.open().absorb_outbox();
    assert!(letter(&place).exists());
    assert_eq!(place.rows().len(), 0);
    std::fs::write(letter(&place), text).unwrap();
    place.open().absorb_outbox();
    assert_eq!(place.rows().len(), 1);
}

#[test]
fn of_many_that_start_at_once_one_takes_a_letter_in() {
    let posted = posted();
    let text = std::fs::read_to_string(letter(&posted)).unwrap();
    let mut to_file: Value = serde_json::from_str(&text).unwrap();
    to_file["ledger"] = json!("ledger.db");
    to_file["row"]["operation_id"] = json!("op_9");
    for _ in 0..5 {
        let file = InFile::filled();
        let outbox = file.path("outbox");
        std::fs::create_dir(&outbox).unwrap();
        std::fs::write(outbox.join("op_1.json"), to_file.to_string()).unwrap();
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (dir, start) = (file.path(""), &start);
                scope.spawn(move || {
                    let host = host();
                    let place = super::super::Place::default_in(&dir);
                    let mut ledger = Ledger::open(&place, &dir, Wish::Write, &host).unwrap();
                    start.wait();
                    ledger.absorb_outbox();
                });
            }
        });
        let verdict = file.verdict();
        assert_eq!((verdict.broken, verdict.rows), (None, 5));
    }
}

#[test]
fn a_run_with_the_seed_of_one_that_died_does_not_wait_for_itself() {
    let place = Place::new();
    let world = Around::default();
    let mut owner = place.open();
    running(begin(&mut owner, &ask("op_1"), &world));
    drop(owner);
    assert_eq!(again(&place, &ask("op_1"), &world), Ok(Why::TakenOver));
}

/// If duplicates are repeated, a delivery has one claim, whatever its content.
#[test]
fn a_delivery_whose_runs_died_with_different_contents_leaves_no_damage() {
    let file = InFile::new();
    let repeated = |operation, number| {
        let mut ask = other(once(operation), number);
        ask.on_duplicate = OnDuplicate::Repeat;
        ask.who.task_id = Some("t");
        ask
    };
    for (operation, number, why) in [
        ("op_1", 1, Why::New),
        ("op_2", 2, Why::New),
        ("op_3", 1, Why::New),
        ("op_4", 1, Why::TakenOver),
        ("op_5", 2, Why::New),
    ] {
        let begun = begin(
            &mut file.open(),
            &repeated(operation, number),
            &Around::default(),
        );
        assert_eq!(said(begun), Ok(why), "{operation}");
        assert_eq!(file.verdict().broken, None, "{operation}");
    }
    for (operation, by) in [
        ("op_1", "operation op_2 took its delivery over"),
        ("op_3", "operation op_4 took its request over"),
    ] {
        let settled = file.open().resolve(operation, Happened::No, None);
        let refused = settled.unwrap_err().to_string();
        assert!(refused.contains(by), "{refused}");
    }
}

/// A run that lost its connection goes on, and another content of its delivery is performed meanwhile.
#[test]
fn a_run_whose_delivery_was_taken_over_with_another_content_sends_nothing() {
    let place = Place::new();
    let repeated = |operation, number| {
        let mut ask = other(once(operation), number);
        ask.on_duplicate = OnDuplicate::Repeat;
        ask.who.task_id = Some("t");
        ask
    };
    let first = repeated("op_1", 1);
    let mut slow = place.open();
    let begun = running(begin(&mut slow, &first, &Around::default()));
    slow.store = Box::new(place.file.store());
    let taken = again(&place, &repeated("op_2", 2), &Around::default());
    assert_eq!(taken, Ok(Why::New));
    let sent = slow.dispatch(&first, &begun, None);
    assert!(
        matches!(sent, Err(LedgerError::InFlight { .. })),
        "{sent:?}"
    );
}

/// A ledger whose only run died after it had sent its once-only call, as `op_1`.
fn sent_and_killed() -> InFile {
    let file = InFile::new();
    let mut ledger = file.open();
    let dead = once("op_1");
    let running = running(begin(&mut ledger, &dead, &Around::default()));
    ledger.dispatch(&dead, &running, None).unwrap();
    drop(ledger);
    file
}

#[test]
fn words_that_oneact_never_writes_into_a_claim_are_found() {
    for attack in [
        "UPDATE claims SET state = 'x'",
        "UPDATE claims SET effects = 'x'",
    ] {
        let file = sent_and_killed();
        file.change(attack);
        assert!(
            matches!(broken(&file).what, Damage::Stored { .. }),
            "{attack}"
        );
        let again = begin(&mut file.open(), &once("op_2"), &Around::default());
        assert!(matches!(again, Err(LedgerError::Store(_))), "{again:?}");
    }
}
