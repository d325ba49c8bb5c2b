//! What the steps of a transaction need of a database: statements and values.

use super::error::Result;

/// The number of a link in its ledger, from 1. In PostgreSQL, numbers can be missing.
pub(crate) type Seq = u64;

/// What a committed transaction must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A power failure.
    Disk,
    /// A crash of this program, but not of the machine.
    Process,
}

/// A statement with its parameters.
pub(in crate::ledger) type Question = (String, Vec<Value>);

/// A database inside a transaction.
pub(in crate::ledger) trait Sql {
    /// Runs a statement with the parameters `?1`, `?2` …, and returns the rows that it finds.
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>>;

    /// Runs a statement that finds nothing. If it fails, a later statement or the commit may be what says so.
    fn add(&mut self, statement: &str, values: &[Value]) -> Result<()> {
        self.run(statement, values).map(drop)
    }

    /// Asks questions that will probably be asked. Their answers hold until something is written.
    fn expect(&mut self, _: Vec<Question>) -> Result<()> {
        Ok(())
    }

    /// Ends the transaction and keeps its changes. When it returns, they survive what `durability` says.
    fn commit(self: Box<Self>, durability: Durability) -> Result<()>;

    /// The first difference from a database that this program makes, if it can be found.
    fn flaw(&mut self) -> Result<Option<String>> {
        Ok(None)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    /// The one of two values that is for this database.
    pub(in crate::ledger) fn choose<T>(self, [sqlite, postgres]: [T; 2]) -> T {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::ledger) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Value {
    /// The lower limit for a number. 0 includes negative numbers, so that no row can hide before the first link.
    pub(in crate::ledger) fn since(number: u64) -> Self {
        match number {
            0 => Self::Int(i64::MIN),
            number => number.into(),
        }
    }

    pub(in crate::ledger) fn text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Int(_) | Self::Real(_) | Self::Bytes(_) => None,
        }
    }

    /// The number from 0 on that it is.
    pub(in crate::ledger) fn number(&self) -> Option<u64> {
        match self {
            Self::Int(number) => u64::try_from(*number).ok(),
            Self::Null | Self::Real(_) | Self::Text(_) | Self::Bytes(_) => None,
        }
    }

    /// The lower and the upper limit of the texts that begin with `text`: each of them with U+10FFFF is greater.
    pub(in crate::ledger) fn beginning(text: &str) -> [Self; 2] {
        [text.into(), Self::Text(format!("{text}\u{10FFFF}"))]
    }

    pub(in crate::ledger) fn limit(most: usize) -> Self {
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
