//! The dispatch dialect, which is the task in a dispatch agent's message (000 §Step 1), and the `MCPRequest`
//! dialect, which is one action with its arguments.
//!
//! A dispatch must have `task_id` and `capability_ids`. All other fields may be missing, as they are in real
//! messages (R-000-95).

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::task::{
    CapabilityTask, Failure, Fault, InputRef, MAX_STEPS, NamedAs, RefId, RefStatus, Risk,
};

use super::{
    answers,
    fields::{OF_REQUEST_AND_DISPATCH, is_context, optional, optional_text, required_text, shape},
    plans,
};

/// The longest capability id, in bytes. Ids are compared with others and appear in messages.
const LONGEST_ID: usize = 512;

/// Reads the task. The first error is returned.
pub(super) fn read(
    object: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let task_id = required_text(object, "task_id")?;
    let capability_ids = capability_ids(object)?;
    let action = optional_text(object, "action")?.unwrap_or_default();
    let inputs = inputs(object)?;
    let expected = expected(object)?;
    let parameters = parameters(object, &capability_ids)?;
    let carried = plans::carried(object, parameters.first().unwrap_or(&Map::new()))?;
    let attempt = match object.get("attempt") {
        None | Some(Value::Null) => {
            notes.push("The task states no attempt; it counts as the first attempt.".to_owned());
            1
        }
        Some(value) => {
            number(value).ok_or_else(|| shape("`attempt` must be a whole number of 1 or more"))?
        }
    };
    let input = answers::read(object)?;
    let salt = optional_text(object, "salt")?;
    let clarifies = optional_text(object, "clarifies")?;
    let under = optional_text(object, "under")?;
    if under.is_some() && capability_ids.len() > 1 {
        return Err(shape(
            "`under` names the grant of one call, so the task must have exactly one capability",
        ));
    }
    if under.as_ref().is_some_and(|id| id.len() > LONGEST_ID) {
        return Err(shape(format!(
            "`under` can have at most {LONGEST_ID} bytes"
        )));
    }
    Ok(CapabilityTask {
        task_id,
        action,
        capability_ids,
        named_as: NamedAs::Capability,
        inputs,
        expected,
        parameters,
        attempt,
        input,
        carried,
        salt,
        clarifies,
        under,
        context: None,
        stated: Risk::Low,
    })
}

pub(super) fn attempt(task: &Value) -> Option<u32> {
    task.get("attempt").and_then(number)
}

fn number(value: &Value) -> Option<u32> {
    value
        .as_u64()
        .and_then(|attempt| u32::try_from(attempt).ok())
        .filter(|attempt| *attempt >= 1)
}

/// A task without capability ids is refused (R-000-109).
fn capability_ids(object: &Map<String, Value>) -> Result<Vec<String>, Failure> {
    let none = || {
        Failure::new(
            Fault::NoCapability,
            "the task has no `capability_ids`; name at least one capability",
        )
    };
    let ids = match object.get("capability_ids") {
        None | Some(Value::Null) => return Err(none()),
        Some(Value::Array(ids)) => ids,
        Some(_) => return Err(shape("`capability_ids` must be an array of strings")),
    };
    if ids.is_empty() {
        return Err(none());
    }
    if ids.len() > MAX_STEPS {
        return Err(Failure::new(
            Fault::LimitExceeded,
            format!(
                "`capability_ids` contains {} capabilities, but a task can have at most {MAX_STEPS}; send them as several tasks",
                ids.len()
            ),
        ));
    }
    let text = |id: &Value| match id {
        Value::String(id) if id.len() > LONGEST_ID => Err(shape(format!(
            "an id in `capability_ids` has {} bytes, but can have at most {LONGEST_ID}",
            id.len()
        ))),
        Value::String(id) if !id.is_empty() => Ok(id.clone()),
        _ => Err(shape(
            "`capability_ids` must be an array of non-empty strings",
        )),
    };
    ids.iter().map(text).collect()
}

/// R-000-54, R-000-55, R-000-113, C-13.
fn inputs(object: &Map<String, Value>) -> Result<Vec<InputRef>, Failure> {
    let refs = optional(object, "input_refs_resolved", "an array", Value::as_array)?;
    let refs = refs.map(Vec::as_slice).unwrap_or_default();
    let inputs = refs
        .iter()
        .enumerate()
        .map(|(place, each)| input(place, each));
    let inputs: Vec<InputRef> = inputs.collect::<Result<_, _>>()?;
    once(
        "input_refs_resolved",
        inputs.iter().map(|input| &input.ref_id),
    )?;
    Ok(inputs)
}

fn once<'r>(key: &str, refs: impl Iterator<Item = &'r RefId>) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for id in refs {
        if !seen.insert(id) {
            return Err(shape(format!("`{key}` names `{id}` twice")));
        }
    }
    Ok(())
}

