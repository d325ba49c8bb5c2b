//! `change_log.json` (001 §4.2).

use serde::Serialize;
use uuid::Uuid;

use crate::{
    plan::{
        model::ActionId,
        record::{ChangeKind, ChangeRecord, Fidelity, FileState, Rollback, Story},
    },
    task::RelPath,
};

use super::At;

/// Every field of 001 §4.2 in its order, then ours.
#[derive(Debug, Serialize)]
pub(crate) struct ChangeLog {
    pub(crate) log_id: Uuid,
    pub(crate) plan_id: String,
    pub(crate) execution_report_id: Uuid,
    pub(crate) created_at: At,
    pub(crate) changes: Vec<ChangeEntry>,
    pub(crate) files_affected_count: usize,
    pub(crate) total_lines_changed: u64,
    /// When the changes above were taken back; null where they stand.
    pub(crate) rolled_back_at: Option<At>,
}

/// One file (R-001-54).
#[derive(Debug, Serialize)]
pub(crate) struct ChangeEntry {
    pub(crate) change_id: Uuid,
    /// The first of `actions`.
    pub(crate) action_id: Option<ActionId>,
    /// Of a renamed file the old path, as the plan's `target` names it.
    pub(crate) file_path: RelPath,
    pub(crate) operation: ChangeKind,
    pub(crate) before_state: State,
    pub(crate) after_state: State,
    pub(crate) diff_summary: Diff,
    pub(crate) timestamp: At,
    /// Every action that the change comes from.
    pub(crate) actions: Vec<ActionId>,
    /// Where a renamed file is now.
    pub(crate) new_path: Option<RelPath>,
    pub(crate) fidelity: Fidelity,
}

/// A file, or that there is none: then everything else is null (R-001-56, R-001-57).
#[derive(Debug, Serialize)]
pub(crate) struct State {
    pub(crate) exists: bool,
    pub(crate) hash: Option<String>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) last_modified: Option<At>,
    /// Permission bits: `0644`.
    pub(crate) mode: Option<String>,
}

/// R-001-58.
#[derive(Debug, Serialize)]
pub(crate) struct Diff {
    pub(crate) lines_added: u64,
    pub(crate) lines_removed: u64,
    pub(crate) preview: String,
}

impl ChangeLog {
    pub(crate) fn of(story: &Story, report_id: Uuid, ids: &mut dyn FnMut() -> Uuid) -> Self {
        let log_id = ids();
        let changes: Vec<ChangeEntry> = story
            .changes()
            .iter()
            .map(|change| ChangeEntry::of(story, &change.record, ids()))
            .collect();
        let lines = changes.iter().map(|change| &change.diff_summary);
        Self {
            log_id,
            plan_id: story.run.plan_id.clone(),
            execution_report_id: report_id,
            created_at: At::from(&story.ended),
            files_affected_count: changes.len(),
            total_lines_changed: lines
                .map(|diff| diff.lines_added + diff.lines_removed)
                .sum(),
            changes,
            rolled_back_at: match &story.rollback {
                Rollback::Done { at, .. } => Some(At::from(at)),
                Rollback::NotDone | Rollback::Stuck { .. } => None,
            },
        }
    }
}

impl ChangeEntry {
    fn of(story: &Story, record: &ChangeRecord, change_id: Uuid) -> Self {
        // The change was complete when the last of its actions was.
        let mut verdicts = story.verdicts.iter().rev();
        let last = verdicts.find(|verdict| record.actions.contains(&verdict.action));
        Self {
            change_id,
            action_id: record.actions.first().cloned(),
            file_path: record.target().clone(),
            operation: record.kind,
            before_state: State::of(&record.before),
            after_state: State::of(&record.after),
            diff_summary: Diff {
                lines_added: record.diff.lines_added,
                lines_removed: record.diff.lines_removed,
                preview: record.diff.preview.clone(),
            },
            timestamp: At::from(last.map_or(&story.ended, |verdict| &verdict.ended)),
            actions: record.actions.clone(),
            new_path: record.new_path().cloned(),
            fidelity: record.fidelity.clone(),
        }
    }
}

impl State {
    fn of(state: &FileState) -> Self {
        match state {
            FileState::Absent => Self {
                exists: false,
                hash: None,
                size_bytes: None,
                last_modified: None,
                mode: None,
            },
            FileState::Present {
                hash,
                bytes,
                modified,
                mode,
            } => Self {
                exists: true,
                hash: Some(hash.clone()),
                size_bytes: Some(*bytes),
                last_modified: Some(At::from(*modified)),
                mode: Some(format!("{mode:04o}")),
            },
        }
    }
}
