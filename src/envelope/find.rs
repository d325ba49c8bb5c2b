//! Finds the task in a document, and checks that there is only one (R-000-108).

use serde_json::{Map, Value};

use crate::task::{Failure, Found, ProposalKind};

use super::fields::{found, multiple, shape};

/// The task in a document.
pub(super) struct Sent<'a> {
    pub(super) shape: Shape,
    /// Its path: the names of the enclosing objects, joined by `/`; empty for the whole document.
    pub(super) path: &'static str,
    pub(super) task: Found<'a>,
    pub(super) object: &'a Map<String, Value>,
}

/// The dialect of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Capability ids (000 §Step 1).
    Dispatch,
    /// A file plan, bare or under `task_plan` (001 §3.3).
    Plan,
    /// The payload of a message of the protocol layer (001 §3.2).
    Protocol,
    /// An action with its arguments (004 §Contract).
    Request,
    /// What an agent proposes (003, "The four kinds").
    Proposal,
}

/// The object of a task that is in that place.
fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Map<String, Value>, Failure> {
    match value {
        Value::Object(object) => Ok(object),
        Value::Array(items) => Err(multiple(&format!("an array of {} in {place}", items.len()))),
        _ => Err(shape(format!(
            "{place} must be an object that holds one task"
        ))),
    }
}

/// The value at a path of names. This is three times as fast as a JSON Pointer.
pub(super) fn at<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('/')
        .try_fold(document, |value, name| value.get(name))
}

/// The value at such a path that says something.
pub(super) fn said<'v>(document: &'v Value, path: &str) -> Option<Found<'v>> {
    let value = at(document, path).filter(|value| !value.is_null())?;
    Some(found(&path.replace('/', "."), value))
}

pub(super) fn take(mut document: Value, path: &str) -> Value {
    if path.is_empty() {
        return document;
    }
    let found = path
        .split('/')
        .try_fold(&mut document, |value, name| value.get_mut(name));
    found.map(Value::take).unwrap_or_default()
}

/// Finds the task: it must be in exactly one of the places that the dialects define.
pub(super) fn find(document: &Value) -> Result<Sent<'_>, Failure> {
    let whole = object(document, "the input")?;
    // A bare plan may have a `task_decomposition`; any other task with one is part of a workflow.
    let lists: &[&str] = if whole.contains_key("action_plan") {
        &["tasks", "execution_groups"]
    } else {
        LISTS
    };
    no_several(whole, lists)?;
    if let Some(content) = at(document, "output/content").and_then(Value::as_object) {
        no_several(content, LISTS)?;
    }
    let has = |key: &str| whole.contains_key(key);
    let of_protocol = at(document, "envelope/message_type").is_some()
        || has("payload") && document.get("envelope").is_some_and(Value::is_object);
    let inner = [CONTENT, "dispatch"].map(|path| (path, at(document, path)));
    let alone = !of_protocol && inner.iter().all(|(_, task)| task.is_none());
    let proposal = is_proposal(whole) || alone && is_of_unknown_kind(whole);
    let of_capabilities =
        !proposal && (has("capability_ids") || (has("task_id") && !is_plan(whole)));
    let bare_plan = !proposal && is_plan(whole) && !has("capability_ids");
    let request = !proposal && is_request(whole) && !of_protocol;
    let payload = || document.get("payload").unwrap_or(&Value::Null);
    let [message, wrapped] = inner.map(|(path, task)| (shape_inside(task), path, task));
    let places = [
        message,
        wrapped,
        (Shape::Proposal, "", proposal.then_some(document)),
        (Shape::Dispatch, "", of_capabilities.then_some(document)),
        (Shape::Plan, "", bare_plan.then_some(document)),
        (Shape::Protocol, "payload", of_protocol.then(payload)),
        (Shape::Request, "", request.then_some(document)),
    ];
    let mut tasks = places
        .into_iter()
        .filter_map(|(shape, path, task)| Some((shape, path, task?)));
    let Some((shape, path, task)) = tasks.next() else {
        return Err(shape(
            "the input is not a task that oneact knows: send `output.content.dispatch`, `dispatch`, an object with `task_id` \
             and `capability_ids`, a proposal with a `kind`, or a file plan (`oneact schema task` prints the schema)",
        ));
    };
    let place = named(shape, path);
    if let Some((other, path, _)) = tasks.next() {
        let other = named(other, path);
        return Err(multiple(&format!("a task in {place} and one in {other}")));
    }
    let object = object(task, &place)?;
    if matches!(shape, Shape::Dispatch | Shape::Proposal) && !std::ptr::eq(task, document) {
        no_several(object, LISTS)?;
        nothing_around(object, &place)?;
    }
    let place = if shape == Shape::Protocol { path } else { "" };
    Ok(Sent {
        shape,
        path,
        task: found(place, task),
        object,
    })
}

