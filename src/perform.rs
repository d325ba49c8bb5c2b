//! The sequence of a task, from bytes to bytes.
//!
//! ```text
//! bytes ─ read ─ Task ─ catalog ─ gate ─ Job ─ inputs ─ launches ─┬─ ledger: seen before? ─ yes ─┬─ Outcome ─ envelope ─ bytes
//!                                                 └─ plan ────────┴─ no: claim ─ do ─ record ────┘
//! ```
//!
//! Each stage takes the type that the stage before it returns, so a skipped check does not compile.

mod answer;
mod prepare;
mod steps;
mod told;

use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    assets::Staging,
    envelope::{self, Answered, Delivery, Received},
    executor::{self, Context, Executed, Work},
    host::{Host, Moment},
    record::{Begun, RunLedger, TaskRun, plan_named},
    task::{
        Activity, Course, Failure, Nameable, NamedSession, OF_CALLS, OperationId, SessionFrom,
        Task, Trace, cut_links, recorded_id,
    },
};

use prepare::{Prepared, Scratches, prepare, scratch_name};
use told::{tell_begin, tell_end};

pub use crate::{
    approval::{Approved, Through},
    executor::{Kept, Limits, RunEvent, ToolProgress, Watch},
    record::Project,
    task::Reuse,
};
pub use answer::{Answer, broken, overdue};

pub(crate) use crate::executor::{
    ARGUMENT, Consent, DiffLine, DiffMark, DiffRules, Difference, FileExhibit, PlanExhibit,
    ReportedChange, Settled, Undo, Word, child, from_diff,
};
pub(crate) use crate::executor::{About, HOLD, Stopping, hold, stop_servers, warm_servers};

/// The operator's decisions, which are made before a task arrives.
#[derive(Debug, Clone)]
pub struct Settings {
    pub project: Project,
    pub mode: Mode,
    /// The preview hash that the run of a plan must match.
    pub expect: Option<String>,
    pub reply: Reply,
    pub limits: Limits,
    pub reuse: Reuse,
    /// The profile of the catalog that the operator chose.
    pub profile: Option<String>,
    /// How long the run waits for the approval of a person.
    pub wait: Option<Duration>,
    pub nameable: Nameable,
    /// The session of a task that names none: `$ONEACT_SESSION`.
    pub session: Option<NamedSession>,
    /// The trace of a task that belongs to none: `$TRACEPARENT`.
    pub trace: Option<Trace>,
    /// What is unusual about the settings, for `audit.compliance_notes`.
    pub notes: Vec<String>,
    pub through: Through,
    /// The request for an approval whose stored call is performed.
    pub approved: Option<Approved>,
}

/// Whether anything is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Run,
    /// Resolve and check everything, and start nothing.
    DryRun,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Reply {
    /// The ADL envelope
    #[default]
    Adl,
    /// The execution report of a file plan alone
    Report,
    /// The `MCPResponse` alone, as the ledger stores it
    Mcp,
    /// The result data alone; an object with `error` after a failure
    Result,
}

impl Settings {
    pub fn of(project: Project) -> Self {
        Self {
            project,
            mode: Mode::Run,
            expect: None,
            reply: Reply::Adl,
            limits: Limits::default(),
            reuse: Reuse::Allowed,
            profile: None,
            wait: None,
            nameable: Nameable::default(),
            session: None,
            trace: None,
            notes: Vec::new(),
            through: Through::Command,
            approved: None,
        }
    }
}

/// The input as it was read, and the identity of the run that answers it.
#[derive(Debug)]
pub struct Arrived {
    received: Received,
    pub(crate) operation: OperationId,
    executed_at: Timestamp,
    /// The start of the run.
    pub(crate) begun: Moment,
}

impl Arrived {
    /// Reads the input (000 §Step 1) of a run that began at `begun`.
    pub fn read(input: Result<Vec<u8>, Failure>, begun: Moment, host: &Host) -> Self {
        Self::read_in(None, input, begun, host)
    }

    /// The same, for tasks of that session if they name none. Without it, such a task gets a new one.
    pub fn read_in(
        session: Option<NamedSession>,
        input: Result<Vec<u8>, Failure>,
        begun: Moment,
        host: &Host,
    ) -> Self {
        let of_process = session.as_ref();
        let of_process = of_process.is_some_and(|session| session.from == SessionFrom::Process);
        let arrived = Self::of(session, begun, host, |session| match input {
            Ok(bytes) => envelope::read(&bytes, || session),
            Err(failure) => Received::nobody(session, failure),
        });
        let key = arrived.received.identity.idempotency_key.as_deref();
        if of_process && key.is_some_and(|key| key.starts_with(OF_CALLS)) {
            return arrived.numbered();
        }
        arrived
    }

