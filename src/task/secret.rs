//! Cuts what must never be shown (invariant 6): parts of links that grant access, values that were passed on to a
//! server, and text in a file that looks like a credential.
//!
//! Pure. Links and passed-on values are searched for in the text as written and in the text without its escapes
//! ([`escapes`]). [`table`] holds the names of parameters, both for request hashes and for output. In doubt, more
//! is cut.

mod approvable;
mod credentials;
mod cut;
mod escapes;
mod links;
mod table;
mod values;

pub(crate) use approvable::Unseen;
pub(crate) use credentials::{Hiding, hidden};
pub(crate) use cut::CUT;
pub use links::{
    cut_links, presentable, recorded_id, redact_presigned, redact_value, unsigned, was_redacted,
};
pub(crate) use values::Secrets;
