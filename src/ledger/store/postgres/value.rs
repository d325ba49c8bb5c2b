//! Parameters of statements, texts that PostgreSQL cannot keep as they are, and words of our lists.

use std::{borrow::Cow, error::Error as StdError};

use tokio_postgres::types::{FromSql, ToSql, Type, accepts};

use crate::ledger::record::{ClaimState, Effects};

/// A parameter.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    Int(Option<i64>),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Some(kept(text)))
    }

    pub(super) fn maybe(text: Option<&'a str>) -> Self {
        Self::Text(text.map(kept))
    }

    /// Numbers that the database has no room for are refused by it: they fit no column or no rule.
    pub(super) fn int(number: impl TryInto<i64>) -> Self {
        Self::Int(Some(number.try_into().unwrap_or(i64::MAX)))
    }

    /// From that number on; from 0 on is from the very beginning, for nothing may hide before it.
    pub(super) fn since(number: u64) -> Self {
        match number {
            0 => Self::Int(Some(i64::MIN)),
            number => Self::int(number),
        }
    }

    pub(super) fn maybe_int(number: Option<u64>) -> Self {
        Self::Int(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
    }

    pub(super) fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Text(text) => (text, Type::TEXT),
            Self::Int(number) => (number, Type::INT8),
            Self::Bytes(bytes) => (bytes, Type::BYTEA),
        }
    }
}

/// Stands before `0` for U+0000, which PostgreSQL keeps in no text, and before `1` for itself.
const MARK: char = '\u{10FFFD}';

/// A text as it is kept.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => kept.extend([MARK, '0']),
            MARK => kept.extend([MARK, '1']),
            c => kept.push(c),
        }
    }
    Cow::Owned(kept)
}

/// A text as it was given.
pub(super) fn given(kept: String) -> String {
    if !kept.contains(MARK) {
        return kept;
    }
    let mut given = String::with_capacity(kept.len());
    let mut rest = kept.chars();
    while let Some(c) = rest.next() {
        match (c, c == MARK) {
            (c, false) => given.push(c),
            (_, true) => match rest.next() {
                Some('0') => given.push('\0'),
                Some('1') => given.push(MARK),
                // Not of our making.
                other => given.extend([Some(MARK), other].into_iter().flatten()),
            },
        }
    }
    given
}

/// A word of one of our lists.
pub(super) struct Word<T>(pub(super) T);

macro_rules! word {
    ($($kind:ty),*) => {$(
        impl FromSql<'_> for Word<$kind> {
            fn from_sql(kind: &Type, raw: &[u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
                let name = <&str>::from_sql(kind, raw)?;
                let none = || format!("`{name}` is none of its words");
                Ok(Self(<$kind>::read(name).ok_or_else(none)?))
            }

            accepts!(TEXT);
        }
    )*};
}

word!(ClaimState, Effects);
