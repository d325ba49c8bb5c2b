//! What file plans may do: the words of specification 001 that the catalog writes and the plans keep.

use std::{collections::BTreeSet, fmt, time::Duration};

use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

/// What an action does (001 §2.2, R-001-23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ActionType {
    FileCreate,
    FileModify,
    FileDelete,
    FileRename,
    SchemaUpdate,
    SqlExecute,
    PipelineRun,
}

impl ActionType {
    /// In the order of 001 §2.2.
    pub const ALL: [Self; 7] = [
        Self::FileCreate,
        Self::FileModify,
        Self::FileDelete,
        Self::FileRename,
        Self::SchemaUpdate,
        Self::SqlExecute,
        Self::PipelineRun,
    ];

    /// The specification's spelling.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FileCreate => "FILE_CREATE",
            Self::FileModify => "FILE_MODIFY",
            Self::FileDelete => "FILE_DELETE",
            Self::FileRename => "FILE_RENAME",
            Self::SchemaUpdate => "SCHEMA_UPDATE",
            Self::SqlExecute => "SQL_EXECUTE",
            Self::PipelineRun => "PIPELINE_RUN",
        }
    }
}

impl fmt::Display for ActionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The harm that the author of a plan expects of an action (001 §3.3); `LOW` where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Risk {
    #[default]
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    /// In rising order.
    pub const ALL: [Self; 4] = [Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The word of 001 §3.3, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the protocol layer must have approved a plan (R-001-28, R-001-133).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidationRule {
    #[default]
    Required,
    /// A plan that says nothing is taken. A plan that the protocol layer refused stays refused.
    None,
}

/// What it takes to change a protected file (C-16).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// An approval of exactly this plan.
    #[default]
    Approval,
    /// No approval changes it.
    Never,
}

/// The rule of each class of protected files (001 §9.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProtectionRules {
    pub critical: Protection,
    pub important: Protection,
    pub agent_system: Protection,
    /// What a plan's `system_config` adds.
    pub configured: Protection,
}

/// What a catalog entry allows its plans. A catalog can only tighten the default, which is specification 001's
/// (R-001-173 … R-001-177). A megabyte is 2^20 bytes, as in the schema of `system_config` (52428800).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    pub operations: BTreeSet<ActionType>,
    pub validation: ValidationRule,
    pub max_files: u64,
    /// Bytes, before and after.
    pub max_file_bytes: u64,
    /// Bytes of all originals together.
    pub max_backup_bytes: u64,
    /// Threads.
    pub max_concurrency: u64,
    /// The longest that a plan may take.
    pub longest: Duration,
    pub protection: ProtectionRules,
}

impl Bounds {
    /// The largest file that any plan can change or make, in bytes.
    pub const MAX_FILE_BYTES: u64 = 50 * MIB;
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            operations: ActionType::ALL.into_iter().collect(),
            validation: ValidationRule::Required,
            max_files: 100,
            max_file_bytes: Self::MAX_FILE_BYTES,
            max_backup_bytes: 500 * MIB,
            max_concurrency: 4,
            longest: Duration::from_hours(1),
            protection: ProtectionRules::default(),
        }
    }
}
