//! What happened to a plan: the facts that every report is made from.

use jiff::Zoned;
use serde::Serialize;

use crate::task::{Failure, RelPath};

use super::model::{ActionId, ActionType};

/// 001 §4.1's status of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Status {
    Success,
    Partial,
    Failed,
    RolledBack,
    Cancelled,
}

/// What became of one action.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) action: ActionId,
    pub(crate) action_type: ActionType,
    pub(crate) target: RelPath,
    pub(crate) began: Zoned,
    pub(crate) ended: Zoned,
    pub(crate) end: ActionEnd,
}

/// The end of an action.
#[derive(Debug, Clone)]
pub(crate) enum ActionEnd {
    /// What it did, in a sentence: `Property 'new_field' added successfully`.
    Completed(String),
    Failed(Failure),
    /// Why it was not tried: `Dependency a002 failed`.
    Skipped(String),
}

/// One file that a plan changed, created, deleted or renamed: at most one a path.
#[derive(Debug, Clone)]
pub(crate) struct ChangeRecord {
    /// The actions it comes from, in their order.
    pub(crate) actions: Vec<ActionId>,
    pub(crate) kind: ChangeKind,
    /// Where the file is after the plan; for a deletion, where it was.
    pub(crate) path: RelPath,
    /// Where a renamed file was.
    pub(crate) from: Option<RelPath>,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
    pub(crate) diff: DiffSummary,
    pub(crate) fidelity: Fidelity,
}

/// 001 §4.2's operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ChangeKind {
    Create,
    Modify,
    Delete,
    Rename,
}

/// A file as it was seen (001 §4.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileState {
    Absent,
    Present {
        /// SHA-256, lower-case hexadecimal.
        hash: String,
        bytes: u64,
        /// Of the file, not of the plan.
        modified: jiff::Timestamp,
        /// Permission bits.
        mode: u32,
    },
}

/// What changed between two texts (001 §4.2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DiffSummary {
    pub(crate) lines_added: u64,
    pub(crate) lines_removed: u64,
    /// At most 500 characters of a unified diff; for bytes that are no text, a sentence.
    pub(crate) preview: String,
}

/// What of a file was kept, and how it was exchanged: told as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Fidelity {
    /// Attributes that could not be kept, each with the reason: `owner: Operation not permitted`.
    pub(crate) degraded: Vec<String>,
    pub(crate) atomicity: Atomicity,
    pub(crate) capture: Capture,
    /// The link that led to the file, if the plan named one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) through_link: Option<String>,
}

/// How the new content came to its place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Atomicity {
    /// By one rename: nobody ever saw half of it.
    #[default]
    Swap,
    /// Written over the old one, where no rename is possible (a mount point): a crash leaves it to the
    /// next run to restore.
    InPlace,
}

/// Whether what stood there at the moment of the exchange was kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Capture {
    /// The exchange itself took what was there.
    #[default]
    Strong,
    /// Looked at just before; a save in between would be lost.
    Weak,
}

/// What the plan as a whole can promise, as far as this file system lets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Durability {
    /// On the disk before it was reported.
    Confirmed,
    /// Made, but the disk did not confirm it.
    Unconfirmed,
}

/// Whether the kernel, too, kept the plan inside its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Jail {
    /// Landlock was on.
    Enforced,
    /// This kernel has no Landlock.
    Unavailable,
}
