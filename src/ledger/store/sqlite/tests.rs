//! Facts about the file of a ledger; what it shares with the other kinds is told in the contract.

mod killed;
mod places;
mod refused;
mod seed;
mod speed;

use std::{fs, os::unix::fs::PermissionsExt as _, thread};

use camino::{Utf8Path, Utf8PathBuf};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Journal, LONG, PATIENCE, SqliteStore, TOO_LONG, Wish, migrate};
use crate::ledger::{
    canonical::sha256,
    record::Event,
    store::{
        Durability, Store, StoreError, Trouble, Tx, Which, read,
        tests::given::{SESSION, full, link, open_session, seen, session, written},
        write,
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
    tx.insert(&full(seq, step))
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
    for step in super::super::migrations::SQLITE {
        assert_eq!(step.checksum, sha256(step.text));
    }
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
    assert_eq!(seen(&mut opened(&path), Tx::head).unwrap().seq, 8);
    let conn = by_hand(&path);
    let applied: i64 = conn
        .query_row("SELECT count(*) FROM schema_migrations", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(applied, 4);
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
    assert_eq!(pragma("user_version"), "4");
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
fn every_opening_waits_checks_references_and_trusts_no_schema() {
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
        assert_eq!(pragma("busy_timeout"), 5000);
        assert_eq!(pragma("foreign_keys"), 1);
        assert_eq!(pragma("trusted_schema"), 0);
    }
}

#[test]
fn only_what_must_outlive_the_machine_is_synced() {
    let (_dir, path) = nowhere();
    let mut store = opened(&path);
    let mut set = |durability| {
        nothing(&mut store, durability).unwrap();
        let read = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        store
            .conn
            .query_row("PRAGMA synchronous", [], read)
            .unwrap()
    };
    assert_eq!(set(Durability::Disk), 2);
    assert_eq!(set(Durability::Process), 0);
    assert_eq!(set(Durability::Disk), 2);
    // Without a write-ahead file, a power failure could leave half of it.
    store.journal = Journal::Other;
    nothing(&mut store, Durability::Process).unwrap();
    assert_eq!(store.set_for, Durability::Disk);
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
