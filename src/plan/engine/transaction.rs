//! The states of a plan that is applied. Each state can only become the next one, or be undone.
//!
//! ```text
//! Stage ─ arm → Armed ─ apply → Applied ─ commit → Committed
//!   └─ abandon      └──── any error ─── undo → RolledBack | Stuck
//! ```
//!
//! A pipeline cuts a plan into parts. Each part is a stage of its own (`Applied ─ next → Stage`), and an error in one of
//! them undoes all parts so far.

use rustix::io::Errno;

use crate::{
    plan::{
        files::{Facts, FileError, Kind, Root, View, there},
        record::{Durability, Weakness},
    },
    task::{Failure, Fault, RelPath},
};

use super::{
    apply::{ApplyError, apply},
    content::{adopted, separate, sha256, still},
    entry::Entry,
    folder::Folder,
    journal::{Event, JOURNAL, Journal, NotReady, Origin},
    stage::{Earlier, Names, Stage, end_unchanged},
    tidy::{sync, tidy},
    undo::{Conflict, apart, left, undo},
};

/// The checkpoint is on the disk: the new contents, the originals, the manifest, the journal
/// (R-001-98, R-001-125). The tree has not changed yet.
#[must_use]
#[derive(Debug)]
pub(crate) struct Armed<'a> {
    folder: Folder<'a>,
    /// Those of all parts so far.
    entries: Vec<Entry>,
    /// How many of them are made, and how.
    captures: Vec<Option<Weakness>>,
    journal: Journal,
    names: Names,
    threads: usize,
}

/// Every change is made, and can still be undone.
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

#[derive(Debug)]
pub(crate) struct Undoing<'a> {
    pub(crate) folder: Folder<'a>,
    pub(crate) why: Failure,
    /// The file at which the plan failed, if it failed at one.
    pub(crate) at: Option<RelPath>,
    pub(crate) end: UndoEnd,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UndoEnd {
    NothingChanged,
    /// The tree is as it was before, except for files that others have changed.
    RolledBack(Vec<Conflict>),
    /// The rollback could not be finished; the next run tries again. Each sentence names an obstacle.
    Stuck(Vec<String>),
}

/// Files of the report directory: name and content.
pub(crate) type Documents = Vec<(&'static str, Vec<u8>)>;

impl<'a> Stage<'a> {
    /// Makes the checkpoint: originals, documents and journal are on the disk.
    pub(crate) fn arm(
        mut self,
        documents: &Documents,
        threads: usize,
    ) -> Result<Armed<'a>, Box<Undoing<'a>>> {
        let made = std::mem::take(&mut self.made);
        let ready = self.noted(threads);
        let ready = ready.and_then(|()| Ok(self.checkpoint()?));
        let ready = ready.and_then(|backups| {
            self.folder.put(documents)?;
            let mut files: Vec<RelPath> = made.into_iter().chain(backups).collect();
            files.push(self.folder.below(JOURNAL)?);
            files.extend(self.folder.list_of_slots()?);
            for (name, _) in documents {
                files.push(self.folder.below(name)?);
            }
            Ok(sync(&self.folder, &self.entries, &files, threads)?)
        });
        match ready {
            Ok(()) => {
                let (mut entries, captures) = match self.earlier {
                    Some(earlier) => (earlier.entries, earlier.captures),
                    None => (Vec::new(), Vec::with_capacity(self.entries.len())),
                };
                entries.append(&mut self.entries);
                Ok(Armed {
                    folder: self.folder,
                    entries,
                    captures,
                    journal: self.journal,
                    names: self.names,
                    threads,
                })
            }
            Err(error) => Err(Box::new(self.undo(error))),
        }
    }

    /// Undoes the parts before this one. If there are none, nothing was changed.
    pub(crate) fn undo(mut self, why: Failure) -> Undoing<'a> {
        let Some(earlier) = self.earlier.take() else {
            return nothing_changed(self, why);
        };
        let made = earlier.entries.len();
        let armed = Armed {
            folder: self.folder,
            entries: earlier.entries,
            captures: earlier.captures,
            journal: self.journal,
            names: self.names,
            threads: earlier.threads,
        };
        armed.undo(why, made)
    }

    /// Writes the entries, and waits until they are on the disk. If there are backups or a manifest, but the
    /// journal has no entries, the journal was cut or removed.
    fn noted(&mut self, threads: usize) -> Result<(), Failure> {
        self.journal.ready(&self.folder.dir, &self.entries)?;
        let journal = self.folder.below(JOURNAL)?;
        Ok(sync(&self.folder, &[], &[journal], threads)?)
    }

    /// Keeps every original at its backup location: as a second name if the file leaves its path, otherwise as a
    /// copy with all attributes (R-001-99 … R-001-101).
    fn checkpoint(&self) -> Result<Vec<RelPath>, ApplyError> {
        let view = View::of(self.folder.root);
        let mut backups = Vec::new();
        for entry in &self.entries {
            let Some(pre) = entry.pre() else {
                continue;
            };
            let from = view.parent(entry.path())?;
            let to = if let Some(room) = there(view.parent(&pre.backup))? {
                room
            } else {
                self.folder.make_room(&pre.backup)?;
                view.parent(&pre.backup)?
            };
            let (name, new) = (entry.path().name(), pre.backup.name());
            // A file that is renamed or overwritten in place keeps its inode, so its backup must be a copy.
            let leaves = entry.to().is_none() && !entry.is_in_place();
            if !(leaves && from.link(name, &to, new).is_ok()) {
                to.remove(new)?;
                from.copy(name, &to, new)?;
            }
            let fits = |kept: Facts| (kept.bytes, kept.mtime) == (pre.facts.bytes, pre.facts.mtime);
            let kept = to.look(new)?.is_some_and(fits) || sha256(&to, new)? == pre.sha256;
            if !still(&from, name, &pre.facts, &pre.sha256)? {
                return Err(ApplyError::Changed(entry.path().to_string()));
            }
            if !kept {
                return Err(to.failed("copy a file to", new, Errno::IO).into());
            }
            // A symbolic link is on the disk with its directory.
            if pre.facts.kind != Kind::Link {
                backups.push(pre.backup.clone());
            }
        }
        Ok(backups)
    }
}

