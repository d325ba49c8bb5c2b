//! Converts a prepared task into the ledger's terms: the request, its sender, and what performing it twice would
//! mean.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    approval::{args, grant_ask, named, object, under_grant},
    catalog::{ROLLBACK, Step, ToolJob},
    envelope::Received,
    executor::{Context, FileOrder, FileWork, Hidden, Ready, Work},
    ledger::{Ask, Asked, AskedStep, Effects, Fence, Signatures, StateChange, Target, Who, home},
    task::{
        self, Admission, CUT, Ground, OnDuplicate, PlanName, RefId, Repeatable, Reuse, Task,
        abridge, abridged, hexadecimal, numbered, recorded_id,
    },
};

use super::{redacted::redacted, review, said};

/// The longest wait for another run of the same request.
const PATIENCE: Duration = Duration::from_mins(2);

/// None for a status query or a cancellation of a plan, which are not recorded.
pub(super) fn of<'a>(
    work: &mut Work,
    who: Who<'a>,
    (reuse, admission): (Reuse, Option<&Admission>),
    received: &'a Received,
    hidden: &Hidden,
    context: &Context<'_>,
) -> Option<Ask<'a>> {
    // A change of files, which is performed whenever it is requested. The catalog's limits for plans are checked each
    // time before a change.
    let base = Ask {
        request: String::new(),
        who,
        asked: Asked::default(),
        target: None,
        confidence: confidence(received),
        entry_digest: String::new(),
        tool_pin: None,
        adjusted: None,
        effects: Effects::Once,
        strictest: Effects::Once,
        parts: 0,
        on_duplicate: OnDuplicate::Repeat,
        change: StateChange::State,
        reuse,
        under: None,
        review: review::rule(work),
        home: None,
        patience: PATIENCE,
        timeout: PATIENCE,
    };
    let given = match (&*work, &received.task) {
        (Work::Tools(ready), Ok(Task::Capabilities(task))) if ready.job.uses_context() => {
            task.context.clone()
        }
        _ => None,
    };
    let (ask, args) = match work {
        Work::Tools(ready) => tools(ready, base, received, hidden),
        Work::Files(files) => {
            let (ask, args) = plan(files, base)?;
            let home = home(context.state_dir, context.desk.root);
            (Ask { home, ..ask }, args)
        }
        Work::Grant(grant) => grant_ask(grant, base, hidden),
        Work::Said(_) => said::ask(received, base),
    };
    let under = under_grant(received, work, context);
    // The wait must end before the run does, so that the run can still answer.
    let patience = context
        .desk
        .budget
        .map_or(ask.timeout, |budget| budget.mul_f64(0.9))
        .min(PATIENCE);
    Some(Ask {
        request: request(&ask.asked, (&args, given), admission, received, hidden),
        under,
        patience,
        ..ask
    })
}

/// The calls of a job, and their arguments as the ledger may show them.
fn tools<'a>(
    ready: &mut Ready,
    base: Ask<'a>,
    received: &Received,
    hidden: &Hidden,
) -> (Ask<'a>, Value) {
    let job = &ready.job;
    let steps = &job.steps;
    let named = named(job);
    let asked = named.iter().map(|each| each.asked(hidden)).collect();
    let task = match &received.task {
        Ok(Task::Capabilities(task)) => Some(task),
        _ => None,
    };
    let expected = task.iter().flat_map(|task| &task.expected);
    // A step asks for the ref that it makes itself.
    let own = |id: &&RefId| {
        let mut made = steps.iter().filter_map(|step| step.output.as_ref());
        base.who.part.is_none() || made.any(|output| output.ref_id == **id)
    };
    let outputs: Vec<String> = expected.filter(own).map(ToString::to_string).collect();
    let made = steps.iter().find_map(|step| step.output.as_ref());
    let target = made.map(|output| output.ref_id.to_string()).or_else(|| {
        let task = task?;
        Some(task.inputs.first()?.ref_id.to_string())
    });
    let pins: Vec<String> = steps
        .iter()
        .filter_map(|step| Some(step.entry.pinned.as_ref()?.pin.to_string()))
        .collect();
    let strictest = worst(steps.iter().map(|step| step.entry.effects));
    let ask = Ask {
        asked: Asked {
            steps: asked,
            outputs,
            salt: salt(task.and_then(|task| task.salt.as_deref()), &base.who),
            // Each of several steps has a fence of its own.
            fence: match steps.as_slice() {
                [step] if !job.is_several() => fence(step),
                _ => None,
            },
        },
        target: target.map(|id| Target { kind: "ref", id }),
        entry_digest: digest(job),
        tool_pin: (!pins.is_empty()).then(|| pins.join(" ")),
        adjusted: adjusted(steps, hidden),
        // Of several steps, each has a review of its own.
        review: base.review.filter(|_| !job.is_several()),
        effects: match strictest {
            // Each of several steps has a claim of its own, so the task may be performed again: a step that must not
            // happen twice answers or stops it.
            Effects::Once if job.is_several() => Effects::Idempotent,
            strictest => strictest,
        },
        strictest,
        parts: if job.is_several() { steps.len() } else { 0 },
        on_duplicate: duplicates(steps),
        change: if steps.iter().any(|step| step.entry.changes_state()) {
            StateChange::State
        } else {
            StateChange::Nothing
        },
        timeout: steps.iter().map(|step| step.entry.timeout_max).sum(),
        ..base
    };
    (ask, args(&named, hidden))
}

