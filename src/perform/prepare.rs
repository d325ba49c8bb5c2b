//! Prepares a task: every error that can be found before anything is started is found here
//! (000 §Step 2 … 4, R-000-53, R-000-58).

mod caller;
mod inputs;
mod plans;
mod proposal;

use std::collections::BTreeMap;

use camino::Utf8Path;
use sha2::{Digest, Sha256};

use super::settings::{Mode, Settings};
use crate::{
    approval::Approvals,
    assets::{Contact, Look, Policy, Store},
    catalog::{
        APPLY_FILE_PLAN, Caller, Capability, Catalog, CatalogError, CatalogTables, FilePlan, Gated,
        Job, Lifetime, Places, PrivateNetwork, Server, ToolJob, approval_rule, approval_settings,
        ledger_rule, look_up, look_up_all, must_not_be, plan_entry, resolve, server_of,
    },
    envelope::Received,
    executor::{self, FileOrder, GrantWork, Ready, Rejection, Work},
    host::Host,
    record::{RunLedger, unrecorded},
    task::{
        Admission, ApprovalRule, Asker, Assessment, CapabilityTask, Failure, Fault, Grant,
        Improvised, Input, NamedAs, OperationId, Outcome, Phase, PlanOrder, Risk, Sanction,
        Secrets, Task, Uri, When, assess, hexadecimal,
    },
};

pub(crate) use caller::caller_of_launch;
use plans::{no_plan, only_of_plans, plan, planned, stated_risk, usage};

/// A task after all checks that need no tool.
pub(super) enum Prepared<'h> {
    /// The work for the task, and the ledger that records it.
    Work(Box<Work>, Box<RunLedger<'h>>),
    /// The answer to a proposal that is never performed, if no ledger can record it.
    Answer(Box<Outcome>),
}

/// The scratch directory of the run, and that of the servers that outlive it.
#[derive(Clone, Copy)]
pub(super) struct Scratches<'a> {
    pub(super) own: &'a Utf8Path,
    pub(super) kept: Option<&'a Utf8Path>,
}

/// What all checks of a task need.
struct Preparing<'h, 'a> {
    received: &'a Received,
    settings: &'h Settings,
    host: &'h Host,
    scratch: Scratches<'a>,
    /// None if there is no catalog.
    tables: Option<&'a CatalogTables<'a>>,
}

pub(super) fn prepare<'h>(
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
    scratch: Scratches<'_>,
) -> Result<Prepared<'h>, Rejection> {
    let task = received.task.as_ref().map_err(Clone::clone);
    let task = task.map_err(Rejection::at(Phase::Read))?;
    let catalog = match Catalog::load(&settings.project.catalog) {
        Err(CatalogError::Missing { .. }) => Ok(None),
        catalog => catalog.map(Some),
    };
    let tables = match &catalog {
        Ok(catalog) => {
            let tables = catalog.as_ref().map(Catalog::tables).transpose();
            tables.map_err(Failure::from)
        }
        Err(error) => Err(Failure::new(Fault::CatalogInvalid, error.to_string())),
    };
    let preparing = |tables| Preparing {
        received,
        settings,
        host,
        scratch,
        tables,
    };
    match task {
        // The answer to a proposal that is never performed needs neither the catalog nor the ledger (R-003-19).
        Task::Suggestion(_) | Task::Clarification(_) => {
            only_of_plans(settings)?;
            let known = tables.as_ref().ok().and_then(Option::as_ref);
            let outcome = match task {
                Task::Suggestion(card) => proposal::suggestion(card),
                Task::Clarification(question) => proposal::clarification(question, known),
                _ => Outcome::default(),
            };
            let ledger = tables.as_ref().map_err(Clone::clone);
            let ledger = ledger.and_then(|tables| preparing(tables.as_ref()).unasked(Vec::new()));
            Ok(said(outcome, ledger, settings.mode))
        }
        task => {
            let tables = tables.map_err(Rejection::at(Phase::Catalog))?;
            let (work, ledger) = preparing(tables.as_ref()).work(task)?;
            Ok(Prepared::Work(Box::new(work), Box::new(ledger)))
        }
    }
}

