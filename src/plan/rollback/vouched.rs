//! Whether the journal of a plan confirms its manifest.

use crate::{
    plan::{
        engine::{Entry, Folder, Origin, State, account, account_by_anybody},
        limits::Limits,
        report::{Manifest, Point},
    },
    task::{Asker, Failure, Fault, RelPath},
};

use super::{Told, unusable};

/// Checks that the journal and the manifest of the plan name the same changes.
pub(super) fn vouched(
    folder: &Folder<'_>,
    manifest: &Manifest,
    limits: &Limits,
    by: Asker,
) -> Result<Told, Failure> {
    let account = match by {
        Asker::Task | Asker::Person => account(&folder.dir)?,
        Asker::Confirmed => account_by_anybody(&folder.dir)?,
    };
    if let Origin::Unproven(doubt) = account.origin
        && by != Asker::Confirmed
    {
        return Err(unusable(format!(
            "the journal of {} {doubt}. If you know where the directory comes from, `oneact rollback {0} --yes` undoes the plan anyway",
            &folder.path
        )));
    }
    let displaced = account.displaced(folder.root)?;
    if let Some(displaced) = displaced.filter(|_| by != Asker::Confirmed) {
        let message = format!(
            "{displaced}. If this is not possible, `oneact rollback {} --yes` undoes what it finds",
            &folder.path
        );
        return Err(Failure::new(Fault::RollbackConflict, message));
    }
    let State::Done(entries) = account.state else {
        return Err(unusable(format!(
            "{} is not the directory of a plan that was applied",
            &folder.path
        )));
    };
    let known = |point: &&Point| entries.iter().any(|entry| bears_out(folder, entry, point));
    let made = |dir: &RelPath| {
        let makes = |entry: &Entry| matches!(entry, Entry::MakeDir { path, .. } if path == dir);
        entries.iter().any(makes)
    };
    if let Some(dir) = manifest.created_directories.iter().find(|dir| !made(dir)) {
        return Err(unusable(format!(
            "the manifest says that the plan made the directory `{dir}`, but the journal of the plan does not: the manifest was altered"
        )));
    }
    for dir in &manifest.created_directories {
        limits.admits_dir(dir)?;
    }
    let named = |entry: &&Entry| match entry {
        Entry::MakeDir { path, .. } => manifest.created_directories.contains(path),
        Entry::RemoveDir { .. } => true,
        entry => {
            let mut points = manifest.checkpoints.iter();
            points.any(|point| bears_out(folder, entry, point))
        }
    };
    if let Some(entry) = entries.iter().find(|entry| !named(entry)) {
        return Err(unusable(format!(
            "the manifest lacks the change of `{}`, which the journal of the plan contains: it was altered",
            entry.path()
        )));
    }
    match manifest.checkpoints.iter().find(|point| !known(point)) {
        None => Ok(Told {
            entries,
            origin: account.origin,
        }),
        Some(point) => Err(unusable(format!(
            "the journal of the plan does not contain the checkpoint {} of `{}`: the manifest was altered",
            point.checkpoint_id, point.file_path
        ))),
    }
}

/// Whether the change of this journal entry is the one that the checkpoint undoes.
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
