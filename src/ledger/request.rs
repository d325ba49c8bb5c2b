//! Is it the same request? What is hashed, and what is left out of it (R-004-30, R-004-31, C-34, C-39).

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use crate::task::{hexadecimal, redact_presigned};

use super::canonical::{canonical, exact, marked, sha256};

/// The version of the rule by which requests are hashed.
const RULE: u32 = 1;

/// What is asked, in the terms of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    /// One per capability, in the order in which they run.
    pub(crate) steps: Vec<AskedStep>,
    /// The refs it is to produce, in their order.
    pub(crate) outputs: Vec<String>,
    /// Makes a request another one: "yes, again".
    pub(crate) salt: Option<String>,
}

/// One capability and its parameters, before a retry changes any.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedStep {
    pub(crate) entry: String,
    /// The number a person raises when the same request should have another answer.
    pub(crate) version: Option<u32>,
    pub(crate) parameters: Map<String, Value>,
    /// Parameters that differ from run to run and mean nothing.
    pub(crate) volatile: Vec<String>,
    /// JSON Pointers to values that nobody may learn from a hash.
    pub(crate) secret: Vec<String>,
}

/// The hashes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hashes {
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) request_hash: String,
    /// Specification 004's narrow one, over the parameters alone: 64 hexadecimal digits.
    pub(crate) inputs_hash: String,
}

impl Asked {
    /// Whether a secret is among the parameters: only then a key is needed.
    pub(crate) fn has_secrets(&self) -> bool {
        self.steps.iter().any(|step| !step.secret.is_empty())
    }

    /// `key` is what secrets are hashed under; it never leaves the ledger.
    pub(crate) fn hashes(&self, key: &[u8; 32]) -> Hashes {
        let parameters: Vec<Value> = self.steps.iter().map(|step| step.parameters(key)).collect();
        let step = |(step, parameters): (&AskedStep, &Value)| json!({"entry": step.entry, "params": parameters, "version": step.version});
        let whole = match (self.steps.as_slice(), parameters.as_slice()) {
            ([step], [parameters]) => json!({
                "entry": step.entry, "outputs": self.outputs, "params": parameters, "salt": self.salt, "v": RULE,
                "version": step.version,
            }),
            (steps, parameters) => json!({
                "outputs": self.outputs, "salt": self.salt, "v": RULE,
                "steps": steps.iter().zip(parameters).map(step).collect::<Vec<_>>(),
            }),
        };
        let narrow = match parameters.as_slice() {
            [one] => canonical(one),
            several => canonical(&Value::Array(several.to_vec())),
        };
        Hashes {
            request_hash: format!("sha256:{}", sha256(canonical(&whole))),
            inputs_hash: sha256(narrow),
        }
    }
}

impl AskedStep {
    /// The parameters as they are hashed.
    fn parameters(&self, key: &[u8; 32]) -> Value {
        let mut kept = self.parameters.clone();
        kept.retain(|name, _| !self.volatile.contains(name));
        let plain = Value::Object(kept);
        let mut hashed = exact(&plain);
        without_presign(&mut hashed);
        for pointer in &self.secret {
            // Keys that are escaped in the hashed text are no names a secret would have.
            if let (Some(secret), Some(place)) =
                (plain.pointer(pointer), hashed.pointer_mut(pointer))
            {
                *place = marked("mac", mac(key, &canonical(&exact(secret))));
            }
        }
        hashed
    }
}

