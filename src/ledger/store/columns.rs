//! How a record is read from the columns of a table and written to them. A record is serialized as JSON, and each member is
//! a column. The statements are made from the names of the members.

use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Map, Number, Value as Json};
use uuid::Uuid;

use super::sql::{Engine, Value};

/// The type of a column in PostgreSQL, if it is neither a text nor a number of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Uuid,
    /// A received id, which need not be a UUID. PostgreSQL has a UUID derived from it, and the id itself in
    /// `…_key` if it is no UUID.
    Id,
    /// An id that PostgreSQL always has in `…_key` as well.
    Key,
    /// A JSON text. PostgreSQL has it as `…_text`, and as `jsonb` for queries, which a trigger fills in.
    Payload,
    Moment,
    /// A count of 32 bits.
    Step,
    Score,
}

/// How requests and answers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ledger) enum Payloads {
    /// In PostgreSQL the `jsonb`, if it differs from the text: then the hash does not match.
    Read,
    /// None, because they may be large.
    Left,
}

/// A record. Its fields are in the order of the columns of SQLite's table, and have their names.
pub(crate) trait Record: Default + Serialize + DeserializeOwned {
    /// The name of its table in SQLite, and in PostgreSQL.
    const TABLE: [&'static str; 2];

    /// The columns that have a type of their own in PostgreSQL.
    const TYPES: &'static [(&'static str, ColumnType)] = &[];

    /// Checks a record before it is added. PostgreSQL has the same rules as constraints, because other programs
    /// may write to it.
    fn rule(&self) -> RuleResult {
        Ok(())
    }

    /// Changes values that only other programs write to such as a record can have.
    fn admit(_: &mut Map<String, Json>) {}
}

/// Whether a rule is kept, or why not.
pub(in crate::ledger) type RuleResult = Result<(), &'static str>;

pub(in crate::ledger) fn must(holds: bool, why: &'static str) -> RuleResult {
    if holds { Ok(()) } else { Err(why) }
}

