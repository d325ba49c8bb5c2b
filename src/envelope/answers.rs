//! What a task says about questions: whether the caller can answer them, and the answers (MCP 2026-07-28, Multi
//! Round-Trip Requests).
//!
//! An answer that no server could read is refused here, so that a person's answer is not lost in a tool.

use serde_json::{Map, Value};

use crate::task::{Elicited, Failure, Given, Input, Question, Response, ResponseKind};

use super::fields::{optional, optional_text, shape};

/// Reads the four fields; null counts as absent.
pub(super) fn read(task: &Map<String, Value>) -> Result<Input, Failure> {
    let accepts = optional(task, "accepts_input", "true or false", Value::as_bool)?;
    let responses = named(task, "input_responses", response)?;
    let request_state = optional_text(task, "request_state")?;
    let requests = named(task, "input_requests", question)?;
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

/// Reads an object whose values all have the same type.
fn named<T>(
    task: &Map<String, Value>,
    key: &str,
    read: impl Fn(&Value) -> Result<T, String>,
) -> Result<Option<Vec<(String, T)>>, Failure> {
    let object = optional(task, key, "an object", Value::as_object)?;
    let each = |(name, value): (&String, &Value)| {
        let read = read(value).map_err(|why| shape(format!("`{key}.{name}` {why}")))?;
        Ok((name.clone(), read))
    };
    object
        .map(|object| object.into_iter().map(each).collect())
        .transpose()
}

fn response(value: &Value) -> Result<Response, String> {
    let kind = match value {
        Value::Object(answer) if answer.contains_key("action") => {
            ResponseKind::Elicited(elicited(answer)?)
        }
        Value::Object(answer) if answer.contains_key("role") => sampled(answer)?,
        Value::Object(answer) if answer.contains_key("roots") => roots(answer)?,
        _ => {
            return Err(
                "is not an answer: the answer of a person has `action` (accept, decline or cancel), that of a \
                 model has `role`, and a list of roots has `roots`"
                    .to_owned(),
            );
        }
    };
    Ok(Response {
        kind,
        value: value.clone(),
    })
}

/// `ElicitResult` (2026-07-28, Elicitation, Response Actions).
fn elicited(answer: &Map<String, Value>) -> Result<Elicited, String> {
    only(answer, &["action", "content", "_meta"])?;
    let content = match answer.get("content") {
        None => None,
        Some(Value::Object(content)) => Some(content.clone()),
        Some(_) => return Err("has a `content` that is not an object".to_owned()),
    };
    match (answer.get("action").and_then(Value::as_str), content) {
        (Some("accept"), content) => Ok(Elicited::Accepted(content)),
        (Some("decline"), None) => Ok(Elicited::Declined),
        (Some("cancel"), None) => Ok(Elicited::Cancelled),
        (Some("decline" | "cancel"), Some(_)) => {
            Err("has `content`, which is allowed only with `action` accept".to_owned())
        }
        _ => Err("has an `action` that is not accept, decline or cancel".to_owned()),
    }
}

/// `CreateMessageResult` (2026-07-28, Sampling).
fn sampled(answer: &Map<String, Value>) -> Result<ResponseKind, String> {
    only(answer, &["role", "content", "model", "stopReason", "_meta"])?;
    let content = answer.get("content");
    let role = answer.get("role").and_then(Value::as_str);
    if !matches!(role, Some("assistant" | "user"))
        || !content.is_some_and(|content| content.is_object() || content.is_array())
        || !answer.get("model").is_some_and(Value::is_string)
    {
        return Err(
            "is not the answer of a model: it needs `role` (assistant or user), `content` and `model`"
                .to_owned(),
        );
    }
    Ok(ResponseKind::Sampled)
}

/// `ListRootsResult` (2026-07-28, Roots).
fn roots(answer: &Map<String, Value>) -> Result<ResponseKind, String> {
    only(answer, &["roots", "_meta"])?;
    let root = |root: &Value| root.get("uri").is_some_and(Value::is_string);
    match answer.get("roots") {
        Some(Value::Array(roots)) if roots.iter().all(root) => Ok(ResponseKind::Roots),
        _ => Err("is not a list of roots: each root needs a `uri`".to_owned()),
    }
}

fn only(answer: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match answer.keys().find(|key| !known.contains(&key.as_str())) {
        Some(stranger) => Err(format!(
            "has `{}`, which is not one of {}",
            stranger.escape_debug(),
            known.join(", ")
        )),
        None => Ok(()),
    }
}

/// Reads a question as the earlier answer showed it.
fn question(value: &Value) -> Result<Question, String> {
    let param = |name: &str| value.get("params").and_then(|params| params.get(name));
    match value.get("method").and_then(Value::as_str) {
        Some("elicitation/create") => match param("mode").map(Value::as_str) {
            // A question without a mode is a form (2026-07-28, Elicitation Requests).
            None | Some(Some("form")) => Ok(Question::Form(param("requestedSchema").cloned())),
            Some(Some("url")) => Ok(Question::Url),
            Some(_) => Err("has a `mode` that is neither form nor url".to_owned()),
        },
        Some("sampling/createMessage") => Ok(Question::Sampling),
        Some("roots/list") => Ok(Question::Roots),
        _ => Err(
            "is not a question; send `waiting.input_requests` back as it was received, or leave it out"
                .to_owned(),
        ),
    }
}
