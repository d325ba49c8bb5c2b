//! The questions of a server (MCP 2026-07-28, Multi Round-Trip Requests).
//!
//! The server answers `tools/call` with questions and its state instead of a result, and the call ends. The caller calls
//! again with the answers and the state, from this process or another.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::bounds;
use crate::task::{Secrets, has_all_members, is_deeper};

/// The requests that a server may make in this way.
const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The questions without secrets, and the state that must be returned with the answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Questions {
    /// Request objects (`method`, `params`) by the names that the server gave them.
    pub(crate) requests: Map<String, Value>,
    /// Opaque. It must be returned unchanged.
    pub(crate) state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow)]
    input_requests: Option<&'a RawValue>,
    request_state: Option<String>,
}

/// Reads an `InputRequiredResult`; an error says how it breaks the protocol.
pub(super) fn read(result: &str, secrets: &Secrets) -> Result<Questions, String> {
    if result.len() > bounds::QUESTION_BYTES {
        let (bytes, most) = (result.len(), bounds::QUESTION_BYTES);
        return Err(bounds::too_long("its `input_required`", bytes, most));
    }
    let unfit = |error| format!("its `result` is no `input_required`: {error}");
    let wire: Wire<'_> = serde_json::from_str(result).map_err(unfit)?;
    let text = wire.input_requests.map_or("{}", RawValue::get);
    let requests: Map<String, Value> = serde_json::from_str(text).map_err(unfit)?;
    if !has_all_members(&Value::Object(requests.clone()), text) {
        return Err(
            "two input requests, or two members of an object in them, have one name".to_owned(),
        );
    }
    if requests.is_empty() && wire.request_state.is_none() {
        return Err(
            "it wants input, but has neither `inputRequests` nor a `requestState`".to_owned(),
        );
    }
    for (name, request) in &requests {
        if is_deeper(request, bounds::QUESTION_LEVELS) {
            let most = bounds::QUESTION_LEVELS;
            return Err(format!(
                "its input request `{name}` has more than {most} levels of arrays and objects"
            ));
        }
        let method = request.get("method").and_then(Value::as_str);
        if !method.is_some_and(|method| METHODS.contains(&method)) {
            return Err(format!(
                "its input request `{name}` is none of {}",
                METHODS.join(", ")
            ));
        }
    }
    // These texts must be returned unchanged, so they cannot be redacted.
    let exact = requests.keys().chain(&wire.request_state);
    if exact.clone().any(|text| secrets.cut(text) != *text) {
        return Err(
            "its `requestState`, or the name of an input request, contains a secret of the server; such a text cannot be handed on"
                .to_owned(),
        );
    }
    let requests = requests
        .into_iter()
        .map(|(name, request)| (name, secrets.cut_value(request)))
        .collect();
    Ok(Questions {
        requests,
        state: wire.request_state,
    })
}

/// What the server wants, for people.
impl fmt::Display for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            return f.write_str("to be called again later");
        }
        f.write_str("input before it goes on: ")?;
        for (place, (name, request)) in self.requests.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}`{name}`: {}", wording(request))?;
        }
        Ok(())
    }
}

/// What a legacy server asks for during a call, if only a person or a model can give it.
pub(super) fn asked(method: &str, params: Option<&RawValue>) -> Option<String> {
    match method {
        "sampling/createMessage" => Some("a model's answer (sampling/createMessage)".to_owned()),
        "elicitation/create" => {
            let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
            Some(worded(&params.unwrap_or(Value::Null)))
        }
        _ => None,
    }
}

fn wording(request: &Value) -> String {
    match request.get("method").and_then(Value::as_str) {
        Some("sampling/createMessage") => "a model's answer".to_owned(),
        Some("roots/list") => "a list of roots".to_owned(),
        _ => worded(request.get("params").unwrap_or(&Value::Null)),
    }
}

/// The words of a question to a person.
fn worded(params: &Value) -> String {
    let param = |name: &str| params.get(name).and_then(Value::as_str);
    match (param("message"), param("url")) {
        (Some(message), Some(url)) => format!("{message} {url}"),
        (Some(message), None) => message.to_owned(),
        (None, _) => "a question without words".to_owned(),
    }
}