impl<'a> Armed<'a> {
    /// Makes every change. Between two changes, `stopped` is asked for a reason to stop: a signal or the time
    /// limit.
    pub(crate) fn apply(
        mut self,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<Applied<'a>, Box<Undoing<'a>>> {
        let earlier = self.captures.len();
        if let Err(error) = self.journal.record(&self.folder.dir, &Event::Apply) {
            // Nothing of this part has changed, whether the event is on the disk or not.
            return Err(Box::new(self.undo(error.into(), earlier)));
        }
        for (before, entry) in self.entries.iter().enumerate().skip(earlier) {
            let (failure, made) = match stopped() {
                Some(failure) => (failure, before),
                None => match apply(&self.folder, entry) {
                    Ok(capture) => {
                        self.captures.push(capture);
                        continue;
                    }
                    Err(error @ ApplyError::Changed(_)) => (error.into(), before),
                    // The change may have been made.
                    Err(error @ ApplyError::File(_)) => (error.into(), before + 1),
                },
            };
            let at = entry.path().clone();
            return Err(Box::new(Undoing {
                at: Some(at),
                ..self.undo(failure, made)
            }));
        }
        Ok(Applied { armed: self })
    }

    /// Undoes the first `made` changes; the others were not made.
    fn undo(mut self, why: Failure, made: usize) -> Undoing<'a> {
        let entries = self.entries.get(..made).unwrap_or(&self.entries);
        // Where nothing identifies the journal, nothing identifies the files.
        let entries = match self.journal.origin {
            Origin::Here => Ok(entries.to_vec()),
            Origin::Unproven(_) => adopted(self.folder.root, entries),
        };
        let (folder, journal) = (&self.folder, &mut self.journal);
        let end = match entries {
            Ok(entries) => take_back(folder, &entries, journal, entries.len(), self.threads),
            Err(error) => UndoEnd::Stuck(vec![error.to_string()]),
        };
        Undoing {
            folder: self.folder,
            why,
            at: None,
            end,
        }
    }
}

