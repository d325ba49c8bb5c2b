//! What the facts begin with, and how they look at a ledger.

use jiff::Timestamp;

use super::Ledger;
use crate::{
    ledger::{Body, chain::Stamp, chain::append},
    ledger::{
        record::Which,
        record::{Claim, Effects, Event, Head, Link, Row, RowOutcome, RowState, Session},
        store::Seq,
        store::{Durability, Store, StoreError, Trouble, Tx, read, write},
    },
};

/// A row in the middle of everything, with a value in every column.
pub(crate) fn full(seq: Seq, step_index: u64) -> Row {
    let some = |text: &str| Some(text.to_owned());
    Row {
        id: format!("00000000-0000-7000-8000-{seq:012}"),
        agent_name: some("Äkta \"agent\" 'x'; DROP TABLE claims;--"),
        action_type: some("CAP-PRE-002"),
        target_type: some("ref"),
        target_id: some("derived_1 \u{1f600}"),
        outcome: RowOutcome::Success,
        request: some(r#"{"a": 1.0, "b":[12345678901234567890, "\u0000"] , "a2":"é\n"}"#),
        request_hash: hash('a'),
        response: some("{\"success\":true,\"text\":\"\u{1f600}\u{e9} ' \\\" %_?\"}"),
        confidence_score: Some(0.1),
        session_id: "sess-20260224-1000".to_owned(),
        step_index,
        timestamp: "2026-02-24T10:00:00.123Z".to_owned(),
        state: Some(RowState::Done),
        operation_id: format!("op_{seq}"),
        request_id: some("req-1"),
        idempotency_key: some("key-1"),
        task_id: some("task_1"),
        attempt: 2,
        entry_version: some("3"),
        entry_digest: some("sha256:e"),
        tool_pin: some("pin"),
        oneact_version: "0.1.0".to_owned(),
        inputs_hash: some("i"),
        input_ids: some(r#"[{"uri":"file:///a","size":1}]"#),
        output_ids: some("[]"),
        adjusted: some(r#"{"sample_rate":8000}"#),
        reused_from: None,
        reason: some("expired"),
        fault: some("tool_timeout"),
        started_at: "2026-02-24T09:59:59.000Z".to_owned(),
        duration_ms: 1123,
        request_sha256: "1".repeat(64),
        response_sha256: "2".repeat(64),
        seq: Some(seq),
        revoked_by: None,
        pruned: None,
        parent: None,
        position: None,
    }
}

/// A row with nothing in the columns that may be empty.
pub(crate) fn bare(seq: Seq, step_index: u64) -> Row {
    Row {
        agent_name: None,
        action_type: None,
        target_type: None,
        target_id: None,
        outcome: RowOutcome::Error,
        request: None,
        response: None,
        confidence_score: None,
        state: Some(RowState::Failed),
        request_id: None,
        idempotency_key: None,
        task_id: None,
        entry_version: None,
        entry_digest: None,
        tool_pin: None,
        inputs_hash: None,
        input_ids: None,
        output_ids: None,
        adjusted: None,
        reason: None,
        fault: None,
        ..full(seq, step_index)
    }
}

/// A row of before oneact; its id ends in that digit.
pub(crate) fn history(digit: char, step_index: u64) -> Row {
    Row {
        id: format!("00000000-0000-4000-8000-00000000000{digit}"),
        request_hash: String::new(),
        state: None,
        operation_id: String::new(),
        attempt: 1,
        oneact_version: String::new(),
        request_sha256: String::new(),
        response_sha256: String::new(),
        seq: None,
        ..bare(0, step_index)
    }
}

pub(crate) fn hash(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// A session that was opened by that link.
pub(crate) fn session(id: &str, seq: Seq) -> Session {
    Session {
        seq,
        session_id: id.to_owned(),
        context: "AGENT_AUTONOMOUS".to_owned(),
        profile: "default".to_owned(),
        principal: "uid:1000".to_owned(),
        opened_at: "2026-02-24T09:00:00.000Z".to_owned(),
    }
}

/// The session of [`full`].
pub(crate) const SESSION: &str = "sess-20260224-1000";

/// Opens a session with a link of its own.
pub(crate) fn open_session(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    let seq = link(tx, Event::Reserved)?.seq;
    tx.put(&session(id, seq))
}

/// A ledger with that session, which link 1 opened, and links 1 to 9.
pub(crate) fn begun(ledger: &dyn Ledger) -> Box<dyn Store + Send> {
    let mut store = ledger.open();
    written(&mut *store, |tx| {
        open_session(tx, SESSION)?;
        for _ in 1..9 {
            link(tx, Event::Succeeded)?;
        }
        Ok(())
    });
    store
}

pub(crate) fn link(tx: &mut Tx<'_>, event: Event) -> Result<Head, StoreError> {
    saying(tx, event, &Body::default())
}

pub(crate) fn saying(tx: &mut Tx<'_>, event: Event, body: &Body) -> Result<Head, StoreError> {
    let stamp = Stamp {
        operation_id: "op_1",
        session_id: SESSION,
        at: Timestamp::UNIX_EPOCH,
        actor: "uid:1000",
    };
    append(tx, event, stamp, body)
}

pub(crate) fn written<'s, T>(
    store: &'s mut dyn Store,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, StoreError>,
) -> T {
    write(store, Durability::Process, work).unwrap()
}

pub(crate) fn seen<'s, T>(
    store: &'s mut dyn Store,
    work: impl FnOnce(&mut Tx<'s>) -> Result<T, StoreError>,
) -> T {
    read(store, work).unwrap()
}

/// That it is refused as breaking a rule, and nothing is left of it.
pub(crate) fn refused(
    store: &mut dyn Store,
    work: impl FnMut(&mut Tx<'_>) -> Result<(), StoreError>,
) {
    let before = everything(store);
    let error = write(store, Durability::Process, work).unwrap_err();
    assert_eq!(error.trouble, Trouble::Refused, "{error:?}");
    assert_eq!(everything(store), before);
}

pub(crate) type Everything = (Vec<Link>, Vec<Row>, Vec<Session>, Vec<Claim>);

pub(crate) fn everything(store: &mut dyn Store) -> Everything {
    seen(store, |tx| {
        let rows = tx.rows(&Which::newest(), 1000)?;
        Ok((
            tx.page::<Link>(0, 1000)?,
            rows,
            tx.page::<Session>(0, 1000)?,
            tx.page::<Claim>(0, 1000)?,
        ))
    })
}

pub(crate) fn ids(store: &mut dyn Store, which: &Which, most: usize) -> Vec<Seq> {
    let rows = seen(store, |tx| tx.rows(which, most));
    rows.into_iter().map(|row| row.seq.unwrap()).collect()
}

pub(crate) fn claim(request_hash: &str, seq: Seq) -> Claim {
    Claim {
        session_id: SESSION.to_owned(),
        claimed: request_hash.to_owned(),
        request_hash: request_hash.to_owned(),
        operation_id: format!("op_{seq}"),
        seq,
        attempt: 1,
        began: seq,
        effects: Effects::Once,
        claimed_at: "2026-02-24T10:00:00.000Z".to_owned(),
        ..Claim::default()
    }
}

/// Every kind of link.
pub(crate) const EVENTS: [Event; 23] = [
    Event::Tied,
    Event::Rejected,
    Event::Pending,
    Event::Reserved,
    Event::Dispatched,
    Event::TakenOver,
    Event::Succeeded,
    Event::Failed,
    Event::RolledBack,
    Event::Cancelled,
    Event::Unknown,
    Event::Resolved,
    Event::Replayed,
    Event::Reused,
    Event::Suppressed,
    Event::Late,
    Event::Reviewed,
    Event::Revoked,
    Event::ApprovalRequested,
    Event::Approved,
    Event::Denied,
    Event::Pruned,
    Event::Keyed,
];

/// Every state of a row.
pub(crate) const STATES: [RowState; 12] = [
    RowState::Done,
    RowState::Partial,
    RowState::Failed,
    RowState::RolledBack,
    RowState::Cancelled,
    RowState::Unknown,
    RowState::Rejected,
    RowState::Pending,
    RowState::Reused,
    RowState::Suppressed,
    RowState::Replayed,
    RowState::Late,
];
