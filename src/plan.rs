//! File plans: a list of changes, all made or none (specification 001).
//!
//! ```text
//! Value ─ read → Plan ─ check → Stage ─ arm → Armed ─ apply → Applied ─ verify, commit → Committed
//!                                          └──────── any error ─ undo → RolledBack | Stuck
//! ```
//!
//! `read` knows the plan's words, `edit` the insides of files (pure), `check` folds the actions into at
//! most one change a file, `engine` makes the changes or takes them back, `files` is the only one that
//! touches the tree, `report` tells what happened, `carry` is all of it in its order. `rollback` undoes
//! what was finished, `asking` answers questions about it.

mod asking;
mod carry;
mod check;
mod desk;
mod diff;
mod edit;
mod engine;
mod files;
mod graph;
mod kept;
mod limits;
mod model;
mod protected;
mod read;
mod record;
mod report;
mod rollback;

pub(crate) use asking::{Fate, cancel, fate, status};
pub(crate) use carry::{Settled, clear_expired, execute, preview, recover, recover_named};
pub(crate) use desk::{Desk, Finished, Rejected};
pub(crate) use engine::Consent;
pub(crate) use kept::kept;
pub(crate) use record::Status;
pub(crate) use rollback::rollback;
