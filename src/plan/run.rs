//! Applies a plan, in the order of 001 §5.1: check, checkpoint, apply, verify, report.

mod in_parts;
mod staging;
mod telling;
mod verify;

use std::{collections::BTreeSet, ops::ControlFlow, thread, time::Duration};

use crate::{
    host::Moment,
    task::{Bounds, Failure, Fault, Outcome, PlanOrder, Reach, RelPath, Sanction},
};

use super::{
    Desk, Reader, broken,
    change::Change,
    engine::{Applied, Committed, Folder, Stage, UndoEnd, Undoing},
    fold::{self, Folded, Folding},
    lock::{locked, stopped},
    model::{ActionId, OnFailure, Plan},
    preview::{Foresight, not_undone},
    read,
    record::{ActionEnd, Durability, Foreseen, PreviewHash, Undo, Verdict},
    recover::settle_others,
    refused, report,
    unread::unread,
};
use crate::tree::Jail;
use crate::tree::{Root, jailed};

pub(super) use staging::{Staging, begun};
pub(super) use telling::Teller;
use telling::{attributes_lost, hold_back};
use verify::verify;

/// How long a plan is tried again if other programs change a file between the check and the change, if its time
/// limit does not end it earlier.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a file must stay as it is before the plan is tried again, and how often it is looked at meanwhile.
const QUIET: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(2);

/// Applies a plan completely or not at all. `expect` is the hash that its preview must have.
pub(crate) fn execute(
    order: &PlanOrder,
    bounds: &Bounds,
    expect: Option<&str>,
    desk: Desk<'_>,
) -> Outcome {
    let plan = match read::read(order, bounds, &desk.kept(bounds)) {
        Ok(plan) => plan,
        Err(error) => return unread(&error, desk),
    };
    in_the_root(desk, |root, jail| {
        let runner = Runner {
            plan: &plan,
            order,
            expect,
            desk,
            jail,
            root,
        };
        runner.run()
    })
}

/// Does the work in the root; the kernel refuses writes outside it. `Err`: nothing was begun.
pub(super) fn in_the_root(
    desk: Desk<'_>,
    work: impl FnOnce(&Root, Jail) -> Result<Outcome, Failure> + Send,
) -> Outcome {
    let work = |jail| {
        Root::open(desk.root)
            .map_err(Failure::from)
            .and_then(|root| work(&root, jail))
            .unwrap_or_else(refused)
    };
    match jailed(desk.root, work) {
        Ok(outcome) => outcome.unwrap_or_else(broken),
        Err(error) => refused(Failure::new(
            Fault::OutOfMemory,
            format!(
                "the plan needs a thread, and none can be started: {error}. Raise the limit of processes or of memory, and send the task again"
            ),
        )),
    }
}

struct Runner<'a> {
    plan: &'a Plan,
    order: &'a PlanOrder,
    expect: Option<&'a str>,
    desk: Desk<'a>,
    jail: Jail,
    root: &'a Root,
}

/// What a preview showed of a plan with pipelines.
struct Bound {
    foreseen: Vec<Foreseen>,
    /// The actions of which it showed nothing.
    later: BTreeSet<ActionId>,
}

impl<'a> Runner<'a> {
    /// `Err`: nothing was begun.
    fn run(&self) -> Result<Outcome, Failure> {
        let stopped = || self.stopped();
        let _lock = locked(self.root, &stopped)?;
        let notes = settle_others(self.root, self.desk, self.plan.limits.max_concurrency)?;
        let mut folder = Folder::create(self.root, &self.desk.report_name())?;
        let begun = self.desk.host.moment();
        loop {
            match self.attempt(folder, begun) {
                ControlFlow::Continue(again) => folder = again,
                ControlFlow::Break(mut finished) => {
                    finished.notes.splice(0..0, notes);
                    return Ok(finished);
                }
            }
        }
    }

