//! What may be asked of file plans, as it arrived: the room `plan` reads the values.

use serde_json::Value;

use super::{Failure, Fault};

/// The most actions of one plan: ours, so that a person can read it.
pub const MAX_ACTIONS: usize = 1000;

/// Why a plan with so many actions is not read.
pub fn too_many_actions(actions: usize) -> Failure {
    let message = format!(
        "`action_plan` has {actions} actions, and a plan can have {MAX_ACTIONS}; split the plan"
    );
    Failure::new(Fault::LimitExceeded, message)
}

/// A plan to carry out.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOrder {
    /// `task_plan`, unread.
    pub plan: Value,
    /// YAML text, or the same as an object; unread.
    pub system_config: Option<Value>,
    pub validation: Validation,
    /// Makes a request another one: "yes, again".
    pub salt: Option<String>,
}

/// What a task of capabilities says of a file plan. Whether its capability carries plans out, the catalog
/// knows; a tool may well have a parameter called `plan`.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// The plan itself; where there is none, an input reference leads to it.
    pub plan: Option<Value>,
    pub system_config: Option<Value>,
    pub validation: Validation,
    pub place: CarriedIn,
}

/// Where a task says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CarriedIn {
    /// Beside `capability_ids`: meant for oneact.
    Task,
    /// In `parameters`: a tool's, unless the capability carries plans out.
    Parameters,
}

/// What the protocol layer says of the plan (R-001-28, R-001-30, C-17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    /// `true`, `"APPROVED"`, or a validation block whose checksum fits the payload.
    Approved,
    /// Nothing is said of it.
    Unsaid,
    /// It is said not to be approved, or the checksum does not fit: the reason, for people.
    Refused(String),
}

impl Validation {
    /// Both are said: a refusal wins over an approval, and anything over silence.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Refused(why), _) | (_, Self::Refused(why)) => Self::Refused(why),
            (Self::Approved, _) | (_, Self::Approved) => Self::Approved,
            (Self::Unsaid, Self::Unsaid) => Self::Unsaid,
        }
    }
}

/// A finished plan to undo, wholly or partly (R-001-105, R-001-109, R-001-110).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackOrder {
    pub plan: PlanName,
    /// Empty = all of them.
    pub checkpoints: Vec<String>,
    pub belief: Belief,
}

/// Whose journal a rollback goes by: a report directory that was copied here may be anybody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belief {
    /// One that was written where it lies.
    WrittenHere,
    /// The one that a person named, wherever it was written.
    Named,
}

/// Which plan is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanName {
    /// The report directory or the manifest in it, as given.
    Path(String),
    ManifestId(String),
    PlanId(String),
    TaskId(String),
}
