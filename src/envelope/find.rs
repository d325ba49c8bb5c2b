//! Where in a document the task is, and that there is only one (R-000-108).

use serde_json::{Map, Value};

use crate::task::{Failure, Fault};

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

    pub(super) fn value(self) -> &'a Value {
        self.0
    }

    pub(super) fn object(&self) -> &'a Map<String, Value> {
        self.1
    }
}

/// Finds the task; the first shape that matches is the dialect.
pub(super) fn find(document: &Value) -> Result<Found<'_>, Failure> {
    let whole = Found::new(document, "the input")?;
    no_several(whole.object())?;
    if let Some(content) = document
        .pointer("/output/content")
        .and_then(Value::as_object)
    {
        no_several(content)?;
    }
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
