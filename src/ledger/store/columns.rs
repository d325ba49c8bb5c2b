//! The columns of the ledger's tables: the one place that says which there are, of which type they are, and which
//! field of a record each holds. Every list of columns of a statement is made from these tables.
//!
//! A new column of `agent_actions` needs a line of [`Row::COLUMNS`], a field of [`Row`] and a migration.

use uuid::Uuid;

use super::sql::{Dialect, Value};
use crate::ledger::record::{
    Claim, ClaimState, Effects, Head, Link, Row, RowOutcome, RowState, Session,
};

/// A column, and the field that it holds.
pub(crate) struct Column<R: 'static> {
    pub(crate) name: &'static str,
    kind: Kind,
    pub(crate) sealed: Sealed,
    field: Access<R>,
}

/// Leads to a field of a record.
type Access<R> = fn(&mut R) -> &mut dyn Field;

/// Whether the link of a row seals the column, so that nobody can change it unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sealed {
    Yes,
    /// It is changed later: by pruning or by revoking.
    No,
}

/// What a column holds. In SQLite each is what it looks like; PostgreSQL has types of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Uuid,
    /// A received id that need not be a UUID. PostgreSQL has a UUID that is derived from it, and beside it in
    /// `…_key` the id as it was received.
    Id(Received),
    /// JSON as it was given. PostgreSQL has it as `…_text`, and for queries as `jsonb`.
    Payload,
    Moment,
    Count,
    /// A count of 32 bits in PostgreSQL.
    Step,
    Score,
}

/// When PostgreSQL keeps an id as it was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Received {
    Always,
    /// Where the id is no UUID itself.
    WhereItDiffers,
}

/// What is read of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payloads {
    Kept,
    /// Where PostgreSQL's two copies differ, the one that is not the answer.
    Checked,
    /// Nothing: they may be large.
    Left,
}

/// A record that is one row of a table.
pub(crate) trait Record: Default + 'static {
    const COLUMNS: &'static [Column<Self>];

    fn table(dialect: Dialect) -> &'static str;
}

/// The columns that every table `agent_actions` of specification 004 has, whatever its version.
pub(super) const ALWAYS: [&str; 9] = [
    "id",
    "agent_name",
    "action_type",
    "target_type",
    "target_id",
    "outcome",
    "confidence_score",
    "session_id",
    "timestamp",
];

/// Columns of specification 004 by their newer and their older name.
pub(super) const RENAMED: [[&str; 2]; 3] = [
    ["response", "payload"],
    ["request", "input"],
    ["request_hash", "input_hash"],
];

impl Record for Row {
    /// In the order of the table. The first thirteen are specification 004's.
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", Kind::Uuid, |row| &mut row.id),
        column("agent_name", Kind::Text, |row| &mut row.agent_name),
        column("action_type", Kind::Text, |row| &mut row.action_type),
        column("target_type", Kind::Text, |row| &mut row.target_type),
        column("target_id", ID, |row| &mut row.target_id),
        column("outcome", Kind::Text, |row| &mut row.outcome),
        unsealed("request", Kind::Payload, |row| &mut row.request),
        column("request_hash", Kind::Text, |row| &mut row.request_hash),
        unsealed("response", Kind::Payload, |row| &mut row.response),
        column("confidence_score", Kind::Score, |row| {
            &mut row.confidence_score
        }),
        column("session_id", ID, |row| &mut row.session_id),
        column("step_index", Kind::Step, |row| &mut row.step_index),
        column("timestamp", Kind::Moment, |row| &mut row.timestamp),
        column("state", Kind::Text, |row| &mut row.state),
        column("operation_id", Kind::Text, |row| &mut row.operation_id),
        column("request_id", Kind::Text, |row| &mut row.request_id),
        column("idempotency_key", Kind::Text, |row| {
            &mut row.idempotency_key
        }),
        column("task_id", Kind::Text, |row| &mut row.task_id),
        column("attempt", Kind::Count, |row| &mut row.attempt),
        column("entry_version", Kind::Text, |row| &mut row.entry_version),
        column("entry_digest", Kind::Text, |row| &mut row.entry_digest),
        column("tool_pin", Kind::Text, |row| &mut row.tool_pin),
        column("oneact_version", Kind::Text, |row| &mut row.oneact_version),
        column("inputs_hash", Kind::Text, |row| &mut row.inputs_hash),
        column("input_ids", Kind::Text, |row| &mut row.input_ids),
        column("output_ids", Kind::Text, |row| &mut row.output_ids),
        column("adjusted", Kind::Text, |row| &mut row.adjusted),
        column("reused_from", Kind::Uuid, |row| &mut row.reused_from),
        column("reason", Kind::Text, |row| &mut row.reason),
        column("fault", Kind::Text, |row| &mut row.fault),
        column("started_at", Kind::Moment, |row| &mut row.started_at),
        column("duration_ms", Kind::Count, |row| &mut row.duration_ms),
        column("request_sha256", Kind::Text, |row| &mut row.request_sha256),
        column("response_sha256", Kind::Text, |row| {
            &mut row.response_sha256
        }),
        column(SEQ, Kind::Count, |row| &mut row.seq),
        unsealed("revoked_by", Kind::Count, |row| &mut row.revoked_by),
    ];

    fn table(dialect: Dialect) -> &'static str {
        dialect.choose("agent_actions", "public.agent_actions")
    }
}

