//! The report directory of a plan: its journal, its backups, its slots and its reports.
//!
//! ```text
//! agent_outputs/reports/{timestamp}_{task_id}/   journal, backups/, staged/, the reports   (C-20)
//! agent_outputs/reports/.unfinished/{the same}   while the plan is under way
//! ```

use std::{cell::RefCell, collections::HashSet, rc::Rc};

use camino::Utf8Path;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::journal::JOURNAL;
use crate::{
    plan::report::{Documents, MANIFEST, SCRIPT},
    task::{RelPath, Sanction},
    tree::{Dir, FileError, FileKind, Inherited, Root, innermost, joined, there},
};

pub(crate) const REPORTS: &str = "agent_outputs/reports";
pub(crate) const UNFINISHED: &str = ".unfinished";
pub(super) const STAGED: &str = "staged";
const BACKUPS: &str = "backups";

/// The prefix of the names of slots on other mounts; the name of the report directory and a number follow.
const BESIDE: &str = ".oneact-";

/// Reports and backups may contain what only the owner may read.
pub(super) const PRIVATE: u32 = 0o700;
const SHARED: u32 = 0o755;

const LONGEST_REPORT: u64 = 64 * 1024 * 1024;

/// How many plans of one task may begin in one second.
const SAME_SECOND: u32 = 1000;

#[derive(Debug)]
pub(crate) struct Folder<'a> {
    pub(crate) root: &'a Root,
    pub(crate) path: RelPath,
    pub(crate) dir: Dir<'a>,
    /// The directory of the slots, opened at the first use.
    slots: RefCell<Option<Rc<Dir<'a>>>>,
}

/// The note of a plan under way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) plan_id: String,
    pub(crate) task_id: String,
    /// The run that applies the plan. Notes of earlier versions do not have it.
    #[serde(default)]
    pub(crate) operation_id: String,
    pub(crate) pid: i32,
    pub(crate) began: String,
    /// It is recorded in the journal alone.
    #[serde(skip)]
    pub(crate) sanction: Sanction,
}

/// The names of the backups so far, and the directories on their paths.
#[derive(Debug, Default)]
pub(crate) struct BackupNames {
    files: HashSet<RelPath>,
    dirs: HashSet<RelPath>,
}

impl BackupNames {
    fn fits(&self, backup: &RelPath) -> bool {
        let taken = self.files.contains(backup) || self.dirs.contains(backup);
        !taken && !backup.ancestors().any(|dir| self.files.contains(&dir))
    }

    fn take(&mut self, backup: &RelPath) {
        self.dirs.extend(backup.ancestors());
        self.files.insert(backup.clone());
    }
}

impl<'a> Folder<'a> {
    /// Makes a report directory with that name, or with the next free one.
    pub(crate) fn create(root: &'a Root, name: &str) -> Result<Self, FileError> {
        let reports = reports(root)?;
        for n in 1..SAME_SECOND {
            let name = if n == 1 {
                name.to_owned()
            } else {
                format!("{name}_{n}")
            };
            match reports.make_dir(&name, PRIVATE) {
                Err(error) if error.errno == Errno::EXIST => {}
                Err(error) => return Err(error),
                Ok(()) => return Self::open(root, &name),
            }
        }
        Err(FileError::of("make the directory", reports.name(name))(
            Errno::EXIST,
        ))
    }

    pub(crate) fn open(root: &'a Root, name: &str) -> Result<Self, FileError> {
        let path = joined("open", &format!("{REPORTS}/{name}"))?;
        let dir = root.dir(Some(&path))?;
        Ok(Self {
            root,
            path,
            dir,
            slots: RefCell::default(),
        })
    }

    pub(crate) fn report(&self, name: &str) -> Result<Vec<u8>, FileError> {
        self.dir.read(name, LONGEST_REPORT)
    }

    pub(crate) fn below(&self, rest: &str) -> Result<RelPath, FileError> {
        joined("name", &format!("{}/{rest}", self.path))
    }

    pub(crate) fn make_slots(&self) -> Result<(), FileError> {
        self.dir.ensure_dir(STAGED, PRIVATE)?;
        // Files that are made in it must not inherit from it.
        Inherited::take_from(&self.root.dir(Some(&self.below(STAGED)?))?)
    }

