//! The states of a plan that is applied. Each state can only become the next one, or be undone.
//!
//! ```text
//! Stage ─ arm → Armed ─ apply → Applied ─ commit → Committed
//!   └─ abandon      └──── any error ─── undo → RolledBack | Stuck
//! ```
//!
//! A plan waits for the disk three times, each time for all that it has to wait for: in `arm`, after the last change, and for
//! the end in its journal. A pipeline cuts a plan into parts. Each part is a stage of its own (`Applied ─ next → Stage`), and an
//! error in one of them undoes all parts so far.

use jiff::Timestamp;
use rustix::fs::RenameFlags;

use crate::{
    plan::{
        change::Change,
        record::{Durability, Ending, Undo},
        report::Documents,
    },
    task::{Failure, Fault, RelPath},
    tree::{self, FileError, Root, View, Weakness},
};

use super::{
    apply::{ApplyError, Way, apply},
    back::{UndoEnd, close, take_back},
    content::{adopted, is_original},
    folder::Folder,
    journal::{End, Event, JOURNAL, Journal, NotReady, Origin},
    stage::{Stage, Work},
    tidy::{Waiting, tidy},
};

/// Room for what is written to a journal after its changes, beside its end, in bytes.
const TAIL: u64 = 64 * 1024;

/// The checkpoint is on the disk: the new contents and the journal (R-001-98, R-001-125). The tree has not changed yet.
#[must_use]
#[derive(Debug)]
pub(crate) struct Armed<'a> {
    work: Work<'a>,
    waiting: Waiting,
}

/// Every change is made and on the disk, and can still be undone.
#[must_use]
#[derive(Debug)]
pub(crate) struct Applied<'a> {
    armed: Armed<'a>,
}

#[derive(Debug)]
pub(crate) struct Committed<'a> {
    pub(crate) folder: Folder<'a>,
    pub(crate) durability: Durability,
    pub(crate) notes: Vec<String>,
}

/// A plan that was taken back. Its end is not recorded yet.
#[derive(Debug)]
pub(crate) struct Undoing<'a> {
    pub(crate) folder: Folder<'a>,
    journal: Journal,
    beside: Vec<RelPath>,
    pub(crate) why: Failure,
    /// The file at which the plan failed, if it failed at one.
    pub(crate) at: Option<RelPath>,
    pub(crate) end: UndoEnd,
    spared: Vec<RelPath>,
}

impl<'a> Stage<'a> {
    /// Makes the checkpoint: the new contents and the journal are on the disk. Then writes the documents, which are output. `undo`
    /// has what the manifest says beside the changes, `end` how long the end in the journal will about be.
    pub(crate) fn arm(
        mut self,
        undo: Undo,
        documents: &Documents,
        end: u64,
        threads: usize,
    ) -> Result<Armed<'a>, Box<Undoing<'a>>> {
        let waiting = Waiting::fitting(&self.work.folder, &self.work.beside, threads);
        let ready = self.checkpoint(undo, end, waiting);
        let mut work = self.work;
        let earlier = work.changes.len();
        work.changes.append(&mut self.changes);
        let mut armed = Armed { work, waiting };
        let ready = ready.and_then(|()| {
            // From here on, a journal without changes was cut.
            let work = &armed.work;
            work.folder.make_backups()?;
            work.folder.put(documents)?;
            let beside = |change: &&Change| work.beside.contains(&change.slot);
            let changes: Vec<&Change> = work.changes.iter().skip(earlier).filter(beside).collect();
            armed.copy(&changes)?;
            Ok(armed.work.append(&Event::Apply)?)
        });
        match ready {
            Ok(()) => Ok(armed),
            Err(error) => {
                armed.work.changes.truncate(earlier);
                Err(Box::new(armed.undo(error)))
            }
        }
    }

    fn checkpoint(&mut self, undo: Undo, end: u64, waiting: Waiting) -> Result<(), Failure> {
        let part = Undo {
            changes: self.changes.clone(),
            ..undo
        };
        let Work {
            folder, journal, ..
        } = &mut self.work;
        journal.ready(&folder.dir, part, end + TAIL)?;
        let mut files = std::mem::take(&mut self.made);
        files.extend([folder.below(JOURNAL)?, folder.note()?]);
        let slots = self.changes.iter().map(|change| &change.slot);
        Ok(waiting.wait(folder, &files, slots)?)
    }

