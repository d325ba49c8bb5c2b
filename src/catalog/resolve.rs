//! Turns a task into a job: every step with its tool, its server and its final parameters. Every error that can be
//! found before a tool is started is found here (R-000-53, R-000-58).

use serde_json::{Map, Value};

use crate::task::{
    ApprovalRule, Blocks, CapabilityTask, Effects, Failure, Fault, Grant, Input, MAX_STEPS,
    Nameable, NamedAs, Need, ReviewRule, When, assess, decided, nearest,
};

use super::{
    compile::{self, Capability, Gated},
    configure, direct,
    document::Tables,
    entry::Entry,
    file_plan::{self, APPLY_FILE_PLAN, FilePlan, ROLLBACK},
    fill::{Sources, check},
    input,
    job::{Job, Places, Step, ToolJob},
    outputs, server, standard,
    storage::storage,
    workflow::{self, Planned},
};

/// The ids of capabilities that only the reasoning agent has (R-000-111).
pub(super) const SYNTHESIS: &str = "CAP-SYN-";

/// The capabilities that the task names, in its order (000 §Step 2.2). An improvised action is one, with its steps.
pub(crate) fn look_up_all(
    task: &CapabilityTask,
    tables: &Tables<'_>,
    nameable: Nameable,
) -> Result<Vec<Capability>, Failure> {
    if let NamedAs::Declared(declared) = &task.named_as {
        standard::must_not_be(tables, declared.name.as_deref())?;
        let entry = |id: &str| match look_up(tables, id)? {
            Capability::Tool(entry) => Ok(*entry),
            Capability::FilePlan(_) | Capability::Workflow(_) => {
                let message = format!(
                    "`steps` names {id}, which is a workflow or applies file plans; a step calls a tool"
                );
                Err(Failure::new(Fault::KindRule, message))
            }
        };
        let steps = workflow::declared(declared, &entry)?;
        return Ok(vec![Capability::Workflow(Box::new(steps))]);
    }
    let named = |id: &String| {
        if task.named_as == NamedAs::StandardAction && !id.starts_with(SYNTHESIS) {
            standard::must_be(tables, id)?;
        }
        match nameable {
            Nameable::Entries => look_up(tables, id),
            Nameable::Tools => look_up_any(tables, id),
        }
    };
    task.capability_ids.iter().map(named).collect()
}

/// The input of a call: none if the entry has a fence. A call that stops for a question has ended, and its action would be free
/// although its outcome is unknown.
fn taken(input: &Input, entry: &Entry) -> Result<Input, Failure> {
    match input {
        Input::Given(_) if !entry.identity.fence.is_empty() => Err(Failure::new(
            Fault::ParamsInvalid,
            format!(
                "{} has a `fence`, so its call cannot ask for input, and takes no `input_responses`",
                entry.id
            ),
        )),
        Input::Accepted if !entry.identity.fence.is_empty() => Ok(Input::Refused),
        input => Ok(input.clone()),
    }
}

