//! Facts about links, sessions and transactions.

use std::thread;

use super::Ledger;
use super::given::{
    SESSION, begun, claim, everything, full, link, refused, seen, session, written,
};
use crate::ledger::{
    chain::NOTHING,
    record::{Event, Link, Session},
    store::{Durability, Store, StoreError, read, write},
};

pub(crate) fn links_follow_one_another(ledger: &dyn Ledger) {
    let mut store = ledger.open();
    assert_eq!(seen(&mut *store, |tx| tx.head()), None);
    let head = written(&mut *store, |tx| {
        for event in Event::ALL {
            link(tx, event)?;
        }
        tx.head()
    });
    let links = seen(&mut *store, |tx| tx.links(0, 100));
    // The first one that is asked for brings the very first along.
    assert_eq!(links.len(), Event::ALL.len() + 1);
    let mut prev_hash = NOTHING.to_owned();
    for (link, seq) in links.iter().zip(0..) {
        assert_eq!((link.seq, &link.prev_hash), (seq, &prev_hash));
        assert_eq!(link.hash(), link.entry_hash);
        prev_hash.clone_from(&link.entry_hash);
    }
    assert_eq!(head.unwrap().entry_hash, prev_hash);
    assert_eq!(seen(&mut *store, |tx| tx.links(3, 2)), links[3..5]);
}

pub(crate) fn a_link_that_is_not_the_next_is_refused(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let last = seen(&mut *store, |tx| tx.links(9, 1)).remove(0);
    let next = Link {
        seq: 10,
        prev_hash: last.entry_hash.clone(),
        entry_hash: "a".repeat(64),
        ..last.clone()
    };
    for wrong in [
        Link {
            seq: 11,
            ..next.clone()
        },
        Link {
            seq: 9,
            ..next.clone()
        },
        Link {
            seq: 0,
            prev_hash: NOTHING.to_owned(),
            ..next.clone()
        },
        Link {
            prev_hash: NOTHING.to_owned(),
            ..next.clone()
        },
        Link {
            prev_hash: last.prev_hash.clone(),
            ..next.clone()
        },
    ] {
        refused(&mut *store, |tx| tx.append(&wrong));
    }
    refused(&mut *store, |tx| {
        tx.append(&next)?;
        tx.append(&next)
    });
    written(&mut *store, |tx| tx.append(&next));
}

pub(crate) fn a_link_that_is_none_is_refused(ledger: &dyn Ledger) {
    let mut store = ledger.open();
    let first = Link {
        seq: 0,
        operation_id: "op_0".to_owned(),
        session_id: SESSION.to_owned(),
        event: "genesis".to_owned(),
        at: "2026-02-24T10:00:00.000Z".to_owned(),
        actor: "uid:1000".to_owned(),
        body: "{}".to_owned(),
        prev_hash: NOTHING.to_owned(),
        entry_hash: "a".repeat(64),
    };
    for wrong in [
        Link {
            seq: 1,
            ..first.clone()
        },
        Link {
            prev_hash: "0".to_owned(),
            ..first.clone()
        },
        Link {
            prev_hash: "1".repeat(64),
            ..first.clone()
        },
        Link {
            entry_hash: "a".to_owned(),
            ..first.clone()
        },
        Link {
            event: "something".to_owned(),
            ..first.clone()
        },
        Link {
            body: "{".to_owned(),
            ..first.clone()
        },
        Link {
            body: format!("\"{}\"", "é".repeat(2048)),
            ..first.clone()
        },
    ] {
        refused(&mut *store, |tx| tx.append(&wrong));
    }
    let long = Link {
        body: format!("\"{}\"", "é".repeat(2047)),
        ..first
    };
    written(&mut *store, |tx| tx.append(&long));
    assert_eq!(seen(&mut *store, |tx| tx.links(0, 2)), [long]);
}

