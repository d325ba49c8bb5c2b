//! What is done beside the changes: the originals become backups, slots are removed, and the disk is waited for.

use std::collections::BTreeSet;

use rustix::io::Errno;

use crate::{
    plan::change::{Change, ChangeKind},
    task::RelPath,
    tree::{Barrier, Facts, FileError, View, durable, there},
};

use super::{
    content::is_original,
    folder::{Folder, REPORTS},
};

/// Removes the slots after a plan was applied. The file that a change displaced becomes its backup. A note tells of one that
/// somebody has written to since.
pub(super) fn tidy(
    folder: &Folder<'_>,
    changes: &[Change],
    beside: &[RelPath],
    notes: &mut Vec<String>,
) -> Result<(), FileError> {
    let (mut spared, mut rooms) = (Vec::new(), BTreeSet::new());
    let view = View::of(folder.root);
    for change in changes {
        let (path, slot) = (&change.path, &change.slot);
        let Some(aside) = there(view.parent(slot))? else {
            continue;
        };
        if change.kind == ChangeKind::RemoveDir {
            match aside.remove_dir(slot.name()) {
                Err(error) if error.errno == Errno::NOTEMPTY => {
                    notes.push(format!("{path}: somebody put files into the directory while it was removed; they are kept in {slot}."));
                    spared.push(slot.clone());
                }
                removed => removed?,
            }
        }
        let (Some(before), Some(backup)) = (&change.before, &change.backup) else {
            continue;
        };
        let Some(kept) = aside.look(slot.name())? else {
            continue;
        };
        let same = |facts: &Facts| facts.same_later(&before.facts);
        let is_copy = matches!(change.kind, ChangeKind::Rename { .. });
        let differs = !is_copy && !same(&kept) && !is_original(folder.root, slot, before)?;
        // Its copy was made before the change.
        if beside.contains(slot) {
            if differs {
                notes.push(written_since(path, slot));
                spared.push(slot.clone());
            }
            continue;
        }
        if rooms.insert(backup.parent()) {
            folder.make_room(backup)?;
        }
        let to = view.parent(backup)?;
        match aside.move_to(slot.name(), &to, backup.name()) {
            Err(error) if error.errno == Errno::EXIST => {
                notes.push(format!(
                    "{path}: something else is at {backup}; the old file is kept as {slot}."
                ));
                spared.push(slot.clone());
                continue;
            }
            moved => moved?,
        };
        if differs {
            notes.push(written_since(path, backup));
        }
    }
    folder.clear_slots(beside, &spared)
}

fn written_since(path: &RelPath, kept: &RelPath) -> String {
    format!(
        "{path}: somebody wrote to the old file after it was replaced; the old file is kept as {kept}."
    )
}

/// Which disks a plan waits for, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    barrier: Barrier,
    threads: usize,
}

impl Waiting {
    /// `beside`: the slots on other mounts.
    pub(super) fn fitting(folder: &Folder<'_>, beside: &[RelPath], threads: usize) -> Self {
        let barrier = match beside {
            [] => Barrier::fitting(&folder.dir),
            _ => Barrier::Each,
        };
        Self { barrier, threads }
    }

    /// Waits until these files are on the disk, the names in the directories of these paths, and the report directory.
    pub(super) fn wait<'p>(
        self,
        folder: &Folder<'_>,
        files: &'p [RelPath],
        names: impl Iterator<Item = &'p RelPath>,
    ) -> Result<(), FileError> {
        let ours = files.iter().chain([&folder.path]);
        let ours = ours.filter(|file| file.as_str().starts_with(REPORTS));
        let mut dirs: Vec<Option<RelPath>> = names.chain(files).map(RelPath::parent).collect();
        // All directories on the way to a report may be new.
        dirs.extend(ours.flat_map(|file| file.ancestors().map(Some).collect::<Vec<_>>()));
        dirs.extend([None, Some(folder.path.clone())]);
        dirs.sort();
        dirs.dedup();
        durable(&folder.dir, self.barrier, files, &dirs, self.threads)
    }
}
