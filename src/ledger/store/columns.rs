//! The columns of the ledger's tables: their types, the field that each one holds, and the rules for a record. The
//! lists of columns in statements are made from them.
//!
//! A new column of `agent_actions` needs a line of [`Row::COLUMNS`], a field of [`Row`] and a migration. The first
//! SQLite schema, whose text cannot change, calls the rules `store/rules.rs`.

use serde::de::IgnoredAny;
use uuid::Uuid;

use super::sql::{Engine, Field, Value, Writer};
use crate::{
    ledger::record::{Claim, Event, Head, Link, MOST_BODY, Row, Session, word},
    task::CallContext,
};

/// A column and the field that it holds.
pub(crate) struct Column<R: 'static> {
    pub(crate) name: &'static str,
    kind: Kind,
    pub(crate) sealed: Sealed,
    field: Access<R>,
}

/// Finds the field in a record.
type Access<R> = fn(&mut R) -> &mut dyn Field;

/// Whether the link of a row seals the column, so that a change can be detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sealed {
    Yes,
    /// Pruning or revoking changes it.
    No,
}

/// What a column holds. PostgreSQL has a type for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Uuid,
    /// A received id, which need not be a UUID. PostgreSQL has a UUID derived from it, and the id itself in
    /// `…_key` if it is no UUID.
    Id,
    /// An id that PostgreSQL always has in `…_key` as well.
    Key,
    /// A JSON text. PostgreSQL has it as `…_text`, and as `jsonb` for queries.
    Payload,
    Moment,
    Count,
    /// A count of 32 bits in PostgreSQL.
    Step,
    Score,
}

/// How requests and answers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payloads {
    Kept,
    /// In PostgreSQL the `jsonb`, if it differs from the text: then the hash does not match.
    Checked,
    /// None, because they may be large.
    Left,
}

/// A record that is one row of a table.
pub(crate) trait Record: Clone + Default + 'static {
    /// In the order of SQLite's table.
    const COLUMNS: &'static [Column<Self>];

    fn table(engine: Engine) -> &'static str;

    /// Checks a record before it is added. PostgreSQL has the same rules as constraints, because other programs
    /// may write to it.
    fn rule(&self) -> Rule {
        Ok(())
    }
}

/// Whether a rule is kept, or why not.
pub(super) type Rule = Result<(), &'static str>;

pub(super) fn must(holds: bool, why: &'static str) -> Rule {
    if holds { Ok(()) } else { Err(why) }
}

fn is_json(text: Option<&str>) -> bool {
    text.is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// The columns of `agent_actions` in both schemas of specification 004.
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

/// The columns of specification 004 that have a newer and an older name.
pub(super) const RENAMED: [[&str; 2]; 3] = [
    ["response", "payload"],
    ["request", "input"],
    ["request_hash", "input_hash"],
];

impl Record for Row {
    /// The first thirteen are those of specification 004.
    const COLUMNS: &'static [Column<Self>] = &[
        column("id", Kind::Uuid, |r| &mut r.id),
        column("agent_name", Kind::Text, |r| &mut r.agent_name),
        column("action_type", Kind::Text, |r| &mut r.action_type),
        column("target_type", Kind::Text, |r| &mut r.target_type),
        column("target_id", Kind::Id, |r| &mut r.target_id),
        column("outcome", Kind::Text, |r| &mut r.outcome),
        unsealed("request", Kind::Payload, |r| &mut r.request),
        column("request_hash", Kind::Text, |r| &mut r.request_hash),
        unsealed("response", Kind::Payload, |r| &mut r.response),
        column("confidence_score", Kind::Score, |r| &mut r.confidence_score),
        column("session_id", Kind::Id, |r| &mut r.session_id),
        column("step_index", Kind::Step, |r| &mut r.step_index),
        column("timestamp", Kind::Moment, |r| &mut r.timestamp),
        column("state", Kind::Text, |r| &mut r.state),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("request_id", Kind::Text, |r| &mut r.request_id),
        column("idempotency_key", Kind::Text, |r| &mut r.idempotency_key),
        column("task_id", Kind::Text, |r| &mut r.task_id),
        column("attempt", Kind::Count, |r| &mut r.attempt),
        column("entry_version", Kind::Text, |r| &mut r.entry_version),
        column("entry_digest", Kind::Text, |r| &mut r.entry_digest),
        column("tool_pin", Kind::Text, |r| &mut r.tool_pin),
        column("oneact_version", Kind::Text, |r| &mut r.oneact_version),
        column("inputs_hash", Kind::Text, |r| &mut r.inputs_hash),
        column("input_ids", Kind::Text, |r| &mut r.input_ids),
        column("output_ids", Kind::Text, |r| &mut r.output_ids),
        column("adjusted", Kind::Text, |r| &mut r.adjusted),
        column("reused_from", Kind::Uuid, |r| &mut r.reused_from),
        column("reason", Kind::Text, |r| &mut r.reason),
        column("fault", Kind::Text, |r| &mut r.fault),
        column("started_at", Kind::Moment, |r| &mut r.started_at),
        column("duration_ms", Kind::Count, |r| &mut r.duration_ms),
        column("request_sha256", Kind::Text, |r| &mut r.request_sha256),
        column("response_sha256", Kind::Text, |r| &mut r.response_sha256),
        column(SEQ, Kind::Count, |r| &mut r.seq),
        unsealed("revoked_by", Kind::Count, |r| &mut r.revoked_by),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["agent_actions", "public.agent_actions"])
    }

    /// The payloads of rows from before oneact are not checked.
    fn rule(&self) -> Rule {
        let linked = self.state.is_some() == self.seq.is_some();
        must(
            linked,
            "a row must have both a state and a link, or neither",
        )?;
        let lists = [&self.input_ids, &self.output_ids, &self.adjusted];
        let lists = lists.into_iter().all(|list| is_json(list.as_deref()));
        must(
            lists,
            "the inputs, the outputs or the changed parameters of a row are not JSON",
        )?;
        if self.state.is_none() {
            return Ok(());
        }
        let payloads = is_json(self.request.as_deref()) && is_json(self.response.as_deref());
        must(payloads, "a request or a response is not JSON")?;
        must(
            self.request_hash.len() == 71,
            "the hash of a request has the wrong length",
        )?;
        let confidence = self
            .confidence_score
            .is_none_or(|score| (0.0..=1.0).contains(&score));
        must(confidence, "a confidence must be between 0 and 1")
    }
}

