//! Why an edit was not made.

use crate::task::{Failure, Fault};

use super::{JsonPath, Language, Position, Sought};

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
    #[error("{sought} is nowhere in the file; {hint}")]
    PatternNotFound {
        sought: Sought,
        /// Where something like it is, or why nothing matches.
        hint: String,
    },
    #[error(
        "{sought} was found {found} times (lines {lines}), not {wanted}; lengthen it until it is unique, or {}",
        sought.all_of_them()
    )]
    PatternAmbiguous {
        sought: Sought,
        found: usize,
        wanted: usize,
        /// The first of them.
        lines: String,
    },
    #[error(
        "{sought} is found at two places that overlap (they start in the lines {first} and {second}), so it is not \
         clear which is meant, whatever the count is; lengthen it until its places do not overlap"
    )]
    PatternOverlaps {
        sought: Sought,
        first: usize,
        second: usize,
    },
    #[error(
        "there is no line {line}: the file ends with line {last}, so {allowed} is the largest number here"
    )]
    LineOutOfRange {
        line: u64,
        last: usize,
        allowed: usize,
    },
    /// A hunk that does not fit.
    #[error("{0}")]
    Misfit(String),
    /// A hunk that fits at more than one place.
    #[error("{0}")]
    MisfitOften(String),
    #[error("{path}: {problem}")]
    PlaceNotFound { path: JsonPath, problem: String },
    /// An edit that could change something else.
    #[error("{0}")]
    Refused(String),
    #[error("{} not valid {language}: {problem}{}", when.words(), place(*at))]
    Invalid {
        language: Language,
        problem: String,
        at: Option<Position>,
        when: When,
    },
    #[error("the result would be no valid JSON Schema: {problem}")]
    SchemaInvalid { problem: String },
    /// An edit that makes sense in no file, or not in this kind of file.
    #[error("{0}")]
    Unfit(String),
    #[error("the result would have more than the {most} bytes that a file may have here")]
    TooLarge { most: u64 },
    /// The text is longer than a text of this language may be.
    #[error("the text has {bytes} bytes; {language} is read up to {most} bytes")]
    TooLong {
        language: Language,
        bytes: usize,
        most: usize,
    },
    #[error("{}", .0.message)]
    Stopped(Failure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

impl When {
    const fn words(self) -> &'static str {
        match self {
            Self::Before => "the file is",
            Self::After => "the result would be",
        }
    }
}

fn place(at: Option<Position>) -> String {
    at.map_or_else(String::new, |at| format!(" at {at}"))
}

impl EditError {
    /// The result of an edit is not what was meant.
    pub(super) fn risky(problem: &str) -> Self {
        Self::Refused(format!(
            "the edit cannot be made safely: its result {problem}; make it with text_replace"
        ))
    }

    pub(super) fn after(mut self) -> Self {
        if let Self::Invalid { when, .. } = &mut self {
            *when = When::After;
        }
        self
    }
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let fault = match &error {
            EditError::NotText { .. } | EditError::Nul { .. } => Fault::NotText,
            EditError::PatternNotFound { .. } | EditError::Misfit(_) => Fault::PatternNotFound,
            EditError::PatternAmbiguous { .. }
            | EditError::PatternOverlaps { .. }
            | EditError::MisfitOften(_) => Fault::PatternAmbiguous,
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
