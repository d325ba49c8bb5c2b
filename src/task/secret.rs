//! Cuts what must never be shown (invariant 6): parts of links that grant access, values that were passed on to a
//! server, and text in a file that looks like a credential.
//!
//! Pure. Links and passed-on values are searched for in the text as written and after its escapes are decoded
//! ([`decoded`]). [`table`] holds the names of parameters, both for request hashes and for output. In doubt, more
//! is cut.

mod approvable;
mod credentials;
mod decoded;
mod forms;
mod links;
mod table;
mod values;

pub(crate) use approvable::Unseen;
pub(crate) use credentials::{Hiding, hidden};
pub use links::{
    cut_links, presentable, recorded_id, redact_presigned, redact_value, unsigned, was_redacted,
};
pub(crate) use values::Secrets;

use std::ops::Range;

use serde_json::Value;

use super::ids::unique;

/// The text that replaces each cut part.
pub(crate) const CUT: &str = "***";

/// The text with [`CUT`] in place of these ranges, which must be in order and disjoint.
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

/// An object with these members. The second and later members of the same name get a number, so that none is lost.
fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    let (names, items): (Vec<String>, Vec<Value>) = members.into_iter().unzip();
    let names = unique(names.iter().map(String::as_str), |name, number| {
        format!("{name} ({number})")
    });
    names.into_iter().zip(items).collect()
}
