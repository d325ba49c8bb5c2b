//! Undoes a finished plan by its journal. The rollback is a plan of its own (001 §6.3).
//!
//! A file that is as after the plan is put back, and one that is as before it counts as restored. If a file is anything else,
//! nothing is undone, and the answer names the file.

mod inverse;

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::task::{Asker, Failure, Fault, Outcome, RelPath, RollbackOrder, Sanction};

use super::{
    Desk,
    asking::{Sought, find},
    at::At,
    carry::{
        Staging, Teller, committed_end, in_the_root, make, not_approved, unchanged, undone_end,
    },
    change::{Change, of_files},
    diff::Reader,
    engine::{
        Account, Event, Folder, Journal, Origin, State, account, account_by_anybody, displaced,
    },
    files::{FileError, Root},
    limits::Limits,
    lock::{locked, stopped},
    nothing_done,
    preview::Foresight,
    record::{Jail, PreviewHash},
    recover::settle_others,
    refused,
    report::{Manifest, Point},
    told::{documents, manifest},
};

use inverse::{Inverse, Standing, standing};

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
        let plan = Finished::by(order, &Sanction::Sought, desk, &root)?;
        let mut foresight = Foresight::new(&plan.limits, Reader::Approvers);
        for inverse in plan.left_to_do(order, &root)?.1 {
            inverse.stage(&mut foresight)?;
        }
        Ok(foresight.planned(&plan.manifest.plan_id, &plan.named(order), &[]))
    };
    preview().unwrap_or_else(refused)
}

/// A finished plan, as its journal tells of it.
struct Finished<'r> {
    folder: Folder<'r>,
    account: Account,
    manifest: Manifest,
    limits: Limits,
}

impl<'r> Finished<'r> {
    fn by(
        order: &RollbackOrder,
        sanction: &Sanction,
        desk: Desk<'_>,
        root: &'r Root,
    ) -> Result<Self, Failure> {
        let mut limits = desk.limits()?;
        let folder = Folder::open(root, &find(root, &order.plan, Sought::Undoable)?)?;
        let account = believed(&folder, order.by)?;
        limits.sanction = match sanction {
            Sanction::None => account.sanction.clone(),
            given => given.clone(),
        };
        let manifest = manifest(&account)
            .ok_or_else(|| unusable(format!("the plan of {} changed nothing", folder.path)))?;
        manifest
            .usable(desk.host.timestamp())
            .map_err(|why| unfit(&why))?;
        for dir in &manifest.created_directories {
            limits.admits_dir(dir)?;
        }
        Ok(Self {
            folder,
            account,
            manifest,
            limits,
        })
    }

    /// The checkpoints that are restored already, and the inverses of the others in their order. All are examined before the
    /// first change.
    fn left_to_do(
        &self,
        order: &RollbackOrder,
        root: &Root,
    ) -> Result<(Vec<Uuid>, Vec<Inverse<'_>>), Failure> {
        let points = self.manifest.to_restore(&order.checkpoints);
        let points = points.map_err(|why| unfit(&why))?;
        let mut already = Vec::new();
        let mut todo: Vec<(&Point, &Change, _)> = Vec::new();
        for point in points {
            let mut changes = of_files(self.account.changes());
            let Some(change) = changes.find(|it| it.checkpoint == point.checkpoint_id) else {
                continue;
            };
            let is_named = order.checkpoints.contains(&point.checkpoint_id.to_string());
            match standing(change, root) {
                Ok(Standing::AsAfter(now)) => todo.push((point, change, now)),
                // What others have done to a file since it was put back is theirs.
                _ if point.undone_at.is_some() && !is_named => {}
                Ok(Standing::AsBefore) => already.push(point.checkpoint_id),
                Err(changed) => return Err(changed),
            }
        }
        let pairs: Vec<(&Point, &Change)> = todo
            .iter()
            .map(|(point, change, _)| (*point, *change))
            .collect();
        let mut inverses = Vec::new();
        for (point, change, now) in todo {
            let others = pairs.iter().filter(|(other, _)| {
                other.checkpoint_id != point.checkpoint_id && point.is_half_of(other)
            });
            let together = others.map(|(_, change)| *change);
            let origin = self.account.origin;
            inverses.push(Inverse::of(
                (change, now),
                together,
                origin,
                root,
                &self.limits,
            )?);
        }
        Ok((already, inverses))
    }

    /// What the hash of the preview says of the order.
    fn named(&self, order: &RollbackOrder) -> Value {
        json!({"rollback": self.manifest.id, "checkpoints": order.checkpoints})
    }

    /// Notes in the journal of the plan that checkpoints were put back, and makes its reports again. Nothing waits for the disk:
    /// the files themselves show that they are restored.
    fn note(&self, checkpoints: Vec<Uuid>, desk: Desk<'_>) -> Result<(), FileError> {
        let at = At::from(&desk.host.now());
        let (mut journal, mut account) = Journal::open(&self.folder.dir)?;
        let new = checkpoints.iter().map(|id| (*id, at.clone()));
        account.undone.extend(new);
        journal.append(&self.folder.dir, &Event::Undone { checkpoints, at })?;
        self.folder.put_again(&documents(&account))
    }

