//! Terms that the catalog writes and that other rooms act on; those of file plans are specification 001's.

use std::{collections::BTreeSet, fmt, time::Duration};

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// Who calls (specification 003). It is fixed by the launch, never by a payload (C-32).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallContext {
    AgentConversation,
    AgentAutonomous,
    FsmInternal,
    ActionProposal,
    UserInvocation,
}

impl CallContext {
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentConversation => "AGENT_CONVERSATION",
            Self::AgentAutonomous => "AGENT_AUTONOMOUS",
            Self::FsmInternal => "FSM_INTERNAL",
            Self::ActionProposal => "ACTION_PROPOSAL",
            Self::UserInvocation => "USER_INVOCATION",
        }
    }
}

/// What an entry says that its tool does, in MCP's terms; `None` where it says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effects {
    pub read_only: Option<bool>,
    pub destructive: Option<bool>,
    pub idempotent: Option<bool>,
    pub open_world: Option<bool>,
}

impl Effects {
    pub fn is_harmless(self) -> bool {
        self.idempotent == Some(true) && self.destructive != Some(true)
    }
}

/// The era of MCP that a server speaks (MCP, Versioning).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Found out when the server starts.
    #[default]
    Auto,
    /// 2026-07-28: no handshake; everything that a request needs is in its `_meta`.
    Modern,
    /// `initialize`, up to 2025-11-25.
    Legacy,
}

impl Protocol {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Modern => "modern",
            Self::Legacy => "legacy",
        }
    }
}

/// Whether a good answer must fit the output schema that the tool publishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSchema {
    /// If the tool is listed anyway: for its input schema, or for its pin.
    #[default]
    IfListed,
    /// Always; the tool is listed for it.
    Check,
    Ignore,
}

/// Whether a call that was sent and never answered may be sent again by another run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeatable {
    /// Yes: the entry says `read_only = true` or `idempotent = true`.
    Yes,
    /// No: a person has to find out what happened.
    Once,
}

/// What becomes of a request that was done before in the session (C-36).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// The old answer, while it is good.
    Reuse {
        ttl: Option<Duration>,
        ground: Ground,
    },
    /// The old answer, saying that it was not done again; unless what it was about is known to be
    /// something else by now.
    Suppress(Unless),
    Repeat,
}

/// Why an old answer may be good at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Everything that it depends on is known by its content.
    Content,
    /// The catalog says so, although unknown data may be read: the answer is good until that may have changed.
    Declared,
    /// Of several steps some have the one ground, some the other.
    Both,
}

/// What makes a request with the same hash another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unless {
    InputsChanged,
    /// Its inputs, or the files it left: its work was undone or continued.
    FilesChanged,
}

/// Whether an old answer may stand for a new one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reuse {
    #[default]
    Allowed,
    /// `--no-reuse`, or `[ledger] reuse = false`.
    Off,
}

/// The longest time that the catalog and the command line can name.
const DAY: Duration = Duration::from_hours(24);

/// `90s`, `500ms`, `2m`, `1h30m`: more than nothing, at most a day.
pub fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Option<SignedDuration> = text.parse().ok();
    let duration = parsed.and_then(|parsed| Duration::try_from(parsed).ok());
    duration
        .filter(|duration| !duration.is_zero() && *duration <= DAY)
        .ok_or_else(|| {
            format!("{text:?} is no duration between 0 and 24 hours, e.g. \"90s\" or \"2m\"")
        })
}

/// The same, or a number of seconds: `30`, `0.5`.
pub fn duration_or_seconds(text: &str) -> Result<Duration, String> {
    let Ok(seconds) = text.parse::<f64>() else {
        return duration(text);
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= DAY)
        .ok_or_else(|| format!("{text:?} is no number of seconds between 0 and 86400"))
}

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
    #[default]
    Approval,
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
    pub max_concurrency: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        for (text, millis) in [
            ("5s", 5_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("24h", 86_400_000),
        ] {
            let expected = Ok(Duration::from_millis(millis));
            assert_eq!(duration(text), expected, "{text}");
            assert_eq!(duration_or_seconds(text), expected, "{text}");
        }
        for (text, millis) in [("30", 30_000), ("0.5", 500), ("86400", 86_400_000)] {
            assert!(duration(text).is_err(), "{text}");
            let expected = Ok(Duration::from_millis(millis));
            assert_eq!(duration_or_seconds(text), expected, "{text}");
        }
        for text in [
            "", "s", "0", "0s", "-1", "-5s", "86401", "25h", "nan", "inf", "5 x", "1e300",
        ] {
            assert!(duration(text).is_err(), "{text}");
            assert!(duration_or_seconds(text).is_err(), "{text}");
        }
    }
}
