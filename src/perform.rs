//! The way of a task, from bytes to bytes.
//!
//! ```text
//! bytes ─ read ─ Task ─ catalog ─ Job ─ inputs ─ launches ─ execute ─ Outcome ─ envelope ─ bytes
//! ```
//!
//! Each stage takes the type before it and gives the next, so a skipped check does not compile.

mod answer;
mod settings;

use std::fmt::Write as _;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use crate::{
    assets::{Staging, Store},
    catalog::{Catalog, Places, resolve},
    envelope::{self, Answered, Received},
    executor::{self, Context, Executed, Ready, Rejection},
    host::Host,
    inputs,
    task::{Effect, Failure, Fault, Input, OperationId, Outcome, Phase, State},
};

pub use crate::executor::{Seen, Watch};
pub use answer::Answer;
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
        let name = scratch_name(received, operation);
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

/// The answer after a defect of oneact itself: how far the run came, nobody knows.
pub fn broken(input: &Result<Vec<u8>, Failure>, host: &Host) -> Answer {
    let message = "internal error: oneact broke while performing the task; what it had begun may be unfinished (see stderr)";
    let failure = Failure::new(Fault::Internal, message);
    answer(input, host, |_, _| {
        Executed::from(Outcome {
            effect: Effect::Unknown,
            ..Outcome::nothing_done(State::Failed, Phase::Read, Some(failure))
        })
    })
}

/// What this run's scratch directory is called. It is known to tools, as a part of `output.path`: one
/// that asks for input is called again by another run, and has to be given the same parameters then
/// (MCP 2026-07-28, Multi Round-Trip Requests). So all runs of a task that may be asked share a name.
fn scratch_name(received: &Received, operation: &OperationId) -> String {
    const DIGITS: usize = 26;
    match &received.task {
        Ok(task) if task.input != Input::Refused => {
            let parts = [&received.identity.session_id, &task.task_id];
            let hash = parts
                .iter()
                .copied()
                .chain(&task.capability_ids)
                .fold(Sha256::new(), |hash, part| {
                    hash.chain_update(part).chain_update([0xff])
                });
            let digits = hash
                .finalize()
                .iter()
                .fold(String::new(), |mut digits, byte| {
                    // Writing to a String cannot fail.
                    let _ = write!(digits, "{byte:02x}");
                    digits
                });
            format!("in_{}", digits.get(..DIGITS).unwrap_or_default())
        }
        _ => operation.as_str().to_owned(),
    }
}

/// Reads the input (000 §Step 1), has the work done, and writes the answer.
fn answer(
    input: &Result<Vec<u8>, Failure>,
    host: &Host,
    work: impl FnOnce(&Received, &OperationId) -> Executed,
) -> Answer {
    let executed_at = host.now();
    let operation = OperationId::new(&executed_at, host.random_bytes());
    let session = || format!("sess-{}", operation.as_str().trim_start_matches("op_"));
    let received = match input {
        Ok(bytes) => envelope::read(bytes, session),
        Err(failure) => Received::nobody(session(), failure.clone()),
    };
    let executed = work(&received, &operation);
    let answered = Answered {
        received: &received,
        outcome: &executed.outcome,
        operation: &operation,
        executed_at: &executed_at,
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn after_a_defect_the_answer_is_for_who_asked_and_does_not_say_that_nothing_ran() {
        let task = br#"{"dispatch": {"task_id": "task_5", "capability_ids": ["A"]}, "metadata": {"session_id": "sess-1"}}"#;
        let answer = broken(&Ok(task.to_vec()), &Host::new(None, None).unwrap());
        assert_eq!((answer.state, answer.recoverable), (State::Failed, false));
        let envelope: Value = serde_json::from_slice(&answer.json).unwrap();
        assert_eq!(envelope["metadata"]["session_id"], "sess-1");
        assert_eq!(envelope["output"]["content"]["oneact"]["effect"], "unknown");
        assert_eq!(envelope["error"]["error_code"], "PROCESSING_ERROR");
    }

    #[test]
    fn only_runs_of_the_same_task_that_may_be_asked_share_a_scratch_directory() {
        let operation =
            |byte| OperationId::new(&"2026-01-01T00:00:00Z[UTC]".parse().unwrap(), [byte; 16]);
        let name = |task: &str, byte| {
            let received = envelope::read(task.as_bytes(), || format!("sess-{byte}"));
            scratch_name(&received, &operation(byte))
        };
        let asked = r#"{"task_id": "t", "capability_ids": ["A"], "metadata": {"session_id": "s"}, "accepts_input": true}"#;
        let again = asked.replace("true", r#"true, "request_state": "s1""#);
        assert_eq!(name(asked, 1), name(&again, 2));
        for (from, to) in [
            ("\"t\"", "\"u\""),
            ("\"A\"", "\"B\""),
            ("\"s\"", "\"r\""),
            ("true", "false"),
        ] {
            assert_ne!(name(asked, 1), name(&asked.replace(from, to), 1), "{to}");
        }
        let unasked = asked.replace("true", "false");
        assert_eq!(name(&unasked, 1), operation(1).as_str());
    }
}
