//! The way of a task, from bytes to bytes.
//!
//! ```text
//! bytes ─ read ─ Task ─ catalog ─ Job ─ inputs ─ launches ─┬─ ledger: seen before? ─ yes ─┬─ Outcome ─ envelope ─ bytes
//!                                          └─ plan ────────┴─ no: claim ─ do ─ record ────┘
//! ```
//!
//! Each stage takes the type before it and gives the next, so a skipped check does not compile.

mod answer;
mod broken;
mod evidence;
mod exhibit;
mod look;
mod own;
mod prepare;
mod record;
mod recover;
mod replay;
mod scratch;
mod settings;
mod story;
mod world;

use serde_json::Value;

use crate::{
    assets::Staging,
    envelope::{self, Answered, Received},
    executor::{self, Context, Executed},
    host::Host,
    task::{Failure, OperationId, Task},
};

use prepare::prepare;

pub(crate) use crate::catalog::Acts;
pub use crate::executor::{Seen, Watch};
pub use answer::Answer;
pub use broken::broken;
pub(crate) use evidence::{
    Alone, AnchorOrder, Answer as ResolveAnswer, Broken, Dependants, EvidenceError, HeadSays, Name,
    Review, Revoked, Told, Verdict, Wish, anchor_out, prune, resolve, review, revoke, verify,
};
pub(crate) use exhibit::{Exhibit, Room, Shown, Still, exhibit};
pub(crate) use look::{
    Decision, Difference, Fact, How, LookError, Made, Most, Open, Page, ReadError, Reading, Row,
    RowOutcome, RowState, Step, Whole, look, recordable,
};
pub(crate) use recover::{Consent, recover, recover_named};
pub(crate) use replay::{Comparison, Repeated, repeat};
pub use settings::{Mode, Reply, Reuse, Settings};

/// Performs one task. Whatever arrives and whatever breaks, there is one answer (R-000-12).
pub fn perform(
    input: &Result<Vec<u8>, Failure>,
    settings: &Settings,
    host: &Host,
    watch: Watch<'_>,
) -> Answer {
    answer(input, settings.reply, host, |received, operation| {
        work(received, operation, settings, host, watch)
    })
}

/// Performs a task that a person typed.
pub fn perform_typed(
    task_id: &str,
    echo: Value,
    task: Task,
    settings: &Settings,
    host: &Host,
) -> Answer {
    let received = |session| Received::typed(session, task_id, echo, task);
    reply(settings.reply, host, received, |received, operation| {
        work(received, operation, settings, host, &|_| ())
    })
}

/// The way of a task: settle what a crash interrupted, prepare, do.
fn work(
    received: &Received,
    operation: &OperationId,
    settings: &Settings,
    host: &Host,
    watch: Watch<'_>,
) -> Executed {
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
        begun: host.moment(),
        budget: settings.budget,
        watch,
        own: &|| own::files(settings),
    };
    let settled = match (&received.task, settings.mode) {
        (Ok(Task::Capabilities(_) | Task::Plan(_) | Task::Rollback(_)), Mode::Run) => {
            executor::recover(&context).told
        }
        _ => Vec::new(),
    };
    prepare(received, settings, host, &scratch)
        .and_then(|prepared| match settings.mode {
            Mode::Run => record::recorded(prepared, received, operation, settings, &context),
            Mode::DryRun => Ok(record::shown(prepared.work, &context)),
        })
        .unwrap_or_else(Executed::rejected)
        .noted(settled)
}

/// Reads the input (000 §Step 1), has the work done, and writes the answer.
fn answer(
    input: &Result<Vec<u8>, Failure>,
    kind: Reply,
    host: &Host,
    work: impl FnOnce(&Received, &OperationId) -> Executed,
) -> Answer {
    let received = |session: String| match input {
        Ok(bytes) => envelope::read(bytes, || session),
        Err(failure) => Received::nobody(session, failure.clone()),
    };
    reply(kind, host, received, work)
}

fn reply(
    kind: Reply,
    host: &Host,
    received: impl FnOnce(String) -> Received,
    work: impl FnOnce(&Received, &OperationId) -> Executed,
) -> Answer {
    let executed_at = host.timestamp();
    let operation = OperationId::new(executed_at, host.random_bytes());
    let session = format!("sess-{}", operation.as_str().trim_start_matches("op_"));
    let received = received(session);
    tracing::debug!("task read");
    story::received(&received);
    let executed = work(&received, &operation);
    story::end(&executed.outcome);
    let answered = Answered {
        received: &received,
        outcome: &executed.outcome,
        operation: &operation,
        executed_at: &host.local(executed_at),
    };
    let document = match kind {
        Reply::Adl => envelope::to_json(&answered),
        Reply::Report => envelope::to_report(&answered),
        Reply::Mcp => envelope::to_response(&received, &executed.outcome).into_bytes(),
    };
    Answer::new(document, executed)
}
