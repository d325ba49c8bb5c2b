//! The plan dialects: a bare plan, a plan under `task_plan`, and a plan that a task of capabilities carries
//! (001 §3). The room `plan` reads the content of plans.

use serde_json::{Map, Value};

use crate::task::{
    Carried, CarriedIn, Failure, Found, MAX_ACTIONS, PlanOrder, Validation, too_many_actions,
};

use super::{
    fields::{self, found, multiple, names, shape},
    find::is_plan,
    strangers, strict,
};

pub(super) fn read(task: &Found<'_>, notes: &mut Vec<String>) -> Result<PlanOrder, Failure> {
    let object = task.object()?;
    if object.get("under").is_some_and(|under| !under.is_null()) {
        return Err(shape(
            "a plan under a grant names its entry: add `\"capability_ids\": [\"apply_file_plan\"]` beside `under` and \
             `task_plan`",
        ));
    }
    let plan = match object.get("task_plan") {
        Some(_) if object.contains_key("action_plan") => {
            return Err(multiple("a plan under `task_plan` and one beside it"));
        }
        Some(plan) => {
            strangers::beside_plan(object, notes)?;
            plan.clone()
        }
        None => {
            let mut plan = object.clone();
            plan.retain(|key, _| !names(fields::BESIDE_A_PLAN, key));
            Value::Object(plan)
        }
    };
    one(&plan)?;
    Ok(PlanOrder {
        // A plan under `task_plan` may contain the field itself.
        validation: validation(object.get("protocol_validation"))
            .and(validation(plan.get("protocol_validation"))),
        system_config: given(object, "system_config"),
        salt: task.optional("salt", Found::owned)?,
        plan,
    })
}

/// Reads the plan in the bytes of a file that a task refers to.
pub fn read_plan(bytes: &[u8]) -> Result<PlanOrder, Failure> {
    let document = strict::parse(bytes)
        .map_err(|error| Failure::new(error.fault(), format!("the plan: {error}")))?;
    match &document {
        Value::Object(object) if is_plan(object) => read(&found("", &document), &mut Vec::new()),
        _ => Err(shape(
            "the file that the task refers to contains no plan: it must be an object with `action_plan` or `task_plan`",
        )),
    }
}

/// The id under which a plan without a task id is answered.
pub(super) fn plan_id(object: &Map<String, Value>) -> Option<&str> {
    let plan = object.get("task_plan").and_then(Value::as_object);
    plan.unwrap_or(object).get("plan_id")?.as_str()
}

/// What a task of capabilities says about a plan.
pub(super) fn carried(
    task: &Found<'_>,
    parameters: &Map<String, Value>,
) -> Result<Option<Carried>, Failure> {
    let task = task.object()?;
    if task.contains_key("action_plan") {
        return Err(shape(
            "`action_plan` is not allowed beside `capability_ids`; put the whole plan under `task_plan`",
        ));
    }
    let beside = fields::OF_PLANS
        .split(' ')
        .any(|key| given(task, key).is_some());
    let within = ["task_plan", "plan"]
        .into_iter()
        .filter_map(|key| parameters.get(key))
        .find(|plan| plan.is_object());
    let said_within = within.is_some() || given(parameters, "protocol_validation").is_some();
    if !beside && !said_within {
        return Ok(None);
    }
    let plan = match (given(task, "task_plan"), within) {
        (Some(_), Some(_)) => {
            return Err(multiple("a plan under `task_plan` and one in `parameters`"));
        }
        (Some(plan), None) => {
            one(&plan)?;
            Some(plan)
        }
        (None, within) => within.cloned(),
    };
    let of_plan = plan
        .as_ref()
        .and_then(|plan| plan.get("protocol_validation"));
    Ok(Some(Carried {
        validation: validation(task.get("protocol_validation"))
            .and(validation(parameters.get("protocol_validation")))
            .and(validation(of_plan)),
        system_config: given(task, "system_config").or_else(|| given(parameters, "system_config")),
        plan,
        place: if beside {
            CarriedIn::Task
        } else {
            CarriedIn::Parameters
        },
    }))
}

/// Reads the approval: only `true` and `"APPROVED"` approve (C-17).
pub(super) fn validation(said: Option<&Value>) -> Validation {
    match said {
        None | Some(Value::Null) => Validation::Unsaid,
        Some(Value::Bool(true)) => Validation::Approved,
        Some(Value::String(word)) if word == "APPROVED" => Validation::Approved,
        Some(Value::Bool(_) | Value::String(_) | Value::Number(_)) => Validation::Refused(format!(
            "`protocol_validation` is {}, but must be true or \"APPROVED\"",
            said.unwrap_or(&Value::Null)
        )),
        Some(Value::Array(_) | Value::Object(_)) => {
            Validation::Refused("`protocol_validation` must be true or \"APPROVED\"".to_owned())
        }
    }
}

/// Refuses several plans, too many actions, and actions that are tasks of their own.
fn one(plan: &Value) -> Result<(), Failure> {
    let items = match plan {
        Value::Array(plans) => {
            return Err(multiple(&format!(
                "an array of {} under `task_plan`",
                plans.len()
            )));
        }
        Value::Object(plan) => plan.get("action_plan").and_then(Value::as_array),
        _ => return Err(shape("`task_plan` must be an object")),
    };
    if let Some(actions) = items.map(Vec::len).filter(|actions| *actions > MAX_ACTIONS) {
        return Err(too_many_actions(actions));
    }
    let is_task = |item: &&Value| item.get("task_id").or(item.get("capability_ids")).is_some();
    match items.into_iter().flatten().filter(is_task).count() {
        0 => Ok(()),
        tasks => Err(multiple(&format!("{tasks} in `action_plan`"))),
    }
}

fn given(object: &Map<String, Value>, key: &str) -> Option<Value> {
    object.get(key).filter(|value| !value.is_null()).cloned()
}
