//! The strict JSON reader. It refuses everything that two parsers could read differently.
//!
//! It refuses duplicate keys, a byte order mark, invalid UTF-8, lone surrogates, NaN and Infinity, more than 64
//! levels, more than 50,000 values and more than 16 MiB. Numbers keep their text, so large integers stay exact.

use std::{cell::Cell, fmt};

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::task::{Fault, RESERVED, has_reserved_key};

pub const MAX_BYTES: usize = 16 << 20;

/// The deepest nesting of arrays and objects.
pub const MAX_DEPTH: usize = 64;

/// The most JSON values, the inner ones included. A value takes up to a hundred times the bytes of its text in
/// memory, so this limit bounds the memory of a document with many small values.
pub const MAX_VALUES: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("the input is empty; send one JSON task")]
    Empty,
    #[error("the input is larger than {} MiB; pass large data by reference", MAX_BYTES >> 20)]
    TooLarge,
    #[error("the input contains more than {MAX_VALUES} JSON values; pass large data by reference")]
    TooManyValues,
    #[error("the input starts with a byte order mark (U+FEFF); send plain UTF-8")]
    ByteOrderMark,
    #[error("the input is not UTF-8: invalid byte at offset {offset}")]
    NotUtf8 { offset: usize },
    #[error("the input has a key that begins with `{RESERVED}`, which is reserved; rename it")]
    ReservedKey,
    #[error(
        "the input has several JSON documents, of which the second begins in line {line}. One run performs one task. With one \
         task in each line (`jq -c .` makes such lines), `xargs -d '\\n' -n 1 sh -c 'printf %s \"$0\" | oneact' < \
         tasks.jsonl` performs one after the other, and GNU parallel several at a time: `parallel --pipe -N 1 oneact < \
         tasks.jsonl`; `oneact serve catalog` performs many in one process"
    )]
    Several { line: usize },
    #[error("not valid JSON: {problem} at line {line}, column {column}")]
    Syntax {
        problem: String,
        line: usize,
        column: usize,
    },
}

impl JsonError {
    pub fn fault(&self) -> Fault {
        if *self == Self::TooManyValues {
            Fault::LimitExceeded
        } else {
            Fault::InvalidJson
        }
    }
}

/// Reads exactly one JSON document.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    if bytes.len() > MAX_BYTES {
        return Err(JsonError::TooLarge);
    }
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(JsonError::ByteOrderMark);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::NotUtf8 {
        offset: error.valid_up_to(),
    })?;
    if text.trim_ascii().is_empty() {
        return Err(JsonError::Empty);
    }
    if has_reserved_key(text) {
        return Err(JsonError::ReservedKey);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let left = Cell::new(MAX_VALUES + 1);
    Strict {
        depth: 0,
        left: &left,
    }
    .deserialize(&mut reader)
    .map_err(|error| syntax(&error, left.get()))
    .and_then(|value| match reader.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(after(text, &error)),
    })
}

/// The error of a first document with something behind it.
fn after(text: &str, error: &serde_json::Error) -> JsonError {
    let line = error.line();
    let within = text.split_inclusive('\n').nth(line.saturating_sub(1));
    let rest = within.and_then(|line| line.get(error.column().saturating_sub(1)..));
    if rest.is_some_and(|rest| rest.starts_with('{')) {
        return JsonError::Several { line };
    }
    syntax(error, usize::MAX)
}

fn syntax(error: &serde_json::Error, left: usize) -> JsonError {
    match left {
        0 => JsonError::TooManyValues,
        _ => JsonError::Syntax {
            problem: problem(error),
            line: error.line(),
            column: error.column(),
        },
    }
}

/// serde's message without the position at its end.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let problem = text.rsplit_once(" at line ");
    problem
        .map_or(text.as_str(), |(problem, _)| problem)
        .to_owned()
}

/// Builds a [`Value`] at this depth, and refuses what [`serde_json::Value`] would accept.
struct Strict<'l> {
    depth: usize,
    /// One more than the number of values that may still follow; 0 after too many values.
    left: &'l Cell<usize>,
}

impl Strict<'_> {
    fn deeper<E: de::Error>(&self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "more than {MAX_DEPTH} levels of arrays and objects"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
            left: self.left,
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.left.set(self.left.get().saturating_sub(1));
        if self.left.get() == 0 {
            return Err(de::Error::custom("too many values"));
        }
        deserializer.deserialize_any(self)
    }
}

/// The key under which `serde_json` passes a number that is no 64-bit integer, with its text.
const NUMBER: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self.deeper()?)? {
            array.push(item);
        }
        array.shrink_to_fit();
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == NUMBER {
                let text: String = entries.next_value()?;
                return text
                    .parse::<Number>()
                    .map(Value::Number)
                    .map_err(de::Error::custom);
            }
            if object.contains_key(&key) {
                return Err(de::Error::custom(format_args!("duplicate key {key:?}")));
            }
            let value = entries.next_value_seed(self.deeper()?)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
