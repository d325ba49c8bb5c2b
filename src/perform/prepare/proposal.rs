//! Prepares an improvised action that asks for a grant (R-003-06 … R-003-08).

use crate::{
    catalog::{Capability, Catalog, look_up, must_not_be},
    envelope::Received,
    executor::{GrantWork, Rejection, Work},
    host::Host,
    record::RunLedger,
    task::{ApprovalRule, Assessment, Failure, Fault, Grant, Improvised, Phase, When, assess},
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
        must_not_be(&tables, proposal.name.as_deref())?;
        let grant = &proposal.grant;
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
