//! How words of a list are stored.

use serde::{
    Deserialize, Serialize,
    de::{
        IntoDeserializer as _,
        value::{Error, StrDeserializer},
    },
};

/// The stored name of a variant.
pub(crate) fn name(word: &impl Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The variant with that stored name.
pub(crate) fn word<'w, T: Deserialize<'w>>(name: &'w str) -> Option<T> {
    let name: StrDeserializer<'w, Error> = name.into_deserializer();
    T::deserialize(name).ok()
}