/// The salt of the request. A step that is equal to an earlier one of its task is another request.
fn salt(said: Option<&str>, who: &Who<'_>) -> Option<String> {
    match who.part.map_or(0, |part| part.equals) {
        0 => said.map(ToOwned::to_owned),
        equals => Some(format!("{} again {equals}", said.unwrap_or_default())),
    }
}

fn fence(step: &Step) -> Option<Fence> {
    let fields = step.fence();
    let entry = step.entry.id.clone();
    (!fields.is_empty()).then_some(Fence { entry, fields })
}

/// A unique name for each step, even if two steps have the same capability.
fn names(steps: &[Step]) -> Vec<String> {
    numbered(steps.iter().map(|step| step.entry.id.as_str()))
}

fn digest(job: &ToolJob) -> String {
    match (job.steps.as_slice(), job.workflows.as_slice()) {
        ([step], []) => step.entry.identity.digest(),
        (steps, workflows) => {
            let steps = steps.iter().map(|step| step.entry.identity.digest());
            let own = workflows.iter().map(|workflow| workflow.digest.clone());
            let all = steps.chain(own);
            hexadecimal(&all.fold(Sha256::new(), Sha256::chain_update).finalize())
        }
    }
}

fn adjusted(steps: &[Step], hidden: &Hidden) -> Option<String> {
    let changed: Map<String, Value> = names(steps)
        .into_iter()
        .zip(steps)
        .filter(|(_, step)| !step.adjusted.is_empty())
        .map(|(name, step)| {
            let shown = hidden.shown(&step.entry, &step.adjusted);
            (name, Value::Object(abridged(shown)))
        })
        .collect();
    (!changed.is_empty()).then(|| Value::Object(changed).to_string())
}

/// The strictest effects of several steps.
pub(crate) fn worst(each: impl Iterator<Item = task::Effects>) -> Effects {
    each.fold(Effects::None, |worst, effects| {
        match (worst, effects.read_only, effects.repeatable()) {
            (Effects::Once, ..) | (_, Some(false) | None, Repeatable::Once) => Effects::Once,
            (Effects::Idempotent, ..) | (_, Some(false) | None, Repeatable::Yes) => {
                Effects::Idempotent
            }
            (Effects::None, Some(true), _) => Effects::None,
        }
    })
}

/// The most careful rule for duplicates among the steps.
fn duplicates(steps: &[Step]) -> OnDuplicate {
    steps
        .iter()
        .map(duplicate)
        .reduce(|one, other| match (one, other) {
            (OnDuplicate::Suppress(unless), _) | (_, OnDuplicate::Suppress(unless)) => {
                OnDuplicate::Suppress(unless)
            }
            (OnDuplicate::Repeat, _) | (_, OnDuplicate::Repeat) => OnDuplicate::Repeat,
            (
                OnDuplicate::Reuse { ttl, ground },
                OnDuplicate::Reuse {
                    ttl: other_ttl,
                    ground: other_ground,
                },
            ) => OnDuplicate::Reuse {
                ttl: ttl.into_iter().chain(other_ttl).min(),
                ground: if ground == other_ground {
                    ground
                } else {
                    Ground::Both
                },
            },
        })
        .unwrap_or(OnDuplicate::Repeat)
}