    /// The sentences about pipelines, which stay.
    fn stays(&self) -> impl Iterator<Item = String> {
        self.account.pipelines.iter().map(|note| {
            format!(
                "The pipeline `{}` ({}) of this plan cannot be undone: what it did stays.",
                note.started.pipeline, note.started.action
            )
        })
    }
}

/// What the journal of a plan says, if it can be believed.
fn believed(folder: &Folder<'_>, by: Asker) -> Result<Account, Failure> {
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
    match account.state {
        State::Done => {}
        State::NothingChanged | State::RolledBack => {
            return Err(unusable(format!(
                "the plan of {} changed nothing, or was rolled back already",
                &folder.path
            )));
        }
        _ => {
            return Err(unusable(format!(
                "{} is not the directory of a plan that was applied",
                &folder.path
            )));
        }
    }
    let backups = account.changes().iter().filter_map(|it| it.backup.as_ref());
    if let Some(foreign) = backups.into_iter().find(|backup| !folder.is_backup(backup)) {
        return Err(unusable(format!(
            "its journal names `{foreign}`, which is no backup of {}",
            &folder.path
        )));
    }
    let displaced = displaced(folder, account.changes())?;
    if let Some(displaced) = displaced.filter(|_| by != Asker::Confirmed) {
        let message = format!(
            "{displaced}. If this is not possible, `oneact rollback {} --yes` undoes what it finds",
            &folder.path
        );
        return Err(Failure::new(Fault::RollbackConflict, message));
    }
    Ok(account)
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
    let notes = settle_others(root, desk, threads)?;
    let plan = Finished::by(order, sanction, desk, root)?;
    let (already, inverses) = plan.left_to_do(order, root)?;
    if inverses.is_empty() {
        plan.note(already, desk)?;
        let sentence = "Every file already has the content from before the plan.";
        return Ok(Outcome {
            notes: notes.into_iter().chain(plan.stays()).collect(),
            ..nothing_done(sentence.to_owned())
        });
    }
    if let (Asker::Task, Sanction::None, Sanction::Approved(_)) =
        (order.by, sanction, &plan.limits.sanction)
    {
        let message = "the plan was applied under an approval, so a rollback that a task asks for needs an approval of its own";
        return Err(Failure::new(Fault::ApprovalRequired, message));
    }
    let own = Folder::create(root, &desk.report_name())?;
    let actions = inverses
        .iter()
        .map(|inverse| (inverse.action(), Vec::new()));
    // The plan's id must continue to name the plan, not its rollback.
    let plan_id = format!("rollback-{}", plan.manifest.plan_id);
    let run = desk.run(plan_id, own.path.clone(), actions);
    let mut teller = Teller::new(desk, jail, run, notes);
    teller.sanction = plan.limits.sanction.clone();
    let notes = inverses.iter().filter_map(Inverse::note);
    teller.story.end.warnings.extend(notes.chain(plan.stays()));
    let mut staging = Staging::new(teller.stage(own)?, desk.host);
    let staged = inverses.iter().try_for_each(|inverse| {
        teller.story.end.verdicts.push(inverse.verdict(desk));
        inverse.stage(&mut staging)
    });
    // The directories that the plan made are removed with the last checkpoint.
    let done = inverses.iter().map(Inverse::checkpoint);
    let ids: Vec<Uuid> = done.chain(already).collect();
    let is_restored =
        |point: &Point| point.undone_at.is_some() || ids.contains(&point.checkpoint_id);
    let is_last = plan.manifest.checkpoints.iter().all(is_restored);
    let made = plan.manifest.created_directories.iter().filter(|_| is_last);
    let mut made = made.rev().cloned();
    let staged = staged.and_then(|()| made.try_for_each(|dir| staging.stage.remove_dir(dir)));
    if let Err(error) = staged {
        teller.trouble(error.into());
        return Ok(unchanged(staging.stage, teller));
    }
    let hash = PreviewHash::of(&plan.named(order), staging.foreseen, &[]);
    if let Some(failure) = not_approved(sanction, &hash) {
        teller.trouble(failure);
        return Ok(unchanged(staging.stage, teller));
    }
    let mut as_it_is = |_: &[Change], _: &mut Teller<'_>| Ok(());
    let made = make(staging.stage, &mut teller, threads, &stopped, &mut as_it_is);
    let committed = match made {
        Ok(committed) => committed,
        Err(undoing) => return Ok(undone_end(*undoing, teller)),
    };
    if let Err(error) = plan.note(ids, desk) {
        teller.note(format!(
            "The manifest of the undone plan could not be updated: {error}."
        ));
    }
    if is_last {
        let left = without_directories(root, &plan.manifest.created_directories);
        teller.after.extend(left);
    }
    Ok(committed_end(committed, teller))
}

/// Removes the directories on other file systems, which contained slots until now. Returns a sentence for each
/// that stays.
fn without_directories(root: &Root, made: &[RelPath]) -> Vec<String> {
    let remove = |dir: &RelPath| {
        root.parent(dir)
            .and_then(|parent| parent.remove_dir(dir.name()))
    };
    let left = |dir: &RelPath| match remove(dir) {
        Err(error) if error.errno != rustix::io::Errno::NOENT => Some(format!(
            "A directory that the plan made could not be removed: {error}."
        )),
        _ => None,
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

fn unfit(why: &str) -> Failure {
    unusable(format!("the rollback manifest cannot be used: {why}"))
}
