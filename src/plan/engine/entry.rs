//! One change of the tree, as the journal names it: enough to tell from the disk alone whether it was
//! made, and to take it back.

use serde::{Deserialize, Serialize};

use crate::{plan::files::Facts, task::RelPath};

/// A change by one rename. Slots are names of ours beside the tree: before the change they hold what
/// is to come, after it what was there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    MakeDir {
        path: RelPath,
        slot: RelPath,
        ino: u64,
    },
    Create {
        path: RelPath,
        slot: RelPath,
        post: Post,
    },
    Modify {
        path: RelPath,
        slot: RelPath,
        pre: Pre,
        post: Post,
        way: Way,
    },
    Delete {
        path: RelPath,
        slot: RelPath,
        pre: Pre,
    },
    Rename {
        path: RelPath,
        to: RelPath,
        pre: Pre,
    },
    /// A directory that goes when nothing is left in it, and stays otherwise.
    RemoveDir { path: RelPath, slot: RelPath },
}

/// A file before the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pre {
    pub(crate) facts: Facts,
    /// SHA-256, lower-case hexadecimal.
    pub(crate) sha256: String,
    /// Where it is kept as well, below the root.
    pub(crate) backup: RelPath,
}

/// A file after the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Post {
    pub(crate) ino: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// Of its owner, permissions and extended attributes. Journals of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attributes: Option<String>,
}

/// How new content comes to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Exchange,
    /// By writing over it: at a mount point, which cannot be renamed.
    InPlace,
}

impl Entry {
    /// Where the change is made.
    pub(crate) fn path(&self) -> &RelPath {
        match self {
            Self::MakeDir { path, .. }
            | Self::Create { path, .. }
            | Self::Modify { path, .. }
            | Self::Delete { path, .. }
            | Self::Rename { path, .. }
            | Self::RemoveDir { path, .. } => path,
        }
    }

    /// Our own name for what is to come, or was there.
    pub(crate) fn slot(&self) -> Option<&RelPath> {
        match self {
            Self::MakeDir { slot, .. }
            | Self::Create { slot, .. }
            | Self::Modify { slot, .. }
            | Self::Delete { slot, .. }
            | Self::RemoveDir { slot, .. } => Some(slot),
            Self::Rename { .. } => None,
        }
    }

    /// What was there before.
    pub(crate) fn pre(&self) -> Option<&Pre> {
        match self {
            Self::Modify { pre, .. } | Self::Delete { pre, .. } | Self::Rename { pre, .. } => {
                Some(pre)
            }
            Self::MakeDir { .. } | Self::RemoveDir { .. } | Self::Create { .. } => None,
        }
    }

    /// The directories whose names it changes; `None` is the root.
    pub(crate) fn dirs(&self) -> Vec<Option<RelPath>> {
        let mut dirs = vec![self.path().parent()];
        if let Self::Rename { to, .. } = self {
            dirs.push(to.parent());
        }
        dirs.extend(self.slot().map(RelPath::parent));
        dirs
    }
}
