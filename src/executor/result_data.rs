//! The result data of a step: a part of the answer, or, if it is large, a file that the answer names.

use std::borrow::Cow;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    assets::{Finished, Prepared, Staging, Store, StoreError},
    catalog::{Entry, ResultKind},
    mcp::Raw,
    task::{LARGEST_RESULT, Outcome, decided, hexadecimal, is_deeper, printed},
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
        Document::Read(value) => {
            let bytes = printed(&shown(&value));
            if bytes <= LARGEST_RESULT {
                tracing::info!("The result, {bytes} bytes, goes into the answer.");
                return ResultData::Inline(match value {
                    object @ Value::Object(_) => object,
                    // The envelope's field is an object or null.
                    other => json!({ "result": other }),
                });
            }
            Raw::from(value.to_string())
        }
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
            operation_id: context.operation_id,
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
            "The result, {} bytes, is too long for the answer; it is in the file that `result_data` names.",
            self.bytes()
        )
    }
}

/// The deepest nesting of a result. The reader of answers accepts 127 levels, and an answer adds a few levels.
const LEVELS: usize = 100;

/// A result as the answer contains it: one that is nested deeper is a string with its JSON.
fn shown(data: &Value) -> Cow<'_, Value> {
    if is_deeper(data, LEVELS) {
        Cow::Owned(json!({ "text": data.to_string() }))
    } else {
        Cow::Borrowed(data)
    }
}

/// Replaces a result that is nested deeper by a string with its JSON, because a recorded answer must be readable.
pub(super) fn bound(outcome: &mut Outcome) {
    let results = [&mut outcome.result_data, &mut outcome.unfit_result];
    let mut results = results.into_iter().flatten();
    let Some(data) = results.find(|data| is_deeper(data, LEVELS)) else {
        return;
    };
    *data = shown(data).into_owned();
    let told = format!(
        "result_as_text: the result has more than {LEVELS} levels and is given as a string that contains its JSON"
    );
    tracing::warn!("{told}");
    outcome.notes.push(decided(format!("{told}.")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Phase, State};

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn what_is_too_long_when_it_is_printed_is_a_file() {
        let quotes = |levels: usize, count: usize| {
            (0..levels).fold(json!("\"".repeat(count)), |inner, _| json!([inner]))
        };
        for (value, is_inline) in [
            (json!("x".repeat(LARGEST_RESULT - 12)), true),
            (json!("x".repeat(LARGEST_RESULT)), false),
            (json!("\u{85}".repeat(LARGEST_RESULT / 3)), false),
            (quotes(100, LARGEST_RESULT / 3), true),
            // As a text with its JSON, it has twice the length.
            (quotes(101, LARGEST_RESULT / 3), false),
        ] {
            let data = settle(Document::Read(value));
            assert_eq!(matches!(data, ResultData::Inline(_)), is_inline);
        }
    }

    #[test]
    fn what_is_nested_too_deep_becomes_a_text() {
        for (levels, is_text) in [(1, false), (100, false), (101, true), (126, true)] {
            let value = nested(levels);
            let expected = if is_text {
                json!({ "text": value.to_string() })
            } else {
                value.clone()
            };
            let none = || Outcome::nothing_done(State::Done, Phase::Complete, None);
            for (mut outcome, fits) in [
                (
                    Outcome {
                        result_data: Some(value.clone()),
                        ..none()
                    },
                    true,
                ),
                (
                    Outcome {
                        unfit_result: Some(value.clone()),
                        ..none()
                    },
                    false,
                ),
            ] {
                bound(&mut outcome);
                let kept = if fits {
                    outcome.result_data
                } else {
                    outcome.unfit_result
                };
                assert_eq!(kept.as_ref(), Some(&expected), "{levels} {fits}");
                assert_eq!(!outcome.notes.is_empty(), is_text, "{levels} {fits}");
            }
        }
    }
}
