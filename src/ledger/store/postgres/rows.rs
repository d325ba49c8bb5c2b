//! `agent_actions` and sessions, between their columns and the ledger's words.

use std::error::Error as StdError;

use tokio_postgres::{
    Error, Row as Found,
    types::{FromSql, Type, accepts},
};
use uuid::Uuid;

use super::{
    super::{Delivery, Earlier, Which},
    value::{Value, given},
};
use crate::ledger::record::{Row, RowOutcome, RowState, Seq, Session};

/// Where session ids are compared: as they were received.
macro_rules! session {
    () => {
        "COALESCE(session_key, session_id::text)"
    };
}

/// A moment as the ledger writes it.
macro_rules! instant {
    ($column:literal) => {
        concat!(
            "to_char(",
            $column,
            " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        )
    };
}

macro_rules! columns {
    ($request:literal, $response:literal) => {
        concat!(
            "id::text, agent_name, action_type, target_type, COALESCE(target_key, target_id::text), outcome, ",
            $request,
            ", request_hash, ",
            $response,
            ", confidence_score::text, ",
            session!(),
            ", step_index::bigint, ",
            instant!("timestamp"),
            ", state, operation_id, request_id, idempotency_key, task_id, attempt, entry_version, entry_digest, ",
            "tool_pin, oneact_version, inputs_hash, input_ids, output_ids, adjusted, reused_from::text, reason, ",
            "fault, ",
            instant!("started_at"),
            ", duration_ms, request_sha256, response_sha256, seq, revoked_by, session_id::text, target_id::text"
        )
    };
}

/// What [`row`] reads, in its order.
pub(super) const COLUMNS: &str = columns!(
    "COALESCE(request_text, request::text)",
    "COALESCE(response_text, response::text)"
);

/// The same, for a check: where what is kept twice differs, it is the one that is not the answer.
pub(super) const TWICE_KEPT: &str = columns!(
    "CASE WHEN request IS DISTINCT FROM public.oneact_jsonb(request_text) THEN request::text ELSE request_text END",
    "CASE WHEN response IS DISTINCT FROM public.oneact_jsonb(response_text) THEN response::text ELSE response_text END"
);

/// The same, without request and response.
pub(super) const BARE: &str = columns!("NULL::text", "NULL::text");

/// What says something new of a delivery: as its index has it, or that is not used.
macro_rules! told {
    () => {
        "state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed')"
    };
}

pub(super) const INSERT: &str = "INSERT INTO public.agent_actions \
    (id, agent_name, action_type, target_type, target_id, target_key, outcome, request_text, request_hash, \
     response_text, confidence_score, session_id, session_key, step_index, timestamp, state, operation_id, \
     request_id, idempotency_key, task_id, attempt, entry_version, entry_digest, tool_pin, oneact_version, \
     inputs_hash, input_ids, output_ids, adjusted, reused_from, reason, fault, started_at, duration_ms, \
     request_sha256, response_sha256, seq, revoked_by) \
    VALUES ($1::uuid, $2, $3, $4, $5::uuid, $6, $7, $8, $9, $10, $11::numeric, $12::uuid, $13, $14::integer, \
     $15::timestamptz, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30::uuid, $31, \
     $32, $33::timestamptz, $34, $35, $36, $37, $38)";

pub(super) const SESSIONS: &str = concat!(
    "SELECT seq, session_key, context, profile, principal, ",
    instant!("opened_at"),
    ", session_id::text FROM public.oneact_sessions"
);

pub(super) fn text(row: &Found, at: usize) -> Result<String, Error> {
    row.try_get(at).map(given)
}

fn maybe(row: &Found, at: usize) -> Result<Option<String>, Error> {
    Ok(row.try_get::<_, Option<String>>(at)?.map(given))
}

/// What rows of before oneact may lack.
fn or_empty(row: &Found, at: usize) -> Result<String, Error> {
    Ok(maybe(row, at)?.unwrap_or_default())
}

pub(super) fn number(row: &Found, at: usize) -> Result<u64, Error> {
    Ok(maybe_number(row, at)?.unwrap_or_default())
}

fn maybe_number(row: &Found, at: usize) -> Result<Option<u64>, Error> {
    let number: Option<Count> = row.try_get(at)?;
    Ok(number.map(|number| number.0))
}

/// A number of a row that has that link, or none: what others write there is theirs.
fn number_of(row: &Found, at: usize, link: Option<Seq>) -> Result<u64, Error> {
    match (number(row, at), link) {
        (Err(_), None) => Ok(0),
        (number, _) => number,
    }
}

/// A number that is never below zero.
struct Count(u64);

impl FromSql<'_> for Count {
    fn from_sql(kind: &Type, raw: &[u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self(i64::from_sql(kind, raw)?.try_into()?))
    }

    accepts!(INT8);
}

