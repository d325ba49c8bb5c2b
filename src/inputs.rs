//! Are the inputs there? The lightweight check before anything runs (R-000-57, C-14).

use std::time::Duration;

use camino::Utf8Path;

use crate::{
    assets::{Reach, reach},
    host::Host,
    task::{Failure, Fault, RefStatus, Task, Uri},
};

/// All looks together take no longer than this; what is left is then not looked at.
const PATIENCE: Duration = Duration::from_secs(15);

/// Checks every stored input; a source that lies elsewhere is its tool's business. Answers notes
/// about what could not be checked.
pub(crate) fn check(task: &Task, root: &Utf8Path, host: &Host) -> Result<Vec<String>, Failure> {
    let begun = host.moment();
    let mut notes = Vec::new();
    for input in &task.inputs {
        let id = &input.ref_id;
        if let Some(interrupt) = host.interrupts().caught() {
            let message = format!("cancelled by {}; nothing was started", interrupt.name());
            return Err(Failure::new(Fault::Cancelled, message));
        }
        if begun.elapsed() > PATIENCE {
            notes.push(format!(
                "Input {id} was not checked: the others took too long."
            ));
            continue;
        }
        let uri = Uri::parse(&input.storage_uri).map_err(|error| {
            Failure::new(
                Fault::InputUnresolved,
                format!("unresolved input reference: `{id}`: {error}"),
            )
        })?;
        if input.status == RefStatus::Reference {
            continue;
        }
        match reach(&uri, root) {
            Reach::Ok { .. } => {}
            Reach::Gone(why) => {
                let message = format!("input `{id}` at {} cannot be used: {why}", uri.redacted());
                return Err(Failure::new(Fault::InputInaccessible, message));
            }
            Reach::Unsure(why) => notes.push(format!("Input {id} could not be checked ({why}).")),
        }
    }
    Ok(notes)
}