impl Record for Link {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column("session_id", Kind::Text, |r| &mut r.session_id),
        column("event", Kind::Text, |r| &mut r.event),
        column("at", Kind::Text, |r| &mut r.at),
        column("actor", Kind::Text, |r| &mut r.actor),
        column("body", Kind::Text, |r| &mut r.body),
        column("prev_hash", Kind::Text, |r| &mut r.prev_hash),
        column("entry_hash", Kind::Text, |r| &mut r.entry_hash),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["ledger_events", "public.ledger_events"])
    }

    fn rule(&self) -> Rule {
        let known: Option<Event> = word(&self.event);
        must(known.is_some(), "the event of a link is unknown")?;
        must(
            self.entry_hash.len() == 64,
            "the hash of a link has the wrong length",
        )?;
        must(
            self.body.len() <= MOST_BODY,
            "the body of a link is too long",
        )?;
        must(is_json(Some(&self.body)), "the body of a link is not JSON")
    }
}

impl Record for Head {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("entry_hash", Kind::Text, |r| &mut r.entry_hash),
    ];

    fn table(engine: Engine) -> &'static str {
        Link::table(engine)
    }
}

impl Record for Session {
    const COLUMNS: &'static [Column<Self>] = &[
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("session_id", Kind::Key, |r| &mut r.session_id),
        column("context", Kind::Text, |r| &mut r.context),
        column("profile", Kind::Text, |r| &mut r.profile),
        column("principal", Kind::Text, |r| &mut r.principal),
        column("opened_at", Kind::Moment, |r| &mut r.opened_at),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["sessions", "public.oneact_sessions"])
    }

    fn rule(&self) -> Rule {
        let context: Option<CallContext> = word(&self.context);
        must(context.is_some(), "the context of a session is unknown")
    }
}

impl Record for Claim {
    const COLUMNS: &'static [Column<Self>] = &[
        column("session_id", Kind::Text, |r| &mut r.key.session_id),
        column("request_hash", Kind::Text, |r| &mut r.key.request_hash),
        column("operation_id", Kind::Text, |r| &mut r.operation_id),
        column(SEQ, Kind::Count, |r| &mut r.seq),
        column("state", Kind::Text, |r| &mut r.state),
        column("effects", Kind::Text, |r| &mut r.effects),
    ];

    fn table(engine: Engine) -> &'static str {
        engine.choose(["claims", "public.oneact_claims"])
    }
}

/// The number of a record's link.
const SEQ: &str = "seq";

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

/// The columns of a record in a statement that reads it.
pub(super) fn list<R: Record>(engine: Engine, payloads: Payloads) -> String {
    let read = R::COLUMNS
        .iter()
        .map(|column| column.read(engine, payloads));
    read.collect::<Vec<_>>().join(", ")
}

