//! How far a manifest is believed: it is a file that anybody may have written.

use crate::{
    plan::{
        engine::{Entry, Folder, Origin, State, account},
        limits::Limits,
        report::{Manifest, Point},
    },
    task::{Belief, Failure, RelPath},
};

use super::unusable;

/// A manifest is believed as far as its plan's journal bears it out: the changes that this names.
pub(super) fn vouched(
    folder: &Folder<'_>,
    manifest: &Manifest,
    limits: &Limits,
    belief: Belief,
) -> Result<Vec<Entry>, Failure> {
    let account = account(folder.dir())?;
    if (account.origin, belief) == (Origin::Unproven, Belief::WrittenHere) {
        return Err(unusable(format!(
            "the journal of {} was not written where it lies: it was copied, cloned or unpacked, or its file system keeps no birth times. If you know where it comes from, `oneact rollback {0} --yes` undoes the plan all the same",
            folder.path()
        )));
    }
    let State::Done(entries) = account.state else {
        return Err(unusable(format!(
            "{} is not the directory of a plan that was carried out",
            folder.path()
        )));
    };
    let known = |point: &&Point| entries.iter().any(|entry| bears_out(folder, entry, point));
    let made = |dir: &RelPath| {
        let makes = |entry: &Entry| matches!(entry, Entry::MakeDir { path, .. } if path == dir);
        entries.iter().any(makes)
    };
    if let Some(dir) = manifest.created_directories.iter().find(|dir| !made(dir)) {
        return Err(unusable(format!(
            "the journal of the plan does not know that it made the directory `{dir}`: the manifest was altered"
        )));
    }
    for dir in &manifest.created_directories {
        limits.admits(dir)?;
    }
    match manifest.checkpoints.iter().find(|point| !known(point)) {
        None => Ok(entries),
        Some(point) => Err(unusable(format!(
            "the journal of the plan does not know its checkpoint {} of `{}`: it was altered",
            point.checkpoint_id, point.file_path
        ))),
    }
}

/// Whether a change that the journal names is the one that the checkpoint takes back.
fn bears_out(folder: &Folder<'_>, entry: &Entry, point: &Point) -> bool {
    let pre = entry.pre();
    let (to, result) = match entry {
        Entry::MakeDir { .. } | Entry::RemoveDir { .. } => return false,
        Entry::Create { post, .. } | Entry::Modify { post, .. } => (None, Some(&post.sha256)),
        Entry::Delete { .. } => (None, None),
        Entry::Rename { to, pre, .. } => (Some(to), Some(&pre.sha256)),
    };
    *entry.path() == point.file_path
        && to == point.new_path.as_ref()
        && result == point.result_hash.as_ref()
        && pre.map(|pre| &pre.backup) == point.backup_location.as_ref()
        && pre.map(|pre| &pre.sha256) == point.original_hash.as_ref()
        && pre.is_none_or(|pre| folder.is_backup(&pre.backup))
}
