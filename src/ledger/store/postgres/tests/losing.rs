//! Connections that end, and the locks that end with them.

use std::{
    io::Write,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use super::{
    cluster::{Cluster, Signed},
    *,
};

/// Waits for what the server does on its own.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{what} is not so after 10 s"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// Has the server end that connection.
fn end(store: &PostgresStore, database: &str) {
    let pid: i32 = store
        .open
        .line
        .rows("SELECT pg_backend_pid()", &[])
        .unwrap()[0]
        .get(0);
    end_process(pid, database);
}

fn end_process(pid: i32, database: &str) {
    let sql = format!("SELECT pg_terminate_backend({pid}, 5000)");
    assert_eq!(Cluster::shared().sql(database, &sql), "t");
}

#[test]
fn a_connection_lost_in_a_transaction_leaves_nothing_and_the_next_one_has_another() {
    let (mut store, name) = fresh();
    let pid: i32 = store
        .open
        .line
        .rows("SELECT pg_backend_pid()", &[])
        .unwrap()[0]
        .get(0);
    let lost = write(&mut store, |tx| {
        append(tx)?;
        end_process(pid, &name);
        tx.session("sess-1").map(drop)
    })
    .unwrap_err();
    assert_eq!(lost.trouble, Trouble::Lost, "{lost}");
    assert!(lost.to_string().contains("Nothing was recorded"), "{lost}");
    let mut seq = None;
    write(&mut store, |tx| {
        seq = Some(append(tx)?);
        Ok(())
    })
    .unwrap();
    // A number that was asked for is not given again.
    assert_eq!(seq, Some(2));
}

#[test]
fn a_connection_lost_before_its_commit_is_answered_says_that_nobody_knows() {
    let (mut store, name) = fresh();
    let pid: i32 = store
        .open
        .line
        .rows("SELECT pg_backend_pid()", &[])
        .unwrap()[0]
        .get(0);
    // What the server said at the end is read, so that the commit finds nobody there.
    let lost = write(&mut store, |tx| {
        append(tx)?;
        end_process(pid, &name);
        Ok(())
    })
    .unwrap_err();
    let told = matches!(
        lost,
        StoreError {
            trouble: Trouble::Unconfirmed,
            ..
        } | StoreError {
            trouble: Trouble::Lost,
            ..
        }
    );
    assert!(told, "{lost}");
}

#[test]
fn a_connection_lost_between_transactions_is_replaced_and_claims_are_held_again() {
    let (mut store, name) = fresh();
    store.hold(3).unwrap();
    end(&store, &name);
    let mut other = open(&name);
    assert!(!other.held(3).unwrap());
    write(&mut store, |tx| append(tx).map(drop)).unwrap();
    assert!(other.held(3).unwrap());
}

#[test]
fn a_server_that_was_stopped_is_told_in_every_state() {
    let mut cluster = Cluster::start(Signed::ByAuthority);
    let uri = cluster.uri("postgres");
    let mut store = PostgresStore::open(&uri, Wish::Write).unwrap();
    let lost = write(&mut store, |tx| {
        append(tx)?;
        cluster.stop();
        tx.session("sess-1").map(drop)
    })
    .unwrap_err();
    assert_eq!(lost.trouble, Trouble::Lost, "{lost}");
    let gone = write(&mut store, |tx| append(tx).map(drop)).unwrap_err();
    assert_eq!(gone.trouble, Trouble::Unreachable, "{gone}");
    let gone = PostgresStore::open(&uri, Wish::Write).err().unwrap();
    assert!(
        gone.to_string().contains("whether the server is running"),
        "{gone}"
    );
}

#[test]
fn a_claim_is_held_by_one_until_it_is_given_back_or_its_owner_is_gone() {
    let (mut ours, name) = fresh();
    let mut theirs = open(&name);
    assert!(!theirs.held(5).unwrap());
    ours.hold(5).unwrap();
    assert!(ours.held(5).unwrap() && theirs.held(5).unwrap());
    assert!(!theirs.held(6).unwrap());
    assert!(matches!(&theirs.hold(5), Err(error) if error.trouble == Trouble::Busy));
    ours.release(5);
    assert!(!theirs.held(5).unwrap());
    theirs.hold(5).unwrap();
    drop(theirs);
    eventually("the lock of a closed connection free", || {
        !ours.held(5).unwrap()
    });
    // In another database it is another lock.
    ours.hold(5).unwrap();
    let (mut elsewhere, _) = fresh();
    assert!(!elsewhere.held(5).unwrap());
}

#[test]
fn a_writer_who_finds_the_ledger_locked_for_five_seconds_gives_up() {
    let (mut first, name) = fresh();
    let mut second = open(&name);
    write(&mut first, |tx| {
        append(tx)?;
        let start = Instant::now();
        let busy = write(&mut second, |tx| append(tx).map(drop)).unwrap_err();
        assert_eq!(busy.trouble, Trouble::Busy, "{busy}");
        assert!(start.elapsed() >= Duration::from_secs(4));
        Ok(())
    })
    .unwrap();
    write(&mut second, |tx| append(tx).map(drop)).unwrap();
}

#[test]
fn a_program_that_was_killed_holds_no_claim() {
    let (mut store, name) = fresh();
    let mut other = Cluster::shared()
        .psql(&name)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = other.stdin.take().unwrap();
    writeln!(stdin, "SELECT pg_advisory_lock({});", lock(9)).unwrap();
    eventually("the claim held", || store.held(9).unwrap());
    other.kill().unwrap();
    other.wait().unwrap();
    let start = Instant::now();
    eventually("the claim free", || !store.held(9).unwrap());
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn what_was_committed_to_survive_a_power_failure_is_on_the_disk() {
    let cluster = Cluster::start(Signed::ByAuthority);
    // Otherwise the server writes its log on its own a moment later.
    cluster.sql("postgres", "ALTER SYSTEM SET wal_writer_delay = '10s'");
    cluster.sql("postgres", "SELECT pg_reload_conf()");
    let mut store = PostgresStore::open(&cluster.uri("postgres"), Wish::Write).unwrap();
    let mut inserted = Vec::new();
    write(&mut store, |tx| {
        append(tx)?;
        inserted = tx.db.run("SELECT pg_current_wal_insert_lsn()::text", &[])?;
        Ok(())
    })
    .unwrap();
    let is_on_disk = "SELECT (pg_current_wal_flush_lsn() >= $1::pg_lsn)::text";
    let told = store.open.line.rows(is_on_disk, &inserted[0]).unwrap();
    assert_eq!(told[0].get::<_, &str>(0), "true");
}
