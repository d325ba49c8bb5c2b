//! Facts about the file of a ledger; what it shares with the other kinds is told in the contract.

mod killed;
mod places;
mod refused;
mod seed;
mod speed;

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    thread,
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{LONG, PATIENCE, SqliteStore, TOO_LONG, Wish, migrate};

use crate::{
    host::RangeLock,
    ledger::sha256,
    ledger::{
        record::Event,
        record::Which,
        store::{
            Durability, Store, StoreError, Trouble, Tx, read,
            tests::given::{SESSION, full, link, open_session, seen, session, written},
            write,
        },
    },
};

/// Where a ledger can be, and is not yet.
fn nowhere() -> (TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(".oneact/ledger.db").try_into().unwrap();
    (dir, path)
}

fn opened(path: &Utf8Path) -> SqliteStore {
    SqliteStore::open(path, Wish::Write).unwrap()
}

/// A ledger with so many answers.
fn filled(path: &Utf8Path, rows: u64) -> SqliteStore {
    let mut store = opened(path);
    written(&mut store, |tx| {
        open_session(tx, SESSION)?;
        (0..rows).try_for_each(|_| another(tx))
    });
    store
}

fn nothing(store: &mut SqliteStore, durability: Durability) -> Result<(), StoreError> {
    write(store, durability, |_| Ok(()))
}

/// One more answer, as it is recorded.
fn another(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let seq = link(tx, Event::Succeeded)?.seq;
    let step = tx.next_step(SESSION)?;
    tx.put(&full(seq, step))
}

fn count(path: &Utf8Path) -> usize {
    let mut store = SqliteStore::open(path, Wish::Read).unwrap();
    seen(&mut store, |tx| tx.rows(&Which::newest(), usize::MAX)).len()
}

/// As a person does who has `sqlite3`.
fn by_hand(path: &Utf8Path) -> Connection {
    Connection::open(path).unwrap()
}

#[test]
fn the_checksums_are_those_of_the_texts() {
    let schema = super::super::migrations::SQLITE;
    assert_eq!(schema.checksum, sha256(schema.text));
}

#[test]
fn nobody_else_can_read_what_is_kept() {
    let (dir, path) = nowhere();
    let mut store = filled(&path, 1);
    store.hold(1).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir.path().join(".oneact")), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(
        names,
        [
            ".gitignore",
            "ledger.db",
            "ledger.db-shm",
            "ledger.db-wal",
            "ledger.lock"
        ]
    );
}

#[test]
fn an_empty_file_becomes_a_ledger() {
    let (_dir, path) = nowhere();
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    drop(filled(&path, 2));
    assert_eq!(count(&path), 2);
}

#[test]
fn many_who_open_what_is_not_there_make_one_ledger() {
    let (_dir, path) = nowhere();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut store = opened(&path);
                written(&mut store, |tx| link(tx, Event::Rejected).map(drop));
            });
        }
    });
    assert_eq!(seen(&mut opened(&path), Tx::newest_link).unwrap().seq, 8);
    let conn = by_hand(&path);
    let applied: i64 = conn
        .query_row("SELECT count(*) FROM schema_migrations", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(applied, 1);
}

#[test]
fn a_ledger_says_of_itself_whose_it_is() {
    let (_dir, path) = nowhere();
    drop(opened(&path));
    let conn = by_hand(&path);
    let pragma = |name: &str| -> String {
        let text = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
        conn.query_row(&text, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(pragma("application_id"), "1869504817");
    assert_eq!(pragma("user_version"), "1");
    assert_eq!(pragma("journal_mode"), "wal");
    let loose: i64 = conn
        .query_row(
            "SELECT count(*) FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(loose, 0);
}

#[test]
fn every_opening_checks_references_and_trusts_no_schema() {
    let (_dir, path) = nowhere();
    drop(opened(&path));
    for wish in [Wish::Write, Wish::Read] {
        let store = SqliteStore::open(&path, wish).unwrap();
        let pragma = |name: &str| -> i64 {
            store
                .conn
                .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(pragma("foreign_keys"), 1);
        assert_eq!(pragma("trusted_schema"), 0);
    }
}

/// The number of syncs of the write-ahead file so far.
fn syncs(path: &Utf8Path) -> u64 {
    let numbers = fs::read(path.with_extension("lock")).unwrap_or_default();
    let done = numbers
        .get(8..16)
        .map_or([0; 8], |done| done.try_into().unwrap());
    u64::from_le_bytes(done)
}

#[test]
fn only_what_must_outlive_the_machine_is_synced() {
    let (_dir, path) = nowhere();
    let mut store = opened(&path);
    let synchronous = |store: &SqliteStore| -> i64 {
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        let text = "PRAGMA synchronous";
        store.conn.query_row(text, [], read).unwrap()
    };
    assert_eq!(synchronous(&store), 0);
    for (durability, synced) in [
        (Durability::Process, 0),
        (Durability::Disk, 1),
        (Durability::Process, 1),
        (Durability::Disk, 2),
    ] {
        nothing(&mut store, durability).unwrap();
        assert_eq!(syncs(&path), synced);
    }
    store.checkpoint("RESTART");
    assert_eq!(synchronous(&store), 0);
}

#[test]
fn of_many_that_wait_for_the_disk_one_syncs_for_all() {
    let (_dir, path) = nowhere();
    nothing(&mut filled(&path, 0), Durability::Disk).unwrap();
    let lock = File::options()
        .write(true)
        .open(path.with_extension("lock"));
    let lock = RangeLock::new(lock.unwrap());
    // As if a sync were under way, which began before the commits.
    lock.wait_for(i64::MAX as u64 - 1).unwrap();
    let before = syncs(&path);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| write(&mut opened(&path), Durability::Disk, another).unwrap());
        }
        while count(&path) < 8 {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(50));
        lock.give_back(i64::MAX as u64 - 1).unwrap();
    });
    assert_eq!(syncs(&path) - before, 1);
}

#[test]
fn what_is_written_ahead_never_grows_without_bound() {
    let (_dir, path) = nowhere();
    let mut store = filled(&path, 0);
    let mut longest = 0;
    for _ in 0..1500 {
        written(&mut store, another);
        longest = longest.max(store.files.write_ahead_length());
    }
    assert!(longest > TOO_LONG / 2, "{longest}");
    assert!(longest < TOO_LONG + (1 << 20), "{longest}");
    drop(store);
    assert_eq!(count(&path), 1500);
}

#[test]
fn the_write_ahead_file_is_written_from_its_beginning_again_by_a_later_process() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 0));
    let mut lengths = Vec::new();
    for _ in 0..40 {
        let mut store = opened(&path);
        assert!(store.written_ahead() <= LONG + 300);
        for _ in 0..10 {
            written(&mut store, another);
        }
        lengths.push(store.files.write_ahead_length());
    }
    let (second, last) = (lengths[1], lengths[39]);
    // How many pages an answer changes is not always the same.
    assert!(
        second > LONG * u64::from(migrate::PAGE) && last < 2 * second,
        "{lengths:?}"
    );
    assert_eq!(count(&path), 400);
}

#[test]
fn whoever_reads_keeps_no_writer_waiting() {
    let (_dir, path) = nowhere();
    let mut writer = filled(&path, 1);
    let mut reader = SqliteStore::open(&path, Wish::Read).unwrap();
    seen(&mut reader, |tx| {
        assert_eq!(tx.rows(&Which::newest(), 9)?.len(), 1);
        written(&mut writer, another);
        // One unchanging view.
        assert_eq!(tx.rows(&Which::newest(), 9)?.len(), 1);
        Ok(())
    });
    assert_eq!(count(&path), 2);
}
