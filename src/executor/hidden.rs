//! Redacts secrets: values of the environment, secret parameters, and presign parts of URLs (invariant 6).
//!
//! The tool receives all of them, so its answer is redacted before it becomes part of an outcome.

use serde_json::{Map, Value, value::RawValue};

use crate::{
    catalog::{Entry, Step},
    mcp::ServerSpec,
    task::{
        Ai, AiPrompt, AiResponse, CUT, Failure, Format, LARGEST_RESULT, Secrets, Unseen, abridged,
        has_all_members, redact_value,
    },
};

use super::{
    document::Document,
    work::{Ready, Work},
};

/// The secrets of one call, or of all calls of a job.
pub(crate) struct Hidden(Secrets);

impl Hidden {
    /// The values that the server receives from the environment, and those at the entry's `secret` pointers.
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

    /// The secrets of all calls of this work.
    pub(crate) fn of(work: &Work) -> Self {
        match work {
            Work::Tools(ready) => Self::all(ready),
            Work::Grant(grant) => Self(grant.secrets.clone()),
            Work::Files(_) | Work::Said(_) => Self(Secrets::default()),
        }
    }

    /// The secrets of all steps of the task, because a step may pass on those of another.
    pub(super) fn all(ready: &Ready) -> Self {
        let each = ready.job.steps.iter().zip(&ready.launches);
        let each = each.map(|(step, launch)| Self::new(step, launch).0);
        let others = ready.among.iter().map(|among| among.secrets.clone());
        Self(Secrets::all(each.chain(others)))
    }

    /// The same, and the tokens that were fetched for the call.
    pub(super) fn with(&self, fetched: Secrets) -> Self {
        Self(if fetched == self.0 {
            fetched
        } else {
            Secrets::all([self.0.clone(), fetched])
        })
    }

    /// The same with the presigned URLs of a call.
    pub(super) fn and(&self, secrets: Vec<String>) -> Self {
        Self(self.0.and(secrets))
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.0
    }

    /// Redacts a text for people.
    pub(super) fn text(&self, text: &str) -> String {
        self.0.shown(text)
    }

    /// Redacts a failure whose message may come from a tool.
    pub(super) fn failure(&self, failure: &Failure) -> Failure {
        Failure {
            message: self.text(&failure.message),
            ..*failure
        }
    }

    /// Redacts a result. Presign parts stay, because a URL may be the requested result.
    pub(super) fn document(&self, document: Document) -> Document {
        document.without(&self.0)
    }

    /// Redacts secrets in a text that becomes an asset. In the formats of JSON, JSON stays JSON.
    pub(super) fn asset(&self, text: &str, format: Format) -> String {
        match format {
            Format::Json => self.json(text),
            Format::JsonLines => {
                let lines = text.split_inclusive('\n');
                lines.map(|line| self.json(line)).collect()
            }
            _ => self.0.cut(text),
        }
    }

    /// Redacts secrets in JSON; the white space around it stays. JSON in which something is found is written anew.
    fn json(&self, text: &str) -> String {
        let cut = self.0.cut(text);
        if cut == text {
            return cut;
        }
        let Ok(json) = serde_json::from_str::<&RawValue>(text).map(RawValue::get) else {
            return cut;
        };
        let given = Document::Large(json.to_owned().into());
        let left = self.document(given.clone());
        // A member may hide another one of the same name.
        let stays = match (given.value(), left.value()) {
            (Ok(given), Ok(left)) => given == left && has_all_members(&given, json),
            (Err(_), _) | (_, Err(_)) => false,
        };
        match text.split_once(json) {
            Some((before, after)) if !stays => format!("{before}{left}{after}"),
            _ => text.to_owned(),
        }
    }

    pub(super) fn parameters(&self, step: &Step) -> Map<String, Value> {
        abridged(self.shown(&step.entry, &step.parameters))
    }

