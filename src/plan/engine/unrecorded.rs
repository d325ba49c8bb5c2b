//! A plan whose journal says nothing: whether all that was kept of it is in the tree as well.
//!
//! The manifest is written before the journal, and the backups before the manifest. So in a directory without any of
//! them, slots hold only what was to come.

use crate::{
    plan::{
        files::{FileError, Kind, Root, there},
        report::{MANIFEST, Manifest, Point},
    },
    task::{Bounds, RelPath},
};

use super::{folder::Folder, undo::sha256};

/// What may be the only original of a file, and what may have been changed: paths. Where there are none, nothing
/// of the tree has changed.
pub(super) fn in_doubt(folder: &Folder<'_>) -> Result<Vec<String>, FileError> {
    let root = folder.root();
    let manifest = folder.report(MANIFEST).ok();
    let manifest = manifest.and_then(|bytes| Manifest::parse(&bytes).ok());
    let points = manifest.map(|manifest| manifest.checkpoints);
    let points = points.unwrap_or_default();
    let mut doubts = Vec::new();
    for point in &points {
        if !is_as_before(root, point)? {
            doubts.push(point.file_path.to_string());
        }
    }
    let backups = folder.backups()?;
    if root
        .look(&backups)?
        .is_some_and(|facts| facts.kind == Kind::Dir)
    {
        for backup in files_below(root, &backups)? {
            let known = points
                .iter()
                .find(|point| point.backup_location.as_ref() == Some(&backup))
                .map(|point| point.file_path.clone());
            if !is_in_tree(root, &backup, known.or_else(|| original(&backups, &backup)))? {
                doubts.push(backup.to_string());
            }
        }
    }
    Ok(doubts)
}

/// Whether a file is as it was before the plan that has this checkpoint.
fn is_as_before(root: &Root, point: &Point) -> Result<bool, FileError> {
    let now = hash_of(root, &point.file_path)?;
    Ok(match &point.original_hash {
        Some(original) => now.as_ref() == Some(original),
        None => now.is_none() || now != point.result_hash,
    })
}

fn hash_of(root: &Root, path: &RelPath) -> Result<Option<String>, FileError> {
    let Some(dir) = there(root.parent(path))? else {
        return Ok(None);
    };
    match dir.look(path.name())?.map(|facts| facts.kind) {
        Some(Kind::File) => sha256(&dir, path.name()).map(Some),
        _ => Ok(None),
    }
}

/// The file that a backup is of, by its own path.
fn original(backups: &RelPath, backup: &RelPath) -> Option<RelPath> {
    let below = backup.as_path().strip_prefix(backups.as_path()).ok()?;
    RelPath::parse(below.as_str().strip_suffix(".bak")?).ok()
}

/// Whether the tree has all that a backup holds: it is the same file, or begins with the same bytes. A copy
/// may be unfinished.
fn is_in_tree(root: &Root, backup: &RelPath, of: Option<RelPath>) -> Result<bool, FileError> {
    let Some(of) = of else {
        return Ok(false);
    };
    let (kept, now) = (root.look(backup)?, root.look(&of)?);
    let (Some(kept), Some(now)) = (kept, now) else {
        return Ok(false);
    };
    if (kept.dev, kept.ino) == (now.dev, now.ino) {
        return Ok(true);
    }
    if now.kind != Kind::File || kept.bytes > now.bytes || now.bytes > Bounds::MAX_FILE_BYTES {
        return Ok(false);
    }
    let kept = root.read(backup, Bounds::MAX_FILE_BYTES)?;
    let now = root.read(&of, Bounds::MAX_FILE_BYTES)?;
    Ok(now.starts_with(&kept))
}

/// The regular files below a directory; nothing else is an original.
fn files_below(root: &Root, path: &RelPath) -> Result<Vec<RelPath>, FileError> {
    let dir = root.dir(Some(path))?;
    let mut files = Vec::new();
    for name in dir.list()? {
        let Ok(child) = RelPath::parse(&format!("{path}/{name}")) else {
            continue;
        };
        match dir.look(&name)?.map(|facts| facts.kind) {
            Some(Kind::Dir) => files.extend(files_below(root, &child)?),
            Some(Kind::File) => files.push(child),
            Some(Kind::Link | Kind::Other) | None => {}
        }
    }
    Ok(files)
}
