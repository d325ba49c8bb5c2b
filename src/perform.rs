//! The way of a task, from bytes to bytes.
//!
//! ```text
//! bytes ─ read ─ Task ─ catalog ─ Job ─ inputs ─ launches ─ execute ─ Outcome ─ envelope ─ bytes
//! ```
//!
//! Each stage takes the type before it and gives the next, so a skipped check does not compile.

mod answer;
mod broken;
mod scratch;
mod settings;
mod story;

use camino::Utf8Path;

use crate::{
    assets::{Staging, Store},
    catalog::{Catalog, Places, resolve},
    envelope::{self, Answered, Received},
    executor::{self, Context, Executed, Ready, Rejection},
    host::Host,
    inputs,
    task::{Failure, OperationId, Phase},
};

pub use crate::executor::{Seen, Watch};
pub use answer::Answer;
pub use broken::broken;
pub use settings::{Mode, Settings};

/// Performs one task. Whatever arrives and whatever breaks, there is one answer (R-000-12).
pub fn perform(
    input: &Result<Vec<u8>, Failure>,
    settings: &Settings,
    host: &Host,
    watch: Watch<'_>,
) -> Answer {
    let begun = host.moment();
    answer(input, host, |received, operation| {
        let name = scratch::name(received, operation);
        let scratch = Staging::path(&settings.state_dir, &name);
        let context = Context {
            host,
            root: &settings.root,
            state_dir: &settings.state_dir,
            scratch: &name,
            session_id: &received.identity.session_id,
            begun,
            budget: settings.budget,
            watch,
        };
        prepare(received, settings, host, &scratch)
            .and_then(|ready| match settings.mode {
                Mode::Run => executor::execute(ready, &context),
                Mode::DryRun => Ok(executor::planned(ready, &context)),
            })
            .unwrap_or_else(Executed::rejected)
    })
}

/// Reads the input (000 §Step 1), has the work done, and writes the answer.
fn answer(
    input: &Result<Vec<u8>, Failure>,
    host: &Host,
    work: impl FnOnce(&Received, &OperationId) -> Executed,
) -> Answer {
    let executed_at = host.timestamp();
    let operation = OperationId::new(executed_at, host.random_bytes());
    let session = || format!("sess-{}", operation.as_str().trim_start_matches("op_"));
    let received = match input {
        Ok(bytes) => envelope::read(bytes, session),
        Err(failure) => Received::nobody(session(), failure.clone()),
    };
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
    Answer::new(envelope::to_json(&answered), executed)
}

/// Task → job, with all that is needed to run it. Everything that can be found wrong before a tool
/// is started is found here (000 §Step 2 … 4, R-000-53, R-000-58).
fn prepare(
    received: &Received,
    settings: &Settings,
    host: &Host,
    scratch: &Utf8Path,
) -> Result<Ready, Rejection> {
    let root = &settings.root;
    let task = received
        .task
        .as_ref()
        .map_err(Clone::clone)
        .map_err(Rejection::at(Phase::Read))?;

    let catalog = Catalog::load(&settings.catalog).map_err(Rejection::at(Phase::Catalog))?;
    let tables = catalog.tables().map_err(Rejection::at(Phase::Catalog))?;
    let places = Places {
        root,
        staging: scratch,
        session: &received.identity.session_id,
    };
    let job = resolve(task, &tables, places).map_err(Rejection::at(Phase::Catalog))?;
    let store = Store::open(&job.storage, root).map_err(Rejection::at(Phase::Catalog))?;

    tracing::debug!("catalog consulted");

    let notes = inputs::check(task, root, host).map_err(Rejection::at(Phase::Inputs))?;

    let launch = |server| executor::launch(server, root, scratch);
    let launches = job.steps.iter().map(|step| launch(&step.server));
    let launches = launches.collect::<Result<_, _>>();
    Ok(Ready {
        launches: launches.map_err(Rejection::at(Phase::Spawn))?,
        job,
        store,
        notes,
    })
}
