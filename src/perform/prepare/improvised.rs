//! Prepares an improvised action: the grant that it asks for (R-003-06 … R-003-08).

use crate::{
    catalog::{Capability, Catalog, CatalogTables, look_up, named_in_catalog},
    envelope::Received,
    executor::{GrantWork, Rejection, Work},
    host::Host,
    record::RunLedger,
    task::{
        ApprovalRule, Assessment, Failure, Fault, Grant, Improvised, Phase, When, Wish, assess,
    },
};

use super::{Settings, ledger, only_of_plans};

/// A request for a grant. Its policy is that of all its entries.
pub(super) fn prepare<'h>(
    proposal: &Improvised,
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
) -> Result<(Work, RunLedger<'h>), Rejection> {
    only_of_plans(settings)?;
    let granted = || {
        let catalog = Catalog::load(&settings.project.catalog)?;
        let tables = catalog.tables()?;
        let grant = grant(proposal, &tables)?;
        let mut ledger = ledger(settings, Some(&tables), received, host)?;
        let entries = grant.entries.iter().map(|id| look_up(&tables, id));
        let entries: Vec<Capability> = entries.collect::<Result<_, _>>()?;
        let named = entries.iter().zip(&grant.entries);
        let granted = named.map(|(entry, id)| entry.granted().ok_or_else(|| workflow(id)));
        let (gated, seals): (Vec<_>, Vec<_>) =
            granted.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let rules = gated.iter().map(|gated| ApprovalRule {
            when: When::Always,
            ..gated.approval.clone()
        });
        ledger.approvals.rules = rules.collect();
        ledger.approvals.wait = settings.wait;
        let risks = gated
            .iter()
            .map(|gated| (gated.id.to_owned(), assess(&gated.hazards).risk));
        let apart = risks
            .filter(|(_, risk)| *risk >= Grant::NOT_COVERED)
            .collect();
        let admission = ledger.caller.admit(gated.into_iter())?;
        ledger.admission = Some(admission.with(Assessment::stated(proposal.stated)));
        let work = GrantWork {
            summary: proposal.summary.clone(),
            entries: grant.entries.iter().cloned().zip(seals).collect(),
            max_calls: grant.max_calls,
            lasts: grant.lasts,
            apart,
            salt: proposal.salt.clone(),
        };
        Ok::<_, Failure>((Work::Grant(Box::new(work)), ledger))
    };
    granted().map_err(Rejection::at(Phase::Catalog))
}

fn workflow(id: &str) -> Failure {
    let message = format!(
        "`grant.entries` names {id}, which is a workflow; name the capabilities that it runs"
    );
    Failure::new(Fault::KindRule, message)
}

/// The grant that an improvised action asks for, unless the action is refused.
fn grant<'p>(proposal: &'p Improvised, tables: &CatalogTables<'_>) -> Result<&'p Grant, Failure> {
    let named = proposal.name.as_ref();
    let named = named.map_or(Ok(None), |name| named_in_catalog(tables, name))?;
    if let Some(id) = named {
        let message = format!(
            "the proposal of kind `improvised` names {id}, which is in the catalog; use kind `standard`: \"name\": \"{id}\""
        );
        return Err(Failure::new(Fault::KindRule, message));
    }
    match &proposal.wish {
        Wish::Grant(grant) => Ok(grant),
        Wish::Steps => Err(Failure::new(
            Fault::OperationNotBuiltIn,
            "an improvised action with declared `steps` is not built into this version of oneact; nothing was performed. \
             Propose a `grant` for the entries, or send each step as a proposal of kind `standard`",
        )),
    }
}
