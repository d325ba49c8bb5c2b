//! Facts about rows: what is kept, and what is refused.

use super::Ledger;
use super::given::{
    SESSION, bare, begun, full, history, ids, open_session, refused, saying, seen, written,
};
use crate::{
    ledger::Body,
    ledger::{
        record::Which,
        record::{Event, Row, RowState},
        store::Tx,
    },
};

pub(crate) fn a_row_comes_back_as_it_was_written(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let rows = [full(1, 0), bare(2, 1)];
    let reuse = Row {
        reused_from: Some(rows[0].id.clone()),
        revoked_by: Some(7),
        state: Some(RowState::Reused),
        ..full(3, 2)
    };
    let rows = [rows[0].clone(), rows[1].clone(), reuse];
    written(&mut *store, |tx| {
        rows.iter().try_for_each(|row| tx.put(row))
    });
    drop(store);
    let found = seen(&mut *ledger.open(), |tx| {
        tx.rows(&Which::session(SESSION), 10)
    });
    assert_eq!(found, rows);
}

pub(crate) fn a_very_large_answer_comes_back_as_it_was_written(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let row = Row {
        response: Some(format!("[\"{}\"]", "é".repeat(8 << 20))),
        ..full(1, 0)
    };
    written(&mut *store, |tx| tx.put(&row));
    assert!(seen(&mut *store, |tx| tx.rows(&Which::link(1), 1)) == [row]);
}

pub(crate) fn a_row_that_breaks_a_rule_is_refused(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    written(&mut *store, |tx| tx.put(&full(1, 0)));
    let good = full(2, 1);
    let none = Some("{".to_owned());
    for wrong in [
        Row {
            id: full(1, 0).id,
            ..good.clone()
        },
        Row {
            step_index: 0,
            ..good.clone()
        },
        Row {
            seq: Some(1),
            ..good.clone()
        },
        // A link that is not there, or none.
        Row {
            seq: Some(10),
            ..good.clone()
        },
        Row {
            revoked_by: Some(10),
            ..good.clone()
        },
        Row {
            seq: None,
            ..good.clone()
        },
        Row {
            reused_from: Some("no row".to_owned()),
            ..good.clone()
        },
        Row {
            request_hash: "sha256:a".to_owned(),
            ..good.clone()
        },
        Row {
            request: none.clone(),
            ..good.clone()
        },
        Row {
            response: none.clone(),
            ..good.clone()
        },
        Row {
            input_ids: none.clone(),
            ..good.clone()
        },
        Row {
            output_ids: none.clone(),
            ..good.clone()
        },
        Row {
            adjusted: none,
            ..good.clone()
        },
        Row {
            confidence_score: Some(1.5),
            ..good.clone()
        },
        Row {
            confidence_score: Some(-0.5),
            ..good.clone()
        },
    ] {
        refused(&mut *store, |tx| tx.put(&wrong));
    }
    written(&mut *store, |tx| tx.put(&good));
}

pub(crate) fn a_row_is_pruned_or_taken_back_and_changed_in_nothing_else(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let (first, second) = (full(1, 0), full(2, 1));
    written(&mut *store, |tx| {
        tx.put(&first)?;
        tx.put(&second)
    });
    let revokes = Body {
        about: Some(first.id.clone()),
        ..Body::default()
    };
    let prunes = Body {
        rows: vec![first.id.clone()],
        ..Body::default()
    };
    written(&mut *store, |tx| {
        saying(tx, Event::Revoked, &revokes)?;
        saying(tx, Event::Revoked, &revokes)?;
        saying(tx, Event::Pruned, &prunes)
    });
    written(&mut *store, |tx| tx.revoke(&first.id, 10));
    // Who took it back stays.
    refused(&mut *store, |tx| tx.revoke(&first.id, 11));
    written(&mut *store, |tx| tx.prune(&first.id, 12));
    refused(&mut *store, |tx| tx.prune(&first.id, 12));
    let changed = Row {
        request: None,
        response: None,
        revoked_by: Some(10),
        pruned: Some(12),
        ..first
    };
    let rows = seen(&mut *store, |tx| tx.rows(&Which::session(SESSION), 5));
    assert_eq!(rows, [changed, second]);
}

pub(crate) fn what_is_not_there_is_not_changed(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    written(&mut *store, |tx| tx.put(&full(1, 0)));
    refused(&mut *store, |tx| tx.revoke("no row", 10));
    refused(&mut *store, |tx| tx.prune("no row", 10));
    refused(&mut *store, |tx| tx.revoke(&full(1, 0).id, 13));
}

pub(crate) fn history_stands_before_the_first_link_and_its_sessions_go_on(ledger: &dyn Ledger) {
    let mut store = ledger.open();
    let rows = [history('a', 0), history('b', 1)];
    written(&mut *store, |tx| {
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let found = seen(&mut *store, |tx| tx.rows(&Which::session(SESSION), 5));
    assert_eq!(found, rows);
    // Nobody is known to have opened it: whoever comes first does, and counts on.
    assert_eq!(seen(&mut *store, |tx| tx.session(SESSION)), None);
    written(&mut *store, |tx| {
        open_session(tx, SESSION)?;
        let step = tx.next_step(SESSION)?;
        assert_eq!(step, 2);
        tx.put(&full(1, step))
    });
    refused(&mut *store, |tx| {
        tx.put(&Row {
            state: None,
            ..full(0, 8)
        })
    });
    let newest = seen(&mut *store, |tx| tx.rows(&Which::newest(), 5));
    let newest: Vec<_> = newest.iter().map(|row| row.id.as_str()).collect();
    let [first, second] = &rows;
    assert_eq!(newest, [&full(1, 2).id, &second.id, &first.id]);
    // A walk along the chain does not meet it, but it can be counted.
    assert_eq!(seen(&mut *store, Tx::outside), 2);
    assert_eq!(ids(&mut *store, &Which::since(0), 5), [1]);
}

pub(crate) fn steps_of_a_task_are_found_by_it_and_answer_no_delivery(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let step = |seq: u64, position| Row {
        operation_id: format!("op_9.{position}"),
        parent: Some("op_9".to_owned()),
        position: Some(position),
        ..full(seq, seq - 1)
    };
    let steps = [step(1, 1), step(2, 2)];
    let task = Row {
        operation_id: "op_9".to_owned(),
        idempotency_key: None,
        ..full(3, 2)
    };
    written(&mut *store, |tx| {
        tx.put(&steps[0])?;
        tx.put(&task)?;
        tx.put(&Row {
            step_index: 3,
            ..step(4, 2)
        })
    });
    let found = seen(&mut *store, |tx| tx.rows(&Which::steps_of("op_9"), 9));
    let positions: Vec<_> = found.iter().map(|row| row.position).collect();
    assert_eq!(positions, [Some(1), Some(2)]);
    assert_eq!(found[0], steps[0]);
    let which = Which::delivery(SESSION, Some("req-1"), "task_1", Some(2));
    let found = seen(&mut *store, |tx| tx.rows(&which, 9));
    assert_eq!(found, [task]);
    let half = Row {
        position: None,
        ..step(5, 1)
    };
    refused(&mut *store, |tx| tx.put(&half));
}
