//! Where bytes live: one store handle, a scratch directory per operation, and two questions about
//! an asset: can it be reached, and is it what it should be.
//!
//! Promises: an asset appears under its final name whole or not at all; nothing is written outside
//! the store and the staging directory; nothing stays in staging, also after SIGKILL.

mod address;
mod error;
pub(crate) mod format;
pub(crate) mod health;
pub(crate) mod print;
pub(crate) mod reach;
mod regular;
pub(crate) mod staging;
pub(crate) mod store;
mod writers;

pub(crate) use address::{CheckedResolver, Policy, Refused, client};
pub(crate) use error::StoreError;
pub(crate) use reach::{Contact, Look, Reach};
pub(crate) use regular::{open_regular, open_within};
pub(crate) use staging::Staging;
pub(crate) use store::{Prepared, Store};
pub(crate) use writers::is_being_written;
