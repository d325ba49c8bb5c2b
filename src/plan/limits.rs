//! What the catalog lets plans touch.

use std::collections::BTreeSet;

use super::model::ActionType;

const MIB: u64 = 1 << 20;

/// What the catalog entry of a plan executor allows.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) operations: BTreeSet<ActionType>,
    pub(crate) validation: Validating,
    pub(crate) max_files: usize,
    /// Bytes, before and after.
    pub(crate) max_file_bytes: u64,
    /// Bytes of all originals together.
    pub(crate) max_backup_bytes: u64,
    /// Threads.
    pub(crate) max_concurrency: usize,
    pub(crate) protection: ProtectionRules,
}

/// Whether a plan must have been approved by the protocol layer (R-001-28, R-001-133).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Validating {
    Required,
    /// `validation = "none"` in the catalog. What the protocol layer refused stays refused.
    NotRequired,
}

/// What each class of protected files takes (C-16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProtectionRules {
    pub(crate) critical: Protection,
    pub(crate) important: Protection,
    pub(crate) agent_system: Protection,
    pub(crate) configured: Protection,
}

/// What it takes to change a protected file (C-16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// An approval for exactly this plan.
    Approval,
    /// Nothing does.
    Never,
}

impl Default for ProtectionRules {
    fn default() -> Self {
        Self {
            critical: Protection::Approval,
            important: Protection::Approval,
            agent_system: Protection::Approval,
            configured: Protection::Approval,
        }
    }
}

/// Specification 001's own (R-001-174 … R-001-177).
impl Default for Bounds {
    fn default() -> Self {
        Self {
            operations: ActionType::ALL.into_iter().collect(),
            validation: Validating::Required,
            max_files: 100,
            max_file_bytes: 50 * MIB,
            max_backup_bytes: 500 * MIB,
            max_concurrency: 4,
            protection: ProtectionRules::default(),
        }
    }
}
