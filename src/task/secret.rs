//! What must never be shown, and the one place where it is cut (invariant 6): parts of links that grant
//! access, values that were handed on to a server, and what looks like a credential in a file.
//!
//! Pure. Links and handed-on values are looked for in a text as it is written and in what it says once
//! its escapes are undone ([`decoded`]); [`table`] holds the names of parameters, for the hash of a
//! request and for what is shown alike. When in doubt more is cut.

mod credentials;
mod decoded;
mod forms;
mod links;
mod numeral;
mod table;
mod values;

pub(crate) use credentials::{Hiding, hidden};
pub use links::{cut_links, presentable, redact_presigned, redact_value, unsigned, was_redacted};
pub(crate) use values::Secrets;

use std::{collections::HashMap, ops::Range};

use serde_json::{Map, Value};

/// What stands where something was cut.
pub(crate) const CUT: &str = "***";

/// The text with [`CUT`] for each of these ranges, which are in order and apart.
fn without(text: &[u8], cuts: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut shown = Vec::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        shown.extend_from_slice(text.get(from..cut.start).unwrap_or_default());
        shown.extend_from_slice(CUT.as_bytes());
        from = cut.end;
    }
    shown.extend_from_slice(text.get(from..).unwrap_or_default());
    String::from_utf8(shown)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// An object of these members. Of those that have got the same name all stay: the second and later ones
/// are numbered.
fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut object = Map::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for (name, item) in members {
        let mut free = name.clone();
        while object.contains_key(&free) {
            let number = numbers.entry(name.clone()).or_insert(1);
            *number += 1;
            free = format!("{name} ({number})");
        }
        object.insert(free, item);
    }
    Value::Object(object)
}
