//! File plans: a list of changes, all made or none (specification 001).
//!
//! ```text
//! Value ─ read → Plan ─ check → Checked ─ arm → Armed ─ apply → Applied ─ verify → Verified ─ commit → Committed
//!                                           └──────── any error ─ undo → RolledBack | Stuck
//! ```
//!
//! `read` knows the plan's words, `edit` the insides of files (pure), `check` folds the actions into at
//! most one change a file, `engine` makes the changes or undoes them, `files` is the only one that
//! touches the tree, `report` tells what happened.

mod carry;
mod check;
mod desk;
mod diff;
mod edit;
mod engine;
mod files;
mod finished;
mod graph;
mod limits;
mod model;
mod protected;
mod read;
mod record;
mod report;

use crate::task::{PlanName, PlanOrder, RollbackOrder};

pub(crate) use desk::Desk;
pub(crate) use finished::{Finished, Preview, Rejected, ReportFiles};
pub(crate) use limits::Bounds;
use model::Action;
pub(crate) use record::Status;

/// Carries a plan out: all of it or nothing (001 §5). `expect` is the hash of the preview that it has to
/// agree with.
pub(crate) fn execute(
    order: &PlanOrder,
    bounds: &Bounds,
    expect: Option<&str>,
    desk: Desk<'_>,
) -> Finished {
    carry::execute(order, bounds, expect, desk)
}

/// Finds out what a plan would do; writes nothing.
pub(crate) fn preview(_order: &PlanOrder, _bounds: &Bounds, _desk: Desk<'_>) -> Finished {
    unwritten()
}

/// Undoes a finished plan, wholly or partly (001 §6.3).
pub(crate) fn rollback(_order: &RollbackOrder, _desk: Desk<'_>) -> Finished {
    unwritten()
}

/// Tells how far a plan came.
pub(crate) fn status(_plan: &PlanName, _desk: Desk<'_>) -> Finished {
    unwritten()
}

/// Asks the process that is at work on a plan to stop and undo.
pub(crate) fn cancel(_plan: &PlanName, _desk: Desk<'_>) -> Finished {
    unwritten()
}

/// Settles what a crash interrupted, and clears away what has expired. One sentence each.
pub(crate) fn recover(_desk: Desk<'_>) -> Vec<String> {
    Vec::new()
}

fn unwritten() -> Finished {
    Finished {
        status: None,
        rejected: Rejected::Yes,
        failure: Some(crate::task::Failure::new(
            crate::task::Fault::OperationNotBuiltIn,
            "not written",
        )),
        effect: crate::task::Effect::None,
        report: serde_json::Value::Null,
        files: None,
        preview: None,
        reasoning: Vec::new(),
        notes: Vec::new(),
    }
}