/// The answer to a proposal that is never performed.
fn said(mut outcome: Outcome, ledger: Result<RunLedger<'_>, Failure>, mode: Mode) -> Prepared<'_> {
    match (mode, ledger) {
        (Mode::Run, Ok(ledger)) => {
            let work = Work::Said(Box::new(outcome));
            return Prepared::Work(Box::new(work), Box::new(ledger));
        }
        (Mode::Run, Err(failure)) => outcome.notes.push(unrecorded(&failure.message)),
        (Mode::DryRun, _) => {}
    }
    Prepared::Answer(Box::new(outcome))
}

impl<'h> Preparing<'h, '_> {
    fn work(&self, task: &Task) -> Result<(Work, RunLedger<'h>), Rejection> {
        let order = match task {
            Task::Capabilities(task) => return self.capabilities(task),
            Task::Improvised(proposal) => {
                only_of_plans(self.settings)?;
                return self
                    .granted(proposal)
                    .map_err(Rejection::at(Phase::Catalog));
            }
            Task::Plan(order) => {
                return self
                    .plan_alone(order.clone())
                    .map_err(Rejection::at(Phase::Catalog));
            }
            Task::Rollback(order) => FileOrder::Rollback {
                order: order.clone(),
                sanction: Sanction::None,
            },
            Task::Status(name) => FileOrder::Status(name.clone()),
            Task::Cancel(name) => FileOrder::Cancel(name.clone()),
            // They are answered before.
            Task::Suggestion(_) | Task::Clarification(_) => {
                return Err(usage("the task is never performed"));
            }
        };
        let asks = matches!(&order, FileOrder::Rollback { order, .. } if order.by == Asker::Task);
        let work = no_plan(self.settings, order)?;
        let ledger = || {
            let rule = match self.tables.filter(|_| asks) {
                Some(tables) => approval_rule(tables, APPLY_FILE_PLAN)?,
                None => ApprovalRule::default(),
            };
            // A rollback waits only if its plan did.
            let when = When::Never;
            self.unasked(vec![ApprovalRule { when, ..rule }])
        };
        Ok((work, ledger().map_err(Rejection::at(Phase::Catalog))?))
    }

    /// The catalog that the task needs.
    fn tables(&self) -> Result<&CatalogTables<'_>, Failure> {
        self.tables.ok_or_else(|| {
            let path = self.settings.project.catalog.clone();
            CatalogError::Missing { path }.into()
        })
    }

    /// The ledger of a task that names no entry of the catalog: the gate is not asked.
    fn unasked(&self, rules: Vec<ApprovalRule>) -> Result<RunLedger<'h>, Failure> {
        self.ledger(rules, |_| Ok(None))
    }

    /// The ledger of a task that names these entries, and states a risk.
    fn admitted<'g>(
        &self,
        entries: impl Iterator<Item = Gated<'g>>,
        rules: Vec<ApprovalRule>,
        stated: Risk,
    ) -> Result<RunLedger<'h>, Failure> {
        self.ledger(rules, |caller| {
            Ok(Some(
                caller.admit(entries)?.with(Assessment::stated(stated)),
            ))
        })
    }

    fn ledger(
        &self,
        rules: Vec<ApprovalRule>,
        admission: impl FnOnce(&Caller) -> Result<Option<Admission>, Failure>,
    ) -> Result<RunLedger<'h>, Failure> {
        let settings = self.settings;
        let caller = caller::caller(settings, self.tables)?;
        let (rule, approval_settings) = match self.tables {
            Some(tables) => (ledger_rule(tables)?, approval_settings(tables)?),
            None => Default::default(),
        };
        let approvals = Approvals {
            admission: admission(&caller)?,
            rules,
            settings: approval_settings,
            wait: settings.wait,
            through: settings.through,
            approved: settings.approved.clone(),
        };
        RunLedger::of(
            &settings.project,
            rule,
            (caller, approvals),
            settings.reuse,
            self.received,
            self.host,
        )
    }

    fn capabilities(&self, task: &CapabilityTask) -> Result<(Work, RunLedger<'h>), Rejection> {
        let root = &self.settings.project.root;
        let resolved = || {
            let tables = self.tables()?;
            let places = Places {
                root,
                staging: self.scratch.own,
                session: &self.received.identity.session_id,
            };
            let named = look_up_all(task, tables, self.settings.nameable)?;
            let gated = || named.iter().flat_map(Capability::gated);
            let rules = gated().map(|gated| match &task.named_as {
                // An improvised action always waits (R-003-08).
                NamedAs::Declared(_) => ApprovalRule {
                    when: When::Always,
                    ..gated.approval.clone()
                },
                NamedAs::Capability | NamedAs::StandardAction => gated.approval.clone(),
            });
            let ledger = self.admitted(gated(), rules.collect(), task.stated)?;
            let last = ledger.last_failure(self.received, contact(self.settings))?;
            let job = resolve(task, named, tables, places, last)?;
            Ok::<_, Failure>((job, ledger))
        };
        let (job, ledger) = resolved().map_err(Rejection::at(Phase::Catalog))?;
        match job {
            Job::Tools(job) => {
                let work = self.tools(job, task)?;
                Ok((work, ledger))
            }
            Job::Plan(job) => {
                let (order, entry, reasoning) =
                    planned(*job, root).map_err(Rejection::at(Phase::Inputs))?;
                let ledger = ledger.raised(Assessment::stated(stated_risk(&order.plan)));
                Ok((plan(order, entry, reasoning, self.settings), ledger))
            }
        }
    }

    /// A request for a grant. Its policy is that of all its entries.
    fn granted(&self, proposal: &Improvised) -> Result<(Work, RunLedger<'h>), Failure> {
        let tables = self.tables()?;
        must_not_be(tables, proposal.name.as_deref())?;
        let grant = &proposal.grant;
        let entries = grant.entries.iter().map(|id| look_up(tables, id));
        let entries: Vec<Capability> = entries.collect::<Result<_, _>>()?;
        let handed_on = entries.iter().filter_map(|entry| match entry {
            Capability::Tool(entry) => server_of(tables, entry).ok(),
            Capability::FilePlan(_) | Capability::Workflow(_) => None,
        });
        let handed_on: Vec<Secrets> = handed_on
            .map(|server| executor::handed_on(&server))
            .collect();
        let (mut gated, mut seals) = (Vec::new(), BTreeMap::new());
        for (entry, id) in entries.iter().zip(&grant.entries) {
            let Some((entry, seal)) = entry.granted() else {
                let message = format!(
                    "`grant.entries` names {id}, which is a workflow; name the capabilities that it runs"
                );
                return Err(Failure::new(Fault::KindRule, message));
            };
            gated.push(entry);
            seals.insert(id.clone(), seal);
        }
        let rules = gated.iter().map(|gated| ApprovalRule {
            when: When::Always,
            ..gated.approval.clone()
        });
        let rules = rules.collect();
        let risks = gated
            .iter()
            .map(|gated| (gated.id.to_owned(), assess(&gated.hazards).risk));
        let apart = risks
            .filter(|(_, risk)| *risk >= Grant::NOT_COVERED)
            .collect();
        let ledger = self.admitted(gated.into_iter(), rules, proposal.stated)?;
        let work = GrantWork {
            summary: proposal.summary.clone(),
            entries: seals,
            max_calls: grant.max_calls,
            lasts: grant.lasts,
            apart,
            salt: proposal.salt.clone(),
            secrets: Secrets::all(handed_on),
        };
        Ok((Work::Grant(Box::new(work)), ledger))
    }

    fn tools(&self, job: ToolJob, task: &CapabilityTask) -> Result<Work, Rejection> {
        let (settings, scratch) = (self.settings, self.scratch);
        let root = &settings.project.root;
        only_of_plans(settings)?;
        let own = settings.project.own_files_in(self.tables);
        let store = Store::open(&job.storage, root, &settings.project.state_dir)
            .map_err(Rejection::at(Phase::Catalog))?;

        tracing::debug!("catalog consulted");

        let look = look(&job, &store, settings);
        let mut notes =
            inputs::check(task, look, root, self.host).map_err(Rejection::at(Phase::Inputs))?;
        notes.extend(job.steps.iter().filter_map(|step| step.note.clone()));
        if task.context.is_some() && !job.uses_context() {
            notes.push(
                "The `context` of the request was not used: no entry asks for it.".to_owned(),
            );
        }

        let launch = |server: &Server| {
            let scratch = match (server.lifetime, scratch.kept) {
                (Lifetime::Session, Some(kept)) => kept,
                (Lifetime::Session | Lifetime::Call | Lifetime::Idle { .. }, _) => scratch.own,
            };
            executor::launch(server, root, scratch, &own)
        };
        let launches = job.steps.iter().map(|step| launch(&step.server));
        let launches = launches.collect::<Result<_, _>>();
        let inputs = task.inputs.iter();
        let inputs = inputs.filter_map(|input| Uri::parse(&input.storage_uri).ok());
        Ok(Work::Tools(Ready {
            launches: launches.map_err(Rejection::at(Phase::Spawn))?,
            among: None,
            job,
            store,
            inputs: inputs.collect(),
            notes,
        }))
    }

    /// A plan that names no capability. A project without a catalog can have plans.
    fn plan_alone(&self, order: PlanOrder) -> Result<(Work, RunLedger<'h>), Failure> {
        let entry = self
            .tables
            .map_or_else(|| Ok(FilePlan::built_in()), plan_entry)?;
        let rules = vec![entry.access.approval.clone()];
        let stated = stated_risk(&order.plan);
        let ledger = self.admitted([entry.gated()].into_iter(), rules, stated)?;
        Ok((plan(order, entry, Vec::new(), self.settings), ledger))
    }
}

