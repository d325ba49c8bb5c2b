//! The events of a plan, and the state that they lead to.

use serde::{Deserialize, Serialize};

use crate::{
    plan::{
        engine::{entry::Entry, volumes::Volume},
        files::Birth,
    },
    task::RelPath,
};

use super::VERSION;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The report directory was made. Nothing of the tree has changed.
    Begin {
        version: u32,
        /// Journals of earlier versions have them here.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        entries: Vec<Entry>,
        /// The run that applies the plan.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        operation: String,
        /// Of the journal's own file; none where the file system keeps no birth times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        birth: Option<Birth>,
        /// The inode of the root; none in a journal of an earlier version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        root: Option<u64>,
        /// The preview hash of an approved plan, which may change protected files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<String>,
    },
    /// Everything is staged. Nothing of the tree has changed.
    Ready {
        entries: Vec<Entry>,
        /// Journals of earlier versions do not have them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        volumes: Option<Vec<Volume>>,
    },
    /// From here on, the tree may have changed.
    Apply,
    /// A pipeline is about to be started. It is not undone.
    Started(Started),
    /// It has ended: completed, or for this reason not.
    Ended { failure: Option<String> },
    /// Every change was made, and is on the disk.
    Done,
    /// Every change is undone, except for files that others had changed. The `spared` slots and backups contain
    /// what would otherwise be lost.
    RolledBack { spared: Vec<RelPath> },
    /// The plan ended before its first change.
    NothingChanged,
}

/// A pipeline that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) action: String,
    pub(crate) pipeline: String,
    /// By the clock of the run, in RFC 3339.
    pub(crate) at: String,
    /// By the clock of the file system, in nanoseconds since 1970.
    pub(crate) since: i64,
    /// The directories that it may write to.
    pub(crate) writes: Vec<RelPath>,
}

/// A pipeline as the journal knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PipelineNote {
    pub(crate) started: Started,
    /// `None`: the run was interrupted while it ran, or just before or after.
    pub(crate) end: Option<Result<(), String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum State {
    #[default]
    Empty,
    /// Without entries, the changes are not staged yet.
    Ready(Vec<Entry>),
    Applying(Vec<Entry>),
    /// A later part is staged. The changes of the first `begun` entries are made.
    Further {
        entries: Vec<Entry>,
        begun: usize,
    },
    Done(Vec<Entry>),
    /// `spared` are the slots and backups that contain what would otherwise be lost. Without entries, nothing had been
    /// changed.
    RolledBack {
        entries: Vec<Entry>,
        spared: Vec<RelPath>,
    },
    /// Written by a later version of this program.
    Foreign,
}

impl State {
    /// The state after an event. An event that does not fit the state changes nothing.
    pub(crate) fn next(self, event: Event) -> Self {
        match (self, event) {
            (_, Event::Begin { version, .. }) if version != VERSION => Self::Foreign,
            (Self::Empty, Event::Begin { entries, .. }) => Self::Ready(entries),
            (Self::Ready(before), Event::Ready { entries, .. }) if before.is_empty() => {
                Self::Ready(entries)
            }
            (Self::Applying(mut entries), Event::Ready { entries: more, .. }) => {
                let begun = entries.len();
                entries.extend(more);
                Self::Further { entries, begun }
            }
            (Self::Ready(entries) | Self::Further { entries, .. }, Event::Apply) => {
                Self::Applying(entries)
            }
            (Self::Applying(entries), Event::Done) => Self::Done(entries),
            (
                Self::Ready(entries) | Self::Applying(entries) | Self::Further { entries, .. },
                Event::RolledBack { spared },
            ) => Self::RolledBack { entries, spared },
            (Self::Ready(_), Event::NothingChanged) => Self::RolledBack {
                entries: Vec::new(),
                spared: Vec::new(),
            },
            (state, _) => state,
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match self {
            Self::Ready(entries)
            | Self::Applying(entries)
            | Self::Further { entries, .. }
            | Self::Done(entries)
            | Self::RolledBack { entries, .. } => entries,
            Self::Empty | Self::Foreign => &[],
        }
    }

    /// Of how many entries the changes may have been made.
    pub(crate) fn begun(&self) -> usize {
        match self {
            Self::Applying(entries) => entries.len(),
            Self::Further { begun, .. } => *begun,
            _ => 0,
        }
    }

    /// Whether changes may have been made that the journal records neither as kept nor as undone.
    pub(crate) fn is_under_way(&self) -> bool {
        match self {
            Self::Ready(entries) | Self::Applying(entries) => !entries.is_empty(),
            Self::Further { .. } => true,
            Self::Empty | Self::Done(_) | Self::RolledBack { .. } | Self::Foreign => false,
        }
    }
}
