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

mod edit;
mod graph;
mod limits;
mod model;
mod protected;
mod read;
mod record;

pub(crate) use limits::{Bounds, Validating};
pub(crate) use model::{Action, ActionId, ActionType, Edit, Instructions, Limits, Operation, Plan};
pub(crate) use protected::{ProtectedClass, Protection};
pub(crate) use read::{PlanError, Problem, read};