fn input(place: usize, value: &Value) -> Result<InputRef, Failure> {
    let wrong = |key: &str, why: &str| shape(format!("`input_refs_resolved[{place}].{key}` {why}"));
    let text = |key: &str| match value.get(key) {
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Null) | None => Ok(None),
        Some(_) => Err(wrong(key, "must be a string")),
    };
    let ref_id = text("ref_id")?.ok_or_else(|| wrong("ref_id", "is missing"))?;
    let ref_id =
        RefId::parse(&ref_id).map_err(|why| wrong("ref_id", &format!("{ref_id:?}: {why}")))?;
    let unresolved = |why: String| {
        Failure::new(
            Fault::InputUnresolved,
            format!("unresolved input reference: {why}"),
        )
    };
    let storage_uri = text("storage_uri")?
        .filter(|uri| !uri.is_empty())
        .ok_or_else(|| {
            unresolved(format!(
                "`{ref_id}` has no storage_uri; resolve it before dispatching the task"
            ))
        })?;
    let status = text("status")?.ok_or_else(|| unresolved(format!("`{ref_id}` has no status")))?;
    let status = RefStatus::parse(&status, &ref_id).map_err(unresolved)?;
    Ok(InputRef {
        ref_id,
        storage_uri,
        status,
    })
}

fn expected(object: &Map<String, Value>) -> Result<Vec<RefId>, Failure> {
    let refs = optional(object, "output_refs_expected", "an array", Value::as_array)?;
    let refs = refs.map(Vec::as_slice).unwrap_or_default();
    let id = |(place, each): (usize, &Value)| {
        let text = each
            .as_str()
            .ok_or_else(|| shape(format!("`output_refs_expected[{place}]` must be a string")))?;
        RefId::parse(text)
            .map_err(|why| shape(format!("`output_refs_expected[{place}]` {text:?}: {why}")))
    };
    let expected: Vec<RefId> = refs.iter().enumerate().map(id).collect::<Result<_, _>>()?;
    once("output_refs_expected", expected.iter())?;
    Ok(expected)
}

/// The parameters of each capability. A task of one capability has one object; otherwise each id has its own.
fn parameters(
    object: &Map<String, Value>,
    ids: &[String],
) -> Result<Vec<Map<String, Value>>, Failure> {
    let said = optional(object, "parameters", "an object", Value::as_object)?;
    if ids.len() == 1 {
        return Ok(vec![said.cloned().unwrap_or_default()]);
    }
    let none = Map::new();
    let said = said.unwrap_or(&none);
    if let Some(stranger) = said.keys().find(|key| !ids.contains(key)) {
        return Err(shape(format!(
            "`parameters` of a task with several capabilities must contain one object per capability id; `{stranger}` is not one of these ids"
        )));
    }
    let own = |id: &String| match said.get(id) {
        None => Ok(Map::new()),
        Some(Value::Object(own)) => Ok(own.clone()),
        Some(_) => Err(shape(format!("`parameters.{id}` must be an object"))),
    };
    ids.iter().map(own).collect()
}

pub(super) fn action_id(object: &Map<String, Value>) -> Option<&str> {
    let id = object.get("actionId").or_else(|| object.get("action"))?;
    id.as_str().filter(|id| !id.is_empty())
}

pub(super) fn request_task_id(object: &Map<String, Value>) -> Option<&str> {
    let id = object.get("taskId").and_then(Value::as_str);
    id.filter(|id| !id.is_empty())
}

/// Reads an `MCPRequest` (004 §Contract, R-004-06) as a task of one capability:
///
/// ```json
/// {"actionId": "CAP-PRE-002", "args": {"sample_rate": 8000}, "sessionId": "s-1", "context": {}}
/// ```
pub(super) fn read_request(
    object: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let id = action_id(object).ok_or_else(|| shape("`actionId` must be a non-empty string"))?;
    let args = optional(object, "args", "an object", Value::as_object)?;
    let args = args.cloned().unwrap_or_default();
    optional_text(object, "taskId")?;
    let task_id = request_task_id(object).unwrap_or(id);
    let mut task = Map::new();
    task.insert("task_id".to_owned(), task_id.into());
    task.insert("capability_ids".to_owned(), Value::Array(vec![id.into()]));
    task.insert("parameters".to_owned(), Value::Object(args));
    for key in OF_REQUEST_AND_DISPATCH {
        if let Some(value) = object.get(*key) {
            task.insert((*key).to_owned(), value.clone());
        }
    }
    let context = object.get("context");
    let context = context.filter(|said| !said.is_null() && !is_context("context", said));
    Ok(CapabilityTask {
        context: context.cloned(),
        ..read(&task, notes)?
    })
}
