//! The check of a call's arguments against the server's own schema, before the call.

use jsonschema::Validator;
use serde_json::Value;

use super::{
    error::{ArgumentProblem, CallError},
    session::{Alarm, Limits, Session},
    spec::ToolCall,
    tools::{MAX_PAGES, near, page},
};

const MAX_PROBLEMS: usize = 20;

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
    let validator = compile(&schema).map_err(unusable)?;
    let arguments = Value::Object(call.arguments.clone());
    let problems: Vec<ArgumentProblem> = validator
        .iter_errors(&arguments)
        .take(MAX_PROBLEMS)
        .map(|error| ArgumentProblem {
            pointer: error.instance_path().to_string(),
            message: session.excerpt(&error.to_string()),
        })
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(CallError::ArgumentsInvalid {
        server: session.server.clone(),
        tool: call.tool.clone(),
        problems,
    })
}

/// JSON Schema 2020-12 unless the schema says otherwise. References to anywhere else are errors:
/// nothing is ever fetched (MCP 2026-07-28, Tools).
fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .build(schema)
        .map_err(|error| error.to_string())
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
