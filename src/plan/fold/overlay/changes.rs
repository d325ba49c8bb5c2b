//! The changes that the actions of a plan amount to, a file at a time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, Now, Overlay};
use crate::{
    plan::{
        fold::Sink,
        model::Permissions,
        planned::{After, Original, Planned},
    },
    task::{Failure, RelPath},
    tree::{Attributes, FileError, Inherited, there},
};

/// The files that were only renamed, and their new paths.
type Renames = BTreeMap<RelPath, RelPath>;

impl<'a> Overlay<'a> {
    /// Called when no later action names these paths: the sink gets their changes.
    pub(in crate::plan::fold) fn finish(
        &mut self,
        paths: &BTreeSet<RelPath>,
        sink: &mut dyn Sink,
    ) -> Result<(), Failure> {
        for path in paths {
            self.make_dirs(path, sink)?;
        }
        let renames = self.renames(paths)?;
        for path in paths {
            let Some(change) = self.planned(path, &renames)? else {
                continue;
            };
            let so_far = self.changed + 1;
            self.plan.limits.fits_files(so_far)?;
            self.admit_executable(&change)?;
            sink.file(change)?;
            self.changed = so_far;
        }
        for path in paths {
            if let Some(entry) = self.files.get_mut(path) {
                // Frees the bytes. The entry stays, because the plan has named this path.
                entry.before = None;
                if let Some(now) = &mut entry.now {
                    now.bytes = Some(Vec::new());
                }
            }
        }
        Ok(())
    }

    fn make_dirs(&mut self, path: &RelPath, sink: &mut dyn Sink) -> Result<(), FileError> {
        if self.now(path).is_none() || there(self.view.parent(path))?.is_some() {
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

    fn planned<'b>(
        &'b self,
        path: &'b RelPath,
        renames: &'b Renames,
    ) -> Result<Option<Planned<'b>>, FileError> {
        let Some(entry) = self.files.get(path) else {
            return Ok(None);
        };
        let before = entry.before.as_ref();
        let after = match &entry.now {
            None if before.is_none() => return Ok(None),
            None => renames
                .get(path)
                .map_or(After::Deleted, |to| After::Renamed { to }),
            Some(now) => {
                let bytes = now.content(self.original(now));
                let same = match (before, &now.origin) {
                    (Some(before), Some(origin)) => {
                        origin == path && bytes == before.bytes && now.keeps_mode(before)
                    }
                    // A plain rename is a change of the path where the file was.
                    (None, Some(origin)) => renames.get(origin) == Some(path),
                    (_, None) => false,
                };
                if same {
                    return Ok(None);
                }
                match &now.link {
                    Some(to) => After::Linked { to },
                    None => After::Written {
                        bytes,
                        attributes: self.attributes(path, now)?,
                        query: now.query.as_deref(),
                    },
                }
            }
        };
        Ok(Some(Planned {
            actions: &entry.actions,
            path,
            before,
            after,
            link: entry.link.as_ref(),
            mount: self.mount_of(path)?,
        }))
    }

    /// The files that were only renamed, to a path that was free. In another mount, or where the file could not be moved
    /// back, it has to be written anew. This is found out once for both paths, so that they agree.
    fn renames(&self, paths: &BTreeSet<RelPath>) -> Result<Renames, FileError> {
        let mut renames = Renames::new();
        for path in paths {
            if let Some((before, to)) = self.only_renamed(path)
                && self.mount_of(path)? == self.mount_of(to)?
                && self.nearest(to)?.gives_back(before.version.facts.uid)?
            {
                renames.insert(path.clone(), to.clone());
            }
        }
        Ok(renames)
    }

    fn only_renamed(&self, origin: &RelPath) -> Option<(&Original, &RelPath)> {
        let from = self.files.get(origin)?;
        let before = from.before.as_ref().filter(|_| from.now.is_none())?;
        let moved = |entry: &Entry<'_>| {
            let now = entry.now.as_ref().filter(|_| entry.before.is_none());
            let now = now.filter(|now| now.origin.as_ref() == Some(origin));
            now.is_some_and(|now| {
                now.keeps_mode(before) && now.content(&before.bytes) == before.bytes
            })
        };
        let mut files = self.files.iter();
        files.find_map(|(path, entry)| moved(entry).then_some((before, path)))
    }

    /// The attributes of the new file: those of the file that it comes from or replaces, with the permissions that
    /// the plan names.
    fn attributes(&self, path: &RelPath, now: &Now<'a>) -> Result<Attributes, FileError> {
        let before = self.before(now.origin.as_ref().unwrap_or(path));
        match (before, self.plan.instructions.permissions) {
            (Some(before), Permissions::Preserve) => {
                Ok(before.attributes.clone().with_mode(now.mode))
            }
            _ => Ok(self.inherited(path)?.of_a_file(now.mode)),
        }
    }

    /// Whether the plan may leave an execute bit where it does. A file that has one may be changed, and moved from where
    /// the catalog protects such files, unless a new file takes the bit at the path that it leaves.
    fn admit_executable(&self, change: &Planned<'_>) -> Result<(), Failure> {
        let executable = |mode: u32| mode & 0o111 != 0;
        let (path, came_from, mode) = match &change.after {
            After::Written { attributes, .. } => {
                let origin = self.now(change.path).and_then(|now| now.origin.as_ref());
                (change.path, origin.unwrap_or(change.path), attributes.mode)
            }
            After::Renamed { to } => (*to, change.path, None),
            After::Deleted | After::Linked { .. } => return Ok(()),
        };
        let had = self
            .before(came_from)
            .map(|before| before.version.facts.mode);
        let limits = &self.plan.limits;
        let new = self.now(came_from);
        let new = new.filter(|new| new.origin.is_none() && new.mode.is_none_or(executable));
        let kept = had.is_some_and(executable)
            && (path == came_from || new.is_none() && limits.protected.counts(came_from));
        if kept || !mode.or(had).is_some_and(executable) {
            return Ok(());
        }
        limits.admits_executable(path)
    }

    /// What a new file at the path inherits, also through directories that have to be made.
    fn inherited(&self, path: &RelPath) -> Result<Inherited, FileError> {
        Inherited::of(&*self.nearest(path)?)
    }
}
