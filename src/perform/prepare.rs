//! Prepares a task: every error that can be found before anything is started is found here
//! (000 §Step 2 … 4, R-000-53, R-000-58).

mod passed;
mod proposal;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{
    assets::{Contact, Look, Policy, Store},
    catalog::{
        APPLY_FILE_PLAN, Capability, Catalog, CatalogError, FilePlan, Job, Lifetime, Places,
        PlanJob, PlanSource, PrivateNetwork, Server, ToolJob, approval_rule, look_up_all,
        plan_entry, resolve,
    },
    envelope::{MAX_BYTES, Received, read_plan},
    executor::{self, FileOrder, FileWork, Ready, Rejection, Work},
    host::Host,
    inputs,
    record::{RunLedger, unrecorded},
    task::{
        ApprovalRule, Asker, Assessment, CapabilityTask, Failure, Fault, Input, NamedAs,
        OperationId, Outcome, Phase, PlanOrder, Risk, Sanction, Task, Uri, When, hexadecimal,
    },
};

use passed::Passed;

use super::{Mode, Reply, Settings, Through};

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

pub(super) fn prepare<'h>(
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
    scratch: Scratches<'_>,
) -> Result<Prepared<'h>, Rejection> {
    let task = received
        .task_at(host.timestamp())
        .map_err(Rejection::at(Phase::Read))?;
    let (work, ledger) = match task {
        Task::Capabilities(task) => capabilities(task, received, settings, host, scratch)?,
        Task::Plan(order) => {
            let prepared = plan_alone(order.clone(), received, settings, host);
            prepared.map_err(Rejection::at(Phase::Catalog))?
        }
        Task::Rollback(order) => {
            let (order, sanction) = (order.clone(), Sanction::None);
            let order = FileOrder::Rollback { order, sanction };
            on_plan(order, received, settings, host)?
        }
        Task::Status(name) => on_plan(FileOrder::Status(name.clone()), received, settings, host)?,
        Task::Cancel(name) => on_plan(FileOrder::Cancel(name.clone()), received, settings, host)?,
        Task::Suggestion(card) => {
            return said(proposal::suggestion(card), received, settings, host);
        }
        Task::Clarification(question) => {
            let outcome = proposal::clarification(question, &settings.project);
            return said(outcome, received, settings, host);
        }
        Task::Improvised(proposal) => proposal::prepare(proposal, received, settings, host)?,
    };
    Ok(Prepared::Work(Box::new(work), Box::new(ledger)))
}

/// The answer to a proposal that is never performed. It needs neither the catalog nor the ledger (R-003-19).
fn said<'h>(
    mut outcome: Outcome,
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
) -> Result<Prepared<'h>, Rejection> {
    only_of_plans(settings)?;
    let opened = || match Catalog::load(&settings.project.catalog) {
        Ok(catalog) => {
            let tables = catalog.tables()?;
            let passed = Passed::unasked(settings, Some(&tables), Vec::new())?;
            passed.ledger(settings, Some(&tables), received, host)
        }
        Err(CatalogError::Missing { .. }) => {
            let passed = Passed::unasked(settings, None, Vec::new())?;
            passed.ledger(settings, None, received, host)
        }
        Err(error) => Err(error.into()),
    };
    match (settings.mode, opened()) {
        (Mode::Run, Ok(ledger)) => {
            let work = Work::Said(Box::new(outcome));
            return Ok(Prepared::Work(Box::new(work), Box::new(ledger)));
        }
        (Mode::Run, Err(failure)) => outcome.notes.push(unrecorded(&failure.message)),
        (Mode::DryRun, _) => {}
    }
    Ok(Prepared::Answer(Box::new(outcome)))
}

