//! Who asks, whether the gate lets the task pass, and the ledger that records the run.

use super::{Settings, Through};
use crate::{
    approval::Approvals,
    catalog::{CatalogTables, Gated, approval_settings},
    envelope::Received,
    gate::Caller,
    host::Host,
    record::RunLedger,
    task::{Admission, ApprovalRule, Assessment, Failure, Fault, Risk},
};

/// Who asks, what the gate decided, and the rules for approvals of the entries.
pub(super) struct Passed {
    caller: Caller,
    admission: Option<Admission>,
    rules: Vec<ApprovalRule>,
}

impl Passed {
    /// Of a task that names no entry of the catalog: the gate is not asked.
    pub(super) fn unasked(
        settings: &Settings,
        tables: Option<&CatalogTables<'_>>,
        rules: Vec<ApprovalRule>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            caller: caller(settings, tables)?,
            admission: None,
            rules,
        })
    }

    /// Of a task that names these entries, and states a risk.
    pub(super) fn admitted<'a>(
        settings: &Settings,
        tables: Option<&CatalogTables<'_>>,
        (entries, rules): (impl Iterator<Item = Gated<'a>>, Vec<ApprovalRule>),
        stated: Risk,
    ) -> Result<Self, Failure> {
        let caller = caller(settings, tables)?;
        let admission = caller.admit(entries)?;
        Ok(Self {
            admission: Some(admission.with(Assessment::stated(stated))),
            caller,
            rules,
        })
    }

    pub(super) fn ledger<'h>(
        self,
        settings: &'h Settings,
        tables: Option<&CatalogTables<'_>>,
        received: &Received,
        host: &'h Host,
    ) -> Result<RunLedger<'h>, Failure> {
        let approvals = Approvals {
            admission: self.admission,
            rules: self.rules,
            settings: tables
                .map(approval_settings)
                .transpose()?
                .unwrap_or_default(),
            wait: settings.wait,
            through: settings.through,
            approved: settings.approved.clone(),
        };
        let run = (self.caller, approvals);
        RunLedger::of(
            &settings.project,
            tables,
            run,
            settings.reuse,
            received,
            host,
        )
    }
}

/// Who started the run; of a stored call, who requested it. A host performs only what was requested in its own context.
fn caller(settings: &Settings, tables: Option<&CatalogTables<'_>>) -> Result<Caller, Failure> {
    let own = || Caller::of_launch(settings.profile.as_deref(), tables);
    let Some(approved) = &settings.approved else {
        return own();
    };
    let caller = match &approved.profile {
        Some(profile) => Caller::of_launch(Some(profile), tables)?,
        None => Caller {
            context: approved.context,
            profile: None,
        },
    };
    let is_own = settings.profile.is_none() && settings.through == Through::Command;
    if caller.context != approved.context || !(is_own || own()? == caller) {
        let id = &approved.joined.id;
        return Err(Failure::new(
            Fault::ContextDenied,
            format!(
                "{id} was requested in the context {}, which is not the context of this run; `oneact run --approved {id}` \
                 performs it in the context of the request",
                approved.context.name()
            ),
        ));
    }
    Ok(caller)
}