    /// The directory that a slot is in. The report directory's own is opened only once.
    pub(crate) fn beside(&self, slot: &RelPath) -> Result<Rc<Dir<'a>>, FileError> {
        if slot.parent() != Some(self.below(STAGED)?) {
            return self.root.parent(slot).map(Rc::new);
        }
        if let Some(slots) = &*self.slots.borrow() {
            return Ok(Rc::clone(slots));
        }
        let slots = Rc::new(self.root.parent(slot)?);
        *self.slots.borrow_mut() = Some(Rc::clone(&slots));
        Ok(slots)
    }

    pub(crate) fn slot(&self, number: usize) -> Result<RelPath, FileError> {
        self.below(&format!("{STAGED}/{number}"))
    }

    /// Whether the path is a possible slot of this plan: a number, in the report directory or beside a file on
    /// another file system.
    pub(crate) fn is_slot(&self, path: &RelPath) -> bool {
        let name = path.name();
        let number = if path.parent() == self.below(STAGED).ok() {
            Some(name)
        } else {
            let beside = name.strip_prefix(BESIDE);
            beside.and_then(|name| name.strip_prefix(self.path.name())?.strip_prefix('-'))
        };
        number.is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
        })
    }

    pub(super) fn has_slots(&self) -> Result<bool, FileError> {
        Ok(self.dir.look(STAGED)?.is_some())
    }

    /// Whether it is certain that nothing but the journal was ever made here.
    pub(crate) fn is_bare(&self) -> bool {
        let noted = there(marks(self.root))
            .and_then(|marks| marks.map_or(Ok(None), |marks| marks.look(self.path.name())));
        let alone = self.dir.list().is_ok_and(|names| names == [JOURNAL]);
        alone && matches!(noted, Ok(None))
    }

    /// Whether there are backups or a manifest. They are made when the journal is on the disk, before the first change.
    pub(super) fn has_checkpoint(&self) -> Result<bool, FileError> {
        Ok(self.dir.look(BACKUPS)?.is_some() || self.dir.look(MANIFEST)?.is_some())
    }

    pub(super) fn backups(&self) -> Result<RelPath, FileError> {
        self.below(BACKUPS)
    }

    pub(crate) fn is_backup(&self, path: &RelPath) -> bool {
        let backups = self.backups().ok();
        path.as_path().extension() == Some("bak")
            && path.ancestors().any(|dir| Some(dir) == backups)
    }

    /// A slot beside a file in another mount, or beside the first directory on its path that does not exist yet.
    pub(crate) fn slot_beside(&self, path: &RelPath, number: usize) -> Result<RelPath, FileError> {
        let name = format!("{BESIDE}{}-{number}", self.path.name());
        let beside = innermost(path, |dir| self.root.look(dir))?;
        let slot = beside.map_or_else(|| name.clone(), |dir| format!("{dir}/{name}"));
        joined("name", &slot)
    }

    /// Where the original of a file is kept: its path again, with `.bak` (R-001-65, C-20).
    pub(crate) fn backup(
        &self,
        path: &RelPath,
        taken: &mut BackupNames,
    ) -> Result<RelPath, FileError> {
        let mirrored = self.below(&format!("{BACKUPS}/{path}.bak"));
        let backup = match mirrored {
            Ok(backup) if taken.fits(&backup) => backup,
            // A name that is too long, or taken.
            _ => {
                let mut number = taken.files.len();
                loop {
                    let numbered = self.below(&format!("{BACKUPS}/{number}.bak"))?;
                    if taken.fits(&numbered) {
                        break numbered;
                    }
                    number += 1;
                }
            }
        };
        taken.take(&backup);
        Ok(backup)
    }

    /// Makes the directories on the way to a backup.
    pub(crate) fn make_room(&self, backup: &RelPath) -> Result<(), FileError> {
        let own = self.path.as_str().len();
        let dirs = backup.ancestors().filter(|dir| dir.as_str().len() > own);
        self.root.ensure_dirs(dirs, PRIVATE)
    }

    /// Makes the directory of the backups. From here on, a journal that names no changes was cut.
    pub(super) fn make_backups(&self) -> Result<(), FileError> {
        self.dir.ensure_dir(BACKUPS, PRIVATE)
    }

    pub(crate) fn put(&self, documents: &Documents) -> Result<(), FileError> {
        documents.iter().try_for_each(|(name, bytes)| {
            let mode = if *name == SCRIPT { 0o700 } else { 0o600 };
            self.dir.put(name, bytes, mode)
        })
    }

    /// Writes those of the documents that are missing or differ.
    pub(crate) fn put_again(&self, documents: &Documents) -> Result<(), FileError> {
        let differs = |(name, bytes): &&(&'static str, Vec<u8>)| {
            self.report(name).ok().as_ref() != Some(bytes)
        };
        let documents = documents.iter().filter(differs).cloned().collect();
        self.put(&documents)
    }

    /// Writes the note that the plan is under way, and which process applies it.
    pub(crate) fn mark(&self, mark: &Mark) -> Result<(), FileError> {
        // Texts and a number: writing them to memory cannot fail.
        let text = serde_json::to_vec(mark).unwrap_or_default();
        reports(self.root)?.ensure_dir(UNFINISHED, PRIVATE)?;
        marks(self.root)?.put(self.path.name(), &text, 0o600)
    }

    /// The path of that note.
    pub(super) fn note(&self) -> Result<RelPath, FileError> {
        joined(
            "name",
            &format!("{REPORTS}/{UNFINISHED}/{}", self.path.name()),
        )
    }

    /// Prepares the directory for another try: removes what the last one wrote.
    pub(crate) fn again(self) -> Result<Self, FileError> {
        for name in [MANIFEST, SCRIPT, JOURNAL] {
            self.dir.remove(name)?;
        }
        Ok(self)
    }

    pub(crate) fn unmark(&self) -> Result<(), FileError> {
        forget(self.root, self.path.name())
    }

    /// Removes all slots and backups except for `spared`; `beside` are the slots on other mounts. Reports and journal stay.
    pub(crate) fn clear(&self, beside: &[RelPath], spared: &[RelPath]) -> Result<(), FileError> {
        self.clear_slots(beside, spared)?;
        self.clear_part(BACKUPS, spared)
    }

    /// Removes the backups of a plan that can no longer be undone.
    pub(crate) fn clear_backups(&self) -> Result<(), FileError> {
        self.clear_part(BACKUPS, &[])
    }

    /// Removes the slots except for `spared`. Backups stay.
    pub(crate) fn clear_slots(
        &self,
        beside: &[RelPath],
        spared: &[RelPath],
    ) -> Result<(), FileError> {
        for slot in beside.iter().filter(|slot| !spared.contains(slot)) {
            let Some(dir) = there(self.root.parent(slot))? else {
                continue;
            };
            match dir.look(slot.name())?.map(|facts| facts.kind) {
                Some(FileKind::Dir) => dir.remove_dir(slot.name())?,
                Some(_) => dir.remove(slot.name())?,
                None => {}
            }
        }
        self.clear_part(STAGED, spared)
    }

    fn clear_part(&self, part: &str, spared: &[RelPath]) -> Result<(), FileError> {
        self.slots.take();
        let kind = self.dir.look(part)?.map(|facts| facts.kind);
        if kind == Some(FileKind::Dir) && remove_tree(self.root, &self.below(part)?, spared)? {
            self.dir.remove_dir(part)?;
        }
        Ok(())
    }
}

