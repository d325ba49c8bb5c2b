//! After a crash: every plan that was under way is settled, by its journal and the disk alone.

use rustix::io::Errno;

use crate::plan::files::{FileError, Root};

use super::{
    folder::{self, Folder},
    journal::{Journal, State},
    transaction::{UndoEnd, take_back, tidy},
};

/// A plan that was found unfinished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recovered {
    /// Of its report directory.
    pub(crate) name: String,
    pub(crate) end: End,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// It had not changed anything yet.
    NothingChanged,
    /// It was half applied; nothing of it is left, but for these conflicts.
    RolledBack(Vec<String>),
    /// It had been finished.
    Done,
    /// It could not be settled: what stands in the way.
    Stuck(Vec<String>),
}

/// Settles every unfinished plan below the root, and tells of each before it is forgotten that it was
/// unfinished. The caller holds the root's lock.
pub(crate) fn recover(
    root: &Root,
    threads: usize,
    tell: &mut dyn FnMut(&Recovered),
) -> Result<(), FileError> {
    folder::clear_begun(root)?;
    for name in folder::unfinished(root)? {
        let end = match Folder::open(root, &name) {
            Ok(folder) => {
                settle(&folder, threads).unwrap_or_else(|error| End::Stuck(vec![error.to_string()]))
            }
            Err(error) if error.errno == Errno::NOENT => {
                folder::forget(root, &name)?;
                continue;
            }
            Err(error) => End::Stuck(vec![error.to_string()]),
        };
        let settled = Recovered { name, end };
        tell(&settled);
        if !matches!(settled.end, End::Stuck(_)) {
            folder::forget(root, &settled.name)?;
        }
    }
    Ok(())
}

fn settle(folder: &Folder<'_>, threads: usize) -> Result<End, FileError> {
    let (mut journal, state) = match Journal::open(folder.dir()) {
        Ok(opened) => opened,
        Err(error) if error.errno == Errno::NOENT => return nothing_changed(folder),
        Err(error) => return Err(error),
    };
    match state {
        State::Empty | State::Ready(_) => nothing_changed(folder),
        State::Applying(entries) => Ok(match take_back(folder, &entries, &mut journal, threads) {
            UndoEnd::NothingChanged => End::NothingChanged,
            UndoEnd::RolledBack(conflicts) => End::RolledBack(conflicts),
            UndoEnd::Stuck(obstacles) => End::Stuck(obstacles),
        }),
        State::Done(entries) => {
            // It may be in memory alone, and what it is not to be taken back with goes now.
            journal.sync(folder.dir())?;
            tidy(folder, &entries, &mut Vec::new())?;
            Ok(End::Done)
        }
        State::RolledBack(spared) => {
            folder.clear(&spared)?;
            Ok(End::RolledBack(Vec::new()))
        }
        State::Foreign => Ok(End::Stuck(vec![format!(
            "{} has a journal that this version of oneact cannot read: it was begun by a later one, or is damaged. Settle it with that version, or by hand from backups/",
            folder.path()
        )])),
    }
}

fn nothing_changed(folder: &Folder<'_>) -> Result<End, FileError> {
    folder.clear(&[])?;
    Ok(End::NothingChanged)
}
