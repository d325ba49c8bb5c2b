//! Facts about the ledger in PostgreSQL, against a real server.

pub(crate) mod cluster;
mod connecting;
mod losing;
mod migrating;
mod recording;
mod securing;
mod values;

use super::*;
use crate::ledger::{
    record::{Link, Row, RowOutcome, RowState, Session},
    store::tests::given::seen,
    store::{NOTHING, Seq},
};
use cluster::Cluster;

/// A fresh database, opened for writing.
fn fresh() -> (PostgresStore, String) {
    let name = Cluster::shared().database();
    (open(&name), name)
}

fn open(database: &str) -> PostgresStore {
    PostgresStore::open(&Cluster::shared().uri(database), Wish::Write).unwrap()
}

fn write(
    store: &mut PostgresStore,
    work: impl FnOnce(&mut Tx<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    super::super::write(store, Durability::Disk, work)
}

/// The session of all links.
const SESSION: &str = "sess-1";

fn link(seq: Seq, number: u64, before: &str) -> Link {
    let mut link = Link {
        seq,
        operation_id: format!("op_{seq}"),
        session_id: SESSION.to_owned(),
        number,
        event: "succeeded".to_owned(),
        at: "2026-02-24T10:00:00.120Z".to_owned(),
        actor: "uid:1000".to_owned(),
        body: "{}".to_owned(),
        prev_hash: before.to_owned(),
        entry_hash: String::new(),
    };
    link.entry_hash = link.hash();
    link
}

/// Adds a link that takes a row back.
fn taken_back(tx: &mut Tx<'_>, id: &str) -> Result<Seq, StoreError> {
    saying(tx, "revoked", &format!(r#"{{"about":"{id}"}}"#))
}

/// Adds a link that says a row was pruned.
fn pruned(tx: &mut Tx<'_>, id: &str) -> Result<Seq, StoreError> {
    saying(tx, "pruned", &format!(r#"{{"rows":["{id}"]}}"#))
}

/// Adds a link and gives its number.
fn append(tx: &mut Tx<'_>) -> Result<Seq, StoreError> {
    saying(tx, "succeeded", "{}")
}

fn saying(tx: &mut Tx<'_>, event: &str, body: &str) -> Result<Seq, StoreError> {
    let seq = tx.next_seq(SESSION)?;
    let (number, before) = tx.ends(SESSION)?.follow();
    let mut link = link(seq, number, &before);
    event.clone_into(&mut link.event);
    body.clone_into(&mut link.body);
    link.entry_hash = link.hash();
    tx.append(&link)?;
    Ok(seq)
}

/// A row of a link; its id ends in the link's number.
fn row(session_id: &str, seq: Seq) -> Row {
    Row {
        id: format!("0198a7c2-0000-7000-8000-{seq:012}"),
        agent_name: Some("planner".to_owned()),
        action_type: Some("CAP-PRE-002".to_owned()),
        target_type: Some("asset".to_owned()),
        target_id: Some("derived_1".to_owned()),
        outcome: RowOutcome::Success,
        request: Some(r#"{"b":1.0,"a":[1,  2]}"#.to_owned()),
        request_hash: format!("sha256:{}", "0".repeat(64)),
        response: Some(r#"{"success":true,"data":{"n":1.50}}"#.to_owned()),
        confidence_score: Some(0.1 + 0.2),
        session_id: session_id.to_owned(),
        step_index: seq - 1,
        timestamp: "2026-02-24T10:00:00.120Z".to_owned(),
        state: Some(RowState::Done),
        operation_id: format!("op_{seq}"),
        request_id: Some("req-1".to_owned()),
        idempotency_key: Some("key-1".to_owned()),
        task_id: Some("task_1".to_owned()),
        attempt: 2,
        entry_version: Some("3".to_owned()),
        entry_digest: Some("sha256:11".to_owned()),
        tool_pin: Some("ffmpeg 7".to_owned()),
        oneact_version: "0.1.0".to_owned(),
        inputs_hash: Some("22".to_owned()),
        input_ids: Some(r#"{"z":1, "a":2}"#.to_owned()),
        output_ids: Some("[]".to_owned()),
        adjusted: Some("{}".to_owned()),
        reused_from: (seq > 1).then(|| "0198a7c2-0000-7000-8000-000000000001".to_owned()),
        reason: Some("first".to_owned()),
        fault: Some("none".to_owned()),
        started_at: "2026-02-24T09:59:59.000Z".to_owned(),
        duration_ms: 1120,
        request_sha256: "33".to_owned(),
        response_sha256: "44".to_owned(),
        seq: Some(seq),
        revoked_by: None,
        pruned: None,
        parent: None,
        position: None,
    }
}

/// A session that was opened by the first link.
fn session(id: &str) -> Session {
    Session {
        seq: 1,
        session_id: id.to_owned(),
        context: "AGENT_AUTONOMOUS".to_owned(),
        profile: "default".to_owned(),
        principal: "uid:1000".to_owned(),
        opened_at: "2026-02-24T09:00:00.007Z".to_owned(),
    }
}

/// The rows that a question finds.
fn ask(store: &mut PostgresStore, which: &crate::ledger::record::Which) -> Vec<Row> {
    seen(store, |tx| tx.rows(which, 100))
}