impl Record for Link {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |link| &mut link.seq),
        column("operation_id", Kind::Text, |link| &mut link.operation_id),
        column("session_id", Kind::Text, |link| &mut link.session_id),
        column("event", Kind::Text, |link| &mut link.event),
        column("at", Kind::Text, |link| &mut link.at),
        column("actor", Kind::Text, |link| &mut link.actor),
        column("body", Kind::Text, |link| &mut link.body),
        column("prev_hash", Kind::Text, |link| &mut link.prev_hash),
        column("entry_hash", Kind::Text, |link| &mut link.entry_hash),
    ];

    fn table(dialect: Dialect) -> &'static str {
        dialect.choose("ledger_events", "public.ledger_events")
    }
}

impl Record for Head {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |head| &mut head.seq),
        column("entry_hash", Kind::Text, |head| &mut head.entry_hash),
    ];

    fn table(dialect: Dialect) -> &'static str {
        Link::table(dialect)
    }
}

impl Record for Session {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |session| &mut session.seq),
        column("session_id", Kind::Id(Received::Always), |session| {
            &mut session.session_id
        }),
        column("context", Kind::Text, |session| &mut session.context),
        column("profile", Kind::Text, |session| &mut session.profile),
        column("principal", Kind::Text, |session| &mut session.principal),
        column("opened_at", Kind::Moment, |session| &mut session.opened_at),
    ];

    fn table(dialect: Dialect) -> &'static str {
        dialect.choose("sessions", "public.oneact_sessions")
    }
}

impl Record for Claim {
    const COLUMNS: &'static [Column<Self>] = &[
        column("session_id", Kind::Text, |claim| &mut claim.key.session_id),
        column("request_hash", Kind::Text, |claim| {
            &mut claim.key.request_hash
        }),
        column("operation_id", Kind::Text, |claim| &mut claim.operation_id),
        column(SEQ, Kind::Count, |claim| &mut claim.seq),
        column("state", Kind::Text, |claim| &mut claim.state),
        column("effects", Kind::Text, |claim| &mut claim.effects),
    ];

    fn table(dialect: Dialect) -> &'static str {
        dialect.choose("claims", "public.oneact_claims")
    }
}

/// The number of the link that a record belongs to.
const SEQ: &str = "seq";
const ID: Kind = Kind::Id(Received::WhereItDiffers);

const fn column<R>(name: &'static str, kind: Kind, field: Access<R>) -> Column<R> {
    Column {
        name,
        kind,
        sealed: Sealed::Yes,
        field,
    }
}

const fn unsealed<R>(name: &'static str, kind: Kind, field: Access<R>) -> Column<R> {
    Column {
        name,
        kind,
        sealed: Sealed::No,
        field,
    }
}

/// The columns of a record, as a statement reads them.
pub(super) fn list<R: Record>(dialect: Dialect, payloads: Payloads) -> String {
    let read = R::COLUMNS
        .iter()
        .map(|column| column.read(dialect, payloads));
    read.collect::<Vec<_>>().join(", ")
}

