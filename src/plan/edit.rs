//! Changes inside files: bytes in, bytes out, nothing outside the edit moved. Pure.

use super::model::Edit;
use crate::task::{Failure, Fault, RelPath};

/// A place in a JSON or YAML document: an RFC 9535 singular query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath {}

impl JsonPath {
    pub(crate) fn parse(text: &str) -> Result<Self, EditError> {
        if text.starts_with('$') {
            Ok(Self {})
        } else {
            Err(EditError::NotText)
        }
    }
}

/// What `text_replace` looks for.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Literal(String),
    Regex(regex::bytes::Regex),
}

impl Pattern {
    pub(crate) fn literal(text: &str) -> Result<Self, EditError> {
        if text.is_empty() {
            return Err(EditError::NotText);
        }
        Ok(Self::Literal(text.to_owned()))
    }

    pub(crate) fn regex(text: &str) -> Result<Self, EditError> {
        regex::bytes::Regex::new(text)
            .map(Self::Regex)
            .map_err(|_| EditError::NotText)
    }
}

/// A file after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edited {
    pub(crate) bytes: Vec<u8>,
    /// What was done, in a sentence: `Property 'new_field' added successfully` (R-001-178).
    pub(crate) said: String,
}

/// Makes one edit. The name tells the language of the file (`.json`, `.jsonc`, `.yaml`, `.yml`).
pub(crate) fn edit(_edit: &Edit, _name: &RelPath, _before: &[u8]) -> Result<Edited, EditError> {
    Err(EditError::NotText)
}

/// Why an edit was not made. Nothing was changed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EditError {
    #[error("the file is not UTF-8 text")]
    NotText,
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        Self::new(Fault::PlanInvalid, error.to_string())
    }
}
