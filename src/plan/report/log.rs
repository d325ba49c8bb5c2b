//! `agent_logs/executor/{date}.jsonl`: a line of JSON an event (R-001-168). Contents of files are not in it.

use jiff::Zoned;
use serde_json::{Value, json};

use crate::{
    plan::record::{ActionEnd, Change, FileState, Rollback, Story, Verdict},
    task::{redact_presigned, visible_json},
};

use super::At;

/// The file for that day, from the root.
pub(crate) fn file(day: &Zoned) -> String {
    format!("agent_logs/executor/{}.jsonl", day.strftime("%Y-%m-%d"))
}

/// The whole story, in order: a line for each event, with what it is about: `{"action": {…}}`.
pub(crate) fn lines(story: &Story) -> String {
    let mut text = String::new();
    let mut tell = |event: &str, at: &Zoned, about: Value| {
        let line = json!({
            "timestamp": At::from(at),
            "event": event,
            "plan_id": story.run.plan_id,
            "task_id": story.run.task_id,
            "about": about,
        });
        text.push_str(&visible_json(&line.to_string()));
        text.push('\n');
    };
    let actions = story.run.actions.len();
    let plan = json!({"plan": {"actions": actions}});
    tell("plan_received", &story.run.began, plan);
    if let Some(undo) = &story.undo {
        for change in &undo.changes {
            tell("checkpoint_made", &undo.created, checkpoint(change));
        }
    }
    for verdict in &story.verdicts {
        tell("action_ended", &verdict.ended, action(verdict));
    }
    // `left`: checkpoints that are not restored.
    match &story.rollback {
        Rollback::NotDone => {}
        Rollback::Done { at, .. } => tell("rolled_back", at, json!({"rollback": {"left": []}})),
        Rollback::Stuck { at, left } => {
            tell("rollback_stuck", at, json!({"rollback": {"left": left}}));
        }
    }
    tell("plan_ended", &story.ended, end(story));
    text
}

fn checkpoint(change: &Change) -> Value {
    let record = &change.record;
    json!({"checkpoint": {
        "checkpoint_id": change.checkpoint.id,
        "file_path": record.target(),
        "operation": record.kind,
        "original_hash": match &record.before {
            FileState::Absent => None,
            FileState::Present { hash, .. } => Some(hash),
        },
        "backup_location": change.checkpoint.backup,
    }})
}

fn action(verdict: &Verdict) -> Value {
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

fn end(story: &Story) -> Value {
    let errors = story.troubles.iter().map(|trouble| {
        let failure = &trouble.failure;
        let message = redact_presigned(&failure.message);
        format!("{}: {message}", failure.fault.number())
    });
    json!({"end": {
        "status": story.status(),
        "duration_ms": story.duration_ms,
        "files": story.changes().len(),
        "report": story.run.directory,
        "errors": errors.collect::<Vec<_>>(),
    }})
}
