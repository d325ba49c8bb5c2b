//! Work on a schema that a server publishes, with an end.
//!
//! The schema is the server's: a few hundred bytes of it can mean years of work. It is worked on
//! by a thread of its own, which is left behind when the time is up.

use std::{error::Error, thread, time::Duration};

use jsonschema::{PatternOptions, Retrieve, Uri};
use serde_json::Value;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use super::{
    alarm::Alarm,
    error::{CallError, Misfit},
    session::{Halt, Limits, Session},
    tools::METHOD,
};
use crate::task::Phase;

/// More of them help nobody.
const MAX_PROBLEMS: usize = 20;
/// A schema that takes longer than this is meant to. The largest in use take milliseconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// The memory of one compiled pattern; a pattern of a few bytes can ask for any amount.
const PATTERN_BYTES: usize = 1 << 20;
/// For schemas that refer to one another in long rows; pages no schema reaches cost nothing.
const STACK_BYTES: usize = 256 * 1024 * 1024;

impl Misfit {
    /// Fit to be shown: without secrets, and short.
    pub(super) fn told(session: &Session, misfit: &Self) -> Self {
        Self {
            pointer: session.excerpt(&misfit.pointer),
            message: session.excerpt(&misfit.message),
        }
    }
}

/// What of a value does not fit; `unusable` makes the error where the schema cannot be used. If the time limit
/// of the call ends meanwhile, that is the fault of the one that took most of it: the schema or the server.
pub(super) async fn judged(
    session: &Session,
    (limits, alarm): (&Limits, &Alarm<'_>),
    (schema, value): (Value, Value),
    unusable: impl FnOnce(String) -> CallError,
) -> Result<Vec<Misfit>, CallError> {
    let begun = Instant::now();
    let work = misfits(schema, value);
    match session.unless_stopped(alarm, limits, work).await {
        Ok(judged) => judged.map_err(unusable),
        Err(Halt::Late(_, total)) if begun.elapsed() * 2 > total => Err(unusable(format!(
            "a check against it takes more than {total:?}, the time limit of the call"
        ))),
        Err(halt) => Err(session.error(halt, Phase::ValidateArguments, METHOD)),
    }
}

/// What of a value does not fit; an error says why the schema cannot be used. Not a task of the
/// runtime: that one would wait for it at its own end.
pub(super) async fn misfits(schema: Value, value: Value) -> Result<Vec<Misfit>, String> {
    let (answer, answered) = oneshot::channel();
    thread::Builder::new()
        .name("schema".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens any more if the time is up.
            let _ = answer.send(judge(&schema, &value));
        })
        .map_err(|error| format!("no thread can be started to check it: {error}"))?;
    match timeout(PATIENCE, answered).await {
        Ok(Ok(judged)) => judged,
        Ok(Err(_)) => Err("its check broke down".to_owned()),
        Err(_) => Err(format!("a check against it takes more than {PATIENCE:?}")),
    }
}

/// Where schemas that are elsewhere are fetched from.
struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, _: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        Err("schemas are not fetched, this one has to bring along what it refers to".into())
    }
}

/// JSON Schema 2020-12 unless the schema says otherwise. References to anywhere else are errors:
/// nothing is ever fetched (MCP 2026-07-28, Tools).
fn judge(schema: &Value, value: &Value) -> Result<Vec<Misfit>, String> {
    let patterns = PatternOptions::fancy_regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let validator = jsonschema::options()
        .with_retriever(Nowhere)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| error.to_string())?;
    // Says yes or no without a list of errors, of which there may be too many to hold.
    if validator.is_valid(value) {
        return Ok(Vec::new());
    }
    Ok(validator
        .iter_errors(value)
        .take(MAX_PROBLEMS)
        .map(|error| Misfit {
            pointer: error.instance_path().to_string(),
            message: error.to_string(),
        })
        .collect())
}
