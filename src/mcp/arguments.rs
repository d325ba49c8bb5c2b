//! The check of a call's arguments against the server's own schema, before the call.

use serde_json::Value;

use super::{
    alarm::Alarm,
    error::{CallError, Misfit},
    schema::judged,
    session::{Limits, Session},
    spec::ToolCall,
    tools::ToolListing,
};

/// Checks the arguments against the tool's schema.
pub(super) async fn check(
    session: &Session,
    call: &ToolCall,
    tool: &ToolListing,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<(), CallError> {
    let unusable = |reason: String| CallError::SchemaUnusable {
        server: session.server.clone(),
        tool: call.tool.clone(),
        reason: session.excerpt(&reason),
    };
    let schema = tool.input_schema.clone();
    let schema = schema.ok_or_else(|| unusable("it has none".to_owned()))?;
    let arguments = Value::Object(call.arguments.clone());
    let problems = judged(session, (limits, alarm), (schema, arguments), unusable).await?;
    if problems.is_empty() {
        tracing::info!(
            "The arguments fit the server's own schema of {}.",
            call.tool
        );
        return Ok(());
    }
    Err(CallError::ArgumentsInvalid {
        server: session.server.clone(),
        tool: call.tool.clone(),
        problems: problems
            .iter()
            .map(|problem| Misfit::told(session, problem))
            .collect(),
    })
}