    /// Undoes the parts before this one. If there are none, nothing was changed.
    pub(crate) fn undo(self, why: Failure) -> Undoing<'a> {
        let waiting = Waiting::fitting(&self.work.folder, &self.work.beside, 1);
        let work = self.work;
        Armed { work, waiting }.undo(why)
    }

    /// Ends a plan before its first change.
    pub(crate) fn abandon(mut self, ending: Ending) -> Result<Folder<'a>, FileError> {
        let Work {
            folder,
            journal,
            beside,
            ..
        } = &mut self.work;
        let nothing = (&UndoEnd::NothingChanged, [].as_slice());
        close(folder, journal, nothing, beside, ending)?;
        Ok(self.work.folder)
    }
}

impl<'a> Armed<'a> {
    /// Makes every change, and waits until all are on the disk. Between two changes, `stopped` is asked for a reason to stop: a
    /// signal or the time limit.
    pub(crate) fn apply(
        mut self,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<Applied<'a>, Box<Undoing<'a>>> {
        let earlier = self.work.captures.len();
        let view = View::of(self.work.folder.root);
        let mut way = Way::Exchange;
        while let Some(change) = self.work.changes.get(self.work.captures.len()) {
            let before = self.work.captures.len();
            let (failure, made) = match stopped() {
                Some(failure) => (failure, before),
                None => match apply(&view, change, way) {
                    Ok(capture) => {
                        self.work.captures.push(capture);
                        continue;
                    }
                    Err(ApplyError::NoExchange(_)) => {
                        let rest: Vec<&Change> = self.work.changes.iter().skip(before).collect();
                        match self.copy(&rest) {
                            Ok(()) => {
                                way = Way::Replace;
                                continue;
                            }
                            Err(error) => (error, before),
                        }
                    }
                    Err(error @ ApplyError::Changed(_)) => (error.into(), before),
                    // The change may have been made.
                    Err(error @ ApplyError::File(_)) => (error.into(), before + 1),
                },
            };
            let at = change.path.clone();
            self.work.changes.truncate(made);
            return Err(Box::new(Undoing {
                at: Some(at),
                ..self.undo(failure)
            }));
        }
        let names = self.work.changes.iter().skip(earlier);
        let names = names.flat_map(|change| change.places().chain([&change.slot]));
        match self.waiting.wait(&self.work.folder, &[], names) {
            Ok(()) => Ok(Applied { armed: self }),
            Err(error) => Err(Box::new(self.undo(error.into()))),
        }
    }

    /// Copies the originals of changes that cannot keep them by an exchange to their backups, and waits until the copies are on
    /// the disk.
    fn copy(&self, changes: &[&Change]) -> Result<(), Failure> {
        let view = View::of(self.work.folder.root);
        let mut copies = Vec::new();
        for change in changes {
            let (Some(before), Some(backup)) = (&change.before, &change.backup) else {
                continue;
            };
            // The copy of a renamed file becomes its backup by a rename, unless it is on another mount.
            if change.new_path().is_some() && !self.work.beside.contains(&change.slot) {
                continue;
            }
            self.work.folder.make_room(backup)?;
            let (from, to) = (view.parent(&change.path)?, view.parent(backup)?);
            // A copy that is not whole has another name.
            let part = format!("{}.part", backup.name());
            to.remove(&part)?;
            from.copy(change.path.name(), &to, &part)?;
            to.rename(&part, &to, backup.name(), RenameFlags::empty())?;
            if !is_original(self.work.folder.root, backup, before)? {
                return Err(ApplyError::Changed(change.path.to_string()).into());
            }
            // A symbolic link is on the disk with its directory.
            if before.facts.kind == tree::FileKind::File {
                copies.push(backup.clone());
            }
        }
        if copies.is_empty() {
            return Ok(());
        }
        let names: Vec<RelPath> = copies.clone();
        Ok(self
            .waiting
            .wait(&self.work.folder, &copies, names.iter())?)
    }

    /// Undoes the changes, of which the last may not have been made.
    fn undo(self, why: Failure) -> Undoing<'a> {
        // Where nothing identifies the journal, nothing identifies the files.
        let changes = match self.work.journal.origin {
            Origin::Here => Ok(self.work.changes),
            Origin::Unproven(_) => adopted(self.work.folder.root, &self.work.changes),
        };
        let (end, spared) = match changes {
            Ok(changes) if changes.is_empty() => (UndoEnd::NothingChanged, Vec::new()),
            Ok(changes) => {
                let begun = changes.len();
                take_back(&self.work.folder, &changes, begun, self.waiting)
            }
            Err(error) => (UndoEnd::Stuck(vec![error.to_string()]), Vec::new()),
        };
        Undoing {
            folder: self.work.folder,
            journal: self.work.journal,
            beside: self.work.beside,
            why,
            at: None,
            end,
            spared,
        }
    }
}