/// The record that a statement with this [`list`] found, or what is wrong with it.
pub(super) fn record<R: Record>(dialect: Dialect, values: Vec<Value>) -> Result<R, String> {
    let number = R::COLUMNS.iter().position(|column| column.name == SEQ);
    let writer = match number.and_then(|at| values.get(at)) {
        None | Some(Value::Null) => Writer::Another,
        Some(_) => Writer::Oneact,
    };
    let mut record = R::default();
    for (column, value) in R::COLUMNS.iter().zip(values) {
        let value = column.received(dialect, value);
        let put = (column.field)(&mut record).put(value, writer);
        put.map_err(|why| format!("{} {why}", column.name))?;
    }
    Ok(record)
}

/// The statement that adds a record, and its values.
pub(super) fn insert<R: Record>(dialect: Dialect, mut record: R) -> (String, Vec<Value>) {
    let (mut names, mut places, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for column in R::COLUMNS {
        let value = (column.field)(&mut record).take();
        for (name, kind, value) in column.written(dialect, value) {
            values.push(value);
            places.push(match dialect {
                Dialect::Sqlite => format!("?{}", values.len()),
                Dialect::Postgres => format!("?{}::{kind}", values.len()),
            });
            names.push(name);
        }
    }
    let (names, places) = (names.join(", "), places.join(", "));
    let table = R::table(dialect);
    (
        format!("INSERT INTO {table} ({names}) VALUES ({places})"),
        values,
    )
}

impl<R> Column<R> {
    /// What PostgreSQL has of it: names and types.
    pub(super) fn in_postgres(&self) -> Vec<(String, &'static str)> {
        let name = self.name.to_owned();
        match self.kind {
            Kind::Text => vec![(name, "text")],
            Kind::Uuid => vec![(name, "uuid")],
            Kind::Id(_) => vec![(name, "uuid"), (self.key(), "text")],
            Kind::Payload => vec![(format!("{name}_text"), "text"), (name, "jsonb")],
            Kind::Moment => vec![(name, "timestamp with time zone")],
            Kind::Count => vec![(name, "bigint")],
            Kind::Step => vec![(name, "integer")],
            Kind::Score => vec![(name, "numeric")],
        }
    }

    /// The name of PostgreSQL's column for an id as it was received.
    fn key(&self) -> String {
        format!("{}_key", self.name.trim_end_matches("_id"))
    }

    /// The expression that reads it.
    fn read(&self, dialect: Dialect, payloads: Payloads) -> String {
        let name = self.name;
        match (dialect, self.kind, payloads) {
            (_, Kind::Payload, Payloads::Left) => "NULL".to_owned(),
            (Dialect::Sqlite, _, _) | (_, Kind::Text | Kind::Count, _) => name.to_owned(),
            (_, Kind::Uuid | Kind::Score, _) => format!("{name}::text"),
            (_, Kind::Step, _) => format!("{name}::bigint"),
            (_, Kind::Id(_), _) => {
                format!("{name}::text || COALESCE(' ' || {}, '')", self.key())
            }
            (_, Kind::Moment, _) => {
                format!("to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
            }
            (_, Kind::Payload, Payloads::Kept) => format!("COALESCE({name}_text, {name}::text)"),
            (_, Kind::Payload, Payloads::Checked) => format!(
                "CASE WHEN {name} IS DISTINCT FROM public.oneact_jsonb({name}_text) \
                 THEN {name}::text ELSE {name}_text END"
            ),
        }
    }

    /// What was received for what was read. Where PostgreSQL's two columns of an id are not of one id, it is what
    /// the UUID says.
    fn received(&self, dialect: Dialect, value: Value) -> Value {
        match (dialect, self.kind, value) {
            (Dialect::Postgres, Kind::Id(_), Value::Text(both)) => {
                let (derived, key) = both.split_once(' ').unwrap_or((&both, &both));
                let id = if uuid(key) == derived { key } else { derived };
                id.into()
            }
            (_, _, value) => value,
        }
    }

    /// The columns that are written for it: name, PostgreSQL's type, value.
    fn written(&self, dialect: Dialect, value: Value) -> Vec<(String, &'static str, Value)> {
        let names = match dialect {
            Dialect::Sqlite => vec![(self.name.to_owned(), "")],
            Dialect::Postgres => self.in_postgres(),
        };
        let values = match (dialect, self.kind, value) {
            (Dialect::Postgres, Kind::Id(received), Value::Text(id)) => {
                let derived = uuid(&id);
                let differs = received == Received::Always || id != derived;
                let key = if differs {
                    Value::Text(id)
                } else {
                    Value::Null
                };
                vec![Value::Text(derived), key]
            }
            // What is derived from it a trigger fills in.
            (_, _, value) => vec![value],
        };
        let written = names.into_iter().zip(values);
        written
            .map(|((name, kind), value)| (name, kind, value))
            .collect()
    }
}

/// The UUID of an id: itself if it is one, else version 5 of `oneact:` and the id under the namespace of
/// URLs, as `uuid_generate_v5(uuid_ns_url(), 'oneact:' || id)` gives it.
pub(super) fn uuid(id: &str) -> String {
    let own = (id.len() == 36).then(|| Uuid::try_parse(id).ok()).flatten();
    own.unwrap_or_else(|| Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("oneact:{id}").as_bytes()))
        .to_string()
}

/// Who wrote a row: rows of other programs, and of before oneact, have no link and may hold anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Oneact,
    Another,
}

