//! What a plan came to, for whoever answers the caller.

use serde_json::Value;

use crate::task::{Effect, Failure};

use super::record::Status;

/// The end of a plan, of its preview, its rollback, or of a question about it.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    /// `None` where no plan was at work: a preview, a question.
    pub(crate) status: Option<Status>,
    /// Nothing was changed, because the request is wrong: fix it and send it again.
    pub(crate) rejected: Rejected,
    pub(crate) failure: Option<Failure>,
    pub(crate) effect: Effect,
    /// `execution_report.json` as a value; null before there is a plan to report on.
    pub(crate) report: Value,
    /// Paths below the root, where they were written.
    pub(crate) files: Option<ReportFiles>,
    /// What would be done: only of a preview.
    pub(crate) preview: Option<Preview>,
    /// For `audit.reasoning` and `audit.compliance_notes`.
    pub(crate) reasoning: Vec<String>,
    pub(crate) notes: Vec<String>,
}

/// Whether the request was refused before anything was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    Yes,
    No,
}

/// Where the reports of a plan are, relative to the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportFiles {
    pub(crate) directory: String,
    pub(crate) execution_report: String,
    pub(crate) change_log: String,
    /// `None` where nothing was changed.
    pub(crate) rollback_manifest: Option<String>,
}

/// What a plan would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preview {
    /// `sha256:…`: what `--expect` binds a run to.
    pub(crate) hash: String,
    /// As `git diff` prints it, without colours.
    pub(crate) diff: String,
}