/// The names of the plans that are under way, or were when their process was killed.
pub(crate) fn unfinished(root: &Root) -> Result<Vec<String>, FileError> {
    let mut names = list(there(marks(root))?)?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}

/// Whether no plan was ever begun below this root. This takes one system call, and most runs need no more.
pub(crate) fn never_planned(root: &Utf8Path) -> bool {
    Root::lacks(root, &format!("{REPORTS}/{UNFINISHED}"))
}

/// Whether a crash left anything: a plan under way, or the note of one that was never finished.
pub(crate) fn interrupted(root: &Root) -> Result<bool, FileError> {
    Ok(!list(there(marks(root))?)?.is_empty())
}

/// The report directories, the newest first.
pub(crate) fn finished(root: &Root) -> Result<impl Iterator<Item = Folder<'_>>, FileError> {
    let names = list(there(root.dir(Some(&joined("open", REPORTS)?)))?)?;
    let names = names
        .into_iter()
        .rev()
        .filter(|name| !name.starts_with('.'));
    Ok(names.filter_map(|name| Folder::open(root, &name).ok()))
}

/// The note of a plan under way, if it can be read.
pub(crate) fn mark_of(root: &Root, name: &str) -> Option<Mark> {
    let text = marks(root).and_then(|marks| marks.read(name, 1 << 20));
    serde_json::from_slice(&text.ok()?).ok()
}

/// Removes the note of a plan that is settled, or whose directory is gone; also what somebody put in its place.
pub(crate) fn forget(root: &Root, name: &str) -> Result<(), FileError> {
    let Some(marks) = there(marks(root))? else {
        return Ok(());
    };
    if marks.look(name)?.map(|facts| facts.kind) != Some(FileKind::Dir) {
        return marks.remove(name);
    }
    let path = joined("remove", &format!("{REPORTS}/{UNFINISHED}/{name}"))?;
    remove_tree(root, &path, &[])?;
    marks.remove_dir(name)
}

fn marks(root: &Root) -> Result<Dir<'_>, FileError> {
    root.dir(Some(&joined("open", &format!("{REPORTS}/{UNFINISHED}"))?))
}

pub(super) fn reports(root: &Root) -> Result<Dir<'_>, FileError> {
    let path = joined("open", REPORTS)?;
    root.ensure_dirs(path.ancestors().chain([path.clone()]), SHARED)?;
    root.dir(Some(&path))
}

pub(super) fn list(dir: Option<Dir<'_>>) -> Result<Vec<String>, FileError> {
    dir.map_or(Ok(Vec::new()), |dir| dir.list())
}

/// Removes the content of a directory of the plan, except for `spared`. Returns whether it is empty.
fn remove_tree(root: &Root, path: &RelPath, spared: &[RelPath]) -> Result<bool, FileError> {
    let dir = root.dir(Some(path))?;
    let mut is_empty = true;
    for name in dir.list()? {
        let child = RelPath::parse(&format!("{path}/{name}"));
        let Some(child) = child.ok().filter(|child| !spared.contains(child)) else {
            is_empty = false;
            continue;
        };
        match dir.look(&name)?.map(|facts| facts.kind) {
            Some(FileKind::Dir) if remove_tree(root, &child, spared)? => dir.remove_dir(&name)?,
            Some(FileKind::Dir) => is_empty = false,
            Some(_) => dir.remove(&name)?,
            None => {}
        }
    }
    Ok(is_empty)
}
