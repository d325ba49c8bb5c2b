//! The result data of a step: a part of the answer, or, if it is large, a file that the answer names.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    assets::{Finished, Prepared, Staging, Store, StoreError},
    catalog::{Entry, ResultKind},
    mcp::Raw,
    task::{LARGEST_RESULT, hexadecimal, is_deeper, printed},
};

use super::{context::Context, document::Document};

/// The result data of a step (R-000-27).
#[derive(Debug)]
pub(super) enum ResultData {
    Inline(Value),
    Spilled(Spilled),
}

/// A result for a file whose name is its hash. It is written only when it is placed, because a later step may replace
/// the result or fail.
#[derive(Debug)]
pub(super) struct Spilled {
    text: Raw,
    /// Lower-case hex.
    sha256: String,
}

/// `result_data` of a step, or none if its only result is an asset (R-000-27, R-000-44).
pub(super) fn result_data(entry: &Entry, document: Option<Document>) -> Option<ResultData> {
    match entry.result.kind {
        ResultKind::Asset => None,
        ResultKind::Analysis | ResultKind::Metadata => document.map(settle),
    }
}

fn settle(document: Document) -> ResultData {
    let text = match document {
        Document::Read(value) if fits_into_answer(&value) => {
            tracing::info!("The result goes into the answer.");
            return ResultData::Inline(match value {
                object @ Value::Object(_) => object,
                // The envelope's field is an object or null.
                other => json!({ "result": other }),
            });
        }
        Document::Read(value) => Raw::from(value.to_string()),
        Document::Large(raw) => raw,
    };
    ResultData::Spilled(Spilled {
        sha256: hexadecimal(&Sha256::digest(text.get())),
        text,
    })
}

impl Spilled {
    fn bytes(&self) -> usize {
        self.text.get().len()
    }

    /// Writes the file and prepares it for its place beside the assets of the session.
    pub(super) fn prepare(
        &self,
        staging: &Staging,
        store: &Store,
        context: &Context<'_>,
    ) -> Result<Prepared, StoreError> {
        let name = format!("sha256-{}.json", self.sha256);
        let staged = staging.write(&name, self.text.get().as_bytes())?;
        store.prepare(Finished {
            session_id: context.session_id,
            file_name: &name,
            staged: &staged,
            seen: None,
            operation_id: context.desk.operation_id,
            go_on: &|| context.go_on().is_ok(),
        })
    }

    /// The value that replaces the result in the answer.
    pub(super) fn reference(&self, storage_uri: &str) -> Value {
        json!({ "$blob": {
            "storage_uri": storage_uri,
            "media_type": "application/json",
            "bytes": self.bytes(),
            "sha256": self.sha256,
        } })
    }

    /// For `audit.compliance_notes`.
    pub(super) fn note(&self) -> String {
        format!(
            "The result, {} bytes, is too long for the answer, or nested too deep; it is in the file that `result_data` names.",
            self.bytes()
        )
    }
}

/// The deepest nesting of a result. The reader of answers accepts 127 levels, and an answer adds a few levels.
const LEVELS: usize = 100;

pub(super) fn fits_into_answer(value: &Value) -> bool {
    !is_deeper(value, LEVELS) && printed(value) <= LARGEST_RESULT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_or_nested_too_deep_when_it_is_printed_is_a_file() {
        let nested =
            |levels: usize| (0..levels).fold(json!("\"".repeat(10)), |inner, _| json!([inner]));
        for (value, is_inline) in [
            (json!("x".repeat(LARGEST_RESULT - 12)), true),
            (json!("x".repeat(LARGEST_RESULT)), false),
            (json!("\u{85}".repeat(LARGEST_RESULT / 3)), false),
            (nested(100), true),
            (nested(101), false),
        ] {
            let data = settle(Document::Read(value));
            assert_eq!(matches!(data, ResultData::Inline(_)), is_inline);
        }
    }
}
