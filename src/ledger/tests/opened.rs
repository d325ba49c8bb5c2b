//! What is open has its claim, and nothing else has one: the chain tells.

use super::{
    tampering::{InFile, broken, other, record},
    *,
};
use crate::ledger::verify::Damage;

#[test]
fn a_claim_that_nobody_made_is_found() {
    let file = InFile::filled();
    file.change("INSERT INTO claims VALUES ('s', 'sha256:x', 'op_9', 2, 'unknown', 'once')");
    let found = broken(&file);
    assert_eq!(found.link, Some(2));
    let operation = "op_9".to_owned();
    assert_eq!(found.what, Damage::ClaimAstray { operation });
}

#[test]
fn what_is_open_cannot_be_made_to_look_as_if_it_were_not() {
    for (change, at, gone) in [
        ("DELETE FROM claims", 11, true),
        ("DELETE FROM claims WHERE state = 'unknown'", 11, true),
        (
            "UPDATE claims SET state = 'reserved', effects = 'none'",
            11,
            false,
        ),
        (
            "UPDATE claims SET effects = 'idempotent' WHERE seq = 14",
            14,
            false,
        ),
        (
            "UPDATE claims SET request_hash = 'x' WHERE seq = 14",
            14,
            false,
        ),
        (
            "UPDATE claims SET session_id = 'x' WHERE seq = 11",
            11,
            false,
        ),
    ] {
        let file = InFile::filled();
        let mut ledger = file.open();
        let open = Ended {
            state: RowState::Unknown,
            ..failed()
        };
        record(&mut ledger, &other(once("op_5"), 5), &open);
        drop(ledger);
        let mut died = file.open();
        let ask = other(once("op_6"), 6);
        let begun = running(begin(&mut died, &ask, &Around::default()));
        died.dispatch(&ask, &begun, None).unwrap();
        drop(died);
        let verdict = file.verdict();
        assert_eq!(
            (verdict.broken, verdict.unknown, verdict.at_work),
            (None, 1, 1)
        );
        file.change(change);
        let found = broken(&file);
        assert_eq!(found.link, Some(at), "{change}: {found:?}");
        assert_eq!(
            matches!(found.what, Damage::ClaimGone { .. }),
            gone,
            "{change}: {found:?}"
        );
        assert!(
            gone || matches!(found.what, Damage::ClaimChanged { .. }),
            "{change}: {found:?}"
        );
    }
}

#[test]
fn a_claim_that_was_settled_cannot_be_put_back() {
    let file = InFile::filled();
    file.change("INSERT INTO claims VALUES ('s', 'sha256:x', 'op_3', 5, 'unknown', 'once')");
    assert!(matches!(broken(&file).what, Damage::ClaimAstray { .. }));
}
