//! What happened, told: every file of a report directory as a function of the one [`Story`]. Pure: bytes
//! and values out; `engine` writes them.
//!
//! | file | made by | when |
//! |---|---|---|
//! | `rollback_manifest.json` | [`Manifest::of`] | before the first change; once more at the end |
//! | `rollback.sh` | [`script()`] | before the first change |
//! | `execution_report.json`, `change_log.json` | [`tell`] | at the end |
//! | `agent_logs/executor/{date}.jsonl` | [`log`] | as things happen, or all of it at the end |

mod at;
mod change_log;
mod execution;
pub(crate) mod log;
mod manifest;
mod preview;
mod script;
mod steps;

use serde::Serialize;
use uuid::Uuid;

use super::record::{Run, Story};

pub(crate) use at::At;
pub(crate) use change_log::ChangeLog;
pub(crate) use execution::ExecutionReport;
pub(crate) use manifest::{Manifest, ManifestError, ManifestStatus, Point};
pub(crate) use preview::{Foreseen, PreviewHash};
pub(crate) use script::script;

/// Names of the files in a report directory.
pub(crate) const EXECUTION_REPORT: &str = "execution_report.json";
pub(crate) const CHANGE_LOG: &str = "change_log.json";
pub(crate) const MANIFEST: &str = "rollback_manifest.json";
pub(crate) const SCRIPT: &str = "rollback.sh";

/// What is told at the end.
#[derive(Debug)]
pub(crate) struct Reports {
    pub(crate) execution: ExecutionReport,
    pub(crate) changes: ChangeLog,
    /// None where nothing was ever to be changed.
    pub(crate) manifest: Option<Manifest>,
}

/// Tells a story. `ids` gives UUIDs that nobody has seen before.
pub(crate) fn tell(story: &Story, ids: &mut dyn FnMut() -> Uuid) -> Reports {
    let report_id = ids();
    Reports {
        execution: ExecutionReport::of(story, report_id, ids),
        changes: ChangeLog::of(story, report_id, ids),
        manifest: Manifest::at_the_end(story),
    }
}

/// A report as it is written: two spaces deep, a line ending at its end.
pub(crate) fn bytes(report: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec_pretty(report)?;
    bytes.push(b'\n');
    Ok(bytes)
}

impl Run {
    /// A file of the report directory, from the root.
    pub(crate) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }
}

#[cfg(test)]
mod tests;
