//! `execution_report.json` (001 §4.1, §8.2) and `change_log.json` (001 §4.2).

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    plan::{
        model::ActionId,
        record::{ActionEnd, Change, FileState, Rollback, Status, Story, Verdict},
    },
    task::{Failure, Fault, SPECIFICATION, identity},
};

use super::{At, CHANGE_LOG, MANIFEST};

/// What was done about an error (R-001-146).
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Recovery {
    /// The action was left out.
    Skipped,
    RolledBack,
    /// A person has to act: the rollback did not finish, a change was kept that breaks its rule, or the error is an
    /// internal one. Such a plan is escalated (R-001-144, R-001-153).
    ManualRequired,
}

/// Whether the report directory is the archive of its plan: only if the plan succeeded (R-001-85, R-001-167).
pub(crate) fn is_archived(status: Status) -> bool {
    status == Status::Success
}

/// Every field of 001 §4.1 in its order, then ours from `executor` on.
pub(super) fn execution_report(
    story: &Story,
    report_id: Uuid,
    ids: &mut dyn FnMut() -> Uuid,
) -> Value {
    let run = &story.run;
    let (mut completed, mut failed, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for verdict in &story.verdicts {
        let list = match &verdict.end {
            ActionEnd::Completed(_) => &mut completed,
            ActionEnd::Failed(_) => &mut failed,
            ActionEnd::Skipped(_) => &mut skipped,
        };
        list.push(action(verdict));
    }
    let mut report = json!({
        "report_id": report_id,
        "plan_id": run.plan_id,
        "executor_version": SPECIFICATION,
        "status": story.status(),
        "started_at": At::from(&run.began),
        "completed_at": At::from(&story.ended),
        "duration_ms": story.duration_ms,
        // R-001-47; `completed` counts what had completed before a rollback (C-26).
        "actions_summary": {
            "total": story.verdicts.len(),
            "completed": completed.len(),
            "failed": failed.len(),
            "skipped": skipped.len(),
        },
        "actions_completed": completed,
        "actions_failed": failed,
        "actions_skipped": skipped,
        "rollback_performed": matches!(story.rollback, Rollback::Done { .. }),
        // Null where nothing can be, or could have been, rolled back.
        "rollback_manifest_id": story.undo.as_ref().map(|undo| undo.id),
        "executor": identity(),
        "oneact_version": env!("CARGO_PKG_VERSION"),
        "archived": is_archived(story.status()),
        "task_id": run.task_id,
        "errors": errors(story, ids),
        "warnings": story.warnings,
        "guarantees": guarantees(story),
        "change_log": run.file(CHANGE_LOG),
        "rollback_manifest": story.undo.as_ref().map(|_| run.file(MANIFEST)),
    });
    if let (false, Some(fields)) = (story.pipelines.is_empty(), report.as_object_mut()) {
        fields.insert("pipelines".to_owned(), json!(story.pipelines));
    }
    // What `--dry-run` showed of the same change.
    if let (Some(hash), Some(fields)) = (&story.preview, report.as_object_mut()) {
        fields.insert("preview_hash".to_owned(), json!(hash));
    }
    report
}

/// One action (R-001-48 … R-001-50). There is no stack trace of a failure.
fn action(verdict: &Verdict) -> Value {
    match &verdict.end {
        ActionEnd::Completed(output) => json!({
            "action_id": verdict.action,
            "status": "SUCCESS",
            "started_at": At::from(&verdict.began),
            "completed_at": At::from(&verdict.ended),
            "output": output,
        }),
        ActionEnd::Failed(failure) => json!({
            "action_id": verdict.action,
            "status": "FAILED",
            // An integer (C-19).
            "error_code": failure.fault.number(),
            "error_message": failure.message,
        }),
        ActionEnd::Skipped(reason) => json!({"action_id": verdict.action, "reason": reason}),
    }
}

/// The failures of actions in their order, then those of the plan. An action that was skipped because
/// of one that failed is an error of its own (4001, R-001-143).
fn errors(story: &Story, ids: &mut dyn FnMut() -> Uuid) -> Vec<Value> {
    let recovery = match story.rollback {
        Rollback::Done { .. } => Recovery::RolledBack,
        Rollback::Stuck { .. } => Recovery::ManualRequired,
        Rollback::NotDone => Recovery::Skipped,
    };
    let recovery = |failure: &Failure| match (&story.rollback, &story.undo) {
        _ if failure.fault.escalates() => Recovery::ManualRequired,
        // If a change that breaks a rule is kept, a person has to decide.
        (Rollback::NotDone, Some(_)) if failure.fault == Fault::RuleFailed => {
            Recovery::ManualRequired
        }
        _ => recovery,
    };
    // R-001-145. What belongs to no single action has details that are null.
    let mut error = |failure: &Failure, of: Option<&Verdict>, recovery: Recovery, at: At| {
        json!({
            "error_id": ids(),
            "error_code": failure.fault.number(),
            "error_category": failure.fault.category(),
            "error_type": failure.fault.kind(),
            "message": failure.message,
            "details": {
                "action_id": of.map(|verdict| &verdict.action),
                "target": of.map(|verdict| &verdict.target),
                "operation": of.map(|verdict| verdict.action_type),
            },
            "recovery_action": recovery,
            "timestamp": at,
        })
    };
    let in_vain = waiting_in_vain(story);
    let mut errors = Vec::new();
    for verdict in &story.verdicts {
        let at = At::from(&verdict.ended);
        match &verdict.end {
            ActionEnd::Failed(failure) => {
                errors.push(error(failure, Some(verdict), recovery(failure), at));
            }
            ActionEnd::Skipped(reason) if in_vain.contains(&verdict.action) => {
                let failure = Failure::new(Fault::DependencyFailed, reason);
                errors.push(error(&failure, Some(verdict), Recovery::Skipped, at));
            }
            ActionEnd::Skipped(_) | ActionEnd::Completed(_) => {}
        }
    }
    for trouble in &story.troubles {
        let at = At::from(&trouble.at);
        errors.push(error(
            &trouble.failure,
            None,
            recovery(&trouble.failure),
            at,
        ));
    }
    errors
}

/// The actions that wait for one that did not complete.
fn waiting_in_vain(story: &Story) -> HashSet<&ActionId> {
    let verdicts = story.verdicts.iter();
    let incomplete: HashSet<&ActionId> = verdicts
        .filter(|verdict| !verdict.is_completed())
        .map(|verdict| &verdict.action)
        .collect();
    let actions = story.run.actions.iter();
    actions
        .filter(|(_, awaited)| awaited.iter().any(|id| incomplete.contains(id)))
        .map(|(action, _)| action)
        .collect()
}

/// What the run as a whole can promise: of several files, what the worst of them can.
fn guarantees(story: &Story) -> Value {
    let changes = story.changes().iter();
    let fidelities = || changes.clone().map(|change| &change.fidelity);
    let atomicity = fidelities().map(|fidelity| fidelity.atomicity).max();
    let capture = fidelities().map(|fidelity| fidelity.capture).max();
    // What of which file was not kept: `src/x: owner: Operation not permitted`.
    let degraded = changes.clone().flat_map(|change| {
        let what = change.fidelity.degraded.iter();
        what.map(|what| format!("{}: {what}", change.path))
    });
    let mut guarantees = json!({
        "atomicity": atomicity.unwrap_or_default(),
        "capture": capture.unwrap_or_default(),
        "durability": story.durability,
        "jail": story.jail,
        "degraded": degraded.collect::<Vec<_>>(),
    });
    let reason = fidelities()
        .filter_map(|fidelity| fidelity.capture_reason)
        .max();
    if let (Some(reason), Some(fields)) = (reason, guarantees.as_object_mut()) {
        fields.insert("capture_reason".to_owned(), json!(reason));
    }
    guarantees
}

/// `change_log.json`: every field of 001 §4.2 in its order, then ours.
pub(super) fn change_log(story: &Story, report_id: Uuid, ids: &mut dyn FnMut() -> Uuid) -> Value {
    let log_id = ids();
    let changes = story.changes().iter();
    let lines = changes
        .clone()
        .map(|change| change.diff.lines_added + change.diff.lines_removed);
    let total: u64 = lines.sum();
    let changes: Vec<Value> = changes.map(|change| entry(story, change, ids())).collect();
    json!({
        "log_id": log_id,
        "plan_id": story.run.plan_id,
        "execution_report_id": report_id,
        "created_at": At::from(&story.ended),
        "changes": changes,
        "files_affected_count": changes.len(),
        "total_lines_changed": total,
        // When the changes above were undone; null if they were not.
        "rolled_back_at": match &story.rollback {
            Rollback::Done { at, .. } => Some(At::from(at)),
            Rollback::NotDone | Rollback::Stuck { .. } => None,
        },
    })
}

/// One file (R-001-54).
fn entry(story: &Story, change: &Change, change_id: Uuid) -> Value {
    // The change was complete when the last of its actions was.
    let mut verdicts = story.verdicts.iter().rev();
    let last = verdicts.find(|verdict| change.actions.contains(&verdict.action));
    json!({
        "change_id": change_id,
        "action_id": change.actions.first(),
        // Of a renamed file the old path, as the plan's `target` names it.
        "file_path": change.target(),
        "operation": change.kind,
        "before_state": state(change.before.as_ref()),
        "after_state": state(change.after.as_ref()),
        "diff_summary": change.diff,
        "timestamp": At::from(last.map_or(&story.ended, |verdict| &verdict.ended)),
        "actions": change.actions,
        "new_path": change.new_path(),
        "fidelity": change.fidelity,
    })
}

/// A file, or that there is none: then everything else is null (R-001-56, R-001-57).
fn state(state: Option<&FileState>) -> Value {
    json!({
        "exists": state.is_some(),
        "hash": state.map(|file| &file.hash),
        "size_bytes": state.map(|file| file.bytes),
        "last_modified": state.map(|file| At::from(file.modified)),
        "mode": state.map(FileState::octal),
    })
}
