//! Findings about workflows: what they declare must not hide what their steps are.

use super::{Capability, Subject, when};
use crate::{
    catalog::{Gated, workflow::Workflow},
    task::{Assessment, assess},
};

fn workflow<'a>(subject: &Subject<'a>) -> Option<&'a Workflow> {
    match subject.capability {
        Some(Capability::Workflow(workflow)) => Some(workflow),
        _ => None,
    }
}

/// A context that only some steps are available in would be refused when the workflow is called.
pub(super) fn contexts(subject: &Subject<'_>) -> Vec<String> {
    let said = workflow(subject).and_then(|workflow| workflow.available_in.as_ref());
    let Some(said) = said else {
        return Vec::new();
    };
    let common = subject.listed.available_in.names();
    let mut wider = said.names();
    wider.retain(|name| !common.contains(name));
    when(
        !wider.is_empty(),
        &format!(
            "is available in {}, where one of its steps is not; remove the context, or add it to the step",
            wider.join(", ")
        ),
    )
}

pub(super) fn risk(subject: &Subject<'_>) -> Vec<String> {
    let said = workflow(subject).and_then(|workflow| workflow.effects);
    let gated = subject
        .capability
        .map(Capability::gated)
        .unwrap_or_default();
    let (Some(_), Some((own, steps))) = (said, gated.split_last()) else {
        return Vec::new();
    };
    let of = |gated: &Gated<'_>| assess(&gated.hazards);
    let steps = steps.iter().map(of).reduce(Assessment::max);
    let (own, steps) = (of(own).risk, steps.unwrap_or_default().risk);
    when(
        own < steps,
        &format!(
            "declares `effects` of {own} risk, but a step has {steps} risk; remove `effects`, which follow from the steps"
        ),
    )
}
