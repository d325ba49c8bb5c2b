//! What may be asked of file plans, as it arrived: the room `plan` reads the values.

use serde_json::Value;

/// A plan to carry out.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOrder {
    /// `task_plan`, unread.
    pub plan: Value,
    /// YAML text, or the same as an object; unread.
    pub system_config: Option<Value>,
    pub validation: Validation,
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

/// A finished plan to undo, wholly or partly (R-001-105, R-001-109, R-001-110).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackOrder {
    pub plan: PlanName,
    /// Empty = all of them.
    pub checkpoints: Vec<String>,
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
