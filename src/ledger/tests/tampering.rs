//! Whatever is changed in the database behind the ledger's back is found, and where.

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::{
    evidence::{
        Broken, HeadSays, Signers, Verdict,
        verify::{Damage, verify},
    },
    ledger::Anchor,
    ledger::{Place as Where, Wish, record::Link, store::NOTHING},
};

/// A ledger in a file.
pub(super) struct InFile {
    dir: TempDir,
    host: Host,
}

/// A request with another parameter.
pub(super) fn other(ask: Ask<'static>, number: u32) -> Ask<'static> {
    let mut ask = ask;
    let step = &mut ask.asked.steps[0];
    step.parameters.insert("a".to_owned(), json!(number));
    ask
}

/// From the question to the record.
pub(super) fn record(ledger: &mut Ledger<'_>, ask: &Ask<'_>, ended: &Ended) {
    let running = running(begin(ledger, ask, &Around::default()));
    ledger.dispatch(ask, &running, None).unwrap();
    let recorded = ledger.finish(ask, running, ended.clone());
    assert!(recorded.head.is_some(), "{recorded:?}");
}

impl InFile {
    pub(super) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            host: host(),
        }
    }

    /// With three answers and one that was given again:
    ///
    /// ```text
    /// 1 reserved 2 dispatched 3 succeeded    op_1
    /// 4 reused                               op_2
    /// 5 reserved 6 dispatched 7 succeeded    op_3
    /// 8 reserved 9 dispatched 10 failed      op_4
    /// ```
    pub(super) fn filled() -> Self {
        let file = Self::new();
        let mut ledger = file.open();
        record(&mut ledger, &ask("op_1"), &ended());
        let reused = begin(&mut ledger, &ask("op_2"), &Around::default());
        assert_eq!(said(reused), Err(Again::Reused));
        record(&mut ledger, &other(once("op_3"), 3), &ended());
        record(&mut ledger, &other(ask("op_4"), 4), &failed());
        drop(ledger);
        file
    }

    pub(super) fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().join(name)
    }

    fn place(&self) -> Where {
        Where::File(self.path("ledger.db"))
    }

    pub(super) fn open(&self) -> Ledger<'_> {
        self.open_at(&self.host)
    }

    pub(super) fn open_at<'h>(&self, host: &'h Host) -> Ledger<'h> {
        Ledger::open(&self.place(), &self.path(""), Wish::Write, host).unwrap()
    }

    pub(super) fn database(&self) -> Connection {
        let database = Connection::open(self.path("ledger.db")).unwrap();
        database.execute("PRAGMA foreign_keys = OFF", []).unwrap();
        database
    }

    pub(super) fn change(&self, text: &str) {
        self.database().execute_batch(text).unwrap();
    }

    pub(super) fn verify(&self, anchors: Vec<Anchor>, signers: Signers<'_>) -> Verdict {
        let ledger = Ledger::open(&self.place(), &self.path(""), Wish::Read, &self.host);
        verify(&mut ledger.unwrap(), anchors, signers).unwrap()
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.verify(Vec::new(), Signers::Nobody)
    }

    pub(super) fn links(&self) -> Vec<Link> {
        let mut ledger = self.open();
        read::<_, StoreError>(&mut *ledger.store, |tx| tx.page::<Link>(0, 10_000)).unwrap()
    }

    /// Writes links over those that are there.
    pub(super) fn rewrite(&self, links: &[Link]) {
        let database = self.database();
        for link in links {
            let text = "UPDATE ledger_events SET actor = ?2, body = ?3, prev_hash = ?4, entry_hash = ?5 WHERE seq = ?1";
            let seq = i64::try_from(link.seq).unwrap();
            let values = (
                seq,
                &link.actor,
                &link.body,
                &link.prev_hash,
                &link.entry_hash,
            );
            database.execute(text, values).unwrap();
        }
    }
}

/// All links computed anew, so that they hold together.
pub(super) fn computed_anew(links: &mut [Link]) {
    let mut before = NOTHING.to_owned();
    for link in links {
        link.prev_hash = before;
        link.entry_hash = link.hash();
        before = link.entry_hash.clone();
    }
}

