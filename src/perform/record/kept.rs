//! What of a request and of its answer is kept: no secret, and no signature of a link (invariant 6).
//!
//! The caller's own answer may hold a signed link: it may be the very result that was asked for. A record
//! outlives it, and is handed on.

use serde_json::{Map, Value};

use crate::{
    envelope::{Received, to_response},
    executor::secrets,
    task::{Outcome, Secrets, redact_presigned, redact_value},
};

use super::Work;

/// Cuts what no record keeps.
pub(super) struct Keeper(Secrets);

impl Keeper {
    /// Of a job: the secrets of all its calls.
    pub(super) fn of(work: &Work) -> Self {
        Self(match work {
            Work::Tools(ready) => secrets(ready),
            Work::Files(_) => Secrets::default(),
        })
    }

    /// A value as a record may hold it.
    pub(super) fn value(&self, value: Value) -> Value {
        let mut kept = self.0.cut_value(value);
        redact_value(&mut kept);
        kept
    }

    pub(super) fn object(&self, object: Map<String, Value>) -> Map<String, Value> {
        match self.value(Value::Object(object)) {
            Value::Object(kept) => kept,
            _ => Map::new(),
        }
    }

    /// The `MCPResponse` of an outcome as it is recorded (R-004-16).
    pub(super) fn response(&self, received: &Received, outcome: &Outcome) -> String {
        let response = to_response(received, outcome);
        let cut = self.0.cut(&response);
        if cut == response && redact_presigned(&response) == response {
            return response;
        }
        // A cut through the text could go through a number or an escape: what is left would be no JSON.
        match serde_json::from_str(&response) {
            Ok(value) => self.value(value).to_string(),
            Err(_) => self.0.shown(&response),
        }
    }
}
