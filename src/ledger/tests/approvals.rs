//! The list of requests for approvals, and one of them.

use std::{cell::Cell, rc::Rc};

use super::*;
use crate::{
    approval::{Approval, Gesture, request::Intended},
    ledger::{ApprovalNote, store::tests::Counting},
    people::Reading,
    task::{Answer, Policy},
};

fn intended() -> Intended {
    Intended {
        policy: Policy {
            root: Some("/r".to_owned()),
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
        asks(&place, &ask);
    }
    place
}

/// Records that this request waits for an approval.
fn asks(place: &Place, ask: &Ask<'_>) {
    let mut ledger = place.open();
    let running = running(begin(&mut ledger, ask, &Around::default()));
    let note = ApprovalNote::request(&ask.who, &intended(), NOW.parse().unwrap(), [0; 16]);
    let waits = Ended {
        approval: Some(note),
        state: RowState::Pending,
        outputs: Vec::new(),
        ..failed()
    };
    let recorded = ledger.finish(ask, running, waits);
    assert!(recorded.head.is_some(), "{recorded:?}");
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
        case.request.id
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
fn an_empty_text_names_no_request_even_if_there_is_only_one() {
    let place = asked_by(&[("op_1", "a")]);
    let mut reading = Reading::of(Box::new(place.file.store()), NOW.parse().unwrap());
    for text in ["", "apr_"] {
        let found = reading.approval(text);
        let failure = found.unwrap_err();
        assert!(
            failure.message.contains("has an id that begins"),
            "{text:?}"
        );
    }
    assert_eq!(reading.approval("op").unwrap().0.id, "apr_op_1");
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
    assert_eq!(ended, [None, None, Some(cases[0].seq)]);
    let votes: Vec<_> = cases.iter().map(|case| case.votes.len()).collect();
    assert_eq!(votes, [0, 1, 0]);
}

/// A request in a session, and whether the caller has named the session.
fn in_session(operation: &'static str, session: &'static str, bound: Bound) -> Ask<'static> {
    let mut ask = once(operation);
    ask.who.session_id = session;
    ask.who.task_id = Some(operation);
    ask.who.bound = bound;
    ask
}

/// An approval is bound to the call, the root and the asker, and to a session or a task only if the caller named it.
#[test]
fn a_task_goes_on_with_the_open_request_that_its_names_allow() {
    let found = |asked: &Ask<'_>, next: &Ask<'_>, root: &str| {
        let place = Place::new();
        asks(&place, asked);
        let found = place.open().joined(next, root).unwrap();
        found.map(|case| (case.request.session_id, case.request.task_id))
    };
    let first = |bound| in_session("op_1", "s1", bound);
    let next = |session, bound| in_session("op_2", session, bound);
    let it = Some(("s1".to_owned(), Some("op_1".to_owned())));
    for (asked, session, bound, expected) in [
        (Bound::Call, "s2", Bound::Call, &it),
        (Bound::Call, "s1", Bound::Task, &it),
        (Bound::Call, "s2", Bound::Task, &None),
        (Bound::Session, "s1", Bound::Session, &it),
        (Bound::Session, "s2", Bound::Session, &None),
        (Bound::Session, "s2", Bound::Call, &None),
        (Bound::Task, "s1", Bound::Task, &None),
        (Bound::Task, "s2", Bound::Call, &None),
    ] {
        let found = found(&first(asked), &next(session, bound), "/r");
        assert_eq!(found, *expected, "{asked:?} {session} {bound:?}");
    }
    let free = first(Bound::Call);
    assert_eq!(found(&free, &next("s2", Bound::Call), "/other"), None);
    let mut changed = next("s2", Bound::Call);
    changed.asked.salt = Some("again".to_owned());
    assert_eq!(found(&free, &changed, "/r"), None);
    let mut other = next("s2", Bound::Call);
    other.who.context = "USER_INVOCATION";
    assert_eq!(found(&free, &other, "/r"), None);
}

#[test]
fn of_several_open_requests_a_denied_one_counts_before_an_approved_one() {
    let place = Place::new();
    for (operation, session) in [("op_1", "s1"), ("op_2", "s2"), ("op_3", "s3")] {
        asks(&place, &in_session(operation, session, Bound::Call));
    }
    let next = in_session("op_9", "s9", Bound::Call);
    let vote = |id: &str, answer| {
        let mut reading = Reading::of(Box::new(place.file.store()), NOW.parse().unwrap());
        let (case, _) = reading.approval(id).unwrap();
        let policy = (intended().policy, Vec::new());
        let voted = place
            .open()
            .vote(&case, answer, Gesture::Terminal, policy, None);
        voted.unwrap().before.is_some()
    };
    let found = || {
        place
            .open()
            .joined(&next, "/r")
            .unwrap()
            .unwrap()
            .request
            .id
    };
    assert_eq!(found(), "apr_op_3");
    assert!(!vote("op_1", Answer::Approved));
    assert_eq!(found(), "apr_op_1");
    assert!(!vote("op_3", Answer::Denied));
    assert_eq!(found(), "apr_op_3");
    // The same person approves once.
    assert!(vote("op_1", Answer::Approved));
}