    /// The same with a task whose id oneact made, and not the caller.
    pub(crate) fn numbered(mut self) -> Self {
        if self.received.delivery == Delivery::Named {
            self.received.delivery = Delivery::Numbered;
        }
        self
    }

    /// The trace to which the run belongs, if it belongs to one. That of the task comes first.
    pub(crate) fn trace<'a>(&'a self, settings: &'a Settings) -> Option<&'a Trace> {
        self.received.trace.as_ref().or(settings.trace.as_ref())
    }

    /// The same in that trace.
    pub(crate) fn within(mut self, trace: Trace) -> Self {
        self.received.trace = Some(trace);
        self
    }

    fn of(
        session: Option<NamedSession>,
        begun: Moment,
        host: &Host,
        received: impl FnOnce(NamedSession) -> Received,
    ) -> Self {
        let executed_at = host.timestamp();
        let operation = OperationId::new(executed_at, host.random_bytes());
        let session = session.unwrap_or_else(|| {
            format!("sess-{}", operation.as_str().trim_start_matches("op_")).into()
        });
        let mut received = received(session);
        received.notes.iter_mut().for_each(cut_links);
        tracing::debug!("task read");
        Self {
            received,
            operation,
            executed_at,
            begun,
        }
    }

    fn answered(
        &self,
        received: &Received,
        mut executed: Executed,
        kind: Reply,
        host: &Host,
    ) -> Answer {
        executed.outcome.cut_links();
        executed.outcome.bound();
        let answered = Answered {
            received,
            outcome: &executed.outcome,
            operation: &self.operation,
            executed_at: &host.local(self.executed_at),
        };
        let document = match kind {
            Reply::Adl => envelope::to_json(&answered),
            Reply::Report => envelope::to_report(&answered),
            Reply::Result => envelope::to_result(&answered),
            Reply::Mcp => envelope::to_response(received, &executed.outcome).into_bytes(),
        };
        Answer::new(document, executed)
    }
}

/// Prepares a process that performs several tasks, and keeps servers between them.
pub fn keep(settings: &Settings, host: &Host) -> Result<Kept, Failure> {
    let name = OperationId::new(host.timestamp(), host.random_bytes());
    let kept = Kept::open(&settings.project.state_dir, name.as_str());
    kept.map_err(Failure::from)
}

/// Performs one task. There is exactly one answer, for every input and every failure (R-000-12).
pub fn perform(
    arrived: &Arrived,
    settings: &Settings,
    host: &Host,
    course: &Course,
    watch: Watch<'_>,
) -> Answer {
    perform_with(None, arrived, settings, host, (course, watch))
}