impl<'a> Applied<'a> {
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.armed.entries
    }

    /// One for each entry, in the order of the entries.
    pub(crate) fn captures(&self) -> &[Option<Weakness>] {
        &self.armed.captures
    }

    /// Records an event between two parts, and waits until it is on the disk.
    pub(crate) fn record(&mut self, event: &Event) -> Result<(), FileError> {
        self.armed.journal.record(&self.armed.folder.dir, event)
    }

    pub(crate) fn root(&self) -> &'a Root {
        self.armed.folder.root
    }

    /// The stage of the next part.
    pub(crate) fn next(self) -> Stage<'a> {
        let armed = self.armed;
        Stage {
            folder: armed.folder,
            journal: armed.journal,
            entries: Vec::new(),
            made: Vec::new(),
            names: armed.names,
            earlier: Some(Earlier {
                entries: armed.entries,
                captures: armed.captures,
                threads: armed.threads,
            }),
        }
    }

    pub(crate) fn undo(self, why: Failure) -> Undoing<'a> {
        let made = self.armed.entries.len();
        self.armed.undo(why, made)
    }

    /// Writes the reports, waits until everything is on the disk, and then records that the plan is done.
    pub(crate) fn commit(self, documents: &Documents) -> Result<Committed<'a>, Box<Undoing<'a>>> {
        let mut work = self.armed;
        let files = documents
            .iter()
            .filter_map(|(name, _)| work.folder.below(name).ok());
        let files: Vec<RelPath> = files.collect();
        let ready = work
            .folder
            .put(documents)
            .and_then(|()| sync(&work.folder, &work.entries, &files, work.threads))
            .and_then(|()| work.journal.append(&work.folder.dir, &Event::Done));
        if let Err(error) = ready {
            let made = work.entries.len();
            return Err(Box::new(work.undo(error.into(), made)));
        }
        // The event is written. After a crash it may be on the disk, so the changes are no longer undone.
        let durability = match work.journal.sync(&work.folder.dir) {
            Ok(()) => Durability::Confirmed,
            Err(_) => Durability::Unconfirmed,
        };
        let mut notes = Vec::new();
        // If the disk did not confirm the event, recovery may have to undo the changes after a power failure.
        if durability == Durability::Confirmed
            && let Err(error) =
                tidy(&work.folder, &work.entries, &mut notes).and_then(|()| work.folder.unmark())
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

/// Undoes in reverse order those of these entries that were made, and records that in the journal. Of the entries after
/// the first `begun`, a power failure may have left slots and backups that are written partly.
pub(super) fn take_back(
    folder: &Folder<'_>,
    entries: &[Entry],
    journal: &mut Journal,
    begun: usize,
    threads: usize,
) -> UndoEnd {
    let mut conflicts = Vec::new();
    let mut spared = Vec::new();
    let mut obstacles = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        let undone = match undo(folder.root, entry) {
            Ok(None) if at < begun => left(folder.root, entry),
            undone => undone,
        };
        match undone {
            Ok(None) => {}
            Ok(Some(conflict)) => {
                conflicts.push(conflict);
                for at in apart(folder.root, entry) {
                    if entry.pre().is_some_and(|pre| pre.backup == *at) {
                        let separated = separate(folder.root, entry);
                        obstacles.extend(separated.err().map(|error| error.to_string()));
                    }
                    spared.push(at.clone());
                }
            }
            Err(error) => obstacles.push(error.to_string()),
        }
    }
    if obstacles.is_empty() {
        let event = Event::RolledBack {
            spared: spared.clone(),
        };
        let settled = sync(folder, entries, &[], threads)
            .and_then(|()| journal.record(&folder.dir, &event))
            .and_then(|()| folder.clear(&spared));
        if let Err(error) = settled {
            obstacles.push(error.to_string());
        }
    }
    if obstacles.is_empty() {
        UndoEnd::RolledBack(conflicts)
    } else {
        obstacles.extend(conflicts.iter().map(Conflict::to_string));
        UndoEnd::Stuck(obstacles)
    }
}

fn nothing_changed(mut stage: Stage<'_>, why: Failure) -> Undoing<'_> {
    let end = match end_unchanged(&stage.folder, &mut stage.journal) {
        Ok(()) => UndoEnd::NothingChanged,
        Err(error) => UndoEnd::Stuck(vec![error.to_string()]),
    };
    Undoing {
        folder: stage.folder,
        why,
        at: None,
        end,
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
            ApplyError::File(error) => error.into(),
        }
    }
}
