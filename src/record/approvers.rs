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
/// beginning the request again. `known` is the number of decisions that the run knew when it answered, so a decision
/// that was made before the first look counts, too.
pub(super) fn wait_for(
    case: impl Fn() -> Option<Approval>,
    known: usize,
    longest: Duration,
    context: &Context<'_>,
) -> bool {
    let begun = context.host.moment();
    while context.go_on().is_ok() {
        // If the ledger cannot be read now, the next look may succeed.
        let news = case().is_some_and(|case| {
            case.votes.len() != known || context.host.timestamp() >= case.expires()
        });
        let left = longest.saturating_sub(begun.passed());
        if news || left.is_zero() {
            return news;
        }
        thread::sleep(PAUSE.min(left));
    }
    false
}
