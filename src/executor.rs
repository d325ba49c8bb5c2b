//! Performs a job: calls the tool of each step, judges its answer, takes its asset and checks it. The assets reach their
//! final places only if every step succeeds (000 §Step 5 … 7).
//!
//! This room does not use the ledger. It only returns what happened.

mod document;
mod failure;
mod file_plan;
mod handed;
mod hidden;
mod hold;
mod job;
mod judge;
mod launch;
mod quality;
mod questions;
mod result_data;
mod steps;
mod take;
mod texts;
mod tool;

use std::{any::Any, cell::RefCell, collections::BTreeMap, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    assets::{Staging, Store, StoreError},
    catalog::{Delivery, Step, ToolJob, foreseen},
    host::{Host, Moment},
    mcp::{After, Closing, ServerSpec},
    task::{
        Activity, Admission, Checks, Course, Failure, Fault, Granted, Outcome, Phase, Plan,
        PlannedOutput, PlannedStep, Risk, Secrets, State, Trace, Uri, decided,
    },
};

pub(crate) use crate::mcp::{
    About, HOLD, Stopping, list_warm as warm_servers, stop_warm as stop_servers,
};
pub(crate) use crate::plan::{
    ARGUMENT, ChangeKind, Consent, Desk, DiffLine, DiffMark, DiffRules, Difference, Engine, Fate,
    FileExhibit, PlanExhibit, Settled, Undo, Word, can_change, can_report, child, clear_expired,
    engine, exhibit as exhibit_plan, fate, from_diff, is_journalled, lacks, recover, recover_all,
    recover_named, redacted as redacted_plan,
};
pub(crate) use failure::of_http;
pub(crate) use file_plan::{FileOrder, FileWork, foresee};
pub(crate) use hidden::Hidden;
pub(crate) use hold::hold;
pub(crate) use launch::{handed_on, launch, warm};
pub(crate) use steps::Steps;

pub(crate) enum Work {
    Tools(Ready),
    Files(Box<FileWork>),
    /// To open a grant, which performs nothing by itself.
    Grant(Box<GrantWork>),
    /// The answer to a suggestion or a clarification, which is never performed.
    Said(Box<Outcome>),
}

/// The limits of a grant, and what they are for.
pub(crate) struct GrantWork {
    pub(crate) summary: String,
    /// The id and the seal of each entry.
    pub(crate) entries: BTreeMap<String, String>,
    pub(crate) max_calls: u32,
    pub(crate) lasts: Duration,
    /// The entries that wait for approvals of their own, with their risks.
    pub(crate) apart: Vec<(String, Risk)>,
    pub(crate) salt: Option<String>,
    /// The values that the servers of the entries receive from the environment.
    pub(crate) secrets: Secrets,
}

impl GrantWork {
    /// Opens the grant. Its time begins now.
    fn open(self, context: &Context<'_>) -> Executed {
        let now = context.host.timestamp();
        let lasts = SignedDuration::try_from(self.lasts).unwrap_or_default();
        let until = now.checked_add(lasts).unwrap_or(now);
        let granted = Granted {
            entries: self.entries,
            max_calls: self.max_calls,
            until: until.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        };
        let entries: Vec<&String> = granted.entries.keys().collect();
        let told = json!({"grant": {
            "under": context.operation_id, "entries": entries, "max_calls": granted.max_calls, "until": granted.until,
        }});
        let sentence = format!(
            "The grant is open: at most {} calls until {}, each with `under`: {}.",
            granted.max_calls, granted.until, context.operation_id
        );
        Executed::from(Outcome {
            result_data: Some(told),
            checks: Checks {
                output_exists: true,
                output_non_empty: true,
                format_valid: true,
                result_complete: None,
            },
            opened: Some(granted),
            reasoning: vec![decided(sentence)],
            ..Outcome::nothing_done(State::Done, Phase::Complete, None)
        })
    }
}

/// A job with everything that is needed to perform it.
pub(crate) struct Ready {
    pub(crate) job: ToolJob,
    /// One per step.
    pub(crate) launches: Vec<ServerSpec>,
    pub(crate) store: Store,
    pub(crate) inputs: Vec<Uri>,
    /// For `audit.compliance_notes`.
    pub(crate) notes: Vec<String>,
    /// Of one step of several.
    pub(crate) among: Option<Box<Among>>,
}

/// What one step of several needs of the others.
#[derive(Debug, Clone)]
pub(crate) struct Among {
    /// The secrets of all steps.
    secrets: Secrets,
    /// What becomes of the server.
    after: After,
    /// The capabilities that were performed before it.
    before: Vec<String>,
}

/// A failure before anything was started, and the phase of the run.
#[derive(Debug)]
pub(crate) struct Rejection {
    phase: Phase,
    failure: Failure,
}

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
    servers: RefCell<Vec<Closing>>,
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

