//! `execution_report.json` (001 §4.1, §8.2) and `change_log.json` (001 §4.2).

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    plan::{
        at::At,
        change::{Change, Version},
        model::ActionId,
        record::{ActionEnd, Rollback, Status, Story, Trouble, Verdict},
    },
    task::{Failure, Fault, SPECIFICATION, identity},
    tree::Weakness,
};

use super::files::{CHANGE_LOG, MANIFEST};

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

/// Every field of 001 §4.1 in its order, then ours from `executor` on.
pub(super) fn execution_report(
    story: &Story,
    report_id: Uuid,
    ids: &mut dyn FnMut() -> Uuid,
) -> Value {
    let (run, end) = (&story.run, &story.end);
    let (mut completed, mut failed, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for verdict in &end.verdicts {
        let list = match &verdict.end {
            ActionEnd::Completed(_) => &mut completed,
            ActionEnd::Failed(_) => &mut failed,
            ActionEnd::Skipped(_) => &mut skipped,
        };
        list.push(action(verdict));
    }
    let report = json!({
        "report_id": report_id,
        "plan_id": run.plan_id,
        "executor_version": SPECIFICATION,
        "status": story.status(),
        "started_at": run.began,
        "completed_at": story.end.ended,
        "duration_ms": story.end.duration_ms,
        // R-001-47; `completed` counts what had completed before a rollback (C-26).
        "actions_summary": {
            "total": story.end.verdicts.len(),
            "completed": completed.len(),
            "failed": failed.len(),
            "skipped": skipped.len(),
        },
        "actions_completed": completed,
        "actions_failed": failed,
        "actions_skipped": skipped,
        "rollback_performed": matches!(story.end.rollback, Rollback::Done { .. }),
        // Null where nothing can be, or could have been, rolled back.
        "rollback_manifest_id": story.undo.as_ref().map(|undo| undo.id),
        "executor": identity(),
        "oneact_version": run.version,
        // Only the report directory of a plan that succeeded is its archive (R-001-85, R-001-167).
        "archived": story.status() == Status::Success,
        "task_id": run.task_id,
        "errors": errors(story, ids),
        "warnings": story.end.warnings,
        "guarantees": guarantees(story),
        "change_log": run.file(CHANGE_LOG),
        "rollback_manifest": story.undo.as_ref().map(|_| run.file(MANIFEST)),
    });
    let pipelines = (!end.pipelines.is_empty()).then(|| json!(end.pipelines));
    let fields = [
        ("pipelines", pipelines),
        // What `--dry-run` showed of the same change.
        ("preview_hash", end.preview.as_ref().map(|it| json!(it))),
        ("interrupted", end.interrupted.as_ref().map(|it| json!(it))),
    ];
    with(report, fields)
}

/// One action (R-001-48 … R-001-50). There is no stack trace of a failure.
fn action(verdict: &Verdict) -> Value {
    match &verdict.end {
        ActionEnd::Completed(output) => json!({
            "action_id": verdict.action,
            "status": "SUCCESS",
            "started_at": verdict.began,
            "completed_at": verdict.ended,
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
    let recovery = |failure: &Failure| match (&story.end.rollback, &story.undo) {
        _ if failure.fault.escalates() => Recovery::ManualRequired,
        // If a change that breaks a rule is kept, a person has to decide.
        (Rollback::NotDone, Some(_)) if failure.fault == Fault::RuleFailed => {
            Recovery::ManualRequired
        }
        (Rollback::NotDone, _) => Recovery::Skipped,
        (Rollback::Done { .. }, _) => Recovery::RolledBack,
        (Rollback::Stuck { .. }, _) => Recovery::ManualRequired,
    };
    // R-001-145. What belongs to no single action has details that are null.
    let mut error = |failure: &Failure, of: Option<&Verdict>, recovery: Recovery, at: &At| {
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
    for verdict in &story.end.verdicts {
        let (failure, recovery) = match &verdict.end {
            ActionEnd::Failed(failure) => (failure.clone(), recovery(failure)),
            ActionEnd::Skipped(reason) if in_vain.contains(&verdict.action) => {
                let failure = Failure::new(Fault::DependencyFailed, reason);
                (failure, Recovery::Skipped)
            }
            ActionEnd::Skipped(_) | ActionEnd::Completed(_) => continue,
        };
        errors.push(error(&failure, Some(verdict), recovery, &verdict.ended));
    }
    for Trouble { at, failure } in &story.end.troubles {
        errors.push(error(failure, None, recovery(failure), at));
    }
    errors
}

/// The actions that wait for one that did not complete.
fn waiting_in_vain(story: &Story) -> HashSet<&ActionId> {
    let verdicts = story.end.verdicts.iter();
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
    let reason = story.changes().filter_map(|(_, weakness)| weakness).max();
    // What of which file was not kept: `src/x: owner: Operation not permitted`.
    let degraded = story.changes().flat_map(|(change, _)| {
        let what = change.degraded.iter();
        what.map(|what| format!("{}: {what}", change.result_path()))
    });
    let guarantees = json!({
        // Each change is made by one rename, so that no reader sees a partial file.
        "atomicity": "swap",
        "capture": capture(reason),
        "durability": story.end.durability,
        "jail": story.end.jail,
        "degraded": degraded.collect::<Vec<_>>(),
    });
    with(guarantees, [("capture_reason", reason.map(|it| json!(it)))])
}

/// Whether the file that was there at the moment of the exchange was kept: by the exchange itself, or it was only checked just
/// before, so that a change in between would be lost.
fn capture(weakness: Option<Weakness>) -> &'static str {
    weakness.map_or("strong", |_| "weak")
}

/// The same of one change.
fn fidelity(change: &Change, weakness: Option<Weakness>) -> Value {
    let fidelity = json!({
        "degraded": change.degraded,
        "atomicity": "swap",
        "capture": capture(weakness),
    });
    let link = change.through_link.as_ref();
    let fields = [
        ("capture_reason", weakness.map(|it| json!(it))),
        ("through_link", link.map(|it| json!(it))),
    ];
    with(fidelity, fields)
}

/// `change_log.json`: every field of 001 §4.2 in its order, then ours.
pub(super) fn change_log(story: &Story, report_id: Uuid, ids: &mut dyn FnMut() -> Uuid) -> Value {
    let log_id = ids();
    let lines = |(change, _): (&Change, _)| change.diff.lines_added + change.diff.lines_removed;
    let total: u64 = story.changes().map(lines).sum();
    let changes = story.changes();
    let changes: Vec<Value> = changes.map(|it| entry(story, it, ids())).collect();
    json!({
        "log_id": log_id,
        "plan_id": story.run.plan_id,
        "execution_report_id": report_id,
        "created_at": story.end.ended,
        "changes": changes,
        "files_affected_count": changes.len(),
        "total_lines_changed": total,
        // When the changes above were undone; null if they were not.
        "rolled_back_at": match &story.end.rollback {
            Rollback::Done { at, .. } => Some(at),
            Rollback::NotDone | Rollback::Stuck { .. } => None,
        },
    })
}

/// One file (R-001-54).
fn entry(story: &Story, (change, weakness): (&Change, Option<Weakness>), change_id: Uuid) -> Value {
    // The change was complete when the last of its actions was.
    let mut verdicts = story.end.verdicts.iter().rev();
    let last = verdicts.find(|verdict| change.actions.contains(&verdict.action));
    json!({
        "change_id": change_id,
        "action_id": change.actions.first(),
        // Of a renamed file the old path, as the plan's `target` names it.
        "file_path": change.path,
        "operation": change.reported(),
        "before_state": state(change.before.as_ref()),
        "after_state": state(change.after.as_ref()),
        "diff_summary": change.diff,
        "timestamp": last.map_or(&story.end.ended, |verdict| &verdict.ended),
        "actions": change.actions,
        "new_path": change.new_path(),
        "fidelity": fidelity(change, weakness),
    })
}

/// A file, or that there is none: then everything else is null (R-001-56, R-001-57).
fn state(state: Option<&Version>) -> Value {
    json!({
        "exists": state.is_some(),
        "hash": state.map(|file| &file.sha256),
        "size_bytes": state.map(|file| file.facts.bytes),
        "last_modified": state.map(|file| At::from(file.facts.modified())),
        "mode": state.map(|file| file.facts.octal()),
    })
}

/// An object with those of these fields that have a value.
fn with<const N: usize>(mut object: Value, fields: [(&str, Option<Value>); N]) -> Value {
    if let Some(object) = object.as_object_mut() {
        let fields = fields.into_iter();
        object.extend(fields.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    object
}
