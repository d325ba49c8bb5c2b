//! A plan whose paths, patterns and numbers are all valid.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::{ActionType, RelPath, Risk};

use super::{edit::Edit, limits::Limits};

/// A validated plan (001 §3.3) with what it may touch.
#[derive(Debug)]
#[expect(
    clippy::struct_field_names,
    reason = "`plan_id` is the specification's name"
)]
pub(crate) struct Plan {
    /// Need not be a UUID (R-001-40).
    pub(crate) plan_id: String,
    /// As written, at least one; ids differ, dependencies exist and form no cycle.
    pub(crate) actions: Vec<Action>,
    pub(crate) instructions: Instructions,
    pub(crate) limits: Limits,
    /// Sentences about assumptions and ignored keys.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ActionId(pub(crate) String);

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One item of `action_plan` (001 §3.3).
#[derive(Debug)]
pub(crate) struct Action {
    pub(crate) id: ActionId,
    pub(crate) target: RelPath,
    pub(crate) operation: Operation,
    pub(crate) depends_on: Vec<ActionId>,
    pub(crate) risk: Risk,
    /// Run after the plan was applied (R-001-81).
    pub(crate) rules: Vec<Rule>,
    pub(crate) timeout: Duration,
}

#[derive(Debug)]
pub(crate) enum Operation {
    Create {
        content: Vec<u8>,
        /// Permission bits; none = 0666 under the umask.
        mode: Option<u32>,
    },
    Modify(Edit),
    Delete,
    Rename {
        to: RelPath,
    },
    SchemaUpdate(Edit),
}

impl Operation {
    pub(crate) fn action_type(&self) -> ActionType {
        match self {
            Self::Create { .. } => ActionType::FileCreate,
            Self::Modify(_) => ActionType::FileModify,
            Self::Delete => ActionType::FileDelete,
            Self::Rename { .. } => ActionType::FileRename,
            Self::SchemaUpdate(_) => ActionType::SchemaUpdate,
        }
    }
}

/// 001 §4.2's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ChangeKind {
    Create,
    Modify,
    Delete,
    Rename,
}

/// A condition for a file after the plan. `on_failure` says what happens if it does not hold.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) target: RelPath,
    pub(crate) condition: Condition,
    pub(crate) on_failure: Broken,
}

#[derive(Debug)]
pub(crate) enum Condition {
    Exists,
    Absent,
    Contains(String),
    Lacks(String),
    ValidJson,
    ValidYaml,
    /// Lower-case hexadecimal.
    Sha256(String),
    /// Valid against this JSON Schema (as JSON or YAML, by the file's name).
    Schema(Value),
}

/// What happens if a rule does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The report contains a warning.
    Warn,
    /// The action fails; `rollback_on_failure` decides.
    Error,
    /// The plan is undone, whatever `rollback_on_failure` says.
    RollBack,
}

/// How the plan is applied (001 §3.3, §7.2).
#[derive(Debug, Default)]
pub(crate) struct Instructions {
    pub(crate) on_error: OnError,
    pub(crate) on_failure: OnFailure,
    pub(crate) permissions: Permissions,
    pub(crate) hashes: Hashes,
    /// For the whole plan: 300 s unless said, at most 3600 s (R-001-173).
    pub(crate) timeout: Duration,
}

/// `stop_on_error` (R-001-128).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnError {
    #[default]
    Stop,
    GoOn,
}

/// `rollback_on_failure` (R-001-129).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum OnFailure {
    #[default]
    RollBack,
    Keep,
}

/// `preserve_permissions` (R-001-130).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Permissions {
    #[default]
    Preserve,
    /// What a new file would get.
    Fresh,
}

/// `verify_hashes` (R-001-131, C-21).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Hashes {
    #[default]
    Verify,
    Trust,
}