/// Configures each capability of the task (000 §Step 3, 4).
pub(crate) fn resolve(
    task: &CapabilityTask,
    capabilities: Vec<Capability>,
    tables: &Tables<'_>,
    places: Places<'_>,
    last: Option<Fault>,
) -> Result<Job, Failure> {
    let input = input::check(task)?;
    let mut reasoning = Vec::new();
    let inputs = task.inputs.iter().map(|input| input.ref_id.as_str());
    let inputs: Vec<&str> = inputs.collect();
    if !inputs.is_empty() {
        reasoning.push(decided(format!(
            "Resolved input_ref {}.",
            inputs.join(", ")
        )));
    }
    let mut planned = Vec::with_capacity(task.capability_ids.len());
    let mut workflows = Vec::new();
    for (capability, said) in capabilities.into_iter().zip(&task.parameters) {
        match capability {
            Capability::Tool(entry) => planned.push(Planned {
                entry: *entry,
                said: said.clone(),
                late: Vec::new(),
                first: 0,
            }),
            Capability::FilePlan(entry) => {
                let job = file_plan::job(task, *entry, reasoning)?;
                return Ok(Job::Plan(Box::new(job)));
            }
            Capability::Workflow(workflow) => {
                input::of_several(task)?;
                let (steps, called) = workflow.expand(task, said, planned.len())?;
                planned.extend(steps);
                workflows.push(called);
            }
        }
    }
    if planned.len() > MAX_STEPS {
        let message = format!(
            "the task has {} steps with those of its workflows, but a task can have at most {MAX_STEPS}; send them as \
             several tasks",
            planned.len()
        );
        return Err(Failure::new(Fault::LimitExceeded, message));
    }
    reasoning.extend(file_plan::none_is_meant(task)?);
    let mut configured = Vec::with_capacity(planned.len());
    let mut others = Vec::with_capacity(planned.len());
    for Planned {
        entry,
        said,
        late,
        first,
    } in planned
    {
        let done = configure::configure(&entry, task, &said, last)?;
        configured.push((entry, done));
        others.push((late, first));
    }
    let outputs = outputs::assign(task, &configured, places)?;
    let mut steps: Vec<Step> = Vec::with_capacity(configured.len());
    let configured = configured.into_iter().zip(outputs).zip(others);
    for (((entry, configured), output), (mut late, first)) in configured {
        let server = server::of(tables, &entry)?;
        let sources = Sources {
            task,
            places,
            steps: &steps,
            first,
            output: output.as_ref(),
        };
        let adjusted = changed(&configured.asked, &configured.parameters);
        let asked = sources.asked(&entry, configured.asked);
        let parameters = sources.fill(&entry, configured.parameters)?;
        let (parameters, note) = check(&entry, parameters, &late)?;
        late.extend(sources.late(&entry));
        reasoning.push(format!("Mapped {} to {} tool.", entry.id, entry.tool));
        reasoning.extend(configured.reasoning);
        let mut risk = entry.risk_rule();
        if task.under.is_some() || matches!(task.named_as, NamedAs::Declared(_)) {
            // Neither a grant nor the approval of an improvised action covers a call of this risk.
            risk.when = When::From(Grant::NOT_COVERED);
        }
        let step = Step {
            handed: sources.handed(&entry),
            input: taken(&input, &entry)?,
            entry,
            risk,
            server,
            parameters,
            asked,
            adjusted,
            timeout: configured.timeout,
            output,
            late,
            note,
        };
        step.check_fence()?;
        steps.push(step);
    }
    Ok(Job::Tools(ToolJob {
        steps,
        storage: Box::new(storage(tables)?),
        reasoning,
        workflows,
    }))
}

fn changed(asked: &Map<String, Value>, now: &Map<String, Value>) -> Map<String, Value> {
    let other = |(name, value): &(&String, &Value)| asked.get(*name) != Some(*value);
    let own = |(name, value): (&String, &Value)| (name.clone(), value.clone());
    now.iter().filter(other).map(own).collect()
}

/// The limits of a plan that names no capability: those of the catalog's `apply_file_plan`, otherwise those of
/// specification 001.
pub(crate) fn plan_entry(tables: &Tables<'_>) -> Result<FilePlan, Failure> {
    if !tables.names("capability")?.contains(&APPLY_FILE_PLAN) {
        tracing::info!("The catalog has no {APPLY_FILE_PLAN}: the built-in one is used.");
        return Ok(FilePlan::built_in().beside(tables)?);
    }
    match look_up(tables, APPLY_FILE_PLAN)? {
        Capability::FilePlan(entry) => Ok(*entry),
        Capability::Tool(_) | Capability::Workflow(_) => {
            let message = format!(
                "{APPLY_FILE_PLAN} calls a tool, so a plan that names no capability cannot be applied; name a capability \
                 with a `file_plan`, or rename this one"
            );
            Err(Failure::new(Fault::CatalogInvalid, message))
        }
    }
}

