//! The files of a report directory, and their names.

use crate::{
    plan::{at::At, record::Run},
    task::{RelPath, ReportFiles},
};

/// Names of the files in a report directory.
pub(crate) const EXECUTION_REPORT: &str = "execution_report.json";
pub(crate) const CHANGE_LOG: &str = "change_log.json";
pub(crate) const MANIFEST: &str = "rollback_manifest.json";
pub(crate) const SCRIPT: &str = "rollback.sh";

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

/// The executor's log of that day, from the root.
pub(crate) fn log_file(at: &At) -> String {
    format!("agent_logs/executor/{}.jsonl", at.day())
}
