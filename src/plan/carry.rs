//! Carrying a plan out, in the order of 001 §5.1: check, checkpoint, apply, verify, report.

mod lock;
mod staging;
mod telling;
mod verify;

use std::sync::Arc;

use crate::{
    host,
    task::{Failure, Fault, PlanOrder},
};

use super::{
    Bounds, Desk, Finished,
    check::{self, Broken, Checked},
    engine::{Applied, End, Folder, Stage, UndoEnd, Undoing, recover},
    files::{Faults, FileError, Root, jailed},
    model::{ActionId, OnFailure, Plan},
    read,
    record::{ActionEnd, Durability, Jail, Rollback, Undo, Verdict, uuid_v4},
    report::{MANIFEST, Manifest, PreviewHash, SCRIPT},
};

pub(super) use lock::locked;
use staging::Staging;
use telling::Teller;
use verify::verify;

/// How often a plan is tried, when somebody changes a file between the check and the exchange.
const TRIES: u32 = 3;

/// Carries a plan out: all of it or nothing. `expect` is the hash of the preview it has to agree with.
pub(super) fn execute(
    order: &PlanOrder,
    bounds: &Bounds,
    expect: Option<&str>,
    desk: Desk<'_>,
) -> Finished {
    let faults = host::variable("ONEACT_FAULTS").unwrap_or_default();
    let faults = Arc::new(Faults::parse(&faults));
    execute_with(order, bounds, expect, desk, faults)
}

fn execute_with(
    order: &PlanOrder,
    bounds: &Bounds,
    expect: Option<&str>,
    desk: Desk<'_>,
    faults: Arc<Faults>,
) -> Finished {
    let plan = match read::read(order, bounds) {
        Ok(plan) => plan,
        Err(error) => return telling::unread(&error, desk),
    };
    let work = |jail| {
        Root::open(desk.root, faults)
            .map_err(Failure::from)
            .and_then(|root| {
                let carrier = Carrier {
                    plan: &plan,
                    order,
                    expect,
                    desk,
                    jail,
                    root: &root,
                };
                carrier.carry()
            })
            .unwrap_or_else(telling::refused)
    };
    jailed(desk.root, work).unwrap_or_else(telling::broken)
}

/// One plan at work.
struct Carrier<'a> {
    plan: &'a Plan,
    order: &'a PlanOrder,
    expect: Option<&'a str>,
    desk: Desk<'a>,
    jail: Jail,
    root: &'a Root,
}

/// How one try ended.
enum Tried<'a> {
    Finished(Box<Finished>),
    /// Somebody changed a file at the wrong moment; nothing of ours is left.
    Again(Folder<'a>),
}

impl<'a> Carrier<'a> {
    /// `Err`: nothing was begun.
    fn carry(&self) -> Result<Finished, Failure> {
        let stopped = || self.stopped();
        let _lock = locked(self.root, &stopped)?;
        let notes = self.settle_others()?;
        let name = telling::directory(self.desk);
        let mut folder = Folder::create(self.root, &name)?;
        let mut tries = 1;
        loop {
            match self.attempt(folder, tries < TRIES) {
                Tried::Finished(mut finished) => {
                    finished.notes.splice(0..0, notes);
                    return Ok(*finished);
                }
                Tried::Again(again) => folder = again,
            }
            tries += 1;
        }
    }

