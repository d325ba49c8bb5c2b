//! The way of a task, from bytes to bytes.
//!
//! ```text
//! bytes ─ read ─ Task ─ catalog ─ Job ─ inputs ─ launches ─ execute ─ Outcome ─ envelope ─ bytes
//! ```
//!
//! Each stage takes the type before it and gives the next, so a skipped check does not compile.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    assets::{Staging, Store},
    catalog::{Catalog, Job, Places, resolve},
    envelope::{self, Answered, Received},
    executor::{self, Context, Executed, Launch},
    host::Host,
    inputs,
    mcp::Closing,
    task::{Failure, Fault, OperationId, Outcome, Phase, State},
};

pub use crate::executor::{Seen, Watch};

/// What the operator decided before any task arrived.
#[derive(Debug, Clone)]
pub struct Settings {
    pub root: Utf8PathBuf,
    pub catalog: Utf8PathBuf,
    /// Scratch and locks: `.oneact` below the root, unless moved.
    pub state_dir: Utf8PathBuf,
    pub mode: Mode,
    /// The longest the run may take.
    pub budget: Option<Duration>,
}

/// Whether anything is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Run,
    /// Resolve and check everything, start nothing.
    DryRun,
}

/// The answer: print it, then drop it. Dropping waits for servers that are still ending.
#[must_use]
pub struct Answer {
    /// One JSON document, without a newline.
    pub json: Vec<u8>,
    pub state: State,
    /// Whether sending the same task again may help.
    pub recoverable: bool,
    // In the order in which they must go:
    _closing: Vec<Closing>,
    _staging: Option<Staging>,
}

/// Performs one task. Whatever arrives and whatever breaks, there is one answer (R-000-12).
pub fn perform(
    input: Result<Vec<u8>, Failure>,
    settings: &Settings,
    host: &Host,
    watch: Watch<'_>,
) -> Answer {
    let executed_at = host.now();
    let operation = OperationId::new(&executed_at, host.random_bytes());
    let session = || format!("sess-{}", operation.as_str().trim_start_matches("op_"));
    let received = match input {
        Ok(bytes) => envelope::read(&bytes, session),
        Err(failure) => Received::nobody(session(), failure),
    };
    let (executed, staging) = carry_out(&received, &operation, settings, host, watch);
    let answered = Answered {
        received: &received,
        outcome: &executed.outcome,
        operation: &operation,
        executed_at: &executed_at,
    };
    Answer {
        json: envelope::to_json(&answered),
        state: executed.outcome.state,
        recoverable: executed
            .outcome
            .failure
            .as_ref()
            .is_some_and(|failure| failure.recoverable),
        _closing: executed.closing,
        _staging: staging,
    }
}

/// The stages between reading and answering. A failure before the first call is a rejection.
fn carry_out(
    received: &Received,
    operation: &OperationId,
    settings: &Settings,
    host: &Host,
    watch: Watch<'_>,
) -> (Executed, Option<Staging>) {
    let begun = host.moment();
    let scratch = Staging::path(&settings.state_dir, operation.as_str());
    let session_id = received.identity.session_id.as_str();
    let ready = match prepare(received, settings, &scratch) {
        Ok(ready) => ready,
        Err((phase, failure)) => return (rejected(phase, failure), None),
    };
    if settings.mode == Mode::DryRun {
        return (
            executor::planned(
                ready.job,
                &ready.launches,
                &ready.store,
                session_id,
                ready.notes,
            ),
            None,
        );
    }
    let staging = match Staging::open(&settings.state_dir, operation.as_str()) {
        Ok(staging) => staging,
        Err(error) => return (rejected(Phase::Inputs, error.into()), None),
    };
    let context = Context {
        host,
        root: &settings.root,
        session_id,
        store: &ready.store,
        staging: &staging,
        begun,
        budget: settings.budget,
        watch,
    };
    (
        executor::execute(ready.job, &ready.launches, ready.notes, &context),
        Some(staging),
    )
}

/// A job with all that is needed to run it.
struct Ready {
    job: Job,
    launches: Vec<Launch>,
    store: Store,
    notes: Vec<String>,
}

/// Everything that can be found wrong before a tool is started (R-000-53, R-000-58).
fn prepare(
    received: &Received,
    settings: &Settings,
    scratch: &Utf8Path,
) -> Result<Ready, (Phase, Failure)> {
    let at = |phase: Phase| move |failure: Failure| (phase, failure);
    let task = received
        .task
        .as_ref()
        .map_err(|failure| (Phase::Read, failure.clone()))?;
    let catalog =
        Catalog::load(&settings.catalog).map_err(|error| (Phase::Catalog, error.into()))?;
    let tables = catalog
        .tables()
        .map_err(|error| (Phase::Catalog, error.into()))?;
    let places = Places {
        root: &settings.root,
        staging: scratch,
        session: &received.identity.session_id,
    };
    let job = resolve(task, &tables, places).map_err(at(Phase::Catalog))?;
    let store = Store::open(&job.storage, &settings.root)
        .map_err(|error| (Phase::Catalog, error.into()))?;
    let notes = inputs::check(task, &settings.root).map_err(at(Phase::Inputs))?;
    let launch =
        |step: &crate::catalog::Step| executor::launch(&step.server, &settings.root, scratch);
    let launches = job
        .steps
        .iter()
        .map(launch)
        .collect::<Result<_, _>>()
        .map_err(at(Phase::Spawn))?;
    Ok(Ready {
        job,
        launches,
        store,
        notes,
    })
}

/// Nothing ran.
fn rejected(phase: Phase, failure: Failure) -> Executed {
    let state = if failure.fault == Fault::Cancelled {
        State::Cancelled
    } else {
        State::Rejected
    };
    Executed {
        outcome: Outcome::nothing_done(state, phase, Some(failure)),
        closing: Vec::new(),
    }
}
