//! A ledger that others use, too: on PostgreSQL, where `agent_actions` may be another program's as well,
//! and where whoever owns the database can change what its triggers keep.

use std::{fs, sync::Mutex, thread};

use camino::Utf8Path;
use tempfile::TempDir;

use super::{
    beside::secret,
    knots::{after, within},
    tampering::{other, record},
    *,
};
use crate::{
    evidence::{
        Signers, Verdict,
        verify::{Damage, Whose},
    },
    ledger::{Place as Where, Wish, store::tests::Cluster},
    ledger::{chain, chain::Stamp},
};

struct InPostgres {
    database: String,
    dir: TempDir,
    host: Host,
}

/// Triggers and foreign keys hold nobody who may say this.
const BEHIND: &str = "SET session_replication_role = replica;";

impl InPostgres {
    fn new() -> Self {
        Self {
            database: Cluster::shared().database(),
            dir: tempfile::tempdir().unwrap(),
            host: host(),
        }
    }

    /// With one answer at link 4, to a request with a secret in it.
    fn filled() -> Self {
        let new = Self::new();
        record(&mut new.open(), &secret("op_1"), &ended());
        new
    }

    fn dir(&self) -> &Utf8Path {
        self.dir.path().try_into().unwrap()
    }

    fn open(&self) -> Ledger<'_> {
        let place = Where::Postgres(Cluster::shared().uri(&self.database));
        Ledger::open(&place, self.dir(), Wish::Write, &self.host).unwrap()
    }

    fn change(&self, text: &str) {
        Cluster::shared().sql(&self.database, text);
    }

    fn place(&self, user: &str) -> Where {
        Where::Postgres(Cluster::shared().uri_of(user, &self.database))
    }

    /// The ledger for somebody who may only read it.
    fn to_read(&self) -> Where {
        let make = "DO $$ BEGIN CREATE ROLE auditor LOGIN IN ROLE oneact_reader; \
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$";
        self.change(make);
        self.place("auditor")
    }

    /// As somebody who may only read it.
    fn verdict(&self) -> Verdict {
        let ledger = Ledger::open(&self.to_read(), self.dir(), Wish::Read, &self.host);
        let mut ledger = ledger.unwrap();
        crate::evidence::verify::verify(&mut ledger, Vec::new(), Signers::Nobody).unwrap()
    }

    fn steps(&self) -> Vec<u64> {
        let which = Which::session("s");
        let mut ledger = self.open();
        let rows = read::<_, StoreError>(&mut *ledger.store, |tx| tx.rows(&which, 9)).unwrap();
        let ours = rows.into_iter().filter(|row| row.seq.is_some());
        ours.map(|row| row.step_index).collect()
    }
}

/// Who examines it need not be one who could change it.
#[test]
fn a_ledger_is_examined_by_somebody_who_may_only_read_it() {
    let database = InPostgres::filled();
    let verdict = database.verdict();
    assert_eq!((verdict.broken, verdict.links), (None, 4));
    let ledger = Ledger::open(
        &database.to_read(),
        database.dir(),
        Wish::Read,
        &database.host,
    );
    ledger.unwrap().store.sync().unwrap();
}

#[test]
fn a_ledger_is_usable_for_a_writer_and_not_for_a_reader() {
    let ledger = InPostgres::filled();
    let usable = |place: &Where| place.usable(ledger.dir(), "op_9", &ledger.host);
    assert!(usable(&ledger.place("oneact")).unwrap().is_some());
    assert_eq!(ledger.verdict().links, 4);
    let refused = usable(&ledger.to_read()).unwrap_err().to_string();
    assert!(refused.contains("GRANT oneact_writer"), "{refused}");
}

