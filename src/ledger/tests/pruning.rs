//! Old payloads go, and the chain stays.

use super::{
    tampering::{InFile, other, record},
    *,
};
use crate::{evidence::Signers, people::PruneWish};

const DAY: Duration = Duration::from_hours(24);

fn database(place: &Place) -> rusqlite::Connection {
    rusqlite::Connection::open(place.file.dir().join("ledger.db")).unwrap()
}

/// Makes the rows of those links that old, and their links as if it had always been so.
fn old_place(days: i64) -> Place {
    let mut place = Place::new();
    let then = "2026-02-24T10:00:00+08:00[Asia/Singapore]".to_string();
    let then: jiff::Zoned = then.parse().unwrap();
    place.host = Host::new(
        Some(&then - jiff::Span::new().days(days)),
        Some(2),
        Interrupts::catch(),
    );
    let at = place.host.timestamp();
    let end = Ended {
        at,
        began: at,
        ..ended()
    };
    done(&place, &ask("op_1"), &end);
    done(&place, &other(once("op_2"), 2), &end);
    place.host = host();
    place
}

/// A ledger with a once-only call of a year ago, about which a person has yet to decide.
fn undecided() -> Place {
    let mut place = Place::new();
    let then = "2025-02-24T10:00:00+08:00[Asia/Singapore]".parse().unwrap();
    place.host = Host::new(Some(then), Some(2), Interrupts::catch());
    let at = place.host.timestamp();
    let open = Ended {
        state: RowState::Unknown,
        at,
        began: at,
        ..failed()
    };
    done(&place, &once("op_1"), &open);
    place.host = host();
    place
}

#[test]
fn payloads_that_are_old_go_and_the_chain_stays_whole() {
    let place = old_place(91);
    done(&place, &other(ask("op_3"), 3), &ended());
    let mut ledger = place.open();
    let before = place.rows();
    let pruned = ledger.prune(DAY * 90, PruneWish::Prune).unwrap();
    assert_eq!((pruned.rows, pruned.kept, pruned.links.len()), (2, 0, 1));
    let sizes = before[..2].iter().map(|row| {
        (row.request.as_ref().unwrap().len() + row.response.as_ref().unwrap().len()) as u64
    });
    assert_eq!(pruned.bytes, sizes.sum::<u64>());
    let rows = place.rows();
    let bare = |row: &Row| (row.request.is_none(), row.response.is_none());
    assert_eq!(
        rows.iter().map(bare).collect::<Vec<_>>(),
        [(true, true), (true, true), (false, false)]
    );
    assert_eq!(rows[0].response_sha256, before[0].response_sha256);
    let verdict =
        crate::evidence::verify::verify(&mut ledger, Vec::new(), Signers::Nobody).unwrap();
    assert_eq!(verdict.broken, None);
    assert_eq!((verdict.rows, verdict.payloads, verdict.pruned), (3, 1, 2));
    // Nothing is left to prune.
    let again = ledger.prune(DAY * 90, PruneWish::Prune).unwrap();
    assert_eq!((again.rows, again.links.len()), (0, 0));
}

#[test]
fn a_look_removes_nothing() {
    let place = old_place(91);
    let before = place.rows();
    let pruned = place.open().prune(DAY * 90, PruneWish::DryRun).unwrap();
    assert_eq!((pruned.rows, pruned.links.len()), (2, 0));
    assert_eq!(place.rows(), before);
}

#[test]
fn what_is_younger_than_asked_stays() {
    let place = old_place(89);
    let pruned = place.open().prune(DAY * 90, PruneWish::Prune).unwrap();
    assert_eq!((pruned.rows, pruned.kept), (0, 0));
}

#[test]
fn the_time_in_a_row_is_not_believed() {
    let file = InFile::new();
    record(&mut file.open(), &ask("op_1"), &ended());
    let set = "UPDATE agent_actions SET timestamp = '2020-01-01T00:00:00.000Z'";
    assert_eq!(file.database().execute(set, []).unwrap(), 1);
    let pruned = file.open().prune(DAY * 90, PruneWish::Prune).unwrap();
    assert_eq!((pruned.rows, pruned.kept, pruned.changed), (0, 0, 1));
}

#[test]
fn a_changed_answer_stays_as_evidence() {
    for change in [
        "response = 'forged'",
        "request = 'forged'",
        "response = NULL",
        "request = NULL",
        "task_id = 'forged'",
    ] {
        let place = old_place(91);
        let set = format!("UPDATE agent_actions SET {change} WHERE operation_id = 'op_1'");
        assert_eq!(database(&place).execute(&set, []).unwrap(), 1);
        let mut ledger = place.open();
        let pruned = ledger.prune(DAY * 90, PruneWish::Prune).unwrap();
        assert_eq!((pruned.rows, pruned.changed), (1, 1), "{change}");
        let verdict =
            crate::evidence::verify::verify(&mut ledger, Vec::new(), Signers::Nobody).unwrap();
        assert!(verdict.broken.is_some(), "{change}");
    }
}

#[test]
fn answers_of_the_last_day_stay_whatever_is_asked() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    let pruned = place
        .open()
        .prune(Duration::ZERO, PruneWish::Prune)
        .unwrap();
    assert_eq!((pruned.rows, pruned.kept), (0, 1));
}

#[test]
fn what_a_person_has_yet_to_decide_about_stays() {
    let place = undecided();
    let pruned = place.open().prune(DAY * 90, PruneWish::Prune).unwrap();
    assert_eq!((pruned.rows, pruned.kept), (0, 1));
}

#[test]
fn many_answers_are_pruned_by_several_links_that_each_fit() {
    let file = InFile::new();
    let mut ledger = file.open();
    let at = "2025-02-24T02:00:00Z".parse().unwrap();
    let end = Ended {
        at,
        began: at,
        ..ended()
    };
    for number in 0..200 {
        let operation = Box::leak(format!("op_{number}").into_boxed_str());
        record(&mut ledger, &other(ask(operation), number), &end);
    }
    let pruned = ledger.prune(DAY * 90, PruneWish::Prune).unwrap();
    assert_eq!(pruned.rows, 200);
    assert!(pruned.links.len() > 2, "{pruned:?}");
    let verdict = file.verdict();
    assert_eq!((verdict.broken.clone(), verdict.pruned), (None, 200));
}

#[test]
fn an_answer_given_again_after_it_was_pruned_is_no_damage() {
    let place = old_place(91);
    let mut ledger = place.open();
    ledger.prune(DAY * 90, PruneWish::Prune).unwrap();
    // Once only: it is not done again, though nobody can say any more what came of it.
    let asked = begin(&mut ledger, &other(once("op_3"), 2), &Around::default());
    assert_eq!(said(asked), Err(Again::Suppressed));
    // The repetition lacks the answer because the answer was pruned, and is believed as well.
    let asked = begin(&mut ledger, &other(once("op_3"), 2), &Around::default());
    assert_eq!(said(asked), Err(Again::Replayed));
    let verdict =
        crate::evidence::verify::verify(&mut ledger, Vec::new(), Signers::Nobody).unwrap();
    assert_eq!(verdict.broken, None);
}
