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
    change::Change,
    diff::Reader,
    engine::{
        Account, Event, Folder, Journal, Origin, State, account, account_by_anybody, displaced,
    },
    limits::Limits,
    lock::{locked, stopped},
    nothing_done,
    preview::Foresight,
    record::{PreviewHash, Story},
    recover::settle_others,
    refused,
    report::{Manifest, Point},
    run::{
        Staging, Teller, approved, committed, committed_end, in_the_root, make_part, unchanged,
        undone_end,
    },
    told::{documents, so_far},
};
use crate::tree::Jail;
use crate::tree::{FileError, Root};

use inverse::{Inverse, Standing, action, standing, unusable};

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
        let manifest = plan.manifest(desk)?;
        for inverse in plan.left_to_do(&manifest, order)?.1 {
            inverse.stage(&mut foresight)?;
        }
        Ok(foresight.planned(&manifest.run.plan_id, &named(&manifest, order), &[]))
    };
    preview().unwrap_or_else(refused)
}

/// A finished plan, as its journal tells of it.
struct Finished<'r> {
    folder: Folder<'r>,
    account: Account,
    story: Option<Story>,
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
        Ok(Self {
            story: so_far(&account),
            folder,
            account,
            limits,
        })
    }

    /// The manifest, if it can be used now.
    fn manifest(&self, desk: Desk<'_>) -> Result<Manifest<'_>, Failure> {
        let unchanged = || unusable(format!("the plan of {} changed nothing", self.folder.path));
        let manifest = self.story.as_ref().and_then(Manifest::of);
        let manifest = manifest.ok_or_else(unchanged)?;
        let usable = manifest.usable(desk.host.timestamp());
        usable.map_err(|why| unfit(&why))?;
        let mut made = manifest.undo.directories();
        made.try_for_each(|dir| self.limits.admits_dir(dir))?;
        Ok(manifest)
    }

    /// The checkpoints that are restored already, and the inverses of the others in their order. All are examined before the
    /// first change.
    fn left_to_do<'m>(
        &self,
        manifest: &'m Manifest<'m>,
        order: &RollbackOrder,
    ) -> Result<(Vec<Uuid>, Vec<Inverse<'m>>), Failure> {
        let root = self.folder.root;
        let points = manifest.to_restore(&order.checkpoints);
        let (mut already, mut todo) = (Vec::new(), Vec::new());
        for point in points.map_err(|why| unfit(&why))? {
            let is_named = order.checkpoints.contains(&point.id().to_string());
            match standing(point.change, root) {
                Ok(Standing::AsAfter(now)) => todo.push((point, now)),
                // What others have done to a file since it was put back is theirs.
                _ if point.undone_at.is_some() && !is_named => {}
                Ok(Standing::AsBefore) => already.push(point.id()),
                Err(changed) => return Err(changed),
            }
        }
        let points: Vec<&Point<'_>> = todo.iter().map(|(point, _)| *point).collect();
        let inverse = |(point, now): (&'m Point<'m>, _)| {
            let others = points.iter().filter(|it| it.id() != point.id());
            let together = others.filter(|other| point.is_half_of(other));
            let together = together.map(|other| other.change);
            let origin = self.account.origin;
            Inverse::of((point.change, now), together, origin, root, &self.limits)
        };
        let inverses = todo.into_iter().map(inverse);
        Ok((already, inverses.collect::<Result<_, _>>()?))
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

/// What the hash of the preview says of the order.
fn named(manifest: &Manifest<'_>, order: &RollbackOrder) -> Value {
    json!({"rollback": manifest.undo.id, "checkpoints": order.checkpoints})
}

/// What the journal of a plan says, if it can be believed.
fn believed(folder: &Folder<'_>, by: Asker) -> Result<Account, Failure> {
    let account = match by {
        Asker::Task | Asker::Person => account(&folder.dir)?,
        Asker::Confirmed => account_by_anybody(&folder.dir)?,
    };
    let path = &folder.path;
    let mut backups = account.changes().iter().filter_map(|it| it.backup.as_ref());
    let why = match (account.origin, account.state) {
        (Origin::Unproven(doubt), _) if by != Asker::Confirmed => Some(format!(
            "the journal of {path} {doubt}. If you know where the directory comes from, `oneact rollback {path} --yes` undoes the plan anyway"
        )),
        (_, State::Done) => backups
            .find(|it| !folder.is_backup(it))
            .map(|foreign| format!("its journal names `{foreign}`, which is no backup of {path}")),
        (_, State::NothingChanged | State::RolledBack) => Some(format!(
            "the plan of {path} changed nothing, or was rolled back already"
        )),
        (_, State::Empty | State::Begun | State::Ready | State::Foreign) => Some(format!(
            "{path} is not the directory of a plan that was applied"
        )),
    };
    if let Some(why) = why {
        return Err(unusable(why));
    }
    let displaced = displaced(folder, account.changes())?;
    if let Some(displaced) = displaced.filter(|_| by != Asker::Confirmed) {
        let message = format!(
            "{displaced}. If this is not possible, `oneact rollback {path} --yes` undoes what it finds"
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
    let manifest = plan.manifest(desk)?;
    let (already, inverses) = plan.left_to_do(&manifest, order)?;
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
    let actions = inverses.iter().map(|it| (action(it.change), Vec::new()));
    // The plan's id must continue to name the plan, not its rollback.
    let plan_id = format!("rollback-{}", manifest.run.plan_id);
    let run = desk.run(plan_id, own.path.clone(), actions);
    let notes = notes.into_iter();
    let notes = notes.chain(inverses.iter().filter_map(Inverse::note));
    let notes = notes.chain(plan.stays()).collect();
    let mut teller = Teller::new(desk, jail, run, notes);
    let verdicts = inverses.iter().map(|inverse| inverse.verdict(desk));
    teller.story.end.verdicts = verdicts.collect();
    let mut staging = Staging::new(teller.stage(own, &plan.limits.sanction)?, desk.host);
    let done = inverses.iter().map(|inverse| inverse.change.checkpoint);
    let ids: Vec<Uuid> = done.chain(already).collect();
    // The directories that the plan made are removed with the last checkpoint.
    let is_restored = |it: &Point<'_>| it.undone_at.is_some() || ids.contains(&it.id());
    let is_last = manifest.checkpoints.iter().all(is_restored);
    let dirs = manifest.undo.directories().rev().filter(|_| is_last);
    let dirs: Vec<&RelPath> = dirs.collect();
    let mut stage = || -> Result<(), FileError> {
        let mut each = inverses.iter();
        each.try_for_each(|inverse| inverse.stage(&mut staging))?;
        let mut dirs = dirs.iter().copied().cloned();
        dirs.try_for_each(|dir| staging.stage.remove_dir(dir))
    };
    let staged = stage().map_err(Failure::from);
    let hash = PreviewHash::of(&named(&manifest, order), staging.foreseen, &[]);
    if let Err(failure) = staged.and_then(|()| approved(sanction, &hash)) {
        teller.trouble(failure);
        return Ok(unchanged(staging.stage, teller));
    }
    let mut as_it_is = |_: &[Change], _: &mut Teller<'_>| Ok(());
    let made = make_part(staging.stage, &mut teller, threads, &stopped, &mut as_it_is);
    let committed = match committed(made, &mut teller) {
        Ok(committed) => committed,
        Err(undoing) => return Ok(undone_end(*undoing, teller)),
    };
    if let Err(error) = plan.note(ids, desk) {
        let note = format!("The manifest of the undone plan could not be updated: {error}.");
        teller.after.push(note);
    }
    teller.after.extend(without_directories(root, &dirs));
    Ok(committed_end(committed, teller))
}

/// Removes the directories on other file systems, which contained slots until now. Returns a sentence for each
/// that stays.
fn without_directories(root: &Root, made: &[&RelPath]) -> Vec<String> {
    let remove = |dir: &RelPath| root.parent(dir)?.remove_dir(dir.name());
    let left = |dir: &&RelPath| match remove(dir) {
        Err(error) if error.errno != rustix::io::Errno::NOENT => Some(format!(
            "A directory that the plan made could not be removed: {error}."
        )),
        _ => None,
    };
    made.iter().filter_map(left).collect()
}

fn unfit(why: &str) -> Failure {
    unusable(format!("the rollback manifest cannot be used: {why}"))
}
