//! Undoes a finished plan by its manifest. The rollback is a plan of its own (001 §6.3).
//!
//! If a file has changed since the plan, nothing is undone, and the answer names the file.

mod vouched;

use std::{sync::Arc, time::Duration};

use rustix::io::Errno;
use uuid::Uuid;

use crate::task::{ActionType, Bounds, Failure, Fault, Outcome, RelPath, RollbackOrder};

use super::{
    Desk,
    asking::find,
    carry::{
        Staging, Teller, committed_end, in_the_root, locked, make, settle_others, stopped,
        unchanged, undone_end,
    },
    check::{After, Change, Original, Sink},
    engine::{Entry, Folder, Pre, Stage, account},
    files::{Faults, FileError, Inherited, Kind, Root},
    limits::Limits,
    model::{ActionId, ChangeKind},
    nothing_done,
    record::{ActionEnd, Jail, Verdict},
    report::{MANIFEST, Manifest, Point, bytes},
};

use vouched::vouched;

/// The time limit of a rollback (R-001-173).
const TIMEOUT: Duration = Duration::from_mins(5);

/// Undoes a finished plan, or only the named checkpoints with those that depend on them (R-001-105, R-001-109,
/// R-001-110).
pub(crate) fn rollback(order: &RollbackOrder, desk: Desk<'_>) -> Outcome {
    rollback_with(order, desk, &Faults::asked())
}

pub(super) fn rollback_with(
    order: &RollbackOrder,
    desk: Desk<'_>,
    faults: &Arc<Faults>,
) -> Outcome {
    in_the_root(desk, Arc::clone(faults), |root, jail| {
        undo(order, desk, jail, root)
    })
}

/// `Err`: nothing was begun.
fn undo(
    order: &RollbackOrder,
    desk: Desk<'_>,
    jail: Jail,
    root: &Root,
) -> Result<Outcome, Failure> {
    let stopped = || stopped(desk, TIMEOUT);
    let mut limits = desk.limits()?;
    let _lock = locked(root, &stopped)?;
    let mut notes = settle_others(root, desk, limits.max_concurrency)?;
    let name = find(root, &order.plan)?;
    let finished = Folder::open(root, &name)?;
    let text = finished.report(MANIFEST).map_err(no_manifest)?;
    let mut manifest = Manifest::parse(&text).map_err(|why| unfit(&why))?;
    manifest
        .usable(desk.host.timestamp())
        .map_err(|why| unfit(&why))?;
    limits.sanction = account(&finished.dir)?.sanction;
    let entries = vouched(&finished, &manifest, &limits, order.belief)?;
    let (already, points) = left_to_do(&manifest, order, root)?;
    for point in manifest
        .checkpoints
        .iter()
        .filter(|point| already.contains(&point.checkpoint_id))
    {
        notes.extend(other_attributes(point, &entries, root)?);
    }
    if points.is_empty() {
        manifest.restored(&already, &desk.host.now());
        finished.put(&[(MANIFEST, bytes(&manifest))])?;
        let sentence = "Every file already has the content from before the plan.";
        return Ok(Outcome {
            notes,
            ..nothing_done(sentence.to_owned())
        });
    }
    // Every checkpoint is examined before the first change.
    let inverses = points
        .iter()
        .map(|point| Inverse::of(point, &entries, root, &limits))
        .collect::<Result<Vec<_>, _>>()?;
    let own = Folder::create(root, &desk.report_name())?;
    let actions = inverses.iter().flat_map(|inverse| inverse.actions.clone());
    // The plan's id must continue to name the plan, not its rollback.
    let plan_id = format!("rollback-{}", manifest.plan_id);
    let actions = actions.map(|action| (action, Vec::new()));
    let run = desk.run(plan_id, own.path.clone(), actions);
    let mut teller = Teller::new(desk, jail, run, notes);
    teller.sanction = limits.sanction.clone();
    let kept = inverses.iter().filter_map(Inverse::note);
    teller.story.warnings.extend(kept);
    let stage = Stage::open(own, &teller.mark())?;
    let mut staging = Staging::new(stage, desk.host);
    let staged = inverses.iter().try_for_each(|inverse| {
        teller.story.verdicts.push(inverse.verdict(desk));
        inverse.stage(&mut staging)
    });
    // The directories that the plan made are removed with the last checkpoint.
    let done = points.iter().map(|point| point.checkpoint_id);
    let ids: Vec<Uuid> = done.chain(already).collect();
    let last = manifest
        .checkpoints
        .iter()
        .all(|point| point.undone_at.is_some() || ids.contains(&point.checkpoint_id));
    let made = manifest.created_directories.iter();
    let mut made = made.rev().filter(|_| last).cloned();
    let staged = staged.and_then(|()| made.try_for_each(|dir| staging.stage.remove_dir(dir)));
    if let Err(error) = staged {
        teller.trouble(error.into());
        return Ok(unchanged(staging.stage, teller));
    }
    let (stage, undo) = staging.ready();
    let mut as_it_is = |_: &[Entry], _: &mut Teller<'_>| Ok(());
    let threads = limits.max_concurrency;
    let made = make(stage, &mut teller, undo, threads, &stopped, &mut as_it_is);
    let committed = match made {
        Ok(committed) => committed,
        Err(undoing) => return Ok(undone_end(*undoing, teller)),
    };
    manifest.restored(&ids, &desk.host.now());
    if let Err(error) = finished.put(&[(MANIFEST, bytes(&manifest))]) {
        teller.warn(format!(
            "The manifest of the undone plan could not be updated: {error}."
        ));
    }
    if last {
        let left = without_directories(root, &manifest.created_directories);
        teller.story.warnings.extend(left);
    }
    Ok(committed_end(committed, teller))
}