    /// One try. `Continue`: another program changed a file, everything was undone, and the plan can be tried
    /// again.
    fn attempt(&self, folder: Folder<'a>, begun: Moment) -> ControlFlow<Outcome, Folder<'a>> {
        let (plan, desk) = (self.plan, self.desk);
        let actions = plan
            .actions
            .iter()
            .map(|it| (it.id.clone(), it.depends_on.clone()));
        let run = desk.run(plan.plan_id.clone(), folder.path.clone(), actions);
        let mut teller = Teller::new(desk, self.jail, run, plan.notes.clone());
        let stage = match teller.stage(folder, &plan.limits.sanction) {
            Ok(stage) => stage,
            Err(error) => return ControlFlow::Break(refused(error.into())),
        };
        let stopped = || self.stopped();
        let folding = Folding {
            plan,
            root: self.root,
            host: desk.host,
            stopped: &stopped,
        };
        if plan.programs().is_empty() {
            let mut staging = Staging::new(stage, desk.host);
            let folded = fold::foresee(folding, &mut staging);
            let folded = self.sound_plan(folded, &staging.foreseen, &mut teller);
            let stage = staging.stage;
            if folded.is_none() || stage.changes.is_empty() {
                return ControlFlow::Break(unchanged(stage, teller));
            }
            let verified: Verify<'_> = &mut |changes, teller| self.verified(changes, teller);
            let threads = plan.limits.max_concurrency;
            let made = make_part(stage, &mut teller, threads, &stopped, verified);
            return self.ended(made, teller, begun);
        }
        // The parts after a pipeline are staged later, so all parts are checked beforehand without staging.
        let mut foresight = Foresight::new(&plan.limits, Reader::User);
        let folded = fold::foresee(folding, &mut foresight);
        let Some(folded) = self.sound_plan(folded, &foresight.foreseen, &mut teller) else {
            return ControlFlow::Break(unchanged(stage, teller));
        };
        // The parts tell again what their queries have to tell.
        let notes = plan.notes.iter().cloned();
        teller.story.end.warnings = notes.chain(not_undone(plan)).collect();
        let bound = Bound {
            foreseen: foresight.foreseen,
            later: folded.later,
        };
        // A pipeline may work on a database of the plan. Each part locks its own.
        drop(folded.held);
        let made = self.in_parts(stage, &mut teller, folding, &bound);
        self.ended(made, teller, begun)
    }

    /// Whether the plan may be made as it was checked. `None`: nothing is to be changed, and the teller knows why.
    fn sound_plan(
        &self,
        folded: Result<Folded, Failure>,
        foreseen: &[Foreseen],
        teller: &mut Teller<'_>,
    ) -> Option<Folded> {
        teller.so_far(self.plan, folded.as_ref().unwrap_or(&Folded::default()));
        let shown = folded.and_then(|mut folded| {
            teller.story.end.warnings.append(&mut folded.notes);
            let programs = self.plan.programs();
            let hash = PreviewHash::of(&self.order.plan, foreseen.to_vec(), &programs);
            if let Some(expected) = self.expect.filter(|expected| *expected != hash.as_str()) {
                let message = format!("the plan would now have the preview hash {}, not {expected}: a file or the plan has changed since the preview. Make a new preview with --dry-run", hash.as_str());
                return Err(Failure::new(Fault::PreviewChanged, message));
            }
            approved(&self.plan.limits.sanction, &hash)?;
            teller.story.end.preview = Some(hash);
            Ok(folded)
        });
        match shown {
            Err(failure) => {
                teller.trouble(failure);
                None
            }
            Ok(_) if self.is_undone_by(teller.story.failure()) => None,
            Ok(folded) => Some(folded),
        }
    }

    fn is_undone_by(&self, failure: Option<&Failure>) -> bool {
        failure.is_some() && self.plan.instructions.on_failure == OnFailure::RollBack
    }

    /// Commits the last part, unless everything was undone. If only another program was in the way, the plan can be tried
    /// again as soon as that leaves the file alone.
    fn ended(
        &self,
        made: Result<Applied<'a>, Box<Undoing<'a>>>,
        mut teller: Teller<'a>,
        begun: Moment,
    ) -> ControlFlow<Outcome, Folder<'a>> {
        let undoing = match committed(made, &mut teller) {
            Ok(committed) => return ControlFlow::Break(committed_end(committed, teller)),
            Err(undoing) => undoing,
        };
        let clean = [UndoEnd::NothingChanged, UndoEnd::RolledBack(Vec::new())];
        if !clean.contains(&undoing.end)
            || !teller.story.end.pipelines.is_empty()
            || undoing.why.fault != Fault::HashMismatch
            || !self.is_quiet(undoing.at.as_ref(), begun)
        {
            return ControlFlow::Break(undone_end(*undoing, teller));
        }
        tracing::info!("{}; the plan is checked again.", undoing.why.message);
        undoing.again().map_or_else(
            |error| ControlFlow::Break(refused(error.into())),
            ControlFlow::Continue,
        )
    }