/// An order about a finished or a running plan.
fn on_plan<'h>(
    order: FileOrder,
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
) -> Result<(Work, RunLedger<'h>), Rejection> {
    let asks = matches!(&order, FileOrder::Rollback { order, .. } if order.by == Asker::Task);
    let work = no_plan(settings, order)?;
    let prepared = || {
        let catalog = Catalog::load(&settings.project.catalog).ok();
        let tables = catalog.as_ref().map(Catalog::tables).transpose()?;
        let rule = match &tables {
            Some(tables) if asks => approval_rule(tables, APPLY_FILE_PLAN)?,
            Some(_) | None => ApprovalRule::default(),
        };
        // A rollback waits only if its plan did.
        let when = When::Never;
        let rules = vec![ApprovalRule { when, ..rule }];
        let passed = Passed::unasked(settings, tables.as_ref(), rules)?;
        passed.ledger(settings, tables.as_ref(), received, host)
    };
    let ledger = prepared().map_err(Rejection::at(Phase::Catalog))?;
    Ok((work, ledger))
}

fn capabilities<'h>(
    task: &CapabilityTask,
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
    scratch: Scratches<'_>,
) -> Result<(Work, RunLedger<'h>), Rejection> {
    let root = &settings.project.root;
    let resolved = || {
        let catalog = Catalog::load(&settings.project.catalog)?;
        let tables = catalog.tables()?;
        let places = Places {
            root,
            staging: scratch.own,
            session: &received.identity.session_id,
        };
        let named = look_up_all(task, &tables, settings.nameable)?;
        let gated = || named.iter().flat_map(Capability::gated);
        let rules = gated().map(|gated| match &task.named_as {
            // An improvised action always waits (R-003-08).
            NamedAs::Declared(_) => ApprovalRule {
                when: When::Always,
                ..gated.approval.clone()
            },
            NamedAs::Capability | NamedAs::StandardAction => gated.approval.clone(),
        });
        let entries = (gated(), rules.collect());
        let passed = Passed::admitted(settings, Some(&tables), entries, task.stated)?;
        let ledger = passed.ledger(settings, Some(&tables), received, host)?;
        let last = ledger.last_failure(received, contact(settings))?;
        let job = resolve(task, named, &tables, places, last)?;
        Ok::<_, Failure>((job, ledger))
    };
    let (job, ledger) = resolved().map_err(Rejection::at(Phase::Catalog))?;
    match job {
        Job::Tools(job) => {
            let places = (scratch, ledger.own_files());
            Ok((tools(job, task, settings, host, places)?, ledger))
        }
        Job::Plan(job) => {
            let (order, entry, reasoning) =
                planned(*job, root).map_err(Rejection::at(Phase::Inputs))?;
            let ledger = ledger.raised(Assessment::stated(stated_risk(&order.plan)));
            Ok((plan(order, entry, reasoning, settings), ledger))
        }
    }
}

