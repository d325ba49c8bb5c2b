//! Undoes a finished plan by its manifest. The rollback is a plan of its own (001 §6.3).
//!
//! If a file has changed since the plan, nothing is undone, and the answer names the file. A
//! manifest is believed only if the journal of the plan confirms it.

mod inverse;
mod vouched;

use std::time::Duration;

use rustix::io::Errno;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::task::{Asker, Bounds, Failure, Fault, Outcome, RelPath, RollbackOrder, Sanction};

use super::{
    Desk,
    asking::{Sought, find},
    carry::{
        Foresight, Staging, Teller, committed_end, in_the_root, locked, make, not_approved,
        settle_others, stopped, unchanged, undone_end,
    },
    check::Original,
    diff::Reader,
    engine::{Entry, Folder, Origin, Pre, Stage, Started, account},
    files::{FileError, Root},
    limits::Limits,
    nothing_done,
    record::{Jail, PreviewHash},
    refused,
    report::{MANIFEST, Manifest, Point, bytes},
};

use inverse::{Inverse, is_mounted};
use vouched::vouched;

/// The time limit of a rollback (R-001-173).
const TIMEOUT: Duration = Duration::from_mins(5);

/// Undoes a finished plan, or only the named checkpoints with those that depend on them (R-001-105, R-001-109,
/// R-001-110). `sanction` is the approval of a rollback that a task asks for.
pub(crate) fn rollback(order: &RollbackOrder, sanction: &Sanction, desk: Desk<'_>) -> Outcome {
    in_the_root(desk, |root, jail| undo((order, sanction), desk, jail, root))
}

/// The preview of a rollback, for those who approve it. Nothing is written.
pub(crate) fn rollback_preview(order: &RollbackOrder, desk: Desk<'_>) -> Outcome {
    let preview = || -> Result<Outcome, Failure> {
        let root = Root::open(desk.root)?;
        let found = Found::by(order, &Sanction::Sought, desk, &root)?;
        let mut foresight = Foresight::new(&found.limits, Reader::Approvers);
        for inverse in found.inverses(&root)? {
            inverse.stage(&mut foresight)?;
        }
        Ok(foresight.planned(&found.manifest.plan_id, &found.named(order), &[]))
    };
    preview().unwrap_or_else(refused)
}

/// What the journal of a finished plan says.
struct Told {
    entries: Vec<Entry>,
    origin: Origin,
}

/// A finished plan, and what is left to undo of it.
struct Found<'r> {
    folder: Folder<'r>,
    manifest: Manifest,
    told: Told,
    limits: Limits,
    already: Vec<Uuid>,
    points: Vec<Point>,
}

impl<'r> Found<'r> {
    fn by(
        order: &RollbackOrder,
        sanction: &Sanction,
        desk: Desk<'_>,
        root: &'r Root,
    ) -> Result<Self, Failure> {
        let mut limits = desk.limits()?;
        let folder = Folder::open(root, &find(root, &order.plan, Sought::Undoable)?)?;
        let text = folder.report(MANIFEST).map_err(no_manifest)?;
        let manifest = Manifest::parse(&text).map_err(|why| unfit(&why))?;
        manifest
            .usable(desk.host.timestamp())
            .map_err(|why| unfit(&why))?;
        limits.sanction = match sanction {
            Sanction::None => account(&folder.dir)?.sanction,
            given => given.clone(),
        };
        let told = vouched(&folder, &manifest, &limits, order.by)?;
        let (already, points) = left_to_do(&manifest, order, &told.entries, root)?;
        Ok(Self {
            folder,
            manifest,
            told,
            limits,
            already,
            points,
        })
    }

    /// Every checkpoint is examined before the first change.
    fn inverses(&self, root: &Root) -> Result<Vec<Inverse<'_>>, Failure> {
        let points = self.points.iter();
        let all = &self.manifest.checkpoints;
        let inverse = |point| Inverse::of((point, all), &self.told, root, &self.limits);
        points.map(inverse).collect()
    }

    /// What the hash of the preview says of the order.
    fn named(&self, order: &RollbackOrder) -> Value {
        json!({"rollback": self.manifest.id, "checkpoints": order.checkpoints})
    }
}

