//! Each session has a chain of its own, and knots tie the chains together. What is removed from one of them is found, also
//! without a copy of its links.

use super::{
    tampering::{InFile, broken, computed_anew, other, record},
    *,
};
use crate::{
    evidence::{Signers, verify::Damage},
    ledger::Anchor,
    ledger::{
        Seq,
        record::{Event, KNOTS, Link, name},
    },
};

/// A host whose clock shows that many seconds after [`NOW`].
pub(super) fn after(seconds: i64) -> Host {
    let now: Timestamp = NOW.parse().unwrap();
    let now = now + jiff::SignedDuration::from_secs(seconds);
    let now = now.to_zoned(jiff::tz::TimeZone::UTC);
    Host::new(Some(now), Some(1), Interrupts::catch())
}

pub(super) fn within(session: &'static str, ask: Ask<'static>) -> Ask<'static> {
    let who = Who {
        session_id: session,
        ..ask.who
    };
    Ask { who, ..ask }
}

/// With one answer in each of two sessions, and one more in the first of them twelve seconds later:
///
/// ```text
/// 1 reserved 2 dispatched 3 succeeded         of `s`
/// 4 reserved 5 dispatched 6 succeeded         of `t`
/// 7 reserved 8 dispatched 9 succeeded         of `s`
/// 10 tied
/// ```
fn tied() -> InFile {
    let file = InFile::new();
    let mut ledger = file.open();
    record(&mut ledger, &ask("op_1"), &ended());
    record(&mut ledger, &within("t", ask("op_2")), &ended());
    let host = after(12);
    let mut ledger = file.open_at(&host);
    let late = Ended {
        at: host.timestamp(),
        ..ended()
    };
    record(&mut ledger, &other(ask("op_3"), 3), &late);
    file
}

/// Changes a link and computes the chain of its session anew, up to the knot.
fn changed_with_its_chain(file: &InFile, seq: Seq) {
    let mut links = file.links();
    let session = links[index(seq)].session_id.clone();
    links[index(seq)].actor = "uid:4242".to_owned();
    links.retain(|link| link.session_id == session && link.seq < 10);
    computed_anew(&mut links);
    file.rewrite(&links);
}

fn index(seq: Seq) -> usize {
    usize::try_from(seq).unwrap() - 1
}

fn anchors(file: &InFile) -> Vec<Anchor> {
    let anchors = file.open().anchors().unwrap();
    anchors.into_iter().map(|(note, _)| note).collect()
}

#[test]
fn a_link_holds_the_hash_of_the_one_before_in_its_session_or_of_a_newer_knot() {
    let file = tied();
    let mut ledger = file.open();
    record(&mut ledger, &within("t", other(ask("op_4"), 4)), &ended());
    let links = file.links();
    let follows: Vec<(u64, Option<u64>)> = links
        .iter()
        .map(|link| {
            let before = links.iter().find(|of| of.entry_hash == link.prev_hash);
            (link.number, before.map(|before| before.seq))
        })
        .collect();
    let expected = [
        (0, None),
        (1, Some(1)),
        (2, Some(2)),
        (0, None),
        (1, Some(4)),
        (2, Some(5)),
        (3, Some(3)),
        (4, Some(7)),
        (5, Some(8)),
        (0, None),
        (3, Some(10)),
        (4, Some(11)),
        (5, Some(12)),
    ];
    assert_eq!(follows, expected);
    let knot: &Link = &links[9];
    assert_eq!(
        (&*knot.session_id, &knot.event),
        (KNOTS, &name(&Event::Tied))
    );
    assert_eq!(file.verdict().broken, None);
}

#[test]
fn a_run_that_ends_ties_links_that_are_ten_seconds_old() {
    let file = InFile::new();
    for (seconds, links) in [
        (0, 3),
        (9, 6),
        (10, 10),
        (19, 13),
        (20, 16),
        (29, 20),
        (30, 23),
    ] {
        let host = after(seconds);
        let ended = Ended {
            at: host.timestamp(),
            ..ended()
        };
        let number = u32::try_from(seconds).unwrap();
        let operation = Box::leak(format!("op_{seconds}").into_boxed_str());
        let mut ledger = file.open_at(&host);
        record(&mut ledger, &other(ask(operation), number), &ended);
        assert_eq!(file.links().len(), links, "{seconds}");
    }
    assert_eq!(file.verdict().broken, None);
}

#[test]
fn links_from_the_future_are_tied_at_once() {
    let file = InFile::new();
    let host = after(1_000_000);
    record(&mut file.open_at(&host), &ask("op_1"), &ended());
    record(&mut file.open(), &other(ask("op_2"), 2), &ended());
    let events: Vec<String> = file.links().into_iter().map(|link| link.event).collect();
    assert_eq!(events[6..], ["tied"]);
}

#[test]
fn an_answer_that_is_given_again_ties_old_links_as_well() {
    let file = InFile::new();
    record(&mut file.open(), &ask("op_1"), &ended());
    let host = after(10);
    let again = begin(&mut file.open_at(&host), &ask("op_2"), &Around::default());
    assert_eq!(said(again), Err(Again::Reused));
    let events: Vec<String> = file.links().into_iter().map(|link| link.event).collect();
    assert_eq!(&events[3..], ["reused", "tied"]);
    assert_eq!(file.verdict().broken, None);
}

#[test]
fn a_chain_that_was_computed_anew_is_found_by_the_knot_after_it() {
    for seq in [2, 6, 9] {
        let file = tied();
        changed_with_its_chain(&file, seq);
        std::fs::remove_file(file.path("ledger.head")).unwrap();
        let found = broken(&file);
        assert_eq!((found.link, found.good), (Some(10), None), "{seq}");
        assert_eq!(found.what, Damage::Untied);
    }
}

#[test]
fn the_copies_of_the_last_links_of_all_sessions_vouch_for_all() {
    let file = tied();
    assert_eq!(anchors(&file).len(), 1);
    let knot = file.verify(anchors(&file), Signers::Nobody);
    assert_eq!((knot.broken, knot.alone), (None, 0));
    let mut ledger = file.open();
    record(&mut ledger, &within("t", other(ask("op_4"), 4)), &ended());
    record(&mut ledger, &within("u", other(ask("op_5"), 5)), &ended());
    let all = anchors(&file);
    let named: Vec<Seq> = all.iter().map(|note| note.seq).collect();
    assert_eq!(named, [13, 16]);
    let verdict = file.verify(all.clone(), Signers::Nobody);
    assert_eq!((verdict.broken, verdict.alone), (None, 0));
    // One of them vouches for its session and for what was tied before.
    for note in all {
        let verdict = file.verify(vec![note], Signers::Nobody);
        assert_eq!((verdict.broken, verdict.alone), (None, 3));
    }
}

#[test]
fn a_copy_confirms_nothing_of_another_session() {
    let file = tied();
    let links = file.links();
    let note = json!({"seq": 6, "entry_hash": links[index(6)].entry_hash});
    let mut changed = links[index(3)].clone();
    changed.actor = "uid:4242".to_owned();
    changed.entry_hash = changed.hash();
    file.rewrite(&[changed]);
    let anchors = vec![serde_json::from_value(note).unwrap()];
    let found = file.verify(anchors, Signers::Nobody).broken.unwrap();
    // Which of the links 3 and 7 was changed cannot be told.
    assert_eq!((found.link, found.good), (Some(7), Some(2)));
    assert_eq!(found.what, Damage::Unlinked);
}

#[test]
fn an_empty_ledger_has_nothing_to_copy() {
    let file = InFile::new();
    drop(file.open());
    assert_eq!(anchors(&file), []);
}
