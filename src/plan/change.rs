//! One change of one name of the tree, from the fold of the actions to the rollback.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::task::RelPath;

use super::model::{ActionId, ReportedChange};
use crate::tree::Facts;

/// What a plan does to one name: enough to tell from the disk alone whether it was done, to take it back, and to report it.
/// It is made by one rename. Its slot is a name of ours beside the tree: before the change it holds what is to come, after it
/// what was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Where the file is before the plan; of a new one, where it will be.
    pub(crate) path: RelPath,
    pub(crate) kind: ChangeKind,
    /// `None` where no file was.
    pub(crate) before: Option<Version>,
    /// `None` where no file will be.
    pub(crate) after: Option<Version>,
    /// In the report directory, or beside the file if the file is on another mount.
    pub(crate) slot: RelPath,
    /// Where the original is kept after the plan, below the report directory; none where no file was (R-001-65).
    pub(crate) backup: Option<RelPath>,
    /// The actions it comes from, in their order; of a directory none.
    pub(crate) actions: Vec<ActionId>,
    /// The id of the checkpoint that undoes the change; of a directory nil.
    pub(crate) checkpoint: Uuid,
    pub(crate) diff: DiffSummary,
    /// Attributes that could not be kept, each with the reason: `owner: Operation not permitted`.
    pub(crate) degraded: Vec<String>,
    /// The symbolic link that led to the file, if the plan named one.
    pub(crate) through_link: Option<RelPath>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeKind {
    MakeDir,
    /// A directory that is removed if it is empty.
    RemoveDir,
    Create,
    Modify,
    Delete,
    Rename {
        to: RelPath,
    },
}

/// A file at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) facts: Facts,
    /// SHA-256, lower-case hexadecimal; of a directory empty.
    pub(crate) sha256: String,
    /// The digest of owner, permissions and extended attributes; of a directory or a symbolic link empty.
    pub(crate) attributes: String,
}

/// What changed between two texts (001 §4.2, R-001-58).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DiffSummary {
    pub(crate) lines_added: u64,
    pub(crate) lines_removed: u64,
    /// At most 500 characters of a unified diff; for bytes that are no text, a sentence.
    pub(crate) preview: String,
}

impl Change {
    /// A change of a directory.
    pub(crate) fn of_dir(
        path: RelPath,
        kind: ChangeKind,
        slot: RelPath,
        after: Option<Version>,
    ) -> Self {
        Self {
            path,
            kind,
            before: None,
            after,
            slot,
            backup: None,
            actions: Vec::new(),
            checkpoint: Uuid::nil(),
            diff: DiffSummary::default(),
            degraded: Vec::new(),
            through_link: None,
        }
    }

    /// How the change log calls it; none of a directory.
    pub(crate) fn reported(&self) -> Option<ReportedChange> {
        match self.kind {
            ChangeKind::MakeDir | ChangeKind::RemoveDir => None,
            ChangeKind::Create => Some(ReportedChange::Create),
            ChangeKind::Modify => Some(ReportedChange::Modify),
            ChangeKind::Delete => Some(ReportedChange::Delete),
            ChangeKind::Rename { .. } => Some(ReportedChange::Rename),
        }
    }

    /// Where a renamed file goes.
    pub(crate) fn new_path(&self) -> Option<&RelPath> {
        match &self.kind {
            ChangeKind::Rename { to } => Some(to),
            _ => None,
        }
    }

    /// Where the file is after the plan; of a deleted one, where it was.
    pub(crate) fn result_path(&self) -> &RelPath {
        self.new_path().unwrap_or(&self.path)
    }

    /// The paths whose names it changes.
    pub(crate) fn places(&self) -> impl Iterator<Item = &RelPath> {
        [Some(&self.path), self.new_path()].into_iter().flatten()
    }

    /// The slot and the backup.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &RelPath> {
        [Some(&self.slot), self.backup.as_ref()]
            .into_iter()
            .flatten()
    }
}

/// The changes of files.
pub(crate) fn of_files(changes: &[Change]) -> impl Iterator<Item = &Change> + Clone {
    changes.iter().filter(|change| change.reported().is_some())
}
