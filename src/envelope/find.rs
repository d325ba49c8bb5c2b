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

/// Finds the task: in one of three places, which are the dialects, and in no second one.
pub(super) fn find(document: &Value) -> Result<Found<'_>, Failure> {
    let whole = Found::new(document, "the input")?;
    no_several(whole.object())?;
    if let Some(content) = document
        .pointer("/output/content")
        .and_then(Value::as_object)
    {
        no_several(content)?;
    }
    let bare = ["task_id", "capability_ids"]
        .iter()
        .any(|key| whole.object().contains_key(*key));
    let places = [
        (
            document.pointer("/output/content/dispatch"),
            "`output.content.dispatch`",
        ),
        (document.get("dispatch"), "`dispatch`"),
        (bare.then_some(document), "the input itself"),
    ];
    let mut tasks = places
        .into_iter()
        .filter_map(|(task, place)| task.map(|task| (task, place)));
    let Some((task, place)) = tasks.next() else {
        return Err(Failure::new(
            Fault::InvalidShape,
            "the input is not a task oneact knows: send `output.content.dispatch`, `dispatch`, or an object with `task_id` and \
             `capability_ids` (`oneact schema task` prints the schema)",
        ));
    };
    if let Some((_, other)) = tasks.next() {
        return Err(multiple(&format!("a task in {place} and one in {other}")));
    }
    let found = Found::new(task, place)?;
    if !bare {
        no_several(found.object())?;
        nothing_around(found.object(), place)?;
    }
    Ok(found)
}

/// What belongs around a task is read there only; inside it would be lost, and with it the session.
fn nothing_around(task: &Map<String, Value>, place: &str) -> Result<(), Failure> {
    let around = ["metadata", "resources", "message_id"];
    match around.into_iter().find(|key| task.contains_key(*key)) {
        None => Ok(()),
        Some(key) => Err(Failure::new(
            Fault::InvalidShape,
            format!(
                "`{key}` stands inside {place}, where it says nothing; put it at the top of the message"
            ),
        )),
    }
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
