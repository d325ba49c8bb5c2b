//! Facts about claims and who holds them, and about what people are asked and decide.

use super::Ledger;
use super::given::{SESSION, begun, claim, full, refused, seen, written};
use crate::{
    ledger::{
        record::{
            AskedApproval, Body, Claim, ClaimState, Event, Grant, Judgement, Link, Request,
            StateChange, Vote, changes, name,
        },
        store::{Seq, Store, StoreError, Trouble, Tx},
    },
    task::{Answer, Granted, ReviewState},
};

/// A claim with a value in every column.
fn whole(seq: u64) -> Claim {
    let some = |text: &str| Some(text.to_owned());
    Claim {
        delivery: some("delivery:1"),
        attempt: 2,
        task_id: some("task_1 \u{1f600}"),
        began: 1,
        action: some("CAP-PRE-002"),
        home: some("root"),
        entry_digest: some("digest"),
        fence: some("hmac-sha256:1"),
        reason: some("new"),
        ..claim("a", seq)
    }
}

pub(crate) fn a_claim_comes_back_as_it_was_written_and_goes_on(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let mut claim = whole(2);
    written(&mut *store, |tx| tx.put(&claim));
    for change in [
        Claim {
            state: ClaimState::Dispatched,
            under: Some("op_1".to_owned()),
            sent: Some(3),
            changed: Some(3),
            ..claim.clone()
        },
        Claim {
            state: ClaimState::Succeeded,
            under: Some("op_1".to_owned()),
            sent: Some(3),
            changed: Some(4),
            ended: Some(4),
            ..claim.clone()
        },
    ] {
        let event = match change.state {
            ClaimState::Dispatched => Event::Dispatched,
            _ => Event::Succeeded,
        };
        let body = Body {
            claim: Some(2),
            changes: changes(StateChange::State),
            under: change.under.clone(),
            ..Body::default()
        };
        let link = link(change.changed.unwrap(), event);
        written(&mut *store, |tx| tx.advance(&link, &body));
        claim = change;
        assert_eq!(seen(&mut *store, |tx| tx.claim(2)), Some(claim.clone()));
    }
    assert_eq!(seen(&mut *store, |tx| tx.page::<Claim>(0, 9)), [claim]);
}

pub(crate) fn one_claim_of_a_key_is_open(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let (first, other) = (claim("a", 2), claim("b", 1));
    written(&mut *store, |tx| {
        tx.put(&first)?;
        tx.put(&other)
    });
    refused(&mut *store, |tx| tx.put(&claim("a", 3)));
    let open = |store: &mut dyn Store| seen(store, |tx| tx.open_claim(SESSION, &first.claimed));
    assert_eq!(open(&mut *store), Some(first.clone()));
    let next = claim("a", 3);
    written(&mut *store, |tx| {
        let body = Body {
            claim: Some(2),
            ..Body::default()
        };
        tx.advance(&link(3, Event::TakenOver), &body)?;
        tx.put(&next)
    });
    assert_eq!(open(&mut *store), Some(next.clone()));
    let all = seen(&mut *store, |tx| tx.open_claims(None));
    assert_eq!(all, [other, next]);
    assert_eq!(seen(&mut *store, |tx| tx.open_claims(Some("other"))), []);
}

pub(crate) fn claims_are_found_by_what_they_are_about(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let ended = |claim: Claim, state| Claim {
        state,
        ended: Some(claim.seq),
        ..claim
    };
    let claims = [
        ended(whole(1), ClaimState::Succeeded),
        ended(whole(2), ClaimState::Ended),
        Claim {
            under: Some("op_1".to_owned()),
            sent: Some(5),
            changed: Some(5),
            operation_id: "op_2.1".to_owned(),
            ..claim("b", 3)
        },
        whole(4),
    ];
    written(&mut *store, |tx| {
        claims.iter().try_for_each(|claim| tx.put(claim))
    });
    let numbers = |claims: Vec<Claim>| claims.iter().map(|claim| claim.seq).collect::<Vec<_>>();
    let mut found = |work: &dyn Fn(&mut Tx<'_>) -> Result<Vec<Claim>, StoreError>| {
        numbers(seen(&mut *store, |tx| work(tx)))
    };
    assert_eq!(
        found(&|tx| tx.claims_of_delivery(SESSION, "delivery:1")),
        [4, 2, 1]
    );
    assert_eq!(found(&|tx| tx.claims_of_request(SESSION, "a")), [1, 2, 4]);
    assert_eq!(found(&|tx| tx.claims_of_request("other", "a")), [0; 0]);
    assert_eq!(found(&|tx| tx.claims_named("op_2")), [2, 3]);
    assert_eq!(found(&|tx| tx.claims_named("op_2.")), [3]);
    assert_eq!(found(&|tx| tx.open_claims_of_action("hmac-sha256:1")), [4]);
    assert_eq!(
        found(&|tx| tx.open_claims_of_action("hmac-sha256:2")),
        [0; 0]
    );
    let success = |tx: &mut Tx<'_>| {
        Ok(tx
            .success_of(SESSION, "a", &whole(1).claimed)?
            .into_iter()
            .collect())
    };
    assert_eq!(found(&success), [1]);
    assert_eq!(seen(&mut *store, |tx| tx.calls_under("op_1")), ["op_2.1"]);
    let mut changed = |seq, but: &str| seen(&mut *store, |tx| tx.changed_since(seq, SESSION, but));
    assert!(changed(4, "op_9"));
    assert!(!changed(5, "op_9"));
    // Neither the operation itself nor its steps count.
    assert!(!changed(4, "op_2.1"));
    assert!(!changed(4, "op_2"));
}

