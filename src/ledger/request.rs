//! The hash of a request: what belongs to it, and what is left out (R-004-30, R-004-31, C-34, C-39).

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::canonical::{canonical, escaped, exact, marked, sha256};
use crate::task::{hexadecimal, unsigned};

const RULE: u32 = 1;

/// What is asked, in the terms of the catalog.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Asked {
    /// One per capability, in the order in which they run.
    pub(crate) steps: Vec<AskedStep>,
    /// The refs that it produces, in their order.
    pub(crate) outputs: Vec<String>,
    /// A text that makes this another request: "yes, again".
    pub(crate) salt: Option<String>,
    /// What names the action of a once-only call whose entry has a `fence`.
    pub(crate) fence: Option<Fence>,
}

/// What names an action: the entry, and the values of the fields of its `fence`, by their JSON Pointers. Calls of the same
/// action can be different requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fence {
    pub(crate) entry: String,
    pub(crate) fields: Map<String, Value>,
}

/// One capability and its parameters, before a retry changes any.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AskedStep {
    pub(crate) entry: String,
    /// A person raises this number when the same request should have another answer.
    pub(crate) version: Option<u32>,
    pub(crate) parameters: Map<String, Value>,
    /// The parameters as the ledger may show them, if that differs. The hash must not reveal a secret.
    pub(crate) shown: Option<Map<String, Value>>,
    /// Parameters that the hash leaves out, because their differences have no meaning.
    pub(crate) volatile: Vec<String>,
    pub(crate) signatures: Signatures,
    /// The answers to the tool's questions, which the hash must not reveal.
    pub(crate) answers: Option<Value>,
}

/// Whether the signature of a link in the parameters belongs to the request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Signatures {
    /// It does not: a link that was signed again leads to the same object.
    #[default]
    LeftOut,
    /// It does, because the link itself is written to a file.
    Counted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hashes {
    /// `sha256:` and 64 hexadecimal digits.
    pub(crate) request_hash: String,
    /// The hash of the parameters alone, as specification 004 has it: 64 hexadecimal digits.
    pub(crate) inputs_hash: String,
    /// The HMAC of what names the action. It depends on nothing else, so it is the same in each session of the ledger.
    pub(crate) fence: Option<String>,
}

impl Asked {
    /// Whether the hashes need the key: for a secret, or for a fence.
    pub(crate) fn needs_key(&self) -> bool {
        self.fence.is_some() || self.steps.iter().any(AskedStep::has_secrets)
    }

    /// The hashes, with the key for secrets, which never leaves the ledger.
    pub(crate) fn hashes(&self, key: &[u8; 32]) -> Hashes {
        let parameters: Vec<Value> = self.steps.iter().map(|step| step.parameters(key)).collect();
        let inputs_hash = sha256(match parameters.as_slice() {
            [one] => canonical(one),
            several => canonical(&Value::Array(several.to_vec())),
        });
        let steps = self.steps.iter().zip(parameters);
        let steps = steps.map(|(step, own)| step.hashed(own, key)).collect();
        let (request_hash, _) = self.whole(steps, json!({"salt": self.salt}));
        Hashes {
            request_hash,
            inputs_hash,
            fence: self.fence.as_ref().map(|fence| fence.hash(key)),
        }
    }

    /// The hash of the effective call, for an approval, and what is hashed. `around` are the facts beside the steps, and
    /// `inputs` the contents of the assets of each step.
    pub(crate) fn intent(
        &self,
        key: &[u8; 32],
        around: Value,
        inputs: &[Value],
    ) -> (String, Value) {
        let steps = self.steps.iter().zip(inputs).map(|(step, inputs)| {
            let mut hashed = step.hashed(step.parameters(key), key);
            hashed.insert("inputs".to_owned(), inputs.clone());
            hashed
        });
        self.whole(steps.collect(), around)
    }

