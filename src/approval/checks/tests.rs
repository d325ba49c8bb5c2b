//! Each check of the table refuses a case of its own, and each is needed. The first check of the design is that there is a
//! request.

use std::time::Duration;

use super::*;
use crate::{
    ledger::{AskedApproval, Bound},
    ledger::{Request, Vote},
    task::{Answer, Approver, Policy},
};

const NOW: &str = "2026-02-24T10:05:00.000Z";

fn intended() -> Intended {
    Intended {
        policy: Policy {
            approvers: vec![vec![
                Approver::Uid(1000),
                Approver::Uid(1001),
                Approver::Uid(2000),
            ]],
            quorum: 2,
            own: SelfApproval::Prevented,
            expires: Duration::from_mins(15),
            ..Policy::default()
        },
        intent_hash: "sha256:1".to_owned(),
        preview_hash: None,
        signers: Vec::new(),
    }
}

fn vote(actor: &str, answer: Answer) -> Vote {
    Vote {
        seq: 2,
        row_id: "row".to_owned(),
        answer,
        actor: actor.to_owned(),
        signature: None,
        host: None,
        at: "2026-02-24T10:02:00.000Z".to_owned(),
        note: None,
    }
}

/// A request of uid 2000 that two others have approved.
fn approved() -> Approval {
    let request = Request {
        seq: 3,
        id: "apr_1".to_owned(),
        asked: AskedApproval {
            bound: Bound::Call,
            expires_at: "2026-02-24T10:15:00.000Z".to_owned(),
            intent_hash: "sha256:1".to_owned(),
            policy: policy(&intended()),
            ..AskedApproval::default()
        },
        asked_by: "uid:2000".to_owned(),
        asked_at: "2026-02-24T10:00:00.000Z".to_owned(),
        ..Request::default()
    };
    Approval {
        request,
        votes: vec![
            vote("uid:1000", Answer::Approved),
            vote("uid:1001", Answer::Approved),
        ],
    }
}

/// A case, and what the run intends.
struct Suit {
    case: Approval,
    intended: Intended,
    now: &'static str,
    session: Option<Session>,
    asker: &'static str,
}

fn suit(change: impl FnOnce(&mut Approval)) -> Suit {
    let mut case = approved();
    change(&mut case);
    Suit {
        case,
        intended: intended(),
        now: NOW,
        session: Some(Session::default()),
        asker: "uid:2000",
    }
}

/// For each check, a case that it alone refuses first.
fn suite() -> Vec<(u8, Suit)> {
    let late = Suit {
        now: "2026-02-24T10:15:00.000Z",
        ..suit(|_| ())
    };
    let gone = Suit {
        session: None,
        ..suit(|_| ())
    };
    let other = Suit {
        asker: "uid:2001",
        ..suit(|_| ())
    };
    vec![
        (9, other),
        (2, suit(|case| case.votes.clear())),
        (
            3,
            suit(|case| case.request.asked.intent_hash = "sha256:2".to_owned()),
        ),
        (
            3,
            suit(|case| case.request.asked.preview_hash = Some("sha256:2".to_owned())),
        ),
        (4, late),
        (5, suit(|case| case.votes.truncate(1))),
        // One person who approves twice is one person.
        (5, suit(|case| case.votes[1] = case.votes[0].clone())),
        (
            6,
            suit(|case| case.votes.push(vote("uid:3000", Answer::Approved))),
        ),
        (
            7,
            suit(|case| case.votes.push(vote("somebody", Answer::Approved))),
        ),
        (
            7,
            suit(|case| case.votes[0].signature = Some("forged".to_owned())),
        ),
        // A host counts only where `by` names elicitation.
        (
            6,
            suit(|case| case.votes[0].host = Some("editor 1".to_owned())),
        ),
        (
            8,
            suit(|case| case.votes.push(vote("uid:2000", Answer::Approved))),
        ),
        (9, gone),
        (
            10,
            suit(|case| case.votes.push(vote("uid:3000", Answer::Denied))),
        ),
        (
            11,
            suit(|case| case.request.asked.policy = "other".to_owned()),
        ),
        (12, suit(|case| case.request.used = Some(9))),
        (12, suit(|case| case.request.ended = Some(9))),
    ]
}

fn refused_by(suit: &Suit, without: Option<u8>) -> Option<u8> {
    let facts = Facts {
        case: &suit.case,
        intended: &suit.intended,
        now: suit.now.parse().unwrap(),
        session: suit.session.clone(),
        asker: suit.asker,
    };
    let checks = CHECKS.iter().filter(|check| Some(check.number) != without);
    first_failed(checks, &facts).map(|check| check.number)
}

#[test]
fn an_approval_that_fits_passes() {
    assert_eq!(refused_by(&suit(|_| ()), None), None);
}

#[test]
fn each_check_refuses_and_is_needed() {
    let suite = suite();
    for number in 2..=12 {
        let mut cases = suite.iter().filter(|(of, _)| *of == number).peekable();
        assert!(cases.peek().is_some(), "no case for check {number}");
        for (_, suit) in cases {
            assert_eq!(refused_by(suit, None), Some(number));
            assert_ne!(refused_by(suit, Some(number)), Some(number));
        }
    }
    let changed = |number: u8| {
        let cases = suite.iter().filter(move |(of, _)| *of == number);
        cases
            .filter(|(_, suit)| refused_by(suit, Some(number)) != refused_by(suit, None))
            .count()
    };
    assert!((2..=12).all(|number| changed(number) > 0));
}

#[test]
fn users_and_keys_with_a_common_name_are_one_person() {
    let key = |print: &str, names: &[&str]| {
        let names = names.iter().map(ToString::to_string).collect();
        Person::Key(print.to_owned(), names)
    };
    for (number, persons) in [
        (2, vec![key("1", &["alice"]), key("2", &["bob"])]),
        (2, vec![key("1", &[]), key("2", &[])]),
        (2, vec![Person::Uid(0), key("1", &["alice"])]),
        (1, vec![key("1", &["alice"]), key("2", &["alice"])]),
        (1, vec![Person::Uid(0), key("1", &["root"])]),
        (1, vec![key("1", &["root"]), Person::Uid(0)]),
        (
            1,
            vec![Person::Uid(0), Person::Host(0, "editor".to_owned())],
        ),
        (
            1,
            vec![key("1", &["root"]), Person::Host(0, "editor".to_owned())],
        ),
        (
            1,
            vec![
                key("1", &["alice"]),
                key("2", &["bob"]),
                key("3", &["alice", "bob"]),
            ],
        ),
    ] {
        assert_eq!(count(persons.clone().into_iter()), number, "{persons:?}");
    }
}

#[test]
fn a_failure_asks_waits_or_refuses() {
    let check = |number: u8| CHECKS.iter().find(|check| check.number == number).unwrap();
    assert!(matches!(check(12).passage(approved()), Passage::Ask));
    assert!(matches!(check(2).passage(approved()), Passage::Wait(_)));
    assert!(matches!(check(5).passage(approved()), Passage::Wait(_)));
    for number in [3, 4, 6, 7, 8, 9, 10, 11] {
        let passage = check(number).passage(approved());
        let Passage::Refused { fault, .. } = passage else {
            panic!("{number}: {passage:?}");
        };
        assert_eq!(fault, check(number).fault, "{number}");
    }
    // Nobody has decided about it yet, so a new request takes its place.
    let undecided = Approval {
        votes: Vec::new(),
        ..approved()
    };
    assert!(matches!(check(3).passage(undecided), Passage::Ask));
}