/// The checkpoints that are already restored although the manifest does not say so, and those that are not. A
/// rollback that was killed after its last change could not update the manifest.
fn left_to_do(
    manifest: &Manifest,
    order: &RollbackOrder,
    root: &Root,
) -> Result<(Vec<Uuid>, Vec<Point>), Failure> {
    let (mut already, mut todo) = (Vec::new(), Vec::new());
    for point in manifest
        .to_restore(&order.checkpoints)
        .map_err(|why| unfit(&why))?
    {
        let is_named = order.checkpoints.contains(&point.checkpoint_id.to_string());
        if point.undone_at.is_some() && !is_named {
            if stands(point, root) && !is_restored(point, root)? {
                let message = format!(
                    "the manifest says that `{}` was restored, but the file is as the plan left it; `--checkpoint {}` \
                     undoes this change again",
                    point.file_path, point.checkpoint_id
                );
                return Err(Failure::new(Fault::RollbackConflict, message));
            }
            continue;
        }
        if is_restored(point, root)? {
            already.push(point.checkpoint_id);
        } else {
            todo.push(point.clone());
        }
    }
    Ok((already, todo))
}

/// Whether the result of the plan is still there, also if the manifest says that the checkpoint was restored.
/// What is not a readable regular file is not the result.
fn stands(point: &Point, root: &Root) -> bool {
    let now = original(root, point.new_path.as_ref().unwrap_or(&point.file_path));
    now.is_ok_and(|now| now.map(|now| now.seen.sha256) == point.result_hash)
}

/// Whether a file is as it was before the plan.
fn is_restored(point: &Point, root: &Root) -> Result<bool, FileError> {
    if let Some(new) = &point.new_path
        && root.look(new)?.is_some()
    {
        return Ok(false);
    }
    let now = match original(root, &point.file_path) {
        Err(error) if error.errno == Errno::FBIG => return Ok(false),
        other => other?,
    };
    // If the plan changed only permissions, the content does not show whether it was undone.
    let content_alone = point.original_hash != point.result_hash || point.new_path.is_some();
    let mode = now
        .as_ref()
        .map(|now| format!("{:04o}", now.seen.facts.mode));
    Ok(now.map(|now| now.seen.sha256) == point.original_hash
        && (content_alone || mode == point.original_mode))
}

/// The note about a restored file that does not have its attributes from before the plan.
fn other_attributes(
    point: &Point,
    entries: &[Entry],
    root: &Root,
) -> Result<Option<String>, FileError> {
    let was = backed_up(point, entries).and_then(|pre| pre.attributes.as_ref());
    let now = original(root, &point.file_path)?;
    let differ = now
        .zip(was)
        .is_some_and(|(now, was)| now.attributes.digest() != *was);
    Ok(differ.then(|| {
        format!(
            "{}: its content is as before the plan, but not its owner, permissions or extended attributes.",
            point.file_path
        )
    }))
}

