//! What no record may show: values of the environment, secret parameters, presign parts (invariant 7).
//!
//! The tool sees them all; its answer, in whatever words, is cut before it becomes part of an outcome.

use serde_json::{Map, Value};

use crate::{
    catalog::Step,
    mcp::Secrets,
    task::{Failure, redact_presigned},
};

use super::{
    Ready,
    document::Document,
    launch::Launch,
    tool::{self, End},
};

/// The secrets of one call.
pub(super) struct Hidden {
    values: Vec<String>,
    secrets: Secrets,
}

/// A value as short as a flag is no secret, and cutting it out would garble every text.
const SHORTEST: usize = 4;

impl Hidden {
    /// What the server was handed from the environment, and what stands at the entry's `secret`
    /// pointers.
    pub(super) fn new(step: &Step, launch: &Launch) -> Self {
        let mut values = launch.spec().secrets.clone();
        let parameters = Value::Object(step.parameters.clone());
        for pointer in &step.entry.secret {
            if let Some(secret) = parameters.pointer(pointer) {
                collect(secret, &mut values);
            }
        }
        values.retain(|value| value.len() >= SHORTEST);
        let secrets = Secrets::new(&values);
        Self { values, secrets }
    }

    /// For the room that reads what the server writes.
    pub(super) fn values(&self) -> &[String] {
        &self.values
    }

    /// A text for people.
    pub(super) fn text(&self, text: &str) -> String {
        redact_presigned(&self.secrets.cut(text)).into_owned()
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
        document.without(&self.secrets)
    }

    /// The parameters of the call as records may show them: an entry's secret may stand in others too.
    pub(super) fn parameters(&self, step: &Step) -> Map<String, Value> {
        let shown = tool::shown(&step.entry, &step.parameters);
        match self.secrets.cut_value(Value::Object(shown)) {
            Value::Object(shown) => shown,
            _ => Map::new(),
        }
    }

    /// All else of a step's end that came from its server.
    pub(super) fn clean(&self, end: &mut End) {
        // No result: not even a URL is there to be used.
        if let Some(answer) = end.unfit_result.take() {
            let mut answer = self.secrets.cut_value(answer);
            tool::redact(&mut answer);
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
    let values: Vec<String> = steps
        .flat_map(|(step, launch)| Hidden::new(step, launch).values)
        .collect();
    Secrets::new(&values)
}

/// Every text and number in a secret value: a server may repeat a part of it.
fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Number(number) => into.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(object) => object.values().for_each(|item| collect(item, into)),
        Value::Null | Value::Bool(_) => {}
    }
}
