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

mod desk;
mod edit;
mod engine;
mod files;
mod finished;
mod limits;
mod model;
mod record;

use crate::task::{Effect, Failure, Fault, PlanName, PlanOrder, RollbackOrder, Validation};

pub(crate) use desk::Desk;
pub(crate) use finished::{Finished, Rejected};
pub(crate) use limits::{Bounds, Protection, ProtectionRules, Validating};
pub(crate) use model::ActionType;
pub(crate) use record::Status;

/// Carries a plan out: all of it or nothing (001 §5). `expect` is the hash of the preview that it has to
/// agree with.
pub(crate) fn execute(
    order: &PlanOrder,
    bounds: &Bounds,
    _expect: Option<&str>,
    _desk: Desk<'_>,
) -> Finished {
    validated(order, bounds).unwrap_or_else(unwritten)
}

/// Finds out what a plan would do; writes nothing.
pub(crate) fn preview(order: &PlanOrder, bounds: &Bounds, _desk: Desk<'_>) -> Finished {
    validated(order, bounds).unwrap_or_else(unwritten)
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

fn validated(order: &PlanOrder, bounds: &Bounds) -> Option<Finished> {
    let why = match (&order.validation, bounds.validation) {
        (Validation::Refused(why), _) => why.as_str(),
        (Validation::Unsaid, Validating::Required) => {
            "nothing says that the protocol layer approved it. Give `\"protocol_validation\": true` beside the plan, \
             or let the catalog entry's `file_plan` say `validation = \"none\"`"
        }
        _ => return None,
    };
    Some(refused(Failure::new(
        Fault::NotValidated,
        format!("the plan is not validated: {why}"),
    )))
}

fn unwritten() -> Finished {
    refused(Failure::new(Fault::OperationNotBuiltIn, "not written"))
}

fn refused(failure: Failure) -> Finished {
    Finished {
        status: None,
        rejected: Rejected::Yes,
        failure: Some(failure),
        effect: Effect::None,
        report: serde_json::Value::Null,
        files: None,
        preview: None,
        reasoning: Vec::new(),
        notes: Vec::new(),
    }
}