pub(crate) fn what_people_are_asked_and_decide_comes_back_as_it_was_written(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let some = |text: &str| Some(text.to_owned());
    let request = |seq| Request {
        seq,
        id: format!("apr_{seq}"),
        session_id: SESSION.to_owned(),
        operation_id: "op_1".to_owned(),
        request_hash: "h".to_owned(),
        task_id: some("t"),
        root: some("r"),
        row_id: full(1, 0).id,
        asked_by: "uid:1".to_owned(),
        asked_at: "2026-02-24T10:00:00.000Z".to_owned(),
        asked: AskedApproval {
            root: some("r"),
            nonce: "\"é".to_owned(),
            ..AskedApproval::default()
        },
        used: None,
        ended: None,
    };
    let vote = Vote {
        seq: 3,
        row_id: full(1, 0).id,
        answer: Answer::Approved,
        actor: "uid:2".to_owned(),
        signature: some("s"),
        host: some("h"),
        at: "2026-02-24T10:00:00.000Z".to_owned(),
        note: some("n"),
    };
    written(&mut *store, |tx| {
        tx.put(&full(1, 0))?;
        tx.put_request(&request(1))?;
        tx.put(&vote)
    });
    assert_eq!(seen(&mut *store, |tx| tx.of(1)), Some(request(1)));
    assert_eq!(seen(&mut *store, |tx| tx.votes(&request(1))), [vote]);
    // The next request of the task takes its place.
    written(&mut *store, |tx| tx.put_request(&request(2)));
    let ended = Request {
        ended: Some(2),
        ..request(1)
    };
    assert_eq!(seen(&mut *store, |tx| tx.of(1)), Some(ended.clone()));
    let about = |tx: &mut Tx<'_>| tx.newest_request([SESSION, "h", "t", "r"].map(Some));
    assert_eq!(seen(&mut *store, about), Some(request(2)));
    let open = seen(&mut *store, |tx| tx.open_requests_of("uid:1", 9));
    assert_eq!(open, [request(2)]);
    assert_eq!(
        seen(&mut *store, |tx| tx.requests("apr_")),
        [request(2), ended]
    );
    let used = Request {
        used: Some(4),
        ..request(2)
    };
    let body = Body {
        approval: some("apr_2"),
        ..Body::default()
    };
    written(&mut *store, |tx| {
        tx.settle_request(&link(4, Event::Dispatched), &body)
    });
    assert_eq!(seen(&mut *store, |tx| tx.of(2)), Some(used));
}

pub(crate) fn grants_and_reviews_come_back_as_they_were_written(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let row = full(1, 0);
    let grant = Grant {
        seq: 1,
        operation_id: "op_1".to_owned(),
        session_id: SESSION.to_owned(),
        row_id: row.id.clone(),
        home: Some("root".to_owned()),
        granted: Granted {
            entries: [("e".to_owned(), "s".to_owned())].into(),
            max_calls: 2,
            until: "u".to_owned(),
        },
    };
    let judgement = |seq, state| Judgement {
        seq,
        session_id: SESSION.to_owned(),
        row_id: row.id.clone(),
        state,
        actor: "uid:1".to_owned(),
        at: "2026-02-24T10:00:00.000Z".to_owned(),
    };
    let (first, second) = (
        judgement(2, ReviewState::Rejected),
        judgement(3, ReviewState::Accepted),
    );
    written(&mut *store, |tx| {
        tx.put(&row)?;
        tx.put(&grant)?;
        tx.put(&first)?;
        tx.put(&second)
    });
    assert_eq!(seen(&mut *store, |tx| tx.grant(&row.id)), Some(grant));
    assert_eq!(
        seen(&mut *store, |tx| tx.review(&row.id)),
        Some(second.clone())
    );
    assert_eq!(seen(&mut *store, |tx| tx.of(2)), Some(first));
    assert_eq!(seen(&mut *store, |tx| tx.reviews(SESSION, 3)), [second]);
}

pub(crate) fn whoever_holds_a_claim_is_seen_by_others_until_it_ends(ledger: &dyn Ledger) {
    let mut store = begun(ledger);
    let mut other = ledger.open();
    assert!(!other.held(3).unwrap());
    store.hold(3).unwrap();
    store.hold(5).unwrap();
    assert!(store.held(3).unwrap());
    assert!(other.held(3).unwrap());
    assert!(!other.held(4).unwrap());
    assert!(matches!(&other.hold(3), Err(error) if error.trouble == Trouble::Busy));
    other.hold(4).unwrap();
    assert!(store.held(4).unwrap());
    store.release(3);
    store.release(4);
    assert!(!other.held(3).unwrap());
    assert!(!store.held(3).unwrap());
    assert!(store.held(4).unwrap());
    assert!(other.held(5).unwrap());
    drop(store);
    assert!(!other.held(5).unwrap());
    other.hold(5).unwrap();
}

fn link(seq: Seq, event: Event) -> Link {
    Link {
        seq,
        session_id: SESSION.to_owned(),
        event: name(&event),
        ..Link::default()
    }
}
