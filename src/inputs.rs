//! Are the inputs there? The lightweight check before anything runs (R-000-57, C-14).

use std::time::Duration;

use camino::Utf8Path;

use crate::{
    assets::{Reach, reach},
    host::Host,
    task::{Failure, Fault, RefStatus, Task, Uri, decided},
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
        if begun.passed() > PATIENCE {
            let note = format!("Input {id} was not checked: the others took too long.");
            notes.push(decided(note));
            continue;
        }
        let uri = Uri::parse(&input.storage_uri).map_err(|error| {
            Failure::new(
                Fault::InputUnresolved,
                format!("unresolved input reference: `{id}`: {error}"),
            )
        })?;
        if input.status == RefStatus::Reference {
            tracing::info!(
                "Input {id} is a source: whether it is there is for its tool to find out."
            );
            continue;
        }
        match reach(&uri, root) {
            Reach::Ok { bytes: Some(bytes) } => {
                tracing::info!("Input {id} is there: {}, {bytes} bytes.", uri.redacted());
            }
            Reach::Ok { bytes: None } => {
                tracing::info!("Input {id} is there: {}.", uri.redacted());
            }
            Reach::Gone(why) => {
                let message = format!("input `{id}` at {} cannot be used: {why}", uri.redacted());
                return Err(Failure::new(Fault::InputInaccessible, message));
            }
            Reach::Unsure(why) => {
                notes.push(decided(format!("Input {id} could not be checked ({why}).")));
            }
        }
    }
    Ok(notes)
}
