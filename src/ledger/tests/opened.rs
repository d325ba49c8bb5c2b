//! The claims are as the chain tells.

use super::{
    tampering::{InFile, broken, other, record},
    *,
};
use crate::evidence::verify::Damage;

#[test]
fn a_claim_that_nobody_made_is_found() {
    for seq in [2, 99] {
        let file = InFile::filled();
        file.change(&format!(
            "INSERT INTO claims SELECT {seq}, session_id, 'x', request_hash, 'op_9', delivery, attempt, task_id, {seq}, \
             effects, action, home, entry_digest, fence, reason, claimed_at, state, under, sent, changed, ended FROM claims LIMIT 1"
        ));
        let found = broken(&file);
        assert_eq!(found.link, Some(seq));
        assert_eq!(found.what, Damage::Astray { table: "claims" });
    }
}

#[test]
fn what_is_open_cannot_be_made_to_look_as_if_it_were_not() {
    for (change, at, gone) in [
        ("DELETE FROM claims WHERE ended IS NULL", 11, true),
        ("DELETE FROM claims WHERE state = 'unknown'", 11, true),
        (
            "UPDATE claims SET effects = 'none' WHERE ended IS NULL",
            11,
            false,
        ),
        (
            "UPDATE claims SET state = 'ended', ended = 13 WHERE seq = 11",
            11,
            false,
        ),
        ("UPDATE claims SET sent = NULL WHERE seq = 14", 14, false),
        (
            "UPDATE claims SET effects = 'idempotent' WHERE seq = 14",
            14,
            false,
        ),
        ("UPDATE claims SET claimed = 'x' WHERE seq = 14", 14, false),
        ("UPDATE claims SET fence = 'x' WHERE seq = 14", 14, false),
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
            matches!(found.what, Damage::Gone { table: "claims" }),
            gone,
            "{change}: {found:?}"
        );
        assert!(
            gone || matches!(found.what, Damage::Changed { table: "claims" }),
            "{change}: {found:?}"
        );
    }
}

#[test]
fn a_claim_that_was_settled_cannot_be_put_back() {
    for change in [
        "state = 'unknown', ended = NULL",
        "state = 'ended'",
        "changed = NULL",
    ] {
        let file = InFile::filled();
        file.change(&format!(
            "UPDATE claims SET {change} WHERE operation_id = 'op_3'"
        ));
        let damage = broken(&file).what;
        assert!(
            matches!(damage, Damage::Changed { table: "claims" }),
            "{change}: {damage}"
        );
    }
}
