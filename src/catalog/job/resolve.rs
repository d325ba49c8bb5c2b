//! Turns a task into a job: every step with its tool, its server and its final parameters. Every error that can be
//! found before a tool is started is found here (R-000-53, R-000-58).

use serde_json::{Map, Value};

use super::{
    configure::{self, Configured},
    direct,
    expand::Planned,
    fill::{Sources, check},
    input,
    look_up::{SYNTHESIS, look_up, look_up_any},
    outputs, plan,
    standard::{must_not_be, standard},
    step::{Job, Places, Step, ToolJob},
};
use crate::{
    catalog::{
        entry::{
            compile::{Capability, Gated, compile},
            file_plan::{APPLY_FILE_PLAN, FilePlan, ROLLBACK},
            server,
            tool::Entry,
            workflow,
        },
        file::{cut::CAPABILITY, document::Tables, settings::storage},
    },
    task::{
        ApprovalRule, Blocks, CapabilityTask, Effects, Failure, Fault, Grant, Input, MAX_STEPS,
        Nameable, NamedAs, Need, When, decided,
    },
};

/// The capabilities that the task names, in its order (000 §Step 2.2). An improvised action is one, with its steps.
pub(crate) fn look_up_all(
    task: &CapabilityTask,
    tables: &Tables<'_>,
    nameable: Nameable,
) -> Result<Vec<Capability>, Failure> {
    if let NamedAs::Declared(declared) = &task.named_as {
        must_not_be(tables, declared.name.as_deref())?;
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
            return standard(tables, id);
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
                let job = plan::job(task, *entry, reasoning)?;
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
    reasoning.extend(plan::none_is_meant(task)?);
    let configure = |step: &Planned| configure::configure(&step.entry, task, &step.said, last);
    let configured = planned.iter().map(configure);
    let configured: Vec<Configured> = configured.collect::<Result<_, _>>()?;
    let outputs = outputs::assign(task, planned.iter().zip(&configured), places)?;
    let mut steps: Vec<Step> = Vec::with_capacity(planned.len());
    for ((planned, configured), output) in planned.into_iter().zip(configured).zip(outputs) {
        let Planned {
            entry,
            mut late,
            first,
            ..
        } = planned;
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
    if !tables.names(CAPABILITY)?.contains(&APPLY_FILE_PLAN) {
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
    match compile(tables, id)? {
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
    let need = if capability.gated().iter().any(Gated::waits) {
        Need::Approval
    } else {
        Need::None
    };
    let blocks = capability.reviews().iter().map(|rule| rule.blocks).max();
    let (effects, bound) = match capability {
        Capability::FilePlan(_) => (Effects::default(), Vec::new()),
        Capability::Tool(entry) => {
            let bound = entry.bind.into_iter().map(|bound| bound.parameter);
            (entry.effects, bound.collect())
        }
        Capability::Workflow(workflow) => {
            let steps = workflow.steps.iter().map(|step| step.entry.effects);
            (Effects::worst(steps), Vec::new())
        }
    };
    Ok(Nature {
        effects,
        bound,
        blocks: blocks.unwrap_or_default(),
        need,
    })
}
