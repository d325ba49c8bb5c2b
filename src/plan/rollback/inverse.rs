//! The inverse of one change of a finished plan.

use std::iter;

use rustix::io::Errno;

use crate::{
    plan::{
        Desk,
        check::{After, Change, Original, Sink},
        engine::{Entry, Origin},
        files::{Attributes, Facts, FileError, Inherited, Kind, Root},
        limits::Limits,
        model::{ActionId, ChangeKind},
        record::{ActionEnd, Verdict},
        report::Point,
    },
    task::{ActionType, Failure, RelPath},
};

use super::{Told, backed_up, changed, original, unusable};

pub(super) struct Inverse<'a> {
    point: &'a Point,
    /// The file as it is now; `None` if the plan deleted it.
    now: Option<Original>,
    /// The original; `None` if the plan created or renamed the file.
    then: Option<Original>,
    later: Later,
    /// The extended attributes of the backup are not those of the original.
    backup_differs: bool,
    /// Directories that have to be made again, the outermost first.
    missing: Vec<RelPath>,
    /// The mount that the file is or will be in.
    mount: u64,
    /// What a new file inherits from the innermost directory that exists.
    inherited: Inherited,
    /// Its own, and those of the other changes that are undone with it: a later rollback keeps them together, too.
    actions: Vec<ActionId>,
}

