//! Tools that ask for input: what the task answers them, and what it waits for.

use crate::{
    catalog::Step,
    mcp::{CallError, Resumption},
    task::{Input, Response, ToolQuestions, Waiting},
};

use super::failure;

/// A note about a question that was refused.
pub(super) fn refused(asked: &str) -> String {
    let asked = failure::sentence(asked);
    format!("The server asked for input while it was called, and was refused: {asked}")
}

/// The answers of the task for the server.
pub(super) fn resumption(input: &Input) -> Option<Resumption> {
    let Input::Given(given) = input else {
        return None;
    };
    let responses = given.responses.as_ref().map(|responses| {
        let each = |(name, response): &(String, Response)| (name.clone(), response.value.clone());
        responses.iter().map(each).collect()
    });
    tracing::info!("The answers of the task are sent with the call.");
    Some(Resumption {
        responses,
        state: given.request_state.clone(),
    })
}

/// What a tool that asks for input waits for: everything that the next run needs. A call with a fence does not wait, because
/// nobody else may make it while its outcome is unknown.
pub(super) fn waiting(step: &Step, error: &CallError) -> Option<Waiting> {
    let CallError::InputRequired { questions, .. } = error else {
        return None;
    };
    if !step.entry.identity.fence.is_empty() {
        return None;
    }
    tracing::info!(
        "{} asks for input, {} questions: another run can answer.",
        step.entry.tool,
        questions.requests.len()
    );
    Some(Waiting::Input(ToolQuestions {
        capability_id: step.entry.id.clone(),
        mcp_server: step.server.name.clone(),
        tool_name: step.entry.tool.clone(),
        input_requests: questions.requests.clone(),
        request_state: questions.state.clone(),
        resume: match (questions.requests.is_empty(), &questions.state) {
            (false, Some(_)) => {
                "Send the same task again with `input_responses`, an answer under the name of each input request, and \
                 with this `request_state`; with these `input_requests` too, the answers are checked first."
            }
            (false, None) => {
                "Send the same task again with `input_responses`, an answer under the name of each input request; with \
                 these `input_requests` too, the answers are checked first."
            }
            (true, _) => "Send the same task again, later, with this `request_state`.",
        },
    }))
}