/// `Err`: nothing was begun.
fn undo(
    (order, sanction): (&RollbackOrder, &Sanction),
    desk: Desk<'_>,
    jail: Jail,
    root: &Root,
) -> Result<Outcome, Failure> {
    let stopped = || stopped(desk, TIMEOUT);
    let _lock = locked(root, &stopped)?;
    let threads = desk.limits()?.max_concurrency;
    let mut notes = settle_others(root, desk, threads)?;
    let found = Found::by(order, sanction, desk, root)?;
    let (finished, already, points) = (&found.folder, &found.already, &found.points);
    let mut manifest = found.manifest.clone();
    for point in manifest
        .checkpoints
        .iter()
        .filter(|point| already.contains(&point.checkpoint_id))
    {
        notes.extend(other_attributes(point, &found.told.entries, root)?);
    }
    if points.is_empty() {
        manifest.restored(already, &desk.host.now());
        finished.put(&[(MANIFEST, bytes(&manifest))])?;
        let sentence = "Every file already has the content from before the plan.";
        return Ok(Outcome {
            notes,
            ..nothing_done(sentence.to_owned())
        });
    }
    let inverses = found.inverses(root)?;
    if let (Asker::Task, Sanction::None, Sanction::Approved(_)) =
        (order.by, sanction, &found.limits.sanction)
    {
        let message = "the plan was applied under an approval, so a rollback that a task asks for needs an approval of its own";
        return Err(Failure::new(Fault::ApprovalRequired, message));
    }
    let own = Folder::create(root, &desk.report_name())?;
    let actions = inverses.iter().map(Inverse::action);
    // The plan's id must continue to name the plan, not its rollback.
    let plan_id = format!("rollback-{}", manifest.plan_id);
    let actions = actions.map(|action| (action, Vec::new()));
    let run = desk.run(plan_id, own.path.clone(), actions);
    let mut teller = Teller::new(desk, jail, run, notes);
    teller.sanction = found.limits.sanction.clone();
    let kept = inverses.iter().filter_map(Inverse::note);
    teller.story.warnings.extend(kept);
    let pipelines = account(&found.folder.dir).map(|account| account.pipelines);
    let stays = pipelines.unwrap_or_default().into_iter().map(|note| {
        let Started {
            action, pipeline, ..
        } = note.started;
        format!(
            "The pipeline `{pipeline}` ({action}) of this plan cannot be undone: what it did stays."
        )
    });
    teller.story.warnings.extend(stays);
    let stage = Stage::open(own, &teller.mark())?;
    let mut staging = Staging::new(stage, desk.host);
    let staged = inverses.iter().try_for_each(|inverse| {
        teller.story.verdicts.push(inverse.verdict(desk));
        inverse.stage(&mut staging)
    });
    // The directories that the plan made are removed with the last checkpoint.
    let done = points.iter().map(|point| point.checkpoint_id);
    let ids: Vec<Uuid> = done.chain(already.iter().copied()).collect();
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
    let foreseen = std::mem::take(&mut staging.foreseen);
    let hash = PreviewHash::of(&found.named(order), foreseen, &[]);
    if let Some(failure) = not_approved(sanction, &hash) {
        teller.trouble(failure);
        return Ok(unchanged(staging.stage, teller));
    }
    let (stage, undo) = staging.ready();
    let mut as_it_is = |_: &[Entry], _: &mut Teller<'_>| Ok(());
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
    entries: &[Entry],
    root: &Root,
) -> Result<(Vec<Uuid>, Vec<Point>), Failure> {
    let (mut already, mut todo) = (Vec::new(), Vec::new());
    for point in manifest
        .to_restore(&order.checkpoints)
        .map_err(|why| unfit(&why))?
    {
        let is_named = order.checkpoints.contains(&point.checkpoint_id.to_string());
        let is_restored = || is_restored(point, entries, root);
        if point.undone_at.is_some() && !is_named {
            if !stands(point, root) || is_restored()? {
                continue;
            }
            if !point.keeps_content() {
                let message = format!(
                    "the manifest says that `{}` was restored, but the file is as the plan left it; `--checkpoint {}` \
                     undoes this change again",
                    point.file_path, point.checkpoint_id
                );
                return Err(Failure::new(Fault::RollbackConflict, message));
            }
            todo.push(point.clone());
        } else if is_restored()? {
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
fn is_restored(point: &Point, entries: &[Entry], root: &Root) -> Result<bool, FileError> {
    if let Some(new) = &point.new_path
        && root.look(new)?.is_some()
    {
        return Ok(false);
    }
    let now = match original(root, &point.file_path) {
        Err(error) if error.errno == Errno::FBIG => return Ok(false),
        other => other?,
    };
    if now.as_ref().map(|now| &now.seen.sha256) != point.original_hash.as_ref() {
        return Ok(false);
    }
    if let Some(now) = &now
        && is_mounted(&point.file_path, now, entries, root)?
    {
        return Ok(false);
    }
    Ok(match now.filter(|_| point.keeps_content()) {
        None => true,
        Some(now) => match backed_up(point, entries).and_then(|pre| pre.attributes.as_ref()) {
            Some(attributes) => now.attributes.digest() == *attributes,
            None => Some(format!("{:04o}", now.seen.facts.mode)) == point.original_mode,
        },
    })
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
