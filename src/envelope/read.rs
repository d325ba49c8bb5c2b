//! Which dialect is this, and which task does it carry?
//!
//! Whatever arrives, a [`Received`] comes out: an answer needs someone to answer, even where there
//! is no task.

use serde_json::Value;

use crate::task::{Failure, Fault, Identity, Resources, Task};

use super::{
    answers, dispatch,
    find::{Found, find},
    message, strict,
};

/// What arrived: who asks, what to echo, and the task, if there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    pub identity: Identity,
    /// The task as it came, for `input.content` (R-000-18); null where nothing could be read.
    pub echo: Value,
    pub resources: Resources,
    /// As received, or `unknown`.
    pub task_id: String,
    /// As received, or 1.
    pub attempt: u32,
    /// What was assumed or ignored.
    pub notes: Vec<String>,
    pub task: Result<Task, Failure>,
}

/// Reads the bytes of stdin. `fresh` makes a session id where the caller names none.
pub fn read(bytes: &[u8], fresh: impl FnOnce() -> String) -> Received {
    let document = match strict::parse(bytes) {
        Ok(document) => document,
        Err(error) => {
            let failure = Failure::new(Fault::InvalidJson, error.to_string());
            return Received::nobody(fresh(), failure);
        }
    };
    let mut notes = Vec::new();
    let around = message::read(&document, &mut notes, fresh);
    let found = find(&document);
    let task = found.as_ref().map_err(Clone::clone).and_then(|found| {
        answers::in_their_place(&document, found)?;
        let task = dispatch::read(found, &mut notes)?;
        around.problem.map_or(Ok(task), Err)
    });
    let shown = found.map_or(&document, Found::value);
    Received {
        identity: around.identity,
        resources: around.resources,
        task_id: shown
            .get("task_id")
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .to_owned(),
        attempt: dispatch::attempt(shown).unwrap_or(1),
        echo: shown.clone(),
        notes,
        task,
    }
}

impl Received {
    /// Nothing readable arrived, or nothing was read.
    pub fn nobody(session_id: String, failure: Failure) -> Self {
        Self {
            identity: Identity {
                session_id,
                request_id: None,
                sequence_number: 1,
                parent_message_id: None,
            },
            echo: Value::Null,
            resources: Resources::default(),
            task_id: "unknown".to_owned(),
            attempt: 1,
            notes: Vec::new(),
            task: Err(failure),
        }
    }
}
