//! What a journal may name: what a plan could, and slots and backups of its own report directory.

use crate::{plan::model::Limits, task::RelPath};

use super::{entry::Entry, folder::Folder, journal::State};

/// Answers with the sentence that says which path breaks the rules.
pub(super) fn keeps_rules(
    folder: &Folder<'_>,
    state: &State,
    limits: &Limits,
) -> Result<(), String> {
    let (entries, spared): (&[Entry], &[RelPath]) = match state {
        State::Ready(entries) | State::Applying(entries) | State::Done(entries) => (entries, &[]),
        State::RolledBack(spared) => (&[], spared),
        State::Empty | State::Foreign => (&[], &[]),
    };
    let elsewhere = folder.elsewhere().map_err(|error| error.to_string())?;
    let places = entries.iter().flat_map(|entry| {
        let to = match entry {
            Entry::Rename { to, .. } => Some(to),
            _ => None,
        };
        [Some(entry.path()), to].into_iter().flatten()
    });
    for path in places {
        limits.admits(path).map_err(|failure| failure.message)?;
    }
    let slots = entries.iter().filter_map(Entry::slot).chain(&elsewhere);
    for slot in slots {
        slot_keeps_rules(folder, slot, limits)?;
    }
    let backups = entries.iter().filter_map(Entry::pre).map(|pre| &pre.backup);
    for backup in backups {
        if !folder.is_backup(backup) {
            return Err(foreign(folder, backup));
        }
    }
    for path in spared {
        if !folder.is_backup(path) {
            slot_keeps_rules(folder, path, limits)?;
        }
    }
    Ok(())
}

/// A slot lies in the report directory, or beside a file that a plan may change.
fn slot_keeps_rules(folder: &Folder<'_>, slot: &RelPath, limits: &Limits) -> Result<(), String> {
    if !folder.is_slot(slot) {
        return Err(foreign(folder, slot));
    }
    if slot.as_path().starts_with(folder.path().as_path()) {
        return Ok(());
    }
    limits.admits(slot).map_err(|failure| failure.message)
}

fn foreign(folder: &Folder<'_>, path: &RelPath) -> String {
    format!(
        "`{path}` is neither a slot nor a backup of {}",
        folder.path()
    )
}
