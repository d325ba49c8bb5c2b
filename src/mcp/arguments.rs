//! The check of a call's arguments against the server's own schema, before the call.
//!
//! The schema is the server's: a few hundred bytes of it can mean years of work. It is worked on
//! by a thread of its own, which is left behind when the time is up.

use std::{thread, time::Duration};

use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};

use super::{
    error::{ArgumentProblem, CallError, Phase},
    session::{Alarm, Limits, Session},
    spec::ToolCall,
    tools::{MAX_PAGES, METHOD, near, page},
};

const MAX_PROBLEMS: usize = 20;
/// A schema that takes longer than this is meant to. The largest in use take milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// For schemas that refer to one another in long rows; pages no schema reaches cost nothing.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// Finds the tool and checks the arguments against its schema.
pub(super) async fn check(
    session: &Session,
    call: &ToolCall,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<(), CallError> {
    let schema = find(session, call, limits, alarm).await?;
    let unusable = |reason: String| CallError::SchemaUnusable {
        server: session.server.clone(),
        tool: call.tool.clone(),
        reason: session.excerpt(&reason),
    };
    let schema = schema.ok_or_else(|| unusable("it has none".to_owned()))?;
    let work = timeout(
        PATIENCE,
        problems(schema, Value::Object(call.arguments.clone())),
    );
    let problems = session
        .unless_stopped(alarm, limits, work)
        .await
        .map_err(|halt| session.error(halt, Phase::ValidateArguments, METHOD))?
        .map_err(|_| format!("a check against it takes more than {PATIENCE:?}"))
        .and_then(|found| found)
        .map_err(unusable)?;
    if problems.is_empty() {
        return Ok(());
    }
    Err(CallError::ArgumentsInvalid {
        server: session.server.clone(),
        tool: call.tool.clone(),
        problems: problems
            .into_iter()
            .map(|(pointer, message)| ArgumentProblem {
                pointer: session.secrets.cut(&pointer),
                message: session.excerpt(&message),
            })
            .collect(),
    })
}

/// What is wrong with the arguments, with JSON Pointers; an error says what is wrong with the
/// schema. Not a task of the runtime: that one would wait for it at its own end.
async fn problems(schema: Value, arguments: Value) -> Result<Vec<(String, String)>, String> {
    let (answer, answered) = oneshot::channel();
    thread::Builder::new()
        .name("schema".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens any more if the time is up.
            let _ = answer.send(judge(&schema, &arguments));
        })
        .map_err(|error| format!("no thread can be started to check it: {error}"))?;
    answered
        .await
        .unwrap_or_else(|_| Err("its check broke down".to_owned()))
}

/// JSON Schema 2020-12 unless the schema says otherwise. References to anywhere else are errors:
/// nothing is ever fetched (MCP 2026-07-28, Tools).
fn judge(schema: &Value, arguments: &Value) -> Result<Vec<(String, String)>, String> {
    let validator = jsonschema::options()
        .build(schema)
        .map_err(|error| error.to_string())?;
    // Says yes or no without a list of errors, of which there may be too many to hold.
    if validator.is_valid(arguments) {
        return Ok(Vec::new());
    }
    Ok(validator
        .iter_errors(arguments)
        .take(MAX_PROBLEMS)
        .map(|error| (error.instance_path().to_string(), error.to_string()))
        .collect())
}

/// The tool's schema, from the first page that lists it.
async fn find(
    session: &Session,
    call: &ToolCall,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<Option<Value>, CallError> {
    let mut available = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = page(session, cursor, limits, alarm).await?;
        for tool in page.tools {
            if tool.name == call.tool {
                return Ok(tool.input_schema);
            }
            available.push(tool.name);
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let near = near(&call.tool, &available);
    Err(CallError::UnknownTool {
        server: session.server.clone(),
        tool: call.tool.clone(),
        near,
        available,
    })
}
