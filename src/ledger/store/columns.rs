//! How a record is read from the columns of a table and written to them. The statements are made from the lists of
//! columns.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use uuid::Uuid;

use super::sql::{Engine, Field, Value, Writer};

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
pub(in crate::ledger) enum Kind {
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
pub(in crate::ledger) type Rule = Result<(), &'static str>;

pub(in crate::ledger) fn must(holds: bool, why: &'static str) -> Rule {
    if holds { Ok(()) } else { Err(why) }
}

pub(in crate::ledger) fn is_json(text: Option<&str>) -> bool {
    text.is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// The number of a record's link.
pub(in crate::ledger) const SEQ: &str = "seq";

pub(in crate::ledger) const fn column<R>(
    name: &'static str,
    kind: Kind,
    field: Access<R>,
) -> Column<R> {
    Column {
        name,
        kind,
        sealed: Sealed::Yes,
        field,
    }
}

pub(in crate::ledger) const fn unsealed<R>(
    name: &'static str,
    kind: Kind,
    field: Access<R>,
) -> Column<R> {
    Column {
        sealed: Sealed::No,
        ..column(name, kind, field)
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
        for ((name, kind), value) in column.written(engine, value) {
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

    fn read(&self, engine: Engine, payloads: Payloads) -> Cow<'static, str> {
        let name = self.name;
        let written = match (engine, self.kind, payloads) {
            (_, Kind::Payload, Payloads::Left) => return "NULL".into(),
            (Engine::Sqlite, _, _) | (_, Kind::Text | Kind::Count, _) => return name.into(),
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
        };
        written.into()
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
    fn written(
        &self,
        engine: Engine,
        value: Value,
    ) -> impl Iterator<Item = ((String, &'static str), Value)> {
        let names = match engine {
            Engine::Sqlite => vec![(self.name.to_owned(), "")],
            Engine::Postgres => self.in_postgres(),
        };
        let values = match (engine, self.kind, value) {
            (Engine::Postgres, Kind::Id | Kind::Key, Value::Text(id)) => {
                let derived = uuid(&id);
                let differs = self.kind == Kind::Key || id != derived;
                let key = Value::from(differs.then_some(id.as_str()));
                vec![Value::Text(derived), key]
            }
            // A trigger fills the `jsonb` in.
            (_, _, value) => vec![value],
        };
        names.into_iter().zip(values)
    }
}

/// The UUID of an id: the id itself if it is one, else `uuid_generate_v5(uuid_ns_url(), 'oneact:' || id)`.
pub(super) fn uuid(id: &str) -> String {
    let own = (id.len() == 36).then(|| Uuid::try_parse(id).ok()).flatten();
    own.unwrap_or_else(|| Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("oneact:{id}").as_bytes()))
        .to_string()
}
