//! What no record may show: values of the environment, secret parameters, presign parts (invariant 6).
//!
//! The tool sees them all; its answer, in whatever words, is cut before it becomes part of an outcome.

use serde_json::{Map, Value};

use crate::{
    catalog::{Entry, Step},
    mcp::ServerSpec,
    task::{Ai, AiPrompt, AiResponse, CUT, Failure, Secrets, abridged, redact_value},
};

use super::{
    Work,
    document::{Document, INLINE_MAX},
};

/// The secrets of one call, or of all calls of a job.
pub(crate) struct Hidden(Secrets);

impl Hidden {
    /// What the server was handed from the environment, and what stands at the entry's `secret`
    /// pointers.
    pub(super) fn new(step: &Step, launch: &ServerSpec) -> Self {
        let handed_on = &launch.secrets;
        if step.entry.secret.is_empty() {
            return Self(handed_on.clone());
        }
        let parameters = Value::Object(step.parameters.clone());
        let mut values = Vec::new();
        for pointer in &step.entry.secret {
            if let Some(secret) = parameters.pointer(pointer) {
                collect(secret, &mut values);
            }
        }
        Self(handed_on.and(values))
    }

    /// The secrets of all calls of what is to be done.
    pub(crate) fn of(work: &Work) -> Self {
        match work {
            Work::Tools(ready) => Self::all(&ready.job.steps, &ready.launches),
            Work::Files(_) => Self(Secrets::default()),
        }
    }

    /// The secrets of all calls of a job: what one step is given, another may be told.
    pub(super) fn all(steps: &[Step], launches: &[ServerSpec]) -> Self {
        let each = steps.iter().zip(launches);
        Self(Secrets::all(
            each.map(|(step, launch)| Self::new(step, launch).0),
        ))
    }

    /// For the room that reads what the server writes.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.0
    }

    /// A text for people.
    pub(super) fn text(&self, text: &str) -> String {
        self.0.shown(text)
    }

    /// A failure whose words may come from a tool.
    pub(super) fn failure(&self, failure: &Failure) -> Failure {
        Failure {
            message: self.text(&failure.message),
            ..*failure
        }
    }

    /// A result. Presign parts stay: a URL may be the very result that was asked for.
    pub(super) fn document(&self, document: Document) -> Document {
        document.without(&self.0)
    }

    /// The parameters of the call, for an answer.
    pub(super) fn parameters(&self, step: &Step) -> Map<String, Value> {
        abridged(self.shown(&step.entry, &step.parameters))
    }

    /// Parameters as records may show them: without the values at the entry's `secret` pointers, which may stand in
    /// others too, and without the signatures of links (invariant 6).
    pub(crate) fn shown(
        &self,
        entry: &Entry,
        parameters: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut all = Value::Object(parameters.clone());
        for pointer in &entry.secret {
            if let Some(secret) = all.pointer_mut(pointer) {
                *secret = Value::from(CUT);
            }
        }
        redact_value(&mut all);
        match self.value(all) {
            Value::Object(shown) => shown,
            _ => Map::new(),
        }
    }

    /// A value in which not even a link is there to be used: an answer that is no result, or what a record holds.
    pub(crate) fn value(&self, value: Value) -> Value {
        let mut shown = self.0.cut_value(value);
        redact_value(&mut shown);
        shown
    }

    /// `aiPrompt` and `aiResponse` of a document, where they have the shape that specification 004 gives
    /// them (R-004-14, R-004-15). Text that is too long for an answer stays in the result alone.
    pub(super) fn ai(&self, document: &Document) -> Ai {
        let text = |pointer: &str| {
            let found = document.pointer(pointer)?;
            found.as_str().map(|text| self.text(text))
        };
        let prompt = || {
            Some(AiPrompt {
                system: text("/aiPrompt/system")?,
                user: text("/aiPrompt/user")?,
            })
        };
        let response = || {
            Some(AiResponse {
                summary: text("/aiResponse/summary")?,
                raw: text("/aiResponse/raw")?,
            })
        };
        Ai {
            prompt: prompt().filter(|said| said.system.len() + said.user.len() <= INLINE_MAX),
            response: response().filter(|said| said.summary.len() + said.raw.len() <= INLINE_MAX),
        }
    }
}

/// Every text and number in a secret value: a server may repeat a part of it.
fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        // Without its sign, which another spelling leaves out, and without its exponent and its point.
        Value::Number(number) => {
            let text = number.to_string();
            let text = text.trim_start_matches('-');
            let (digits, _) = text.split_once(['e', 'E']).unwrap_or((text, ""));
            let mut spellings = vec![text.to_owned(), digits.to_owned(), digits.replace('.', "")];
            spellings.dedup();
            into.append(&mut spellings);
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(object) => object.values().for_each(|item| collect(item, into)),
        Value::Null | Value::Bool(_) => {}
    }
}
