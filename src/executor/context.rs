//! The parameters of a run, and what can be seen of it from outside.

use std::cell::RefCell;

use camino::Utf8Path;

use crate::{
    assets::{Staging, StoreError},
    mcp::Closing,
    plan::Desk,
    task::{Activity, Failure, Fault, Trace},
};

/// The parameters of a run.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// What a plan needs as well.
    pub(crate) desk: Desk<'a>,
    pub(crate) state_dir: &'a Utf8Path,
    /// The name of this run's scratch directory.
    pub(crate) scratch: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) watch: Watch<'a>,
    /// The trace that is handed on to tools.
    pub(crate) trace: Option<&'a Trace>,
    /// The servers of the session, if this process performs several tasks.
    pub(crate) kept: Option<&'a Kept>,
}

/// The servers that serve several runs, with a scratch directory of their own.
pub struct Kept {
    // Servers are dropped before the scratch directory, because they may have its files open.
    pub(super) servers: RefCell<Vec<Closing>>,
    scratch: Staging,
}

impl Kept {
    /// Makes the scratch directory `name`.
    pub(crate) fn open(state_dir: &Utf8Path, name: &str) -> Result<Self, StoreError> {
        Ok(Self {
            servers: RefCell::default(),
            scratch: Staging::open(state_dir, name)?,
        })
    }

    /// The `TMPDIR` of the servers.
    pub(crate) fn scratch(&self) -> &Utf8Path {
        self.scratch.dir()
    }
}

/// Is told what a run does while it does it.
pub type Watch<'a> = &'a dyn Fn(RunEvent<'_>);

/// What can be seen of a run from outside.
#[derive(Debug, Clone, Copy)]
pub enum RunEvent<'a> {
    Begins(Activity<'a>),
    Progress(ToolProgress<'a>),
}

/// Progress of a tool, in the tool's own unit.
#[derive(Debug, Clone, Copy)]
pub struct ToolProgress<'a> {
    pub tool: &'a str,
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<&'a str>,
}

impl Context<'_> {
    /// Tells what the run does from now on.
    pub(crate) fn begins(&self, activity: Activity<'_>) {
        (self.watch)(RunEvent::Begins(activity));
    }

    /// Why the run must stop now: a signal, or the end of its time. This is checked between steps and while bytes are
    /// moved.
    pub(crate) fn stopped(&self) -> Option<Failure> {
        if let Some(interrupt) = self.desk.host.interrupts().caught() {
            let message = format!("cancelled by {}", interrupt.name());
            return Some(Failure::new(Fault::Cancelled, message));
        }
        let desk = self.desk;
        let budget = desk.budget.filter(|budget| desk.begun.passed() > *budget)?;
        let message = format!("the run took longer than the {budget:?} it was given (--timeout)");
        Some(Failure::new(Fault::ToolTimeout, message))
    }

    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        self.stopped().map_or(Ok(()), Err)
    }
}
