//! Facts about what all sessions have in common.

use super::Ledger;
use super::given::{SESSION, begun, full, ids, open_session, written};
use crate::ledger::{
    record::{Counts, Which},
    record::{Row, RowOutcome, RowState},
    store::{StoreError, read},
};

fn failed(seq: u64, step: u64) -> Row {
    Row {
        outcome: RowOutcome::Error,
        state: Some(RowState::Failed),
        ..full(seq, step)
    }
}

fn pending(seq: u64, step: u64, task: &str) -> Row {
    Row {
        state: Some(RowState::Pending),
        task_id: Some(task.to_owned()),
        ..failed(seq, step)
    }
}

pub(crate) fn sessions_are_counted_and_their_answers_found_in_all_of_them(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let other = |row: Row| Row {
        session_id: "other".to_owned(),
        ..row
    };
    let rows = [
        full(1, 0),
        failed(2, 1),
        // Of these tasks, only the second one still waits.
        pending(3, 2, "answered"),
        pending(4, 3, "waits"),
        Row {
            task_id: Some("answered".to_owned()),
            action_type: Some("CAP-PRE-001+CAP-PRE-002".to_owned()),
            timestamp: "2026-02-25T10:00:00.000Z".to_owned(),
            ..full(5, 4)
        },
        // A step of a task is no task that failed.
        Row {
            parent: Some("op_5".to_owned()),
            position: Some(1),
            ..failed(6, 5)
        },
        other(Row {
            target_id: Some("plan_7".to_owned()),
            ..failed(7, 0)
        }),
    ];
    written(&mut *store, |tx| {
        open_session(tx, "other")?;
        rows.iter().try_for_each(|row| tx.put(row))
    });
    let counts = |session_id: &str, [steps, failed, waiting]: [u64; 3]| Counts {
        session_id: session_id.to_owned(),
        steps,
        failed,
        waiting,
    };
    let all = [counts("other", [1, 1, 0]), counts(SESSION, [6, 1, 1])];
    for most in [1, 9] {
        let found = read::<_, StoreError>(&mut *store, |tx| tx.counts(most)).unwrap();
        assert_eq!(found, all[..most.min(2)]);
    }
    let mut found = |which: Which| ids(&mut *store, &which, 10);
    assert_eq!(found(Which::newest().failed()), [7, 2]);
    assert_eq!(found(Which::latest(SESSION).failed()), [2]);
    let since = |time| Which::newest().answered_since(time);
    assert_eq!(found(since("2026-02-24T10:00:00.124Z")), [5]);
    assert_eq!(found(since("2026-02-24T10:00:00.123Z")).len(), 7);
    let of = |entry| Which::latest(SESSION).of_entry(entry);
    assert_eq!(found(of("CAP-PRE-001")), [5]);
    assert_eq!(found(of("CAP-PRE-002")), [6, 5, 4, 3, 2, 1]);
    assert_eq!(found(of("CAP-PRE")), [0; 0]);
    assert_eq!(found(Which::called("waits")), [4]);
    assert_eq!(found(Which::called("plan_7")), [7]);
    assert_eq!(found(Which::task_anywhere("answered")), [5, 3]);
}
