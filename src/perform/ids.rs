//! The ids of a delivery as records keep them: one that holds a link is kept without what grants access
//! there, and with a hash, so that two ids stay two (invariant 6).

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::{
    envelope::Received,
    task::{hexadecimal, redact_presigned},
};

pub(super) struct Ids {
    pub(super) task: String,
    pub(super) request: Option<String>,
    pub(super) idempotency_key: Option<String>,
}

impl Ids {
    pub(super) fn of(received: &Received) -> Self {
        let identity = &received.identity;
        Self {
            task: kept(&received.task_id),
            request: identity.request_id.as_deref().map(kept),
            idempotency_key: identity.idempotency_key.as_deref().map(kept),
        }
    }
}

fn kept(id: &str) -> String {
    match redact_presigned(id) {
        Cow::Borrowed(id) => id.to_owned(),
        Cow::Owned(cut) => format!("{cut} sha256:{}", hexadecimal(&Sha256::digest(id))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_a_signature_is_kept_without_it_and_stays_another_one() {
        assert_eq!(kept("task_5"), "task_5");
        let one = kept("https://u:PW@h/?sig=ONE");
        let other = kept("https://u:PW@h/?sig=TWO");
        assert!(one.starts_with("https://***@h/?sig=*** sha256:"), "{one}");
        assert_ne!(one, other);
        assert!(!one.contains("ONE") && !one.contains("PW"));
    }
}
