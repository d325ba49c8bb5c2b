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
mod recorded;
mod settings;
mod steps;
mod told;

use serde_json::Value;

use crate::{
    envelope::Received,
    executor::{self, Context, Desk, Executed, Work},
    host::Host,
    record::{RunLedger, plan_named},
    task::{Activity, Course, Failure, OperationId, STAGING, Task, recorded_id},
};

use prepare::{Prepared, Scratches, prepare, scratch_name};
use recorded::recorded;
use steps::perform_steps;
use told::{tell_begin, tell_end};

pub use crate::{
    approval::{Approved, Through},
    executor::{Kept, RunEvent, ToolProgress, Watch},
    record::Project,
    task::Reuse,
};
pub use answer::{Answer, Arrived, broken, overdue};
pub use settings::{Mode, Reply, Settings};

pub(crate) use prepare::caller_of_launch;

pub(crate) use crate::executor::{
    ARGUMENT, Consent, DiffLine, DiffMark, DiffRules, Difference, FileExhibit, PlanExhibit,
    ReportedChange, Settled, Undo, Word, child, from_diff,
};
pub(crate) use crate::executor::{About, HOLD, Stopping, hold, stop_servers, warm_servers};

/// Prepares a process that performs several tasks, and keeps servers between them.
pub fn keep(settings: &Settings, host: &Host) -> Result<Kept, Failure> {
    let name = OperationId::new(host.timestamp(), host.random_bytes());
    let kept = Kept::open(&settings.project.state_dir, name.as_str());
    kept.map_err(Failure::from)
}

/// Performs one task. There is exactly one answer, for every input and every failure (R-000-12). `kept` are the servers of
/// a process that performs several tasks, one after the other.
pub fn perform(
    arrived: &Arrived,
    settings: &Settings,
    host: &Host,
    (course, watch): (&Course, Watch<'_>),
    kept: Option<&Kept>,
) -> Answer {
    tell_begin(&arrived.received);
    let (executed, joined) = settle_and_perform(arrived, settings, host, (course, watch), kept);
    tell_end(&executed.outcome);
    let received = joined.as_ref().unwrap_or(&arrived.received);
    arrived.answered(received, executed, settings.reply, host)
}

/// Performs a task that oneact itself has made.
pub fn perform_own(
    task_id: &str,
    echo: Value,
    task: Task,
    settings: &Settings,
    host: &Host,
) -> Answer {
    let arrived = Arrived::of(None, host.moment(), host, |session| {
        Received::typed(session, task_id, echo, task)
    });
    perform(
        &arrived,
        settings,
        host,
        (&Course::default(), &|_| ()),
        None,
    )
}

/// Settles interrupted plans, prepares the task and performs it. Returns also the task in the session of the request for
/// an approval with which it has gone on, if there is one.
fn settle_and_perform(
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
        desk: Desk {
            host,
            root: &project.root,
            task_id: &task_id,
            operation_id: operation.as_str(),
            begun: *begun,
            budget: settings.budget,
            own: &|| project.own_files(),
            course,
        },
        state_dir: &project.state_dir,
        scratch: &name,
        session_id: &received.identity.session_id,
        watch,
        trace: arrived.trace(settings),
        kept,
    };
    context.begins(Activity::Preparing);
    let mut settled = match (&received.task, settings.mode) {
        (Ok(Task::Capabilities(_) | Task::Plan(_) | Task::Rollback(_)), Mode::Run) => {
            executor::recover(context.desk).told
        }
        _ => Vec::new(),
    };
    let scratch = project.state_dir.join(STAGING).join(&name);
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
                        record_and_escalate(*work, &ledger, received, &context, &mut settled)
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
fn record_and_escalate(
    work: Work,
    ledger: &RunLedger<'_>,
    received: &Received,
    context: &Context<'_>,
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
                perform_steps(ready, ledgers, received, context)
            }
            work => executor::perform(work, context),
        },
    );
    if let Some(plan) = plan {
        ledger.escalate(plan, &mut executed.outcome, context);
    }
    executed
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
