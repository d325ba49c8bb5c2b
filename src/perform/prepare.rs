//! From what arrived to what can be done: everything that can be found wrong before anything is started
//! is found here (000 §Step 2 … 4, R-000-53, R-000-58).

use camino::Utf8Path;

use crate::{
    assets::Store,
    catalog::{
        Catalog, CatalogError, FilePlan, Job, Places, PlanSource, ToolJob, plan_entry, resolve,
    },
    envelope::{MAX_BYTES, Received, read_plan},
    executor::{self, FileOrder, FileWork, Ready, Rejection},
    host::Host,
    inputs,
    task::{CapabilityTask, Failure, Fault, Phase, PlanOrder, Task},
};

use super::{Mode, Reply, Settings};

/// What can be done.
pub(super) enum Prepared {
    Tools(Ready),
    Files(Box<FileWork>),
}

/// Task → all that is needed to do it.
pub(super) fn prepare(
    received: &Received,
    settings: &Settings,
    host: &Host,
    scratch: &Utf8Path,
) -> Result<Prepared, Rejection> {
    let task = received
        .task_at(host.timestamp())
        .map_err(Rejection::at(Phase::Read))?;
    let prepared = match task {
        Task::Capabilities(task) => {
            return capabilities(task, received, settings, host, scratch);
        }
        Task::Plan(order) => {
            let entry = entry(&settings.catalog).map_err(Rejection::at(Phase::Catalog))?;
            plan(order.clone(), entry, Vec::new(), settings)
        }
        Task::Rollback(order) => no_plan(settings, FileOrder::Rollback(order.clone()))?,
        Task::Status(name) => no_plan(settings, FileOrder::Status(name.clone()))?,
        Task::Cancel(name) => no_plan(settings, FileOrder::Cancel(name.clone()))?,
    };
    Ok(prepared)
}

/// A task of capabilities: what each is, the catalog says.
fn capabilities(
    task: &CapabilityTask,
    received: &Received,
    settings: &Settings,
    host: &Host,
    scratch: &Utf8Path,
) -> Result<Prepared, Rejection> {
    let root = &settings.root;
    let catalog = Catalog::load(&settings.catalog).map_err(Rejection::at(Phase::Catalog))?;
    let tables = catalog.tables().map_err(Rejection::at(Phase::Catalog))?;
    let places = Places {
        root,
        staging: scratch,
        session: &received.identity.session_id,
    };
    match resolve(task, &tables, places).map_err(Rejection::at(Phase::Catalog))? {
        Job::Tools(job) => tools(job, task, settings, host, scratch),
        Job::Plan(job) => {
            let order = order(job.plan, root).map_err(Rejection::at(Phase::Inputs))?;
            Ok(plan(order, job.entry, job.reasoning, settings))
        }
    }
}

fn tools(
    job: ToolJob,
    task: &CapabilityTask,
    settings: &Settings,
    host: &Host,
    scratch: &Utf8Path,
) -> Result<Prepared, Rejection> {
    let root = &settings.root;
    only_of_plans(settings)?;
    let store = Store::open(&job.storage, root).map_err(Rejection::at(Phase::Catalog))?;

    tracing::debug!("catalog consulted");

    let notes = inputs::check(task, root, host).map_err(Rejection::at(Phase::Inputs))?;

    let launch = |server| executor::launch(server, root, scratch);
    let launches = job.steps.iter().map(|step| launch(&step.server));
    let launches = launches.collect::<Result<_, _>>();
    Ok(Prepared::Tools(Ready {
        launches: launches.map_err(Rejection::at(Phase::Spawn))?,
        job,
        store,
        notes,
    }))
}

/// What a plan may touch that names no capability. A project without a catalog can have plans.
fn entry(catalog: &Utf8Path) -> Result<FilePlan, Failure> {
    match Catalog::load(catalog) {
        Ok(catalog) => plan_entry(&catalog.tables()?),
        Err(CatalogError::Missing { .. }) => Ok(FilePlan::built_in()),
        Err(error) => Err(error.into()),
    }
}

/// The plan itself, from the task or from the file it refers to.
fn order(source: PlanSource, root: &Utf8Path) -> Result<PlanOrder, Failure> {
    match source {
        PlanSource::Inline(order) => Ok(order),
        PlanSource::Ref {
            input,
            system_config,
            validation,
        } => {
            let order = read_plan(&inputs::plan(&input, root, MAX_BYTES)?)?;
            if order.system_config.is_some() && system_config.is_some() {
                let message = format!(
                    "both the task and the file of `{}` give a `system_config`; leave one out",
                    input.ref_id
                );
                return Err(Failure::new(Fault::InvalidShape, message));
            }
            Ok(PlanOrder {
                system_config: order.system_config.or(system_config),
                validation: order.validation.and(validation),
                plan: order.plan,
            })
        }
    }
}

fn plan(plan: PlanOrder, entry: FilePlan, reasoning: Vec<String>, settings: &Settings) -> Prepared {
    let order = match settings.mode {
        Mode::Run => FileOrder::Run {
            plan,
            entry,
            expect: settings.expect.clone(),
        },
        Mode::DryRun => FileOrder::Preview { plan, entry },
    };
    Prepared::Files(Box::new(FileWork { order, reasoning }))
}

fn no_plan(settings: &Settings, order: FileOrder) -> Result<Prepared, Rejection> {
    let problem = match (&order, settings.mode) {
        (FileOrder::Status(_), _) | (_, Mode::Run) => None,
        (_, Mode::DryRun) => {
            Some("--dry-run shows what a plan or a tool would do; this task is neither")
        }
    };
    let problem = problem.or(settings.expect.as_ref().map(|_| EXPECT));
    match problem {
        Some(problem) => Err(usage(problem)),
        None => Ok(Prepared::Files(Box::new(FileWork {
            order,
            reasoning: Vec::new(),
        }))),
    }
}

const EXPECT: &str = "--expect binds the run of a file plan to its preview, and this task is none";

fn only_of_plans(settings: &Settings) -> Result<(), Rejection> {
    match (&settings.expect, settings.reply) {
        (Some(_), _) => Err(usage(EXPECT)),
        (None, Reply::Report) => Err(usage(
            "--reply report prints the report of a file plan, and this task is none",
        )),
        (None, Reply::Adl) => Ok(()),
    }
}

fn usage(problem: &str) -> Rejection {
    let failure = Failure::new(
        Fault::InvalidUsage,
        format!("the command line does not fit the task: {problem}"),
    );
    Rejection::at(Phase::Read)(failure)
}
