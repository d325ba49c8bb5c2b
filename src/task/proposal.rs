//! What an agent proposes (003, "The four kinds"). A standard action becomes a task of capabilities. The others are
//! answered, and never performed.

use serde::Serialize;
use serde_json::Number;

/// The kind of a proposal (R-003-03). A task of any other dialect is `standard`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An entry of the catalog, with its parameters.
    #[default]
    Standard,
    /// Several steps that no entry of the catalog describes.
    Improvised,
    /// Advice to a person.
    Suggestion,
    /// A question, because too little is known to propose an action.
    Clarification,
}

impl Kind {
    pub const ALL: [Self; 4] = [
        Self::Standard,
        Self::Improvised,
        Self::Suggestion,
        Self::Clarification,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Improvised => "improvised",
            Self::Suggestion => "suggestion",
            Self::Clarification => "clarification",
        }
    }
}

/// The card that a person sees (R-003-11, R-003-12). It has a title or a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub rationale: Option<String>,
    /// The agent's own confidence, from 0 to 1.
    pub confidence: Option<Number>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clarification {
    /// What is missing (R-003-17). Never empty.
    pub blocked_on: Vec<String>,
    /// What the clarification is about, in the agent's words.
    pub texts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Improvised {
    /// The agent's name for it, which no entry of the catalog may have.
    pub name: Option<String>,
}
