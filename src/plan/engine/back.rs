//! Takes all changes of a plan back, and records how that ended.

use crate::{
    plan::{change::Change, record::Ending},
    task::RelPath,
    tree::FileError,
};

use super::{
    folder::Folder,
    journal::{End, Event, JOURNAL, Journal},
    tidy::Waiting,
    undo::{Conflict, apart, left, undo},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UndoEnd {
    NothingChanged,
    /// The tree is as it was before, except for files that others have changed.
    RolledBack(Vec<Conflict>),
    /// The rollback could not be finished; the next run tries again. Each sentence names an obstacle.
    Stuck(Vec<String>),
}

/// Undoes in reverse order those of these changes that were made, and waits until that is on the disk. Of the changes after the
/// first `begun`, a power failure may have left slots that are written partly. Also returns the slots and backups that contain
/// what would otherwise be lost.
pub(super) fn take_back(
    folder: &Folder<'_>,
    changes: &[Change],
    begun: usize,
    waiting: Waiting,
) -> (UndoEnd, Vec<RelPath>) {
    let mut conflicts = Vec::new();
    let mut spared = Vec::new();
    let mut obstacles = Vec::new();
    for (at, change) in changes.iter().enumerate().rev() {
        let undone = match undo(folder.root, change) {
            Ok(None) if at < begun => left(folder.root, change),
            undone => undone,
        };
        match undone {
            Ok(None) => {}
            Ok(Some(conflict)) => {
                conflicts.push(conflict);
                spared.extend(apart(folder.root, change).cloned());
            }
            Err(error) => obstacles.push(error.to_string()),
        }
    }
    if obstacles.is_empty() {
        let names = changes.iter();
        let names = names.flat_map(|change| change.places().chain([&change.slot]));
        let settled = waiting.wait(folder, &[], names);
        obstacles.extend(settled.err().map(|error| error.to_string()));
    }
    if obstacles.is_empty() {
        (UndoEnd::RolledBack(conflicts), spared)
    } else {
        obstacles.extend(conflicts.iter().map(Conflict::to_string));
        (UndoEnd::Stuck(obstacles), spared)
    }
}

/// Records how a plan was taken back, and removes slots and backups.
pub(super) fn close(
    folder: &Folder<'_>,
    journal: &mut Journal,
    (end, spared): (&UndoEnd, &[RelPath]),
    beside: &[RelPath],
    ending: Ending,
) -> Result<(), FileError> {
    let end = match end {
        UndoEnd::Stuck(_) => return Ok(()),
        UndoEnd::NothingChanged => End::NothingChanged,
        UndoEnd::RolledBack(_) => End::RolledBack {
            spared: spared.to_vec(),
        },
    };
    let is_unchanged = end == End::NothingChanged;
    let ending = Box::new(ending);
    let stated = journal.record(&folder.dir, &Event::End { end, ending });
    if is_unchanged {
        folder.clear(beside, &[])?;
        // On a full disk, a person must settle the request: a journal that does not say that nothing was changed is removed.
        return stated.or_else(|_| folder.dir.remove(JOURNAL));
    }
    stated?;
    folder.clear(beside, spared)
}