/// A field of a record that a column holds.
trait Field {
    /// Takes over what was read, or says what is wrong with it.
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String>;
    /// Gives the value to be written, and leaves nothing.
    fn take(&mut self) -> Value;
}

impl Field for String {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        // Rows of other programs may lack it.
        *self = text(value)?.unwrap_or_default();
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::Text(std::mem::take(self))
    }
}

impl Field for Option<String> {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        *self = text(value)?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        Option::take(self).map_or(Value::Null, Value::Text)
    }
}

impl Field for u64 {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        *self = number(&value, writer)?.unwrap_or_default();
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::from(*self)
    }
}

impl Field for Option<u64> {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        *self = number(&value, writer)?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::from(*self)
    }
}

impl Field for u32 {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        let number = number(&value, writer)?.unwrap_or_default();
        *self = Self::try_from(number).unwrap_or(Self::MAX);
        Ok(())
    }

    fn take(&mut self) -> Value {
        Value::Int((*self).into())
    }
}

/// A score is a number that JSON has. PostgreSQL gives it as text.
impl Field for Option<f64> {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        let number = match value {
            Value::Null => return Ok(()),
            Value::Real(number) => Some(number),
            other => text(other)?.and_then(|text| text.parse().ok()),
        };
        *self = number.filter(|number| number.is_finite());
        match (&self, writer) {
            (None, Writer::Oneact) => Err("is no number of JSON".to_owned()),
            _ => Ok(()),
        }
    }

    fn take(&mut self) -> Value {
        self.map_or(Value::Null, Value::Real)
    }
}

impl Field for RowOutcome {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        *self = match (text(value)?.as_deref(), writer) {
            (Some("success"), _) => Self::Success,
            // What rows of another program say otherwise was no success.
            (Some("error"), _) | (_, Writer::Another) => Self::Error,
            (_, Writer::Oneact) => Self::Other,
        };
        Ok(())
    }

    fn take(&mut self) -> Value {
        self.name().into()
    }
}

impl Field for Option<RowState> {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        *self = match (value, writer) {
            (Value::Null, _) => None,
            (value, Writer::Another) => word(value, RowState::read).ok(),
            (value, Writer::Oneact) => Some(word(value, RowState::read)?),
        };
        Ok(())
    }

    fn take(&mut self) -> Value {
        self.map(RowState::name).into()
    }
}

impl Field for ClaimState {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        *self = word(value, Self::read)?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        self.name().into()
    }
}

impl Field for Effects {
    fn put(&mut self, value: Value, _: Writer) -> Result<(), String> {
        *self = word(value, Self::read)?;
        Ok(())
    }

    fn take(&mut self) -> Value {
        self.name().into()
    }
}

fn text(value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        Value::Int(_) | Value::Real(_) | Value::Bytes(_) => Err("is no text".to_owned()),
    }
}

/// A number from 0 on.
fn number(value: &Value, writer: Writer) -> Result<Option<u64>, String> {
    match (value, writer) {
        (Value::Int(number @ 0..), _) => Ok(Some(number.unsigned_abs())),
        (Value::Null, _) | (_, Writer::Another) => Ok(None),
        (_, Writer::Oneact) => Err("is no number from 0 on".to_owned()),
    }
}

/// A word of one of our lists.
fn word<T>(value: Value, read: fn(&str) -> Option<T>) -> Result<T, String> {
    let name = text(value)?.unwrap_or_default();
    read(&name).ok_or_else(|| format!("is `{name}`, which is none of its words"))
}