/// A link that was signed anew leads to the same object.
fn without_presign(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cut) = redact_presigned(text) {
                *text = cut;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_presign),
        Value::Object(object) => object.values_mut().for_each(without_presign),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mac(key: &[u8; 32], text: &str) -> String {
    // HMAC takes a key of any length; that it could refuse one is the type's, not its.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    mac.update(text.as_bytes());
    format!("hmac-sha256:{}", hexadecimal(&mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn asked(parameters: &str) -> Asked {
        Asked {
            steps: vec![AskedStep {
                entry: "CAP-PRE-002".to_owned(),
                version: Some(3),
                parameters: serde_json::from_str(parameters).unwrap(),
                volatile: vec!["run".to_owned()],
                secret: vec!["/headers/Authorization".to_owned()],
            }],
            outputs: vec!["derived_1".to_owned()],
            salt: None,
        }
    }

    fn hash(parameters: &str) -> String {
        asked(parameters).hashes(&KEY).request_hash
    }

    const AUDIO: &str = r#"{"input_uri":"s3://platform-bucket/session-xxx/store_1.mp4","output_format":"wav","sample_rate":16000}"#;

    #[test]
    fn the_hash_of_a_request_can_be_computed_by_anyone() {
        assert_eq!(
            hash(AUDIO),
            "sha256:a3da026a12f11794edeb346242e1a26aa95233d10fb609e7eaedc3c7fb0b3e36"
        );
    }

    #[test]
    fn the_order_of_keys_does_not_matter_r_004_30() {
        let other = r#"{"sample_rate":16000,"output_format":"wav","input_uri":"s3://platform-bucket/session-xxx/store_1.mp4"}"#;
        assert_eq!(hash(AUDIO), hash(other));
        assert_eq!(
            hash(r#"{"a":{"x":1,"y":[{"p":1,"q":2}]}}"#),
            hash(r#"{"a":{"y":[{"q":2,"p":1}],"x":1}}"#)
        );
    }

    #[test]
    fn a_link_that_was_signed_anew_is_the_same_request() {
        let signed = |signature: &str| {
            format!(
                r#"{{"input_uri":"https://b.s3.amazonaws.com/a.mp4?X-Amz-Date=20260101T000000Z&X-Amz-Signature={signature}"}}"#
            )
        };
        assert_eq!(hash(&signed("aa")), hash(&signed("bb")));
    }

    #[test]
    fn volatile_parameters_are_left_out() {
        assert_eq!(hash(r#"{"a":1,"run":"x"}"#), hash(r#"{"a":1,"run":"y"}"#));
        assert_eq!(hash(r#"{"a":1}"#), hash(r#"{"a":1,"run":null}"#));
    }

    #[test]
    fn a_secret_counts_but_cannot_be_guessed_from_the_hash() {
        let with = |secret: &str| format!(r#"{{"headers":{{"Authorization":"{secret}"}}}}"#);
        assert_ne!(hash(&with("one")), hash(&with("two")));
        assert_ne!(
            asked(&with("one")).hashes(&KEY),
            asked(&with("one")).hashes(&[8; 32])
        );
    }

    #[test]
    fn null_and_absent_arrays_and_salt_make_another_request() {
        assert_ne!(hash(r#"{"a":null}"#), hash("{}"));
        assert_ne!(hash(r#"{"a":[1,2]}"#), hash(r#"{"a":[2,1]}"#));
        let salted = Asked {
            salt: Some("again".to_owned()),
            ..asked(AUDIO)
        };
        assert_ne!(salted.hashes(&KEY).request_hash, hash(AUDIO));
    }

    #[test]
    fn several_capabilities_are_one_request_of_several_steps() {
        let mut both = asked(AUDIO);
        both.steps.extend(asked("{}").steps);
        let mut reversed = both.clone();
        reversed.steps.reverse();
        assert_ne!(both.hashes(&KEY), reversed.hashes(&KEY));
    }

    #[test]
    fn the_narrow_hash_is_over_the_parameters_alone_c_39() {
        let mut other = asked(AUDIO);
        other.outputs = Vec::new();
        assert_eq!(
            other.hashes(&KEY).inputs_hash,
            asked(AUDIO).hashes(&KEY).inputs_hash
        );
        assert_ne!(
            other.hashes(&KEY).request_hash,
            asked(AUDIO).hashes(&KEY).request_hash
        );
    }
}
