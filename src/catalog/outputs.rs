//! Which step makes which ref.

use crate::task::{Failure, Fault, RefId, Task};

use super::{
    entry::{Entry, ResultKind},
    job::{Delivery, Places, StepOutput},
};

/// Which step makes which ref: the last asset-making steps make the expected ones, in order; what
/// earlier steps make is for later steps.
pub(super) fn assign(
    task: &Task,
    entries: &[Entry],
    places: Places<'_>,
) -> Result<Vec<Option<StepOutput>>, Failure> {
    let makes = entries
        .iter()
        .filter(|entry| entry.result.kind != ResultKind::Metadata)
        .count();
    let expected = &task.expected;
    if expected.len() > makes {
        let refs: Vec<&str> = expected.iter().map(RefId::as_str).collect();
        let message = format!(
            "the task expects {} ({}), but its capabilities ({}) make {makes}; correct `output_refs_expected`",
            count(expected.len(), "ref"),
            refs.join(", "),
            task.capability_ids.join(", "),
        );
        return Err(Failure::new(Fault::InvalidShape, message));
    }
    let unnamed = makes - expected.len();
    let mut made = 0_usize;
    let mut outputs = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        let (ResultKind::Asset { asset_type, format }
        | ResultKind::Analysis { asset_type, format }) = &entry.result.kind
        else {
            outputs.push(None);
            continue;
        };
        made += 1;
        let named = made
            .checked_sub(unnamed + 1)
            .and_then(|place| expected.get(place));
        let (ref_id, delivery) = match named {
            Some(id) => (id.clone(), Delivery::Stored),
            // A task that expects nothing still gets what its last step made.
            None if expected.is_empty() && made == makes => {
                (fallback(task, "output")?, Delivery::Stored)
            }
            None => (
                fallback(task, &format!("step_{}", number + 1))?,
                Delivery::Intermediate,
            ),
        };
        let file_name = format!("{ref_id}.{}", format.extension());
        outputs.push(Some(StepOutput {
            parent: task.inputs.first().map(|input| input.ref_id.clone()),
            asset_type: asset_type.clone(),
            format: *format,
            staged: places.staging.join(&file_name),
            file_name,
            ref_id,
            delivery,
        }));
    }
    Ok(outputs)
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A ref id for an asset the task did not name.
fn fallback(task: &Task, suffix: &str) -> Result<RefId, Failure> {
    let safe: String = task
        .task_id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(100)
        .collect();
    RefId::parse(&format!("{safe}_{suffix}")).map_err(|why| Failure::new(Fault::Internal, why))
}
