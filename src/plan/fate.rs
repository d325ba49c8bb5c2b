//! How an interrupted plan ended.

use crate::task::{Failure, RelPath};

use super::{
    Desk,
    carry::{locked, settle_all, stopped},
    engine::{Account, Entry, Folder, Origin, State, account, finished, is_undone},
    files::{FileError, Root},
    limits::PLAN_TIMEOUT,
};

/// How a plan ended whose run died before it could answer. The journal says this after every interrupted plan was
/// settled. An empty journal may have been removed or cut, so only a journal that records the end is an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    Made {
        /// The report directory, below the root.
        directory: String,
        changed: Vec<RelPath>,
    },
    /// All changes were undone, or none was made.
    NotMade,
    Unknown,
}

/// How the plan of an operation ended. If its journal does not say it yet, the plans that a crash interrupted are settled
/// first, which another run may be doing. `told` gets a sentence for each of them. The error says why one is not settled.
pub(crate) fn fate(
    desk: Desk<'_>,
    operation_id: &str,
    told: &mut Vec<String>,
) -> Result<Fate, Failure> {
    let root = Root::open(desk.root)?;
    let known = by_journals(&root, operation_id)?;
    if known != Fate::Unknown {
        return Ok(known);
    }
    let _lock = locked(&root, &|| stopped(desk, PLAN_TIMEOUT.0))?;
    told.extend(settle_all(&root, desk)?);
    Ok(by_journals(&root, operation_id)?)
}

/// Whether the journal of an operation was written in this root.
pub(crate) fn is_journalled(desk: Desk<'_>, operation_id: &str) -> Result<bool, Failure> {
    let root = Root::open(desk.root)?;
    Ok(journals(&root, operation_id)?.next().is_some())
}

/// A journal that was not written here proves nothing.
fn journals<'r>(
    root: &'r Root,
    operation_id: &str,
) -> Result<impl Iterator<Item = (Folder<'r>, Account)>, FileError> {
    Ok(finished(root)?.filter_map(move |folder| {
        let account = account(&folder.dir).ok()?;
        let ours = account.operation == operation_id && account.origin == Origin::Here;
        ours.then_some((folder, account))
    }))
}

fn by_journals(root: &Root, operation_id: &str) -> Result<Fate, FileError> {
    let told = journals(root, operation_id)?
        .map(|(folder, account)| fate_by(&folder, account).unwrap_or(Fate::Unknown));
    let mut told: Vec<Fate> = told.collect();
    // A run has one journal. If there are more, one that says that the plan was finished decides.
    let is_made = |fate: &Fate| matches!(fate, Fate::Made { .. });
    if let Some(made) = told.iter().position(is_made) {
        return Ok(told.swap_remove(made));
    }
    Ok(match told.pop() {
        Some(fate) if told.is_empty() => fate,
        _ => Fate::Unknown,
    })
}

fn fate_by(folder: &Folder<'_>, account: Account) -> Result<Fate, FileError> {
    let is_displaced = account.displaced(folder.root)?.is_some();
    Ok(match account.state {
        // What is there now says nothing about what the plan left.
        State::Done(_) if is_displaced => Fate::Unknown,
        State::Done(entries) if is_undone(folder.root, &entries)? => Fate::NotMade,
        State::Done(entries) => Fate::Made {
            directory: folder.path.to_string(),
            changed: entries
                .iter()
                .filter(|entry| !matches!(entry, Entry::MakeDir { .. } | Entry::RemoveDir { .. }))
                .flat_map(Entry::places)
                .cloned()
                .collect(),
        },
        // What a pipeline did is not undone.
        State::RolledBack { .. } if !account.pipelines.is_empty() => Fate::Unknown,
        // If files were left because others had changed them, they may contain changes of the plan.
        State::RolledBack { spared, .. } if spared.is_empty() => Fate::NotMade,
        // The run was killed before the first change: the entries are on the disk before backups and manifest are
        // made.
        State::Ready(entries) if entries.is_empty() && folder.is_bare() => Fate::NotMade,
        State::Empty
        | State::Ready(_)
        | State::Applying(_)
        | State::Further { .. }
        | State::RolledBack { .. }
        | State::Foreign => Fate::Unknown,
    })
}