/// The outcome of a job, and what still has to end. Drop it after the answer is printed.
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    /// The work of a plan that turned out to need an approval.
    pub(crate) again: Option<Box<FileWork>>,
    // This is dropped first, while servers end.
    rest: Option<Box<dyn Any>>,
    // Servers are dropped before the scratch directory, because they may have its files open.
    _closing: Vec<Closing>,
    _staging: Option<Staging>,
}

pub(crate) fn perform(work: Work, context: &Context<'_>) -> Executed {
    match work {
        Work::Files(files) => file_plan::perform(*files, context),
        Work::Tools(ready) => job::execute(ready, context).unwrap_or_else(Executed::rejected),
        Work::Grant(grant) => grant.open(context),
        Work::Said(outcome) => Executed::from(*outcome),
    }
}

/// Shows what would be performed. Starts nothing (`--dry-run`).
pub(crate) fn show(work: Work, context: &Context<'_>) -> Executed {
    let ready = match work {
        Work::Files(files) => return file_plan::preview(*files, context),
        // The calls under a grant are not known before.
        Work::Grant(_) => {
            return Executed::from(Outcome {
                plan: Some(Plan { steps: Vec::new() }),
                ..Outcome::nothing_done(State::Planned, Phase::Catalog, None)
            });
        }
        Work::Said(outcome) => return Executed::from(*outcome),
        Work::Tools(ready) => ready,
    };
    let steps = ready.job.steps.iter().zip(&ready.launches);
    let shown = |(step, launch)| planned(step, launch, &ready.store, context.session_id);
    let outcome = Outcome {
        plan: Some(Plan {
            steps: steps.map(shown).collect(),
        }),
        reasoning: ready.job.reasoning,
        notes: ready.notes,
        ..Outcome::nothing_done(State::Planned, Phase::Spawn, None)
    };
    outcome.into()
}

fn planned(step: &Step, launch: &ServerSpec, store: &Store, session_id: &str) -> PlannedStep {
    let output = step.output.as_ref();
    let stored = output.filter(|output| output.delivery == Delivery::Stored);
    let output = stored.and_then(|output| {
        let uri = store.uri_of(session_id, &output.file_name).ok()?;
        Some(PlannedOutput {
            ref_id: output.ref_id.to_string(),
            storage_uri: uri.as_str().to_owned(),
            asset_type: output.asset_type.clone(),
        })
    });
    PlannedStep {
        capability_id: step.entry.id.clone(),
        mcp_server: step.server.name.clone(),
        tool_name: step.entry.tool.clone(),
        url: launch.url(),
        command: launch
            .program()
            .map_or_else(Vec::new, |program| program.argv.clone()),
        cwd: launch
            .program()
            .map_or_else(String::new, |program| program.cwd.to_string()),
        environment: launch.program().map_or_else(
            || step.server.variables().cloned().collect(),
            |program| program.env.iter().map(|(name, _)| name.clone()).collect(),
        ),
        parameters: foreseen(step, Hidden::new(step, launch).parameters(step)),
        timeout_seconds: step.timeout.as_secs_f64(),
        checks: quality::names(step),
        output,
    }
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

impl Rejection {
    /// A function that makes a rejection of an error of this phase.
    pub(crate) fn at<E: Into<Failure>>(phase: Phase) -> impl FnOnce(E) -> Self {
        move |error| Self {
            phase,
            failure: error.into(),
        }
    }
}

impl From<Outcome> for Executed {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            again: None,
            rest: None,
            _closing: Vec::new(),
            _staging: None,
        }
    }
}

impl Executed {
    /// The outcome if nothing was started.
    pub(crate) fn rejected(rejection: Rejection) -> Self {
        let Rejection { phase, failure } = rejection;
        let state = match failure.fault {
            Fault::Cancelled => State::Cancelled,
            Fault::RequestInFlight => State::Pending,
            // Another attempt may succeed, so the request is not at fault.
            _ if failure.recoverable => State::Failed,
            _ => State::Rejected,
        };
        Outcome::nothing_done(state, phase, Some(failure)).into()
    }

    /// Keeps something until the answer is printed, because dropping it takes time.
    pub(crate) fn keeping(mut self, rest: Box<dyn Any>) -> Self {
        self.rest = Some(rest);
        self
    }

    /// Adds what the gate decided. The hints of a server may have raised the risk since.
    pub(crate) fn admitted(mut self, admission: Option<Admission>) -> Self {
        let raised = self.outcome.raised.clone().unwrap_or_default();
        self.outcome.admission = admission.map(|found| found.with(raised));
        self
    }

    /// Adds sentences for `audit.compliance_notes`, before the others.
    pub(crate) fn noted(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.outcome.notes.splice(0..0, notes);
        self
    }
}
