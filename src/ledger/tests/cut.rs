//! A chain that was cut short or computed anew is whole in itself: what others remember shows it.

use std::fs;

use super::{
    tampering::{InFile, computed_anew, other, record},
    *,
};
use crate::{
    evidence::{
        AnchorError, HeadSays, PublicKey, SignatureError, Signers, read_anchors, read_signers,
        signing,
        verify::{Damage, Whose},
    },
    ledger::Anchor,
};

const KEY: &str = include_str!("../../evidence/signature/tests/key");
const PUBLIC: &str = include_str!("../../evidence/signature/tests/key.pub");
const ANOTHER: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBmnbsOZ0XaH1iGsLRVwLBWYsTVkUFcUj9IGhDlZDa2G other";

const CUT: &str = "DELETE FROM ledger_events WHERE seq > 7; DELETE FROM agent_actions WHERE seq > 7; DELETE FROM claims WHERE seq > 7";

fn note(file: &InFile) -> Anchor {
    file.open().anchors().unwrap().remove(0).0
}

fn remove_head(file: &InFile) {
    fs::remove_file(file.path("ledger.head")).unwrap();
}

#[test]
fn a_tail_that_was_cut_off_is_not_found_without_an_anchor_and_found_with_one() {
    let file = InFile::filled();
    let anchor = note(&file);
    file.change(CUT);
    remove_head(&file);
    assert_eq!(file.verdict().broken, None);
    let found = file.verify(vec![anchor], Signers::Nobody).broken.unwrap();
    let whose = Whose::Anchor;
    assert_eq!(found.what, Damage::Cut { whose, seq: 10 });
    assert_eq!((found.link, found.good), (Some(7), Some(7)));
}

#[test]
fn a_tail_that_was_cut_off_carelessly_is_found_by_the_head_file_or_the_rows() {
    let file = InFile::filled();
    file.change("DELETE FROM ledger_events WHERE seq > 7");
    let whose = Whose::HeadFile;
    let found = file.verdict().broken.unwrap();
    assert_eq!(found.what, Damage::Cut { whose, seq: 10 });
    remove_head(&file);
    let found = file.verdict().broken.unwrap();
    assert!(matches!(found.what, Damage::Astray { .. }), "{found:?}");
    assert_eq!((found.link, found.good), (Some(10), Some(7)));
}

#[test]
fn a_chain_that_was_computed_anew_is_found_by_an_anchor() {
    let file = InFile::filled();
    let links = file.links();
    let anchors: Vec<Anchor> = [1, 3, 10]
        .map(|at: usize| {
            let text = json!({"seq": at, "entry_hash": links[at - 1].entry_hash});
            serde_json::from_value(text).unwrap()
        })
        .into();
    let mut anew = links;
    anew[2].actor = "uid:4242".to_owned();
    computed_anew(&mut anew);
    file.rewrite(&anew);
    remove_head(&file);
    assert_eq!(file.verdict().broken, None);
    let found = file.verify(anchors, Signers::Nobody).broken.unwrap();
    let whose = Whose::Anchor;
    assert_eq!(found.what, Damage::Other { whose });
    // Between the two it was changed.
    assert_eq!((found.link, found.good), (Some(3), Some(1)));
}

#[test]
fn the_head_file_is_not_written_over_when_the_ledger_does_not_hold_what_it_names() {
    let file = InFile::filled();
    let before = fs::read(file.path("ledger.head")).unwrap();
    file.change(CUT);
    // Enough answers for the chain to be longer than it was.
    let mut ledger = file.open();
    for (number, operation) in (20..).zip(["op_5", "op_6", "op_7", "op_8"]) {
        // What has effects is refused.
        let reads = Ask {
            effects: Effects::None,
            ..other(ask(operation), number)
        };
        record(&mut ledger, &reads, &ended());
    }
    assert!(file.links().len() > 10);
    assert_eq!(fs::read(file.path("ledger.head")).unwrap(), before);
    let found = file.verdict().broken.unwrap();
    let whose = Whose::HeadFile;
    assert_eq!(
        (found.link, found.what),
        (Some(10), Damage::Other { whose })
    );
}

