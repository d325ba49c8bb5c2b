//! The `MCPRequest` dialect: one action with its arguments (004 §Contract, R-004-06).
//!
//! ```json
//! {"actionId": "CAP-PRE-002", "args": {"sample_rate": 8000}, "sessionId": "s-1", "context": {}}
//! ```

use serde_json::{Map, Value};

use crate::task::{CapabilityTask, Failure};

use super::{
    dispatch,
    fields::{OF_REQUEST_AND_DISPATCH, optional, shape},
};

/// The action, by its id.
pub(super) fn action_id(object: &Map<String, Value>) -> Option<&str> {
    let id = object.get("actionId").or_else(|| object.get("action"))?;
    id.as_str().filter(|id| !id.is_empty())
}

/// The name of this delivery, if it has one.
pub(super) fn task_id(object: &Map<String, Value>) -> Option<&str> {
    let id = object.get("taskId").and_then(Value::as_str);
    id.filter(|id| !id.is_empty())
}

/// The request as a task of one capability.
pub(super) fn read(
    object: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let id =
        action_id(object).ok_or_else(|| shape("`actionId` must be a string that is not empty"))?;
    let args = match object.get("args") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(args)) => args.clone(),
        Some(_) => return Err(shape("`args` must be an object")),
    };
    let text = |value: &Value| value.as_str().map(|_| ());
    optional(object, "taskId", "a string", text)?;
    let task_id = task_id(object).unwrap_or(id);
    let mut task = Map::new();
    task.insert("task_id".to_owned(), task_id.into());
    task.insert("capability_ids".to_owned(), Value::Array(vec![id.into()]));
    task.insert("parameters".to_owned(), Value::Object(args));
    for key in OF_REQUEST_AND_DISPATCH {
        if let Some(value) = object.get(key) {
            task.insert(key.to_owned(), value.clone());
        }
    }
    if object
        .get("context")
        .is_some_and(|context| !context.is_null())
    {
        notes.push("The `context` of the request was not used: no entry asks for it.".to_owned());
    }
    dispatch::read(&task, notes)
}
