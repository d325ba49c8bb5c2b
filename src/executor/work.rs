//! What can be performed: the job of tools, file plans, grants, and answers.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    assets::Store,
    catalog::{FilePlan, ToolJob},
    mcp::{After, ServerSpec},
    task::{Outcome, PlanName, PlanOrder, Risk, RollbackOrder, Sanction, Secrets, Uri},
};

pub(crate) enum Work {
    Tools(Ready),
    Files(Box<FileWork>),
    /// To open a grant, which performs nothing by itself.
    Grant(Box<GrantWork>),
    /// The answer to a suggestion or a clarification, which is never performed.
    Said(Box<Outcome>),
}

/// The limits of a grant, and what they are for.
pub(crate) struct GrantWork {
    pub(crate) summary: String,
    /// The id and the seal of each entry.
    pub(crate) entries: BTreeMap<String, String>,
    pub(crate) max_calls: u32,
    pub(crate) lasts: Duration,
    /// The entries that wait for approvals of their own, with their risks.
    pub(crate) apart: Vec<(String, Risk)>,
    pub(crate) salt: Option<String>,
    /// The values that the servers of the entries receive from the environment.
    pub(crate) secrets: Secrets,
}

/// A job with everything that is needed to perform it.
pub(crate) struct Ready {
    pub(crate) job: ToolJob,
    /// One per step.
    pub(crate) launches: Vec<ServerSpec>,
    pub(crate) store: Store,
    pub(crate) inputs: Vec<Uri>,
    /// For `audit.compliance_notes`.
    pub(crate) notes: Vec<String>,
    /// Of one step of several.
    pub(crate) among: Option<Box<Among>>,
}

/// What one step of several needs of the others.
#[derive(Debug, Clone)]
pub(crate) struct Among {
    /// The secrets of all steps.
    pub(super) secrets: Secrets,
    /// What becomes of the server.
    pub(super) after: After,
    /// The capabilities that were performed before it.
    pub(super) before: Vec<String>,
}

/// An order about plans, with the reasoning so far.
pub(crate) struct FileWork {
    pub(crate) order: FileOrder,
    /// Sentences for `audit.reasoning`.
    pub(crate) reasoning: Vec<String>,
}

/// What can be requested of plans.
pub(crate) enum FileOrder {
    Plan {
        plan: PlanOrder,
        entry: Box<FilePlan>,
        /// The hash of the preview that the operator names with `--expect`.
        expect: Option<String>,
        /// The preview that a person approved.
        sanction: Sanction,
    },
    Rollback {
        order: RollbackOrder,
        sanction: Sanction,
    },
    Status(PlanName),
    Cancel(PlanName),
}

impl FileOrder {
    /// The entry of the catalog by which a plan is applied. Everything else has none.
    pub(crate) fn entry(&self) -> Option<&FilePlan> {
        match self {
            Self::Plan { entry, .. } => Some(entry),
            Self::Rollback { .. } | Self::Status(_) | Self::Cancel(_) => None,
        }
    }
}
