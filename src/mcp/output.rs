//! The check of a good answer against the tool's own `outputSchema` (MCP, Tools, "Output Schema").

use serde_json::Value;
use tokio::time::Instant;

use crate::task::OutputSchema;

use super::{
    alarm::Alarm,
    answer::{Part, ToolAnswer},
    error::{CallError, Misfit},
    schema::{PATIENCE, judged, misfits},
    session::{Limits, Session},
    spec::ToolCall,
    tools::ToolListing,
};

/// What the check came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OutputCheck {
    /// There was nothing to check, or nothing to check it with.
    None,
    Fits,
    /// What does not fit, and where in `structuredContent`.
    Breaks(Vec<Misfit>),
    /// Why the schema cannot be used.
    Unusable(String),
}

/// A schema that has to be used is looked at before the call: afterwards it would be too late.
pub(super) async fn prepare(
    session: &Session,
    call: &ToolCall,
    tool: &ToolListing,
    limits: &Limits,
    alarm: &Alarm<'_>,
) -> Result<(), CallError> {
    if call.output_schema != OutputSchema::Check {
        return Ok(());
    }
    let unusable = |reason: String| CallError::OutputSchemaUnusable {
        server: session.server.clone(),
        tool: call.tool.clone(),
        reason: session.excerpt(&reason),
    };
    let schema = tool.output_schema.clone();
    let schema = schema.ok_or_else(|| unusable("the tool publishes none".to_owned()))?;
    judged(session, (limits, alarm), (schema, Value::Null), unusable).await?;
    Ok(())
}

/// Checks an answer, if the tool was listed and has a schema. What a tool says of its own failure
/// has no schema.
pub(super) async fn check(
    session: &Session,
    call: &ToolCall,
    tool: Option<ToolListing>,
    answer: &ToolAnswer,
    alarm: &Alarm<'_>,
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
    let structured = answer.structured.as_ref().map(|part| match part {
        Part::Read(value) => Ok(value.clone()),
        Part::Large(raw) => raw.value(),
    });
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
    // The answer is in: the limits of the call are no limits of this.
    let limits = Limits {
        idle: None,
        total: PATIENCE,
        until: Instant::now() + 2 * PATIENCE,
    };
    let work = misfits(schema, structured);
    match session.unless_stopped(alarm, &limits, work).await {
        // A signal; whoever takes the answer sees it too.
        Err(_) => OutputCheck::None,
        Ok(Err(reason)) => OutputCheck::Unusable(session.excerpt(&reason)),
        Ok(Ok(problems)) if problems.is_empty() => {
            tracing::info!("The answer fits the server's own output schema.");
            OutputCheck::Fits
        }
        Ok(Ok(problems)) => {
            let told = problems.iter();
            OutputCheck::Breaks(told.map(|each| Misfit::told(session, each)).collect())
        }
    }
}
