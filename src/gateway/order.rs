//! Makes the task of a call: the dispatch message that the supervisor reads.

use std::fmt::Display;

use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    catalog::{APPLY_FILE_PLAN, Binds, Executor, INPUT_REF, Listed, RUN_APPROVED},
    task::{Failure, Fault, OF_CALLS, RefId, hexadecimal},
};

use super::{
    caller::{Refs, Session},
    offer::{APPROVAL_ID, proposes},
};

/// What the supervisor gets.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// The task, as JSON.
    pub(super) task: Vec<u8>,
    /// The flags of this call alone.
    pub(super) flags: Vec<String>,
    /// The name of the delivery.
    pub(super) delivery: String,
}

/// The key of the result's `_meta` that names the produced refs, and of a call's `_meta` that names known ones.
pub(super) const REFS: &str = "oneact/refs";

const KEY: &str = "oneact/idempotency_key";

/// The number of digits of a task id. It appears in the names of assets.
const DIGITS: usize = 16;

/// The task of one call of the tool of `entry`. A call that goes on with an earlier one has its delivery.
pub(super) fn order(
    entry: &Listed,
    mut arguments: Map<String, Value>,
    (id, meta): (&RequestId, &Map<String, Value>),
    known: &Refs,
    (session, earlier): (&Session, Option<String>),
) -> Result<Order, Failure> {
    let (trace, meta) = (meta, Meta::read(meta)?);
    let request = format!("{OF_CALLS}{}:{}", session.process, json!(id));
    let key = match (earlier, meta.key) {
        (Some(earlier), Some(key)) if key != earlier => {
            return Err(shape(format!(
                "`requestState` belongs to the call with the idempotency key {earlier:?}, but `_meta[\"{KEY}\"]` is \
                 {key:?}"
            )));
        }
        (earlier, key) => earlier.or(key).unwrap_or_else(|| request.clone()),
    };
    let digits = hexadecimal(&Sha256::digest(&key));
    let task_id = format!("call_{}", digits.get(..DIGITS).unwrap_or_default());
    let mut task = Map::new();
    if proposes(entry) {
        task = std::mem::take(&mut arguments);
        let known = ["plan_summary", "steps", "grant"];
        if let Some(other) = task.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(shape(format!("a proposal has no parameter {other:?}")));
        }
        task.insert("kind".to_owned(), "improvised".into());
    }
    task.insert("task_id".to_owned(), task_id.into());
    if let Some(salt) = meta.salt {
        task.insert("salt".to_owned(), salt.into());
    }
    if let Some(operation) = meta.under {
        task.insert("under".to_owned(), operation.into());
    }
    let flags = if entry.executor == Executor::FilePlan {
        plan(arguments, &mut task)?
    } else if proposes(entry) {
        Vec::new()
    } else {
        let named = match &entry.binds {
            Binds::Asset => Vec::from_iter(arguments.remove(INPUT_REF)),
            Binds::Refs(names) => {
                let named = names.iter().filter_map(|name| arguments.get(name));
                named.cloned().collect()
            }
            Binds::Nothing => Vec::new(),
        };
        let inputs = inputs(&named, &meta.refs, known)?;
        task.insert("input_refs_resolved".to_owned(), inputs.into());
        task.insert("parameters".to_owned(), arguments.into());
        Vec::new()
    };
    let metadata = json!({
        "session_id": session.named, "request_id": request, "idempotency_key": key,
        // The trace of the client (2026-07-28, SEP-414). The run checks it.
        "traceparent": trace.get("traceparent"), "tracestate": trace.get("tracestate"),
    });
    let message = if entry.id == APPLY_FILE_PLAN && entry.executor == Executor::FilePlan {
        // The catalog may have no such entry. A plan that names no capability needs none.
        task.insert("metadata".to_owned(), metadata);
        Value::from(task)
    } else {
        if !proposes(entry) {
            task.insert("capability_ids".to_owned(), json!([entry.id]));
        }
        json!({"metadata": metadata, "dispatch": task})
    };
    Ok(Order {
        task: message.to_string().into_bytes(),
        flags,
        delivery: key,
    })
}

/// An id of a request, as messages show it.
const ID: &str = "apr_7k2m9x4q";

