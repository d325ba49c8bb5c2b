//! Prepares a finished plan for display: the files that it changed, with the lines that differ. Nothing is written.

use serde_json::Value;

use crate::task::{Failure, Fault, RelPath};

use super::{
    Desk,
    asking::directory_of,
    at::At,
    change::{Change, DiffSummary, Version},
    diff::{Difference, Pair, Side, lines},
    engine::{Folder, Origin, account},
    hash::{hash, hash_of_link},
    model::ReportedChange,
    report::{Manifest, ManifestStatus, Point},
    told::so_far,
};
use crate::tree::{FileError, FileKind, Root, there};

/// The largest file that is compared, in bytes.
const LARGEST: u64 = 256 * 1024;

/// The longest diff of a file, in lines.
const LONGEST: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct PlanExhibit {
    /// In the order in which the changes were made.
    pub(crate) files: Vec<FileExhibit>,
    pub(crate) undo: Undo,
}

/// Whether the plan can be undone. Times are ISO 8601.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Nothing was changed.
    #[default]
    Nothing,
    /// Until then.
    Possible(Option<String>),
    /// At that time.
    Undone(String),
    Expired,
}

#[derive(Debug)]
pub(crate) struct FileExhibit {
    /// Where the file is after the plan; for a deletion, where it was.
    pub(crate) path: RelPath,
    /// Where a renamed file was.
    pub(crate) from: Option<RelPath>,
    pub(crate) kind: ReportedChange,
    pub(crate) actions: Vec<String>,
    /// The sizes in bytes before and after the plan; none where no file was.
    pub(crate) bytes: [Option<u64>; 2],
    /// As the change log counts it.
    pub(crate) summary: DiffSummary,
    pub(crate) shown: Difference,
}

/// The plan of this execution report, with diffs of at most `room` lines, which is reduced by what is shown. `Err`: its
/// report directory is not there, or is not its own.
pub(crate) fn exhibit(
    report: &Value,
    room: &mut usize,
    desk: Desk<'_>,
) -> Result<PlanExhibit, Failure> {
    let text = |key: &str| report.get(key).and_then(Value::as_str).unwrap_or_default();
    if report.get("rollback_manifest").is_none_or(Value::is_null) {
        return Ok(PlanExhibit::default());
    }
    let root = Root::open(desk.root)?;
    let unfit = |what: &str| {
        let message = format!("{} {what}", text("rollback_manifest"));
        Failure::new(Fault::ManifestUnusable, message)
    };
    let name = directory_of(text("rollback_manifest"), &root);
    let name = name.ok_or_else(|| unfit("is in no report directory"))?;
    let folder = Folder::open(&root, name)?;
    let account = account(&folder.dir)?;
    let story = so_far(&account);
    let manifest = story.as_ref().and_then(Manifest::of);
    let id = text("rollback_manifest_id");
    let is_own = |it: &Manifest<'_>| account.origin == Origin::Here && it.undo.id.to_string() == id;
    let Some(manifest) = manifest.filter(is_own) else {
        return Err(unfit("was not written by this plan in this place"));
    };
    let files = manifest.checkpoints.iter();
    let files = files.map(|point| file(point, &folder, room));
    Ok(PlanExhibit {
        files: files.collect(),
        undo: undo_of(&manifest, desk),
    })
}

fn undo_of(manifest: &Manifest<'_>, desk: Desk<'_>) -> Undo {
    let text = |at: Option<&At>| at.cloned().map(String::from);
    match manifest.status {
        ManifestStatus::Executed => Undo::Undone(text(manifest.executed_at).unwrap_or_default()),
        ManifestStatus::Active if !manifest.is_over(desk.host.timestamp()) => {
            Undo::Possible(text(manifest.undo.expires.as_ref()))
        }
        ManifestStatus::Active | ManifestStatus::Expired => Undo::Expired,
    }
}

fn file(point: &Point<'_>, folder: &Folder<'_>, room: &mut usize) -> FileExhibit {
    let change = point.change;
    let size = |version: &Option<Version>| version.as_ref().map(|it| it.facts.bytes);
    let bytes = [size(&change.before), size(&change.after)];
    let shown = if point.undone_at.is_some() {
        Difference::Undone
    } else if bytes.iter().flatten().any(|bytes| *bytes > LARGEST) {
        Difference::TooLarge
    } else {
        compared(change, folder, room).unwrap_or(Difference::ChangedSince)
    };
    FileExhibit {
        path: change.result_path().clone(),
        from: change.new_path().map(|_| change.path.clone()),
        kind: point.kind,
        actions: change.actions.iter().map(ToString::to_string).collect(),
        bytes,
        summary: change.diff.clone(),
        shown,
    }
}

/// Compares the backup with the file in the tree, if these still are what the plan read and wrote.
fn compared(
    change: &Change,
    folder: &Folder<'_>,
    room: &mut usize,
) -> Result<Difference, FileError> {
    let read = |path: &RelPath, then: Option<&Version>| {
        let (dir, name) = (folder.root.parent(path)?, path.name());
        let is_link = dir
            .look(name)?
            .is_some_and(|facts| facts.kind == FileKind::Link);
        let (bytes, found) = if is_link {
            let to = dir.read_link(name)?;
            let found = hash_of_link(&to);
            (to.into_bytes(), found)
        } else {
            let bytes = dir.read(name, LARGEST)?;
            let found = hash(&bytes);
            (bytes, found)
        };
        Ok(Some(bytes).filter(|_| then.is_some_and(|then| then.sha256 == found)))
    };
    let path = change.result_path();
    let before = match change.backup.as_ref().filter(|it| folder.is_backup(it)) {
        Some(backup) => there(read(backup, change.before.as_ref()))?.flatten(),
        None => None,
    };
    if before.is_none() && change.before.is_some() {
        return Ok(Difference::NoBackup);
    }
    let after = match &change.after {
        None => None,
        Some(after) => read(path, Some(after))?,
    };
    if after.is_none() && change.after.is_some() {
        return Ok(Difference::ChangedSince);
    }
    let side = |bytes| Side {
        name: path,
        bytes,
        mode: 0,
    };
    let pair = Pair {
        before: before.as_deref().map(side),
        after: after.as_deref().map(side),
    };
    let difference = lines(pair, LONGEST.min(*room));
    if let Difference::Lines(lines) = &difference {
        *room -= lines.len().min(*room);
    }
    Ok(difference)
}
