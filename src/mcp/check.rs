//! Checks against the schemas that a tool publishes (MCP, Tools): of the arguments before the call, and of the answer
//! after it.
//!
//! The schema comes from the server, and a check against a few hundred bytes can take years. Therefore it runs in its
//! own thread, which is abandoned when the time is over.

use std::{io, thread, time::Duration};

use serde_json::Value;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

use crate::task::{Author, OutputSchema, readable};

use super::{
    answer::ToolAnswer,
    child::failed,
    error::{CallError, Misfit},
    message::LIST,
    raw::Raw,
    session::Session,
    spec::ToolCall,
    tools::ToolListing,
    wait::{Halt, Limits},
};

const MAX_PROBLEMS: usize = 20;
/// The longest time of a check. The largest schemas in use take milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// The stack of the thread, for long chains of references. Pages that are not used cost nothing.
const STACK_BYTES: usize = 256 * 1024 * 1024;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputCheck {
    /// Nothing was checked.
    #[default]
    None,
    Fits,
    /// What does not fit the schema, with the place in `structuredContent`.
    Breaks(Vec<Misfit>),
    /// Why the schema cannot be used.
    Unusable(String),
}

/// Checks the arguments against the tool's input schema. Returns a note about what oneact cannot read of it.
pub(super) async fn arguments(
    session: &Session,
    call: &ToolCall,
    tool: &ToolListing,
) -> Result<Option<String>, CallError> {
    let unusable = |reason: String| CallError::SchemaUnusable {
        server: session.spec.name.clone(),
        tool: call.tool.clone(),
        reason: session.excerpt(&reason),
    };
    let schema = tool.input_schema.clone();
    let schema = schema.ok_or_else(|| unusable("it has none".to_owned()))?;
    let arguments = Value::Object(call.arguments.clone());
    let name = format!("input schema of {}", call.tool);
    let verdict = judged(session, name, (schema, arguments), unusable).await?;
    if verdict.misfits.is_empty() {
        tracing::info!(
            "The arguments fit the server's own schema of {}.",
            call.tool
        );
        return Ok(verdict
            .note
            .map(|note| session.link.wire.secrets.cut(&note)));
    }
    Err(CallError::ArgumentsInvalid {
        server: session.spec.name.clone(),
        tool: call.tool.clone(),
        problems: told(session, &verdict.misfits),
    })
}

/// Checks before the call that the output schema can be used, if the entry requires it.
pub(super) async fn prepare(
    session: &Session,
    call: &ToolCall,
    tool: &ToolListing,
) -> Result<(), CallError> {
    if call.output_schema != OutputSchema::Check {
        return Ok(());
    }
    let unusable = |reason: String| CallError::OutputSchemaUnusable {
        server: session.spec.name.clone(),
        tool: call.tool.clone(),
        reason: session.excerpt(&reason),
    };
    let schema = tool.output_schema.clone();
    let schema = schema.ok_or_else(|| unusable("the tool publishes none".to_owned()))?;
    judged(session, String::new(), (schema, Value::Null), unusable).await?;
    Ok(())
}

