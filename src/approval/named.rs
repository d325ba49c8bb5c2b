//! What a task names, as the ledger is asked about it: the capabilities, and the workflows with their own parameters.

use serde_json::{Map, Value};

use crate::{
    catalog::{Called, Step, ToolJob},
    executor::Hidden,
    ledger::{AskedStep, Signatures},
    task::{CUT, Input, abridged, numbered},
};

/// Each step of a job, as the request of its own would be.
pub(super) fn each(job: &ToolJob, hidden: &Hidden) -> Vec<AskedStep> {
    let steps = job.steps.iter().map(Named::Capability);
    steps.map(|step| step.asked(hidden)).collect()
}

/// What a task names: a capability, or a workflow with its own parameters.
pub(crate) enum Named<'j> {
    Capability(&'j Step),
    Workflow(&'j Called),
}

/// What the task names, in its order.
pub(crate) fn named(job: &ToolJob) -> Vec<Named<'_>> {
    let mut named = Vec::new();
    for (at, step) in job.steps.iter().enumerate() {
        let workflow = job.workflows.iter().find(|each| each.steps.contains(&at));
        match workflow {
            None => named.push(Named::Capability(step)),
            Some(workflow) if workflow.steps.start == at => named.push(Named::Workflow(workflow)),
            Some(_) => {}
        }
    }
    named
}

impl Named<'_> {
    fn id(&self) -> &str {
        match self {
            Self::Capability(step) => &step.entry.id,
            Self::Workflow(workflow) => &workflow.id,
        }
    }

    pub(crate) fn asked(&self, hidden: &Hidden) -> AskedStep {
        match self {
            Self::Capability(step) => {
                let (asked, identity) = (&step.asked, &step.entry.identity);
                let shown = hidden.shown(&step.entry, asked);
                AskedStep {
                    entry: self.id().to_owned(),
                    version: identity.version,
                    shown: (shown != *asked).then_some(shown),
                    parameters: asked.clone(),
                    volatile: identity.volatile.clone(),
                    signatures: Signatures::LeftOut,
                    answers: answers(&step.input),
                }
            }
            Self::Workflow(workflow) => {
                let shown = of_workflow(workflow, &workflow.asked, hidden);
                AskedStep {
                    entry: self.id().to_owned(),
                    version: workflow.version,
                    shown: (shown != workflow.asked).then_some(shown),
                    parameters: workflow.asked.clone(),
                    ..AskedStep::default()
                }
            }
        }
    }

    /// Its arguments as the ledger may show them.
    fn args(&self, hidden: &Hidden) -> Value {
        let shown = match self {
            Self::Capability(step) => hidden.shown(&step.entry, &step.parameters),
            Self::Workflow(workflow) => of_workflow(workflow, &workflow.said, hidden),
        };
        Value::Object(abridged(shown))
    }
}

/// Parameters of a workflow without those that become secrets of its steps.
fn of_workflow(
    workflow: &Called,
    parameters: &Map<String, Value>,
    hidden: &Hidden,
) -> Map<String, Value> {
    let mut shown = Value::Object(parameters.clone());
    for pointer in &workflow.secret {
        if let Some(secret) = shown.pointer_mut(pointer) {
            *secret = CUT.into();
        }
    }
    object(hidden.value(shown))
}

/// The answers to the tool's questions. The tool's own state is left out: it may differ each time the tool asks.
fn answers(input: &Input) -> Option<Value> {
    let Input::Given(given) = input else {
        return None;
    };
    let responses = given.responses.as_ref()?.iter();
    let each = responses.map(|(name, response)| (name.clone(), response.value.clone()));
    Some(Value::Object(each.collect()))
}

/// The arguments of one capability; of several, those of each one under its id.
pub(crate) fn args(named: &[Named<'_>], hidden: &Hidden) -> Value {
    match named {
        [one] => one.args(hidden),
        several => {
            let names = numbered(several.iter().map(Named::id)).into_iter();
            let each = several.iter().map(|each| each.args(hidden));
            names.zip(each).collect::<Map<_, _>>().into()
        }
    }
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