/// The same in a process that performs several tasks, one after the other. `kept` are servers that it keeps.
pub fn perform_with(
    kept: Option<&Kept>,
    arrived: &Arrived,
    settings: &Settings,
    host: &Host,
    (course, watch): (&Course, Watch<'_>),
) -> Answer {
    tell_begin(&arrived.received);
    let (executed, joined) = work(arrived, settings, host, (course, watch), kept);
    tell_end(&executed.outcome);
    let received = joined.as_ref().unwrap_or(&arrived.received);
    arrived.answered(received, executed, settings.reply, host)
}

pub fn perform_typed(
    task_id: &str,
    echo: Value,
    task: Task,
    settings: &Settings,
    host: &Host,
) -> Answer {
    let arrived = Arrived::of(None, host.moment(), host, |session| {
        Received::typed(session, task_id, echo, task)
    });
    perform(&arrived, settings, host, &Course::default(), &|_| ())
}

/// Settles interrupted plans, prepares the task and performs it. Returns also the task in the session of the request for
/// an approval with which it has gone on, if there is one.
fn work(
    arrived: &Arrived,
    settings: &Settings,
    host: &Host,
    (course, watch): (&Course, Watch<'_>),
    kept: Option<&Kept>,
) -> (Executed, Option<Received>) {
    let Arrived {
        received,
        operation,
        begun,
        ..
    } = arrived;
    let project = &settings.project;
    let name = scratch_name(received, operation);
    let task_id = recorded_id(&received.task_id);
    let context = Context {
        host,
        root: &project.root,
        state_dir: &project.state_dir,
        scratch: &name,
        session_id: &received.identity.session_id,
        task_id: &task_id,
        operation_id: operation.as_str(),
        begun: *begun,
        limits: settings.limits,
        watch,
        trace: arrived.trace(settings),
        own: &|| project.own_files(),
        course,
        kept,
    };
    context.begins(Activity::Preparing);
    let mut settled = match (&received.task, settings.mode) {
        (Ok(Task::Capabilities(_) | Task::Plan(_) | Task::Rollback(_)), Mode::Run) => {
            executor::recover(context.desk()).told
        }
        _ => Vec::new(),
    };
    let scratch = Staging::path(&project.state_dir, &name);
    let scratches = Scratches {
        own: &scratch,
        kept: kept.map(Kept::scratch),
    };
    let mut joined = None;
    let executed = prepare(received, settings, host, scratches)
        .map_or_else(Executed::rejected, |prepared| match prepared {
            Prepared::Answer(outcome) => Executed::from(*outcome),
            Prepared::Work(mut work, mut ledger) => {
                let admission = ledger.admission();
                let executed = match settings.mode {
                    Mode::Run => {
                        joined = ledger.join(&mut work, received, &context);
                        let received = joined.as_ref().unwrap_or(received);
                        let session_id = &received.identity.session_id;
                        let context = Context {
                            session_id,
                            ..context
                        };
                        task(*work, &ledger, received, &context, &mut settled)
                    }
                    Mode::DryRun => executor::show(*work, &context),
                };
                executed.admitted(admission)
            }
        })
        .noted(settled)
        .noted(settings.notes.clone());
    (executed, joined)
}

/// Performs the work of a task, or its steps one after the other.
fn task<'h>(
    work: Work,
    ledger: &RunLedger<'h>,
    received: &Received,
    context: &Context<'h>,
    settled: &mut Vec<String>,
) -> Executed {
    let plan = match &work {
        Work::Files(files) => Some(plan_named(&files.order)),
        Work::Tools(_) | Work::Grant(_) | Work::Said(_) => None,
    };
    let mut executed = recorded(
        work,
        ledger,
        received,
        (context, settled),
        &mut |work, run| match work {
            Work::Tools(ready) if ready.job.is_several() => {
                let ledgers = run.map(|run| ledger.of_steps(run));
                steps::perform(ready, ledgers, received, context)
            }
            work => executor::perform(work, context),
        },
    );
    if let Some(plan) = plan {
        ledger.escalate(plan, &mut executed.outcome, context);
    }
    executed
}

/// Performs the work and records the result, unless the ledger has the answer.
fn recorded(
    mut work: Work,
    ledger: &RunLedger<'_>,
    received: &Received,
    (context, settled): (&Context<'_>, &mut Vec<String>),
    perform: &mut dyn FnMut(Work, Option<TaskRun>) -> Executed,
) -> Executed {
    let begun = context.host.moment();
    loop {
        context.begins(Activity::Ledger);
        let (executed, again) = match ledger.begin(&mut work, received, context, settled) {
            Begun::Answered(executed) => return *executed,
            Begun::Unrecorded(why) => return perform(work, None).noted(why),
            Begun::Held(executed) => (*executed, Some(work)),
            Begun::Run(recording) => {
                let mut executed = perform(work, recording.run());
                let again = executed.again.take().map(Work::Files);
                executed.outcome.bound();
                context.begins(Activity::Recording);
                (recording.finish(executed), again)
            }
        };
        if again.is_some() {
            context.begins(Activity::Approval);
        }
        match again {
            Some(again) if ledger.decided(&executed, begun, context) => work = again,
            Some(_) | None => return executed,
        }
    }
}

/// Settles plans that a crash interrupted, and removes expired backups.
pub(crate) fn recover(project: &Project, host: &Host) -> Settled {
    project.with_desk(host, |desk| {
        let mut settled = executor::recover_all(desk);
        settled.told.extend(executor::clear_expired(desk));
        settled
    })
}

/// Settles the plan of one report directory, wherever its journal was written, if `ask` agrees to the changes.
pub(crate) fn recover_named(
    path: &str,
    ask: &mut dyn FnMut(&[String]) -> Consent,
    project: &Project,
    host: &Host,
) -> Settled {
    project.with_desk(host, |desk| executor::recover_named(desk, path, ask))
}

/// The files that the plan of an execution report changed, as they are shown to people. `room` limits the lines.
pub(crate) fn exhibit(
    report: &Value,
    room: &mut usize,
    project: &Project,
    host: &Host,
) -> Result<PlanExhibit, Failure> {
    project.with_desk(host, |desk| executor::exhibit_plan(report, room, desk))
}
