//! The parameters of a run, and what can be seen of it from outside.

use std::{cell::RefCell, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    assets::{Staging, StoreError},
    host::{Host, Moment},
    mcp::Closing,
    task::{Activity, Course, Failure, Fault, Trace},
};

/// The parameters of a run.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) host: &'a Host,
    pub(crate) root: &'a Utf8Path,
    pub(crate) state_dir: &'a Utf8Path,
    /// The name of this run's scratch directory.
    pub(crate) scratch: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) task_id: &'a str,
    pub(crate) operation_id: &'a str,
    /// When the run began.
    pub(crate) begun: Moment,
    pub(crate) limits: Limits,
    pub(crate) watch: Watch<'a>,
    /// The trace that is handed on to tools.
    pub(crate) trace: Option<&'a Trace>,
    /// The files and directories of oneact, as the settings place them. No plan may change them.
    pub(crate) own: &'a (dyn Fn() -> Vec<Utf8PathBuf> + Sync),
    /// Records what may have happened so far.
    pub(crate) course: &'a Course,
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

/// The limits that the operator sets for a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// The longest time that the run may take.
    pub budget: Option<Duration>,
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
        if let Some(interrupt) = self.host.interrupts().caught() {
            let message = format!("cancelled by {}", interrupt.name());
            return Some(Failure::new(Fault::Cancelled, message));
        }
        let budget = self
            .limits
            .budget
            .filter(|budget| self.begun.passed() > *budget)?;
        let message = format!("the run took longer than the {budget:?} it was given (--timeout)");
        Some(Failure::new(Fault::ToolTimeout, message))
    }

    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        self.stopped().map_or(Ok(()), Err)
    }
}
