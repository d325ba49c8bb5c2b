//! Facts about finding rows.

use jiff::Timestamp;

use super::Ledger;
use super::given::{SESSION, STATES, begun, full, hash, ids, link, open_session, seen, written};
use crate::{
    ledger::{Body, chain::Stamp, chain::append},
    ledger::{
        record::Which,
        record::{Event, Row, RowOutcome, RowState},
        store::Seq,
    },
};

const NONE: [Seq; 0] = [];

pub(crate) fn a_delivery_is_found_by_its_key_or_its_task(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let key = |text: &str| Some(text.to_owned());
    let rows = [
        Row {
            attempt: 1,
            idempotency_key: None,
            ..full(1, 0)
        },
        Row {
            attempt: 2,
            ..full(2, 1)
        },
        Row {
            attempt: 1,
            request_id: None,
            idempotency_key: key("other"),
            ..full(3, 2)
        },
        Row {
            attempt: 2,
            request_id: None,
            idempotency_key: None,
            ..full(4, 3)
        },
        Row {
            task_id: key("task_2"),
            ..full(5, 4)
        },
        Row {
            session_id: "other".to_owned(),
            ..full(6, 0)
        },
    ];
    written(&mut *store, |tx| {
        open_session(tx, "other")?;
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let mut found = |which: Which| ids(&mut *store, &which, 10);
    let by_key = |key| Which::key(SESSION, key);
    assert_eq!(found(by_key("key-1")), [5, 2]);
    assert_eq!(found(by_key("other")), [3]);
    assert_eq!(found(by_key("key")), NONE);
    let by_task = |request_id, attempt| Which::delivery(SESSION, request_id, "task_1", attempt);
    assert_eq!(found(by_task(Some("req-1"), None)), [1]);
    assert_eq!(found(by_task(Some("req-1"), Some(1))), [1]);
    assert_eq!(found(by_task(Some("req-2"), None)), NONE);
    // Who sends no request id is not whoever sends one.
    assert_eq!(found(by_task(None, None)), [4]);
    assert_eq!(found(by_task(None, Some(2))), [4]);
    assert_eq!(found(by_task(None, Some(3))), NONE);
    let task = Which::task(SESSION, "task_1");
    assert_eq!(ids(&mut *store, &task, 10), [4, 3, 2, 1]);
    assert_eq!(ids(&mut *store, &task, 2), [4, 3]);
}

pub(crate) fn only_what_says_something_new_is_an_answer_to_a_delivery(ledger: &dyn Ledger) {
    use RowState::{Cancelled, Done, Failed, Partial, Reused, RolledBack, Suppressed};
    let mut store = begun(ledger);
    let keyed = STATES.into_iter().zip(1..);
    let of_task = STATES.into_iter().zip(13..);
    // There are more of them than links so far.
    written(&mut *store, |tx| {
        for _ in 0..21 {
            link(tx, Event::Succeeded)?;
        }
        keyed
            .clone()
            .chain(of_task.clone())
            .try_for_each(|(state, seq)| {
                let row = full(seq, seq - 1);
                tx.put(&Row {
                    state: Some(state),
                    idempotency_key: row.idempotency_key.filter(|_| seq < 13),
                    ..full(seq, seq - 1)
                })
            })
    });
    let with = |states: &mut dyn Iterator<Item = (RowState, Seq)>, wanted: &[RowState]| {
        let found = states.filter(|(state, _)| wanted.contains(state));
        let mut found: Vec<Seq> = found.map(|(_, seq)| seq).collect();
        found.reverse();
        found
    };
    let told = [Done, Partial, Failed, RolledBack, Reused, Suppressed];
    let task = |attempt| Which::delivery(SESSION, Some("req-1"), "task_1", attempt);
    let key = Which::key(SESSION, "key-1");
    for (which, states) in [
        (task(None), &of_task),
        (task(Some(2)), &of_task),
        (key, &keyed),
    ] {
        let told = with(&mut states.clone(), &told);
        assert_eq!(ids(&mut *store, &which, 99), told, "{which:?}");
        assert_eq!(ids(&mut *store, &which, 1), told[..1], "{which:?}");
    }
    let runs = Which::runs(SESSION, "task_1");
    let ran = with(
        &mut keyed.chain(of_task),
        &[Done, Partial, Failed, RolledBack, Cancelled],
    );
    assert_eq!(ids(&mut *store, &runs, 99), ran);
}

pub(crate) fn only_what_succeeded_is_the_same_request(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let rows = [
        full(1, 0),
        Row {
            state: Some(RowState::Partial),
            ..full(2, 1)
        },
        Row {
            state: Some(RowState::Reused),
            ..full(3, 2)
        },
        Row {
            state: Some(RowState::Failed),
            outcome: RowOutcome::Error,
            ..full(4, 3)
        },
        Row {
            request_hash: hash('b'),
            ..full(5, 4)
        },
        Row {
            session_id: "other".to_owned(),
            ..full(7, 0)
        },
    ];
    written(&mut *store, |tx| {
        open_session(tx, "other")?;
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let which = Which::success(SESSION, &hash('a'));
    assert_eq!(ids(&mut *store, &which, 10), [2, 1]);
    assert_eq!(ids(&mut *store, &which, 1), [2]);
}

pub(crate) fn rows_are_found_in_their_order(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    // The order in which they are written is that of their links; steps and times need not be.
    let first = full(2, 3).id;
    let rows = [
        full(2, 3),
        Row {
            reused_from: Some(first.clone()),
            timestamp: "2020-01-01T00:00:00.000Z".to_owned(),
            ..full(4, 1)
        },
        Row {
            reused_from: Some(first.clone()),
            ..full(7, 2)
        },
    ];
    written(&mut *store, |tx| {
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let mut found = |which: Which| ids(&mut *store, &which, 10);
    assert_eq!(found(Which::newest()), [7, 4, 2]);
    assert_eq!(found(Which::reuses_of(&first)), [7, 4]);
    let bare = |row: &Row| row.request.is_none() && row.response.is_none();
    let reuses = seen(&mut *store, |tx| tx.rows(&Which::reuses_of(&first), 10));
    assert!(reuses.iter().all(bare), "{reuses:?}");
    let mut found = |which: Which| ids(&mut *store, &which, 10);
    assert_eq!(found(Which::session(SESSION)), [4, 7, 2]);
    assert_eq!(found(Which::step(SESSION, 2)), [7]);
    assert_eq!(found(Which::step(SESSION, 0)), NONE);
    assert_eq!(found(Which::link(4)), [4]);
    assert_eq!(found(Which::link(5)), NONE);
    assert_eq!(found(Which::since(3)), [4, 7]);
    assert_eq!(ids(&mut *store, &Which::since(0), 2), [2, 4]);
    assert_eq!(ids(&mut *store, &Which::newest(), 1), [7]);
    assert_eq!(ids(&mut *store, &Which::newest(), 0), NONE);
}

pub(crate) fn ids_are_found_by_their_beginning(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let rows = [
        ("op_ab1", 1),
        ("op_ab2", 2),
        ("op_ac", 3),
        ("OP_AB", 4),
        ("op%", 5),
        ("op_ab\u{1f600}", 6),
    ];
    written(&mut *store, |tx| {
        rows.iter().zip(0..).try_for_each(|((id, seq), step)| {
            tx.put(&Row {
                operation_id: (*id).to_owned(),
                ..full(*seq, step)
            })
        })
    });
    let mut found = |which: Which| ids(&mut *store, &which, 10);
    assert_eq!(found(Which::operation("op_ab")), [6, 2, 1]);
    assert_eq!(found(Which::operation("op_ab2")), [2]);
    assert_eq!(found(Which::operation("op_b")), NONE);
    assert_eq!(found(Which::operation("op%")), [5]);
    assert_eq!(
        found(Which::id_begins("00000000-0000-7000-8000-00000000000")),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(found(Which::id(&full(3, 2).id)), [3]);
    assert_eq!(found(Which::id_begins("00000000-0000-7000-8000-1")), NONE);
    assert_eq!(found(Which::id_begins("%")), NONE);
}

pub(crate) fn a_whole_id_comes_before_longer_ones_and_another_session_has_none(
    ledger: &dyn Ledger,
) {
    let mut store = begun(ledger);
    let of = |operation: &str, session: &str, row: Row| Row {
        operation_id: operation.to_owned(),
        session_id: session.to_owned(),
        ..row
    };
    let rows = [
        of("op_1", SESSION, full(1, 0)),
        of("op_12", SESSION, full(2, 1)),
        of("op_13", "other", full(3, 0)),
        of("op_14", "other", full(4, 1)),
    ];
    written(&mut *store, |tx| {
        open_session(tx, "other")?;
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let whole = Which::operation("op_1");
    assert_eq!(ids(&mut *store, &whole, 10), [1, 4, 3, 2]);
    assert_eq!(ids(&mut *store, &whole, 1), [1]);
    let steps = seen(&mut *store, |tx| tx.steps(&whole, 3));
    assert_eq!(steps, [0, 1, 0]);
    let mut found = |which: Which, most| ids(&mut *store, &which, most);
    assert_eq!(
        found(Which::operation("op_1").within(Some(SESSION)), 10),
        [1, 2]
    );
    // However many are newer elsewhere.
    assert_eq!(found(Which::operation("op_").within(Some(SESSION)), 1), [2]);
    assert_eq!(
        found(Which::operation("op_").within(Some("nobody")), 1),
        NONE
    );
    assert_eq!(
        found(Which::id_begins("00000000").within(Some("other")), 10),
        [3, 4]
    );
    assert_eq!(
        found(Which::id_begins("00000000").within(Some("nobody")), 10),
        NONE
    );
}

pub(crate) fn what_was_answered_before_a_link_is_found_and_nothing_after_it(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let failed = |seq, step| Row {
        state: Some(RowState::Failed),
        outcome: RowOutcome::Error,
        ..full(seq, step)
    };
    let rows = [
        full(1, 0),
        failed(2, 1),
        full(3, 2),
        failed(4, 3),
        full(5, 4),
    ];
    written(&mut *store, |tx| {
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let hash = hash('a');
    let success = |before| Which::success(SESSION, &hash).before(before);
    let failure = |before| Which::failure(SESSION, "task_1", before);
    let mut found = |which: Which| ids(&mut *store, &which, 10);
    assert_eq!(found(success(5)), [3, 1]);
    assert_eq!(found(success(1)), NONE);
    assert_eq!(found(failure(5)), [4, 2]);
    assert_eq!(found(failure(4)), [2]);
}

pub(crate) fn the_links_of_a_session_are_its_own(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let own = seen(&mut *store, |tx| tx.page::<crate::ledger::Link>(0, 100));
    let stamp = Stamp {
        operation_id: "op_2",
        session_id: "other",
        at: Timestamp::UNIX_EPOCH,
        actor: "uid:1000",
    };
    written(&mut *store, |tx| {
        append(tx, Event::Succeeded, stamp, &Body::default())
    });
    let others = seen(&mut *store, |tx| tx.links_of("other"));
    assert_eq!(
        others,
        seen(&mut *store, |tx| tx.page::<crate::ledger::Link>(10, 100))
    );
    assert_eq!(seen(&mut *store, |tx| tx.links_of(SESSION)), own);
    assert_eq!(seen(&mut *store, |tx| tx.links_of("sess")), []);
}
