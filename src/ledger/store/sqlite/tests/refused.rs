//! What is no ledger, or one that cannot be used, is told apart, and left as it is.

use super::*;

fn refused(path: &Utf8Path, wish: Wish) -> StoreError {
    match SqliteStore::open(path, wish) {
        // Opening reads little; the rest is seen by whoever reads on.
        Ok(mut store) => read(&mut store, |tx| tx.rows(&Which::newest(), usize::MAX)).unwrap_err(),
        Err(error) => error,
    }
}

#[test]
fn a_ledger_that_another_writes_for_too_long_is_busy() {
    let (_dir, path) = nowhere();
    let mut store = filled(&path, 1);
    let other = by_hand(&path);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.conn.busy_timeout(Duration::from_millis(20)).unwrap();
    let busy = nothing(&mut store, Durability::Disk).unwrap_err();
    assert_eq!(busy.trouble, Trouble::Busy, "{busy}");
    assert_eq!(PATIENCE, Duration::from_secs(5));
    other.execute_batch("COMMIT").unwrap();
    nothing(&mut store, Durability::Disk).unwrap();
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let (_dir, path) = nowhere();
    fs::create_dir(path.parent().unwrap()).unwrap();
    let others = [
        "PRAGMA application_id = 7; CREATE TABLE t (x)",
        "PRAGMA application_id = 7",
        "CREATE TABLE customers (id)",
        "CREATE TABLE agent_actions (id, name)",
    ];
    for text in others {
        by_hand(&path).execute_batch(text).unwrap();
        let before = fs::read(&path).unwrap();
        for wish in [Wish::Write, Wish::Read] {
            let error = refused(&path, wish);
            assert_eq!(error.trouble, Trouble::Foreign, "{text}: {error}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        fs::remove_file(&path).unwrap();
    }
    fs::write(&path, "Dear diary, ".repeat(1000)).unwrap();
    for wish in [Wish::Write, Wish::Read] {
        let error = refused(&path, wish);
        assert_eq!(error.trouble, Trouble::Foreign, "{error}");
    }
}

#[test]
fn a_ledger_of_a_later_program_is_read_and_not_written() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 3));
    by_hand(&path)
        .execute_batch(
            "PRAGMA user_version = 2; ALTER TABLE agent_actions ADD COLUMN later TEXT;
             INSERT INTO schema_migrations VALUES (2, 'later', 'x', '9.0.0', '2030-01-01T00:00:00.000Z')",
        )
        .unwrap();
    let error = refused(&path, Wish::Write);
    assert_eq!(error.trouble, Trouble::Newer, "{error}");
    let versions = "has schema version 2, but this program knows only version 1:";
    assert!(error.to_string().contains(versions), "{error}");
    assert_eq!(count(&path), 3);
    let flaw = migrate::flaw(&by_hand(&path)).unwrap();
    assert!(flaw.unwrap().contains("schema version 2"));
}

#[test]
fn a_ledger_whose_migrations_are_not_ours_is_half_migrated() {
    for text in [
        "UPDATE schema_migrations SET checksum = 'x'",
        "DELETE FROM schema_migrations",
        "DROP TABLE schema_migrations",
        "PRAGMA user_version = 0",
        "INSERT INTO schema_migrations VALUES (2, 'later', 'x', '9.0.0', '2030-01-01T00:00:00.000Z')",
        "DROP TABLE agent_actions",
    ] {
        let (_dir, path) = nowhere();
        drop(opened(&path));
        by_hand(&path)
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {text}"))
            .unwrap();
        for wish in [Wish::Write, Wish::Read] {
            let error = refused(&path, wish);
            assert_eq!(error.trouble, Trouble::HalfMigrated, "{text}: {error}");
        }
    }
}

#[test]
fn a_damaged_file_is_told_from_another_programs() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 200));
    by_hand(&path)
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let whole = fs::read(&path).unwrap();
    let mut pages = whole.clone();
    for byte in &mut pages[8192..] {
        *byte = 0xaa;
    }
    for damaged in [&pages[..], &whole[..whole.len() / 2]] {
        fs::write(&path, damaged).unwrap();
        for wish in [Wish::Write, Wish::Read] {
            let error = refused(&path, wish);
            assert_eq!(error.trouble, Trouble::Corrupt, "{error}");
        }
    }
}

#[test]
fn a_value_that_a_column_cannot_hold_is_damage() {
    let (_dir, path) = nowhere();
    drop(filled(&path, 1));
    by_hand(&path)
        .execute_batch(
            "PRAGMA ignore_check_constraints = ON;
             UPDATE agent_actions SET duration_ms = -1",
        )
        .unwrap();
    let error = refused(&path, Wish::Read);
    assert_eq!(error.trouble, Trouble::Corrupt, "{error}");
}