#[test]
fn somebody_who_may_not_read_is_told_which_role_suffices() {
    let ledger = InPostgres::filled();
    ledger.change(
        "DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
    );
    let opened = |wish| {
        let opened = Ledger::open(&ledger.place("stranger"), ledger.dir(), wish, &ledger.host);
        opened.err().unwrap().to_string()
    };
    for (wish, problem, role) in [
        (Wish::Read, "cannot be read", "GRANT oneact_reader"),
        (Wish::Decide, "cannot be written", "GRANT oneact_writer"),
    ] {
        let refused = opened(wish);
        assert!(
            refused.contains(problem) && refused.contains(role),
            "{refused}"
        );
    }
}

#[test]
fn what_its_owner_changes_is_found() {
    type Of = fn(String) -> Damage;
    let changed: [Of; 2] = [
        |_| Damage::Changed {
            table: "agent_actions",
        },
        |row| Damage::PayloadChanged {
            row,
            part: "response",
        },
    ];
    let [columns, response] = changed;
    let request: Of = |row| Damage::PayloadGone {
        row,
        part: "request",
    };
    let session: [Of; 2] = [
        |_| Damage::Changed { table: "sessions" },
        |_| Damage::Gone { table: "sessions" },
    ];
    let [session, no_session] = session;
    let key: Of = |_| Damage::KeyChanged;
    let cases = [
        (
            "UPDATE agent_actions SET response = '{}'",
            Some(4),
            response,
        ),
        ("UPDATE agent_actions SET request = NULL", Some(4), request),
        (
            "UPDATE agent_actions SET session_id = gen_random_uuid()",
            Some(4),
            columns,
        ),
        (
            "UPDATE agent_actions SET target_id = gen_random_uuid()",
            Some(4),
            columns,
        ),
        (
            "UPDATE oneact_sessions SET session_id = gen_random_uuid()",
            Some(2),
            session,
        ),
        ("DELETE FROM oneact_sessions", Some(2), no_session),
        ("DELETE FROM oneact_keys", None, key),
        (
            "UPDATE oneact_keys SET key = decode(repeat('00', 32), 'hex')",
            None,
            key,
        ),
    ];
    for (change, link, damage) in cases {
        let database = InPostgres::filled();
        let row = Cluster::shared().sql(&database.database, "SELECT id FROM agent_actions");
        database.change(&format!("{BEHIND} {change}"));
        let broken = database.verdict().broken.unwrap();
        assert_eq!((broken.link, broken.what), (link, damage(row)), "{change}");
    }
}

#[test]
fn nothing_hides_below_zero() {
    for change in [
        "ALTER TABLE ledger_events DROP CONSTRAINT ledger_events_seq_check; \
         UPDATE ledger_events SET seq = -1 WHERE seq = 1",
        "ALTER TABLE agent_actions DROP CONSTRAINT oneact_row; UPDATE agent_actions SET step_index = -5",
        "UPDATE agent_actions SET attempt = -1",
        "UPDATE agent_actions SET seq = -1",
        "UPDATE oneact_sessions SET seq = -1",
    ] {
        let database = InPostgres::filled();
        database.change(&format!("{BEHIND} {change}"));
        let broken = database.verdict().broken.unwrap().what;
        assert!(
            matches!(broken, Damage::Stored { .. }),
            "{change}: {broken}"
        );
    }
}

/// What another program writes into the same table, and when, is its own affair.
#[test]
fn the_rows_of_others_hold_up_no_answer() {
    let theirs = |step: &str| {
        format!("INSERT INTO agent_actions (session_key, step_index) VALUES ('s', {step})")
    };
    let database = InPostgres::new();
    record(&mut database.open(), &other(ask("op_0"), 0), &ended());
    for step in ["2147483647", "-7", "NULL", "1"] {
        database.change(&theirs(step));
    }
    record(&mut database.open(), &other(ask("op_1"), 1), &ended());
    assert_eq!(database.steps(), [0, 1]);
    assert_eq!(database.verdict().broken, None);

    // Also where they were there before the first of ours.
    let database = InPostgres::new();
    drop(database.open());
    for step in ["4", "2147483647"] {
        database.change(&theirs(step));
    }
    record(&mut database.open(), &ask("op_1"), &ended());
    assert_eq!(database.steps(), [5]);
    assert_eq!(database.verdict().broken, None);
}

