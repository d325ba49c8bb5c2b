//! Makes every file of a report directory from the [`Story`], which is what the journal of the plan says. Pure: `engine` writes
//! the files. None of them is read again, so that one that is missing, torn or altered can be made again.
//!
//! | file | when |
//! |---|---|
//! | `rollback_manifest.json`, `rollback.sh` | before the first change; again when a rollback or the end of their time changes what they say |
//! | `execution_report.json`, `change_log.json` | at the end |
//! | `agent_logs/executor/{date}.jsonl` | at the end: [`log_lines`] |

mod execution;
mod files;
mod manifest;

use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    at::At,
    change::Change,
    record::{ActionEnd, Rollback, Story, Verdict},
};
use crate::task::{redact_presigned, visible_json};
pub(crate) use files::{CHANGE_LOG, EXECUTION_REPORT, MANIFEST, SCRIPT, files, log_file};
use manifest::script;
pub(crate) use manifest::{Manifest, ManifestStatus, Point};

/// Files of the report directory: name and content.
pub(crate) type Documents = Vec<(&'static str, Vec<u8>)>;

/// The execution report and the change log of a plan. `ids` returns the story's ids, or new ones.
pub(crate) fn execution(story: &Story, ids: &mut dyn FnMut() -> Uuid) -> (Value, Value) {
    let report_id = ids();
    let report = execution::execution_report(story, report_id, ids);
    (report, execution::change_log(story, report_id, ids))
}

/// The same; the story keeps the ids that it lacked.
pub(crate) fn told(story: &mut Story, new: impl Fn() -> Uuid) -> (Value, Value) {
    let mut ids = std::mem::take(&mut story.end.ids);
    let mut given = 0..;
    let told = execution(story, &mut || {
        let at = given.next().unwrap_or(ids.len());
        ids.get(at).copied().unwrap_or_else(|| {
            let id = new();
            ids.push(id);
            id
        })
    });
    story.end.ids = ids;
    told
}

/// The files that say how a plan ended.
pub(crate) fn end_documents((report, log): &(Value, Value)) -> Documents {
    vec![(EXECUTION_REPORT, bytes(report)), (CHANGE_LOG, bytes(log))]
}

/// The files that say how the changes are undone; none of a plan that changes nothing.
pub(crate) fn undo_documents(story: &Story) -> Documents {
    let manifest = Manifest::of(story);
    manifest.map_or_else(Documents::new, |manifest| {
        let script = script(&manifest).into_bytes();
        vec![(MANIFEST, bytes(&manifest.json())), (SCRIPT, script)]
    })
}

/// All files of the report directory of a plan that has ended. The story has its ids.
pub(crate) fn documents(story: &Story) -> Documents {
    let mut ids = story.end.ids.iter().copied();
    let ended = execution(story, &mut || ids.next().unwrap_or_default());
    [end_documents(&ended), undo_documents(story)].concat()
}

/// A report as it is written: two spaces deep, a line ending at its end.
fn bytes(report: &Value) -> Vec<u8> {
    // Texts, numbers and lists: writing them to memory cannot fail.
    let mut bytes = serde_json::to_vec_pretty(report).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

/// The whole story as lines of the log: one of JSON for each event (R-001-168), with what it is about:
/// `{"action": {…}}`. Contents of files are not in it.
pub(crate) fn log_lines(story: &Story) -> String {
    let mut text = String::new();
    let mut tell = |event: &str, at: &At, about: Value| {
        let line = json!({
            "timestamp": at,
            "event": event,
            "plan_id": story.run.plan_id,
            "task_id": story.run.task_id,
            "about": about,
        });
        text.push_str(&visible_json(&line.to_string()));
        text.push('\n');
    };
    let plan = json!({"plan": {"actions": story.run.actions.len()}});
    tell("plan_received", &story.run.began, plan);
    if let Some(undo) = &story.undo {
        for (change, _) in story.changes() {
            tell("checkpoint_made", &undo.created, checkpoint_made(change));
        }
    }
    for verdict in &story.end.verdicts {
        tell("action_ended", &verdict.ended, action_ended(verdict));
    }
    if let Some((at, left)) = story.end.rollback.left() {
        let event = match story.end.rollback {
            Rollback::Stuck { .. } => "rollback_stuck",
            Rollback::NotDone | Rollback::Done { .. } => "rolled_back",
        };
        tell(event, at, json!({"rollback": {"left": left}}));
    }
    tell("plan_ended", &story.end.ended, plan_ended(story));
    text
}

fn checkpoint_made(change: &Change) -> Value {
    json!({"checkpoint": {
        "checkpoint_id": change.checkpoint,
        "file_path": change.path,
        "operation": change.reported(),
        "original_hash": change.before.as_ref().map(|before| &before.sha256),
        "backup_location": change.backup,
    }})
}

fn action_ended(verdict: &Verdict) -> Value {
    let (status, error_code, message) = match &verdict.end {
        ActionEnd::Completed(output) => ("SUCCESS", None, output),
        ActionEnd::Failed(failure) => ("FAILED", Some(failure.fault.number()), &failure.message),
        ActionEnd::Skipped(reason) => ("SKIPPED", None, reason),
    };
    json!({"action": {
        "action_id": verdict.action,
        "operation": verdict.action_type,
        "target": verdict.target,
        "status": status,
        "error_code": error_code,
        "message": redact_presigned(message),
    }})
}

fn plan_ended(story: &Story) -> Value {
    let errors = story.end.troubles.iter().map(|trouble| {
        let failure = &trouble.failure;
        let message = redact_presigned(&failure.message);
        format!("{}: {message}", failure.fault.number())
    });
    json!({"end": {
        "status": story.status(),
        "duration_ms": story.end.duration_ms,
        "files": story.changes().count(),
        "report": story.run.directory,
        "errors": errors.collect::<Vec<_>>(),
    }})
}

#[cfg(test)]
mod tests;
