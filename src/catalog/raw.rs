//! The tables of the file as serde types. Only keys and types are checked here.

#![expect(
    dead_code,
    reason = "descriptive keys are read strictly here, and used by commands that list the catalog"
)]

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::{
    document::{CatalogError, Named, Tables},
    entry::{
        FailureRule, FormatRule, OnFailure, ResultKind, SuccessRule, Take, amplifiers, capturing,
        classes, pin,
    },
};
use crate::task::{
    ActionType, Amplifiers, Blocks, Contexts, Effects, Fault, OnDrift, OutputSchema, Pin,
    Protection, ValidationRule,
};

/// `[defaults]`: what entries inherit.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDefaults {
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) on_failure: Option<OnFailure>,
    pub(super) approval: Option<RawApproval>,
}

/// `approval` of an entry and of `[defaults]`. A key that is missing has the value of `[defaults]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table, such as { when = \"always\" }"
)]
pub(super) struct RawApproval {
    pub(super) when: Option<Spanned<String>>,
    pub(super) approvers: Option<Spanned<Vec<String>>>,
    pub(super) quorum: Option<Spanned<u32>>,
    pub(super) prevent_self: Option<bool>,
    pub(super) by: Option<Spanned<Vec<RawWay>>>,
    pub(super) expires: Option<Spanned<String>>,
    pub(super) show: Option<Vec<String>>,
}

/// A way to approve that the operator has to allow.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawWay {
    Elicitation,
}

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
    pub(super) available_in: Option<Spanned<Contexts>>,
    #[serde(default, deserialize_with = "amplifiers")]
    pub(super) intrinsic_amplifiers: Amplifiers,
    pub(super) approval: Option<RawApproval>,
    pub(super) on_duplicate: Option<Spanned<RawOnDuplicate>>,
    #[serde(default)]
    pub(super) volatile: Vec<String>,
    pub(super) fence: Option<Spanned<Vec<String>>>,
    pub(super) timeout: Option<Spanned<String>>,
    pub(super) timeout_max: Option<Spanned<String>>,
    pub(super) on_failure: Option<OnFailure>,
    #[serde(default)]
    pub(super) secret: Vec<String>,
    #[serde(default)]
    pub(super) defaults: Map<String, Value>,
    pub(super) mcp: Option<RawMcp>,
    pub(super) fresh_process: Option<bool>,
    pub(super) uses_context: Option<bool>,
    pub(super) file_plan: Option<RawFilePlan>,
    #[serde(default, deserialize_with = "pin")]
    pub(super) pin: Option<Pin>,
    pub(super) on_drift: Option<OnDrift>,
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
    pub(super) requires_post_review: Option<bool>,
    pub(super) review: Option<Spanned<RawReview>>,
    #[serde(default)]
    pub(super) failure: Vec<FailureRule>,
    #[serde(default)]
    pub(super) success: Vec<SuccessRule>,
}

/// The keys that capabilities and workflows have in common, for people who read or check the catalog.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) version: Option<u32>,
    pub(super) is_action: Option<bool>,
    pub(super) aliases: Vec<String>,
    pub(super) tags: Vec<String>,
    pub(super) examples: Vec<String>,
    pub(super) effects: Option<Effects>,
    pub(super) amplifiers: Amplifiers,
    pub(super) has_schema: HasSchema,
}

/// Whether the entry states the schema of its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HasSchema {
    Yes,
    No,
}

macro_rules! described {
    ($raw:ident) => {
        Described {
            name: $raw.name,
            description: $raw.description,
            version: $raw.version,
            is_action: $raw.is_action,
            aliases: $raw.aliases.unwrap_or_default(),
            tags: $raw.tags.unwrap_or_default(),
            examples: $raw.examples.unwrap_or_default(),
            effects: $raw.effects,
            amplifiers: $raw.intrinsic_amplifiers,
            has_schema: match $raw.parameter_schema_for_action {
                Some(_) => HasSchema::Yes,
                None => HasSchema::No,
            },
        }
    };
}

/// The common keys of an entry; `None` if there is none of that id.
pub(super) fn described<'t>(
    tables: &'t Tables<'_>,
    id: &'t str,
) -> Result<Option<(Named<'t>, Described)>, CatalogError> {
    if let Some((named, raw)) = tables.entry::<RawWorkflow>("workflow", id)? {
        return Ok(Some((named, described!(raw))));
    }
    let found = tables.entry::<RawCapability>("capability", id)?;
    Ok(found.map(|(named, raw)| (named, described!(raw))))
}

/// `[workflow.ID]`: capabilities that run as the steps of one task.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkflow {
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
    pub(super) available_in: Option<Contexts>,
    #[serde(default, deserialize_with = "amplifiers")]
    pub(super) intrinsic_amplifiers: Amplifiers,
    pub(super) parameter_schema_for_action: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) step: Vec<Spanned<RawStep>>,
    /// Where a workflow came from that `oneact catalog promote` made.
    pub(super) provenance: Option<RawProvenance>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProvenance {
    /// The operation of the improvised action.
    pub(super) operation: String,
    /// The number and the hash of the link of its answer.
    pub(super) link: u64,
    pub(super) entry_hash: String,
    pub(super) promoted_at: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    pub(super) id: String,
    pub(super) run: String,
    #[serde(default)]
    pub(super) with: Map<String, Value>,
    #[serde(default)]
    pub(super) depends_on: Vec<String>,
}

/// What happens to a request that was performed before in the session (C-36).
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

/// How a result is reviewed (R-003-33).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReview {
    #[serde(default)]
    pub(super) blocks: Blocks,
    pub(super) timeout: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) on_timeout: OnTimeout,
}

/// What happens to a review that is open after its time.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OnTimeout {
    /// A missed review is never an approval.
    #[default]
    StayOpen,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMcp {
    pub(super) server: Spanned<String>,
    pub(super) tool: String,
}

/// `[capability.ID.file_plan]`: what plans may touch. Missing keys have the values of specification 001.
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

/// The classes of protected files (001 §9.1), and `executes`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProtected {
    pub(super) critical: Option<RawProtection>,
    pub(super) important: Option<RawProtection>,
    pub(super) agent_system: Option<RawProtection>,
    pub(super) executes: Option<RawProtection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawProtection {
    #[serde(default)]
    pub(super) rule: Protection,
    pub(super) paths: Option<Spanned<Vec<String>>>,
    pub(super) except: Option<Spanned<Vec<String>>>,
}

/// Named captures of the action text that become parameters (C-09).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExtract {
    pub(super) from: ExtractFrom,
    #[serde(deserialize_with = "capturing")]
    pub(super) pattern: Regex,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExtractFrom {
    Action,
}

/// The changes on attempts after the first (R-000-64 … R-000-66).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRetry {
    #[serde(default, deserialize_with = "classes")]
    pub(super) after: Vec<Fault>,
    /// `x2`: the factor by which each further attempt may take longer.
    pub(super) timeout: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) set: Map<String, Value>,
    #[serde(default)]
    pub(super) multiply: Map<String, Value>,
    #[serde(default)]
    pub(super) start: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResult {
    pub(super) kind: Option<ResultKind>,
    pub(super) asset_type: Option<String>,
    pub(super) format: Option<Spanned<FormatRule>>,
    pub(super) take: Option<Vec<Take>>,
    pub(super) schema: Option<Spanned<Value>>,
    pub(super) min_bytes: Option<u64>,
    pub(super) rows: Option<bool>,
}
