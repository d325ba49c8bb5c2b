//! Files of a run: the store, the scratch directories, and the checks of inputs and assets.
//!
//! An asset appears under its final name completely or not at all. Nothing is written outside the store and the
//! scratch directories, but for what is remembered of object stores. A scratch directory is removed, after SIGKILL by a later run.

mod error;
pub(crate) mod format;
mod objects;
pub(crate) mod print;
pub(crate) mod reach;
mod regular;
pub(crate) mod staging;
pub(crate) mod store;

pub(crate) use crate::web::Policy;
pub(crate) use error::StoreError;
pub(crate) use objects::{Conditions, Fresh, ObjectError, Objects, Why};
pub(crate) use reach::{Contact, Look, Reach};
pub(crate) use regular::{open_regular, open_within};
pub(crate) use staging::Staging;
pub(crate) use store::{Finished, Prepared, Probed, Store};