    /// 001 §5.1, phase 6. A rule that does not hold undoes the plan, or its action fails.
    fn verified(&self, changes: &[Change], teller: &mut Teller<'_>) -> Result<(), Failure> {
        let end = &mut teller.story.end;
        let completed = |id: &ActionId| {
            let mut verdicts = end.verdicts.iter();
            verdicts.any(|verdict| verdict.action == *id && verdict.is_completed())
        };
        let stopped = || self.stopped();
        let findings = verify(self.plan, self.root, changes, &completed, &stopped)?;
        end.warnings.extend(findings.warnings);
        for (id, failure) in findings.failed.iter().chain(&findings.fatal) {
            let mut verdicts = end.verdicts.iter_mut();
            if let Some(verdict) = verdicts.find(|verdict| verdict.action == *id) {
                verdict.end = ActionEnd::Failed(failure.clone());
            }
        }
        let first = findings.failed.into_iter().next();
        let first = first.filter(|(_, failure)| self.is_undone_by(Some(failure)));
        let Some((_, failure)) = findings.fatal.or(first) else {
            return Ok(());
        };
        hold_back(&mut end.verdicts, self.plan);
        Err(failure)
    }

    /// Waits until the file has not changed for a while. False if that does not come in time.
    fn is_quiet(&self, file: Option<&RelPath>, begun: Moment) -> bool {
        let look = || file.and_then(|path| self.root.look(path).ok().flatten());
        let (mut last, mut since) = (look(), self.desk.host.moment());
        while begun.passed() < PATIENCE && self.stopped().is_none() {
            if since.passed() >= QUIET {
                return true;
            }
            thread::sleep(LOOK);
            let now = look();
            if now != last {
                (last, since) = (now, self.desk.host.moment());
            }
        }
        false
    }

    fn stopped(&self) -> Option<Failure> {
        stopped(self.desk, self.plan.instructions.timeout)
    }
}

/// Whether a plan would do what was approved.
pub(super) fn approved(sanction: &Sanction, hash: &PreviewHash) -> Result<(), Failure> {
    match sanction {
        Sanction::Approved(approved) if approved != hash.as_str() => {
            let message = format!(
                "the plan would now have the preview hash {}, but {approved} was approved: a file has changed since. Send the plan again to request a new approval",
                hash.as_str()
            );
            Err(Failure::new(Fault::ApprovalMismatch, message))
        }
        _ => Ok(()),
    }
}

