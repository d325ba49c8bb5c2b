//! What the commands that print the ledger share: flags, the open ledger, times, sizes, tables, and the words for a step.

mod facts;
pub(super) mod json;
pub(super) mod page;
pub(super) mod page_file;
pub(super) mod plan;
mod table;
mod units;
mod view;
pub(super) mod words;

pub(super) use facts::{facts, title};
pub(super) use table::{Table, columns};
pub(super) use units::{counted, duration, grouped, size};
pub(super) use view::{LedgerView, ReadArgs, SessionArgs};
