//! Which plan a task means.

use serde_json::Value;

use crate::{
    catalog::entry::file_plan::FilePlan,
    task::{
        CapabilityTask, Carried, CarriedIn, Failure, Fault, InputRef, RefStatus, Validation,
        decided,
    },
};

/// A file plan to perform, and what it may touch.
#[derive(Debug)]
pub(crate) struct PlanJob {
    pub(crate) entry: FilePlan,
    pub(crate) plan: PlanSource,
    pub(crate) system_config: Option<Value>,
    pub(crate) validation: Validation,
    pub(crate) salt: Option<String>,
    pub(crate) reasoning: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum PlanSource {
    Inline(Value),
    /// In the file that this reference names.
    Ref(InputRef),
}

/// The keys that `parameters` may have in a task that performs a plan.
const PARAMETERS: &[&str] = &["task_plan", "plan", "system_config", "protocol_validation"];

pub(crate) fn job(
    task: &CapabilityTask,
    entry: FilePlan,
    mut reasoning: Vec<String>,
) -> Result<PlanJob, Failure> {
    let id = &entry.id;
    let refused = |fault, problem: &str| Err(Failure::new(fault, format!("{id} {problem}")));
    if task.capability_ids.len() > 1 {
        return refused(
            Fault::InvalidShape,
            "applies a file plan, which must be a separate task; send the other capabilities in other tasks",
        );
    }
    if !task.expected.is_empty() {
        return refused(
            Fault::InvalidShape,
            "makes no assets; leave `output_refs_expected` out",
        );
    }
    let said = task.parameters.iter().flatten().map(|(name, _)| name);
    if let Some(stranger) = said
        .into_iter()
        .find(|name| !PARAMETERS.contains(&name.as_str()))
    {
        let problem = format!(
            "has no parameter `{}`; it takes {}",
            stranger.escape_debug(),
            PARAMETERS.join(", ")
        );
        return refused(Fault::ParamsInvalid, &problem);
    }
    let carried = task.carried.clone().unwrap_or_default();
    let plan = match (carried.plan, task.inputs.as_slice()) {
        (Some(plan), _) => PlanSource::Inline(plan),
        (None, [input]) => PlanSource::Ref(there(input)?),
        (None, inputs) => {
            let found = match inputs.len() {
                0 => "the task contains none".to_owned(),
                several => format!("the task has {several} input references instead of one"),
            };
            let problem = format!(
                "needs a plan, but {found}; give `task_plan` beside `capability_ids`, or one input reference to a JSON \
                 file"
            );
            return refused(Fault::InvalidShape, &problem);
        }
    };
    reasoning.push(decided(format!("Mapped {id} to the file plan executor.")));
    Ok(PlanJob {
        entry,
        plan,
        system_config: carried.system_config,
        validation: carried.validation,
        salt: task.salt.clone(),
        reasoning,
    })
}

fn there(input: &InputRef) -> Result<InputRef, Failure> {
    match input.status {
        RefStatus::Stored | RefStatus::Created => Ok(input.clone()),
        RefStatus::Reference => Err(Failure::new(
            Fault::InputUnresolved,
            format!(
                "unresolved input reference: `{}` is a source that is not stored, but a plan must be a stored file",
                input.ref_id
            ),
        )),
    }
}

/// Refuses a plan beside capabilities that are tools, because it would be ignored. Other statements about plans
/// are ignored, with a sentence that says so.
pub(crate) fn none_is_meant(task: &CapabilityTask) -> Result<Option<String>, Failure> {
    match &task.carried {
        Some(Carried {
            plan: Some(_),
            place: CarriedIn::Task,
            ..
        }) => Err(Failure::new(
            Fault::InvalidShape,
            format!(
                "the task has a `task_plan`, but its capabilities call tools ({}); name a capability that \
                 applies plans, or leave `task_plan` out",
                task.capability_ids.join(", ")
            ),
        )),
        Some(Carried {
            place: CarriedIn::Task,
            ..
        }) => Ok(Some(
            "Ignored the plan settings of the task, because its capabilities call tools."
                .to_owned(),
        )),
        _ => Ok(None),
    }
}
