//! The messages of 001's protocol layer: `{envelope, metadata, payload, validation}`.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::task::{
    Asker, Failure, Fault, Found, PlanName, PlanOrder, RollbackOrder, Task, Validation, canonical,
    hexadecimal, listed, recorded_id,
};

use super::{
    fields::shape,
    find::{at, is_plan, said},
    plans,
};

const MESSAGE_TYPES: &str = "TASK_REQUEST, ROLLBACK_REQUEST, STATUS_QUERY and CANCEL";

const VALIDATORS: &[&str] = &["agent_protocol", "manual"];

/// Reads what the message orders.
pub(super) fn read(
    document: &Value,
    payload: &Found<'_>,
    notes: &mut Vec<String>,
) -> Result<Task, Failure> {
    let message_type = at(document, "envelope/message_type").and_then(Value::as_str);
    let task_type = payload.value.get("task_type").and_then(Value::as_str);
    let validation = validation(document, payload.value, notes)?;
    let content = payload.optional("content", |content| {
        content.object()?;
        Ok(content.clone())
    })?;
    let content = content.as_ref();
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
            Some(content) if content.value.as_object().is_some_and(is_plan) => {
                let order = plans::read(content, notes)?;
                Ok(Task::Plan(PlanOrder {
                    validation: order.validation.and(validation),
                    salt: order.salt.or(payload.optional("salt", Found::owned)?),
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
    let fields = ["envelope/created_at", "envelope/ttl_seconds"].map(|path| said(document, path));
    let [Some(created), Some(ttl)] = fields else {
        return Ok(None);
    };
    let time = created.value.as_str().and_then(|text| text.parse().ok());
    let time: Timestamp =
        time.ok_or_else(|| created.must_be("a time with an offset, e.g. 2026-02-24T10:00:00Z"))?;
    let seconds = ttl.value.as_i64().filter(|seconds| *seconds >= 0);
    let seconds = seconds.ok_or_else(|| ttl.must_be("a whole number of 0 or more"))?;
    Ok(time.checked_add(SignedDuration::from_secs(seconds)).ok())
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
    let Some(block) = said(document, "validation") else {
        return Ok(Validation::Unsaid);
    };
    block.object()?;
    if block.optional("signature", Found::text)?.is_some() {
        notes.push(
            "`validation.signature` was not checked; only the checksum was checked.".to_owned(),
        );
    }
    let validated_by = block.optional("validated_by", Found::text)?;
    let Some(checksum) = block.optional("checksum", Found::text)? else {
        return Ok(Validation::Unsaid);
    };
    if !fits(checksum, payload) {
        return Ok(Validation::Refused(
            "`validation.checksum` is not the SHA-256 of the payload (RFC 8785, or compact JSON in the order received)"
                .to_owned(),
        ));
    }
    Ok(match validated_by {
        None => Validation::Unsaid,
        Some(who) if VALIDATORS.contains(&who) => Validation::Approved,
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
    payload: &Found<'_>,
    content: Option<&Found<'_>>,
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
    let keys = names.map(|(key, _)| key);
    let wrong = |what: &str, give: &str| {
        let known = listed(keys);
        shape(format!("`payload.content` {what}; {give} one of {known}"))
    };
    if let Some(content) = content {
        content.only(&[&keys, others].concat())?;
    }
    let said = |(key, make): (&str, Name)| Some((make, content?.get(key)?));
    let mut said = names.into_iter().filter_map(said);
    let of_payload = || payload.value.get("task_id")?.as_str().map(recorded_id);
    match (said.next(), said.next()) {
        (Some(_), Some(_)) => Err(wrong("names the plan twice", "give only")),
        (Some((make, id)), None) => Ok(make(id.name()?.to_owned())),
        (None, _) => of_payload()
            .map(PlanName::TaskId)
            .ok_or_else(|| wrong("does not name a plan", "give")),
    }
}

fn checkpoints(content: Option<&Found<'_>>) -> Result<Vec<String>, Failure> {
    let list = content.map(|content| {
        content.optional("checkpoints", |list| match list.each(Found::owned)? {
            ids if ids.is_empty() => Err(list.wrong("is empty; leave it out to undo all")),
            ids => Ok(ids),
        })
    });
    Ok(list.transpose()?.flatten().unwrap_or_default())
}