/// The record from the values of its [`list`], or what is wrong with them.
pub(super) fn record<R: Record>(engine: Engine, values: Vec<Value>) -> Result<R, String> {
    let number = R::COLUMNS.iter().position(|column| column.name == SEQ);
    let writer = match number.and_then(|at| values.get(at)) {
        None | Some(Value::Null) => Writer::Another,
        Some(_) => Writer::Oneact,
    };
    let mut record = R::default();
    for (column, value) in R::COLUMNS.iter().zip(values) {
        let value = column.received(engine, value);
        let put = (column.field)(&mut record).put(value, writer);
        put.map_err(|why| format!("{} {why}", column.name))?;
    }
    Ok(record)
}

/// The statement that adds a record, and its values.
pub(super) fn insert<R: Record>(engine: Engine, record: &R) -> (String, Vec<Value>) {
    let mut record = record.clone();
    let (mut names, mut places, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for column in R::COLUMNS {
        let value = (column.field)(&mut record).take();
        for (name, kind, value) in column.written(engine, value) {
            values.push(value);
            places.push(match engine {
                Engine::Sqlite => format!("?{}", values.len()),
                Engine::Postgres => format!("?{}::{kind}", values.len()),
            });
            names.push(name);
        }
    }
    let names = match engine {
        // The columns are in the order of the table. SQLite would spend a third of the compilation on their names.
        Engine::Sqlite => String::new(),
        Engine::Postgres => format!("({})", names.join(", ")),
    };
    let (table, places) = (R::table(engine), places.join(", "));
    (
        format!("INSERT INTO {table} {names} VALUES ({places})"),
        values,
    )
}

impl<R> Column<R> {
    /// The names and types of its columns in PostgreSQL.
    pub(super) fn in_postgres(&self) -> Vec<(String, &'static str)> {
        let name = self.name.to_owned();
        match self.kind {
            Kind::Text => vec![(name, "text")],
            Kind::Uuid => vec![(name, "uuid")],
            Kind::Id | Kind::Key => vec![(name, "uuid"), (self.key(), "text")],
            Kind::Payload => vec![(format!("{name}_text"), "text"), (name, "jsonb")],
            Kind::Moment => vec![(name, "timestamp with time zone")],
            Kind::Count => vec![(name, "bigint")],
            Kind::Step => vec![(name, "integer")],
            Kind::Score => vec![(name, "numeric")],
        }
    }

    /// The name of PostgreSQL's column for the id itself.
    fn key(&self) -> String {
        format!("{}_key", self.name.trim_end_matches("_id"))
    }

    /// The expression that reads it.
    fn read(&self, engine: Engine, payloads: Payloads) -> String {
        let name = self.name;
        match (engine, self.kind, payloads) {
            (_, Kind::Payload, Payloads::Left) => "NULL".to_owned(),
            (Engine::Sqlite, _, _) | (_, Kind::Text | Kind::Count, _) => name.to_owned(),
            (_, Kind::Uuid | Kind::Score, _) => format!("{name}::text"),
            (_, Kind::Step, _) => format!("{name}::bigint"),
            (_, Kind::Id | Kind::Key, _) => {
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

    /// The value of the field from the value that was read. If PostgreSQL's two columns of an id do not match, the
    /// UUID counts.
    fn received(&self, engine: Engine, value: Value) -> Value {
        match (engine, self.kind, value) {
            (Engine::Postgres, Kind::Id | Kind::Key, Value::Text(both)) => {
                let (derived, key) = both.split_once(' ').unwrap_or((&both, &both));
                let id = if uuid(key) == derived { key } else { derived };
                id.into()
            }
            (_, _, value) => value,
        }
    }

    /// The columns that are written, with PostgreSQL's types and the values.
    fn written(&self, engine: Engine, value: Value) -> Vec<(String, &'static str, Value)> {
        let names = match engine {
            Engine::Sqlite => vec![(self.name.to_owned(), "")],
            Engine::Postgres => self.in_postgres(),
        };
        let values = match (engine, self.kind, value) {
            (Engine::Postgres, Kind::Id | Kind::Key, Value::Text(id)) => {
                let derived = uuid(&id);
                let differs = self.kind == Kind::Key || id != derived;
                let key = if differs {
                    Value::Text(id)
                } else {
                    Value::Null
                };
                vec![Value::Text(derived), key]
            }
            // A trigger fills the `jsonb` in.
            (_, _, value) => vec![value],
        };
        let written = names.into_iter().zip(values);
        written
            .map(|((name, kind), value)| (name, kind, value))
            .collect()
    }
}

/// The UUID of an id: the id itself if it is one, else `uuid_generate_v5(uuid_ns_url(), 'oneact:' || id)`.
pub(super) fn uuid(id: &str) -> String {
    let own = (id.len() == 36).then(|| Uuid::try_parse(id).ok()).flatten();
    own.unwrap_or_else(|| Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("oneact:{id}").as_bytes()))
        .to_string()
}