/// The check between applying and committing. If it fails, everything is undone.
type Verify<'v> = &'v mut dyn FnMut(&[Change], &mut Teller<'_>) -> Result<(), Failure>;

/// Commits the last part, and records what has become of the files.
pub(super) fn committed<'a>(
    made: Result<Applied<'a>, Box<Undoing<'a>>>,
    teller: &mut Teller<'_>,
) -> Result<Committed<'a>, Box<Undoing<'a>>> {
    let made = made.and_then(|applied| {
        let lost = attributes_lost(&teller.story);
        teller.story.end.warnings.extend(lost);
        let ending = teller.ending();
        // The manifest stands there since before the first change.
        applied.commit(ending, &report::end_documents(&teller.told))
    });
    let has_run = !teller.story.end.pipelines.is_empty();
    teller.desk.course.set(match &made {
        Ok(_) => Reach::Changed,
        Err(undoing) => match undoing.end {
            UndoEnd::NothingChanged | UndoEnd::RolledBack(_) if !has_run => Reach::Nothing,
            _ => Reach::Changing,
        },
    });
    made
}

/// Makes the staged changes of one part: checkpoint, changes, verification.
pub(super) fn make_part<'a>(
    stage: Stage<'a>,
    teller: &mut Teller<'_>,
    threads: usize,
    stopped: &dyn Fn() -> Option<Failure>,
    verified: Verify<'_>,
) -> Result<Applied<'a>, Box<Undoing<'a>>> {
    let host = teller.desk.host;
    let undo = teller.story.undo.take().unwrap_or_else(|| begun(host));
    let (part, made) = (undo.clone(), stage.made_changes().to_vec());
    teller.story.undo = Some(Undo {
        changes: [made.as_slice(), &stage.changes].concat(),
        ..undo
    });
    // Even where the rest of the journal is on the disk, the end must find room there.
    let end = serde_json::to_vec(&teller.story.end).map_or(0, |end| end.len());
    let documents = report::undo_documents(&teller.story);
    let armed = stage.arm(part, &documents, end as u64, threads)?;
    teller.desk.course.set(Reach::Changing);
    let applied = armed.apply(stopped)?;
    teller.story.end.captures = applied.captures().to_vec();
    match verified(applied.changes(), teller) {
        Ok(()) => Ok(applied),
        Err(failure) => Err(Box::new(applied.undo(failure))),
    }
}

pub(super) fn committed_end(committed: Committed<'_>, mut teller: Teller<'_>) -> Outcome {
    teller.after.extend(committed.notes);
    if committed.durability == Durability::Unconfirmed {
        teller.story.end.durability = committed.durability;
        teller.tell();
        let note = "The plan is applied, but the disk did not confirm it: after a power failure it may be undone.";
        teller.after.push(note.to_owned());
    }
    teller.finish(&committed.folder)
}

pub(super) fn undone_end(mut undoing: Undoing<'_>, mut teller: Teller<'_>) -> Outcome {
    let (before, at) = (teller.story.clone(), undoing.at.clone());
    teller.undone(&undoing.why, at.as_ref(), &undoing.end);
    if let Err(error) = undoing.settle(teller.ending()) {
        teller.story = before;
        let stuck = UndoEnd::Stuck(vec![error.to_string()]);
        teller.undone(&undoing.why, at.as_ref(), &stuck);
        teller.ending();
    }
    teller.leave(&undoing.folder);
    teller.finish(&undoing.folder)
}

/// The end of a plan that changed nothing.
pub(super) fn unchanged(stage: Stage<'_>, mut teller: Teller<'_>) -> Outcome {
    let story = &mut teller.story;
    // C-24.
    if story.failure().is_some() && story.end.verdicts.iter().any(Verdict::is_completed) {
        let warning = "Nothing was changed: the plan failed before its first change. The actions that are listed as completed were only checked.";
        story.end.warnings.push(warning.to_owned());
    }
    match stage.abandon(teller.ending()) {
        Ok(folder) => {
            teller.leave(&folder);
            teller.finish(&folder)
        }
        Err(error) => {
            teller.trouble(error.into());
            teller.ending();
            teller.outcome()
        }
    }
}

#[cfg(test)]
mod tests;
