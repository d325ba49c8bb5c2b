//! The languages of documents.

use crate::task::RelPath;

use super::{EditError, Position, When};

/// The language of a file, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    Yaml,
}

impl Language {
    pub(super) fn of(name: &RelPath) -> Option<Self> {
        let ending = name.as_path().extension()?.to_ascii_lowercase();
        match ending.as_str() {
            "json" | "jsonc" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

impl Language {
    /// The error for a text that is not valid at that byte.
    pub(super) fn invalid(
        self,
        problem: impl Into<String>,
        text: &str,
        at: impl Into<Option<usize>>,
    ) -> EditError {
        EditError::Invalid {
            language: self,
            problem: problem.into(),
            at: at.into().map(|at| Position::of(text, at)),
            when: When::Before,
        }
    }
}

impl std::fmt::Display for Language {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Yaml => "YAML",
        })
    }
}