pub(in crate::ledger) fn is_json(text: Option<&str>) -> bool {
    text.is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

fn members<R: Record>(record: &R) -> Map<String, Json> {
    match serde_json::to_value(record) {
        Ok(Json::Object(members)) => members,
        _ => Map::new(),
    }
}

fn type_of<R: Record>(name: &str) -> Option<ColumnType> {
    let found = R::TYPES.iter().find(|(column, _)| *column == name);
    found.map(|(_, kind)| *kind)
}

/// The columns of a record in a statement that reads it.
pub(in crate::ledger) fn list<R: Record>(engine: Engine, payloads: Payloads) -> String {
    let members = members(&R::default());
    let read = members.keys().map(|name| match type_of::<R>(name) {
        Some(ColumnType::Payload) if payloads == Payloads::Left => "NULL".to_owned(),
        Some(kind) if engine == Engine::Postgres => read(name, kind),
        _ => name.clone(),
    });
    read.collect::<Vec<_>>().join(", ")
}

/// How PostgreSQL reads a column as a text or a number of 64 bits.
fn read(name: &str, kind: ColumnType) -> String {
    match kind {
        ColumnType::Uuid | ColumnType::Score => format!("{name}::text"),
        ColumnType::Step => format!("{name}::bigint"),
        ColumnType::Id | ColumnType::Key => {
            format!("{name}::text || COALESCE(' ' || {}, '')", key(name))
        }
        ColumnType::Moment => {
            format!("to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
        }
        ColumnType::Payload => format!(
            "CASE WHEN {name} IS DISTINCT FROM public.oneact_jsonb({name}_text) \
             THEN {name}::text ELSE {name}_text END"
        ),
    }
}

/// The record from the values of its [`list`], or what is wrong with them.
pub(super) fn record<R: Record>(engine: Engine, values: Vec<Value>) -> Result<R, String> {
    let mut members = members(&R::default());
    for ((name, member), value) in members.iter_mut().zip(values) {
        *member = match (value, type_of::<R>(name)) {
            (Value::Null, _) => Json::Null,
            (Value::Int(number), _) => number.into(),
            (Value::Real(number), _) => real(number),
            (Value::Bytes(_), _) => return Err(format!("{name} is not text")),
            (Value::Text(both), Some(ColumnType::Id | ColumnType::Key))
                if engine == Engine::Postgres =>
            {
                received(&both).into()
            }
            (Value::Text(score), Some(ColumnType::Score)) => {
                score.parse().map_or(Json::String(score), real)
            }
            (Value::Text(json), _) if member.is_object() => {
                serde_json::from_str(&json).map_err(|error| format!("{name}: {error}"))?
            }
            (Value::Text(text), _) => text.into(),
        };
    }
    R::admit(&mut members);
    serde_json::from_value(Json::Object(members)).map_err(|error| error.to_string())
}

/// A number, or a text if no number of JSON is like it.
fn real(number: f64) -> Json {
    Number::from_f64(number).map_or_else(|| number.to_string().into(), Json::Number)
}

/// The id of PostgreSQL's two columns. If they do not match, the UUID counts.
fn received(both: &str) -> &str {
    let (derived, key) = both.split_once(' ').unwrap_or((both, both));
    if uuid(key) == derived { key } else { derived }
}

/// The names and the values of the columns of a record, as SQLite has them.
pub(super) fn values<R: Record>(record: &R) -> impl Iterator<Item = (String, Value)> {
    members(record).into_iter().map(|(name, member)| {
        let value = match member {
            Json::Null => Value::Null,
            Json::String(text) => Value::Text(text),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Value::Int(number),
                (None, Some(_)) => Value::Int(i64::MAX),
                (None, None) => number.as_f64().map_or(Value::Null, Value::Real),
            },
            other => Value::Text(other.to_string()),
        };
        (name, value)
    })
}

/// The statement that adds a record, and its values.
pub(super) fn insert<R: Record>(engine: Engine, record: &R) -> (String, Vec<Value>) {
    let table = engine.choose(R::TABLE);
    if engine == Engine::Sqlite {
        // The columns are in the order of the table. SQLite would spend a third of the compilation on their names.
        let values: Vec<Value> = values(record).map(|(_, value)| value).collect();
        let places: Vec<String> = (1..=values.len()).map(|at| format!("?{at}")).collect();
        let text = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
        return (text, values);
    }
    let (mut names, mut places, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for (name, value) in values(record) {
        for (name, cast, value) in written(type_of::<R>(&name), name, value) {
            all.push(value);
            places.push(format!("?{}{cast}", all.len()));
            names.push(name);
        }
    }
    let (names, places) = (names.join(", "), places.join(", "));
    (
        format!("INSERT INTO {table} ({names}) VALUES ({places})"),
        all,
    )
}

/// The columns that PostgreSQL has for one of SQLite, with the conversions of their values.
fn written(
    kind: Option<ColumnType>,
    name: String,
    value: Value,
) -> Vec<(String, &'static str, Value)> {
    match (kind, value) {
        (Some(kind @ (ColumnType::Id | ColumnType::Key)), Value::Text(id)) => {
            let derived = uuid(&id);
            let differs = kind == ColumnType::Key || id != derived;
            let key_value = Value::from(differs.then_some(id.as_str()));
            vec![
                (key(&name), "", key_value),
                (name, "::uuid", Value::Text(derived)),
            ]
        }
        (Some(ColumnType::Uuid | ColumnType::Id | ColumnType::Key), value) => {
            vec![(name, "::uuid", value)]
        }
        (Some(ColumnType::Payload), value) => vec![(format!("{name}_text"), "", value)],
        (Some(ColumnType::Moment), value) => vec![(name, "::timestamptz", value)],
        (Some(ColumnType::Step), value) => vec![(name, "::integer", value)],
        (Some(ColumnType::Score), value) => vec![(name, "::numeric", value)],
        (None, value) => vec![(name, "", value)],
    }
}

/// The name of PostgreSQL's column for the id itself.
fn key(name: &str) -> String {
    format!("{}_key", name.trim_end_matches("_id"))
}

/// The UUID of an id: the id itself if it is one, else `uuid_generate_v5(uuid_ns_url(), 'oneact:' || id)`.
pub(in crate::ledger) fn uuid(id: &str) -> String {
    let own = (id.len() == 36).then(|| Uuid::try_parse(id).ok()).flatten();
    own.unwrap_or_else(|| Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("oneact:{id}").as_bytes()))
        .to_string()
}
