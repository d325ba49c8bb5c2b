//! Prepares a finished plan for display: the files that it changed, with the lines that differ. Nothing is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::task::{Failure, Fault, RelPath};

use super::{
    Desk,
    asking::{directory_of, is_from_here},
    diff::{Difference, Pair, Side, lines},
    engine::{Folder, hash},
    files::{FileError, Root},
    model::{ActionId, ChangeKind},
    record::DiffSummary,
    report::{At, CHANGE_LOG, MANIFEST, Manifest, ManifestStatus, Point},
};

/// The largest file that is compared, in bytes.
const LARGEST: u64 = 256 * 1024;

/// The longest diff of a file, in lines.
const LONGEST: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct PlanExhibit {
    /// In the order in which the changes were made.
    pub(crate) files: Vec<FileExhibit>,
    /// For an action, the actions before it that its changes rest on, without those that these rest on themselves.
    pub(crate) after: BTreeMap<String, BTreeSet<String>>,
    pub(crate) created_directories: Vec<RelPath>,
    pub(crate) undo: Undo,
}

/// Whether the plan can be undone. Times are ISO 8601.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Undo {
    /// Nothing was changed.
    #[default]
    Nothing,
    Possible {
        until: Option<String>,
        /// The changes that a rollback has undone, of all changes.
        undone: usize,
    },
    Undone {
        at: String,
    },
    Expired,
}

#[derive(Debug)]
pub(crate) struct FileExhibit {
    /// Where the file is after the plan; for a deletion, where it was.
    pub(crate) path: RelPath,
    /// Where a renamed file was.
    pub(crate) from: Option<RelPath>,
    pub(crate) kind: ChangeKind,
    pub(crate) actions: Vec<String>,
    /// The state of the file before and after the plan; none where no file was.
    pub(crate) before: Option<State>,
    pub(crate) after: Option<State>,
    /// As the change log counts it.
    pub(crate) summary: DiffSummary,
    pub(crate) shown: ShownFile,
}

/// A file, as the change log describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) bytes: u64,
    /// Permission bits: `0644`.
    pub(crate) mode: String,
}

/// What can be shown of a change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShownFile {
    Compared(Difference),
    TooLarge,
    /// The change was undone.
    Undone,
    /// Something else is at the path by now, or nothing.
    ChangedSince,
    /// The file from before the plan is not in the report directory.
    NoBackup,
}

/// The parts of the change log that are shown.
#[derive(Deserialize)]
struct Log {
    changes: Vec<Logged>,
}

#[derive(Deserialize)]
struct Logged {
    file_path: RelPath,
    operation: ChangeKind,
    before_state: LoggedState,
    after_state: LoggedState,
    diff_summary: DiffSummary,
}

#[derive(Deserialize)]
struct LoggedState {
    size_bytes: Option<u64>,
    mode: Option<String>,
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
    let manifest = Manifest::parse(&folder.report(MANIFEST)?).map_err(|why| unfit(&why))?;
    if !is_from_here(&folder) || manifest.id.to_string() != text("rollback_manifest_id") {
        return Err(unfit("was not written by this plan in this place"));
    }
    let log: Log = serde_json::from_slice(&folder.report(CHANGE_LOG)?)
        .map_err(|why| unfit(&format!("has a change log that cannot be read: {why}")))?;
    let logged: BTreeMap<_, _> = log
        .changes
        .into_iter()
        .map(|change| ((change.file_path.clone(), change.operation), change))
        .collect();
    let points = manifest.checkpoints.iter();
    let files = points.map(|point| {
        let found = logged.get(&(point.file_path.clone(), point.operation_to_reverse));
        file(point, found, &folder, room)
    });
    Ok(PlanExhibit {
        files: files.collect(),
        after: after(&manifest),
        undo: undo(&manifest, desk),
        created_directories: manifest.created_directories,
    })
}