/// An id as it was received, and as a UUID: where they are not of one id, it is what the second says.
fn id(row: &Found, at: usize, as_uuid: usize) -> Result<Option<String>, Error> {
    let (received, as_uuid) = (maybe(row, at)?, maybe(row, as_uuid)?);
    if received.as_deref().map(uuid) == as_uuid {
        return Ok(received);
    }
    Ok(as_uuid)
}

pub(super) fn session(row: &Found) -> Result<Session, Error> {
    Ok(Session {
        seq: number(row, 0)?,
        session_id: id(row, 1, 6)?.unwrap_or_default(),
        context: text(row, 2)?,
        profile: text(row, 3)?,
        principal: text(row, 4)?,
        opened_at: text(row, 5)?,
    })
}

pub(super) fn row(row: &Found) -> Result<Row, Error> {
    let seq = maybe_number(row, 34)?;
    Ok(Row {
        id: text(row, 0)?,
        agent_name: maybe(row, 1)?,
        action_type: maybe(row, 2)?,
        target_type: maybe(row, 3)?,
        target_id: id(row, 4, 37)?,
        outcome: RowOutcome::read(&or_empty(row, 5)?, seq),
        request: maybe(row, 6)?,
        request_hash: or_empty(row, 7)?,
        response: maybe(row, 8)?,
        confidence_score: score(maybe(row, 9)?, seq),
        session_id: id(row, 10, 36)?.unwrap_or_default(),
        step_index: number_of(row, 11, seq)?,
        timestamp: or_empty(row, 12)?,
        state: maybe(row, 13)?.as_deref().and_then(RowState::read),
        operation_id: or_empty(row, 14)?,
        request_id: maybe(row, 15)?,
        idempotency_key: maybe(row, 16)?,
        task_id: maybe(row, 17)?,
        attempt: u32::try_from(number_of(row, 18, seq)?).unwrap_or(u32::MAX),
        entry_version: maybe(row, 19)?,
        entry_digest: maybe(row, 20)?,
        tool_pin: maybe(row, 21)?,
        oneact_version: or_empty(row, 22)?,
        inputs_hash: maybe(row, 23)?,
        input_ids: maybe(row, 24)?,
        output_ids: maybe(row, 25)?,
        adjusted: maybe(row, 26)?,
        reused_from: maybe(row, 27)?,
        reason: maybe(row, 28)?,
        fault: maybe(row, 29)?,
        started_at: or_empty(row, 30)?,
        duration_ms: number_of(row, 31, seq)?,
        request_sha256: or_empty(row, 32)?,
        response_sha256: or_empty(row, 33)?,
        seq,
        revoked_by: maybe_number(row, 35)?,
    })
}

/// A number of a row of ours is one that JSON has; any other is what no link seals.
fn score(text: Option<String>, link: Option<Seq>) -> Option<f64> {
    let number = text?.parse().ok().filter(|score: &f64| score.is_finite());
    number.or_else(|| link.map(|_| f64::MAX))
}

/// What a row's columns hold that the row does not.
pub(super) struct Made {
    session: String,
    target: Option<String>,
    score: Option<String>,
}

impl Made {
    pub(super) fn of(row: &Row) -> Self {
        Self {
            session: uuid(&row.session_id),
            target: row.target_id.as_deref().map(uuid),
            score: row.confidence_score.map(|score| score.to_string()),
        }
    }

