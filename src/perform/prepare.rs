//! From what arrived to what can be done: everything that can be found wrong before anything is started
//! is found here (000 §Step 2 … 4, R-000-53, R-000-58).

use camino::Utf8Path;

use crate::{
    assets::{Contact, Look, Policy, Store},
    catalog::{
        Catalog, CatalogError, FilePlan, Job, Places, PlanSource, PrivateNetwork, ToolJob,
        plan_entry, resolve,
    },
    envelope::{MAX_BYTES, Received, read_plan},
    executor::{self, FileOrder, FileWork, Ready, Rejection},
    host::Host,
    inputs,
    task::{CapabilityTask, Failure, Fault, Phase, PlanOrder, Task, Uri},
};

use super::{Mode, Reply, Settings, book::Book};

/// What can be done, and what the ledger is for it.
pub(super) struct Prepared<'h> {
    pub(super) work: Work,
    pub(super) book: Book<'h>,
}

/// What can be done.
pub(super) enum Work {
    Tools(Ready),
    Files(Box<FileWork>),
}

/// Task → all that is needed to do it.
pub(super) fn prepare<'h>(
    received: &Received,
    settings: &Settings,
    host: &'h Host,
    scratch: &Utf8Path,
) -> Result<Prepared<'h>, Rejection> {
    let task = received
        .task_at(host.timestamp())
        .map_err(Rejection::at(Phase::Read))?;
    let work = match task {
        Task::Capabilities(task) => {
            return capabilities(task, received, settings, host, scratch);
        }
        Task::Plan(order) => {
            let (entry, book) = entry(settings).map_err(Rejection::at(Phase::Catalog))?;
            let work = plan(order.clone(), entry, Vec::new(), settings);
            return Ok(Prepared { work, book });
        }
        Task::Rollback(order) => no_plan(settings, FileOrder::Rollback(order.clone()))?,
        Task::Status(name) => no_plan(settings, FileOrder::Status(name.clone()))?,
        Task::Cancel(name) => no_plan(settings, FileOrder::Cancel(name.clone()))?,
    };
    let book = match Catalog::load(&settings.catalog) {
        Ok(catalog) => catalog
            .tables()
            .map_err(Failure::from)
            .and_then(|tables| Book::of(settings, &tables)),
        Err(_) => Book::without_catalog(settings),
    };
    let book = book.map_err(Rejection::at(Phase::Catalog))?;
    Ok(Prepared { work, book })
}

/// A task of capabilities: what each is, the catalog says.
fn capabilities<'h>(
    task: &CapabilityTask,
    received: &Received,
    settings: &Settings,
    host: &'h Host,
    scratch: &Utf8Path,
) -> Result<Prepared<'h>, Rejection> {
    let root = &settings.root;
    let catalog = Catalog::load(&settings.catalog).map_err(Rejection::at(Phase::Catalog))?;
    let tables = catalog.tables().map_err(Rejection::at(Phase::Catalog))?;
    let places = Places {
        root,
        staging: scratch,
        session: &received.identity.session_id,
    };
    let mut book = Book::of(settings, &tables).map_err(Rejection::at(Phase::Catalog))?;
    let last = book
        .last_failure(received, settings, host)
        .map_err(Rejection::at(Phase::Catalog))?;
    let job = resolve(task, &tables, places, last).map_err(Rejection::at(Phase::Catalog))?;
    let work = match job {
        Job::Tools(job) => tools(job, task, settings, host, scratch)?,
        Job::Plan(job) => {
            let order = order(job.plan, root).map_err(Rejection::at(Phase::Inputs))?;
            plan(order, job.entry, job.reasoning, settings)
        }
    };
    Ok(Prepared { work, book })
}

fn tools(
    job: ToolJob,
    task: &CapabilityTask,
    settings: &Settings,
    host: &Host,
    scratch: &Utf8Path,
) -> Result<Work, Rejection> {
    let root = &settings.root;
    only_of_plans(settings)?;
    let store = Store::open(&job.storage, root).map_err(Rejection::at(Phase::Catalog))?;

    tracing::debug!("catalog consulted");

    let look = look(&job, settings.mode);
    let notes = inputs::check(task, look, root, host).map_err(Rejection::at(Phase::Inputs))?;

    let launch = |server| executor::launch(server, root, scratch);
    let launches = job.steps.iter().map(|step| launch(&step.server));
    let launches = launches.collect::<Result<_, _>>();
    Ok(Work::Tools(Ready {
        launches: launches.map_err(Rejection::at(Phase::Spawn))?,
        job,
        store,
        inputs: task
            .inputs
            .iter()
            .filter_map(|input| Uri::parse(&input.storage_uri).ok())
            .collect(),
        notes,
    }))
}

/// How far the check of inputs may go: as far as a server may that they are for.
fn look(job: &ToolJob, mode: Mode) -> Look {
    let mut servers = job.steps.iter().map(|step| step.server.private_network);
    Look {
        policy: if servers.any(|network| network == PrivateNetwork::Allowed) {
            Policy::PrivateToo
        } else {
            Policy::PublicOnly
        },
        contact: match mode {
            Mode::Run => Contact::Hosts,
            Mode::DryRun => Contact::Nobody,
        },
    }
}

/// What a plan may touch that names no capability. A project without a catalog can have plans.
fn entry<'h>(settings: &Settings) -> Result<(FilePlan, Book<'h>), Failure> {
    match Catalog::load(&settings.catalog) {
        Ok(catalog) => {
            let tables = catalog.tables()?;
            Ok((plan_entry(&tables)?, Book::of(settings, &tables)?))
        }
        Err(CatalogError::Missing { .. }) => {
            Ok((FilePlan::built_in(), Book::without_catalog(settings)?))
        }
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
            salt,
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
                salt: salt.or(order.salt),
                plan: order.plan,
            })
        }
    }
}

fn plan(plan: PlanOrder, entry: FilePlan, reasoning: Vec<String>, settings: &Settings) -> Work {
    let order = match settings.mode {
        Mode::Run => FileOrder::Run {
            plan,
            entry,
            expect: settings.expect.clone(),
        },
        Mode::DryRun => FileOrder::Preview { plan, entry },
    };
    Work::Files(Box::new(FileWork { order, reasoning }))
}

fn no_plan(settings: &Settings, order: FileOrder) -> Result<Work, Rejection> {
    let problem = match (&order, settings.mode) {
        (FileOrder::Status(_), _) | (_, Mode::Run) => None,
        (_, Mode::DryRun) => {
            Some("--dry-run shows what a plan or a tool would do; this task is neither")
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

const EXPECT: &str = "--expect binds the run of a file plan to its preview, and this task is none";

fn only_of_plans(settings: &Settings) -> Result<(), Rejection> {
    match (&settings.expect, settings.reply) {
        (Some(_), _) => Err(usage(EXPECT)),
        (None, Reply::Report) => Err(usage(
            "--reply report prints the report of a file plan, and this task is none",
        )),
        (None, Reply::Adl | Reply::Mcp) => Ok(()),
    }
}

fn usage(problem: &str) -> Rejection {
    let failure = Failure::new(
        Fault::InvalidUsage,
        format!("the command line does not fit the task: {problem}"),
    );
    Rejection::at(Phase::Read)(failure)
}
