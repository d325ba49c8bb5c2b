//! Where the result data of a step goes: into the answer, or, if that would make the answer too
//! large to be handled, into a file of its own that the answer names.

use camino::Utf8PathBuf;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    assets::{Prepared, Staging, Store, StoreError},
    catalog::{Entry, ResultKind},
    mcp::Raw,
    task::hexadecimal,
};

use super::document::Document;

/// A result of more bytes than this is no part of the answer. An orchestrator that reads answers
/// into a model's context has lost long before; one that wants the data reads the file.
pub(super) const INLINE_MAX: usize = 1 << 20;

/// The result data of a step (R-000-27).
#[derive(Debug)]
pub(super) enum ResultData {
    Inline(Value),
    Spilled(Spilled),
}

/// A result in a staged file, named by its content: the same result is the same file.
#[derive(Debug)]
pub(super) struct Spilled {
    staged: Utf8PathBuf,
    bytes: usize,
    /// Lower-case hex.
    sha256: String,
}

/// `result_data` of a step: null where the asset is all there is (R-000-27, R-000-44).
pub(super) fn result_data(
    entry: &Entry,
    document: Option<Document>,
    staging: &Staging,
) -> Result<Option<ResultData>, StoreError> {
    match (&entry.result.kind, document) {
        (ResultKind::Asset { .. }, _) | (_, None) => Ok(None),
        (ResultKind::Analysis { .. } | ResultKind::Metadata, Some(document)) => {
            settle(document, staging).map(Some)
        }
    }
}

fn settle(document: Document, staging: &Staging) -> Result<ResultData, StoreError> {
    let text = match document {
        Document::Read(value) => {
            let text = value.to_string();
            if text.len() <= INLINE_MAX {
                return Ok(ResultData::Inline(match value {
                    object @ Value::Object(_) => object,
                    // The envelope's field is an object or null.
                    other => json!({ "value": other }),
                }));
            }
            Raw::from(text)
        }
        Document::Large(raw) => raw,
    };
    let bytes = text.get().as_bytes();
    let sha256 = hexadecimal(&Sha256::digest(bytes));
    Ok(ResultData::Spilled(Spilled {
        staged: staging.write(&format!("result-{sha256}"), bytes)?,
        bytes: bytes.len(),
        sha256,
    }))
}

impl Spilled {
    fn file_name(&self) -> String {
        format!("sha256-{}.json", self.sha256)
    }

    /// Ready for its place beside the assets of its session.
    pub(super) fn prepare(&self, store: &Store, session_id: &str) -> Result<Prepared, StoreError> {
        store.prepare(session_id, &self.file_name(), &self.staged)
    }

    /// What the answer says in place of the result.
    pub(super) fn reference(&self, storage_uri: &str) -> Value {
        json!({ "$blob": {
            "storage_uri": storage_uri,
            "media_type": "application/json",
            "bytes": self.bytes,
            "sha256": self.sha256,
        } })
    }

    /// For `audit.compliance_notes`.
    pub(super) fn note(&self) -> String {
        format!(
            "The result has {} bytes, more than the {INLINE_MAX} an answer carries; it is in the file that `result_data` names.",
            self.bytes
        )
    }
}
