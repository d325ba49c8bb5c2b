//! The file's tables as they are written: serde shapes, nothing checked but keys and types.

#![expect(
    dead_code,
    reason = "descriptive keys are read strictly here, and used by commands that list the catalog"
)]

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use crate::task::{
    ActionType, CallContext, Effects, OutputSchema, Protection, Protocol, ValidationRule,
};

/// `[defaults]`: what entries inherit.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDefaults {
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) on_failure: Option<OnFailure>,
}

/// `[storage]`: where assets are kept.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStorage {
    pub(super) uri: String,
}

/// `[server.NAME]`: how a tool server is started.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawServer {
    pub(super) command: Vec<String>,
    pub(super) cwd: Option<String>,
    #[serde(default)]
    pub(super) env: Map<String, Value>,
    #[serde(default)]
    pub(super) env_pass: Vec<String>,
    pub(super) startup_timeout: Option<Spanned<String>>,
    pub(super) shutdown_grace: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) protocol: Protocol,
    #[serde(default)]
    pub(super) allow_private: bool,
    #[serde(default)]
    pub(super) files: Vec<String>,
}

/// `[capability.ID]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCapability {
    // Descriptive:
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) version: Option<u32>,
    pub(super) is_action: Option<bool>,
    pub(super) aliases: Option<Vec<String>>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) examples: Option<Vec<String>>,
    // For the run:
    pub(super) effects: Option<Effects>,
    pub(super) on_duplicate: Option<Spanned<RawOnDuplicate>>,
    #[serde(default)]
    pub(super) volatile: Vec<String>,
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) timeout_max: Option<Spanned<String>>,
    pub(super) on_failure: Option<OnFailure>,
    #[serde(default)]
    pub(super) secret: Vec<String>,
    #[serde(default)]
    pub(super) defaults: Map<String, Value>,
    pub(super) mcp: Option<RawMcp>,
    pub(super) fresh_process: Option<bool>,
    pub(super) file_plan: Option<RawFilePlan>,
    pub(super) pin: Option<Spanned<String>>,
    pub(super) on_drift: Option<RawOnDrift>,
    #[serde(default)]
    pub(super) output_schema: OutputSchema,
    #[serde(default)]
    pub(super) bind: toml::map::Map<String, toml::Value>,
    pub(super) parameter_schema_for_action: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) extract: Vec<RawExtract>,
    #[serde(default)]
    pub(super) retry: Vec<RawRetry>,
    pub(super) result: Option<RawResult>,
    #[serde(default)]
    pub(super) failure: Vec<RawFailure>,
    #[serde(default)]
    pub(super) success: Vec<RawSuccess>,
}

/// What a failure that no rule recognises means for a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    Recoverable,
    NotRecoverable,
}

/// What becomes of a request that was done before in the session (C-36).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOnDuplicate {
    pub(super) mode: RawDuplicateMode,
    pub(super) ttl: Option<Spanned<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawDuplicateMode {
    Reuse,
    Suppress,
    Repeat,
}

/// `[ledger]`: where the record is, and what it is used for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLedger {
    pub(super) uri: Option<Spanned<String>>,
    pub(super) reuse: Option<bool>,
    pub(super) required: Option<bool>,
    pub(super) sign_key: Option<Spanned<String>>,
}

/// `[profile.NAME]`: who calls.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProfile {
    pub(super) context: CallContext,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMcp {
    pub(super) server: Spanned<String>,
    pub(super) tool: String,
}

/// `[capability.ID.file_plan]`: what plans may touch; unsaid keys take specification 001's values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFilePlan {
    pub(super) root: Option<Spanned<String>>,
    pub(super) reports: Option<Spanned<String>>,
    pub(super) operations: Option<Spanned<Vec<ActionType>>>,
    #[serde(default)]
    pub(super) validation: ValidationRule,
    pub(super) max_files: Option<Spanned<u64>>,
    pub(super) max_file_size: Option<Spanned<String>>,
    pub(super) max_backup_size: Option<Spanned<String>>,
    pub(super) max_concurrency: Option<Spanned<u64>>,
    #[serde(default)]
    pub(super) protected: RawProtected,
}

/// The classes of protected files (001 §9.1).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProtected {
    pub(super) critical: Option<RawProtection>,
    pub(super) important: Option<RawProtection>,
    pub(super) agent_system: Option<RawProtection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProtection {
    #[serde(default)]
    pub(super) rule: Protection,
    pub(super) paths: Option<Spanned<Vec<String>>>,
}

/// What a tool that is not as it was pinned means for a run.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawOnDrift {
    Fail,
    Warn,
}

/// Named captures of the action text that become parameters (C-09).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExtract {
    pub(super) from: ExtractFrom,
    pub(super) pattern: Spanned<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExtractFrom {
    Action,
}

/// What changes on attempt > 1 (R-000-64 … R-000-66).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRetry {
    #[serde(default)]
    pub(super) after: Vec<Spanned<String>>,
    pub(super) timeout: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) set: Map<String, Value>,
    #[serde(default)]
    pub(super) multiply: Map<String, Value>,
    #[serde(default)]
    pub(super) start: Map<String, Value>,
}

/// What the tool gives, and what is made of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResult {
    pub(super) kind: RawKind,
    pub(super) asset_type: Option<String>,
    pub(super) format: Option<Spanned<String>>,
    pub(super) take: Option<Vec<Spanned<String>>>,
    pub(super) schema: Option<Spanned<Value>>,
    pub(super) min_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawKind {
    Asset,
    Analysis,
    Metadata,
}

/// A text that tells a failure's class; the first match wins.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFailure {
    pub(super) r#match: Spanned<String>,
    pub(super) class: Spanned<String>,
    pub(super) recoverable: Option<bool>,
    #[serde(default)]
    pub(super) on: RuleScope,
}

/// Which answers a failure rule reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleScope {
    /// Answers the tool itself calls failed.
    #[default]
    Error,
    /// Every answer: for tools that tell of failure in prose.
    Any,
}

/// A value that must be there, or the call failed although the tool did not say so.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSuccess {
    pub(super) pointer: String,
    pub(super) equals: Value,
    pub(super) message: Option<String>,
}