fn undo(manifest: &Manifest, desk: Desk<'_>) -> Undo {
    let text = |at: &Option<At>| at.clone().map(String::from);
    let points = manifest.checkpoints.iter();
    match manifest.status {
        ManifestStatus::Executed => Undo::Undone {
            at: text(&manifest.executed_at).unwrap_or_default(),
        },
        ManifestStatus::Expired => Undo::Expired,
        ManifestStatus::Active if manifest.is_over(desk.host.timestamp()) => Undo::Expired,
        ManifestStatus::Active => Undo::Possible {
            until: text(&manifest.expires_at),
            undone: points.filter(|point| point.undone_at.is_some()).count(),
        },
    }
}

fn file(
    point: &Point,
    logged: Option<&Logged>,
    folder: &Folder<'_>,
    room: &mut usize,
) -> FileExhibit {
    let state = |state: &LoggedState| {
        Some(State {
            bytes: state.size_bytes?,
            mode: state.mode.clone()?,
        })
    };
    let before = logged.and_then(|change| state(&change.before_state));
    let after = logged.and_then(|change| state(&change.after_state));
    let is_large = |state: &Option<State>| state.as_ref().is_some_and(|it| it.bytes > LARGEST);
    let shown = if point.undone_at.is_some() {
        ShownFile::Undone
    } else if is_large(&before) || is_large(&after) {
        ShownFile::TooLarge
    } else {
        compared(point, folder, room).unwrap_or(ShownFile::ChangedSince)
    };
    FileExhibit {
        path: point.new_path.as_ref().unwrap_or(&point.file_path).clone(),
        from: point.new_path.as_ref().map(|_| point.file_path.clone()),
        kind: point.operation_to_reverse,
        actions: point.actions.iter().map(ToString::to_string).collect(),
        before,
        after,
        summary: logged.map_or_else(DiffSummary::default, |change| change.diff_summary.clone()),
        shown,
    }
}

/// Compares the backup with the file in the tree, if these still are what the plan read and wrote.
fn compared(point: &Point, folder: &Folder<'_>, room: &mut usize) -> Result<ShownFile, FileError> {
    let is_right = |bytes: &[u8], sha256: &Option<String>| Some(hash(bytes)) == *sha256;
    let before = match &point.backup_location {
        None => None,
        Some(backup) if folder.is_backup(backup) => match folder.root.read(backup, LARGEST) {
            Ok(bytes) if is_right(&bytes, &point.original_hash) => Some(bytes),
            Ok(_) | Err(_) => return Ok(ShownFile::NoBackup),
        },
        Some(_) => return Ok(ShownFile::NoBackup),
    };
    let path = point.new_path.as_ref().unwrap_or(&point.file_path);
    let after = match point.operation_to_reverse {
        ChangeKind::Delete => None,
        ChangeKind::Create | ChangeKind::Modify | ChangeKind::Rename => {
            let bytes = folder.root.read(path, LARGEST)?;
            if !is_right(&bytes, &point.result_hash) {
                return Ok(ShownFile::ChangedSince);
            }
            Some(bytes)
        }
    };
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
    if let Difference::Lines { lines, .. } = &difference {
        *room -= lines.len().min(*room);
    }
    Ok(ShownFile::Compared(difference))
}

/// A checkpoint depends on all that must be restored before it, which are those of later changes.
fn after(manifest: &Manifest) -> BTreeMap<String, BTreeSet<String>> {
    let points = &manifest.checkpoints;
    let mut before: HashMap<Uuid, BTreeSet<usize>> = HashMap::new();
    for (at, point) in points.iter().enumerate() {
        for later in &point.depends_on {
            before.entry(*later).or_default().insert(at);
        }
    }
    let none = BTreeSet::new();
    let mut after: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for point in points {
        let mut covered: BTreeSet<usize> = BTreeSet::new();
        let all = before.get(&point.checkpoint_id).unwrap_or(&none);
        for at in all.iter().rev() {
            let Some(earlier) = points.get(*at).filter(|_| !covered.contains(at)) else {
                continue;
            };
            covered.extend(before.get(&earlier.checkpoint_id).unwrap_or(&none));
            let actions = earlier.actions.iter();
            let actions = actions.filter(|action| !point.actions.contains(action));
            let actions: Vec<String> = actions.map(ActionId::to_string).collect();
            for action in &point.actions {
                let rests_on = after.entry(action.to_string()).or_default();
                rests_on.extend(actions.iter().cloned());
            }
        }
    }
    after
}
