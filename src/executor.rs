//! Performs a job: calls the tool of each step, judges its answer, takes its asset and checks it. The assets reach their
//! final places only if every step succeeds (000 §Step 5 … 7).
//!
//! This room does not use the ledger. It only returns what happened.

mod context;
mod document;
mod executed;
mod failure;
mod file_plan;
mod handed;
mod hidden;
mod hold;
mod job;
mod judge;
mod launch;
mod perform;
mod quality;
mod questions;
mod result_data;
mod steps;
mod take;
mod texts;
mod tool;
mod work;

pub(crate) use crate::mcp::{
    About, HOLD, Stopping, list_warm as warm_servers, stop_warm as stop_servers,
};
pub(crate) use crate::plan::{
    ARGUMENT, Consent, Desk, DiffLine, DiffMark, DiffRules, Difference, EngineState, Fate,
    FileExhibit, PlanExhibit, ReportedChange, Settled, Undo, Word, can_change, can_report, child,
    clear_expired, engine, exhibit as exhibit_plan, fate, from_diff, is_journalled, lacks, recover,
    recover_all, recover_named,
};
pub(crate) use context::Context;
pub use context::{Kept, RunEvent, ToolProgress, Watch};
pub(crate) use executed::{Executed, Rejection};
pub(crate) use failure::of_http;
pub(crate) use file_plan::foresee;
pub(crate) use hidden::Hidden;
pub(crate) use hold::hold;
pub(crate) use launch::{handed_on, launch};
pub(crate) use perform::{perform, show};
pub(crate) use steps::Steps;
pub(crate) use work::{FileOrder, FileWork, GrantWork, Ready, Work};
