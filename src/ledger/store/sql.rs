//! What the steps of a transaction need of a database: statements, values, and the fields of records that hold the
//! values.

use super::{Durability, StoreError};

/// A statement with its parameters.
pub(in crate::ledger) type Question = (String, Vec<Value>);

/// A database inside a transaction.
pub(in crate::ledger) trait Sql {
    /// Runs a statement with the parameters `?1`, `?2` …, and returns the rows that it finds.
    fn run(&mut self, statement: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError>;

    /// Runs a statement that finds nothing. If it fails, a later statement or the commit may be what says so.
    fn add(&mut self, statement: &str, values: &[Value]) -> Result<(), StoreError> {
        self.run(statement, values).map(drop)
    }

    /// Asks questions that will probably be asked. Their answers hold until something is written.
    fn expect(&mut self, _: Vec<Question>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Ends the transaction and keeps its changes. When it returns, they survive what `durability` says.
    fn commit(self: Box<Self>, durability: Durability) -> Result<(), StoreError>;

    /// The first difference from a database that this program makes, if it can be found.
    fn flaw(&mut self) -> Result<Option<String>, StoreError> {
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

/// Who wrote a row. Rows of other programs and from before oneact have no link and may hold anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ledger) enum Writer {
    Oneact,
    Another,
}

/// A field of a record that a column holds.
pub(in crate::ledger) trait Field {
    /// Stores the value that was read, or says what is wrong with it.
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String>;
    /// Takes the value out, to be written.
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

/// A score is finite, as numbers in JSON are. PostgreSQL returns it as text.
impl Field for Option<f64> {
    fn put(&mut self, value: Value, writer: Writer) -> Result<(), String> {
        let number = match value {
            Value::Null => return Ok(()),
            Value::Real(number) => Some(number),
            other => text(other)?.and_then(|text| text.parse().ok()),
        };
        *self = number.filter(|number| number.is_finite());
        match (&self, writer) {
            (None, Writer::Oneact) => Err("is not a JSON number".to_owned()),
            _ => Ok(()),
        }
    }

    fn take(&mut self) -> Value {
        self.map_or(Value::Null, Value::Real)
    }
}

pub(in crate::ledger) fn text(value: Value) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        Value::Int(_) | Value::Real(_) | Value::Bytes(_) => Err("is not text".to_owned()),
    }
}

/// A number from 0 on.
fn number(value: &Value, writer: Writer) -> Result<Option<u64>, String> {
    match (value.number(), writer) {
        (None, Writer::Oneact) if *value != Value::Null => {
            Err("is not a whole number of 0 or more".to_owned())
        }
        (number, _) => Ok(number),
    }
}
