//! Requests for approvals, as people see them: who may approve one by the catalog as it is now, and the stored call that
//! `run --approved` performs.

use serde::Deserialize;
use serde_json::Value;

use super::{
    naming::{CommandError, only},
    reading::Reading,
};
use crate::{
    approval::{Approval, Approved, Joined, Kept, about, root_of, row_of, signers},
    catalog::{Catalog, CatalogError, approval_rule, approval_settings},
    evidence::Signer,
    host::{self, Host},
    ledger::{Row, StoreError, read},
    record::Project,
    task::{ApprovalRule, Failure, Fault, Policy, Risk, Unseen},
};

/// What the sealed row of a request says about its approval.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AboutRequest {
    pub(crate) risk: String,
    /// The root in which it is performed.
    pub(crate) root: String,
    pub(crate) why: Vec<String>,
    /// The parameters that are shown first.
    pub(super) show: Vec<String>,
    pub(crate) quorum: u64,
    pub(crate) diff: Option<String>,
    /// The answers to the tool's questions.
    pub(crate) input_responses: Option<Value>,
    /// The parameters in which characters are hidden, those at `secret` pointers not among them.
    pub(crate) hidden: Vec<Unseen>,
    pub(super) kept: Option<Kept>,
}

impl AboutRequest {
    pub(super) fn of(row: Option<&Row>) -> Option<Self> {
        Self::deserialize(about(row)?).ok()
    }
}

/// Who may decide about a request for these entries, by the catalog as it is now, and whose signatures count.
pub(super) fn approvers(project: &Project, action: &str) -> Result<(Policy, Vec<Signer>), Failure> {
    let (rules, signers) = match Catalog::load(&project.catalog) {
        Err(CatalogError::Missing { .. }) => (vec![ApprovalRule::default()], Vec::new()),
        catalog => {
            let catalog = catalog?;
            let tables = catalog.tables()?;
            let rules = action.split('+').map(|id| approval_rule(&tables, id));
            let signers = signers(&approval_settings(&tables)?, &project.root);
            (rules.collect::<Result<_, _>>()?, signers)
        }
    };
    Ok((Policy::of(rules.iter(), Risk::default(), &[]), signers))
}

/// Whose signatures count, by the catalog as it is now; nobody's if it cannot be read.
pub(super) fn allowed_signers(project: &Project) -> Vec<Signer> {
    let catalog = Catalog::load(&project.catalog).ok();
    let settings = catalog.and_then(|catalog| approval_settings(&catalog.tables().ok()?).ok());
    settings.map_or_else(Vec::new, |settings| signers(&settings, &project.root))
}

/// The request whose id begins with `text`, and its task, if this user may perform it in this project now. Whether it was
/// approved is checked when it is performed.
pub(crate) fn approved(
    project: &Project,
    text: &str,
    host: &Host,
) -> Result<(Approved, Vec<u8>), Failure> {
    let mut reading = project
        .reading(host)
        .map_err(|error| Failure::new(Fault::LedgerUnavailable, error.to_string()))?;
    let (case, row) = reading.approval(text).map_err(|mut failure| {
        if failure.fault == Fault::InvalidUsage {
            let root = format!(
                ", and --root DIR names another root (this one is {})",
                project.root
            );
            failure.message.push_str(&root);
        }
        failure
    })?;
    let (id, asked) = (&case.id, &case.asked);
    let mismatch = |why: String| Failure::new(Fault::ApprovalMismatch, why);
    let about = AboutRequest::of(row.as_ref()).unwrap_or_default();
    let root = &project.root;
    if asked.root != Some(root_of(&project.state_dir, root)) {
        let other = match about.root.as_str() {
            "" => "that is not known",
            root => root,
        };
        return Err(mismatch(format!(
            "{id} was requested in the root {other}, but this is the root {root}; perform it there: \
             `oneact run --approved {id} --root {other}`"
        )));
    }
    let us = format!("uid:{}", host::user_id());
    if case.asked_by != us {
        return Err(mismatch(format!(
            "{id} was requested by {}, and only that user performs it; this is {us}",
            case.asked_by
        )));
    }
    case.decidable(host.timestamp())?;
    let lack = match about.kept {
        Some(Kept::Task {
            text,
            context,
            profile,
        }) => {
            let approved = Approved {
                joined: Joined::of(&case),
                is_whole: asked.whole.is_none(),
                context,
                profile,
            };
            return Ok((approved, text.into_bytes()));
        }
        Some(Kept::Without(lack)) => lack,
        None => "its row was changed or pruned".to_owned(),
    };
    Err(mismatch(format!(
        "{id} cannot be performed from the ledger, because {lack}. Send the task again: its next run uses the approval"
    )))
}

impl Reading {
    /// All requests for approvals with the rows that ask, the newest first. A row that does not match its link is left
    /// out.
    pub(crate) fn approvals(&mut self) -> Result<Vec<(Approval, Option<Row>)>, CommandError> {
        Ok(self.cases("")?)
    }

    /// The same of the requests whose ids begin with `text`.
    fn cases(&mut self, text: &str) -> Result<Vec<(Approval, Option<Row>)>, StoreError> {
        read::<_, StoreError>(&mut *self.store, |tx| {
            let mut cases = Vec::new();
            for request in tx.requests(text)? {
                if let Some(case) = Approval::of(tx, request)? {
                    let row = row_of(tx, &case)?;
                    cases.push((case, row));
                }
            }
            Ok(cases)
        })
    }

    /// The request whose id begins with this text; of several with one id, the newest.
    pub(crate) fn approval(&mut self, text: &str) -> Result<(Approval, Option<Row>), Failure> {
        let whole = format!("apr_{}", text.strip_prefix("apr_").unwrap_or(text));
        // An empty variable of a shell names no request, even if there is only one.
        let cases = match whole.as_str() {
            "apr_" => Vec::new(),
            whole => self.cases(whole)?,
        };
        let found = only(&whole, None, cases, |(case, _)| case.id.clone());
        found.map_err(|error| {
            let why = match error {
                CommandError::Nothing { .. } => format!(
                    "no request for an approval has an id that begins with `{text}`; `oneact approvals` lists them"
                ),
                several => several.to_string(),
            };
            Failure::new(Fault::InvalidUsage, why)
        })
    }
}