pub(super) fn broken(file: &InFile) -> Broken {
    let verdict = file.verdict();
    verdict
        .broken
        .clone()
        .unwrap_or_else(|| panic!("{verdict:?}"))
}

#[test]
fn a_ledger_that_nobody_touched_is_whole() {
    let file = InFile::filled();
    let verdict = file.verdict();
    assert_eq!(verdict.broken, None);
    assert_eq!((verdict.links, verdict.rows, verdict.payloads), (10, 4, 4));
    assert_eq!((verdict.pruned, verdict.outside, verdict.alone), (0, 0, 10));
    assert_eq!(verdict.head, HeadSays::Unsigned { seq: 10 });
}

#[test]
fn an_empty_ledger_is_whole() {
    let file = InFile::new();
    drop(file.open());
    let verdict = file.verdict();
    assert_eq!(
        (verdict.broken.clone(), verdict.links, verdict.alone),
        (None, 0, 0)
    );
}

/// What is found, given the id of the row.
type Wanted = Box<dyn Fn(String) -> Damage>;

const COLUMNS: Damage = Damage::Changed {
    table: "agent_actions",
};

/// Statements of an attacker, the link at which each is found, and what is found there.
fn attacks() -> Vec<(&'static str, u64, Wanted)> {
    let changed = |part| move |row| Damage::PayloadChanged { row, part };
    let gone = |row| Damage::PayloadGone {
        row,
        part: "response",
    };
    let link = |damage: Damage| move |_| damage.clone();
    vec![
        (
            "UPDATE ledger_events SET actor = 'uid:4242' WHERE seq = 5",
            5,
            Box::new(link(Damage::Contents)),
        ),
        (
            "UPDATE ledger_events SET body = '{}' WHERE seq = 3",
            3,
            Box::new(link(Damage::Contents)),
        ),
        (
            "UPDATE ledger_events SET at = '2026-02-24T02:00:00.001Z' WHERE seq = 1",
            1,
            Box::new(link(Damage::Contents)),
        ),
        (
            "DELETE FROM ledger_events WHERE seq = 5",
            5,
            Box::new(link(Damage::Missing { found: 6 })),
        ),
        (
            "DELETE FROM ledger_events WHERE seq = 1",
            1,
            Box::new(link(Damage::Missing { found: 2 })),
        ),
        (
            "UPDATE agent_actions SET response = '{\"success\":false}' WHERE seq = 3",
            3,
            Box::new(changed("response")),
        ),
        (
            "UPDATE agent_actions SET request = '{\"a\":2}' WHERE seq = 7",
            7,
            Box::new(changed("request")),
        ),
        (
            "UPDATE agent_actions SET outcome = 'success' WHERE seq = 10",
            10,
            Box::new(link(COLUMNS)),
        ),
        (
            "UPDATE agent_actions SET response_sha256 = 'x' WHERE seq = 7",
            7,
            Box::new(link(COLUMNS)),
        ),
        (
            "UPDATE agent_actions SET seq = 99 WHERE seq = 3; UPDATE agent_actions SET seq = 3 WHERE seq = 7; \
             UPDATE agent_actions SET seq = 7 WHERE seq = 99",
            3,
            Box::new(link(COLUMNS)),
        ),
        (
            "DELETE FROM agent_actions WHERE seq = 7",
            7,
            Box::new(|_| Damage::Gone {
                table: "agent_actions",
            }),
        ),
        (
            "UPDATE agent_actions SET seq = 6 WHERE seq = 7",
            6,
            Box::new(|_| Damage::Astray {
                table: "agent_actions",
            }),
        ),
        (
            "UPDATE agent_actions SET request = NULL, response = NULL WHERE seq = 7",
            7,
            Box::new(gone),
        ),
        (
            "UPDATE agent_actions SET revoked_by = 2 WHERE seq = 7",
            7,
            Box::new(|_| Damage::Changed {
                table: "agent_actions",
            }),
        ),
    ]
}

