//! The way of a task, from bytes to bytes.
//!
//! ```text
//! bytes ─ read ─ Task ─ catalog ─ Job ─ inputs ─ launches ─┬─ ledger: seen before? ─ yes ─┬─ Outcome ─ envelope ─ bytes
//!                                          └─ plan ────────┴─ no: claim ─ do ─ record ────┘
//! ```
//!
//! Each stage takes the type before it and gives the next, so a skipped check does not compile.

mod answer;
mod book;
mod broken;
mod evidence;
mod exhibit;
mod ids;
mod look;
mod overdue;
mod own;
mod prepare;
mod record;
mod recover;
mod replay;
mod scratch;
mod settings;
mod story;
mod world;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    assets::Staging,
    envelope::{self, Answered, Received},
    executor::{self, Context, Executed},
    host::{Host, Moment},
    task::{Course, Failure, OperationId, Task, cut_links},
};

use prepare::prepare;

pub(crate) use crate::catalog::Acts;
pub use crate::executor::{Seen, Watch};
pub use crate::task::Reuse;
pub use answer::Answer;
pub use broken::broken;
pub(crate) use evidence::{
    Alone, AnchorOrder, Answer as ResolveAnswer, Broken, Dependants, EvidenceError, HeadSays, Name,
    Review, Revoked, Told, Verdict, Wish, anchor_out, prune, resolve, review, revoke, verify,
};
pub(crate) use exhibit::{Exhibit, Room, Shown, Still, exhibit};
pub(crate) use look::{
    Decision, Difference, Fact, How, LookError, Made, Most, Open, Page, Reading, RecordError, Row,
    RowOutcome, RowState, Step, Whole, look, recordable,
};
pub use overdue::overdue;
pub(crate) use recover::{Consent, recover, recover_named};
pub(crate) use replay::{Comparison, Repeated, repeat};
pub use settings::{Mode, Reply, Settings};

/// What arrived, and the run that is to answer it.
#[derive(Debug)]
pub struct Arrived {
    received: Received,
    operation: OperationId,
    executed_at: Timestamp,
    begun: Moment,
}

impl Arrived {
    /// Reads the input (000 §Step 1) of a run that began then. The bytes are not needed any more.
    pub fn read(input: Result<Vec<u8>, Failure>, begun: Moment, host: &Host) -> Self {
        Self::of(begun, host, |session| match input {
            Ok(bytes) => envelope::read(&bytes, || session),
            Err(failure) => Received::nobody(session, failure),
        })
    }

    /// When its run began.
    pub fn begun(&self) -> Moment {
        self.begun
    }

    fn of(begun: Moment, host: &Host, received: impl FnOnce(String) -> Received) -> Self {
        let executed_at = host.timestamp();
        let operation = OperationId::new(executed_at, host.random_bytes());
        let session = format!("sess-{}", operation.as_str().trim_start_matches("op_"));
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

    fn answered(&self, mut executed: Executed, kind: Reply, host: &Host) -> Answer {
        executed.outcome.cut_links();
        let received = &self.received;
        let answered = Answered {
            received,
            outcome: &executed.outcome,
            operation: &self.operation,
            executed_at: &host.local(self.executed_at),
        };
        let document = match kind {
            Reply::Adl => envelope::to_json(&answered),
            Reply::Report => envelope::to_report(&answered),
            Reply::Mcp => envelope::to_response(received, &executed.outcome).into_bytes(),
        };
        Answer::new(document, executed)
    }
}

/// Performs one task. Whatever arrives and whatever breaks, there is one answer (R-000-12).
pub fn perform(
    arrived: &Arrived,
    settings: &Settings,
    host: &Host,
    course: &Course,
    watch: Watch<'_>,
) -> Answer {
    story::received(&arrived.received);
    let executed = work(arrived, settings, host, course, watch);
    story::end(&executed.outcome);
    arrived.answered(executed, settings.reply, host)
}

/// Performs a task that a person typed.
pub fn perform_typed(
    task_id: &str,
    echo: Value,
    task: Task,
    settings: &Settings,
    host: &Host,
) -> Answer {
    let arrived = Arrived::of(host.moment(), host, |session| {
        Received::typed(session, task_id, echo, task)
    });
    perform(&arrived, settings, host, &Course::default(), &|_| ())
}

/// The way of a task: settle what a crash interrupted, prepare, do.
fn work(
    arrived: &Arrived,
    settings: &Settings,
    host: &Host,
    course: &Course,
    watch: Watch<'_>,
) -> Executed {
    let Arrived {
        received,
        operation,
        begun,
        ..
    } = arrived;
    let name = scratch::name(received, operation);
    let scratch = Staging::path(&settings.state_dir, &name);
    let context = Context {
        host,
        root: &settings.root,
        state_dir: &settings.state_dir,
        scratch: &name,
        session_id: &received.identity.session_id,
        task_id: &received.task_id,
        operation_id: operation.as_str(),
        begun: *begun,
        budget: settings.budget,
        watch,
        own: &|| own::files(settings),
        course,
    };
    let settled = match (&received.task, settings.mode) {
        (Ok(Task::Capabilities(_) | Task::Plan(_) | Task::Rollback(_)), Mode::Run) => {
            executor::recover(&context).told
        }
        _ => Vec::new(),
    };
    prepare(received, settings, host, &scratch)
        .map_or_else(Executed::rejected, |prepared| match settings.mode {
            Mode::Run => record::recorded(prepared, received, operation, settings, &context),
            Mode::DryRun => record::shown(prepared.work, &context),
        })
        .noted(settled)
}
