//! Decides which step makes which ref, and in which format.

use serde_json::{Map, Value};

use super::{
    configure::Configured,
    expand::Planned,
    step::{Delivery, Places, StepOutput},
};
use crate::{
    catalog::entry::{
        rules::{AssetRule, FormatRule},
        tool::Entry,
    },
    task::{CapabilityTask, Failure, Fault, Format, RefId},
};

/// Assigns refs to steps. The last steps that make assets make the expected refs, in order. The assets of earlier
/// steps are for later steps only.
pub(crate) fn assign<'a>(
    task: &CapabilityTask,
    steps: impl ExactSizeIterator<Item = (&'a Planned, &'a Configured)> + Clone,
    places: Places<'_>,
) -> Result<Vec<Option<StepOutput>>, Failure> {
    let makes = steps
        .clone()
        .filter(|(step, _)| step.entry.result.asset.is_some())
        .count();
    let expected = &task.expected;
    if expected.len() > makes {
        let refs: Vec<&str> = expected.iter().map(RefId::as_str).collect();
        let message = format!(
            "the task expects {} ref{} ({}), but its capabilities ({}) make {makes}; correct `output_refs_expected`",
            refs.len(),
            if refs.len() == 1 { "" } else { "s" },
            refs.join(", "),
            task.capability_ids.join(", "),
        );
        return Err(Failure::new(Fault::InvalidShape, message));
    }
    let unnamed = makes - expected.len();
    let mut made = 0_usize;
    let mut outputs = Vec::with_capacity(steps.len());
    for (number, (Planned { entry, .. }, configured)) in steps.enumerate() {
        let Some(AssetRule { asset_type, format }) = &entry.result.asset else {
            outputs.push(None);
            continue;
        };
        made += 1;
        let named = made
            .checked_sub(unnamed + 1)
            .and_then(|place| expected.get(place));
        let (ref_id, delivery) = match named {
            Some(id) => (id.clone(), Delivery::Stored),
            // If a task expects no refs, the asset of its last step is stored all the same.
            None if expected.is_empty() && made == makes => {
                (fallback(task, "output")?, Delivery::Stored)
            }
            None => (
                fallback(task, &format!("step_{}", number + 1))?,
                Delivery::Intermediate,
            ),
        };
        let format = settle(entry, format, &configured.parameters)?;
        let file_name = format!("{ref_id}.{}", format.extension());
        let fate = match delivery {
            Delivery::Stored => "which is stored",
            Delivery::Intermediate => "which later capabilities use",
        };
        tracing::info!("{} makes {file_name}, {fate}.", entry.id);
        outputs.push(Some(StepOutput {
            parent: task.inputs.first().map(|input| input.ref_id.clone()),
            asset_type: asset_type.clone(),
            format,
            staged: places.staging.join(&file_name),
            file_name,
            ref_id,
            delivery,
        }));
    }
    Ok(outputs)
}

/// The format that the asset must have, after the parameters are known.
fn settle(
    entry: &Entry,
    rule: &FormatRule,
    parameters: &Map<String, Value>,
) -> Result<Format, Failure> {
    let parameter = match rule {
        FormatRule::Fixed(format) => return Ok(*format),
        FormatRule::Parameter(parameter) => parameter,
    };
    let wrong = |problem: String| {
        let message = format!(
            "the parameters of {} do not fit: `{parameter}`, which names the format of its asset, {problem}",
            entry.id
        );
        Failure::new(Fault::ParamsInvalid, message)
    };
    match parameters.get(parameter) {
        None => Err(wrong("is not set".to_owned())),
        Some(value) => value.as_str().and_then(Format::named).ok_or_else(|| {
            let known = Format::names().join(", ");
            let shown = entry.shown(parameter, value);
            wrong(format!("is {shown}; known formats: {known}"))
        }),
    }
}

/// A ref id for an asset that the task does not name; no other asset has it.
fn fallback(task: &CapabilityTask, suffix: &str) -> Result<RefId, Failure> {
    let safe: String = task
        .task_id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(100)
        .collect();
    let mut id = format!("{safe}_{suffix}");
    while task.expected.iter().any(|named| named.as_str() == id) {
        id.push('_');
    }
    RefId::parse(&id).map_err(|why| Failure::new(Fault::Internal, why))
}
