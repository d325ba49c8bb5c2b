//! While the outcome of a once-only call is unknown, nobody performs the same action, in whatever session, on both databases.

use std::{
    sync::{Barrier, Mutex},
    thread,
};

use camino::Utf8Path;
use tempfile::TempDir;

use super::*;
use crate::{
    evidence::Signers,
    ledger::{Fence, Place as Where, Wish, store::tests::Cluster},
    people::Happened,
};

struct Shared {
    place: Where,
    dir: TempDir,
    host: Host,
}

impl Shared {
    fn both() -> [Self; 2] {
        let postgres = Where::Postgres(Cluster::shared().uri(&Cluster::shared().database()));
        let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let file = Where::File(of(&dirs[0]).join("ledger.db"));
        let [first, second] = dirs;
        [(file, first), (postgres, second)].map(|(place, dir)| Self {
            place,
            dir,
            host: host(),
        })
    }

    fn open(&self) -> Ledger<'_> {
        Ledger::open(&self.place, of(&self.dir), Wish::Write, &self.host).unwrap()
    }

    /// Claims the payment, sends it, and dies.
    fn dies_in_the_middle(&self, ask: &Ask<'_>) {
        let mut ledger = self.open();
        let begun = running(begin(&mut ledger, ask, &Around::default()));
        ledger.dispatch(ask, &begun, None).unwrap();
    }

    fn begin(&self, ask: &Ask<'_>) -> Result<Reply, LedgerError> {
        begin(&mut self.open(), ask, &Around::default())
    }

    fn is_whole(&self) {
        let verdict =
            crate::evidence::verify::verify(&mut self.open(), Vec::new(), Signers::Nobody).unwrap();
        assert_eq!(verdict.broken, None);
    }
}

fn of(dir: &TempDir) -> &Utf8Path {
    Utf8Path::from_path(dir.path()).unwrap()
}

/// A payment of that invoice, which is another request in each operation.
fn pay(invoice: u32, operation: &'static str, session: &'static str) -> Ask<'static> {
    let base = once(operation);
    Ask {
        who: Who {
            session_id: session,
            ..base.who
        },
        asked: Asked {
            salt: Some(operation.to_owned()),
            fence: Some(Fence {
                entry: "pay".to_owned(),
                fields: Map::from_iter([("/invoice".to_owned(), invoice.into())]),
            }),
            ..base.asked
        },
        ..base
    }
}

fn refused_for(begun: &Result<Reply, LedgerError>, unknown: &str) {
    let named = matches!(begun, Err(LedgerError::Unknown { operation }) if operation == unknown);
    assert!(named, "{begun:?}");
}

#[test]
fn a_call_of_unknown_outcome_stands_against_its_action_in_each_session_until_a_person_settles_it() {
    let happened = |_: &_| r#"{"success":true}"#.to_owned();
    for settled in [Happened::Yes(&happened), Happened::No] {
        for shared in Shared::both() {
            shared.dies_in_the_middle(&pay(1, "op_1", "s"));
            for (operation, session) in [("op_2", "s"), ("op_3", "t"), ("op_4", "u")] {
                refused_for(&shared.begin(&pay(1, operation, session)), "op_1");
            }
            // Another invoice is another action.
            running(shared.begin(&pay(2, "op_5", "t")));
            shared.open().resolve("op_1", settled, None).unwrap();
            running(shared.begin(&pay(1, "op_3", "t")));
            shared.is_whole();
        }
    }
}

#[test]
fn a_run_that_performs_the_action_in_another_session_is_waited_for() {
    for shared in Shared::both() {
        let first = pay(1, "op_1", "s");
        let mut owner = shared.open();
        let begun = running(begin(&mut owner, &first, &Around::default()));
        let waits = |operation| {
            let waited = shared.begin(&pay(1, operation, "t"));
            assert!(
                matches!(waited, Err(LedgerError::InFlight { .. })),
                "{waited:?}"
            );
        };
        waits("op_2");
        owner.dispatch(&first, &begun, None).unwrap();
        waits("op_3");
        owner.finish(&first, begun, ended());
        running(shared.begin(&pay(1, "op_4", "t")));
    }
}

#[test]
fn a_run_that_ended_without_knowing_stands_against_the_action() {
    for shared in Shared::both() {
        let first = pay(1, "op_1", "s");
        let mut owner = shared.open();
        let begun = running(begin(&mut owner, &first, &Around::default()));
        owner.dispatch(&first, &begun, None).unwrap();
        let unknown = Ended {
            state: RowState::Unknown,
            ..failed()
        };
        owner.finish(&first, begun, unknown);
        refused_for(&shared.begin(&pay(1, "op_2", "t")), "op_1");
    }
}

/// A run can lose its connection and with it its lock, and go on. Only one of the two sends.
#[test]
fn a_run_that_was_taken_for_dead_does_not_send_after_another_of_its_action() {
    for shared in Shared::both() {
        let first = pay(1, "op_1", "s");
        let mut lost = shared.open();
        let begun = running(begin(&mut lost, &first, &Around::default()));
        lost.store = shared.place.store(Wish::Write).unwrap();
        let second = pay(1, "op_2", "t");
        let mut other = shared.open();
        let next = running(begin(&mut other, &second, &Around::default()));
        other.dispatch(&second, &next, None).unwrap();
        let sent = lost.dispatch(&first, &begun, None);
        assert!(
            matches!(&sent, Err(LedgerError::Unknown { operation }) if operation == "op_2"),
            "{sent:?}"
        );
        other.finish(&second, next, ended());
        lost.dispatch(&first, &begun, None).unwrap();
    }
}

#[test]
fn of_sessions_that_begin_the_action_at_the_same_moment_one_performs_it() {
    const ASKS: [[&str; 2]; 6] = [
        ["op_1", "s1"],
        ["op_2", "s2"],
        ["op_3", "s3"],
        ["op_4", "s4"],
        ["op_5", "s5"],
        ["op_6", "s6"],
    ];
    for shared in Shared::both() {
        // The key is there, and every session is open or new.
        running(shared.begin(&pay(2, "op_0", "s1")));
        let (start, performing) = (Barrier::new(ASKS.len()), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for [operation, session] in ASKS {
                let (shared, start, performing) = (&shared, &start, &performing);
                scope.spawn(move || {
                    // Each thread has a host, as a process has.
                    let host = host();
                    let opened = Ledger::open(&shared.place, of(&shared.dir), Wish::Write, &host);
                    let mut ledger = opened.unwrap();
                    start.wait();
                    let begun = begin(&mut ledger, &pay(1, operation, session), &Around::default());
                    match begun {
                        Ok(Reply::Run(_)) => performing.lock().unwrap().push(operation),
                        Err(LedgerError::InFlight { .. }) => {}
                        other => panic!("{other:?}"),
                    }
                    // The owner lives until all have asked.
                    start.wait();
                });
            }
        });
        assert_eq!(performing.into_inner().unwrap().len(), 1);
        shared.is_whole();
    }
}
