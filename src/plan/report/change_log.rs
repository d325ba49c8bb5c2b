//! `change_log.json` (001 §4.2).

use serde_json::{Value, json};
use uuid::Uuid;

use crate::plan::record::{ChangeRecord, FileState, Rollback, Story};

use super::At;

/// Every field of 001 §4.2 in its order, then ours.
pub(super) fn change_log(story: &Story, report_id: Uuid, ids: &mut dyn FnMut() -> Uuid) -> Value {
    let log_id = ids();
    let records = || story.changes().iter().map(|change| &change.record);
    let changes: Vec<Value> = records()
        .map(|record| entry(story, record, ids()))
        .collect();
    json!({
        "log_id": log_id,
        "plan_id": story.run.plan_id,
        "execution_report_id": report_id,
        "created_at": At::from(&story.ended),
        "changes": changes,
        "files_affected_count": changes.len(),
        "total_lines_changed": records()
            .map(|record| record.diff.lines_added + record.diff.lines_removed)
            .sum::<u64>(),
        // When the changes above were taken back; null where they stand.
        "rolled_back_at": match &story.rollback {
            Rollback::Done { at, .. } => Some(At::from(at)),
            Rollback::NotDone | Rollback::Stuck { .. } => None,
        },
    })
}

/// One file (R-001-54).
fn entry(story: &Story, record: &ChangeRecord, change_id: Uuid) -> Value {
    // The change was complete when the last of its actions was.
    let mut verdicts = story.verdicts.iter().rev();
    let last = verdicts.find(|verdict| record.actions.contains(&verdict.action));
    json!({
        "change_id": change_id,
        "action_id": record.actions.first(),
        // Of a renamed file the old path, as the plan's `target` names it.
        "file_path": record.target(),
        "operation": record.kind,
        "before_state": state(&record.before),
        "after_state": state(&record.after),
        "diff_summary": record.diff,
        "timestamp": At::from(last.map_or(&story.ended, |verdict| &verdict.ended)),
        "actions": record.actions,
        "new_path": record.new_path(),
        "fidelity": record.fidelity,
    })
}

/// A file, or that there is none: then everything else is null (R-001-56, R-001-57).
fn state(state: &FileState) -> Value {
    match state {
        FileState::Absent => json!({
            "exists": false,
            "hash": null,
            "size_bytes": null,
            "last_modified": null,
            "mode": null,
        }),
        FileState::Present {
            hash,
            bytes,
            modified,
            mode,
        } => json!({
            "exists": true,
            "hash": hash,
            "size_bytes": bytes,
            "last_modified": At::from(*modified),
            "mode": format!("{mode:04o}"),
        }),
    }
}