pub(crate) fn steps_are_counted_without_gaps_and_by_session(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    written(&mut *store, |tx| tx.open_session(&session("other")));
    let next = |store: &mut dyn Store, id: &str| written(store, |tx| tx.next_step(id));
    assert_eq!(next(&mut *store, SESSION), 0);
    assert_eq!(next(&mut *ledger.open(), SESSION), 1);
    assert_eq!(next(&mut *store, "other"), 0);
    let lost: Result<(), StoreError> = write(&mut *store, Durability::Process, |tx| {
        assert_eq!(tx.next_step(SESSION)?, 2);
        tx.next_step("nobody's").map(drop)
    });
    assert!(matches!(lost, Err(StoreError::Refused { .. })));
    assert_eq!(next(&mut *store, SESSION), 2);
    let steps = seen(&mut *store, |tx| tx.session(SESSION)).map(|session| session.steps);
    assert_eq!(steps, Some(3));
}

pub(crate) fn a_session_is_opened_once_and_its_opener_stays(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let other = Session {
        principal: "uid:0".to_owned(),
        ..session(SESSION)
    };
    refused(&mut *store, |tx| tx.open_session(&other));
    refused(&mut *store, |tx| {
        tx.open_session(&Session {
            context: "GOD".to_owned(),
            ..session("god")
        })
    });
    assert_eq!(
        seen(&mut *store, |tx| tx.session(SESSION)),
        Some(session(SESSION))
    );
    assert_eq!(seen(&mut *store, |tx| tx.session("sess")), None);
    written(&mut *store, |tx| tx.open_session(&session("a second")));
    let newest = [session("a second"), session(SESSION)];
    assert_eq!(seen(&mut *store, |tx| tx.sessions(5)), newest);
    assert_eq!(seen(&mut *store, |tx| tx.sessions(1)), newest[..1]);
}

pub(crate) fn a_transaction_that_fails_leaves_nothing(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let before = everything(&mut *store);
    let failed: Result<(), StoreError> = write(&mut *store, Durability::Disk, |tx| {
        let head = link(tx, Event::Reserved)?;
        tx.open_session(&session("another"))?;
        let step = tx.next_step(SESSION)?;
        tx.insert(&full(head.seq, step))?;
        tx.put_claim(&claim("a", head.seq))?;
        tx.put_secret_key(&[1; 32])?;
        Err(StoreError::Full {
            place: "here".to_owned(),
        })
    });
    assert!(matches!(failed, Err(StoreError::Full { .. })));
    assert_eq!(everything(&mut *store), before);
    assert_eq!(everything(&mut *ledger.open()), before);
    assert_eq!(seen(&mut *store, |tx| tx.secret_key()), None);
}

pub(crate) fn reading_leaves_nothing(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let before = everything(&mut *store);
    // Refused or taken back: both are well.
    let _ = read(&mut *store, |tx| tx.open_session(&session("another")));
    assert_eq!(everything(&mut *store), before);
}

pub(crate) fn the_key_for_secrets_is_made_once(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    assert_eq!(seen(&mut *store, |tx| tx.secret_key()), None);
    written(&mut *store, |tx| tx.put_secret_key(&[1; 32]));
    refused(&mut *store, |tx| tx.put_secret_key(&[2; 32]));
    let kept = seen(&mut *ledger.open(), |tx| tx.secret_key());
    assert_eq!(kept, Some([1; 32]));
}

pub(crate) fn stores_that_write_at_once_leave_a_chain_without_gaps(ledger: &dyn Ledger) {
    const EACH: usize = 25;
    drop(begun(ledger));
    thread::scope(|scope| {
        for durability in [Durability::Disk, Durability::Process, Durability::Disk] {
            scope.spawn(move || {
                let mut store = ledger.open();
                for _ in 0..EACH {
                    write(&mut *store, durability, |tx| {
                        let seq = link(tx, Event::Succeeded)?.seq;
                        let step = tx.next_step(SESSION)?;
                        tx.insert(&full(seq, step))
                    })
                    .unwrap();
                }
            });
        }
    });
    let (links, rows, sessions, _) = everything(&mut *ledger.open());
    assert_eq!(links.len(), 10 + 3 * EACH);
    for pair in links.windows(2) {
        assert_eq!(
            (pair[1].seq, &pair[1].prev_hash),
            (pair[0].seq + 1, &pair[0].entry_hash)
        );
    }
    let steps: Vec<_> = rows.iter().rev().map(|row| row.step_index).collect();
    assert_eq!(steps, (0..3 * EACH as u64).collect::<Vec<_>>());
    assert_eq!(sessions[0].steps, 3 * EACH as u64);
}
