//! The changes of a plan, as the journal names them.

use serde::{Deserialize, Serialize};

use crate::{plan::files::Facts, task::RelPath};

/// One change of the tree, as the journal names it: enough to tell from the disk alone whether it was made, and to
/// take it back. It is made by one rename. Slots are names of ours beside the tree: before the change they hold
/// what is to come, after it what was there.
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
    /// A directory that is removed if it is empty.
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
    /// Of its owner, permissions and extended attributes. Journals of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attributes: Option<String>,
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

/// How new content gets to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    Exchange,
    /// The file is overwritten, because it is a mount point and cannot be renamed.
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

    /// Where a renamed file goes.
    pub(crate) fn to(&self) -> Option<&RelPath> {
        match self {
            Self::Rename { to, .. } => Some(to),
            _ => None,
        }
    }

    /// The slot of the new content, or of the old file.
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

    /// The slot and the backup.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &RelPath> {
        let backup = self.pre().map(|pre| &pre.backup);
        self.slot().into_iter().chain(backup)
    }

    /// The file before the change.
    pub(crate) fn pre(&self) -> Option<&Pre> {
        match self {
            Self::Modify { pre, .. } | Self::Delete { pre, .. } | Self::Rename { pre, .. } => {
                Some(pre)
            }
            Self::MakeDir { .. } | Self::RemoveDir { .. } | Self::Create { .. } => None,
        }
    }

    /// Where it is made; of a renamed file both names.
    pub(crate) fn places(&self) -> impl Iterator<Item = &RelPath> {
        [Some(self.path()), self.to()].into_iter().flatten()
    }

    /// The directories whose names it changes; `None` is the root.
    pub(crate) fn dirs(&self) -> impl Iterator<Item = Option<RelPath>> {
        self.places().chain(self.slot()).map(RelPath::parent)
    }

    pub(crate) fn is_in_place(&self) -> bool {
        let way = Way::InPlace;
        matches!(self, Self::Modify { way: found, .. } if *found == way)
    }
}