impl<'a> Undoing<'a> {
    /// Records the end in the journal, and removes what is not needed any more. A plan that is stuck has no end yet.
    pub(crate) fn settle(&mut self, ending: Ending) -> Result<(), FileError> {
        let end = (&self.end, self.spared.as_slice());
        close(&self.folder, &mut self.journal, end, &self.beside, ending)
    }

    /// The directory for another try of the plan.
    pub(crate) fn again(self) -> Result<Folder<'a>, FileError> {
        self.folder.clear(&self.beside, &[])?;
        self.folder.again()
    }
}

impl<'a> Applied<'a> {
    /// Those of all parts so far.
    pub(crate) fn changes(&self) -> &[Change] {
        &self.armed.work.changes
    }

    /// One for each change.
    pub(crate) fn captures(&self) -> &[Option<Weakness>] {
        &self.armed.work.captures
    }

    /// Records an event between two parts, and waits until it is on the disk.
    pub(crate) fn record(&mut self, event: &Event) -> Result<(), FileError> {
        self.armed.work.record(event)
    }

    pub(crate) fn root(&self) -> &'a Root {
        self.armed.work.folder.root
    }

    /// The stage of the next part.
    pub(crate) fn next(self, clock: Option<Timestamp>) -> Stage<'a> {
        Stage::of(self.armed.work, clock)
    }

    pub(crate) fn undo(self, why: Failure) -> Undoing<'a> {
        self.armed.undo(why)
    }

    /// Records that the plan is done and how, and waits until that is on the disk. Then writes the documents, which are output, and
    /// makes the displaced files the backups.
    pub(crate) fn commit(
        self,
        ending: Ending,
        documents: &Documents,
    ) -> Result<Committed<'a>, Box<Undoing<'a>>> {
        let mut armed = self.armed;
        let event = Event::End {
            end: End::Done,
            ending: Box::new(ending),
        };
        if let Err(error) = armed.work.append(&event) {
            return Err(Box::new(armed.undo(error.into())));
        }
        let work = armed.work;
        // The event is written. After a crash it may be on the disk, so the changes are no longer undone.
        let durability = match work.journal.sync(&work.folder.dir) {
            Ok(()) => Durability::Confirmed,
            Err(_) => Durability::Unconfirmed,
        };
        let mut notes = Vec::new();
        if let Err(error) = work.folder.put(documents) {
            notes.push(format!(
                "The reports are not complete: {error}. `oneact recover` makes them again."
            ));
        }
        // If the disk did not confirm the event, recovery may have to undo the changes after a power failure.
        if durability == Durability::Confirmed
            && let Err(error) = tidy(&work.folder, &work.changes, &work.beside, &mut notes)
                .and_then(|()| work.folder.unmark())
        {
            notes.push(format!(
                "Files that the plan no longer needs could not be removed: {error}."
            ));
        }
        work.journal.trim();
        Ok(Committed {
            folder: work.folder,
            durability,
            notes,
        })
    }
}

impl From<NotReady> for Failure {
    fn from(error: NotReady) -> Self {
        match error {
            NotReady::TooLong => Self::new(Fault::LimitExceeded, error.to_string()),
            NotReady::File(error) => error.into(),
        }
    }
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Changed(_) => Self::new(Fault::HashMismatch, error.to_string()),
            ApplyError::NoExchange(_) => Self::new(Fault::FileSystem, error.to_string()),
            ApplyError::File(error) => error.into(),
        }
    }
}
