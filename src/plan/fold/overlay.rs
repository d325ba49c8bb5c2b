//! The files that the plan names, as the plan would leave them.

mod changes;
mod edits;
mod queries;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use crate::{
    edit,
    host::{Host, RangeLock},
    plan::{
        model::{Action, ActionId, Links, ModeChange, Operation, Plan},
        planned::Original,
    },
    task::{Failure, Fault, RelPath},
    tree::{Dir, Facts, FileError, FileKind, Located, View, innermost, there},
};

use super::places::{ActionPaths, outside};
pub(super) use edits::Failed;
use edits::{FileContext, Now, within};

pub(super) struct Overlay<'a> {
    plan: &'a Plan,
    view: &'a View<'a>,
    files: BTreeMap<RelPath, Entry<'a>>,
    /// Directories that the plan makes.
    dirs: BTreeSet<RelPath>,
    changed: usize,
    host: &'a Host,
    /// What queries have to tell.
    pub(super) notes: Vec<String>,
    /// The queries, for people.
    pub(super) queries: Vec<String>,
    /// Locks of databases.
    pub(super) held: Vec<RangeLock>,
}

#[derive(Default)]
struct Entry<'a> {
    before: Option<Original>,
    now: Option<Now<'a>>,
    actions: Vec<ActionId>,
    link: Option<RelPath>,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(plan: &'a Plan, view: &'a View<'a>, host: &'a Host) -> Self {
        Self {
            plan,
            view,
            files: BTreeMap::new(),
            dirs: BTreeSet::new(),
            changed: 0,
            host,
            notes: Vec::new(),
            queries: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Performs one action. An action that fails changes nothing.
    pub(super) fn act(
        &mut self,
        action: &'a Action,
        place: &ActionPaths,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<String, Failure> {
        let path = &place.target.path;
        let said = match &action.operation {
            Operation::Create { content, mode } => {
                self.vacant(&place.target)?;
                self.plan.limits.fits_file(path, content.len() as u64)?;
                edit::check_syntax(path, content, stopped).map_err(|error| within(path, error))?;
                self.entry(path).now = Some(Now::created(content.clone(), *mode));
                format!("File '{}' created ({} bytes)", action.target, content.len())
            }
            Operation::Modify(change) | Operation::SchemaUpdate(change) => {
                self.load(&place.target)?;
                let said = self.with(path, stopped, |now, file| now.modify(action, change, file));
                said?.unwrap_or_default()
            }
            Operation::Link { to } => {
                self.link(&place.target, to)?;
                format!("Symbolic link '{}' to '{to}' created", action.target)
            }
            Operation::SetMode(change) => {
                self.load(&place.target)?;
                let mode = self.set_mode(path, *change);
                format!("Mode of '{}' set to {mode:04o}", action.target)
            }
            Operation::Delete { diff } => {
                no_link(&place.target)?;
                self.load(&place.target)?;
                if let Some(diff) = diff {
                    self.with(path, stopped, |now, file| now.emptied(diff, file))?;
                }
                self.entry(path).now = None;
                format!("File '{}' deleted", action.target)
            }
            Operation::Rename { to } => {
                let pathless = || Failure::new(Fault::Internal, "a rename without a new path");
                let target = place.to.as_ref().ok_or_else(pathless)?;
                no_link(&place.target)?;
                self.load(&place.target)?;
                self.vacant(target)?;
                self.with(path, stopped, |now, file| now.fits_name(&target.path, file))?;
                let now = self.entry(path).now.take();
                let origin = now.as_ref().and_then(|now| now.origin.clone());
                self.entry(&target.path).now = now;
                self.entry(&target.path).actions.push(action.id.clone());
                // Each change of a file that is moved several times names an action that another of them names, too.
                if let Some(origin) = origin.filter(|it| it != path && *it != target.path) {
                    self.entry(&origin).actions.push(action.id.clone());
                }
                format!("File '{}' renamed to '{to}'", action.target)
            }
            Operation::Sql(sql) => {
                return self.query(action, sql, (&place.target, &place.sql), stopped);
            }
            // A pipeline is run between two parts of a plan.
            Operation::Pipeline { .. } => return Ok(String::new()),
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

    /// Works on a file as it is now; `None` where there is none.
    fn with<T>(
        &mut self,
        path: &RelPath,
        stopped: &dyn Fn() -> Option<Failure>,
        work: impl FnOnce(&mut Now<'a>, &FileContext<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let now = self.files.get_mut(path).and_then(|entry| entry.now.take());
        let Some(mut now) = now else { return Ok(None) };
        let file = FileContext {
            path,
            original: self.original(&now),
            limits: &self.plan.limits,
            stopped,
        };
        let done = work(&mut now, &file);
        self.entry(path).now = Some(now);
        done.map(Some)
    }

    /// The file at a path before the plan.
    fn before(&self, path: &RelPath) -> Option<&Original> {
        self.files.get(path)?.before.as_ref()
    }

    /// The file at a path after the actions so far, if one of them has named it.
    fn now(&self, path: &RelPath) -> Option<&Now<'a>> {
        self.files.get(path)?.now.as_ref()
    }

    /// The bytes of the original that a file comes from.
    fn original(&self, now: &Now<'a>) -> &[u8] {
        let before = now.origin.as_ref().and_then(|path| self.before(path));
        before.map_or(&[], |before| &before.bytes)
    }

    /// Called when no later action edits these paths. Edits that have left a file broken are undone. Returns their
    /// actions, and what is wrong.
    pub(super) fn judge(
        &mut self,
        paths: &BTreeSet<RelPath>,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<Vec<Failed>, Failure> {
        let mut failed = Vec::new();
        for path in paths {
            let judged = self.with(path, stopped, Now::judge)?;
            failed.extend(judged.into_iter().flatten());
        }
        let has_failed = |id: &ActionId| failed.iter().any(|(actions, _)| actions.contains(id));
        for path in paths {
            if let Some(entry) = self.files.get_mut(path) {
                entry.actions.retain(|action| !has_failed(action));
            }
        }
        Ok(failed)
    }

    /// Checks that the file exists, and reads it.
    fn load(&mut self, located: &Located) -> Result<(), Failure> {
        let path = &located.path;
        if let Some(entry) = self.files.get(path) {
            return match &entry.now {
                Some(now) if now.link.is_some() => regular(path, &Facts::of_new_link()),
                Some(_) => Ok(()),
                None => {
                    let message = format!(
                        "File not found: `{path}` no longer exists when this action is performed; an earlier action deletes or renames it"
                    );
                    Err(Failure::new(Fault::FileNotFound, message))
                }
            };
        }
        let facts = located.facts.ok_or_else(|| self.missing(located))?;
        regular(path, &facts)?;
        self.plan.limits.fits_file(path, facts.bytes)?;
        if facts.nlink > 1 {
            let message = format!(
                "`{path}` has {} names (hard links); a change would separate this name from the others. Give the plan a file with only one name",
                facts.nlink
            );
            return Err(Failure::new(Fault::SharedFile, message));
        }
        let dir = self.view.parent(path)?;
        if facts.mount != dir.mount()? {
            let message = format!(
                "`{path}` is a mount point: a plan replaces files, and a mount point cannot be replaced. Change it where it is mounted from"
            );
            return Err(Failure::new(Fault::NotAFile, message));
        }
        dir.may_change()?;
        dir.unlocked("change", path.name(), &facts)?;
        let most = self.plan.limits.max_file_bytes;
        let before = Original::read(&dir, path.name(), &facts, most)?;
        let entry = Entry {
            before: Some(before),
            now: Some(Now::original(path)),
            ..Entry::default()
        };
        self.files.insert(path.clone(), entry);
        Ok(())
    }

    /// Checks that nothing is at the path of a new file, and that the file can be created there.
    fn vacant(&self, located: &Located) -> Result<(), Failure> {
        let path = &located.path;
        let taken = |what: &str| {
            let message = format!(
                "`{path}` {what}; a plan never replaces one file with another. Delete or rename it first"
            );
            Failure::new(Fault::FileExists, message)
        };
        if located.link.is_some() {
            return Err(taken("is the target of a symbolic link"));
        }
        match (self.files.get(path), &located.facts) {
            (Some(Entry { now: Some(_), .. }), _) => {
                return Err(taken("already exists when this action is performed"));
            }
            (None, Some(facts)) if facts.kind == FileKind::Dir => {
                return Err(taken("is a directory"));
            }
            (None, Some(_)) => return Err(taken("exists already")),
            _ if self.dirs.contains(path) => {
                return Err(taken("is a directory that an earlier action makes"));
            }
            _ => {}
        }
        for dir in path.ancestors() {
            if self.files.contains_key(&dir) {
                let message =
                    format!("`{dir}` is a file of this plan and cannot be a directory of `{path}`");
                return Err(Failure::new(Fault::PlanConflict, message));
            }
            match self.view.look(&dir)? {
                Some(facts) if facts.kind == FileKind::Dir => {}
                Some(_) => {
                    let message =
                        format!("`{dir}` is not a directory, so `{path}` cannot be created");
                    return Err(Failure::new(Fault::NotAFile, message));
                }
                None => break,
            }
        }
        self.nearest(path)?.may_change()?;
        Ok(())
    }

    /// Makes a symbolic link, which leads to a place that the plan could also change by its own path.
    fn link(&mut self, located: &Located, to: &str) -> Result<(), Failure> {
        let path = &located.path;
        self.vacant(located)?;
        if self.files.contains_key(path) {
            let message = format!(
                "`{path}` is a file before the plan; a plan does not put a symbolic link in its place"
            );
            return Err(Failure::new(Fault::PlanConflict, message));
        }
        let target = link_target(path, to)?;
        let is_new_link = |at: RelPath| self.now(&at).is_some_and(|now| now.link.is_some());
        if target.ancestors().chain([target.clone()]).any(is_new_link) {
            let why = "it leads through another new link of the plan";
            return Err(bad_link(path, to, why));
        }
        let leads = self.view.locate(&target).map_err(outside)?;
        self.plan.limits.admits(&target)?;
        self.plan.limits.admits(&leads.path)?;
        self.entry(path).now = Some(Now::linked(to));
        Ok(())
    }

    /// Sets the permission bits of a file that is loaded, and returns them.
    fn set_mode(&mut self, path: &RelPath, change: ModeChange) -> u32 {
        const NEW: u32 = 0o644;
        let before = |now: &Now<'_>| Some(self.before(now.origin.as_ref()?)?.version.facts.mode);
        let mode = self
            .now(path)
            .and_then(|now| now.mode.or_else(|| before(now)));
        let mode = change.of(mode.unwrap_or(NEW));
        if let Some(now) = &mut self.entry(path).now {
            now.mode = Some(mode);
        }
        mode
    }

    fn mount_of(&self, path: &RelPath) -> Result<u64, FileError> {
        self.nearest(path)?.mount()
    }

    /// The innermost directory on the path that exists.
    fn nearest(&self, path: &RelPath) -> Result<Rc<Dir<'a>>, FileError> {
        if let Some(parent) = there(self.view.parent(path))? {
            return Ok(parent);
        }
        let nearest = innermost(path, |dir| self.view.look(dir))?;
        self.view.dir(nearest.as_ref())
    }
}

impl Overlay<'_> {
    fn missing(&self, located: &Located) -> Failure {
        let mut failure = missing(located);
        if self.plan.links == Links::Refused {
            failure.message += " below the root; git writes paths from the top of its checkout, which `--root` can name";
        }
        failure
    }
}

/// Where a link at that path leads, as a path below the root. `..` may stand only at the beginning, where it leads to the
/// directories above the link: behind another name, it could leave the target of a link.
fn link_target(path: &RelPath, to: &str) -> Result<RelPath, Failure> {
    let mut parts: Vec<&str> = path
        .directories()
        .last()
        .map_or_else(Vec::new, |dir| dir.split('/').collect());
    if to.starts_with('/') {
        let why = "a link of a plan leads to a path relative to its own directory";
        return Err(bad_link(path, to, why));
    }
    let mut is_above = true;
    for part in to.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part != ".." {
            is_above = false;
            parts.push(part);
        } else if !is_above {
            return Err(bad_link(path, to, "write `..` only at the beginning"));
        } else if parts.pop().is_none() {
            return Err(bad_link(path, to, "this leads out of the root"));
        }
    }
    RelPath::parse(&parts.join("/")).map_err(|why| bad_link(path, to, why))
}

fn bad_link(path: &RelPath, to: &str, why: &str) -> Failure {
    let message = format!("the symbolic link `{path}` would lead to `{to}`: {why}");
    Failure::new(Fault::PathOutside, message)
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
        FileKind::File => return Ok(()),
        FileKind::Dir => "a directory",
        FileKind::Link => "a symbolic link",
        FileKind::Other => "a device, pipe or socket",
    };
    let message = format!("`{path}` is {what}; a plan changes regular files only");
    Err(Failure::new(Fault::NotAFile, message))
}

/// Refuses to delete or rename a file through a link: the link would stay and lead to nothing.
fn no_link(located: &Located) -> Result<(), Failure> {
    let Some(link) = &located.link else {
        return Ok(());
    };
    let path = &located.path;
    let message = format!("`{link}` is a symbolic link to `{path}`; name the file itself");
    Err(Failure::new(Fault::NotAFile, message))
}
