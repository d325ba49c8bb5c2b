//! Who may approve, by the catalog as it is now, and the wait for their decision.

use std::{thread, time::Duration};

use camino::Utf8Path;

use super::Project;
use crate::{
    catalog::{ApprovalSettings, Catalog, CatalogError, approval_rule, approval_settings},
    executor::Context,
    ledger::{Approval, Purpose, Signer, signers_for},
    task::{ApprovalRule, Failure, Policy, Risk},
};

/// The pause between two looks at a request that waits.
const PAUSE: Duration = Duration::from_millis(200);

/// Who may decide about a request for these entries, by the catalog as it is now, and whose signatures count.
pub(crate) fn approvers(project: &Project, action: &str) -> Result<(Policy, Vec<Signer>), Failure> {
    let catalog = match Catalog::load(&project.catalog) {
        Err(CatalogError::Missing { .. }) => {
            let rule = ApprovalRule::default();
            return Ok((
                Policy::of([&rule].into_iter(), Risk::default(), &[]),
                Vec::new(),
            ));
        }
        catalog => catalog?,
    };
    let tables = catalog.tables()?;
    let rules = action.split('+').map(|id| approval_rule(&tables, id));
    let rules: Vec<ApprovalRule> = rules.collect::<Result<_, _>>()?;
    let signers = signers(&approval_settings(&tables)?, &project.root);
    Ok((Policy::of(rules.iter(), Risk::default(), &[]), signers))
}

/// Whose signatures count, by the catalog as it is now; nobody's if it cannot be read.
pub(crate) fn allowed_signers(project: &Project) -> Vec<Signer> {
    let catalog = Catalog::load(&project.catalog).ok();
    let settings = catalog.and_then(|catalog| approval_settings(&catalog.tables().ok()?).ok());
    settings.map_or_else(Vec::new, |settings| signers(&settings, &project.root))
}

pub(super) fn signers(settings: &ApprovalSettings, root: &Utf8Path) -> Vec<Signer> {
    let Some(file) = &settings.allowed_signers else {
        return Vec::new();
    };
    signers_for(&root.join(file), Purpose::Approval).unwrap_or_else(|error| {
        tracing::warn!("No signature counts: {error}");
        Vec::new()
    })
}

/// Waits until a person decides about the request, it expires, or the time is over. Returns whether it is worth
/// looking again.
pub(super) fn wait_for(
    case: impl Fn() -> Option<Approval>,
    longest: Duration,
    context: &Context<'_>,
) -> bool {
    let begun = context.host.moment();
    let before = case().map_or(0, |case| case.votes.len());
    loop {
        if context.go_on().is_err() || begun.passed() >= longest {
            return false;
        }
        thread::sleep(PAUSE.min(longest));
        match case() {
            Some(case)
                if case.votes.len() == before && context.host.timestamp() < case.expires() => {}
            Some(_) | None => return true,
        }
    }
}
