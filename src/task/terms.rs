//! Terms of the catalog that other rooms use too. Those of file plans come from specification 001.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use camino::Utf8PathBuf;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::{DuckDb, PathPattern, Pipeline, named::named};

named! {
    /// The kind of caller (specification 003). The launch fixes it, never a payload (C-32).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum CallContext {
        AgentConversation = "AGENT_CONVERSATION",
        AgentAutonomous = "AGENT_AUTONOMOUS",
        FsmInternal = "FSM_INTERNAL",
        ActionProposal = "ACTION_PROPOSAL",
        UserInvocation = "USER_INVOCATION",
    }
}

/// `available_in` of an entry: the contexts in which it may be found and performed (R-003-28).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Contexts(BTreeSet<CallContext>);

impl Default for Contexts {
    fn default() -> Self {
        let all = CallContext::ALL.into_iter();
        Self(
            all.filter(|context| *context != CallContext::FsmInternal)
                .collect(),
        )
    }
}

impl Contexts {
    pub fn contain(&self, context: CallContext) -> bool {
        self.0.contains(&context)
    }

    /// Those that all of them contain; all of the usual ones if there is none.
    pub fn common<'c>(several: impl IntoIterator<Item = &'c Self>) -> Self {
        let several = several.into_iter().cloned();
        let common =
            several.reduce(|one, other| Self(one.0.intersection(&other.0).copied().collect()));
        common.unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order of specification 003.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|context| context.name()).collect()
    }
}

/// The variable of a server that names the scratch directory of its run.
pub const SCRATCH: &str = "ONEACT_SCRATCH";
/// The variable in which a run names its own files and directories: a JSON array of absolute paths.
pub const PROTECTED: &str = "ONEACT_PROTECTED";

/// The directory in a store of assets for files that are being copied into it. Among the protected paths, it shows where
/// the store is.
pub const INCOMING: &str = ".incoming";

/// The directory in the state directory that contains the scratch directories of runs.
pub const STAGING: &str = "staging";

/// The store of assets, if the catalog names no other.
pub const ASSETS: &str = "agent_outputs/assets";

/// In every root, oneact makes directories in these.
const DIRECTORIES: [&str; 2] = ["agent_outputs", "agent_logs"];

/// Whether a file would be in the place of a directory that oneact needs: one of those in every root, one that leads
/// to the `own` places of the settings, or one in a store of assets, which keeps each asset in the directory of its
/// session. Every directory can be a root. The paths are without upper case.
pub fn displaces(path: &Path, own: &[PathBuf]) -> bool {
    let marks = own.iter().filter(|own| own.ends_with(INCOMING));
    let stores: Vec<&Path> = marks.filter_map(|own| own.parent()).collect();
    let is_store = |at: &Path| at.ends_with(ASSETS) || stores.contains(&at);
    let mut around = path.ancestors().enumerate();
    DIRECTORIES.iter().any(|needed| path.ends_with(needed))
        || around.any(|(depth, at)| depth != 2 && is_store(at))
        || own.iter().any(|own| own != path && own.starts_with(path))
}

/// The variable that is set for a server whose entry says `allow_private = true`.
pub const ALLOW_PRIVATE: &str = "ONEACT_ALLOW_PRIVATE";

named! {
    /// The era of MCP that a server speaks (MCP, Versioning).
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
    pub enum Protocol {
        /// The era is determined when the server starts.
        #[default]
        Auto = "auto",
        /// 2026-07-28: no handshake. Each request carries everything that it needs in its `_meta`.
        Modern = "modern",
        /// `initialize`, up to 2025-11-25.
        Legacy = "legacy",
    }
}

/// Whether a successful answer must fit the output schema that the tool publishes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputSchema {
    /// Check if the tool is listed anyway, for its input schema or its pin.
    #[default]
    IfListed,
    /// Always check; the tool is listed for this.
    Check,
    Ignore,
}

/// What happens to a request that was performed before in the session (C-36).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Return the old answer while it is valid.
    Reuse {
        ttl: Option<Duration>,
        ground: Ground,
    },
    /// Return the old answer with the statement that the request was not performed again, unless its subject is
    /// known to have changed.
    Suppress(Unless),
    Repeat,
}

/// Why an old answer can be valid at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Everything on which the answer depends is known by its content.
    Content,
    /// The catalog declares it, although the tool may read unknown data. The answer is valid until that data may
    /// have changed.
    Declared,
    /// Some steps have the one ground, some the other.
    Both,
}

/// Which changes make a request with the same hash another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unless {
    InputsChanged,
    /// Changes of its inputs, or of the files that it left: its work was undone or continued.
    FilesChanged,
}

