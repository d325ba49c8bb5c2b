//! What is known of a pipeline that was started.

use serde::{Deserialize, Serialize};

use crate::{
    plan::model::ActionId,
    task::{RelPath, Repeatable},
};

/// A pipeline that was started. Nothing of it is undone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PipelineRun {
    /// A journal does not say it: what a recovery tells of is not run again.
    #[serde(skip, default = "once")]
    pub(crate) repeatable: Repeatable,
    pub(crate) action_id: ActionId,
    pub(crate) pipeline: String,
    /// RFC 3339.
    pub(crate) started_at: String,
    /// `None`: the run was interrupted while the pipeline ran.
    pub(crate) completed_at: Option<String>,
    pub(crate) status: PipelineStatus,
    /// Why it did not complete.
    pub(crate) failure: Option<String>,
    /// The files in its directories that were changed while it ran, up to a number of files.
    pub(crate) files_changed: Vec<RelPath>,
    pub(crate) files_changed_count: usize,
    /// The end of what it printed.
    pub(crate) output: String,
}

fn once() -> Repeatable {
    Repeatable::Once
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum PipelineStatus {
    Success,
    Failed,
    Unknown,
}

impl PipelineRun {
    /// The sentence that says what stays.
    pub(crate) fn stays(&self) -> String {
        let ended = match self.status {
            PipelineStatus::Success => "has run",
            PipelineStatus::Failed => "has failed",
            PipelineStatus::Unknown => "was started, and how it ended is unknown",
        };
        let changed: Vec<&str> = self.files_changed.iter().map(RelPath::as_str).collect();
        let changed = match self.files_changed_count {
            0 => "no file in its directories was changed meanwhile".to_owned(),
            count if count > changed.len() => {
                format!(
                    "{count} files were changed meanwhile, among them {}",
                    changed.join(", ")
                )
            }
            _ => format!("these files were changed meanwhile: {}", changed.join(", ")),
        };
        format!(
            "The pipeline `{}` ({}) {ended}. It is not undone; {changed}.",
            self.pipeline, self.action_id
        )
    }
}