/// The approval rule of an entry. A plan that names no entry is performed by the built-in one, and a rollback has the
/// rule of such a plan.
pub(crate) fn approval_rule(tables: &Tables<'_>, id: &str) -> Result<ApprovalRule, Failure> {
    match compile::compile(tables, id)? {
        Some(capability) => Ok(capability.approval()),
        None if id == ROLLBACK => approval_rule(tables, APPLY_FILE_PLAN),
        None if id == APPLY_FILE_PLAN => Ok(ApprovalRule::default()),
        None => {
            if let Some(entry) = direct::entry(tables, id)? {
                return Ok(entry.access.approval);
            }
            let message = format!(
                "the catalog has no entry `{id}` any more, so nobody can approve a call of it"
            );
            Err(Failure::new(Fault::UnknownCapability, message))
        }
    }
}

/// The effects of a capability, and the parameters that no task can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nature {
    pub(crate) effects: Effects,
    pub(crate) bound: Vec<String>,
    /// Whether the result waits for a review.
    pub(crate) blocks: Blocks,
    /// Whether a call waits for an approval.
    pub(crate) need: Need,
}

pub(crate) fn nature(tables: &Tables<'_>, id: &str) -> Result<Nature, Failure> {
    let capability = look_up_any(tables, id)?;
    let waits = |gated: &Gated<'_>| gated.approval.when.holds(assess(&gated.hazards).risk);
    let need = if capability.gated().iter().any(waits) {
        Need::Approval
    } else {
        Need::None
    };
    let blocks = |review: Option<ReviewRule>| review.map_or(Blocks::No, |review| review.blocks);
    let (effects, bound, blocks) = match capability {
        Capability::FilePlan(plan) => (Effects::default(), Vec::new(), blocks(plan.review)),
        Capability::Tool(entry) => {
            let bound = entry.bind.into_iter().map(|bound| bound.parameter);
            (entry.effects, bound.collect(), blocks(entry.review))
        }
        Capability::Workflow(workflow) => {
            let steps = || workflow.steps.iter().map(|step| &step.entry);
            let strictest = steps().map(|entry| blocks(entry.review)).max();
            let effects = Effects::worst(steps().map(|entry| entry.effects));
            (effects, Vec::new(), strictest.unwrap_or_default())
        }
    };
    Ok(Nature {
        effects,
        bound,
        blocks,
        need,
    })
}

/// The capability of that id; errors as in R-000-105 … R-000-107, R-000-110, R-000-111.
pub(crate) fn look_up(tables: &Tables<'_>, id: &str) -> Result<Capability, Failure> {
    if id.starts_with(SYNTHESIS) {
        let message = format!(
            "misrouted task: {id} is a synthesis capability and should go to reasoning_agent"
        );
        return Err(Failure::new(Fault::MisroutedSynthesis, message));
    }
    if let Some(capability) = compile::compile(tables, id)? {
        match &capability {
            Capability::Tool(entry) => tracing::info!(
                "{id} is the tool {} of server {} ({}).",
                entry.tool,
                entry.server,
                entry.place
            ),
            Capability::FilePlan(_) => tracing::info!("{id} applies file plans."),
            Capability::Workflow(workflow) => {
                tracing::info!("{id} is a workflow of {} steps.", workflow.steps.len());
            }
        }
        return Ok(capability);
    }
    Err(unknown(id, tables.entries()?))
}

/// The same, or the tool of that name, which has no entry.
fn look_up_any(tables: &Tables<'_>, id: &str) -> Result<Capability, Failure> {
    if !tables.entries()?.contains(&id)
        && let Some(entry) = direct::entry(tables, id)?
    {
        tracing::info!(
            "{id} is the tool {} of server {}; it has no entry.",
            entry.tool,
            entry.server
        );
        return Ok(Capability::Tool(Box::new(entry)));
    }
    look_up(tables, id)
}

pub(crate) fn unknown<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Failure {
    let hint = match nearest(id, known) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; the catalog maps no tool to it".to_owned(),
    };
    Failure::new(
        Fault::UnknownCapability,
        format!("unknown capability {id:?}{hint}"),
    )
}
