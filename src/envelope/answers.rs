//! What a task says about questions: whether the caller can answer them, and the answers (MCP 2026-07-28, Multi
//! Round-Trip Requests).
//!
//! An answer that no server could read is refused here, so that a person's answer is not lost in a tool.

use serde_json::Value;

use crate::task::{Elicited, Failure, Found, Given, Input, Question, Response, ResponseKind};

use super::fields::shape;

/// Reads the four fields; null counts as absent.
pub(super) fn read(task: &Found<'_>) -> Result<Input, Failure> {
    let accepts = task.optional("accepts_input", Found::flag)?;
    let responses = task.optional("input_responses", |all| all.members(response))?;
    let request_state = task.optional("request_state", Found::owned)?;
    let requests = task.optional("input_requests", |all| all.members(question))?;
    if responses.is_none() && request_state.is_none() {
        if requests.is_some() {
            return Err(shape(
                "`input_requests` is given without answers; add `input_responses`, or leave it out",
            ));
        }
        return Ok(match accepts {
            Some(true) => Input::Accepted,
            Some(false) | None => Input::Refused,
        });
    }
    if accepts == Some(false) {
        return Err(shape(
            "the task contains answers (`input_responses`, `request_state`) but says `accepts_input: false`; leave one out",
        ));
    }
    Ok(Input::Given(Given {
        responses,
        request_state,
        requests,
    }))
}

fn response(answer: &Found<'_>) -> Result<Response, Failure> {
    let has = |key| answer.value.get(key).is_some();
    let kind = if has("action") {
        ResponseKind::Elicited(elicited(answer)?)
    } else if has("role") {
        sampled(answer)?
    } else if has("roots") {
        roots(answer)?
    } else {
        return Err(answer.wrong(
            "is not an answer: the answer of a person has `action` (accept, decline or cancel), that of a \
             model has `role`, and a list of roots has `roots`",
        ));
    };
    Ok(Response {
        kind,
        value: answer.value.clone(),
    })
}

/// `ElicitResult` (2026-07-28, Elicitation, Response Actions).
fn elicited(answer: &Found<'_>) -> Result<Elicited, Failure> {
    answer.only(&["action", "content", "_meta"])?;
    let content = answer.get("content");
    let content = content.map(|content| content.object()).transpose()?;
    let action = answer.value.get("action").and_then(Value::as_str);
    match (action, content) {
        (Some("accept"), content) => Ok(Elicited::Accepted(content.cloned())),
        (Some("decline"), None) => Ok(Elicited::Declined),
        (Some("cancel"), None) => Ok(Elicited::Cancelled),
        (Some("decline" | "cancel"), Some(_)) => {
            Err(answer.wrong("has `content`, which is allowed only with `action` accept"))
        }
        _ => Err(answer.wrong("has an `action` that is not accept, decline or cancel")),
    }
}

/// `CreateMessageResult` (2026-07-28, Sampling).
fn sampled(answer: &Found<'_>) -> Result<ResponseKind, Failure> {
    answer.only(&["role", "content", "model", "stopReason", "_meta"])?;
    let [role, content, model] = ["role", "content", "model"].map(|key| answer.value.get(key));
    let fits = matches!(role.and_then(Value::as_str), Some("assistant" | "user"))
        && content.is_some_and(|content| content.is_object() || content.is_array())
        && model.is_some_and(Value::is_string);
    let problem =
        "is not the answer of a model: it needs `role` (assistant or user), `content` and `model`";
    fits.then_some(ResponseKind::Sampled)
        .ok_or_else(|| answer.wrong(problem))
}

/// `ListRootsResult` (2026-07-28, Roots).
fn roots(answer: &Found<'_>) -> Result<ResponseKind, Failure> {
    answer.only(&["roots", "_meta"])?;
    let root = |root: &Value| root.get("uri").is_some_and(Value::is_string);
    match answer.value.get("roots") {
        Some(Value::Array(roots)) if roots.iter().all(root) => Ok(ResponseKind::Roots),
        _ => Err(answer.wrong("is not a list of roots: each root needs a `uri`")),
    }
}

/// Reads a question as the earlier answer showed it.
fn question(question: &Found<'_>) -> Result<Question, Failure> {
    let param = |name: &str| question.value.get("params")?.get(name);
    match question.value.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => match param("mode").map(Value::as_str) {
            // A question without a mode is a form (2026-07-28, Elicitation Requests).
            None | Some(Some("form")) => Ok(Question::Form(param("requestedSchema").cloned())),
            Some(Some("url")) => Ok(Question::Url),
            Some(_) => Err(question.wrong("has a `mode` that is neither form nor url")),
        },
        Some("sampling/createMessage") => Ok(Question::Sampling),
        Some("roots/list") => Ok(Question::Roots),
        _ => Err(question.wrong(
            "is not a question; send `waiting.input_requests` back as it was received, or leave it out",
        )),
    }
}
