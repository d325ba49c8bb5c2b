//! Stages the changes, makes them, and undoes them.

mod apply;
mod back;
mod content;
mod folder;
mod journal;
mod recover;
mod scratch;
mod stage;
mod tidy;
mod transaction;
mod undo;

pub(crate) use back::UndoEnd;
pub(crate) use content::{is_result, is_undone, same_content};
pub(crate) use folder::{
    Folder, Mark, REPORTS, UNFINISHED, finished, forget, interrupted, mark_of, never_planned,
    unfinished,
};
#[cfg(any(test, fuzzing))]
pub(crate) use journal::fuzzed;
pub(crate) use journal::{
    Account, Doubt, Event, Journal, Origin, PipelineNote, Started, State, account,
    account_by_anybody,
};
pub(crate) use recover::{Ask, Consent, End, Recovery, displaced, open_plans, recover};
pub(crate) use scratch::{Scratch, clear_scratch};
pub(crate) use stage::Stage;
pub(crate) use transaction::{Applied, Committed, Undoing};
pub(crate) use undo::Conflict;

#[cfg(test)]
mod tests;
