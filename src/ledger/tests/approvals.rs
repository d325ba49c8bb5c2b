//! The list of requests for approvals, and one of them.

use std::{cell::Cell, rc::Rc};

use super::*;
use crate::{
    ledger::{Approval, Gesture, Intended, Note, Reading, store::tests::Counting},
    task::{Answer, Policy},
};

fn intended() -> Intended {
    Intended {
        policy: Policy {
            expires: Duration::from_mins(15),
            ..Policy::default()
        },
        intent_hash: "sha256:1".to_owned(),
        preview_hash: None,
        signers: Vec::new(),
    }
}

/// A ledger in which operations of these tasks ask for an approval of one request, one after the other.
fn asked_by(asking: &[(&'static str, &'static str)]) -> Place {
    let place = Place::new();
    for (operation, task) in asking {
        let mut ask = once(operation);
        ask.who.task_id = Some(task);
        let mut ledger = place.open();
        let running = running(begin(&mut ledger, &ask, &Around::default()));
        let note = Note::request(
            ask.who.operation_id,
            &intended(),
            NOW.parse().unwrap(),
            [0; 16],
        );
        let waits = Ended {
            approval: Some(note),
            state: RowState::Pending,
            outputs: Vec::new(),
            ..failed()
        };
        let recorded = ledger.finish(&ask, running, waits);
        assert!(recorded.head.is_some(), "{recorded:?}");
    }
    place
}

/// The ids of the requests that `read` returns, and the number of rows and links that it finds.
fn counted(
    place: &Place,
    read: impl FnOnce(&mut Reading) -> Vec<(Approval, Option<Row>)>,
) -> (Vec<String>, usize) {
    let found = Rc::new(Cell::new(0));
    let store = Counting {
        store: place.file.store(),
        found: Rc::clone(&found),
    };
    let mut reading = Reading::of(Box::new(store), NOW.parse().unwrap());
    let cases = read(&mut reading).into_iter();
    let ids = cases.map(|(case, row)| {
        assert_eq!(row.unwrap().operation_id, case.operation_id);
        case.id
    });
    (ids.collect(), found.get())
}

#[test]
fn the_links_of_one_content_are_read_once_for_all_its_requests() {
    let asking = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|id| (id, id));
    let [few, many] = [4, 8].map(|count| {
        let place = asked_by(&asking[..count]);
        let (ids, found) = counted(&place, |reading| reading.approvals().unwrap());
        let newest_first = asking[..count].iter().rev();
        let newest_first: Vec<_> = newest_first.map(|(id, _)| format!("apr_{id}")).collect();
        assert_eq!(ids, newest_first);
        found
    });
    assert!(many <= 2 * few, "{few} {many}");
}

#[test]
fn one_request_is_found_without_the_links_and_rows_of_the_others() {
    let place = asked_by(&[("op_1", "a"), ("op_2", "b"), ("op_3", "c")]);
    let (_, all) = counted(&place, |reading| reading.approvals().unwrap());
    let (ids, one) = counted(&place, |reading| vec![reading.approval("op_2").unwrap()]);
    assert_eq!(ids, ["apr_op_2"]);
    assert!(one < all, "{one} {all}");
}

#[test]
fn a_decision_counts_for_its_request_and_the_next_request_of_a_task_ends_the_one_before() {
    let place = asked_by(&[("op_1", "a"), ("op_2", "b"), ("op_3", "a")]);
    let mut reading = Reading::of(Box::new(place.file.store()), NOW.parse().unwrap());
    let (second, _) = reading.approval("op_2").unwrap();
    let policy = (intended().policy, Vec::new());
    let voted = place
        .open()
        .vote(&second, Answer::Denied, Gesture::Terminal, policy, None);
    assert_eq!(voted.unwrap().case.id, "apr_op_2");
    let cases = reading.approvals().unwrap().into_iter();
    let cases: Vec<Approval> = cases.map(|(case, _)| case).collect();
    let ended: Vec<_> = cases.iter().map(|case| case.ended).collect();
    assert_eq!(ended, [None, None, Some(cases[0].link)]);
    let votes: Vec<_> = cases.iter().map(|case| case.votes.len()).collect();
    assert_eq!(votes, [0, 1, 0]);
}