fn duplicate(step: &Step) -> OnDuplicate {
    match step.entry.identity.on_duplicate {
        // Without an input asset, nothing shows what the answer depends on.
        OnDuplicate::Reuse {
            ground: Ground::Content,
            ..
        } if !step.is_given_asset() => OnDuplicate::Repeat,
        said => said,
    }
}

/// A change of files, and its parameters as the ledger may show them. None for a status query or a cancellation.
fn plan<'a>(files: &FileWork, mut ask: Ask<'a>) -> Option<(Ask<'a>, Value)> {
    let mut version = None;
    let (entry, plan, parameters) = match &files.order {
        FileOrder::Plan { plan, entry, .. } => {
            ask.on_duplicate = entry.on_duplicate;
            ask.timeout = entry.bounds.longest;
            ask.asked.salt.clone_from(&plan.salt);
            version = entry.common.version;
            let id = plan.plan.get("plan_id").and_then(Value::as_str);
            let config = plan.system_config.clone().unwrap_or_default();
            let parameters = json!({"task_plan": plan.plan, "system_config": config});
            (
                entry.id.as_str(),
                id.unwrap_or("unknown").to_owned(),
                parameters,
            )
        }
        FileOrder::Rollback { order, .. } => {
            let plan = name(&order.plan);
            let parameters = json!({"plan": plan, "checkpoints": order.checkpoints});
            (ROLLBACK, plan, parameters)
        }
        FileOrder::Status(_) | FileOrder::Cancel(_) => return None,
    };
    let mut args = redacted(&parameters);
    ask.asked.steps.push(AskedStep {
        entry: entry.to_owned(),
        version,
        shown: (args != parameters).then(|| object(args.clone())),
        parameters: object(parameters),
        // A plan that writes a link with another signature writes another file.
        signatures: Signatures::Counted,
        ..AskedStep::default()
    });
    ask.target = Some(Target {
        kind: "plan",
        id: recorded_id(&plan),
    });
    abridge(&mut args);
    Some((ask, args))
}

fn name(plan: &PlanName) -> String {
    match plan {
        PlanName::Path(name)
        | PlanName::ManifestId(name)
        | PlanName::PlanId(name)
        | PlanName::TaskId(name) => name.clone(),
    }
}

/// The `MCPRequest` (004 §Contract): the request and its context.
fn request(
    asked: &Asked,
    (args, context): (&Value, Option<Value>),
    admission: Option<&Admission>,
    received: &Received,
    hidden: &Hidden,
) -> String {
    let (inputs, action, named) = match &received.task {
        Ok(Task::Capabilities(task)) => {
            let input = |input: &task::InputRef| json!({"ref_id": input.ref_id.as_str(), "storage_uri": input.storage_uri});
            (
                task.inputs.iter().map(input).collect(),
                Value::String(task.action.clone()),
                [("clarifies", &task.clarifies), ("under", &task.under)].to_vec(),
            )
        }
        _ => (Vec::new(), Value::Null, Vec::new()),
    };
    let entries = asked.steps.iter().map(|step| step.entry.as_str());
    let entries: Vec<&str> = entries.collect();
    let mut around = json!({
        "task_id": received.task_id, "request_id": received.identity.request_id, "attempt": received.attempt.unwrap_or(1),
        "action": action, "inputs": inputs, "outputs": asked.outputs, "salt": asked.salt,
        "gate": admission,
    });
    for (key, operation) in named {
        if let (Some(operation), Some(around)) = (operation, around.as_object_mut()) {
            around.insert(key.to_owned(), operation.as_str().into());
        }
    }
    if let (Some(context), Some(around)) = (context, around.as_object_mut()) {
        around.insert("request_context".to_owned(), context);
    }
    let answered = asked.steps.iter().any(|step| step.answers.is_some());
    if let (true, Some(around)) = (answered, around.as_object_mut()) {
        // The ledger does not keep the answers to the tool's questions.
        around.insert("answers".to_owned(), CUT.into());
    }
    let mut around = hidden.value(around);
    abridge(&mut around);
    json!({
        "actionId": entries.join("+"), "args": args,
        "sessionId": received.identity.session_id, "context": around,
    })
    .to_string()
}

/// The confidence that the caller states. It is recorded and decides nothing.
fn confidence(received: &Received) -> Option<f64> {
    let said = received.echo.get("confidence").and_then(Value::as_f64);
    said.filter(|confidence| (0.0..=1.0).contains(confidence))
}

#[cfg(test)]
mod tests;