/// The path of the task in a dispatch agent's message.
const CONTENT: &str = "output/content/dispatch";

fn named(shape: Shape, path: &str) -> String {
    match (shape, path) {
        (Shape::Plan, "") => "a plan in the input itself".to_owned(),
        (Shape::Request, "") => "an action in the input itself".to_owned(),
        (Shape::Proposal, "") => "a proposal in the input itself".to_owned(),
        (_, "") => "the input itself".to_owned(),
        (_, path) => format!("`{}`", path.replace('/', ".")),
    }
}

/// The keys that contain several tasks.
const LISTS: &[&str] = &["tasks", "task_decomposition", "execution_groups"];

/// Refuses fields of the message inside the task: they are read only around it, so the session would be lost.
fn nothing_around(task: &Map<String, Value>, place: &str) -> Result<(), Failure> {
    let around = ["metadata", "resources", "message_id"];
    match around.into_iter().find(|key| task.contains_key(*key)) {
        None => Ok(()),
        Some(key) => Err(shape(format!(
            "`{key}` is inside {place}, where it has no meaning; move it to the top level of the message"
        ))),
    }
}

/// Refuses several tasks, a list of them, or a workflow of them (R-000-108, R-000-112).
fn no_several(object: &Map<String, Value>, lists: &[&str]) -> Result<(), Failure> {
    let is_list = |value: &Value| value.is_array() || value.is_object();
    if let Some(key) = lists
        .iter()
        .find(|key| object.get(**key).is_some_and(is_list))
    {
        return Err(multiple(&format!("a list under `{key}`")));
    }
    let tasks = object
        .values()
        .filter(|value| value.get("task_id").is_some());
    match tasks.count() {
        0 | 1 => Ok(()),
        several => Err(multiple(&format!("{several} objects with a `task_id`"))),
    }
}

pub(super) fn is_plan(object: &Map<String, Value>) -> bool {
    object.contains_key("task_plan") || object.contains_key("action_plan")
}

/// Whether the `kind` is one of the four words. The word may be in capitals here, and is refused later. Otherwise a
/// `Suggestion` that has `capability_ids` would be performed.
pub(super) fn is_proposal(object: &Map<String, Value>) -> bool {
    let said = object.get("kind").and_then(Value::as_str);
    said.is_some_and(|said| {
        let mut kinds = ProposalKind::ALL.into_iter();
        kinds.any(|kind| said.trim().eq_ignore_ascii_case(kind.name()))
    })
}

/// Whether the object is no other task and has a `kind`.
fn is_of_unknown_kind(object: &Map<String, Value>) -> bool {
    let said = object.get("kind").is_some_and(|kind| !kind.is_null());
    said && !object.contains_key("capability_ids") && !is_plan(object) && !is_request(object)
}

/// The dialect of a task inside a message.
fn shape_inside(task: Option<&Value>) -> Shape {
    match task.and_then(Value::as_object) {
        Some(task) if is_proposal(task) || is_of_unknown_kind(task) => Shape::Proposal,
        Some(_) | None => Shape::Dispatch,
    }
}

pub(super) fn is_request(object: &Map<String, Value>) -> bool {
    let named = object.contains_key("actionId") || object.contains_key("action");
    let other = [
        "task_id",
        "capability_ids",
        "action_plan",
        "task_plan",
        "envelope",
    ];
    named
        && (object.contains_key("args") || object.contains_key("actionId"))
        && !other.iter().any(|key| object.contains_key(*key))
}
