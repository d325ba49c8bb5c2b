//! Where the result data of a step goes: into the answer, or, if that would make the answer too
//! large to be handled, into a file of its own that the answer names.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    assets::{Prepared, Staging, Store, StoreError},
    catalog::{Entry, ResultKind},
    mcp::Raw,
    task::hexadecimal,
};

use super::document::{Document, INLINE_MAX};

/// The result data of a step (R-000-27).
#[derive(Debug)]
pub(super) enum ResultData {
    Inline(Value),
    Spilled(Spilled),
}

/// A result for a file, named by its content: the same result is the same file. Written only when it
/// is placed: a later step may have found out more, or failed.
#[derive(Debug)]
pub(super) struct Spilled {
    text: Raw,
    /// Lower-case hex.
    sha256: String,
}

/// `result_data` of a step: null where the asset is all there is (R-000-27, R-000-44).
pub(super) fn result_data(entry: &Entry, document: Option<Document>) -> Option<ResultData> {
    match entry.result.kind {
        ResultKind::Asset => None,
        ResultKind::Analysis | ResultKind::Metadata => document.map(settle),
    }
}

fn settle(document: Document) -> ResultData {
    let text = match document {
        Document::Read(value) => {
            let text = value.to_string();
            if text.len() <= INLINE_MAX {
                tracing::info!("The result, {} bytes, goes into the answer.", text.len());
                return ResultData::Inline(match value {
                    object @ Value::Object(_) => object,
                    // The envelope's field is an object or null.
                    other => json!({ "value": other }),
                });
            }
            Raw::from(text)
        }
        Document::Large(raw) => raw,
    };
    ResultData::Spilled(Spilled {
        sha256: hexadecimal(&Sha256::digest(text.get())),
        text,
    })
}

impl Spilled {
    fn file_name(&self) -> String {
        format!("sha256-{}.json", self.sha256)
    }

    fn bytes(&self) -> usize {
        self.text.get().len()
    }

    /// Written, and ready for its place beside the assets of its session.
    pub(super) fn prepare(
        &self,
        staging: &Staging,
        store: &Store,
        session_id: &str,
    ) -> Result<Prepared, StoreError> {
        let name = self.file_name();
        let staged = staging.write(&name, self.text.get().as_bytes())?;
        store.prepare(session_id, &name, &staged, None)
    }

    /// What the answer says in place of the result.
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
            "The result has {} bytes, more than the {INLINE_MAX} an answer carries; it is in the file that `result_data` names.",
            self.bytes()
        )
    }
}
