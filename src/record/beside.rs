//! The ledger during a run: it is asked before a task is performed, and records how the task ended (R-004-50,
//! R-004-51).

mod join;
mod recording;
mod run_ledger;
mod steps;

pub(crate) use run_ledger::{Begun, RunLedger};
pub(crate) use steps::StepLedgers;
