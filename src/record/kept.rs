//! The recorded form of ids and answers: without secrets and signatures of links (invariant 6).
//!
//! The caller's answer may contain a signed link as its result. The ledger outlives the answer and may be passed
//! on, so it keeps no signature.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::{
    envelope::{Received, to_response},
    executor::Hidden,
    task::{Outcome, hexadecimal, redact_presigned},
};

#[derive(Clone)]
pub(super) struct Ids {
    pub(super) task: String,
    pub(super) request: Option<String>,
    pub(super) idempotency_key: Option<String>,
}

impl Ids {
    pub(super) fn of(received: &Received) -> Self {
        let identity = &received.identity;
        Self {
            task: id(&received.task_id),
            request: identity.request_id.as_deref().map(id),
            idempotency_key: identity.idempotency_key.as_deref().map(id),
        }
    }
}

/// An id that contains a link is kept without credentials, and with a hash, so that different ids stay different.
fn id(id: &str) -> String {
    match redact_presigned(id) {
        Cow::Borrowed(id) => id.to_owned(),
        Cow::Owned(cut) => format!("{cut} sha256:{}", hexadecimal(&Sha256::digest(id))),
    }
}

/// The `MCPResponse` of an outcome as it is recorded (R-004-16).
pub(super) fn response(hidden: &Hidden, received: &Received, outcome: &Outcome) -> String {
    let response = to_response(received, outcome);
    let cut = hidden.secrets().cut(&response);
    if cut == response && redact_presigned(&response) == response {
        return response;
    }
    // A cut in the JSON text could damage a number or an escape sequence, so the values are cut.
    match serde_json::from_str(&response) {
        Ok(value) => hidden.value(value).to_string(),
        Err(_) => hidden.secrets().shown(&response),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_a_signature_is_kept_without_it_and_stays_another_one() {
        assert_eq!(id("task_5"), "task_5");
        let one = id("https://u:PW@h/?sig=ONE");
        let other = id("https://u:PW@h/?sig=TWO");
        assert!(one.starts_with("https://***@h/?sig=*** sha256:"), "{one}");
        assert_ne!(one, other);
        assert!(!one.contains("ONE") && !one.contains("PW"));
    }
}