    /// The hash of these steps with the facts around them, and what is hashed.
    fn whole(&self, mut steps: Vec<Map<String, Value>>, around: Value) -> (String, Value) {
        let mut whole = match steps.as_mut_slice() {
            [one] => std::mem::take(one),
            _ => Map::from_iter([("steps".to_owned(), json!(steps))]),
        };
        if let Value::Object(around) = around {
            whole.extend(around);
        }
        whole.insert("outputs".to_owned(), json!(self.outputs));
        whole.insert("v".to_owned(), json!(RULE));
        let whole = Value::Object(whole);
        (format!("sha256:{}", sha256(canonical(&whole))), whole)
    }
}

impl Fence {
    fn hash(&self, key: &[u8; 32]) -> String {
        let mut fields = Value::Object(self.fields.clone());
        without_signature(&mut fields);
        // Numbers count as JSON's own: 17, 17.0 and 1.7e1 are one action.
        let whole = json!({"entry": self.entry, "fence": fields, "v": RULE});
        mac(key, &canonical(&whole))
    }
}

impl AskedStep {
    fn hashed(&self, parameters: Value, key: &[u8; 32]) -> Map<String, Value> {
        let mut hashed = Map::from_iter([
            ("entry".to_owned(), json!(self.entry)),
            ("params".to_owned(), parameters),
            ("version".to_owned(), json!(self.version)),
        ]);
        // Without this member, the hash can be computed without the key.
        if let Some(answers) = &self.answers {
            hashed.insert("answers".to_owned(), secret(key, answers));
        }
        hashed
    }

    fn has_secrets(&self) -> bool {
        if self.answers.is_some() {
            return true;
        }
        let Some(shown) = &self.shown else {
            return false;
        };
        let mut asked = self.told(&self.parameters);
        let shown = self.told(shown);
        asked.retain(|name, value| shown.get(name) != Some(value));
        !asked.is_empty()
    }

    fn parameters(&self, key: &[u8; 32]) -> Value {
        let asked = Value::Object(self.told(&self.parameters));
        match &self.shown {
            None => exact(asked),
            Some(shown) => covered(&asked, &Value::Object(self.told(shown)), key),
        }
    }

    fn told(&self, parameters: &Map<String, Value>) -> Map<String, Value> {
        let mut told = parameters.clone();
        told.retain(|name, _| !self.volatile.contains(name));
        if self.signatures == Signatures::LeftOut {
            told.values_mut().for_each(without_signature);
        }
        told
    }
}

/// The value as it is hashed: a MAC replaces what may not be shown.
fn covered(asked: &Value, shown: &Value, key: &[u8; 32]) -> Value {
    match (asked, shown) {
        (asked, shown) if asked == shown => exact(asked.clone()),
        (Value::Array(items), Value::Array(shown)) if items.len() == shown.len() => {
            let pairs = items.iter().zip(shown);
            pairs
                .map(|(asked, shown)| covered(asked, shown, key))
                .collect()
        }
        (Value::Object(asked), Value::Object(shown))
            if asked.keys().all(|name| shown.contains_key(name)) =>
        {
            let of = |name: &String| shown.get(name).unwrap_or(&Value::Null);
            let each =
                |(name, value): (&String, &Value)| (escaped(name), covered(value, of(name), key));
            Value::Object(asked.iter().map(each).collect())
        }
        _ => secret(key, asked),
    }
}

fn secret(key: &[u8; 32], value: &Value) -> Value {
    marked("mac", mac(key, &canonical(&exact(value.clone()))))
}