impl<'a> Inverse<'a> {
    /// Checks that the change can be undone without the loss of later changes. `all` are the checkpoints of the plan.
    pub(super) fn of(
        (point, all): (&'a Point, &[Point]),
        told: &Told,
        root: &Root,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let path = point.new_path.as_ref().unwrap_or(&point.file_path);
        limits.admits(&point.file_path)?;
        limits.admits(path)?;
        let now = result(path, told, root)?;
        match (&now, &point.result_hash) {
            (None, None) => {}
            (Some(now), Some(result)) if now.seen.sha256 == *result => {}
            (Some(_), None) => return Err(changed(path, "a file exists there again")),
            (None, Some(_)) => return Err(changed(path, "it no longer exists")),
            (Some(_), Some(_)) => return Err(changed(path, "its content is different")),
        }
        if point.new_path.is_some() && root.look(&point.file_path)?.is_some() {
            return Err(changed(&point.file_path, "a file exists there again"));
        }
        let entries = &told.entries;
        let pre = backed_up(point, entries);
        let then = match (point.operation_to_reverse, &point.backup_location) {
            (ChangeKind::Create | ChangeKind::Rename, _) | (_, None) => None,
            (ChangeKind::Modify | ChangeKind::Delete, Some(backup)) => {
                let then = original(root, backup)?
                    .ok_or_else(|| unusable(format!("the backup `{backup}` no longer exists")))?;
                if Some(&then.seen.sha256) != point.original_hash.as_ref() {
                    return Err(unusable(format!(
                        "the backup `{backup}` does not contain the original any more: somebody wrote to it"
                    )));
                }
                let kept = then.seen.facts;
                let facts = match (told.origin, pre.map(|pre| pre.facts)) {
                    (_, None) => kept,
                    // Somebody may have given the backup to another owner, or added permissions.
                    (Origin::Here, Some(named)) => named,
                    (Origin::Unproven(_), Some(named)) => {
                        agreed(named, kept, now.as_ref().map(|now| now.seen.facts))
                    }
                };
                let attributes = then.attributes.owned_like(&facts);
                Some(Original { attributes, ..then })
            }
        };
        let mut nearest = None;
        let mut missing = Vec::new();
        for dir in point.file_path.ancestors() {
            match root.look(&dir)? {
                Some(facts) if facts.kind == Kind::Dir => nearest = Some(dir),
                Some(_) => return Err(changed(&dir, "it is no longer a directory")),
                None => missing.push(dir),
            }
        }
        let related = all.iter().filter(|other| point.is_half_of(other));
        let others = related.clone().filter(|other| {
            other.checkpoint_id != point.checkpoint_id && other.undone_at.is_none()
        });
        let actions = iter::once(point).chain(others).map(action).collect();
        let later = match (&then, &now) {
            (Some(then), _) => related.fold(Later::Nothing, |later, other| {
                let path = other.new_path.as_ref().unwrap_or(&other.file_path);
                // If a file cannot be read, its own inverse fails.
                let found = original(root, path).ok().flatten();
                match found.map(|found| found.attributes) {
                    Some(found) if is_changed(&found, path, entries) => {
                        let known = later.attributes().unwrap_or(&then.attributes);
                        Later::Limits(known.clone().limited_to(&found))
                    }
                    Some(_) | None => later,
                }
            }),
            (None, Some(now))
                if point.new_path.is_some() && is_changed(&now.attributes, path, entries) =>
            {
                Later::Stays
            }
            (None, _) => Later::Nothing,
        };
        let was = pre.and_then(|pre| pre.attributes.as_ref());
        let backup_differs =
            (then.as_ref().zip(was)).is_some_and(|(then, was)| then.attributes.digest() != *was);
        let nearest = root.dir(nearest.as_ref())?;
        Ok(Self {
            point,
            now,
            then,
            later,
            backup_differs,
            missing,
            mount: nearest.mount()?,
            inherited: Inherited::of(&nearest)?,
            actions,
        })
    }

    /// The action of the rollback that makes this change.
    pub(super) fn action(&self) -> ActionId {
        action(self.point)
    }

    pub(super) fn stage(&self, sink: &mut dyn Sink) -> Result<(), FileError> {
        for dir in &self.missing {
            sink.dir(dir, self.mount, &self.inherited)?;
        }
        let path = &self.point.file_path;
        let (path, after) = match (&self.point.new_path, &self.then) {
            (Some(new), _) => (new, After::Renamed { to: path }),
            (None, None) => (path, After::Deleted),
            (None, Some(then)) => {
                let attributes = self.later.attributes().unwrap_or(&then.attributes);
                let written = After::Written {
                    bytes: &then.bytes,
                    attributes: attributes.clone().dated_like(&then.seen.facts),
                    query: None,
                };
                (path, written)
            }
        };
        sink.change(Change {
            actions: &self.actions,
            path,
            before: self.now.as_ref(),
            after,
            link: None,
            mount: self.mount,
        })
    }

    /// The note about attributes that are not restored.
    pub(super) fn note(&self) -> Option<String> {
        let what = match (&self.later, self.backup_differs) {
            (Later::Stays, _) => {
                "its permissions, owner or attributes were changed after the plan; these changes stay"
            }
            (Later::Limits(_), _) => {
                "permissions, owner or attributes were changed after the plan, of it or of a file that an action made of it; it \
                 gets only permissions that it had before and has now, and the owner and the attributes from before the plan"
            }
            (Later::Nothing, true) => {
                "its backup does not have the attributes of the original; the file gets the extended attributes of the backup, and, if the journal is foreign, at most its permissions"
            }
            (Later::Nothing, false) => return None,
        };
        Some(format!("{}: {what}.", self.point.file_path))
    }

    pub(super) fn verdict(&self, desk: Desk<'_>) -> Verdict {
        let path = &self.point.file_path;
        let (action_type, what, done) = match self.point.operation_to_reverse {
            ChangeKind::Create => (ActionType::FileDelete, "Created file", "deleted"),
            ChangeKind::Modify => (ActionType::FileModify, "File", "restored"),
            ChangeKind::Delete => (ActionType::FileCreate, "Deleted file", "restored"),
            ChangeKind::Rename => (ActionType::FileRename, "File", "renamed back"),
        };
        Verdict {
            action: self.action(),
            action_type: Some(action_type),
            target: Some(path.to_string()),
            began: desk.host.now(),
            ended: desk.host.now(),
            end: ActionEnd::Completed(format!("{what} '{path}' {done}")),
        }
    }
}

/// The file as it is now.
fn result(path: &RelPath, told: &Told, root: &Root) -> Result<Option<Original>, Failure> {
    let now = match original(root, path) {
        Err(error) if error.errno == Errno::FBIG => {
            let what = "it is larger than any file that a plan can write";
            return Err(changed(path, what));
        }
        now => now?,
    };
    if let Some(now) = &now
        && is_mounted(path, now, &told.entries, root)?
    {
        return Err(changed(path, "a file is mounted there now"));
    }
    Ok(now)
}

/// Whether a file was mounted at the path after the plan.
pub(super) fn is_mounted(
    path: &RelPath,
    now: &Original,
    entries: &[Entry],
    root: &Root,
) -> Result<bool, FileError> {
    let in_place = |entry: &Entry| entry.path() == path && entry.is_in_place();
    Ok(now.seen.mount != root.parent(path)?.mount()? && !entries.iter().any(in_place))
}

fn action(point: &Point) -> ActionId {
    ActionId(point.checkpoint_id.to_string())
}

/// What becomes of permissions, owner and attributes that were changed after the plan.
enum Later {
    Nothing,
    /// The file is renamed back as it is.
    Stays,
    /// The attributes of the original, with the permissions that it and the files of its actions have. The file at a path
    /// may be another one than before the plan, so nothing else of it counts.
    Limits(Attributes),
}

impl Later {
    fn attributes(&self) -> Option<&Attributes> {
        match self {
            Self::Nothing | Self::Stays => None,
            Self::Limits(attributes) => Some(attributes),
        }
    }
}

/// Whether a file no longer has the attributes with which the plan left it, by its journal.
fn is_changed(attributes: &Attributes, path: &RelPath, entries: &[Entry]) -> bool {
    let left = entries.iter().find_map(|entry| match entry {
        Entry::Modify { path: at, post, .. } | Entry::Create { path: at, post, .. }
            if at == path =>
        {
            post.attributes.as_ref()
        }
        Entry::Rename { to, pre, .. } if to == path => pre.attributes.as_ref(),
        _ => None,
    });
    Some(&attributes.digest()) != left
}

/// The owner and permissions that a file gets if somebody else may have written the journal, or if a copy may have changed
/// the backup: the permissions that both name, and the owner that the journal names if the backup, or the file as it is
/// now, has this owner.
fn agreed(named: Facts, kept: Facts, now: Option<Facts>) -> Facts {
    let owner = |facts: Facts| (facts.uid, facts.gid);
    let both = owner(named) == owner(kept);
    let is_known = both || now.is_some_and(|now| owner(now) == owner(named));
    let (uid, gid) = owner(if is_known { named } else { kept });
    let bits = if both { 0o7777 } else { 0o0777 };
    Facts {
        uid,
        gid,
        mode: named.mode & kept.mode & bits,
        ..kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_foreign_journal_a_file_gets_no_more_than_its_backup_and_the_journal_agree_on() {
        let facts = |uid, mode| Facts {
            kind: Kind::File,
            dev: 1,
            ino: 1,
            bytes: 1,
            mtime: 0,
            mode,
            uid,
            gid: uid,
            nlink: 1,
        };
        let given = |named, kept, now| {
            let facts = agreed(named, kept, now);
            (facts.uid, facts.mode)
        };
        let mine = facts(1000, 0o644);
        assert_eq!(given(facts(1000, 0o600), mine, None), (1000, 0o600));
        assert_eq!(
            given(facts(1000, 0o4755), facts(1000, 0o4755), None),
            (1000, 0o4755)
        );
        assert_eq!(given(facts(1000, 0o4755), mine, None), (1000, 0o644));
        assert_eq!(
            given(facts(0, 0o4755), facts(1000, 0o4755), Some(mine)),
            (1000, 0o755)
        );
        let now = Some(facts(1234, 0o600));
        assert_eq!(
            given(facts(1234, 0o600), facts(0, 0o644), now),
            (1234, 0o600)
        );
        assert_eq!(
            given(facts(0, 0o4755), facts(1234, 0o4755), Some(facts(0, 0o755))),
            (0, 0o755)
        );
    }
}
