//! Stages the changes, makes them, and undoes them.

mod apply;
mod content;
mod entry;
mod folder;
mod journal;
mod recover;
mod scratch;
mod stage;
mod tidy;
mod transaction;
mod undo;
mod volumes;

pub(crate) use content::{is_result, is_undone, same_content};
pub(crate) use entry::{Entry, Pre, Way};
pub(crate) use folder::{
    Folder, Mark, REPORTS, UNFINISHED, clear_begun, finished, forget, interrupted, mark_of,
    never_planned, unfinished,
};
pub(crate) use journal::{
    Account, Doubt, Event, Origin, PipelineNote, Started, State, account, account_by_anybody,
};
pub(crate) use recover::{Ask, Consent, End, open_plans, recover};
pub(crate) use scratch::{Scratch, clear_scratch};
pub(crate) use stage::{Seen, Stage, hash, hash_of_link};
pub(crate) use transaction::{Applied, Committed, Documents, UndoEnd, Undoing};
pub(crate) use undo::Conflict;

#[cfg(test)]
mod tests;
