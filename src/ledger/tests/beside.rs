//! Of what stands beside the chain, too, everything that is changed is found: sessions, the key for secrets,
//! and what a number below the first would hide.

use super::{
    tampering::{InFile, broken, record},
    *,
};
use crate::ledger::{Signers, verdict::Damage};

/// Who may use a session, and as whom, is the opener's word alone (R-004-03).
#[test]
fn a_session_that_is_not_as_it_was_opened_is_found() {
    let session = || ask("op_1").who.session_id.to_owned();
    let (gone, changed, unsealed) = (
        Damage::SessionGone { session: session() },
        Damage::SessionChanged { session: session() },
        |session: &str| Damage::SessionUnsealed {
            session: session.to_owned(),
        },
    );
    for (change, at, damage) in [
        ("DELETE FROM sessions", 1, gone.clone()),
        ("UPDATE sessions SET seq = 2", 1, gone),
        (
            "UPDATE sessions SET context = 'USER_INVOCATION'",
            1,
            changed.clone(),
        ),
        ("UPDATE sessions SET profile = 'admin'", 1, changed.clone()),
        (
            "UPDATE sessions SET principal = 'uid:4242'",
            1,
            changed.clone(),
        ),
        (
            "UPDATE sessions SET opened_at = '2020-01-01T00:00:00.000Z'",
            1,
            changed.clone(),
        ),
        ("UPDATE sessions SET session_id = 'other'", 1, changed),
        (
            "INSERT INTO sessions VALUES (5, 'more', 'USER_INVOCATION', 'p', 'uid:0', 'now')",
            5,
            unsealed("more"),
        ),
        (
            "INSERT INTO sessions VALUES (99, 'more', 'USER_INVOCATION', 'p', 'uid:0', 'now')",
            99,
            unsealed("more"),
        ),
    ] {
        let file = InFile::filled();
        file.change(change);
        let found = broken(&file);
        assert_eq!((found.link, found.what), (Some(at), damage), "{change}");
    }
}

#[test]
fn nothing_hides_before_the_first_link() {
    for change in [
        "INSERT INTO sessions VALUES (-1, 'more', 'USER_INVOCATION', 'p', 'uid:0', 'now')",
        "UPDATE agent_actions SET seq = -1 WHERE seq = 4",
        "UPDATE ledger_events SET seq = -1 WHERE seq = 0",
    ] {
        let file = InFile::filled();
        file.change(change);
        let error = file.examine(Vec::new(), Signers::Nobody).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("is damaged"), "{change}: {error}");
    }
}

/// Under another key the same request would be another one, and be done again.
#[test]
fn the_key_for_secrets_is_the_one_that_was_made() {
    let secret = || {
        let mut ask = ask("op_1");
        ask.asked.steps[0]
            .shown
            .insert("a".to_owned(), json!("***"));
        ask
    };
    for (change, at) in [
        ("UPDATE ledger_keys SET key = randomblob(32)", Some(1)),
        ("DELETE FROM ledger_keys", Some(1)),
        ("", None),
    ] {
        let file = InFile::new();
        record(&mut file.open(), &secret(), &ended());
        file.change(change);
        let broken = file.verdict().broken;
        let found = broken.map(|broken| (broken.link, broken.what));
        assert_eq!(
            found,
            at.map(|at| (Some(at), Damage::KeyChanged)),
            "{change}"
        );
    }
    let file = InFile::filled();
    file.change("INSERT INTO ledger_keys VALUES ('secrets', randomblob(32))");
    let found = broken(&file);
    assert_eq!((found.link, found.what), (None, Damage::KeyChanged));
}
