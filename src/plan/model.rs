//! A plan as a value: every path, pattern and number of it is known to be good.

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
    /// What was assumed or left aside, for people.
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

/// A condition on the tree after the plan, by path; `on_failure` says what a broken one means.
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

/// What a rule that does not hold means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The report tells.
    Warn,
    /// The action fails; `rollback_on_failure` decides.
    Error,
    /// The plan is undone whatever it says.
    RollBack,
}

/// How the plan is to be carried out (001 §3.3, §7.2).
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