    /// What a crash left is settled before anything else is begun.
    fn settle_others(&self) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        for settled in recover(self.root, self.threads())? {
            let sentence = telling::recovered(self.root, self.desk, &settled);
            if let End::Stuck(_) = settled.end {
                return Err(Failure::new(Fault::Stuck, sentence));
            }
            notes.push(sentence);
        }
        Ok(notes)
    }

    fn attempt(&self, folder: Folder<'a>, more: bool) -> Tried<'a> {
        let mut teller = Teller::new(self.plan, self.desk, self.jail, folder.path().clone());
        let stage = folder
            .mark(&teller.mark())
            .and_then(|()| folder.again())
            .map(|folder| Stage::open(folder));
        let stage = match stage {
            Ok(Ok(stage)) => stage,
            Ok(Err(error)) | Err(error) => return done(telling::refused(error.into())),
        };
        let mut staging = Staging::new(stage, self.desk.host);
        let stopped = || self.stopped();
        let checked = check::check(self.plan, self.root, self.desk.host, &stopped, &mut staging);
        let Staging {
            stage,
            changes,
            directories,
            foreseen,
            ..
        } = staging;
        let Checked { verdicts } = match checked {
            Ok(checked) => checked,
            Err(Broken::Failed(failure) | Broken::Stopped(failure)) => {
                teller.trouble(failure);
                return self.unchanged(stage, teller);
            }
        };
        teller.verdicts = verdicts;
        let hash = PreviewHash::of(&telling::canonical(&self.order.plan), foreseen);
        if let Some(expected) = self.expect.filter(|expected| *expected != hash.as_str()) {
            teller.trouble(Failure::new(
                Fault::PreviewChanged,
                format!("the plan would now come to {hash}, not to {expected}: a file or the plan has changed since the preview. Look at a new one (--dry-run)"),
            ));
            return self.unchanged(stage, teller);
        }
        teller.preview = Some(hash);
        let failed = teller.failure().is_some();
        let undone_on_failure = self.plan.instructions.on_failure == OnFailure::RollBack;
        if changes.is_empty() || (failed && undone_on_failure) {
            return self.unchanged(stage, teller);
        }
        let undo = Undo {
            id: uuid_v4(self.desk.host.random_bytes()),
            created: self.desk.host.now(),
            expires: telling::expiry(self.desk),
            changes,
            directories,
        };
        let manifest = Manifest::of(teller.run(), &undo);
        let documents = telling::checkpoint(&manifest);
        teller.undo = Some(undo);
        let result = stage
            .arm(&documents, self.threads())
            .and_then(|armed| armed.apply(&stopped))
            .and_then(|applied| self.verified(applied, &mut teller))
            .and_then(|applied| {
                let documents = teller.documents();
                applied.commit(&documents)
            });
        match result {
            Ok(committed) => {
                teller.durability = committed.durability;
                teller.warnings.extend(committed.notes);
                if committed.durability == Durability::Unconfirmed {
                    teller.warnings.push(
                        "The plan is applied, but the disk did not confirm it: after a power failure it may be undone.".to_owned(),
                    );
                }
                done(teller.finish(&committed.folder))
            }
            Err(undoing) => self.undone(*undoing, teller, more),
        }
    }

    /// 001 §5.1, phase 6: what does not hold undoes the plan, or fails its action.
    fn verified<'b>(
        &self,
        mut applied: Applied<'b>,
        teller: &mut Teller<'_>,
    ) -> Result<Applied<'b>, Box<Undoing<'b>>> {
        teller.captured(applied.entries(), &applied.captures);
        let completed = |id: &ActionId| teller.completed(id);
        let findings = match verify(self.plan, self.root, applied.entries(), &completed) {
            Ok(findings) => findings,
            Err(failure) => return Err(Box::new(applied.undo(failure))),
        };
        teller.warnings.extend(findings.warnings);
        if let Some(failure) = findings.fatal {
            return Err(Box::new(applied.undo(failure)));
        }
        let first = findings.failed.first().map(|(_, failure)| failure.clone());
        for (id, failure) in findings.failed {
            teller.fail(&id, failure);
        }
        match first {
            Some(failure) if self.plan.instructions.on_failure == OnFailure::RollBack => {
                Err(Box::new(applied.undo(failure)))
            }
            _ => Ok(applied),
        }
    }

    /// Nothing was changed, or nothing was to be.
    fn unchanged(&self, stage: Stage<'a>, mut teller: Teller<'a>) -> Tried<'a> {
        match stage.abandon() {
            Ok(folder) => {
                teller.leave(&folder);
                done(teller.finish(&folder))
            }
            Err(error) => {
                teller.trouble(error.into());
                done(teller.unwritten())
            }
        }
    }

    /// Everything was taken back, or as much as could be.
    fn undone(&self, undoing: Undoing<'a>, mut teller: Teller<'a>, more: bool) -> Tried<'a> {
        let Undoing {
            folder,
            why,
            at,
            end,
        } = undoing;
        let clean = match &end {
            UndoEnd::NothingChanged => true,
            UndoEnd::RolledBack(conflicts) => conflicts.is_empty(),
            UndoEnd::Stuck(_) => false,
        };
        if clean && more && why.fault == Fault::HashMismatch && self.stopped().is_none() {
            tracing::info!("{}; the plan is checked again.", why.message);
            return Tried::Again(folder);
        }
        teller.undone(why, at.as_ref(), end);
        teller.leave(&folder);
        done(teller.finish(&folder))
    }

    fn threads(&self) -> usize {
        self.plan.limits.max_concurrency
    }

    /// Why the plan must stop now: a signal, or the end of its time (R-001-173).
    fn stopped(&self) -> Option<Failure> {
        let Desk {
            host,
            begun,
            budget,
            ..
        } = self.desk;
        if let Some(interrupt) = host.interrupts().caught() {
            let message = format!("cancelled by {}", interrupt.name());
            return Some(Failure::new(Fault::Cancelled, message));
        }
        let given = self.plan.instructions.timeout;
        let given = budget.map_or(given, |budget| budget.min(given));
        (begun.passed() > given).then(|| {
            let message = format!("the plan took longer than the {given:?} it was given");
            Failure::new(Fault::ToolTimeout, message)
        })
    }
}

fn done<'a>(finished: Finished) -> Tried<'a> {
    Tried::Finished(Box::new(finished))
}

#[cfg(test)]
mod tests;