/// The call of the tool that performs approved requests: the run reads the task from the ledger.
pub(super) fn approved(
    arguments: &Map<String, Value>,
    id: &RequestId,
    session: &Session,
) -> Result<Order, Failure> {
    let named = arguments.get(APPROVAL_ID).and_then(Value::as_str);
    // A whole id: the client does not find out which other requests there are.
    let named = named.filter(|id| id.len() == ID.len() && arguments.len() == 1);
    let named = named.ok_or_else(|| {
        shape(format!(
            "{RUN_APPROVED} has one parameter, {APPROVAL_ID}: the whole id of the request as a string, such as {ID}"
        ))
    })?;
    let within = session.named.iter();
    let within = within.map(|session| format!("--within={session}"));
    Ok(Order {
        task: Vec::new(),
        flags: within.chain([format!("--approved={named}")]).collect(),
        delivery: format!("{OF_CALLS}{}:{}", session.process, json!(id)),
    })
}

/// What the client says about a call beside its arguments. An unknown key that begins with `oneact/` is an error, so that a
/// misspelt one has an effect.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Meta {
    #[serde(rename = "oneact/idempotency_key")]
    key: Option<String>,
    #[serde(rename = "oneact/salt")]
    salt: Option<String>,
    #[serde(rename = "oneact/under")]
    under: Option<String>,
    #[serde(rename = "oneact/refs")]
    refs: Refs,
}

impl Meta {
    fn read(meta: &Map<String, Value>) -> Result<Self, Failure> {
        let ours = meta.iter().filter(|(key, _)| key.starts_with("oneact/"));
        let ours = ours.map(|(key, value)| (key.clone(), value.clone()));
        let wrong = |why: &dyn Display| shape(format!("`_meta` cannot be read: {why}"));
        let ours = Value::Object(ours.collect());
        let read: Self = serde_json::from_value(ours).map_err(|error| wrong(&error))?;
        let texts = [&read.key, &read.salt, &read.under];
        if texts.iter().any(|text| text.as_deref() == Some("")) {
            return Err(wrong(&"a text of `oneact/…` is empty"));
        }
        Ok(read)
    }
}

/// The arguments of a tool that applies plans.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanArguments {
    plan: Map<String, Value>,
    dry_run: Option<bool>,
    expect: Option<String>,
    protocol_validation: Option<Value>,
    system_config: Option<Value>,
}

/// Puts the plan into the task. Returns the flags of its run, which are arguments of the tool.
fn plan(
    arguments: Map<String, Value>,
    task: &mut Map<String, Value>,
) -> Result<Vec<String>, Failure> {
    let read = serde_json::from_value(arguments.into());
    let arguments: PlanArguments =
        read.map_err(|error| shape(format!("the arguments of a plan cannot be read: {error}")))?;
    task.insert("task_plan".to_owned(), arguments.plan.into());
    let others = [
        ("protocol_validation", arguments.protocol_validation),
        ("system_config", arguments.system_config),
    ];
    let others = others.into_iter();
    task.extend(others.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    let dry_run = arguments.dry_run == Some(true);
    let dry_run = dry_run.then(|| "--dry-run".to_owned());
    let expect = arguments.expect.map(|hash| format!("--expect={hash}"));
    Ok(dry_run.into_iter().chain(expect).collect())
}

/// The inputs of the task: those that the model has chosen, then the others that the host has named.
fn inputs(named: &[Value], others: &Refs, known: &Refs) -> Result<Vec<Value>, Failure> {
    let mut inputs = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for named in named {
        let name = named
            .as_str()
            .ok_or_else(|| shape("the name of a ref must be a string".to_owned()))?;
        if !names.contains(&name) {
            let uri = others.get(name).or_else(|| known.get(name));
            inputs.push(resolved(name, uri.ok_or_else(|| unknown(name, known))?));
            names.push(name);
        }
    }
    let others = others
        .iter()
        .filter(|(id, _)| !names.contains(&id.as_str()));
    inputs.extend(others.map(|(id, uri)| resolved(id, uri)));
    Ok(inputs)
}

/// A ref as a task gives it. A source that is not stored yet has the name `src_N`.
fn resolved(name: &str, uri: &str) -> Value {
    let status = if name.starts_with("src_") {
        "reference"
    } else {
        "stored"
    };
    json!({"ref_id": name, "storage_uri": uri, "status": status})
}

fn unknown(name: &str, known: &Refs) -> Failure {
    if let Err(why) = RefId::parse(name) {
        return shape(format!("`{INPUT_REF}` {name:?}: {why}"));
    }
    let known = match known
        .keys()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ")
    {
        none if none.is_empty() => "no call of this process has produced a ref".to_owned(),
        known => format!("the calls of this process have produced {known}"),
    };
    let message = format!(
        "unresolved input reference: `{name}` is unknown; {known}; a host can add refs with `_meta[\"{REFS}\"]`"
    );
    Failure::new(Fault::InputUnresolved, message)
}

fn shape(problem: String) -> Failure {
    Failure::new(Fault::InvalidShape, problem)
}
