//! Checks that the inputs can be reached, before anything runs (R-000-57, C-14). Also reads the only input that
//! oneact reads itself: a plan.

use std::{io::Read, time::Duration};

use camino::Utf8Path;

use crate::{
    assets::{Look, Reach, open_regular},
    host::Host,
    task::{CapabilityTask, Failure, Fault, InputRef, RefStatus, Uri, decided},
};

/// The time for all checks together. The inputs that are left after it are not checked.
const PATIENCE: Duration = Duration::from_secs(15);

/// Checks every stored input, within the limits of `look`. Raw sources are left to their tool. Returns notes about
/// what could not be checked.
pub(crate) fn check(
    task: &CapabilityTask,
    look: Look<'_>,
    root: &Utf8Path,
    host: &Host,
) -> Result<Vec<String>, Failure> {
    let begun = host.moment();
    let mut notes = Vec::new();
    for input in &task.inputs {
        let id = &input.ref_id;
        if let Some(interrupt) = host.interrupts().caught() {
            let message = format!("cancelled by {}; nothing was started", interrupt.name());
            return Err(Failure::new(Fault::Cancelled, message));
        }
        if begun.passed() > PATIENCE {
            let note =
                format!("Input {id} was not checked, because the other inputs took too long.");
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
            tracing::info!("Input {id} is a source: its tool checks whether it exists.");
            continue;
        }
        match look.reach(&uri, root) {
            Reach::Ok { bytes: Some(bytes) } => {
                tracing::info!("Input {id} exists: {}, {bytes} bytes.", uri.redacted());
            }
            Reach::Ok { bytes: None } => {
                tracing::info!("Input {id} exists: {}.", uri.redacted());
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

/// Reads the file of a plan that a reference names: a regular file below the root. At most `most` bytes and one
/// more are read; the reader refuses the longer file.
pub(crate) fn plan(input: &InputRef, root: &Utf8Path, most: usize) -> Result<Vec<u8>, Failure> {
    let id = &input.ref_id;
    let uri = Uri::parse(&input.storage_uri).map_err(|error| {
        Failure::new(
            Fault::InputUnresolved,
            format!("unresolved input reference: `{id}`: {error}"),
        )
    })?;
    let unusable = |fault, why: &str| {
        let message = format!(
            "the plan `{id}` at {} cannot be used: {why}",
            uri.redacted()
        );
        Failure::new(fault, message)
    };
    let path = uri
        .local_path(root)
        .ok_or_else(|| unusable(Fault::InputInaccessible, "it must be a local file"))?;
    let found = path
        .canonicalize_utf8()
        .map_err(|error| unusable(Fault::InputInaccessible, &error.to_string()))?;
    let root = root.canonicalize_utf8();
    if !root.is_ok_and(|root| found.starts_with(root)) {
        return Err(unusable(Fault::PathOutside, "it is outside the root"));
    }
    let file = open_regular(&found)
        .map_err(|error| unusable(Fault::InputInaccessible, &error.to_string()))?;
    let mut bytes = Vec::new();
    let most = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| unusable(Fault::InputInaccessible, &error.to_string()))?;
    tracing::info!(
        "Read the plan {id}, {} bytes, at {}.",
        bytes.len(),
        uri.redacted()
    );
    Ok(bytes)
}