fn tools(
    job: ToolJob,
    task: &CapabilityTask,
    settings: &Settings,
    host: &Host,
    (scratch, mut own): (Scratches<'_>, Vec<Utf8PathBuf>),
) -> Result<Work, Rejection> {
    let root = &settings.project.root;
    only_of_plans(settings)?;
    let store = Store::open(&job.storage, root, &settings.project.state_dir)
        .map_err(Rejection::at(Phase::Catalog))?;
    own.extend(store.incoming());

    tracing::debug!("catalog consulted");

    let look = look(&job, &store, settings);
    let mut notes = inputs::check(task, look, root, host).map_err(Rejection::at(Phase::Inputs))?;
    notes.extend(job.steps.iter().filter_map(|step| step.note.clone()));
    if task.context.is_some() && !job.uses_context() {
        notes.push("The `context` of the request was not used: no entry asks for it.".to_owned());
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

/// Prepares a plan that names no capability. A project without a catalog can have plans.
fn plan_alone<'h>(
    order: PlanOrder,
    received: &Received,
    settings: &'h Settings,
    host: &'h Host,
) -> Result<(Work, RunLedger<'h>), Failure> {
    let catalog = match Catalog::load(&settings.project.catalog) {
        Err(CatalogError::Missing { .. }) => None,
        catalog => Some(catalog?),
    };
    let tables = catalog.as_ref().map(Catalog::tables).transpose()?;
    let entry = tables
        .as_ref()
        .map_or_else(|| Ok(FilePlan::built_in()), plan_entry)?;
    let entries = [entry.gated()].into_iter();
    let rules = vec![entry.access.approval.clone()];
    let stated = stated_risk(&order.plan);
    let passed = Passed::admitted(settings, tables.as_ref(), (entries, rules), stated)?;
    let ledger = passed.ledger(settings, tables.as_ref(), received, host)?;
    Ok((plan(order, entry, Vec::new(), settings), ledger))
}

/// The work of a plan, which is in the task or in the file that the task refers to.
fn planned(job: PlanJob, root: &Utf8Path) -> Result<(PlanOrder, FilePlan, Vec<String>), Failure> {
    let PlanJob {
        entry,
        plan: source,
        system_config,
        validation,
        salt,
        reasoning,
    } = job;
    let order = match source {
        PlanSource::Inline(plan) => PlanOrder {
            plan,
            system_config,
            validation,
            salt,
        },
        PlanSource::Ref(input) => {
            let order = read_plan(&inputs::plan(&input, root, MAX_BYTES)?)?;
            if order.system_config.is_some() && system_config.is_some() {
                let message = format!(
                    "the task and the file of `{}` both contain a `system_config`; remove one of the two",
                    input.ref_id
                );
                return Err(Failure::new(Fault::InvalidShape, message));
            }
            PlanOrder {
                system_config: order.system_config.or(system_config),
                validation: order.validation.and(validation),
                salt: salt.or(order.salt),
                plan: order.plan,
            }
        }
    };
    Ok((order, entry, reasoning))
}

fn plan(plan: PlanOrder, entry: FilePlan, reasoning: Vec<String>, settings: &Settings) -> Work {
    let order = FileOrder::Plan {
        plan,
        entry: Box::new(entry),
        expect: settings.expect.clone(),
        sanction: Sanction::None,
    };
    Work::Files(Box::new(FileWork { order, reasoning }))
}

fn no_plan(settings: &Settings, order: FileOrder) -> Result<Work, Rejection> {
    let problem = match (&order, settings.mode) {
        (FileOrder::Status(_), _) | (_, Mode::Run) => None,
        (_, Mode::DryRun) => {
            Some("--dry-run previews a plan or a tool call, but this task is neither")
        }
    };
    let problem = problem.or(settings.expect.as_ref().map(|_| EXPECT));
    match problem {
        Some(problem) => Err(usage(problem)),
        None => Ok(Work::Files(Box::new(FileWork {
            order,
            reasoning: Vec::new(),
        }))),
    }
}

/// The highest risk that the plan states. What is not a risk level is refused when the plan is read.
fn stated_risk(plan: &Value) -> Risk {
    let actions = plan.get("action_plan").and_then(Value::as_array);
    let levels = actions.into_iter().flatten();
    let levels = levels.filter_map(|action| action.get("risk_level"));
    let levels = levels.chain(plan.pointer("/risk_assessment/overall_risk"));
    let risk = |level: &Value| {
        let word = level.as_str()?;
        let mut all = Risk::ALL.into_iter();
        all.find(|risk| risk.name().eq_ignore_ascii_case(word))
    };
    levels.filter_map(risk).max().unwrap_or_default()
}

const EXPECT: &str = "--expect binds a file plan to its preview, but this task is not a file plan";

fn only_of_plans(settings: &Settings) -> Result<(), Rejection> {
    match (&settings.expect, settings.reply) {
        (Some(_), _) => Err(usage(EXPECT)),
        (None, Reply::Report) => Err(usage(
            "--reply report prints the report of a file plan, but this task is not a file plan",
        )),
        (None, Reply::Adl | Reply::Mcp | Reply::Result) => Ok(()),
    }
}

fn usage(problem: &str) -> Rejection {
    let failure = Failure::new(
        Fault::InvalidUsage,
        format!("the command line does not fit the task: {problem}"),
    );
    Rejection::at(Phase::Read)(failure)
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