    /// Parameters for records: without the values at the entry's `secret` pointers, also in other parameters, and without
    /// signatures of URLs (invariant 6).
    pub(crate) fn shown(
        &self,
        entry: &Entry,
        parameters: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut all = Value::Object(undeclared(entry, parameters));
        redact_value(&mut all);
        match self.value(all) {
            Value::Object(shown) => shown,
            _ => Map::new(),
        }
    }

    /// Parameters for the person who approves them: also without secrets. The second part states in which parameters
    /// something was cut, the values at the entry's `secret` pointers not among them.
    pub(crate) fn approvable(
        &self,
        entry: &Entry,
        parameters: &Map<String, Value>,
    ) -> (Map<String, Value>, Vec<Unseen>) {
        self.0.approvable(undeclared(entry, parameters))
    }

    /// Redacts a value that is not a result, also the presign parts of its URLs.
    pub(crate) fn value(&self, value: Value) -> Value {
        let mut shown = self.0.cut_value(value);
        redact_value(&mut shown);
        shown
    }

    /// `aiPrompt` and `aiResponse` of a document, if they have the shape of specification 004 (R-004-14, R-004-15). Text
    /// that is too long for an answer is only in the result.
    pub(super) fn ai(&self, document: &Document) -> Ai {
        let text = |pointer: &str| {
            let found = document.pointer(pointer)?;
            found.as_str().map(|text| self.text(text))
        };
        let both = |one: &str, other: &str| {
            let both = (text(one)?, text(other)?);
            (both.0.len() + both.1.len() <= LARGEST_RESULT).then_some(both)
        };
        Ai {
            prompt: both("/aiPrompt/system", "/aiPrompt/user")
                .map(|(system, user)| AiPrompt { system, user }),
            response: both("/aiResponse/summary", "/aiResponse/raw")
                .map(|(summary, raw)| AiResponse { summary, raw }),
        }
    }
}

/// The parameters without the values at the entry's `secret` pointers.
fn undeclared(entry: &Entry, parameters: &Map<String, Value>) -> Map<String, Value> {
    let mut all = Value::Object(parameters.clone());
    for pointer in &entry.secret {
        if let Some(secret) = all.pointer_mut(pointer) {
            *secret = Value::from(CUT);
        }
    }
    match all {
        Value::Object(all) => all,
        // The pointer "" names all parameters.
        _ => Map::new(),
    }
}

/// Every text and number in a secret value, because a server may repeat a part of it.
fn collect(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Number(number) => {
            into.push(number.to_string().trim_start_matches('-').to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
        Value::Object(object) => object.values().for_each(|item| collect(item, into)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_an_asset_secrets_are_redacted_and_nothing_else() {
        let hidden = Hidden(Secrets::new(["7777", "hunter2-x"].map(ToOwned::to_owned)));
        let url = "see https://u:pw@h/?X-Amz-Signature=ff&a=1, or mail a@b.c\n";
        for (format, text, asset) in [
            (Format::Text, url, url),
            (Format::Text, "is hunter2-x\n", "is ***\n"),
            (
                Format::Json,
                "{\"n\": 7777, \"u\": \"https://u:pw@h\"}\n",
                "{\"n\":\"***\",\"u\":\"https://u:pw@h\"}\n",
            ),
            (Format::Json, "{\"n\": 1}\n", "{\"n\": 1}\n"),
            (Format::Json, "{7777", "{***"),
            // The last of two members with one name would hide the first one.
            (Format::Json, r#"{"a": "hunter2-x", "a": 1}"#, r#"{"a":1}"#),
            (Format::Json, r"[17777, true]", r"[17777, true]"),
            (
                Format::JsonLines,
                "{\"a\":7777}\n\n[1]\n",
                "{\"a\":\"***\"}\n\n[1]\n",
            ),
        ] {
            assert_eq!(hidden.asset(text, format), asset, "{text}");
        }
    }
}
