//! Statements as they are sent to PostgreSQL, and the values that are sent and received.

use std::{borrow::Cow, error::Error as StdError};

use bytes::BytesMut;
use tokio_postgres::{
    Error, Row,
    types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked},
};

use super::super::sql::Value;

/// A statement with the parameters `$1`, `$2` …
#[derive(Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

impl Statement {
    /// The statement from one with the parameters `?1`, `?2` …
    pub(super) fn new(text: &str, values: &[Value]) -> Self {
        Self {
            text: text.replace('?', "$"),
            values: values.to_vec(),
        }
    }

    /// The types of the values as they are sent. PostgreSQL infers the type of a null.
    pub(super) fn kinds(&self) -> Vec<Type> {
        let kind = |value: &Value| match value {
            Value::Null => Type::UNKNOWN,
            Value::Int(_) => Type::INT8,
            Value::Real(_) | Value::Text(_) => Type::TEXT,
            Value::Bytes(_) => Type::BYTEA,
        };
        self.values.iter().map(kind).collect()
    }
}

pub(super) fn values_of(row: &Row) -> Result<Vec<Value>, Error> {
    let columns = 0..row.len();
    columns
        .map(|at| Ok(row.try_get::<_, Option<Value>>(at)?.unwrap_or(Value::Null)))
        .collect()
}

impl FromSql<'_> for Value {
    fn from_sql(kind: &Type, raw: &[u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(match *kind {
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(raw.to_owned()),
            _ => Self::Text(given(String::from_sql(kind, raw)?)),
        })
    }

    accepts!(INT4, INT8, BYTEA, TEXT);
}

impl ToSql for Value {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => number.to_sql(&Type::INT8, out),
            Self::Real(number) => number.to_string().to_sql(&Type::TEXT, out),
            Self::Text(text) => kept(text).to_sql(&Type::TEXT, out),
            Self::Bytes(bytes) => bytes.to_sql(&Type::BYTEA, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Followed by `0`, it stands for U+0000, which PostgreSQL cannot store; followed by `1`, for itself.
const MARK: &str = "\u{10FFFD}";

pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let kept = text
        .replace(MARK, &format!("{MARK}1"))
        .replace('\0', &format!("{MARK}0"));
    Cow::Owned(kept)
}

/// A stored text without these escapes.
pub(super) fn given(kept: String) -> String {
    if !kept.contains(MARK) {
        return kept;
    }
    let mut parts = kept.split(MARK);
    let mut given = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_at_checked(1) {
            Some(("0", rest)) => given.extend(["\0", rest]),
            Some(("1", rest)) => given.extend([MARK, rest]),
            // Another program wrote it.
            _ => given.extend([MARK, part]),
        }
    }
    given
}