    /// As [`INSERT`] wants them.
    pub(super) fn values<'a>(&'a self, row: &'a Row) -> [Value<'a>; 38] {
        let target = row.target_id.as_deref();
        let key = |id: &&str| self.target.as_deref() != Some(*id);
        let session = row.session_id.as_str();
        [
            Value::text(&row.id),
            Value::maybe(row.agent_name.as_deref()),
            Value::maybe(row.action_type.as_deref()),
            Value::maybe(row.target_type.as_deref()),
            Value::maybe(self.target.as_deref()),
            Value::maybe(target.filter(key)),
            Value::text(row.outcome.name()),
            Value::maybe(row.request.as_deref()),
            Value::text(&row.request_hash),
            Value::maybe(row.response.as_deref()),
            Value::maybe(self.score.as_deref()),
            Value::text(&self.session),
            Value::maybe((session != self.session).then_some(session)),
            Value::int(row.step_index),
            Value::text(&row.timestamp),
            Value::maybe(row.state.map(RowState::name)),
            Value::text(&row.operation_id),
            Value::maybe(row.request_id.as_deref()),
            Value::maybe(row.idempotency_key.as_deref()),
            Value::maybe(row.task_id.as_deref()),
            Value::int(row.attempt),
            Value::maybe(row.entry_version.as_deref()),
            Value::maybe(row.entry_digest.as_deref()),
            Value::maybe(row.tool_pin.as_deref()),
            Value::text(&row.oneact_version),
            Value::maybe(row.inputs_hash.as_deref()),
            Value::maybe(row.input_ids.as_deref()),
            Value::maybe(row.output_ids.as_deref()),
            Value::maybe(row.adjusted.as_deref()),
            Value::maybe(row.reused_from.as_deref()),
            Value::maybe(row.reason.as_deref()),
            Value::maybe(row.fault.as_deref()),
            Value::text(&row.started_at),
            Value::int(row.duration_ms),
            Value::text(&row.request_sha256),
            Value::text(&row.response_sha256),
            Value::maybe_int(row.seq),
            Value::maybe_int(row.revoked_by),
        ]
    }
}

/// The UUID of an id: itself if it is one, else version 5 of `oneact:` and the id under the namespace of
/// URLs, as `uuid_generate_v5(uuid_ns_url(), 'oneact:' || id)` gives it.
pub(super) fn uuid(id: &str) -> String {
    let own = (id.len() == 36).then(|| Uuid::try_parse(id).ok()).flatten();
    own.unwrap_or_else(|| Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("oneact:{id}").as_bytes()))
        .to_string()
}

macro_rules! by_age {
    () => {
        "seq DESC NULLS LAST, timestamp DESC NULLS LAST, step_index DESC, id DESC"
    };
}

const BY_AGE: &str = by_age!();
const NEWEST: &str = concat!("ORDER BY ", by_age!());

