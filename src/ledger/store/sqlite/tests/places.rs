//! Where a ledger can stand: nowhere, where nothing can be written, where no space is left.

use std::{io::Write as _, process::Command};

use super::*;
use crate::ledger::store::sqlite::files::Files;

#[test]
fn to_look_or_to_decide_nothing_is_made() {
    for wish in [Wish::Read, Wish::Decide] {
        let (dir, path) = nowhere();
        let missing = SqliteStore::open(&path, wish).unwrap_err();
        assert_eq!(missing.trouble, Trouble::Unreachable, "{missing}");
        assert!(missing.to_string().contains("No such file"), "{missing}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let empty = SqliteStore::open(&path, wish).unwrap_err();
        assert!(
            empty.to_string().contains("nothing was recorded yet"),
            "{empty}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"");
    }
}

#[test]
fn whoever_decides_writes_into_what_is_there() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 1));
    let mut store = SqliteStore::open(&path, Wish::Decide).unwrap();
    written(&mut store, |tx| tx.put(&session("x", 2)));
}

#[test]
fn whoever_looks_changes_nothing() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 1));
    let mut store = SqliteStore::open(&path, Wish::Read).unwrap();
    let error = write(&mut store, Durability::Disk, |tx| tx.put(&session("x", 2)));
    let error: StoreError = error.unwrap_err();
    assert_eq!(error.trouble, Trouble::ReadOnly, "{error}");
}

/// A run without a write-ahead file is killed in a transaction: the database holds a part of it.
#[test]
fn whoever_looks_sees_nothing_of_a_transaction_that_was_not_committed() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 1));
    let killed = Connection::open(&path).unwrap();
    killed
        .execute_batch(
            "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;
             CREATE TABLE torn (x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
             INSERT INTO torn SELECT randomblob(400) FROM n;
             DELETE FROM sessions",
        )
        .unwrap();
    let (_dir, left) = nowhere();
    fs::create_dir(left.parent().unwrap()).unwrap();
    for suffix in ["", "-journal"] {
        let name = |path: &Utf8Path| format!("{path}{suffix}");
        fs::copy(name(&path), name(&left)).unwrap();
    }
    let mut store = SqliteStore::open(&left, Wish::Read).unwrap();
    let found = read::<_, StoreError>(&mut store, |tx| {
        Ok((tx.page::<crate::ledger::Session>(0, 9)?.len(), tx.flaw()?))
    });
    assert_eq!(found.unwrap(), (1, None));
}

#[test]
fn a_directory_is_no_ledger() {
    let (_dir, path) = nowhere();
    fs::create_dir_all(&path).unwrap();
    for wish in [Wish::Write, Wish::Decide, Wish::Read] {
        let error = SqliteStore::open(&path, wish).unwrap_err();
        assert_eq!(error.trouble, Trouble::Unreachable, "{error}");
    }
}