#[test]
fn every_change_is_found_at_its_link() {
    for (change, at, damage) in attacks() {
        let file = InFile::filled();
        let rows: HashMap<u64, String> = file
            .database()
            .prepare("SELECT seq, id FROM agent_actions")
            .unwrap()
            .query_map([], |row| {
                let seq: i64 = row.get(0)?;
                Ok((u64::try_from(seq).unwrap(), row.get(1)?))
            })
            .unwrap()
            .map(Result::unwrap)
            .collect();
        file.change(change);
        let found = broken(&file);
        assert_eq!(found.link, Some(at), "{change}: {found:?}");
        let good = Some(at - 1).filter(|good| *good > 0);
        assert_eq!(found.good, good, "{change}");
        // Of what was moved, the row that stands there now is named.
        let named = [Some(&at), Some(&7)].into_iter().flatten();
        let wanted: Vec<Damage> = named
            .map(|at| damage(rows.get(at).cloned().unwrap_or_default()))
            .collect();
        assert!(wanted.contains(&found.what), "{change}: {found:?}");
    }
}

#[test]
fn a_link_that_was_changed_with_its_hash_is_found_at_the_next_one() {
    let file = InFile::filled();
    let mut links = file.links();
    links[4].actor = "uid:4242".to_owned();
    links[4].entry_hash = links[4].hash();
    file.rewrite(&links);
    let found = broken(&file);
    // Which of the two was changed cannot be told.
    assert_eq!((found.link, found.good), (Some(6), Some(4)));
    assert_eq!(found.what, Damage::Unlinked);
}

#[test]
fn an_answer_that_was_taken_back_cannot_be_brought_back() {
    let file = InFile::filled();
    let name = Name {
        text: "op_1",
        session: None,
        alone: Alone::Refused,
    };
    let dependants = Dependants::Listed;
    let revoked = file.open().revoke(name, dependants, None).unwrap();
    assert_eq!(file.verdict().broken, None);
    file.change("UPDATE agent_actions SET revoked_by = NULL WHERE seq = 3");
    let found = broken(&file);
    assert_eq!(found.link, Some(revoked.link.seq));
    assert!(matches!(found.what, Damage::Changed { .. }));
}

#[test]
fn rows_of_before_oneact_are_counted_and_not_vouched_for() {
    let file = InFile::filled();
    file.change(
        "INSERT INTO agent_actions (id, request_hash, session_id, step_index, timestamp, operation_id, attempt, \
         oneact_version, started_at, duration_ms, request_sha256, response_sha256) \
         VALUES ('old', '', 'of_old', 0, '', '', 1, '', '', 0, '', '')",
    );
    let verdict = file.verdict();
    assert_eq!(
        (verdict.broken, verdict.outside, verdict.rows),
        (None, 1, 4)
    );
}

#[test]
fn a_long_ledger_is_read_in_pages_and_no_page_is_passed_over() {
    let place = Place::new();
    let operations: Vec<&'static str> = (0..220)
        .map(|number| &*Box::leak(format!("op_{number}").into_boxed_str()))
        .collect();
    let mut ledger = place.open();
    for (number, operation) in (0..).zip(operations) {
        record(&mut ledger, &other(ask(operation), number), &ended());
    }
    let verdict = verify(&mut ledger, Vec::new(), Signers::Nobody).unwrap();
    assert_eq!(verdict.broken, None);
    assert_eq!((verdict.links, verdict.payloads), (660, 220));
    // Each row in turn, also the first and the last of a page.
    for at in [0, 31, 32, 33, 170, 171, 219] {
        let seq = Some(3 + 3 * at);
        let swap = |row: &mut Row| {
            if row.seq == seq {
                row.attempt ^= 1;
            }
        };
        place.file.change(swap);
        let broken = verify(&mut ledger, Vec::new(), Signers::Nobody)
            .unwrap()
            .broken;
        assert_eq!(broken.unwrap().link, seq);
        place.file.change(swap);
    }
}
