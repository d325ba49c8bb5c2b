//! The inverse of one change of a finished plan.

use std::iter;

use crate::{
    plan::{
        Desk,
        at::At,
        change::{Change, ChangeKind, Version},
        engine::Origin,
        fold::Sink,
        limits::Limits,
        model::ActionId,
        planned::{After, Original, Planned},
        record::{ActionEnd, Verdict},
    },
    task::{ActionType, Bounds, Failure, Fault, RelPath},
    tree::{self, FileError, Inherited, Root},
};

/// What is found of a change.
pub(super) enum Standing {
    /// Everything is as after the plan. The file as it is now; none if the plan deleted it.
    AsAfter(Option<Box<Original>>),
    /// Everything is as before the plan.
    AsBefore,
}

/// Whether a change of a finished plan stands, or is taken back already. `Err`: others have changed the file since.
pub(super) fn standing(change: &Change, root: &Root) -> Result<Standing, Failure> {
    let (path, result) = (&change.path, change.result_path());
    let here = original(root, result)?;
    let is = |now: &Option<Original>, then: &Option<Version>| match (now, then) {
        (Some(now), Some(then)) => is_version(now, then),
        (now, then) => now.is_none() && then.is_none(),
    };
    let (there, is_before) = if change.new_path().is_some() {
        let there = original(root, path)?;
        let is_before = is(&there, &change.before) && here.is_none();
        (there, is_before)
    } else {
        (None, is(&here, &change.before))
    };
    if is(&here, &change.after) && there.is_none() {
        return Ok(Standing::AsAfter(here.map(Box::new)));
    }
    if is_before {
        return Ok(Standing::AsBefore);
    }
    let what = match (&here, &change.after) {
        (Some(_), None) => "a file exists there again",
        (None, Some(_)) => "it no longer exists",
        (Some(now), Some(then)) if now.version.sha256 == then.sha256 && there.is_none() => {
            "its owner, permissions or extended attributes are different"
        }
        (Some(now), Some(then)) if now.version.sha256 != then.sha256 => "its content is different",
        _ => return Err(changed(path, "a file exists there again")),
    };
    Err(changed(result, what))
}

/// Content, permissions, owner and extended attributes.
fn is_version(now: &Original, then: &Version) -> bool {
    let known = |it: &Version| (it.facts.kind, it.sha256.clone(), it.attributes.clone());
    known(&now.version) == known(then)
}

fn original(root: &Root, path: &RelPath) -> Result<Option<Original>, Failure> {
    let Some(facts) = root.look(path)? else {
        return Ok(None);
    };
    if facts.bytes > Bounds::MAX_FILE_BYTES {
        let what = "it is larger than any file that a plan can write";
        return Err(changed(path, what));
    }
    let dir = root.parent(path)?;
    if facts.mount != dir.mount()? {
        return Err(changed(path, "a file is mounted there now"));
    }
    let read = Original::read(&dir, path.name(), &facts, Bounds::MAX_FILE_BYTES)?;
    Ok(Some(read))
}

pub(super) struct Inverse<'a> {
    pub(super) change: &'a Change,
    /// The file as it is now; `None` if the plan deleted it.
    now: Option<Box<Original>>,
    /// The original; `None` if the plan created or renamed the file.
    then: Option<Original>,
    /// Directories that have to be made again, the outermost first.
    missing: Vec<RelPath>,
    mount: u64,
    /// By what is made in the innermost directory that exists.
    inherited: Inherited,
    /// Its own, and those of the other changes that are undone with it: a later rollback keeps them together, too.
    actions: Vec<ActionId>,
}

