//! The messages of 001's protocol layer: `{envelope, metadata, payload, validation}`.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::task::{
    Asker, Failure, Fault, PlanName, PlanOrder, RollbackOrder, Task, Validation, canonical,
    hexadecimal, recorded_id,
};

use super::{
    fields::{optional, optional_text, shape},
    find::{Found, at, is_plan},
    plans,
};

const MESSAGE_TYPES: &str = "TASK_REQUEST, ROLLBACK_REQUEST, STATUS_QUERY and CANCEL";

const VALIDATORS: &[&str] = &["agent_protocol", "manual"];

/// Reads what the message orders. `found` is its payload.
pub(super) fn read(
    document: &Value,
    found: &Found<'_>,
    notes: &mut Vec<String>,
) -> Result<Task, Failure> {
    let payload = found.object;
    let message_type = at(document, "envelope/message_type").and_then(Value::as_str);
    let task_type = payload.get("task_type").and_then(Value::as_str);
    let validation = validation(document, found.value, notes)?;
    let content = optional(payload, "content", "an object", Value::as_object);
    let content = content.map_err(|_| shape("`payload.content` must be an object"))?;
    match (message_type, task_type) {
        (Some("ROLLBACK_REQUEST"), _) | (Some("TASK_REQUEST"), Some("ROLLBACK")) => {
            unharmed(validation)?;
            Ok(Task::Rollback(RollbackOrder {
                plan: name(payload, content, &["checkpoints"])?,
                checkpoints: checkpoints(content)?,
                by: Asker::Task,
            }))
        }
        (Some("STATUS_QUERY"), _) | (Some("TASK_REQUEST"), Some("STATUS_QUERY")) => {
            unharmed(validation)?;
            name(payload, content, &[]).map(Task::Status)
        }
        (Some("CANCEL"), _) | (Some("TASK_REQUEST"), Some("CANCEL")) => {
            unharmed(validation)?;
            name(payload, content, &[]).map(Task::Cancel)
        }
        (Some("TASK_REQUEST"), _) => match content {
            Some(content) if is_plan(content) => {
                let order = plans::read(content, notes)?;
                Ok(Task::Plan(PlanOrder {
                    validation: order.validation.and(validation),
                    salt: order.salt.or(optional_text(payload, "salt")?),
                    ..order
                }))
            }
            _ => Err(shape(
                "`payload.content` contains no plan: it must be an object with `action_plan` or `task_plan`",
            )),
        },
        (Some(other), _) => Err(shape(format!(
            "`envelope.message_type` {other:?} is not supported; oneact accepts {MESSAGE_TYPES}"
        ))),
        (None, _) => Err(shape(format!(
            "`envelope.message_type` is missing beside `payload`; oneact accepts {MESSAGE_TYPES}"
        ))),
    }
}

/// When the message expires: `created_at` plus `ttl_seconds` of its envelope.
pub(super) fn expires_at(document: &Value) -> Result<Option<Timestamp>, Failure> {
    let field = |path| at(document, path).filter(|value| !value.is_null());
    let fields = ["envelope/created_at", "envelope/ttl_seconds"].map(field);
    let [Some(created), Some(ttl)] = fields else {
        return Ok(None);
    };
    let created = created
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok());
    let created = created.ok_or_else(|| {
        shape("`envelope.created_at` must be a time with an offset, e.g. 2026-02-24T10:00:00Z")
    })?;
    let seconds = ttl.as_i64().filter(|seconds| *seconds >= 0);
    let seconds = seconds
        .ok_or_else(|| shape("`envelope.ttl_seconds` must be a whole number of 0 or more"))?;
    Ok(created.checked_add(SignedDuration::from_secs(seconds)).ok())
}

/// The attempt of a message: its `retry_count` plus one.
pub(super) fn attempt(document: &Value) -> Option<u32> {
    let retries = at(document, "metadata/retry_count")?.as_u64()?;
    u32::try_from(retries).ok()?.checked_add(1)
}