#[test]
fn the_head_file_follows_the_ledger_and_a_blank_one_is_replaced() {
    for text in ["", "\0\0\0\0"] {
        let file = InFile::filled();
        fs::write(file.path("ledger.head"), text).unwrap();
        assert_eq!(file.verdict().head, HeadSays::Unreadable, "{text}");
        record(&mut file.open(), &other(once("op_5"), 5), &ended());
        assert_eq!(file.verdict().head, HeadSays::Unsigned { seq: 13 });
    }
}

#[test]
fn a_hash_in_upper_case_is_the_same_hash() {
    let file = InFile::filled();
    let head = file.path("ledger.head");
    let note = fs::read_to_string(&head).unwrap();
    let hash = note.split('"').find(|word| word.len() == 64).unwrap();
    fs::write(&head, note.replace(hash, &hash.to_ascii_uppercase())).unwrap();
    assert_eq!(file.verdict().head, HeadSays::Unsigned { seq: 10 });
    record(&mut file.open(), &other(once("op_5"), 5), &ended());
    assert_eq!(file.verdict().head, HeadSays::Unsigned { seq: 13 });
}

#[test]
fn with_a_head_file_that_cannot_be_read_nothing_that_has_effects_is_done() {
    let texts = ["nonsense", "{\"seq\":-1}", "{\"seq\":3,}", "\0\0x"];
    for text in texts.map(Some).into_iter().chain([None]) {
        let file = InFile::filled();
        let head = file.path("ledger.head");
        fs::remove_file(&head).unwrap();
        match text {
            Some(text) => fs::write(&head, text).unwrap(),
            None => fs::create_dir(&head).unwrap(),
        }
        assert_eq!(file.verdict().head, HeadSays::Unreadable, "{text:?}");
        for wanted in [once("op_9"), ask("op_9")] {
            let begun = begin(&mut file.open(), &other(wanted, 9), &Around::default());
            match begun {
                Err(error @ LedgerError::HeadUnreadable { .. }) => {
                    let failure = crate::task::Failure::from(error);
                    assert!(!failure.recoverable);
                    assert!(failure.message.contains("remove"), "{}", failure.message);
                }
                begun => panic!("{text:?}: {begun:?}"),
            }
        }
        // What only reads goes on, and the file stays.
        let reads = Ask {
            effects: Effects::None,
            ..other(ask("op_8"), 8)
        };
        record(&mut file.open(), &reads, &ended());
        match text {
            Some(text) => assert_eq!(fs::read_to_string(&head).unwrap(), text),
            None => assert!(head.is_dir()),
        }
    }
}

#[test]
fn what_is_newer_than_an_anchor_is_told_apart() {
    let file = InFile::filled();
    let anchor = note(&file);
    record(&mut file.open(), &other(ask("op_5"), 5), &ended());
    let verdict = file.verify(vec![anchor], Signers::Nobody);
    assert_eq!(verdict.broken, None);
    assert_eq!((verdict.anchored, verdict.alone), (Some(10), 3));
}

/// A ledger whose head is signed.
fn signed() -> (InFile, Vec<PublicKey>) {
    let file = InFile::filled();
    fs::write(file.path("key"), KEY).unwrap();
    fs::write(file.path("key.pub"), PUBLIC).unwrap();
    let mut ledger = file.open().signed_by(Some(signing(file.path("key"))));
    record(&mut ledger, &other(ask("op_5"), 5), &ended());
    drop(ledger);
    let keys = read_signers(&file.path("key.pub")).unwrap();
    (file, keys)
}

#[test]
fn a_signed_head_vouches_for_all_before_it() {
    let (file, keys) = signed();
    let verdict = file.verify(Vec::new(), Signers::Demanded(&keys));
    assert_eq!(verdict.broken, None);
    let HeadSays::Signed {
        seq, fingerprint, ..
    } = &verdict.head
    else {
        panic!("{:?}", verdict.head)
    };
    assert_eq!((*seq, fingerprint), (13, &keys[0].fingerprint()));
    assert_eq!(verdict.alone, 0);
    let verdict = file.verify(Vec::new(), Signers::Nobody);
    assert_eq!(verdict.head, HeadSays::Unchecked { seq: 13 });
    assert_eq!(verdict.alone, 13);
}

