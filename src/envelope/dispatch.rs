//! The dispatch dialect, which is the task in a dispatch agent's message (000 §Step 1), and the `MCPRequest`
//! dialect, which is one action with its arguments.
//!
//! A dispatch must have `task_id` and `capability_ids`. All other fields may be missing, as they are in real
//! messages (R-000-95).

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::task::{
    CapabilityTask, Failure, Fault, Found, InputRef, MAX_STEPS, NamedAs, RefId, RefStatus, Risk,
    quoted,
};

use super::{
    answers,
    fields::{OF_REQUEST_AND_DISPATCH, found, is_context, shape},
    plans,
};

/// The longest capability id, in bytes. Ids are compared with others and appear in messages.
const LONGEST_ID: usize = 512;

/// Reads the task. The first error is returned.
pub(super) fn read(task: &Found<'_>, notes: &mut Vec<String>) -> Result<CapabilityTask, Failure> {
    let task_id = task.required("task_id", Found::name)?.to_owned();
    let capability_ids = capability_ids(task)?;
    let action = task.optional("action", Found::owned)?.unwrap_or_default();
    let inputs = task.optional("input_refs_resolved", |list| list.each(input))?;
    let inputs = inputs.unwrap_or_default();
    once(
        "input_refs_resolved",
        inputs.iter().map(|input| &input.ref_id),
    )?;
    let expected = task.optional("output_refs_expected", |list| list.each(ref_id))?;
    let expected = expected.unwrap_or_default();
    once("output_refs_expected", expected.iter())?;
    let parameters = parameters(task, &capability_ids)?;
    let carried = plans::carried(task, parameters.first().unwrap_or(&Map::new()))?;
    let attempt = task.optional("attempt", number)?.unwrap_or_else(|| {
        notes.push("The task states no attempt; it counts as the first attempt.".to_owned());
        1
    });
    let input = answers::read(task)?;
    let salt = task.optional("salt", Found::owned)?;
    let clarifies = task.optional("clarifies", Found::owned)?;
    let under = task.optional("under", Found::owned)?;
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

pub(super) fn number(attempt: &Found<'_>) -> Result<u32, Failure> {
    let number = u32::try_from(attempt.whole()?);
    number.map_err(|_| attempt.must_be("a whole number below 2^32"))
}

/// A task without capability ids is refused (R-000-109).
fn capability_ids(task: &Found<'_>) -> Result<Vec<String>, Failure> {
    let ids = task.optional("capability_ids", Found::list)?;
    let ids = ids.unwrap_or_default();
    if ids.is_empty() {
        let message = "the task has no `capability_ids`; name at least one capability";
        return Err(Failure::new(Fault::NoCapability, message));
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
    let text = |id: &Found<'_>| match id.name()? {
        text if text.len() > LONGEST_ID => Err(id.wrong(format!(
            "has {} bytes, but can have at most {LONGEST_ID}",
            text.len()
        ))),
        text => Ok(text.to_owned()),
    };
    ids.iter().map(text).collect()
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

/// R-000-54, R-000-55, R-000-113, C-13.
fn input(input: &Found<'_>) -> Result<InputRef, Failure> {
    let ref_id = input.required("ref_id", ref_id)?;
    let unresolved = |why: String| {
        let message = format!("unresolved input reference: {why}");
        Failure::new(Fault::InputUnresolved, message)
    };
    let storage_uri = input.optional("storage_uri", Found::owned)?;
    let storage_uri = storage_uri.filter(|uri| !uri.is_empty()).ok_or_else(|| {
        unresolved(format!(
            "`{ref_id}` has no storage_uri; resolve it before dispatching the task"
        ))
    })?;
    let status = input.optional("status", Found::text)?;
    let status = status.ok_or_else(|| unresolved(format!("`{ref_id}` has no status")))?;
    let status = RefStatus::parse(status, &ref_id).map_err(unresolved)?;
    Ok(InputRef {
        ref_id,
        storage_uri,
        status,
    })
}

fn ref_id(found: &Found<'_>) -> Result<RefId, Failure> {
    let text = found.text()?;
    RefId::parse(text).map_err(|why| found.wrong(format!("is {}: {why}", quoted(text))))
}

/// The parameters of each capability. A task of one capability has one object; otherwise each id has its own.
fn parameters(task: &Found<'_>, ids: &[String]) -> Result<Vec<Map<String, Value>>, Failure> {
    let said = task.optional("parameters", Found::object)?;
    if ids.len() == 1 {
        return Ok(vec![said.cloned().unwrap_or_default()]);
    }
    let mut names = said.into_iter().flat_map(Map::keys);
    if let Some(stranger) = names.find(|key| !ids.contains(key)) {
        return Err(shape(format!(
            "`parameters` of a task with several capabilities must contain one object per capability id; `{stranger}` is not one of these ids"
        )));
    }
    let own = |id: &String| {
        let own = task.get("parameters").and_then(|said| said.get(id));
        own.map_or(Ok(Map::new()), |own| own.object().cloned())
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
    request: &Found<'_>,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let object = request.object()?;
    let id = action_id(object).ok_or_else(|| shape("`actionId` must be a non-empty text"))?;
    let args = request.optional("args", Found::object)?;
    request.optional("taskId", Found::text)?;
    let mut task = Map::new();
    let task_id = request_task_id(object).unwrap_or(id);
    task.insert("task_id".to_owned(), task_id.into());
    task.insert("capability_ids".to_owned(), vec![id].into());
    let args = args.cloned().unwrap_or_default();
    task.insert("parameters".to_owned(), args.into());
    for key in OF_REQUEST_AND_DISPATCH.split(' ') {
        if let Some(value) = object.get(key) {
            task.insert(key.to_owned(), value.clone());
        }
    }
    let context = object.get("context");
    let context = context.filter(|said| !said.is_null() && !is_context("context", said));
    Ok(CapabilityTask {
        context: context.cloned(),
        ..read(&found("", &Value::Object(task)), notes)?
    })
}

/// The task of one capability that has the other fields of the proposal.
pub(super) fn of_one(
    proposal: &Found<'_>,
    task_id: &str,
    capability: &str,
    parameters: Value,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let mut task = proposal.object()?.clone();
    if matches!(task.get("task_id"), None | Some(Value::Null)) {
        task.insert("task_id".to_owned(), task_id.into());
    }
    task.insert("capability_ids".to_owned(), vec![capability].into());
    task.insert("parameters".to_owned(), parameters);
    read(&found("", &Value::Object(task)), notes)
}
