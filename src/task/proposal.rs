//! What an agent proposes (003, "The four kinds"). A standard action becomes a task of capabilities. An improvised action
//! becomes the task of its declared steps, or a grant for such tasks. The others are answered, and never performed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::{Risk, named::named};

named! {
    /// The kind of a proposal (R-003-03). A task of any other dialect is `standard`.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
    pub enum ProposalKind {
        /// An entry of the catalog, with its parameters.
        #[default]
        Standard = "standard",
        /// Several steps that no entry of the catalog describes.
        Improvised = "improvised",
        /// Advice to a person.
        Suggestion = "suggestion",
        /// A question, because too little is known to propose an action.
        Clarification = "clarification",
    }
}

/// What the ledger calls the action of an improvised proposal.
pub const IMPROVISED: &str = "improvised";

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

/// An improvised action whose calls the agent decides on as it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Improvised {
    /// The agent's name for it, which no entry of the catalog may have.
    pub name: Option<String>,
    pub summary: String,
    /// The risk that the agent states.
    pub stated: Risk,
    /// Part of the request: another salt makes it another request.
    pub salt: Option<String>,
    pub grant: Grant,
}

/// The steps of an improvised action that declares them.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The agent's name for the action, which no entry of the catalog may have.
    pub name: Option<String>,
    /// In the order in which they are performed.
    pub steps: Vec<DeclaredStep>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredStep {
    /// The name by which later steps refer to its result.
    pub id: String,
    pub entry: String,
    pub parameters: Map<String, Value>,
}

impl Declared {
    /// The most steps, so that a person can read all of them.
    pub const MOST: usize = 16;
}

/// The limits within which an agent wants to make calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Each of them once.
    pub entries: BTreeSet<String>,
    pub max_calls: u32,
    pub lasts: Duration,
}

impl Grant {
    pub const MOST_ENTRIES: usize = 32;
    /// All ids together, in bytes: the link of the grant contains them.
    pub const MOST_BYTES: usize = 2048;
    pub const MOST_CALLS: u32 = 50;
    pub const LONGEST: Duration = Duration::from_hours(1);
    /// A call of this risk waits for an approval of its own.
    pub const NOT_COVERED: Risk = Risk::High;
}

/// A grant that a person has approved, as its link records it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Granted {
    /// The id of each entry, and its seal: the beginning of a hash of the entry and of its approval rule.
    pub entries: BTreeMap<String, String>,
    pub max_calls: u32,
    /// RFC 3339, UTC.
    pub until: String,
}
