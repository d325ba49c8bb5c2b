//! Which dialect is this, and which task does it carry?
//!
//! Whatever arrives, a [`Received`] comes out: an answer needs someone to answer, even where there
//! is no task.

use serde_json::{Map, Value};

use crate::task::{Failure, Fault, Identity, Resources, Task};

use super::{dispatch, message, strict};

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

/// The one object that is the task, wherever the document holds it.
pub(super) struct Found<'a>(&'a Value, &'a Map<String, Value>);

impl<'a> Found<'a> {
    fn new(value: &'a Value, place: &str) -> Result<Self, Failure> {
        match value {
            Value::Object(object) => Ok(Self(value, object)),
            Value::Array(items) => {
                Err(multiple(&format!("an array of {} in {place}", items.len())))
            }
            _ => Err(Failure::new(
                Fault::InvalidShape,
                format!("{place} must be an object that holds one task"),
            )),
        }
    }

    fn value(self) -> &'a Value {
        self.0
    }

    pub(super) fn object(&self) -> &'a Map<String, Value> {
        self.1
    }
}

/// Finds the task; the first shape that matches is the dialect.
fn find(document: &Value) -> Result<Found<'_>, Failure> {
    let whole = Found::new(document, "the input")?;
    no_several(whole.object())?;
    let wrapped = document
        .pointer("/output/content/dispatch")
        .map(|task| (task, "`output.content.dispatch`"));
    let wrapped = wrapped.or_else(|| document.get("dispatch").map(|task| (task, "`dispatch`")));
    if let Some((task, place)) = wrapped {
        let found = Found::new(task, place)?;
        no_several(found.object())?;
        return Ok(found);
    }
    if document.get("task_id").is_some() || document.get("capability_ids").is_some() {
        return Ok(whole);
    }
    Err(Failure::new(
        Fault::InvalidShape,
        "the input is not a task oneact knows: send `output.content.dispatch`, `dispatch`, or an object with `task_id` and \
         `capability_ids` (`oneact schema task` prints the schema)",
    ))
}

/// Refuses several tasks, a list of them, or a workflow of them (R-000-108, R-000-112).
fn no_several(object: &Map<String, Value>) -> Result<(), Failure> {
    for key in ["tasks", "task_decomposition", "execution_groups"] {
        if object
            .get(key)
            .is_some_and(|value| value.is_array() || value.is_object())
        {
            return Err(multiple(&format!("a list under `{key}`")));
        }
    }
    match object
        .values()
        .filter(|value| value.get("task_id").is_some())
        .count()
    {
        0 | 1 => Ok(()),
        several => Err(multiple(&format!("{several} objects with a `task_id`"))),
    }
}

fn multiple(what: &str) -> Failure {
    let message = format!(
        "multiple tasks: found {what}; oneact performs exactly one task, so send them one at a time"
    );
    Failure::new(Fault::MultipleTasks, message)
}
