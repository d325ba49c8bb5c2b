//! The codes of the findings about a catalog, which `oneact catalog check` prints, and an error with its code and its place.

use std::{fmt, sync::OnceLock};

use camino::Utf8PathBuf;
use serde::{
    Deserialize,
    de::{IntoDeserializer as _, value::Error},
};

/// The number of a finding. A finding keeps its number in later versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Code {
    /// An unknown key, a wrong type, or a value that cannot be used.
    #[default]
    CAT001,
    /// An id of an unusual form.
    CAT002,
    /// An alias that is also an id, or an alias of another entry.
    CAT003,
    /// No executor, or several.
    CAT004,
    /// An action that is not available in the context of proposals (R-003-39).
    CAT010,
    /// An action without a parameter schema.
    CAT011,
    /// An action that state machines call too.
    CAT012,
    /// An amplifier outside the vocabulary (C-30).
    CAT020,
    /// Hints that contradict each other.
    CAT021,
    /// A risky entry that never waits for an approval.
    CAT030,
    /// Effects that are not stated.
    CAT031,
    /// `reuse` of an open-world answer without an end.
    CAT032,
    /// `reuse` of a call that may be destructive or not idempotent.
    CAT033,
    /// Approvals that the agent's own user could give.
    CAT034,
    /// A parameter that the schema does not have.
    CAT040,
    /// A default that does not fit the schema.
    CAT041,
    /// A schema or a pattern that does not compile.
    CAT042,
    /// A `secret` that names no parameter.
    CAT043,
    /// An asset without a format that can be checked.
    CAT050,
    /// An analysis whose result cannot be checked for completeness.
    CAT051,
    /// A server that cannot be asked, or whose tool is missing or takes other parameters than the entry sends.
    CAT060,
    /// A hint of a server that is worse than the entry says.
    CAT061,
    /// A tool whose description is not the one that was pinned.
    CAT062,
    /// A step that is unknown, nested or not earlier, a bad reference, or too many steps.
    CAT070,
    /// A workflow that is available where one of its steps is not.
    CAT071,
    /// A workflow that declares less risk than its steps have.
    CAT072,
    /// A description that does not fit into a list.
    CAT080,
    /// A synthesis capability, which belongs to another agent (R-000-111).
    CAT090,
    /// A difference between the catalog and the application document, or a document that cannot be read.
    CAT091,
}

/// What separates a code from the text of an error of serde, which carries nothing but text.
const MARK: char = '\u{1f}';

impl Code {
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// The text of an error of serde that carries the code.
    pub(crate) fn with(self, text: impl fmt::Display) -> String {
        format!("{self:?}{MARK}{text}")
    }

    /// The code that such a text carries, and the rest.
    pub(crate) fn split(text: &str) -> (Self, &str) {
        let (name, rest) = text.split_once(MARK).unwrap_or(("", text));
        let code: Result<Self, Error> = Self::deserialize(name.into_deserializer());
        (code.unwrap_or_default(), rest)
    }
}

/// An error with its code and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) code: Code,
    pub(crate) place: Option<FileLine>,
    pub(crate) problem: String,
}

impl Wrong {
    /// An error that has no place in a file.
    pub(crate) fn nowhere(code: Code, problem: String) -> Self {
        Self {
            code,
            place: None,
            problem,
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.problem)
    }
}

/// `catalog.toml:131`, for a person to open.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileLine {
    pub(crate) path: Utf8PathBuf,
    pub(crate) line: usize,
}

impl fmt::Display for FileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// The bytes at which the lines of a text end. They are looked up at the first question.
#[derive(Debug, Default)]
pub(crate) struct Lines(OnceLock<Vec<usize>>);

impl Lines {
    /// The number of the line in which this byte of the text is, counted from 1.
    pub(crate) fn of(&self, text: &str, at: usize) -> usize {
        let ends = || text.match_indices('\n').map(|(end, _)| end).collect();
        let ends: &Vec<usize> = self.0.get_or_init(ends);
        ends.partition_point(|end| *end < at) + 1
    }
}
