//! What no record may show: values of the environment, secret parameters, presign parts (invariant 7).
//!
//! The tool sees them all; its answer, in whatever words, is cut before it becomes part of an outcome.

use serde_json::{Map, Value};

use crate::{
    catalog::Step,
    task::{Failure, Secrets, abridged, redact_value},
};

use super::{
    Ready,
    document::Document,
    launch::Launch,
    tool::{self, End},
};

/// The secrets of one call.
pub(super) struct Hidden(Secrets);

impl Hidden {
    /// What the server was handed from the environment, and what stands at the entry's `secret`
    /// pointers.
    pub(super) fn new(step: &Step, launch: &Launch) -> Self {
        let handed_on = &launch.spec().secrets;
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

    /// For the room that reads what the server writes.
    pub(super) fn secrets(&self) -> &Secrets {
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

    /// The parameters of the call as records may show them: an entry's secret may stand in others too.
    pub(super) fn parameters(&self, step: &Step) -> Map<String, Value> {
        let shown = tool::shown(&step.entry, &step.parameters);
        match self.0.cut_value(Value::Object(shown)) {
            Value::Object(shown) => abridged(shown),
            _ => Map::new(),
        }
    }

    /// All else of a step's end that came from its server.
    pub(super) fn clean(&self, end: &mut End) {
        // No result: not even a URL is there to be used.
        if let Some(answer) = end.unfit_result.take() {
            let mut answer = self.0.cut_value(answer);
            redact_value(&mut answer);
            end.unfit_result = Some(answer);
        }
        for note in &mut end.notes {
            *note = self.text(note);
        }
        let server = &mut end.server;
        let said = server.stderr_tail.iter_mut().chain(&mut server.info);
        for text in said.chain(&mut server.killed) {
            *text = self.text(text);
        }
    }
}

/// The secrets of all calls of a job: what one step is given, another may be told.
pub(crate) fn secrets(ready: &Ready) -> Secrets {
    let steps = ready.job.steps.iter().zip(&ready.launches);
    Secrets::all(steps.map(|(step, launch)| Hidden::new(step, launch).0))
}

/// Every text and number in a secret value: a server may repeat a part of it.
fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        // Without its sign, which another spelling leaves out, and without its point.
        Value::Number(number) => {
            let text = number.to_string();
            let (digits, _) = text.split_once(['e', 'E']).unwrap_or((&text, ""));
            let digits = digits.trim_start_matches('-');
            into.push(digits.to_owned());
            if digits.contains('.') {
                into.push(digits.replace('.', ""));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(object) => object.values().for_each(|item| collect(item, into)),
        Value::Null | Value::Bool(_) => {}
    }
}