/// Checks an answer, if the tool was listed and has a schema. The schema does not apply to a failure. Adds a note about
/// what oneact cannot read of it.
pub(super) async fn output(
    session: &Session,
    call: &ToolCall,
    tool: Option<ToolListing>,
    answer: &ToolAnswer,
    notes: &mut Vec<String>,
) -> OutputCheck {
    let Some(schema) = tool.and_then(|tool| tool.output_schema) else {
        return OutputCheck::None;
    };
    if call.output_schema == OutputSchema::Ignore {
        tracing::info!("The server's output schema is ignored, as `output_schema` says.");
        return OutputCheck::None;
    }
    if answer.is_error {
        return OutputCheck::None;
    }
    let structured = answer.structured.as_ref().map(Raw::value);
    let structured = match structured.transpose() {
        Ok(structured) => structured,
        Err(reason) => return OutputCheck::Unusable(format!("the answer is too large: {reason}")),
    };
    let Some(structured) = structured else {
        return OutputCheck::Breaks(vec![Misfit {
            pointer: String::new(),
            message:
                "there is no `structuredContent`, which a tool with an output schema must give"
                    .to_owned(),
        }]);
    };
    // The call is answered, so its limits do not apply.
    let limits = Limits::within(2 * PATIENCE);
    let name = format!("output schema of {}", call.tool);
    let Ok(answered) = begin(move || judge(&name, &schema, &structured)) else {
        let reason = "no thread can be started to check against it".to_owned();
        return OutputCheck::Unusable(reason);
    };
    let work = misfits(answered);
    match session.alarm.unless_stopped(limits, work).await {
        // The caller sees the signal as well.
        Err(_) => OutputCheck::None,
        Ok(Err(reason)) => OutputCheck::Unusable(session.excerpt(&reason)),
        Ok(Ok(verdict)) => {
            let misfits = told(session, &verdict.misfits);
            notes.extend(
                verdict
                    .note
                    .map(|note| session.link.wire.secrets.cut(&note)),
            );
            if misfits.is_empty() {
                tracing::info!("The answer fits the server's own output schema.");
                OutputCheck::Fits
            } else {
                OutputCheck::Breaks(misfits)
            }
        }
    }
}

/// The problems without secrets, and shortened.
fn told(session: &Session, problems: &[Misfit]) -> Vec<Misfit> {
    let told = |misfit: &Misfit| Misfit {
        pointer: session.excerpt(&misfit.pointer),
        message: session.excerpt(&misfit.message),
    };
    problems.iter().map(told).collect()
}

/// What of a value does not fit. `unusable` makes the error of a schema that cannot be used. This includes a check that
/// reaches the time limit of the call and took more than half of it. Otherwise, the server was too slow.
async fn judged(
    session: &Session,
    name: String,
    (schema, value): (Value, Value),
    unusable: impl FnOnce(String) -> CallError,
) -> Result<Verdict, CallError> {
    let begun = Instant::now();
    let answered = begin(move || judge(&name, &schema, &value));
    let answered = answered.map_err(failed(&session.spec.name, "start a thread"))?;
    let work = misfits(answered);
    match session.alarm.unless_stopped(session.limits, work).await {
        Ok(judged) => judged.map_err(unusable),
        Err(Halt::Late(_, total)) if begun.elapsed() * 2 > total => Err(unusable(format!(
            "a check against it takes more than {total:?}, the time limit of the call"
        ))),
        Err(halt) => Err(session.error(halt, LIST)),
    }
}

struct Verdict {
    misfits: Vec<Misfit>,
    /// What is left to the server.
    note: Option<String>,
}

type Judged = Result<Verdict, String>;

/// Starts work in its own thread. The runtime would wait for a task when it ends. Fails if no thread can be started.
fn begin(work: impl FnOnce() -> Judged + Send + 'static) -> io::Result<oneshot::Receiver<Judged>> {
    let (answer, answered) = oneshot::channel();
    thread::Builder::new()
        .name("schema".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // If the time is over, there is no receiver.
            let _ = answer.send(work());
        })?;
    Ok(answered)
}

/// What of a value does not fit, or why the schema cannot be used.
async fn misfits(answered: oneshot::Receiver<Judged>) -> Judged {
    match timeout(PATIENCE, answered).await {
        Ok(Ok(judged)) => judged,
        Ok(Err(_)) => Err("its check broke down".to_owned()),
        Err(_) => Err(format!("a check against it takes more than {PATIENCE:?}")),
    }
}

fn judge(name: &str, schema: &Value, value: &Value) -> Judged {
    let readable = readable(schema, Author::Server)?;
    let mut misfits = Vec::new();
    // This makes no list of errors, which could be too large.
    if !readable.validator.is_valid(value) {
        let errors = readable.validator.iter_errors(value).take(MAX_PROBLEMS);
        misfits.extend(errors.map(|error| Misfit {
            pointer: error.instance_path().to_string(),
            message: error.to_string(),
        }));
    }
    Ok(Verdict {
        misfits,
        note: readable.note(name),
    })
}
