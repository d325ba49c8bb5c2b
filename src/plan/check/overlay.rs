//! The tree as the plan would leave it, as far as the plan names it.

mod edits;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use crate::{
    plan::{
        edit,
        files::{Attributes, Dir, Facts, FileError, Inherited, Kind, Located, View},
        model::{Action, ActionId, Operation, Permissions, Plan},
    },
    task::{Failure, Fault, RelPath},
};

use super::{Change, Original, Place, Sink, What};
use edits::{Doubt, Together, within};

/// The files a plan has named so far.
pub(super) struct Overlay<'a> {
    plan: &'a Plan,
    view: &'a View<'a>,
    files: BTreeMap<RelPath, Entry<'a>>,
    /// Directories that will have been made.
    dirs: BTreeSet<RelPath>,
    changed: usize,
}

/// One path: what was there, and what is there now.
#[derive(Default)]
struct Entry<'a> {
    before: Option<Original>,
    now: Option<Now<'a>>,
    actions: Vec<ActionId>,
    link: Option<RelPath>,
}

/// A file as the plan has it at the moment.
struct Now<'a> {
    /// `None`: those of the original it comes from.
    bytes: Option<Vec<u8>>,
    /// The path whose original it is; none of a created file.
    origin: Option<RelPath>,
    /// Of a created file.
    mode: Option<u32>,
    doubt: Option<Doubt>,
    together: Together<'a>,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(plan: &'a Plan, view: &'a View<'a>) -> Self {
        Self {
            plan,
            view,
            files: BTreeMap::new(),
            dirs: BTreeSet::new(),
            changed: 0,
        }
    }

    /// Does one action. A failing one leaves everything as it was.
    pub(super) fn act(
        &mut self,
        action: &'a Action,
        place: &Place,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<String, Failure> {
        let path = &place.target.path;
        let said = match &action.operation {
            Operation::Create { content, mode } => {
                self.vacant(&place.target)?;
                self.plan.limits.fits_file(path, content.len() as u64)?;
                edit::check_syntax(path, content, stopped).map_err(|error| within(path, error))?;
                let now = Now {
                    bytes: Some(content.clone()),
                    origin: None,
                    mode: *mode,
                    doubt: None,
                    together: Together::default(),
                };
                self.entry(path).now = Some(now);
                format!("File '{}' created ({} bytes)", action.target, content.len())
            }
            Operation::Modify(change) => {
                self.load(&place.target)?;
                match self.edit_together(action, path, change, stopped)? {
                    Some(said) => said,
                    None => self.edit(action, path, change, edit::edit, stopped)?,
                }
            }
            Operation::SchemaUpdate(edit) => {
                self.load(&place.target)?;
                self.settle(path, stopped)?;
                self.edit(action, path, edit, edit::schema_update, stopped)?
            }
            Operation::Delete => {
                no_link(&place.target)?;
                self.load(&place.target)?;
                self.no_mount(path)?;
                self.entry(path).now = None;
                format!("File '{}' deleted", action.target)
            }
            Operation::Rename { to } => {
                let target = place
                    .to
                    .as_ref()
                    .ok_or_else(|| Failure::new(Fault::Internal, "a rename without a new path"))?;
                no_link(&place.target)?;
                self.load(&place.target)?;
                self.no_mount(path)?;
                self.vacant(target)?;
                self.fits_name(path, &target.path, stopped)?;
                let now = self.entry(path).now.take();
                self.entry(&target.path).now = now;
                self.entry(&target.path).actions.push(action.id.clone());
                format!("File '{}' renamed to '{to}'", action.target)
            }
        };
        let entry = self.entry(path);
        entry.actions.push(action.id.clone());
        if let Some(link) = &place.target.link {
            entry.link = Some(link.clone());
        }
        Ok(said)
    }

    fn entry(&mut self, path: &RelPath) -> &mut Entry<'a> {
        self.files.entry(path.clone()).or_default()
    }

    /// Makes sure that a file is there to work on, and that it is known.
    fn load(&mut self, located: &Located) -> Result<(), Failure> {
        let path = &located.path;
        if let Some(entry) = self.files.get(path) {
            return match entry.now {
                Some(_) => Ok(()),
                None => Err(Failure::new(
                    Fault::FileNotFound,
                    format!(
                        "File not found: `{path}` is no longer there when this action's turn comes; an earlier one deletes or renames it"
                    ),
                )),
            };
        }
        let facts = located.facts.ok_or_else(|| missing(located))?;
        regular(path, &facts)?;
        self.plan.limits.fits_file(path, facts.bytes)?;
        if facts.nlink > 1 {
            return Err(Failure::new(
                Fault::SharedFile,
                format!(
                    "`{path}` has {} names (hard links); changing one would part it from the others. Give the plan a file of its own",
                    facts.nlink
                ),
            ));
        }
        let dir = self.view.parent(path)?;
        self.view.may_change(path.parent().as_ref())?;
        let before = Original::read(&dir, path.name(), self.plan.limits.max_file_bytes)?;
        let entry = Entry {
            before: Some(before),
            now: Some(Now {
                bytes: None,
                origin: Some(path.clone()),
                mode: None,
                doubt: None,
                together: Together::default(),
            }),
            ..Entry::default()
        };
        self.files.insert(path.clone(), entry);
        Ok(())
    }

    /// What something is mounted on has to stay where it is.
    fn no_mount(&self, path: &RelPath) -> Result<(), Failure> {
        let before = self.files.get(path).and_then(|entry| entry.before.as_ref());
        match before {
            Some(before) if before.seen.mount != self.mount_of(path)? => Err(Failure::new(
                Fault::NotAFile,
                format!(
                    "`{path}` is a mount point, which can be written to, but neither deleted nor renamed"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Makes sure that nothing is where a file is to be put, and that it can be put there.
    fn vacant(&self, located: &Located) -> Result<(), Failure> {
        let path = &located.path;
        let taken = |what: &str| {
            Failure::new(
                Fault::FileExists,
                format!(
                    "`{path}` {what}; a plan never puts a file over another. Delete or rename it first"
                ),
            )
        };
        if located.link.is_some() {
            return Err(taken("is where a symbolic link leads"));
        }
        match self.files.get(path) {
            Some(Entry { now: Some(_), .. }) => {
                return Err(taken("is there already when this action's turn comes"));
            }
            Some(_) => {}
            None => match &located.facts {
                Some(facts) if facts.kind == Kind::Dir => return Err(taken("is a directory")),
                Some(_) => return Err(taken("exists already")),
                None => {}
            },
        }
        if self.dirs.contains(path) {
            return Err(taken("is a directory that an earlier action makes"));
        }
        let mut nearest = None;
        for dir in path.ancestors() {
            if self.files.contains_key(&dir) {
                return Err(Failure::new(
                    Fault::PlanConflict,
                    format!("`{dir}` is a file of this plan and cannot be a directory of `{path}`"),
                ));
            }
            match self.view.look(&dir)? {
                Some(facts) if facts.kind == Kind::Dir => nearest = Some(dir),
                Some(_) => {
                    return Err(Failure::new(
                        Fault::NotAFile,
                        format!("`{dir}` is no directory, so that `{path}` cannot be made"),
                    ));
                }
                None => break,
            }
        }
        self.view.may_change(nearest.as_ref())?;
        Ok(())
    }

    /// No later action names these paths: what they come to is given up.
    pub(super) fn finish(
        &mut self,
        paths: &BTreeSet<RelPath>,
        sink: &mut dyn Sink,
    ) -> Result<(), super::Broken> {
        for path in paths {
            self.make_dirs(path, sink)?;
        }
        for path in paths {
            let Some(change) = self.change(path)? else {
                continue;
            };
            let so_far = self.changed + 1;
            self.plan
                .limits
                .fits_files(so_far)
                .map_err(super::Broken::Failed)?;
            sink.change(change)?;
            self.changed = so_far;
        }
        for path in paths {
            if let Some(entry) = self.files.get_mut(path) {
                // The bytes go; that the plan has been here stays known.
                entry.before = None;
                if let Some(now) = &mut entry.now {
                    now.bytes = Some(Vec::new());
                }
            }
        }
        Ok(())
    }

    fn make_dirs(&mut self, path: &RelPath, sink: &mut dyn Sink) -> Result<(), FileError> {
        if self.files.get(path).is_none_or(|entry| entry.now.is_none()) {
            return Ok(());
        }
        for dir in path.ancestors() {
            if !self.dirs.contains(&dir) && self.view.look(&dir)?.is_none() {
                let mount = self.mount_of(&dir)?;
                sink.dir(&dir, mount, &self.inherited(&dir)?)?;
                self.dirs.insert(dir);
            }
        }
        Ok(())
    }

    /// What one path comes to: nothing, or one change.
    fn change<'b>(&'b self, path: &'b RelPath) -> Result<Option<Change<'b>>, FileError> {
        let Some(entry) = self.files.get(path) else {
            return Ok(None);
        };
        let change = |what| {
            Ok(Some(Change {
                actions: &entry.actions,
                path,
                what,
                link: entry.link.as_ref(),
                mount: self.mount_of(path)?,
            }))
        };
        match (&entry.before, &entry.now) {
            (None, None) => Ok(None),
            (None, Some(now)) => {
                // A plain rename is told of where the file was.
                if now
                    .origin
                    .as_ref()
                    .is_some_and(|origin| self.is_rename(origin) == Some(path))
                {
                    return Ok(None);
                }
                change(What::Create {
                    bytes: self.bytes(path),
                    attributes: self.attributes(path, now)?,
                })
            }
            (Some(before), None) => match self.is_rename(path) {
                Some(to) => change(What::Rename { before, to }),
                None => change(What::Delete { before }),
            },
            (Some(before), Some(now)) => {
                let own = now.origin.as_ref() == Some(path);
                if own && self.bytes(path) == before.bytes {
                    return Ok(None);
                }
                change(What::Modify {
                    before,
                    bytes: self.bytes(path),
                    attributes: self.attributes(path, now)?,
                })
            }
        }
    }

    /// Where a file went that is gone from its path and has its own bytes elsewhere, at a path that was
    /// free. One in another mount is made anew.
    fn is_rename(&self, origin: &RelPath) -> Option<&RelPath> {
        let from = self.files.get(origin)?;
        if from.now.is_some() || from.before.is_none() {
            return None;
        }
        self.files.iter().find_map(|(path, entry)| {
            let now = entry.now.as_ref()?;
            let moved = entry.before.is_none()
                && now.origin.as_ref() == Some(origin)
                && now.bytes.as_ref().is_none_or(|bytes| {
                    Some(bytes) == from.before.as_ref().map(|before| &before.bytes)
                });
            let near = || Some(self.mount_of(path).ok()? == self.mount_of(origin).ok()?);
            (moved && near()?).then_some(path)
        })
    }

    /// What the file at that path is to have beside its bytes: what the file that it comes from had, or the
    /// one in whose place it is created; but for permissions that the plan names.
    fn attributes(&self, path: &RelPath, now: &Now<'a>) -> Result<Attributes, FileError> {
        let origin = self
            .files
            .get(now.origin.as_ref().unwrap_or(path))
            .and_then(|entry| entry.before.as_ref());
        match (origin, self.plan.instructions.permissions) {
            (Some(before), Permissions::Preserve) => {
                Ok(before.attributes.clone().with_mode(now.mode))
            }
            (Some(_), Permissions::Fresh) | (None, _) => {
                Ok(self.inherited(path)?.of_a_file(now.mode))
            }
        }
    }

    /// What is handed on to what is made there; directories that are made on the way hand it on.
    fn inherited(&self, path: &RelPath) -> Result<Inherited, FileError> {
        Inherited::of(&*self.nearest(path)?)
    }

    fn mount_of(&self, path: &RelPath) -> Result<u64, FileError> {
        self.nearest(path)?.mount()
    }

    /// The innermost directory on the way to a path that is there.
    fn nearest(&self, path: &RelPath) -> Result<Rc<Dir<'a>>, FileError> {
        let mut nearest = None;
        for dir in path.ancestors() {
            if self.view.look(&dir)?.is_none() {
                break;
            }
            nearest = Some(dir);
        }
        self.view.dir(nearest.as_ref())
    }
}

fn missing(located: &Located) -> Failure {
    let path = &located.path;
    let message = match &located.link {
        Some(link) => format!(
            "File not found: the symbolic link `{link}` leads to `{path}`, which does not exist"
        ),
        None => format!("File not found: target file `{path}` does not exist"),
    };
    Failure::new(Fault::FileNotFound, message)
}

fn regular(path: &RelPath, facts: &Facts) -> Result<(), Failure> {
    let what = match facts.kind {
        Kind::File => return Ok(()),
        Kind::Dir => "a directory",
        Kind::Link => "a symbolic link",
        Kind::Other => "a device, pipe or socket",
    };
    Err(Failure::new(
        Fault::NotAFile,
        format!("`{path}` is {what}; a plan changes regular files only"),
    ))
}

/// Deleting or renaming what a link leads to would leave the link behind, and doing it to the link is
/// not what the plan says.
fn no_link(located: &Located) -> Result<(), Failure> {
    match &located.link {
        None => Ok(()),
        Some(link) => Err(Failure::new(
            Fault::NotAFile,
            format!(
                "`{link}` is a symbolic link to `{}`; name the file itself",
                located.path
            ),
        )),
    }
}