/// What the journal says of the file that the backup of a checkpoint keeps.
fn backed_up<'e>(point: &Point, entries: &'e [Entry]) -> Option<&'e Pre> {
    let mut pre = entries.iter().filter_map(Entry::pre);
    pre.find(|pre| Some(&pre.backup) == point.backup_location.as_ref())
}

struct Inverse<'a> {
    point: &'a Point,
    /// The file as it is now; `None` if the plan deleted it.
    now: Option<Original>,
    /// The original; `None` if the plan created or renamed the file.
    then: Option<Original>,
    /// The owner, permissions or extended attributes were changed after the plan. These changes stay.
    attributes_stay: bool,
    /// The extended attributes of the backup are not those of the original.
    backup_differs: bool,
    /// Directories that have to be made again, the outermost first.
    missing: Vec<RelPath>,
    /// The mount that the file is or will be in.
    mount: u64,
    /// What a new file inherits from the innermost directory that exists.
    inherited: Inherited,
    actions: [ActionId; 1],
}

impl<'a> Inverse<'a> {
    /// Checks that the change can be undone without the loss of later changes.
    fn of(
        point: &'a Point,
        entries: &[Entry],
        root: &Root,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let path = point.new_path.as_ref().unwrap_or(&point.file_path);
        limits.admits(&point.file_path)?;
        limits.admits(path)?;
        let now = match original(root, path) {
            Err(error) if error.errno == Errno::FBIG => {
                return Err(changed(
                    path,
                    "it is larger than any file that a plan can write",
                ));
            }
            other => other?,
        };
        match (&now, &point.result_hash) {
            (None, None) => {}
            (Some(now), Some(result)) if now.seen.sha256 == *result => {}
            (Some(_), None) => return Err(changed(path, "a file exists there again")),
            (None, Some(_)) => return Err(changed(path, "it no longer exists")),
            (Some(_), Some(_)) => return Err(changed(path, "its content is different")),
        }
        if point.new_path.is_some() && root.look(&point.file_path)?.is_some() {
            return Err(changed(&point.file_path, "a file exists there again"));
        }
        let pre = backed_up(point, entries);
        let then = match (point.operation_to_reverse, &point.backup_location) {
            (ChangeKind::Create | ChangeKind::Rename, _) | (_, None) => None,
            (ChangeKind::Modify | ChangeKind::Delete, Some(backup)) => {
                let then = original(root, backup)?
                    .ok_or_else(|| unusable(format!("the backup `{backup}` no longer exists")))?;
                if Some(&then.seen.sha256) != point.original_hash.as_ref() {
                    return Err(unusable(format!(
                        "the backup `{backup}` does not contain the original any more: somebody wrote to it"
                    )));
                }
                // Somebody may have given the backup to another owner, or added permissions.
                let facts = pre.map_or(&then.seen.facts, |pre| &pre.facts);
                let attributes = then.attributes.owned_like(facts);
                Some(Original { attributes, ..then })
            }
        };
        let mut nearest = None;
        let mut missing = Vec::new();
        for dir in point.file_path.ancestors() {
            match root.look(&dir)? {
                Some(facts) if facts.kind == Kind::Dir => nearest = Some(dir),
                Some(_) => return Err(changed(&dir, "it is no longer a directory")),
                None => missing.push(dir),
            }
        }
        let attributes_stay = now.as_ref().zip(then.as_ref()).is_some_and(|(now, then)| {
            let left = match entries.iter().find(|entry| *entry.path() == *path) {
                Some(Entry::Modify { post, .. }) => post.attributes.as_ref(),
                _ => None,
            };
            let is = now.attributes.digest();
            is != then.attributes.digest() && Some(&is) != left
        });
        let was = pre.and_then(|pre| pre.attributes.as_ref());
        let backup_differs =
            (then.as_ref().zip(was)).is_some_and(|(then, was)| then.attributes.digest() != *was);
        let nearest = root.dir(nearest.as_ref())?;
        Ok(Self {
            point,
            now,
            then,
            attributes_stay,
            backup_differs,
            missing,
            mount: nearest.mount()?,
            inherited: Inherited::of(&nearest)?,
            actions: [ActionId(point.checkpoint_id.to_string())],
        })
    }

