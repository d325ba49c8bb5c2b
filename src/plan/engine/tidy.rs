//! What is done beside the changes: slots are removed, and the disk is waited for.

use rustix::io::Errno;

use crate::{
    plan::files::{Barrier, Facts, FileError, durable, there},
    task::RelPath,
};

use super::{
    content::is_original,
    entry::Entry,
    folder::{Folder, REPORTS},
};

/// Removes the slots after a plan was applied: their originals are also in the backups. An original that somebody
/// has written to since is kept, with a note.
pub(super) fn tidy(
    folder: &Folder<'_>,
    entries: &[Entry],
    notes: &mut Vec<String>,
) -> Result<(), FileError> {
    let mut spared = Vec::new();
    for entry in entries {
        if let Entry::RemoveDir { path, slot } = entry {
            let aside = folder.root.parent(slot);
            match aside.and_then(|aside| aside.remove_dir(slot.name())) {
                Err(error) if error.errno == Errno::NOTEMPTY => {
                    notes.push(format!("{path}: somebody put files into the directory while it was removed; they are kept in {slot}."));
                    spared.push(slot.clone());
                }
                Err(error) if error.errno != Errno::NOENT => return Err(error),
                _ => {}
            }
        }
        let (Some(slot), Some(pre)) = (entry.slot(), entry.pre()) else {
            continue;
        };
        // In a copied root, only the content tells.
        let same = |facts: &Facts| facts.same_later(&pre.facts);
        let there = folder.look(slot)?.filter(|_| !entry.is_in_place());
        let differs = there.is_some_and(|facts| !same(&facts));
        if differs && !is_original(folder.root, slot, pre)? {
            notes.push(format!(
                "{}: somebody wrote to the old file after it was replaced; the old file is kept as {slot}.",
                entry.path()
            ));
            spared.push(slot.clone());
        }
    }
    folder.clear_slots(&spared)
}

/// Waits until these files and every directory a plan changes names in are on the disk.
pub(super) fn sync(
    folder: &Folder<'_>,
    entries: &[Entry],
    files: &[RelPath],
    threads: usize,
) -> Result<(), FileError> {
    let root = folder.root;
    let mut dirs: Vec<Option<RelPath>> = entries.iter().flat_map(Entry::dirs).collect();
    dirs.extend(files.iter().map(RelPath::parent));
    // A file is safe only if the names of all directories on its path are on the disk. All of them may be new.
    let below = files.iter().chain([&folder.path]);
    let ours = below.filter(|file| file.as_str().starts_with(REPORTS));
    dirs.extend(ours.flat_map(|file| file.ancestors().map(Some).collect::<Vec<_>>()));
    dirs.push(Some(folder.path.clone()));
    dirs.push(None);
    dirs.sort();
    dirs.dedup();
    // Directories that do not exist yet, or no longer, are left out.
    let mut present = Vec::new();
    let mut barrier = Barrier::fitting(root);
    let own = folder.dir.facts()?.dev;
    for dir in dirs {
        if let Some(open) = there(root.dir(dir.as_ref()))? {
            if open.facts()?.dev != own {
                barrier = Barrier::Each;
            }
            present.push(dir);
        }
    }
    if barrier == Barrier::Each {
        // The note comes first: without it, recovery would not find the plan after a power failure.
        folder.note_is_safe()?;
    }
    durable(root, barrier, files, &present, threads)
}
