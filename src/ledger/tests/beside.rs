//! Of what stands beside the chain, too, everything that is changed is found: sessions, the key for secrets,
//! and what a number below the first would hide.

use super::{
    tampering::{InFile, broken, record},
    *,
};
use crate::{
    evidence::verify::Damage,
    ledger::store::{Durability, write},
    ledger::{Body, canonical::canonical, sha256},
};

/// Who may use a session, and as whom, is the opener's word alone (R-004-03).
#[test]
fn a_session_that_is_not_as_it_was_opened_is_found() {
    let table = "sessions";
    let (gone, changed) = (Damage::Gone { table }, Damage::Changed { table });
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
            Damage::Astray { table },
        ),
        (
            "INSERT INTO sessions VALUES (99, 'more', 'USER_INVOCATION', 'p', 'uid:0', 'now')",
            99,
            Damage::Astray { table },
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
        "UPDATE ledger_events SET seq = -1 WHERE seq = 1",
    ] {
        let file = InFile::filled();
        file.change(change);
        let found = broken(&file);
        assert_eq!((found.link, found.good), (None, None), "{change}");
        assert!(matches!(found.what, Damage::Stored { .. }), "{change}");
    }
}

pub(super) fn secret(operation: &'static str) -> Ask<'static> {
    let mut ask = ask(operation);
    let step = &mut ask.asked.steps[0];
    let mut shown = step.parameters.clone();
    shown.insert("a".to_owned(), json!("***"));
    step.shown = Some(shown);
    ask
}

/// Under another key the same request would be another one, and be done again.
#[test]
fn the_key_for_secrets_is_the_one_that_was_made() {
    let is = |file: &InFile| {
        let broken = file.verdict().broken;
        broken.map(|broken| (broken.link, broken.what))
    };
    let damaged = Some((None, Damage::KeyChanged));
    for (change, expected) in [
        ("UPDATE ledger_keys SET key = randomblob(32)", &damaged),
        ("DELETE FROM ledger_keys", &damaged),
        ("", &None),
    ] {
        let file = InFile::new();
        record(&mut file.open(), &secret("op_1"), &ended());
        file.change(change);
        assert_eq!(is(&file), *expected, "{change}");
    }
    let file = InFile::filled();
    file.change("INSERT INTO ledger_keys VALUES ('secrets', randomblob(32))");
    assert_eq!(is(&file), damaged);

    let file = InFile::new();
    record(&mut file.open(), &secret("op_1"), &ended());
    file.change("UPDATE ledger_keys SET key = x'00'");
    assert!(matches!(is(&file), Some((None, Damage::Stored { .. }))));
}

/// A key that is gone is not made a second time: nothing with a secret in it is done until it is back.
#[test]
fn a_key_that_is_gone_is_missed() {
    let file = InFile::new();
    record(&mut file.open(), &secret("op_1"), &ended());
    let key: Vec<u8> = file
        .database()
        .query_row("DELETE FROM ledger_keys RETURNING key", [], |row| {
            row.get(0)
        })
        .unwrap();
    let around = Around::default();
    let again = begin(&mut file.open(), &secret("op_1"), &around);
    let refused = again.err().unwrap().to_string();
    assert!(
        refused.contains("its key for secrets is missing"),
        "{refused}"
    );
    // What has no secret is done.
    record(&mut file.open(), &ask("op_2"), &ended());
    let back = "INSERT INTO ledger_keys VALUES ('secrets', ?1)";
    file.database().execute(back, [key]).unwrap();
    let again = begin(&mut file.open(), &secret("op_1"), &around);
    assert_eq!(said(again), Err(Again::Replayed));
    assert_eq!(file.verdict().broken, None);
}

/// Nor is one that another program made in its place believed.
#[test]
fn a_second_key_is_found() {
    let file = InFile::new();
    record(&mut file.open(), &secret("op_1"), &ended());
    let mut link = file.links()[0].clone();
    file.change("UPDATE ledger_keys SET key = zeroblob(32)");
    let last = file.links().pop().unwrap();
    link.seq = last.seq + 1;
    link.number = last.number + 1;
    link.prev_hash = last.entry_hash;
    let body = Body {
        key: Some(sha256([0; 32])),
        ..Body::default()
    };
    link.body = canonical(&serde_json::to_value(body).unwrap());
    link.entry_hash = link.hash();
    write::<_, StoreError>(&mut *file.open().store, Durability::Disk, |tx| {
        tx.append(&link)
    })
    .unwrap();
    let found = broken(&file);
    assert_eq!((found.link, found.good), (Some(link.seq), Some(last.seq)));
    assert_eq!(found.what, Damage::KeyChanged);
}
