//! What a plan came to, for whoever answers the caller.

use serde_json::Value;

use crate::task::{Effect, Failure, RelPath};

pub(crate) use crate::task::{Preview, ReportFiles};

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
    /// Every path that is another now than before the plan.
    pub(crate) changed: Vec<RelPath>,
    /// For `audit.reasoning` and `audit.compliance_notes`.
    pub(crate) reasoning: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Finished {
    /// Nothing was done; a sentence says what there is to say.
    pub(super) fn nothing_done(sentence: String) -> Self {
        Self {
            status: None,
            rejected: Rejected::No,
            failure: None,
            effect: Effect::None,
            report: Value::Null,
            files: None,
            preview: None,
            changed: Vec::new(),
            reasoning: vec![sentence],
            notes: Vec::new(),
        }
    }
}

/// Whether the request was refused before anything was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    Yes,
    No,
}