fn without_signature(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(cut) = unsigned(text) {
                *text = cut;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_signature),
        Value::Object(object) => object.values_mut().for_each(without_signature),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mac(key: &[u8; 32], text: &str) -> String {
    // HMAC takes a key of any length, so this never fails.
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
        let parameters: Map<String, Value> = serde_json::from_str(parameters).unwrap();
        let mut shown = Value::Object(parameters.clone());
        if let Some(secret) = shown.pointer_mut("/headers/Authorization") {
            *secret = json!("***");
        }
        if let Some(Value::String(uri)) = shown.pointer_mut("/input_uri") {
            *uri = crate::task::redact_presigned(uri).into_owned();
        }
        Asked {
            steps: vec![AskedStep {
                entry: "CAP-PRE-002".to_owned(),
                version: Some(3),
                parameters,
                shown: shown.as_object().cloned(),
                volatile: vec!["run".to_owned()],
                signatures: Signatures::LeftOut,
                answers: None,
            }],
            outputs: vec!["derived_1".to_owned()],
            salt: None,
            fence: None,
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
        // Its signature is no secret of the request: no key is needed.
        assert!(!asked(&signed("aa")).needs_key());
        let written = |signature: &str| {
            let mut asked = asked(&signed(signature));
            asked.steps[0].signatures = Signatures::Counted;
            asked.hashes(&KEY).request_hash
        };
        assert_ne!(written("aa"), written("bb"));
    }

    #[test]
    fn what_a_record_does_not_show_counts_all_the_same() {
        for (one, other) in [
            ("https://crm/api?policy=123", "https://crm/api?policy=456"),
            ("https://crm/api?token=1", "https://crm/api?token=2"),
            ("ssh://alice@h", "ssh://bob@h"),
            (
                "https://alice:1@h/a?X-Amz-Signature=0",
                "https://alice:2@h/a?X-Amz-Signature=0",
            ),
        ] {
            let one = asked(&json!({"input_uri": one}).to_string());
            let other = asked(&json!({"input_uri": other}).to_string());
            assert!(one.needs_key());
            assert_ne!(one.hashes(&KEY), other.hashes(&KEY));
            assert_ne!(one.hashes(&KEY), one.hashes(&[8; 32]));
        }
    }

    #[test]
    fn what_a_tool_was_answered_makes_another_request() {
        let answered = |action: &str| {
            let mut asked = asked(AUDIO);
            asked.steps[0].answers = Some(json!({"sure": {"action": action}}));
            asked
        };
        assert!(answered("accept").needs_key());
        let hash = |asked: Asked| asked.hashes(&KEY).request_hash;
        assert_ne!(hash(answered("accept")), hash(answered("decline")));
        assert_ne!(hash(answered("accept")), hash(asked(AUDIO)));
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
    fn the_hash_of_a_fence_depends_on_the_entry_the_fields_and_the_key_alone() {
        let fence = |fields: &str| Fence {
            entry: "pay".to_owned(),
            fields: serde_json::from_str(fields).unwrap(),
        };
        let one = fence(r#"{"/invoice":17,"/to":{"a":1,"b":[2]}}"#);
        let hash = |fence: Fence| {
            let asked = Asked {
                fence: Some(fence),
                ..asked(AUDIO)
            };
            assert!(asked.needs_key());
            let salted = Asked {
                salt: Some("again".to_owned()),
                outputs: Vec::new(),
                ..asked.clone()
            };
            let hash = asked.hashes(&KEY).fence.unwrap();
            assert_eq!(salted.hashes(&KEY).fence, Some(hash.clone()));
            assert_ne!(asked.hashes(&[8; 32]).fence, Some(hash.clone()));
            hash
        };
        assert_eq!(
            hash(fence(r#"{"/to":{"b":[2],"a":1},"/invoice":17}"#)),
            hash(one.clone())
        );
        let large = |number: &str| hash(fence(&format!(r#"{{"/invoice":{number}}}"#)));
        for same in ["1234567890123456789e1", "12345678901234567890.0"] {
            assert_eq!(large(same), large("12345678901234567890"));
        }
        for other in [
            fence(r#"{"/invoice":"17","/to":{"a":1,"b":[2]}}"#),
            fence(r#"{"/invoice":17}"#),
            Fence {
                entry: "refund".to_owned(),
                ..one.clone()
            },
        ] {
            assert_ne!(hash(other), hash(one.clone()));
        }
        assert_eq!(asked(AUDIO).hashes(&KEY).fence, None);
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
