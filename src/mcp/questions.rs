//! What a server wants to know before it goes on (MCP 2026-07-28, Multi Round-Trip Requests).
//!
//! Its answer to `tools/call` is then no result: it asks, hands over its own state, and forgets.
//! Whoever has the answers calls again, from this process or another.

use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::bounds;
use crate::task::Secrets;

/// The requests a server may make of a client in this way.
const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The questions, without secrets, and the state that must come back with the answers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Questions {
    /// Request objects (`method`, `params`) by the names the server gave them.
    pub(crate) requests: Map<String, Value>,
    /// Opaque: not a byte of it may change.
    pub(crate) state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    input_requests: Option<Map<String, Value>>,
    request_state: Option<String>,
}

/// Reads an `InputRequiredResult`; an error says how it breaks the protocol.
pub(super) fn read(result: &str, secrets: &Secrets) -> Result<Questions, String> {
    if result.len() > bounds::QUESTION_BYTES {
        let (bytes, most) = (result.len(), bounds::QUESTION_BYTES);
        return Err(bounds::too_long("its `input_required`", bytes, most));
    }
    let wire: Wire = serde_json::from_str(result)
        .map_err(|error| format!("its `result` is no `input_required`: {error}"))?;
    let requests = wire.input_requests.unwrap_or_default();
    if requests.is_empty() && wire.request_state.is_none() {
        return Err(
            "it wants input, but has neither `inputRequests` nor a `requestState`".to_owned(),
        );
    }
    for (name, request) in &requests {
        let method = request.get("method").and_then(Value::as_str);
        if !method.is_some_and(|method| METHODS.contains(&method)) {
            return Err(format!(
                "its input request `{name}` is none of {}",
                METHODS.join(", ")
            ));
        }
    }
    // What has to come back unchanged cannot be cut, and what would have to be cut cannot be shown.
    let exact = requests.keys().chain(&wire.request_state);
    if exact.clone().any(|text| secrets.cut(text) != *text) {
        return Err(
            "its `requestState`, or the name of an input request, holds a secret it was given; such a text cannot be handed on"
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

/// For people: what is asked, one after the other.
impl fmt::Display for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            return f.write_str("nothing but to be called again later");
        }
        for (place, (name, request)) in self.requests.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            write!(f, "{separator}`{name}`: {}", wording(request))?;
        }
        Ok(())
    }
}

fn wording(request: &Value) -> String {
    let param = |name: &str| {
        let value = request.get("params").and_then(|params| params.get(name));
        value.and_then(Value::as_str)
    };
    match request.get("method").and_then(Value::as_str) {
        Some("sampling/createMessage") => "a model's answer".to_owned(),
        Some("roots/list") => "a list of roots".to_owned(),
        _ => match (param("message"), param("url")) {
            (Some(message), Some(url)) => format!("{message} {url}"),
            (Some(message), None) => message.to_owned(),
            (None, _) => "a question without words".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(result: &str, secret: &str) -> Result<Questions, String> {
        read(result, &Secrets::new([secret.to_owned()]))
    }

    #[test]
    fn questions_keep_their_order_and_their_numbers_and_the_state_every_character() {
        let questions = read_with(
            r#"{"resultType": "input_required", "requestState": "a/\u0000 é\"}", "inputRequests": {
                "z": {"method": "elicitation/create", "params": {"message": "How many?", "requestedSchema": {"maximum": 1e400}}},
                "a": {"method": "sampling/createMessage", "params": {}},
                "m": {"method": "roots/list"}}}"#,
            "hunter2",
        )
        .unwrap();
        assert_eq!(questions.state.as_deref(), Some("a/\0 é\"}"));
        assert!(
            serde_json::to_string(&questions.requests)
                .unwrap()
                .contains(r#""maximum":1e"#)
        );
        assert_eq!(
            questions.to_string(),
            "`z`: How many?; `a`: a model's answer; `m`: a list of roots"
        );
    }

    #[test]
    fn a_server_that_only_wants_to_be_called_again_asks_nothing() {
        let questions = read_with(r#"{"requestState": ""}"#, "hunter2").unwrap();
        assert_eq!(questions.state.as_deref(), Some(""));
        assert!(questions.requests.is_empty());
    }

    #[test]
    fn what_is_no_question_breaks_the_protocol() {
        for (result, said) in [
            ("{}", "neither"),
            (r#"{"inputRequests": {}}"#, "neither"),
            (r#"{"inputRequests": []}"#, "no `input_required`"),
            (r#"{"requestState": 7}"#, "no `input_required`"),
            (r#"{"requestState": "\ud800"}"#, "no `input_required`"),
            (
                r#"{"inputRequests": {"a": {"method": "tools/call"}}}"#,
                "`a`",
            ),
            (r#"{"inputRequests": {"a": "elicitation/create"}}"#, "`a`"),
        ] {
            let error = read_with(result, "hunter2").unwrap_err();
            assert!(error.contains(said), "{result}: {error}");
        }
    }

    #[test]
    fn a_secret_is_cut_out_of_a_question_and_never_handed_over_in_a_state() {
        let asks = |message: &str, state: &str| {
            format!(
                r#"{{"requestState": "{state}", "inputRequests": {{"a": {{"method": "elicitation/create",
                     "params": {{"message": "{message}"}}}}}}}}"#
            )
        };
        let questions = read_with(&asks("is hunter2 right?", "s1"), "hunter2").unwrap();
        assert_eq!(questions.to_string(), "`a`: is *** right?");
        let error = read_with(&asks("right?", "for hunter2"), "hunter2").unwrap_err();
        assert!(
            error.contains("secret") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