/// Numbers of links can be missing, so what was removed is found by the knot.
#[test]
fn a_session_that_was_removed_is_found_by_the_knot_after_it() {
    let database = InPostgres::new();
    record(&mut database.open(), &ask("op_1"), &ended());
    record(&mut database.open(), &within("t", ask("op_2")), &ended());
    crate::ledger::write::<_, StoreError>(
        &mut *database.open().store,
        crate::ledger::Durability::Disk,
        |tx| {
            let at = NOW.parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_mins(1);
            let stamp = Stamp {
                operation_id: "op_3",
                session_id: "s",
                at,
                actor: "uid:1000",
            };
            chain::tie(tx, stamp)
        },
    )
    .unwrap();
    let verdict = database.verdict();
    assert_eq!((verdict.broken, verdict.links), (None, 7));
    let gone: Vec<String> = [
        "agent_actions",
        "oneact_claims",
        "oneact_sessions",
        "ledger_events",
    ]
    .map(|table| format!("DELETE FROM {table} WHERE seq BETWEEN 4 AND 6;"))
    .into();
    database.change(&format!("{BEHIND} {}", gone.join(" ")));
    let whose = Whose::HeadFile;
    let found = database.verdict().broken.unwrap().what;
    assert_eq!(found, Damage::Cut { whose, seq: 6 });
    fs::remove_file(database.open().head.path()).unwrap();
    let found = database.verdict().broken.unwrap();
    assert_eq!((found.link, found.good), (Some(7), None));
    assert_eq!(found.what, Damage::Untied);
}

/// Runs of four sessions at once, many of which make knots, while somebody examines the ledger.
#[test]
fn runs_of_several_sessions_write_at_once_and_each_request_is_performed_once() {
    const SESSIONS: [&str; 4] = ["s0", "s1", "s2", "s3"];
    const REQUESTS: u32 = 6;
    let database = InPostgres::new();
    drop(database.open());
    let performed = Mutex::new(Vec::new());
    let run = |number: usize| {
        let session = SESSIONS[number % SESSIONS.len()];
        for request in 0..REQUESTS {
            let host = after(i64::from(request) * 11);
            let place = Where::Postgres(Cluster::shared().uri(&database.database));
            let dir = tempfile::tempdir().unwrap();
            let dir: &Utf8Path = dir.path().try_into().unwrap();
            let mut ledger = Ledger::open(&place, dir, Wish::Write, &host).unwrap();
            let operation = format!("op_{number}_{request}").leak();
            let mut ask = within(session, other(once(operation), request));
            ask.patience = Duration::from_secs(20);
            let running = match begin(&mut ledger, &ask, &Around::default()) {
                Ok(Reply::Run(running)) => running,
                Ok(Reply::Answered(_)) => continue,
                Err(error) => panic!("{error}"),
            };
            ledger.dispatch(&ask, &running, None).unwrap();
            performed.lock().unwrap().push((session, request));
            let ended = Ended {
                at: host.timestamp(),
                ..ended()
            };
            assert!(ledger.finish(&ask, running, ended).head.is_some());
        }
    };
    thread::scope(|scope| {
        let runs: Vec<_> = (0..12)
            .map(|number| scope.spawn(move || run(number)))
            .collect();
        while runs.iter().any(|run| !run.is_finished()) {
            assert_eq!(database.verdict().broken, None);
        }
        for run in runs {
            run.join().unwrap();
        }
    });
    let mut performed = performed.into_inner().unwrap();
    performed.sort_unstable();
    let once: Vec<_> = SESSIONS
        .into_iter()
        .flat_map(|session| (0..REQUESTS).map(move |request| (session, request)))
        .collect();
    assert_eq!(performed, once);
    assert_eq!(database.verdict().broken, None);
    let mut ledger = database.open();
    let links = read::<_, StoreError>(&mut *ledger.store, |tx| {
        tx.page::<crate::ledger::Link>(0, 10_000)
    })
    .unwrap();
    assert!(links.iter().any(|link| link.event == "tied"));
}
