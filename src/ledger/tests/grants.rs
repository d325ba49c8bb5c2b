//! Each condition of a call under a grant, with the others fulfilled (R-003-06).

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::*;
use crate::{
    approval::request::Passage,
    ledger::{ApprovalNote, words::Under},
    task::{Granted, IMPROVISED},
};

/// What `note` is sealed as.
const SEAL: &str = "0011223344556677";

/// Opens a grant with the operation `op_grant`.
fn open(place: &Place, max_calls: u32, until: &str) {
    let mut proposal = ask("op_grant");
    proposal.asked.steps[0].entry = IMPROVISED.to_owned();
    let opens = ApprovalNote::Opens {
        granted: Granted {
            entries: BTreeMap::from([("note".to_owned(), SEAL.to_owned())]),
            max_calls,
            until: until.to_owned(),
        },
        home: "here".to_owned(),
    };
    let ended = Ended {
        approval: Some(opens),
        ..ended()
    };
    done(place, &proposal, &ended);
}

fn call(operation: &'static str, under: &'static str) -> Ask<'static> {
    let mut call = ask(operation);
    call.asked.steps[0].entry = "note".to_owned();
    call.asked.salt = Some(operation.to_owned());
    call.effects = Effects::None;
    call.under = Some(Under {
        operation_id: under,
        seal: SEAL.to_owned(),
        home: "here".to_owned(),
    });
    call
}

/// The class of the refusal; none if the call is dispatched.
fn dispatched(place: &Place, call: &Ask<'_>) -> Option<Fault> {
    let mut ledger = place.open();
    let running = running(begin(&mut ledger, call, &Around::default()));
    match ledger.dispatch(call, &running, None).unwrap() {
        Passage::Dispatched => None,
        Passage::Ungranted(failure) => Some(failure.fault),
        other => panic!("{other:?}"),
    }
}

const LATER: &str = "2026-02-24T02:00:00.001Z";

#[test]
fn a_call_is_dispatched_only_if_its_grant_covers_it() {
    let place = Place::new();
    open(&place, 2, LATER);
    assert_eq!(dispatched(&place, &call("op_1", "op_grant")), None);
    for under in ["op_gran", "op_1", "op_2", ""] {
        let refused = dispatched(&place, &call("op_2", under));
        assert_eq!(refused, Some(Fault::GrantNotFound), "{under}");
    }
    let mut other = call("op_3", "op_grant");
    other.asked.steps[0].entry = "other".to_owned();
    assert_eq!(dispatched(&place, &other), Some(Fault::GrantMismatch));
    let mut changed = call("op_4", "op_grant");
    changed.under.as_mut().unwrap().seal = "8899aabbccddeeff".to_owned();
    assert_eq!(dispatched(&place, &changed), Some(Fault::GrantMismatch));
    let mut elsewhere = call("op_5", "op_grant");
    elsewhere.under.as_mut().unwrap().home = "there".to_owned();
    assert_eq!(dispatched(&place, &elsewhere), Some(Fault::GrantMismatch));
    let mut elsewhere = call("op_5", "op_grant");
    elsewhere.who.session_id = "s2";
    assert_eq!(dispatched(&place, &elsewhere), Some(Fault::GrantNotFound));
    assert_eq!(dispatched(&place, &call("op_6", "op_grant")), None);
    let refused = dispatched(&place, &call("op_7", "op_grant"));
    assert_eq!(refused, Some(Fault::GrantUsedUp));
    place.open().close("op_grant", None).unwrap();
    let refused = dispatched(&place, &call("op_8", "op_grant"));
    assert_eq!(refused, Some(Fault::GrantClosed));
    assert!(place.open().close("op_grant", None).is_err());
    assert!(place.open().close("op_1", None).is_err());
}

#[test]
fn a_grant_covers_nothing_from_its_last_instant_on() {
    for (until, refused) in [(LATER, None), (NOW, Some(Fault::GrantExpired))] {
        let place = Place::new();
        open(&place, 2, until);
        assert_eq!(
            dispatched(&place, &call("op_1", "op_grant")),
            refused,
            "{until}"
        );
    }
}

#[test]
fn a_revoked_answer_is_a_closed_grant_and_a_changed_grant_is_none() {
    let place = Place::new();
    open(&place, 2, LATER);
    take_back(&place, "op_grant");
    let refused = dispatched(&place, &call("op_1", "op_grant"));
    assert_eq!(refused, Some(Fault::GrantClosed));
    let place = Place::new();
    open(&place, 2, LATER);
    let ledger = Connection::open(place.file.dir().join("ledger.db")).unwrap();
    let more = "UPDATE grants SET granted = replace(granted, '\"max_calls\":2', '\"max_calls\":3')";
    assert_eq!(ledger.execute(more, []).unwrap(), 1);
    let refused = dispatched(&place, &call("op_1", "op_grant"));
    assert_eq!(refused, Some(Fault::GrantNotFound));
}