impl<'a> Inverse<'a> {
    /// `together`: the other changes that an action made with this one.
    pub(super) fn of(
        (change, now): (&'a Change, Option<Box<Original>>),
        together: impl Iterator<Item = &'a Change>,
        origin: Origin,
        root: &Root,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        for path in change.places() {
            limits.admits(path)?;
        }
        let then = match (&change.kind, &change.backup, &change.before) {
            (ChangeKind::Modify | ChangeKind::Delete, Some(backup), Some(before)) => {
                let then = original(root, backup)?
                    .ok_or_else(|| unusable(format!("the backup `{backup}` no longer exists")))?;
                if then.version.sha256 != before.sha256 {
                    return Err(unusable(format!(
                        "the backup `{backup}` does not contain the original any more: somebody wrote to it"
                    )));
                }
                // Somebody may have given the backup to another owner, or added permissions. A journal that others may have
                // written says nothing about them.
                let attributes = match origin {
                    Origin::Here => then.attributes.owned_like(&before.facts),
                    Origin::Unproven(_) => then.attributes,
                };
                Some(Original { attributes, ..then })
            }
            _ => None,
        };
        let mut nearest = None;
        let mut missing = Vec::new();
        for dir in change.path.ancestors() {
            match root.look(&dir)? {
                Some(facts) if facts.kind == tree::FileKind::Dir => nearest = Some(dir),
                Some(_) => return Err(changed(&dir, "it is no longer a directory")),
                None => missing.push(dir),
            }
        }
        let nearest = root.dir(nearest.as_ref())?;
        Ok(Self {
            now,
            then,
            missing,
            mount: nearest.mount()?,
            inherited: Inherited::of(&nearest)?,
            actions: iter::once(change).chain(together).map(action).collect(),
            change,
        })
    }

    pub(super) fn stage(&self, sink: &mut dyn Sink) -> Result<(), FileError> {
        for dir in &self.missing {
            sink.dir(dir, self.mount, &self.inherited)?;
        }
        let path = &self.change.path;
        let (path, after) = match (self.change.new_path(), &self.then) {
            (Some(new), _) => (new, After::Renamed { to: path }),
            (None, None) => (path, After::Deleted),
            (None, Some(then)) if then.version.facts.kind == tree::FileKind::Link => {
                let to = std::str::from_utf8(&then.bytes).unwrap_or_default();
                (path, After::Linked { to })
            }
            (None, Some(then)) => {
                let attributes = then.attributes.clone();
                let written = After::Written {
                    bytes: &then.bytes,
                    attributes: attributes.dated_like(&then.version.facts),
                    query: None,
                };
                (path, written)
            }
        };
        sink.file(Planned {
            actions: &self.actions,
            path,
            before: self.now.as_deref(),
            after,
            link: None,
            mount: self.mount,
        })
    }

    /// The note about a backup that is not as the original was.
    pub(super) fn note(&self) -> Option<String> {
        let then = self.then.as_ref()?;
        let before = self.change.before.as_ref()?;
        (!is_version(then, before)).then(|| {
            format!(
                "{}: its backup does not have the attributes of the original any more; the file gets the extended attributes of the backup.",
                self.change.path
            )
        })
    }

    pub(super) fn verdict(&self, desk: Desk<'_>) -> Verdict {
        let path = &self.change.path;
        let (action_type, what, done) = match self.change.kind {
            ChangeKind::Delete => (ActionType::FileCreate, "Deleted file", "restored"),
            ChangeKind::Rename { .. } => (ActionType::FileRename, "File", "renamed back"),
            ChangeKind::Modify => (ActionType::FileModify, "File", "restored"),
            ChangeKind::Create | ChangeKind::MakeDir | ChangeKind::RemoveDir => {
                (ActionType::FileDelete, "Created file", "deleted")
            }
        };
        let now = At::from(&desk.host.now());
        Verdict {
            action: action(self.change),
            action_type: Some(action_type),
            target: Some(path.to_string()),
            began: now.clone(),
            ended: now,
            end: ActionEnd::Completed(format!("{what} '{path}' {done}")),
        }
    }
}

/// The action of the rollback that takes a change back.
pub(super) fn action(change: &Change) -> ActionId {
    ActionId(change.checkpoint.to_string())
}

fn changed(path: &RelPath, what: &str) -> Failure {
    let message = format!(
        "`{path}` has changed since the plan: {what}. Nothing was undone, so that nobody's work is lost"
    );
    Failure::new(Fault::RollbackConflict, message)
}

pub(super) fn unusable(message: String) -> Failure {
    Failure::new(Fault::ManifestUnusable, message)
}
