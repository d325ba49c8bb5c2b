//! The check of a call's arguments against the server's own schema, before the call.
//!
//! The schema is the server's: a few hundred bytes of it can mean years of work. It is worked on
//! by a thread of its own, which is left behind when the time is up.

use std::{thread, time::Duration};

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde::Deserialize;
use serde_json::Value;
use tokio::{sync::oneshot, time::timeout};

use super::{
    error::{ArgumentProblem, CallError, Phase},
    message::Body,
    session::{Alarm, Limits, Session},
    spec::ToolCall,
};

const METHOD: &str = "tools/list";
/// A server with more pages of tools than this repeats itself.
const MAX_PAGES: usize = 100;
const MAX_PROBLEMS: usize = 20;
/// A schema that takes longer than this is meant to. The largest in use take milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// For schemas that refer to one another in long rows; pages no schema reaches cost nothing.
const STACK_BYTES: usize = 256 * 1024 * 1024;
/// How alike a name must be to be offered instead (Jaro–Winkler), and how many are.
const ALIKE: f64 = 0.75;
const MAX_NEAR: usize = 3;

/// One page of `tools/list`, as far as we read it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    tools: Vec<Listed>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    input_schema: Option<Value>,
}

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
        let page = list(session, cursor, limits, alarm).await?;
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

async fn list(
    session: &Session,
    cursor: Option<String>,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<Page, CallError> {
    let params = PaginatedRequestParams::default().with_cursor(cursor);
    let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
    let body = session
        .exchange(alarm, limits, request, &mut |_| ())
        .await
        .map_err(|halt| session.error(halt, Phase::ValidateArguments, METHOD))?;
    let reason = match body {
        Body::Result(raw) => match serde_json::from_str(raw.get()) {
            Ok(page) => return Ok(page),
            Err(error) => error.to_string(),
        },
        Body::Error(error) => return Err(super::answer::refused(session, METHOD, error)),
        Body::Malformed(reason) => reason,
    };
    Err(CallError::Malformed {
        server: session.server.clone(),
        method: METHOD,
        reason: session.excerpt(&reason),
    })
}

/// The names most like `wanted`, the likest first.
fn near(wanted: &str, available: &[String]) -> Vec<String> {
    let mut scored: Vec<(f64, &String)> = available
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()),
                name,
            )
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored
        .into_iter()
        .take(MAX_NEAR)
        .map(|(_, name)| name.clone())
        .collect()
}
