//! The changes themselves: made ready, made, or taken back.

mod apply;
mod entry;
mod folder;
mod journal;
mod recover;
mod stage;
mod transaction;
mod undo;

pub(crate) use entry::{Entry, Way};
pub(crate) use folder::{
    Folder, REPORTS, finished, interrupted, mark_of, never_planned, unfinished,
};
pub(crate) use journal::{State, operation, state};
pub(crate) use recover::{End, Recovered, recover};
pub(crate) use stage::{Seen, Stage, Written, hash};
pub(crate) use transaction::{Committed, Documents, UndoEnd, Undoing};

#[cfg(test)]
mod tests;