/// The limits of the check of inputs: those of the servers that get the inputs.
fn look<'a>(job: &ToolJob, store: &'a Store, settings: &Settings) -> Look<'a> {
    let mut servers = job.steps.iter().map(|step| step.server.private_network);
    Look {
        policy: if servers.any(|network| network == PrivateNetwork::Allowed) {
            Policy::PrivateToo
        } else {
            Policy::PublicOnly
        },
        contact: contact(settings),
        objects: store.objects(),
    }
}

fn contact(settings: &Settings) -> Contact {
    match settings.mode {
        Mode::Run => Contact::Hosts,
        Mode::DryRun => Contact::Nobody,
    }
}

const DIGITS: usize = 26;

/// The name of the run's scratch directory. Tools see it as a part of `output.path`. A tool that asks for input is
/// called again by another run and must then get the same parameters (MCP 2026-07-28, Multi Round-Trip Requests),
/// so all runs of a task that accepts questions share a name.
pub(super) fn scratch_name(received: &Received, operation: &OperationId) -> String {
    match &received.task {
        Ok(Task::Capabilities(task)) if task.input != Input::Refused => {
            let parts = [&received.identity.session_id, &task.task_id].into_iter();
            let parts = parts.chain(&task.capability_ids);
            let hash = parts.fold(Sha256::new(), |hash, part| {
                hash.chain_update(part).chain_update([0xff])
            });
            let digits = hexadecimal(&hash.finalize());
            format!("in_{}", digits.get(..DIGITS).unwrap_or_default())
        }
        _ => operation.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests;
