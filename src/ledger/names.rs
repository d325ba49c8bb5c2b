//! What a run claims, and the names of deliveries.

use serde_json::{Value, json};

use super::{
    canonical::{canonical, sha256},
    words::{Ask, Who},
};
use crate::task::OnDuplicate;

/// A key names a delivery whatever the attempt. If the caller does not count, every attempt fits.
pub(super) fn fits_attempt(who: &Who<'_>, attempt: u32) -> bool {
    who.idempotency_key.is_some() || who.attempt.is_none() || who.attempt == Some(attempt)
}

/// The hash that names the delivery, the same for every attempt; none if the caller names none.
pub(super) fn name_of(who: &Who<'_>) -> Option<String> {
    let each = Who {
        attempt: None,
        ..*who
    };
    delivery_of(&each)
}

/// What a run claims: the request. If duplicates are repeated, it is the delivery, or the operation if the caller names no
/// delivery.
pub(super) fn claimed(ask: &Ask<'_>, request_hash: &str) -> String {
    let who = &ask.who;
    match ask.on_duplicate {
        OnDuplicate::Reuse { .. } | OnDuplicate::Suppress(_) => request_hash.to_owned(),
        OnDuplicate::Repeat => delivery_of(who).unwrap_or_else(|| who.operation_id.to_owned()),
    }
}

/// The hash of what names the delivery; none if the caller names none.
pub(super) fn delivery_of(who: &Who<'_>) -> Option<String> {
    match (who.idempotency_key, who.task_id) {
        (None, None) => None,
        (Some(key), _) => Some(keyed(key)),
        (None, Some(task_id)) => Some(delivery(&json!({
            "request_id": who.request_id,
            "task_id": task_id,
            "attempt": who.attempt,
        }))),
    }
}

/// The name of the delivery with that key.
pub(crate) fn keyed(key: &str) -> String {
    delivery(&json!({"idempotency_key": key}))
}

pub(super) fn delivery(named: &Value) -> String {
    format!("delivery:{}", sha256(canonical(named)))
}
