//! JSON in, JSON out: the strict reader, one file per dialect, one per projection.
//!
//! Dialects exist only in this room. All other rooms use one [`Task`](crate::task::Task) and one
//! [`Outcome`](crate::task::Outcome). Pure: bytes in, values out.

mod adl;
mod answers;
mod dispatch;
mod fields;
mod find;
mod mcp_response;
mod plans;
mod proposal;
mod prose;
mod protocol;
mod read;
mod result;
mod strangers;
mod strict;

pub use adl::{Answered, to_json, to_report};
pub use mcp_response::{OldAnswer, read_response, to_response};
pub use plans::read_plan;
pub use read::{Delivery, Received, Source, read};
pub use result::to_result;
pub use strict::{JsonError, MAX_BYTES, MAX_DEPTH, MAX_VALUES, parse};

#[cfg(test)]
mod tests;
