//! Why an edit was not made, and where.

use crate::task::{Failure, Fault};

use super::language::Language;

/// Why an edit was not made. Nothing was changed. The messages do not name the file.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub(crate) enum EditError {
    #[error(
        "the file is not UTF-8 text: invalid byte at offset {offset}; replace it as a whole with replace_content"
    )]
    NotText { offset: usize },
    #[error(
        "the file is not UTF-8 text: there is a NUL byte at offset {offset}, as in UTF-16 or in a program; replace it as a whole with replace_content"
    )]
    Nul { offset: usize },
    /// A text or a hunk that is nowhere in the file.
    #[error("{0}")]
    NotFound(String),
    /// A text or a hunk that is at more than one place.
    #[error("{0}")]
    Ambiguous(String),
    #[error(
        "there is no line {line}: the file ends with line {last}, so {allowed} is the largest number here"
    )]
    LineOutOfRange {
        line: u64,
        last: usize,
        allowed: usize,
    },
    #[error("{path}: {problem}")]
    PlaceNotFound { path: String, problem: String },
    /// An edit that could change something else.
    #[error("{0}")]
    Refused(String),
    #[error("{what} not valid {language}: {problem}{}", at.map(|at| format!(" at {at}")).unwrap_or_default())]
    Invalid {
        /// `the file is`, or `the result would be`.
        what: &'static str,
        language: Language,
        problem: String,
        at: Option<Position>,
    },
    #[error("the result would be no valid JSON Schema: {problem}")]
    SchemaInvalid { problem: String },
    /// An edit that makes sense in no file, or not in this kind of file.
    #[error("{0}")]
    Unfit(String),
    #[error("the result would have more than the {most} bytes that a file may have here")]
    TooLarge { most: u64 },
    /// The text is too long for what is done with it.
    #[error("the text has {bytes} bytes; {what} up to {most} bytes")]
    TooLong {
        what: &'static str,
        bytes: usize,
        most: usize,
    },
    #[error("{}", .0.message)]
    Stopped(Failure),
}

impl EditError {
    /// The result of an edit is not what was meant.
    pub(super) fn risky(problem: &str) -> Self {
        Self::Refused(format!(
            "the edit cannot be made safely: its result {problem}; make it with text_replace"
        ))
    }

    /// The error for a text that is not valid at that byte.
    pub(super) fn invalid(
        language: Language,
        problem: impl Into<String>,
        text: &str,
        at: impl Into<Option<usize>>,
    ) -> Self {
        Self::Invalid {
            what: "the file is",
            language,
            problem: problem.into(),
            at: at.into().map(|at| Position::of(text, at)),
        }
    }

    /// The error of a result in place of the error of a file.
    pub(super) fn of_result(mut self) -> Self {
        if let Self::Invalid { what, .. } = &mut self {
            *what = "the result would be";
        }
        self
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let fault = match &error {
            EditError::NotText { .. } | EditError::Nul { .. } => Fault::NotText,
            EditError::NotFound(_) => Fault::PatternNotFound,
            EditError::Ambiguous(_) => Fault::PatternAmbiguous,
            EditError::LineOutOfRange { .. } => Fault::LineOutOfRange,
            EditError::PlaceNotFound { .. } => Fault::PlaceNotFound,
            EditError::Refused(_) => Fault::EditRefused,
            EditError::Invalid { .. } => Fault::ContentInvalid,
            EditError::SchemaInvalid { .. } => Fault::SchemaInvalid,
            EditError::Unfit(_) => Fault::PlanInvalid,
            EditError::TooLarge { .. } | EditError::TooLong { .. } => Fault::LimitExceeded,
            EditError::Stopped(failure) => return failure.clone(),
        };
        Self::new(fault, error.to_string())
    }
}

/// The result of a check, unless the check was given up before its end.
pub(super) fn unless_given_up<T>(
    looked: Result<T, EditError>,
) -> Result<Result<T, EditError>, EditError> {
    match looked {
        Err(error @ (EditError::Stopped(_) | EditError::TooLong { .. })) => Err(error),
        looked => Ok(looked),
    }
}

/// Where a byte is, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Counted from 1.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
}

impl Position {
    pub(super) fn of(body: &str, at: usize) -> Self {
        let before = body.get(..at).unwrap_or(body);
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
