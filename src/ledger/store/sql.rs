//! What the steps of a transaction need of a database: statements that are run with values, and the few words in
//! which SQLite and PostgreSQL differ.

use super::StoreError;

/// A database inside a transaction.
pub(super) trait Sql {
    fn engine(&self) -> Engine;

    /// For people: a path, or a URI without its password.
    fn place(&self) -> &str;

    /// Runs a statement, whose parameters are `?1`, `?2` …, and gives the rows that it finds.
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError>;

    /// Ends the transaction, and keeps what it did. Dropped, it leaves nothing.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// What of the database is not as this program makes it, where that can be known.
    fn flaw(&mut self) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
}

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// What is written for SQLite, or what is written for PostgreSQL.
    pub(super) fn choose<T>(self, [sqlite, postgres]: [T; 2]) -> T {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }

    /// Names the index that a statement of every run uses: that no other is weighed takes a third off the time
    /// in which SQLite compiles it.
    pub(super) fn indexed_by(self, index: &str) -> String {
        match self {
            Self::Sqlite => format!("INDEXED BY {index}"),
            Self::Postgres => String::new(),
        }
    }
}

/// A value of a column, or of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// From that number on; from 0 on is from the very beginning, for nothing may hide before it.
    pub(super) fn since(number: u64) -> Self {
        match number {
            0 => Self::Int(i64::MIN),
            number => number.into(),
        }
    }

    /// The text that it is.
    pub(super) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Int(_) | Self::Real(_) | Self::Bytes(_) => None,
        }
    }

    /// How many at most.
    pub(super) fn limit(most: usize) -> Self {
        Self::Int(i64::try_from(most).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