/// A file system of our own in memory; gone with this value. Only root can have one.
struct Mounted(TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mounted = Self::mount(&dir, options)?;
        mounted.then_some(Self(dir))
    }

    fn mount(dir: &TempDir, options: &str) -> Option<bool> {
        let at = dir.path().to_str().unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs", at])
            .output()
            .is_ok_and(|output| output.status.success());
        if !done {
            let line = "NOT TESTED: a full or read-only file system: mount needs root";
            writeln!(std::io::stderr(), "{line}").unwrap();
        }
        done.then_some(true)
    }

    fn path(&self) -> Utf8PathBuf {
        self.0
            .path()
            .join("a ledger?#%/ledger.db")
            .try_into()
            .unwrap()
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let done = Command::new("mount")
            .args(["-o", &options])
            .arg(self.0.path())
            .status();
        assert!(done.unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_ledger_is_read_where_nothing_can_be_written() {
    let Some(mounted) = Mounted::new("size=8m") else {
        return;
    };
    let path = mounted.path();
    drop(filled(&path, 3));
    // As it is left by a run: some of it is written ahead.
    assert!(Files::of(&path).write_ahead_length() > 0);
    mounted.remount("ro");
    assert_eq!(count(&path), 3);
    let error = SqliteStore::open(&path, Wish::Write).unwrap_err();
    assert_eq!(error.trouble, Trouble::ReadOnly, "{error}");
    assert!(
        !SqliteStore::open(&path, Wish::Read)
            .unwrap()
            .held(1)
            .unwrap()
    );
    // As a copy or a commit has it: the database alone.
    mounted.remount("rw");
    by_hand(&path)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    for beside in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{path}{beside}"));
    }
    mounted.remount("ro");
    assert_eq!(count(&path), 3);
    let error = SqliteStore::open(&path, Wish::Write).unwrap_err();
    assert_eq!(error.trouble, Trouble::ReadOnly, "{error}");
}

#[test]
fn nothing_can_be_made_where_nothing_can_be_written() {
    let Some(mounted) = Mounted::new("size=1m,ro") else {
        return;
    };
    let error = SqliteStore::open(&mounted.path(), Wish::Write).unwrap_err();
    assert_eq!(error.trouble, Trouble::ReadOnly, "{error}");
}

#[test]
fn a_full_disk_loses_nothing_that_was_kept() {
    let Some(mounted) = Mounted::new("size=1m") else {
        return;
    };
    let path = mounted.path();
    let mut store = filled(&path, 1);
    let mut kept = 1;
    let full = loop {
        match write(&mut store, Durability::Disk, another) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.trouble, Trouble::Full, "{full}");
    assert_eq!(count(&path), kept);
    drop(store);
    mounted.remount("size=8m");
    let mut store = opened(&path);
    write(&mut store, Durability::Disk, another).unwrap();
    assert_eq!(count(&path), kept + 1);
}

#[test]
fn a_ledger_is_not_made_where_there_is_no_room() {
    let Some(mounted) = Mounted::new("size=32k") else {
        return;
    };
    let error = SqliteStore::open(&mounted.path(), Wish::Write).unwrap_err();
    assert_eq!(error.trouble, Trouble::Full, "{error}");
    mounted.remount("size=8m");
    drop(filled(&mounted.path(), 1));
    assert_eq!(count(&mounted.path()), 1);
}

#[test]
fn only_regular_files_are_opened_also_beside_the_database() {
    let (dir, path) = nowhere();
    drop(filled(&path, 1));
    let link: Utf8PathBuf = dir.path().join("link.db").try_into().unwrap();
    let dangling: Utf8PathBuf = dir.path().join("dangling.db").try_into().unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &dangling).unwrap();
    let refused = |path: &Utf8Path| {
        for wish in [Wish::Write, Wish::Decide, Wish::Read] {
            let error = SqliteStore::open(path, wish).unwrap_err();
            assert_eq!(error.trouble, Trouble::Unreachable, "{error}");
        }
    };
    refused(&link);
    refused(&dangling);
    for beside in ["-wal", "-shm", "-journal"] {
        let planted = format!("{path}{beside}");
        let _ = fs::remove_file(&planted);
        std::os::unix::fs::symlink(&elsewhere, &planted).unwrap();
        refused(&path);
        fs::remove_file(&planted).unwrap();
    }
    let lock = path.with_extension("lock");
    let _ = fs::remove_file(&lock);
    let made = Command::new("mkfifo").arg(&lock).status();
    assert!(made.unwrap().success());
    refused(&path);
    assert!(!elsewhere.exists());
}

#[test]
fn whoever_comes_by_a_link_to_the_directory_meets_whoever_does_not() {
    let (dir, path) = nowhere();
    fs::create_dir(path.parent().unwrap()).unwrap();
    let link: Utf8PathBuf = dir.path().join("link").try_into().unwrap();
    std::os::unix::fs::symlink(path.parent().unwrap(), &link).unwrap();
    // Also where the first who comes by it makes the ledger.
    let mut one = filled(&link.join(path.file_name().unwrap()), 1);
    let mut other = opened(&path);
    one.hold(3).unwrap();
    assert!(other.held(3).unwrap());
}