/// Whether an old answer may be returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "bool")]
pub enum Reuse {
    #[default]
    Allowed,
    /// `--no-reuse`, or `[ledger] reuse = false`.
    Off,
}

impl From<bool> for Reuse {
    fn from(reuse: bool) -> Self {
        if reuse { Self::Allowed } else { Self::Off }
    }
}

/// The longest duration in the catalog and on the command line.
const DAY: Duration = Duration::from_hours(24);

/// Reads `90s`, `500ms`, `2m` or `1h30m`: more than 0, at most a day.
pub fn duration(text: &str) -> Result<Duration, String> {
    let hours = "more than 0, at most 24 hours, e.g. \"90s\" or \"2m\"";
    duration_within(text, DAY).ok_or_else(|| format!("{text:?} is not a duration: {hours}"))
}

/// A duration of more than 0 and at most that.
pub(super) fn duration_within(text: &str, most: Duration) -> Option<Duration> {
    let parsed: SignedDuration = text.parse().ok()?;
    let duration = Duration::try_from(parsed).ok()?;
    (!duration.is_zero() && duration <= most).then_some(duration)
}

/// Reads a duration or a number of seconds: `30`, `0.5`.
pub fn duration_or_seconds(text: &str) -> Result<Duration, String> {
    let Ok(seconds) = text.parse::<f64>() else {
        return duration(text);
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero() && *duration <= DAY)
        .ok_or_else(|| format!("{text:?} is not a number of seconds: more than 0, at most 86400"))
}

const MIB: u64 = 1 << 20;

named! {
    /// What an action does, in the order of 001 §2.2 (R-001-23).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum ActionType {
        FileCreate = "FILE_CREATE",
        FileModify = "FILE_MODIFY",
        FileDelete = "FILE_DELETE",
        FileRename = "FILE_RENAME",
        SchemaUpdate = "SCHEMA_UPDATE",
        SqlExecute = "SQL_EXECUTE",
        PipelineRun = "PIPELINE_RUN",
    }
}

impl fmt::Display for ActionType {
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
    /// A plan without an approval is accepted. A plan that the protocol layer refused is still refused.
    None,
}

/// Whether a protected file may be changed (C-16).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    #[default]
    Approval,
    Never,
}

/// What the catalog says about a class of protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassRule {
    pub rule: Protection,
    /// Patterns that the catalog adds to those of the class.
    pub paths: Vec<PathPattern>,
}

/// What the catalog says about files that other programs run without being asked to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Executes {
    pub class: ClassRule,
    /// Patterns of files that do not belong to the class.
    pub except: Vec<PathPattern>,
    /// The paths that the commands of the servers name. They are absolute or relative to the root.
    pub programs: Vec<Utf8PathBuf>,
}

/// The rules of the classes of protected files: those of 001 §9.1, and `executes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectionRules {
    pub critical: ClassRule,
    pub important: ClassRule,
    pub agent_system: ClassRule,
    /// `None` where a plan is undone, because its entry may have let it change such files.
    pub executes: Option<Executes>,
    /// The files that a plan's `system_config` adds.
    pub configured: Protection,
}

impl Default for ProtectionRules {
    fn default() -> Self {
        Self {
            critical: ClassRule::default(),
            important: ClassRule::default(),
            agent_system: ClassRule::default(),
            executes: Some(Executes::default()),
            configured: Protection::default(),
        }
    }
}

/// Whether a person lets a plan change protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Sanction {
    /// Nobody was asked: a plan that needs an approval is refused.
    #[default]
    None,
    /// The plan is only shown, so that a person can decide.
    Sought,
    /// The plan with this preview hash was approved, and no other.
    Approved(String),
}

/// The limits of an entry for its plans. A catalog can only tighten the defaults, which are those of specification
/// 001 (R-001-173 … R-001-177). A megabyte is 2^20 bytes, as in the schema of `system_config` (52428800).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    pub operations: BTreeSet<ActionType>,
    pub validation: ValidationRule,
    pub max_files: u64,
    /// The largest file before and after a change, in bytes.
    pub max_file_bytes: u64,
    /// The size of all originals together, in bytes.
    pub max_backup_bytes: u64,
    pub max_concurrency: u64,
    pub longest: Duration,
    pub protection: ProtectionRules,
    pub sanction: Sanction,
    /// The pipelines of the catalog.
    pub pipelines: Vec<Pipeline>,
    pub duckdb: DuckDb,
}

impl Bounds {
    /// The same limits under another sanction.
    #[must_use]
    pub fn under(&self, sanction: Sanction) -> Self {
        Self {
            sanction,
            ..self.clone()
        }
    }

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
            sanction: Sanction::None,
            pipelines: Vec::new(),
            duckdb: DuckDb::default(),
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