    fn stage(&self, staging: &mut Staging<'_>) -> Result<(), FileError> {
        for dir in &self.missing {
            if !staging.directories.contains(dir) {
                staging.dir(dir, self.mount, &self.inherited)?;
            }
        }
        let path = &self.point.file_path;
        let (path, after) = match (&self.point.new_path, &self.then) {
            (Some(new), _) => (new, After::Renamed { to: path }),
            (None, None) => (path, After::Deleted),
            (None, Some(then)) => {
                let of = self.now.as_ref().filter(|_| self.attributes_stay);
                let attributes = of.unwrap_or(then).attributes.clone();
                let written = After::Written {
                    bytes: &then.bytes,
                    attributes: attributes.dated_like(&then.seen.facts),
                };
                (path, written)
            }
        };
        staging.change(Change {
            actions: &self.actions,
            path,
            before: self.now.as_ref(),
            after,
            link: None,
            mount: self.mount,
        })
    }

    /// The note about attributes that are not restored.
    fn note(&self) -> Option<String> {
        let what = match (self.attributes_stay, self.backup_differs) {
            (true, _) => {
                "its permissions, owner or attributes were changed after the plan; these changes stay, and only its content is restored"
            }
            (_, true) => {
                "its backup does not have the extended attributes of the original; the file gets those of the backup"
            }
            (false, false) => return None,
        };
        Some(format!("{}: {what}.", self.point.file_path))
    }

    fn verdict(&self, desk: Desk<'_>) -> Verdict {
        let path = &self.point.file_path;
        let [id] = self.actions.clone();
        let (action_type, what, done) = match self.point.operation_to_reverse {
            ChangeKind::Create => (ActionType::FileDelete, "Created file", "deleted"),
            ChangeKind::Modify => (ActionType::FileModify, "File", "restored"),
            ChangeKind::Delete => (ActionType::FileCreate, "Deleted file", "restored"),
            ChangeKind::Rename => (ActionType::FileRename, "File", "renamed back"),
        };
        Verdict {
            action: id,
            action_type: Some(action_type),
            target: Some(path.to_string()),
            began: desk.host.now(),
            ended: desk.host.now(),
            end: ActionEnd::Completed(format!("{what} '{path}' {done}")),
        }
    }
}

fn original(root: &Root, path: &RelPath) -> Result<Option<Original>, FileError> {
    match root.look(path)? {
        None => Ok(None),
        Some(_) => {
            Original::read(&root.parent(path)?, path.name(), Bounds::MAX_FILE_BYTES).map(Some)
        }
    }
}

/// Removes the directories on other file systems, which contained slots until now. Returns a sentence for each
/// that stays.
fn without_directories(root: &Root, made: &[RelPath]) -> Vec<String> {
    let remove = |dir: &RelPath| {
        root.parent(dir)
            .and_then(|parent| parent.remove_dir(dir.name()))
    };
    let left = |dir: &RelPath| match remove(dir) {
        Ok(()) => None,
        Err(error) if error.errno == Errno::NOENT => None,
        Err(error) => Some(format!(
            "A directory that the plan made could not be removed: {error}."
        )),
    };
    made.iter().rev().filter_map(left).collect()
}

fn changed(path: &RelPath, what: &str) -> Failure {
    let message = format!(
        "`{path}` has changed since the plan: {what}. Nothing was undone, so that nobody's work is lost"
    );
    Failure::new(Fault::RollbackConflict, message)
}

fn unusable(message: String) -> Failure {
    Failure::new(Fault::ManifestUnusable, message)
}

fn no_manifest(error: FileError) -> Failure {
    if error.errno == Errno::NOENT {
        return unusable(format!(
            "{error}: the plan changed nothing, or was rolled back already"
        ));
    }
    error.into()
}

fn unfit(why: &str) -> Failure {
    unusable(format!("the rollback manifest cannot be used: {why}"))
}
