//! Makes one change by one rename, which also captures the old file.

use rustix::{fs::RenameFlags, io::Errno};

use crate::{
    plan::{
        files::{Dir, FileError, Root},
        record::Weakness,
    },
    task::RelPath,
};

use super::{
    content::{own, same_content},
    entry::{Entry, Pre, Way},
    folder::Folder,
    undo::give_back,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// Another program changed the file after the check. Its version is at the path.
    #[error("`{0}` was changed by somebody else after it was checked")]
    Changed(String),
    #[error(transparent)]
    File(#[from] FileError),
}

/// Makes the change. Changes that others made meanwhile are never lost, unless the answer says why they can be.
pub(crate) fn apply(folder: &Folder<'_>, entry: &Entry) -> Result<Option<Weakness>, ApplyError> {
    let (root, path) = (folder.root, entry.path());
    let dir = root.parent(path)?;
    let changed = || ApplyError::Changed(path.to_string());
    match entry {
        Entry::RemoveDir { slot, .. } => {
            set_aside(root, path, &dir, slot)?;
            Ok(None)
        }
        Entry::MakeDir { slot, .. } | Entry::Create { slot, .. } => {
            let from = folder.beside(slot)?;
            match from.put_at(slot.name(), &dir, path.name()) {
                Err(error) if error.errno == Errno::EXIST => Err(changed()),
                put => Ok(put?),
            }
        }
        Entry::Modify {
            slot,
            pre,
            post,
            way: Way::Exchange,
            ..
        } => {
            let aside = folder.beside(slot)?;
            match aside.exchange(slot.name(), &dir, path.name()) {
                Ok(()) => {}
                Err(error) if error.errno == Errno::NOENT => return Err(changed()),
                Err(error) if error.is_unsupported() => {
                    return replace(&aside, slot.name(), &dir, path.name(), pre);
                }
                Err(error) => return Err(error.into()),
            }
            if let Some(known) = checked(&aside, slot.name(), pre)? {
                return Ok(known.weakness());
            }
            give_back(&aside, slot.name(), &dir, path.name(), || {
                Ok(own(&aside, slot.name(), post)?.is_some())
            })?;
            Err(changed())
        }
        Entry::Modify {
            slot,
            pre,
            way: Way::InPlace,
            ..
        } => {
            let bytes = folder.beside(slot)?.read(slot.name(), u64::MAX - 1)?;
            if checked(&dir, path.name(), pre)?.is_none() {
                return Err(changed());
            }
            dir.overwrite(path.name(), &bytes)?;
            Ok(Some(Weakness::MountPoint))
        }
        Entry::Delete { slot, pre, .. } => {
            let weakness = moved(&dir, path, &*folder.beside(slot)?, slot.name(), pre)?;
            // No other program uses a slot, so nothing can be replaced there, and the content of the file was compared.
            Ok(weakness.filter(|why| *why != Weakness::NoReplace))
        }
        Entry::Rename { to, pre, .. } => moved(&dir, path, &root.parent(to)?, to.name(), pre),
    }
}

/// Removes a directory if it is empty. One that contains files of others stays.
fn set_aside(root: &Root, path: &RelPath, dir: &Dir<'_>, slot: &RelPath) -> Result<(), FileError> {
    if !root.dir(Some(path))?.list()?.is_empty() {
        return Ok(());
    }
    let aside = root.parent(slot)?;
    dir.move_to(path.name(), &aside, slot.name())?;
    // Another program has put something into it meanwhile.
    if !root.dir(Some(slot))?.list()?.is_empty() {
        aside.move_to(slot.name(), dir, path.name())?;
    }
    Ok(())
}

/// Moves a file that must be the one that was checked.
fn moved(
    dir: &Dir<'_>,
    path: &RelPath,
    to: &Dir<'_>,
    new: &str,
    pre: &Pre,
) -> Result<Option<Weakness>, ApplyError> {
    let changed = || ApplyError::Changed(path.to_string());
    let weakness = match dir.move_to(path.name(), to, new) {
        Err(error) if matches!(error.errno, Errno::NOENT | Errno::EXIST) => return Err(changed()),
        moved => moved?,
    };
    if weakness.is_some() {
        // Such a file system may tell old facts of a file that another host has saved.
        if same_content(to, new, &pre.facts, &pre.sha256)? {
            return Ok(weakness);
        }
    } else if let Some(known) = checked(to, new, pre)? {
        return Ok(known.weakness());
    }
    // If another file is at the path by now, both are kept, and the rollback names them.
    to.move_to(new, dir, path.name())?;
    Err(changed())
}

/// Replaces a file where the file system cannot exchange two names: a check, then a rename over it. The original
/// stays in its backup.
fn replace(
    aside: &Dir<'_>,
    slot: &str,
    dir: &Dir<'_>,
    name: &str,
    pre: &Pre,
) -> Result<Option<Weakness>, ApplyError> {
    if checked(dir, name, pre)?.is_none() {
        return Err(ApplyError::Changed(dir.name(name)));
    }
    aside.rename(slot, dir, name, RenameFlags::empty())?;
    Ok(Some(Weakness::NoExchange))
}

/// How a file was recognised as the one that was checked.
enum Known {
    ByFacts,
    ByContent,
}

impl Known {
    fn weakness(&self) -> Option<Weakness> {
        match self {
            Self::ByFacts => None,
            Self::ByContent => Some(Weakness::ContentCompared),
        }
    }
}

/// Whether it is the file that was checked, untouched since.
fn checked(dir: &Dir<'_>, name: &str, pre: &Pre) -> Result<Option<Known>, FileError> {
    let facts = dir.look_afresh(name)?;
    if facts.is_some_and(|facts| facts.same(&pre.facts)) {
        return Ok(Some(Known::ByFacts));
    }
    let same = same_content(dir, name, &pre.facts, &pre.sha256)?;
    Ok(same.then_some(Known::ByContent))
}
