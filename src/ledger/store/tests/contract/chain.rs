//! Facts about links, sessions and transactions.

use std::thread;

use super::Ledger;
use super::given::{
    EVENTS, SESSION, begun, claim, everything, full, link, open_session, refused, seen, session,
    written,
};
use crate::ledger::{
    record::{Event, Link, Row, Session},
    store::NOTHING,
    store::{Durability, Store, StoreError, Trouble, Tx, read, write},
};

pub(crate) fn links_follow_one_another(ledger: &dyn Ledger) {
    let mut store = ledger.open();
    assert_eq!(seen(&mut *store, Tx::newest_link), None);
    let head = written(&mut *store, |tx| {
        for event in EVENTS {
            link(tx, event)?;
        }
        tx.newest_link()
    });
    let links = seen(&mut *store, |tx| tx.page::<Link>(0, 100));
    assert_eq!(links.len(), EVENTS.len());
    let mut prev_hash = NOTHING.to_owned();
    for (link, number) in links.iter().zip(0..) {
        assert_eq!(
            (link.seq, link.number, &link.prev_hash),
            (number + 1, number, &prev_hash)
        );
        assert_eq!(link.hash(), link.entry_hash);
        prev_hash.clone_from(&link.entry_hash);
    }
    assert_eq!(head.unwrap().entry_hash, prev_hash);
    assert_eq!(seen(&mut *store, |tx| tx.page::<Link>(4, 2)), links[3..5]);
}

pub(crate) fn a_link_that_is_not_the_next_is_refused(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let last = seen(&mut *store, |tx| tx.page::<Link>(9, 1)).remove(0);
    let next = Link {
        seq: 10,
        number: 9,
        prev_hash: last.entry_hash.clone(),
        entry_hash: "a".repeat(64),
        ..last.clone()
    };
    for wrong in [
        Link {
            number: 10,
            ..next.clone()
        },
        Link {
            number: 8,
            ..next.clone()
        },
        Link {
            seq: 9,
            ..next.clone()
        },
        Link {
            number: 0,
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
        seq: 1,
        operation_id: "op_0".to_owned(),
        session_id: SESSION.to_owned(),
        number: 0,
        event: "rejected".to_owned(),
        at: "2026-02-24T10:00:00.000Z".to_owned(),
        actor: "uid:1000".to_owned(),
        body: "{}".to_owned(),
        prev_hash: NOTHING.to_owned(),
        entry_hash: "a".repeat(64),
    };
    for wrong in [
        Link {
            number: 1,
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
    assert_eq!(seen(&mut *store, |tx| tx.page::<Link>(0, 2)), [long]);
}

pub(crate) fn steps_are_counted_without_gaps_and_by_session(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    written(&mut *store, |tx| open_session(tx, "other"));
    let answer = |tx: &mut Tx<'_>, id: &str| {
        let seq = link(tx, Event::Succeeded)?.seq;
        let step = tx.next_step(id)?;
        tx.put(&Row {
            session_id: id.to_owned(),
            ..full(seq, step)
        })?;
        Ok(step)
    };
    let next = |store: &mut dyn Store, id: &str| written(store, |tx| answer(tx, id));
    assert_eq!(next(&mut *store, SESSION), 0);
    assert_eq!(next(&mut *ledger.open(), SESSION), 1);
    assert_eq!(next(&mut *store, "other"), 0);
    refused(&mut *store, |tx| {
        assert_eq!(answer(tx, SESSION)?, 2);
        tx.revoke("no row", 1)
    });
    assert_eq!(next(&mut *store, SESSION), 2);
    let counted = |id: &str| seen(&mut *ledger.open(), |tx| tx.answers(id));
    let counted = [SESSION, "other", "nobody's"].map(counted);
    assert_eq!(counted, [3, 1, 0]);
}

pub(crate) fn a_session_is_opened_once_and_its_opener_stays(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let other = Session {
        principal: "uid:0".to_owned(),
        ..session(SESSION, 2)
    };
    refused(&mut *store, |tx| tx.put(&other));
    refused(&mut *store, |tx| {
        tx.put(&Session {
            context: "GOD".to_owned(),
            ..session("god", 2)
        })
    });
    assert_eq!(
        seen(&mut *store, |tx| tx.session(SESSION)),
        Some(session(SESSION, 1))
    );
    assert_eq!(seen(&mut *store, |tx| tx.session("sess")), None);
    refused(&mut *store, |tx| tx.put(&session("a second", 1)));
    refused(&mut *store, |tx| tx.put(&session("a second", 99)));
    written(&mut *store, |tx| open_session(tx, "a second"));
    let [first, second] = [session(SESSION, 1), session("a second", 10)];
    let newest = seen(&mut *store, Tx::newest_session);
    assert_eq!(newest.as_ref(), Some(&second));
    let from = |from, most| seen(&mut *ledger.open(), |tx| tx.page::<Session>(from, most));
    assert_eq!(from(0, 5), [first.clone(), second.clone()]);
    assert_eq!(from(1, 1), [first]);
    assert_eq!(from(2, 5), [second]);
}

pub(crate) fn a_transaction_that_fails_leaves_nothing(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let before = everything(&mut *store);
    let failed: Result<(), StoreError> = write(&mut *store, Durability::Disk, |tx| {
        let head = link(tx, Event::Reserved)?;
        tx.put(&session("another", head.seq))?;
        let step = tx.next_step(SESSION)?;
        tx.put(&full(head.seq, step))?;
        tx.put(&claim("a", head.seq))?;
        tx.put_secret_key(&[1; 32])?;
        Err(Trouble::Full.with("here", ""))
    });
    assert!(matches!(&failed, Err(error) if error.trouble == Trouble::Full));
    assert_eq!(everything(&mut *store), before);
    assert_eq!(everything(&mut *ledger.open()), before);
    assert_eq!(seen(&mut *store, Tx::secret_key), None);
}

pub(crate) fn reading_leaves_nothing(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let before = everything(&mut *store);
    // Refused or taken back: both are well.
    let _ = read(&mut *store, |tx| tx.put(&session("another", 2)));
    assert_eq!(everything(&mut *store), before);
}

pub(crate) fn the_key_for_secrets_is_made_once(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    assert_eq!(seen(&mut *store, Tx::secret_key), None);
    written(&mut *store, |tx| tx.put_secret_key(&[1; 32]));
    refused(&mut *store, |tx| tx.put_secret_key(&[2; 32]));
    let kept = seen(&mut *ledger.open(), Tx::secret_key);
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
                        tx.put(&full(seq, step))
                    })
                    .unwrap();
                }
            });
        }
    });
    let (links, rows, _, _) = everything(&mut *ledger.open());
    assert_eq!(links.len(), 9 + 3 * EACH);
    for pair in links.windows(2) {
        assert_eq!(
            (pair[1].number, &pair[1].prev_hash),
            (pair[0].number + 1, &pair[0].entry_hash)
        );
    }
    let steps: Vec<_> = rows.iter().rev().map(|row| row.step_index).collect();
    assert_eq!(steps, (0..3 * EACH as u64).collect::<Vec<_>>());
}
