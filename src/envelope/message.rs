//! What stands around the task in a message: metadata and inherited resources.

use serde_json::Value;

use crate::task::{Failure, Fault, Identity, Resources};

use super::find::at;

/// The message without its task.
pub(super) struct Around {
    pub(super) identity: Identity,
    pub(super) resources: Resources,
    /// What makes the message unusable, if anything does.
    pub(super) problem: Option<Failure>,
}

/// Reads metadata and resources. Absent parts get defaults and a note.
pub(super) fn read(
    document: &Value,
    notes: &mut Vec<String>,
    fresh: impl FnOnce() -> String,
) -> Around {
    let mut problem = None;
    let mut text = |path: &str| match at(document, path) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => {
            let field = path.replace('/', ".");
            problem = Some(Failure::new(
                Fault::InvalidShape,
                format!("`{field}` must be a string"),
            ));
            None
        }
    };
    let session = text("metadata/session_id").or(text("sessionId"));
    // 001's names for the same come second.
    let request_id = text("metadata/request_id")
        .or(text("metadata/correlation_id"))
        .or(text("requestId"));
    let idempotency_key = text("metadata/idempotency_key")
        .or(text("output/content/dispatch/idempotency_key"))
        .or(text("dispatch/idempotency_key"))
        .or(text("idempotency_key"));
    let parent_message_id = text("message_id").or(text("envelope/envelope_id"));
    let sequence = match at(document, "metadata/sequence_number") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let number = value.as_u64().filter(|number| *number < u64::MAX);
            if number.is_none() {
                let message = "`metadata.sequence_number` must be a whole number of 0 or more";
                problem = Some(Failure::new(Fault::InvalidShape, message));
            }
            number
        }
    };
    let unusable = session.as_deref().and_then(unusable);
    if let Some(why) = unusable {
        let field = match at(document, "metadata/session_id") {
            Some(Value::String(_)) => "metadata.session_id",
            _ => "sessionId",
        };
        let message = format!("`{field}` {why}");
        problem = Some(Failure::new(Fault::InvalidShape, message));
    } else if session.is_none() {
        notes.push("The message names no session; one was made for this answer.".to_owned());
    }
    let session_id = session.filter(|_| unusable.is_none()).unwrap_or_else(fresh);
    let identity = Identity {
        session_id,
        request_id,
        sequence_number: sequence.map_or(1, |n| n + 1),
        parent_message_id,
        idempotency_key,
    };
    // Never dropped (R-000-33): a list that cannot be echoed makes the message unusable.
    let mut list = |key: &str| match at(document, "resources").and_then(|all| all.get(key)) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(list)) => list.clone(),
        Some(_) => {
            let message = format!("`resources.{key}` must be an array");
            problem = Some(Failure::new(Fault::InvalidShape, message));
            Vec::new()
        }
    };
    let resources = Resources {
        source_refs: list("source_refs"),
        storage_refs: list("storage_refs"),
        derived_refs: list("derived_refs"),
    };
    Around {
        identity,
        resources,
        problem,
    }
}

/// Why a session id cannot be used: it names a directory in the store.
fn unusable(session: &str) -> Option<&'static str> {
    if session.is_empty() || session.len() > 128 {
        return Some("must have 1 to 128 bytes");
    }
    let seen = |c: char| {
        !c.is_whitespace()
            && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    if !session.chars().any(seen) {
        return Some("must hold something that can be seen");
    }
    if session.starts_with('.') {
        return Some("must not start with `.`");
    }
    if session
        .chars()
        .any(|c| c == '/' || c == '\\' || c.is_control())
    {
        return Some("must not hold slashes or control characters: it names a directory of assets");
    }
    None
}
