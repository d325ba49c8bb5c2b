//! From a task of one capability that carries plans out to the plan: in the task, or in a file.

use crate::task::{
    CapabilityTask, Carried, CarriedIn, Failure, Fault, InputRef, PlanOrder, RefStatus, Validation,
    decided,
};

use super::{
    file_plan::FilePlan,
    job::{PlanJob, PlanSource},
};

/// What `parameters` of such a task may hold.
const PARAMETERS: [&str; 4] = ["task_plan", "plan", "system_config", "protocol_validation"];

/// The plan that the task means.
pub(super) fn job(
    task: &CapabilityTask,
    entry: FilePlan,
    mut reasoning: Vec<String>,
) -> Result<PlanJob, Failure> {
    let id = &entry.id;
    let refused = |fault, problem: &str| Err(Failure::new(fault, format!("{id} {problem}")));
    if task.capability_ids.len() > 1 {
        return refused(
            Fault::InvalidShape,
            "carries out a file plan, which is a task of its own; send the other capabilities as others",
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
    let (plan, system_config, validation) = match task.carried.clone() {
        Some(Carried {
            plan,
            system_config,
            validation,
            ..
        }) => (plan, system_config, validation),
        None => (None, None, Validation::Unsaid),
    };
    let plan = match (plan, task.inputs.as_slice()) {
        (Some(plan), _) => PlanSource::Inline(PlanOrder {
            plan,
            system_config,
            validation,
            salt: task.salt.clone(),
        }),
        (None, [input]) => PlanSource::Ref {
            input: there(input)?,
            system_config,
            validation,
            salt: task.salt.clone(),
        },
        (None, inputs) => {
            let found = match inputs.len() {
                0 => "none is there".to_owned(),
                several => format!("{several} input references are there, and one would do"),
            };
            let problem = format!(
                "needs a plan, and {found}; give `task_plan` beside `capability_ids`, or one input reference to a JSON \
                 file"
            );
            return refused(Fault::InvalidShape, &problem);
        }
    };
    reasoning.push(decided(format!("Mapped {id} to the file plan executor.")));
    Ok(PlanJob {
        entry,
        plan,
        reasoning,
    })
}

fn there(input: &InputRef) -> Result<InputRef, Failure> {
    match input.status {
        RefStatus::Stored | RefStatus::Created => Ok(input.clone()),
        RefStatus::Reference => Err(Failure::new(
            Fault::InputUnresolved,
            format!(
                "unresolved input reference: `{}` is a source that lies elsewhere, and a plan must be a stored file",
                input.ref_id
            ),
        )),
    }
}

/// A plan beside a task whose capabilities are tools would be lost. What else is said of plans is left
/// aside, and said to be.
pub(super) fn none_is_meant(task: &CapabilityTask) -> Result<Option<String>, Failure> {
    match &task.carried {
        Some(Carried {
            plan: Some(_),
            place: CarriedIn::Task,
            ..
        }) => Err(Failure::new(
            Fault::InvalidShape,
            format!(
                "`task_plan` stands beside capabilities that call tools ({}); name one that carries plans out, or leave it \
                 out",
                task.capability_ids.join(", ")
            ),
        )),
        Some(Carried {
            place: CarriedIn::Task,
            ..
        }) => Ok(Some(
            "Left aside what the task says of a plan: its capabilities call tools.".to_owned(),
        )),
        _ => Ok(None),
    }
}
