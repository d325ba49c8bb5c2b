//! Why a catalog cannot be read.

use std::io;

use camino::Utf8PathBuf;

use super::code::{Code, Wrong};
use crate::task::{Failure, Fault};

/// The most bytes of a catalog.
pub(super) const LARGEST: u64 = 8 << 20;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CatalogError {
    #[error(
        "there is no catalog at {path}; write one with `oneact import` or `oneact init`, or name one with --catalog"
    )]
    Missing { path: Utf8PathBuf },
    #[error("cannot read the catalog {path}: {source}")]
    Unreadable {
        path: Utf8PathBuf,
        source: io::Error,
    },
    #[error("{path} is not a catalog: a catalog must be a regular file of at most {} MiB", LARGEST >> 20)]
    NoCatalog { path: Utf8PathBuf },
    #[error("{0}")]
    Invalid(Wrong),
}

impl CatalogError {
    /// The same error with the code of its finding.
    pub(crate) fn coded(self, code: Code) -> Self {
        match self {
            Self::Invalid(wrong) => Self::Invalid(Wrong { code, ..wrong }),
            other => other,
        }
    }
}

impl From<CatalogError> for Wrong {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Invalid(wrong) => wrong,
            other => Self::nowhere(Code::default(), other.to_string()),
        }
    }
}

impl From<CatalogError> for Failure {
    fn from(error: CatalogError) -> Self {
        Self::new(Fault::CatalogInvalid, error.to_string())
    }
}
