//! Makes one change by one rename, which also captures the old file.

use rustix::{fs::RenameFlags, io::Errno};

use crate::{
    plan::change::{Change, ChangeKind, Version},
    task::RelPath,
    tree::{Dir, FileError, View, Weakness},
};

use super::{
    content::{own, same_content},
    undo::give_back,
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// Another program changed the file after the check. Its version is at the path.
    #[error("`{0}` was changed by somebody else after it was checked")]
    Changed(String),
    /// The file system cannot exchange two names, and the original has no copy yet. Nothing was changed.
    #[error("cannot exchange `{0}` with its new content")]
    NoExchange(String),
    #[error(transparent)]
    File(#[from] FileError),
}

/// How a changed file gets its new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Exchange,
    /// The file system cannot exchange two names: a check, then a rename over the file, whose copy is on the disk.
    Replace,
}

/// Makes the change. Changes that others made meanwhile are never lost, unless the answer says why they can be.
pub(crate) fn apply(
    view: &View<'_>,
    change: &Change,
    way: Way,
) -> Result<Option<Weakness>, ApplyError> {
    let (path, slot) = (&change.path, change.slot.name());
    let (dir, aside) = (view.parent(path)?, view.parent(&change.slot)?);
    let changed = || ApplyError::Changed(path.to_string());
    match (&change.kind, &change.before, &change.after) {
        (ChangeKind::RemoveDir, ..) => {
            set_aside(view, path, &dir, &change.slot)?;
            Ok(None)
        }
        (ChangeKind::Modify, Some(before), Some(after)) => match way {
            Way::Exchange => exchange(&dir, path, (&aside, slot), before, after),
            Way::Replace => replace(&aside, slot, &dir, path.name(), before),
        },
        (ChangeKind::Delete, Some(before), _) => {
            let weakness = moved(&dir, path, &aside, slot, before)?;
            // No other program uses a slot, so nothing can be replaced there, and the content of the file was compared.
            Ok(weakness.filter(|why| *why != Weakness::NoReplace))
        }
        (ChangeKind::Rename { to }, Some(before), _) => {
            moved(&dir, path, &*view.parent(to)?, to.name(), before)
        }
        _ => match aside.put_at(slot, &dir, path.name()) {
            Err(error) if error.errno == Errno::EXIST => Err(changed()),
            put => Ok(put?),
        },
    }
}

fn exchange(
    dir: &Dir<'_>,
    path: &RelPath,
    (aside, slot): (&Dir<'_>, &str),
    before: &Version,
    after: &Version,
) -> Result<Option<Weakness>, ApplyError> {
    let name = path.name();
    match aside.exchange(slot, dir, name) {
        Ok(()) => {}
        Err(error) if error.errno == Errno::NOENT => {
            return Err(ApplyError::Changed(path.to_string()));
        }
        Err(error) if error.is_unsupported() => {
            return Err(ApplyError::NoExchange(path.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    if let Some(known) = checked(aside, slot, before)? {
        return Ok(known.weakness());
    }
    give_back(aside, slot, dir, name, || {
        Ok(own(aside, slot, after)?.is_some())
    })?;
    Err(ApplyError::Changed(path.to_string()))
}

/// Removes a directory if it is empty. One that contains files of others stays.
fn set_aside(
    view: &View<'_>,
    path: &RelPath,
    dir: &Dir<'_>,
    slot: &RelPath,
) -> Result<(), FileError> {
    let root = view.root();
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
    before: &Version,
) -> Result<Option<Weakness>, ApplyError> {
    let changed = || ApplyError::Changed(path.to_string());
    let weakness = match dir.move_to(path.name(), to, new) {
        Err(error) if matches!(error.errno, Errno::NOENT | Errno::EXIST) => return Err(changed()),
        moved => moved?,
    };
    if weakness.is_some() {
        // Such a file system may tell old facts of a file that another host has saved.
        if same_content(to, new, before)? {
            return Ok(weakness);
        }
    } else if let Some(known) = checked(to, new, before)? {
        return Ok(known.weakness());
    }
    // If another file is at the path by now, both are kept, and the rollback names them.
    to.move_to(new, dir, path.name())?;
    Err(changed())
}

/// Replaces a file where the file system cannot exchange two names. The original stays in its backup.
fn replace(
    aside: &Dir<'_>,
    slot: &str,
    dir: &Dir<'_>,
    name: &str,
    before: &Version,
) -> Result<Option<Weakness>, ApplyError> {
    if checked(dir, name, before)?.is_none() {
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
fn checked(dir: &Dir<'_>, name: &str, before: &Version) -> Result<Option<Known>, FileError> {
    let facts = dir.look_afresh(name)?;
    if facts.is_some_and(|facts| facts.same(&before.facts)) {
        return Ok(Some(Known::ByFacts));
    }
    let same = same_content(dir, name, before)?;
    Ok(same.then_some(Known::ByContent))
}