/// Condition and order of a question, with its parameters; none where nothing can fit.
pub(super) fn which<'a>(which: &Which<'a>) -> Option<(String, Vec<Value<'a>>)> {
    let session = session!();
    Some(match *which {
        Which::Delivery(delivery) => of_delivery(delivery),
        Which::Task {
            session_id,
            task_id,
        } => (
            format!("WHERE {session} = $1 AND task_id = $2 {NEWEST}"),
            vec![Value::text(session_id), Value::text(task_id)],
        ),
        Which::Runs {
            session_id,
            task_id,
        } => (
            format!(
                "WHERE {session} = $1 AND task_id = $2 \
                 AND state IN ('done', 'partial', 'failed', 'rolled_back', 'cancelled') {NEWEST}"
            ),
            vec![Value::text(session_id), Value::text(task_id)],
        ),
        // No text that begins so comes after it with the last character behind.
        Which::Operation(begin) => (
            format!(
                "WHERE operation_id >= $1 AND operation_id < $1 || chr(1114111) \
                 AND ($2::text IS NULL OR {session} = $2) ORDER BY operation_id <> $1, {BY_AGE}"
            ),
            vec![Value::text(begin.text), Value::maybe(begin.session_id)],
        ),
        Which::Id(begin) => {
            let (first, last) = (filled(begin.text, '0')?, filled(begin.text, 'f')?);
            (
                format!(
                    "WHERE id BETWEEN $1::uuid AND $2::uuid AND ($3::text IS NULL OR {session} = $3) ORDER BY id"
                ),
                vec![owned(first), owned(last), Value::maybe(begin.session_id)],
            )
        }
        Which::Session(session_id) => (
            format!("WHERE {session} = $1 ORDER BY step_index NULLS FIRST, timestamp, id"),
            vec![Value::text(session_id)],
        ),
        Which::Latest(session_id) => (
            format!(
                "WHERE {session} = $1 ORDER BY step_index DESC NULLS LAST, timestamp DESC, id DESC"
            ),
            vec![Value::text(session_id)],
        ),
        Which::Step {
            session_id,
            step_index,
        } => (
            format!("WHERE {session} = $1 AND step_index = $2 {NEWEST}"),
            vec![Value::text(session_id), Value::int(step_index)],
        ),
        Which::Seq(seq) => ("WHERE seq = $1".to_owned(), vec![Value::int(seq)]),
        Which::From(seq) => (
            "WHERE seq >= $1 ORDER BY seq NULLS FIRST".to_owned(),
            vec![Value::since(seq)],
        ),
        Which::Earlier {
            than,
            session_id,
            what,
        } => earlier(than, session_id, &what),
        Which::ReusesOf(id) => {
            if id.len() != 36 {
                return None;
            }
            let id = filled(id, '0')?;
            (
                format!("WHERE reused_from = $1::uuid {NEWEST}"),
                vec![owned(id)],
            )
        }
        Which::Newest => (NEWEST.to_owned(), Vec::new()),
    })
}

fn of_delivery(delivery: Delivery<'_>) -> (String, Vec<Value<'_>>) {
    let session = session!();
    match delivery {
        Delivery::Key {
            session_id,
            idempotency_key,
        } => (
            format!(
                "WHERE {session} = $1 AND idempotency_key = $2 AND {} {NEWEST}",
                told!()
            ),
            vec![Value::text(session_id), Value::text(idempotency_key)],
        ),
        Delivery::Task {
            session_id,
            request_id,
            task_id,
            attempt,
        } => (
            format!(
                "WHERE {session} = $1 AND task_id = $2 AND request_id IS NOT DISTINCT FROM $3 \
                 AND ($4::bigint IS NULL OR attempt = $4) AND {} {NEWEST}",
                told!()
            ),
            vec![
                Value::text(session_id),
                Value::text(task_id),
                Value::maybe(request_id),
                Value::maybe_int(attempt.map(u64::from)),
            ],
        ),
    }
}

fn earlier<'a>(than: Seq, session_id: &'a str, what: &Earlier<'a>) -> (String, Vec<Value<'a>>) {
    let session = session!();
    let (condition, mut values) = match *what {
        Earlier::Success {
            action_type,
            request_hash,
        } => (
            format!(
                "WHERE request_hash = $1 AND action_type = $2 AND {session} = $3 AND seq < $4 \
                 AND outcome = 'success' AND state IN ('done', 'partial') {NEWEST}"
            ),
            vec![Value::text(request_hash), Value::text(action_type)],
        ),
        Earlier::Failure { task_id } => (
            format!(
                "WHERE task_id = $1 AND {session} = $2 AND (seq IS NULL OR seq < $3) \
                 AND outcome IS DISTINCT FROM 'success' {NEWEST}"
            ),
            vec![Value::text(task_id)],
        ),
    };
    values.extend([Value::text(session_id), Value::int(than)]);
    (condition, values)
}

fn owned<'a>(text: String) -> Value<'a> {
    Value::Text(Some(text.into()))
}

/// The first or the last UUID with that beginning.
fn filled(beginning: &str, digit: char) -> Option<String> {
    let beginning = beginning.to_ascii_lowercase();
    let dashes = [8, 13, 18, 23];
    let rest =
        (beginning.chars().count()..36).map(|at| if dashes.contains(&at) { '-' } else { digit });
    let whole: String = beginning.chars().chain(rest).collect();
    (whole.len() == 36 && Uuid::try_parse(&whole).is_ok()).then_some(whole)
}