#[test]
fn a_head_of_another_key_or_none_is_refused() {
    let (file, keys) = signed();
    fs::write(file.path("other.pub"), ANOTHER).unwrap();
    let others = read_signers(&file.path("other.pub")).unwrap();
    let found = file
        .verify(Vec::new(), Signers::Demanded(&others))
        .broken
        .unwrap();
    let whose = Whose::HeadFile;
    let why = SignatureError::Stranger(keys[0].fingerprint());
    assert_eq!(
        (found.link, found.what),
        (None, Damage::Forged { whose, why })
    );
    let bare = InFile::filled();
    let found = bare
        .verify(Vec::new(), Signers::Demanded(&keys))
        .broken
        .unwrap();
    assert_eq!(found.what, Damage::NotSigned { whose });
    // A ledger without a link has no head yet.
    let empty = InFile::new();
    drop(empty.open());
    assert_eq!(
        empty.verify(Vec::new(), Signers::Demanded(&keys)).broken,
        None
    );
}

#[test]
fn a_signed_head_that_was_changed_is_refused() {
    let (file, keys) = signed();
    let text = fs::read_to_string(file.path("ledger.head")).unwrap();
    let mut head: Value = serde_json::from_str(&text).unwrap();
    // As if the ledger ended earlier.
    head["seq"] = json!(7);
    head["entry_hash"] = json!(file.links()[6].entry_hash);
    fs::write(file.path("ledger.head"), head.to_string()).unwrap();
    let found = file
        .verify(Vec::new(), Signers::Demanded(&keys))
        .broken
        .unwrap();
    let whose = Whose::HeadFile;
    let why = SignatureError::Wrong(keys[0].fingerprint());
    assert_eq!(found.what, Damage::Forged { whose, why });
}

#[test]
fn a_signed_head_of_earlier_that_is_put_back_says_how_far_it_vouches() {
    let (file, keys) = signed();
    let earlier = fs::read(file.path("ledger.head")).unwrap();
    let mut ledger = file.open().signed_by(Some(signing(file.path("key"))));
    record(&mut ledger, &other(ask("op_6"), 6), &ended());
    drop(ledger);
    file.change(
        "DELETE FROM ledger_events WHERE seq > 13; DELETE FROM agent_actions WHERE seq > 13;
         DELETE FROM claims WHERE seq > 13",
    );
    fs::write(file.path("ledger.head"), earlier).unwrap();
    // A signature does not say that there was no later one: only a copy elsewhere does.
    let verdict = file.verify(Vec::new(), Signers::Demanded(&keys));
    assert_eq!(
        (verdict.broken.clone(), verdict.vouched()),
        (None, Some(13))
    );
}

#[test]
fn a_key_that_cannot_sign_leaves_the_answer_recorded() {
    let file = InFile::filled();
    let mut ledger = file.open().signed_by(Some(signing(file.path("nowhere"))));
    record(&mut ledger, &other(ask("op_5"), 5), &ended());
    drop(ledger);
    assert_eq!(file.verdict().head, HeadSays::Unsigned { seq: 10 });
    assert_eq!(file.verdict().broken, None);
}

#[test]
fn anchors_are_lines_of_ours_or_envelopes_among_anything_else() {
    let file = InFile::filled();
    let hash = "a".repeat(64);
    let line = json!({"seq": 3, "entry_hash": hash, "at": "t", "host": "h"});
    let envelope =
        json!({"output": {"content": {"oneact": {"ledger": {"seq": 7, "entry_hash": hash}}}}});
    let refused = json!({"output": {"content": {"oneact": {"ledger": null}}}});
    let path = file.path("kept");
    fs::write(&path, format!("{line}\n{envelope:#}\n{refused}\n[1]\n")).unwrap();
    let kept = read_anchors(&path).unwrap();
    let seqs: Vec<u64> = kept.iter().map(|note| note.seq).collect();
    assert_eq!(seqs, [3, 7]);
    fs::write(&path, refused.to_string()).unwrap();
    assert!(matches!(read_anchors(&path), Err(AnchorError::None { .. })));
    fs::write(&path, "no JSON").unwrap();
    assert!(matches!(
        read_anchors(&path),
        Err(AnchorError::Unreadable { .. })
    ));
    assert!(matches!(
        read_anchors(&file.path("nowhere")),
        Err(AnchorError::Unreadable { .. })
    ));
}
