//! Makes every file of a report directory from the [`Story`]. Pure: `engine` writes the files.
//!
//! | file | made by | when |
//! |---|---|---|
//! | `rollback_manifest.json` | [`Manifest::of`] | before the first change; once more at the end |
//! | `rollback.sh` | [`script()`] | before the first change |
//! | `execution_report.json`, `change_log.json` | [`tell`] | at the end |
//! | `agent_logs/executor/{date}.jsonl` | [`log_lines`] | at the end |

mod execution;
mod manifest;

use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::record::{ActionEnd, Change, Rollback, Run, Story, Verdict};
use crate::task::{RelPath, ReportFiles, redact_presigned, visible_json};
pub(crate) use execution::is_archived;
pub(crate) use manifest::{Manifest, ManifestStatus, Point, script};

/// Names of the files in a report directory.
pub(crate) const EXECUTION_REPORT: &str = "execution_report.json";
pub(crate) const CHANGE_LOG: &str = "change_log.json";
pub(crate) const MANIFEST: &str = "rollback_manifest.json";
pub(crate) const SCRIPT: &str = "rollback.sh";

#[derive(Debug)]
pub(crate) struct Reports {
    pub(crate) execution: Value,
    pub(crate) change_log: Value,
    /// None where nothing was ever to be changed.
    pub(crate) manifest: Option<Manifest>,
}

/// Makes the reports. `ids` returns new UUIDs.
pub(crate) fn tell(story: &Story, ids: &mut dyn FnMut() -> Uuid) -> Reports {
    let report_id = ids();
    Reports {
        execution: execution::execution_report(story, report_id, ids),
        change_log: execution::change_log(story, report_id, ids),
        manifest: Manifest::at_the_end(story),
    }
}

/// A report as it is written: two spaces deep, a line ending at its end.
pub(crate) fn bytes(report: &impl Serialize) -> Vec<u8> {
    // Texts, numbers and lists: writing them to memory cannot fail.
    let mut bytes = serde_json::to_vec_pretty(report).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

impl Run {
    /// A file of the report directory, from the root.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }
}

pub(crate) fn files(directory: &RelPath) -> ReportFiles {
    let file = |name: &str| format!("{directory}/{name}");
    ReportFiles {
        directory: directory.to_string(),
        execution_report: file(EXECUTION_REPORT),
        change_log: file(CHANGE_LOG),
        rollback_manifest: Some(file(MANIFEST)),
    }
}

/// A time as reports write it (ISO 8601 with its offset). A time that is read keeps its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct At {
    text: String,
    timestamp: Timestamp,
}

/// To the millisecond, with the offset of the place.
impl From<&Zoned> for At {
    fn from(at: &Zoned) -> Self {
        Self {
            text: at.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string(),
            timestamp: at.timestamp(),
        }
    }
}

/// To the nanosecond, in UTC: the times of files, which are given back exactly.
impl From<Timestamp> for At {
    fn from(timestamp: Timestamp) -> Self {
        Self {
            text: timestamp.to_string(),
            timestamp,
        }
    }
}

impl TryFrom<String> for At {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse() {
            Ok(timestamp) => Ok(Self { text, timestamp }),
            Err(why) => Err(format!("`{text}` is no point in time: {why}")),
        }
    }
}

impl From<At> for String {
    fn from(at: At) -> Self {
        at.text
    }
}

/// The executor's log of that day, from the root.
pub(crate) fn log_file(day: &Zoned) -> String {
    format!("agent_logs/executor/{}.jsonl", day.strftime("%Y-%m-%d"))
}

/// The whole story as lines of the log: one of JSON for each event (R-001-168), with what it is about:
/// `{"action": {…}}`. Contents of files are not in it.
pub(crate) fn log_lines(story: &Story) -> String {
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
            tell("checkpoint_made", &undo.created, checkpoint_made(change));
        }
    }
    for verdict in &story.verdicts {
        tell("action_ended", &verdict.ended, action_ended(verdict));
    }
    let rollback = match &story.rollback {
        Rollback::NotDone => None,
        Rollback::Done { at, left } => Some(("rolled_back", at, left)),
        Rollback::Stuck { at, left } => Some(("rollback_stuck", at, left)),
    };
    if let Some((event, at, left)) = rollback {
        // Checkpoints that are not restored.
        tell(event, at, json!({"rollback": {"left": left}}));
    }
    tell("plan_ended", &story.ended, plan_ended(story));
    text
}

fn checkpoint_made(change: &Change) -> Value {
    json!({"checkpoint": {
        "checkpoint_id": change.checkpoint,
        "file_path": change.target(),
        "operation": change.kind,
        "original_hash": change.hash_before(),
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

#[cfg(test)]
mod tests;