/// What a validation block says about the payload. The block approves it if the checksum fits (C-17).
fn validation(
    document: &Value,
    payload: &Value,
    notes: &mut Vec<String>,
) -> Result<Validation, Failure> {
    let block = document.get("validation").filter(|block| !block.is_null());
    let Some(block) = block else {
        return Ok(Validation::Unsaid);
    };
    let block = block
        .as_object()
        .ok_or_else(|| shape("`validation` must be an object"))?;
    let text = |key: &str| {
        optional_text(block, key).map_err(|failure| Failure {
            message: failure.message.replacen('`', "`validation.", 1),
            ..failure
        })
    };
    if text("signature")?.is_some() {
        notes.push(
            "`validation.signature` was not checked; only the checksum was checked.".to_owned(),
        );
    }
    let validated_by = text("validated_by")?;
    let Some(checksum) = text("checksum")? else {
        return Ok(Validation::Unsaid);
    };
    if !fits(&checksum, payload) {
        return Ok(Validation::Refused(
            "`validation.checksum` is not the SHA-256 of the payload (RFC 8785, or compact JSON in the order received)"
                .to_owned(),
        ));
    }
    Ok(match validated_by {
        None => Validation::Unsaid,
        Some(who) if VALIDATORS.contains(&who.as_str()) => Validation::Approved,
        Some(who) => Validation::Refused(format!(
            "`validation.validated_by` is {who:?}, but only {} may validate",
            VALIDATORS.join(" or ")
        )),
    })
}

/// Compares the checksum: hexadecimal in lower or upper case, with or without `sha256:`.
fn fits(checksum: &str, payload: &Value) -> bool {
    let said = checksum.strip_prefix("sha256:").unwrap_or(checksum);
    let spellings = [canonical(payload), serde_json::to_string(payload)];
    spellings
        .into_iter()
        .flatten()
        .any(|text| hexadecimal(&Sha256::digest(&text)).eq_ignore_ascii_case(said))
}

/// Refuses a message with a wrong checksum, also if its order needs no approval.
fn unharmed(validation: Validation) -> Result<(), Failure> {
    match validation {
        Validation::Refused(why) => Err(Failure::new(
            Fault::NotValidated,
            format!("the message is not validated: {why}"),
        )),
        Validation::Approved | Validation::Unsaid => Ok(()),
    }
}

/// The plan that is named, by exactly one of its names; without a name, by the task id of the payload. The keys in
/// `others` are allowed beside it.
fn name(
    payload: &Map<String, Value>,
    content: Option<&Map<String, Value>>,
    others: &[&str],
) -> Result<PlanName, Failure> {
    type Name = fn(String) -> PlanName;
    let names: [(&str, Name); 5] = [
        ("manifest_id", PlanName::ManifestId),
        ("plan_id", PlanName::PlanId),
        ("task_id", |id| PlanName::TaskId(recorded_id(&id))),
        ("report_directory", PlanName::Path),
        ("rollback_manifest", PlanName::Path),
    ];
    let listed = names.map(|(key, _)| key).join("`, `");
    let mut found = None;
    for (key, value) in content.into_iter().flatten() {
        if others.contains(&key.as_str()) {
            continue;
        }
        let Some((_, make)) = names.iter().find(|(name, _)| name == key) else {
            return Err(shape(format!(
                "`payload.content.{}` has no meaning here; name the plan by one of `{listed}`",
                key.escape_debug()
            )));
        };
        let text = value
            .as_str()
            .filter(|text| !text.is_empty())
            .ok_or_else(|| {
                shape(format!(
                    "`payload.content.{key}` must be a non-empty string"
                ))
            })?;
        if found.replace(make(text.to_owned())).is_some() {
            return Err(shape(format!(
                "`payload.content` names the plan twice; give only one of `{listed}`"
            )));
        }
    }
    let of_payload = || {
        let id = payload.get("task_id")?.as_str()?;
        Some(PlanName::TaskId(recorded_id(id)))
    };
    found.or_else(of_payload).ok_or_else(|| {
        shape(format!(
            "`payload.content` does not name a plan; give one of `{listed}`"
        ))
    })
}

fn checkpoints(content: Option<&Map<String, Value>>) -> Result<Vec<String>, Failure> {
    let wrong = || {
        shape(
            "`payload.content.checkpoints` must be an array of checkpoint ids; leave it out to undo all",
        )
    };
    let list = match content.and_then(|content| content.get("checkpoints")) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if !list.is_empty() => list,
        Some(_) => return Err(wrong()),
    };
    list.iter()
        .map(|id| id.as_str().map(str::to_owned).ok_or_else(wrong))
        .collect()
}
