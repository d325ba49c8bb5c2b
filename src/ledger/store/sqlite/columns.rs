//! Values of columns, one after the other.

use rusqlite::{
    Result, Row, ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};

use crate::ledger::record::{ClaimState, Effects, RowState};

/// Reads the columns of a row from the left to the right.
pub(super) struct Columns<'a, 's> {
    row: &'a Row<'s>,
    at: usize,
}

impl<'a, 's> Columns<'a, 's> {
    pub(super) fn of(row: &'a Row<'s>) -> Self {
        Self { row, at: 0 }
    }

    pub(super) fn next<T: FromSql>(&mut self) -> Result<T> {
        let value = self.row.get(self.at)?;
        self.at += 1;
        Ok(value)
    }

    /// A number that JSON has, or none.
    pub(super) fn finite(&mut self) -> Result<Option<f64>> {
        let at = self.at;
        let number = self.next::<Option<f64>>()?;
        match number {
            Some(number) if !number.is_finite() => Err(rusqlite::Error::FromSqlConversionFailure(
                at,
                rusqlite::types::Type::Real,
                format!("{number} is no number of JSON").into(),
            )),
            number => Ok(number),
        }
    }

    /// A number that is not negative.
    pub(super) fn count(&mut self) -> Result<u64> {
        Ok(self.next::<Count>()?.0)
    }
}

/// A number that is not negative. SQLite's end at 2^63 − 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Count(pub(super) u64);

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number)
            .map(Self)
            .map_err(|_| FromSqlError::OutOfRange(number))
    }
}

impl ToSql for Count {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        let number = i64::try_from(self.0)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(number.into())
    }
}

/// From that number on; from 0 on is from the very beginning, for nothing may hide before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since(pub(super) u64);

impl Since {
    pub(super) fn number(self) -> i64 {
        match self.0 {
            0 => i64::MIN,
            number => i64::try_from(number).unwrap_or(i64::MAX),
        }
    }
}

impl ToSql for Since {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>> {
        Ok(self.number().into())
    }
}

/// A word of one of our lists.
pub(super) struct Word<T>(pub(super) T);

macro_rules! word {
    ($($kind:ty),*) => {$(
        impl FromSql for Word<$kind> {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let name = value.as_str()?;
                let none = || FromSqlError::Other(format!("`{name}` is none of its words").into());
                <$kind>::read(name).map(Self).ok_or_else(none)
            }
        }
    )*};
}

word!(RowState, ClaimState, Effects);
