//! Makes rows of `agent_actions`, and records them together with their links.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use uuid::Builder;

use super::{
    canonical::sha256,
    chain::{self, Stamp, instant},
    record::{Body, Event, Head, Row, RowOutcome, RowState, UNRECORDED},
    request::{Asked, Hashes},
    store::{Result, Tx},
    validity::RESULT_RULES,
    words::{Ask, Ended, Running},
};

/// The `agent_name` of the rows (R-004-43).
const AGENT: &str = "action_agent";

/// The `agent_name` of an answer that a person gave.
const PERSON: &str = "person";

/// The catalog entries of a request, joined by `+`. Earlier results are looked up by them (R-004-35).
pub(crate) fn action_type(asked: &Asked) -> String {
    let entries: Vec<&str> = asked.steps.iter().map(|step| step.entry.as_str()).collect();
    entries.join("+")
}

/// The row of a repeated answer. Everything about the request is new, and the answer is the old one (C-38).
pub(super) fn again(
    ask: &Ask<'_>,
    hashes: &Hashes,
    (original, made): (&Row, &str),
    state: RowState,
    at: Timestamp,
) -> Row {
    Row {
        outcome: original.outcome,
        response: original.response.clone(),
        response_sha256: original.response_sha256.clone(),
        fault: original.fault.clone(),
        output_ids: original.output_ids.clone(),
        reused_from: Some(made.to_owned()),
        timestamp: instant(at),
        started_at: instant(at),
        state: Some(state),
        reason: Some(state.name()),
        attempt: ask.who.attempt.unwrap_or(original.attempt),
        ..asked(ask, hashes)
    }
}

pub(super) fn done(ask: &Ask<'_>, running: &Running, ended: Ended) -> Row {
    let base = Row {
        adjusted: ask.adjusted.clone(),
        reason: Some(running.why.name().to_owned()),
        attempt: running.attempt,
        ..asked(ask, &running.hashes)
    };
    answered(base, ended)
}

/// The row of a request with the answer that was given.
pub(super) fn answered(base: Row, ended: Ended) -> Row {
    Row {
        outcome: ended.outcome,
        response_sha256: sha256(&ended.response),
        response: Some(ended.response),
        fault: ended.fault.map(|fault| fault.name().to_owned()),
        input_ids: json(&ended.inputs),
        output_ids: json(&ended.outputs),
        timestamp: instant(ended.at),
        started_at: instant(ended.began),
        duration_ms: ended.duration_ms,
        state: Some(ended.state),
        ..base
    }
}

fn json<T: serde::Serialize>(list: &[T]) -> Option<String> {
    if list.is_empty() {
        return None;
    }
    serde_json::to_string(list).ok()
}

/// The row of a request, without an answer.
pub(super) fn asked(ask: &Ask<'_>, hashes: &Hashes) -> Row {
    let who = &ask.who;
    let owned = |text: Option<&str>| text.map(ToOwned::to_owned);
    Row {
        agent_name: Some(AGENT.to_owned()),
        action_type: Some(action_type(&ask.asked)),
        target_type: ask.target.as_ref().map(|target| target.kind.to_owned()),
        target_id: ask.target.as_ref().map(|target| target.id.clone()),
        request: Some(ask.request.clone()),
        request_hash: hashes.request_hash.clone(),
        confidence_score: ask.confidence,
        session_id: who.session_id.to_owned(),
        operation_id: who.operation_id.to_owned(),
        request_id: owned(who.request_id),
        idempotency_key: owned(who.idempotency_key),
        task_id: owned(who.task_id),
        parent: who.part.map(|part| part.parent.clone()),
        position: who.part.map(|part| part.position),
        entry_version: match ask.asked.steps.as_slice() {
            [step] => step.version.map(|version| version.to_string()),
            _ => None,
        },
        entry_digest: Some(ask.entry_digest.clone()),
        tool_pin: ask.tool_pin.clone(),
        oneact_version: this_version(),
        inputs_hash: Some(hashes.inputs_hash.clone()),
        request_sha256: sha256(&ask.request),
        ..Row::default()
    }
}

/// The versions of the program and of its rules for results.
fn this_version() -> String {
    format!("{}+{RESULT_RULES}", env!("CARGO_PKG_VERSION"))
}

/// The row of an answer that a person gave: a success.
pub(crate) fn resolved(base: Row, answer: &str, at: String) -> Row {
    Row {
        agent_name: Some(PERSON.to_owned()),
        outcome: RowOutcome::Success,
        response: Some(answer.to_owned()),
        response_sha256: sha256(answer),
        state: Some(RowState::Done),
        reason: Some("resolved".to_owned()),
        fault: None,
        output_ids: None,
        reused_from: None,
        revoked_by: None,
        duration_ms: 0,
        started_at: at.clone(),
        timestamp: at,
        ..base
    }
}

/// The row of a request for which the owner recorded none.
pub(super) fn unrecorded(of: Row) -> Row {
    Row {
        request: Some(UNRECORDED.to_owned()),
        request_sha256: sha256(UNRECORDED),
        oneact_version: this_version(),
        ..of
    }
}

/// Records an answer: counts it in its session, adds its link with what `body` says beside the facts of the row, and adds the
/// row. Returns the link and the number.
pub(super) fn add_row(
    tx: &mut Tx<'_>,
    event: Event,
    stamp: Stamp<'_>,
    mut row: Row,
    body: Body,
) -> Result<(Head, u64)> {
    row.step_index = tx.next_step(&row.session_id)?;
    let seq = tx.next_seq(stamp.session_id)?;
    row.id = id(&row, stamp.at, seq);
    row.seq = Some(seq);
    let head = chain::add_link(
        tx,
        event,
        stamp,
        &Body {
            request_hash: Some(row.request_hash.clone()),
            entry_digest: row.entry_digest.clone(),
            reason: row.reason.clone(),
            about: row.reused_from.clone(),
            row: Some(row.seal()),
            ..body
        },
    )?;
    tx.put(&row)?;
    Ok((head, row.step_index))
}

/// A UUID that is unique in this ledger, even if two runs make their operation ids from the same seed. It begins
/// with the time, so a new row is at the end of the index.
fn id(row: &Row, at: Timestamp, seq: u64) -> String {
    let hash = Sha256::new()
        .chain_update(&row.operation_id)
        .chain_update(seq.to_be_bytes())
        .finalize();
    let bytes = hash.first_chunk().copied().unwrap_or_default();
    let at = u64::try_from(at.as_millisecond()).unwrap_or_default();
    Builder::from_unix_timestamp_millis(at, &bytes)
        .into_uuid()
        .to_string()
}
