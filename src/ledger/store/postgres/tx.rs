//! An open transaction: statements with their values, and texts that PostgreSQL cannot keep as they are.

use std::{borrow::Cow, error::Error as StdError};

use tokio_postgres::{
    Row,
    types::{FromSql, ToSql, Type, accepts},
};

use super::{
    super::{
        StoreError,
        sql::{Dialect, Sql, Value},
    },
    line::Line,
    trouble::Trouble,
};

/// An open transaction.
pub(super) struct Inside<'a> {
    line: &'a Line,
    place: &'a str,
    /// What a step of it failed with: nothing can be kept after that.
    failed: Option<String>,
}

impl<'a> Inside<'a> {
    pub(super) fn new(line: &'a Line, place: &'a str) -> Self {
        Self {
            line,
            place,
            failed: None,
        }
    }

    /// Whether every step succeeded. A `COMMIT` after one that did not takes all back without a word.
    pub(super) fn sound(self) -> Result<(), StoreError> {
        match self.failed {
            None => Ok(()),
            Some(why) => Err(StoreError::Refused {
                place: self.place.to_owned(),
                why: format!("a step of it failed: {why}"),
            }),
        }
    }
}

impl Sql for Inside<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn place(&self) -> &str {
        self.place
    }

    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError> {
        let statement = statement.replace('?', "$");
        let found = self.line.rows(&statement, values).map_err(|failure| {
            let error = Trouble::Working.of(self.place, &failure);
            self.failed = Some(error.to_string());
            error
        })?;
        let corrupt = |error: tokio_postgres::Error| StoreError::Corrupt {
            place: self.place.to_owned(),
            why: error.to_string(),
        };
        let rows: Result<_, _> = found.iter().map(values_of).collect();
        rows.map_err(corrupt)
    }
}

fn values_of(row: &Row) -> Result<Vec<Value>, tokio_postgres::Error> {
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

/// A value as it is sent. What is null has the type of its place.
pub(super) fn parameter(value: &Value) -> (Box<dyn ToSql + Sync + '_>, Type) {
    match value {
        Value::Null => (Box::new(None::<&str>), Type::UNKNOWN),
        Value::Int(number) => (Box::new(number), Type::INT8),
        Value::Real(number) => (Box::new(number.to_string()), Type::TEXT),
        Value::Text(text) => (Box::new(kept(text)), Type::TEXT),
        Value::Bytes(bytes) => (Box::new(bytes), Type::BYTEA),
    }
}

/// Stands before `0` for U+0000, which PostgreSQL keeps in no text, and before `1` for itself.
const MARK: &str = "\u{10FFFD}";

/// A text as it is kept.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains('\0') && !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let kept = text
        .replace(MARK, &format!("{MARK}1"))
        .replace('\0', &format!("{MARK}0"));
    Cow::Owned(kept)
}

/// A text as it was given.
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
            // Not of our making.
            _ => given.extend([MARK, part]),
        }
    }
    given
}
