//! Edits of a file, and whether what they come to can stand.

use std::collections::BTreeSet;

use crate::{
    plan::{
        edit::{Budget, EditError, Edited},
        model::{Action, ActionId, Edit},
    },
    task::{Failure, RelPath},
};

use super::{Now, Overlay, Place};

/// Edits that have broken a file between them, and none has mended it yet.
pub(super) struct Doubt {
    actions: Vec<ActionId>,
    problem: EditError,
    /// The bytes before them, as in [`Now`].
    bytes: Option<Vec<u8>>,
}

impl Overlay<'_> {
    /// Makes one edit of a file.
    pub(super) fn edit(
        &mut self,
        action: &Action,
        place: &Place,
        change: &Edit,
        edit: impl Fn(&Edit, &RelPath, &[u8], &[u8], &Budget<'_>) -> Result<Edited, EditError>,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<String, Failure> {
        let path = &place.target.path;
        self.load(&place.target)?;
        let budget = Budget {
            most: self.plan.limits.max_file_bytes,
            stopped,
        };
        let (before, last_whole) = (self.bytes(path), self.last_whole(path));
        let edited =
            edit(change, path, before, last_whole, &budget).map_err(|error| within(path, error))?;
        self.plan
            .limits
            .fits_file(path, edited.bytes.len() as u64)?;
        if let Some(now) = &mut self.entry(path).now {
            let bytes = now.bytes.replace(edited.bytes);
            now.doubt = match (edited.broken, now.doubt.take()) {
                (None, _) => None,
                (Some(problem), doubt) => {
                    let doubt = doubt.map(|doubt| (doubt.actions, doubt.bytes));
                    let (mut actions, bytes) = doubt.unwrap_or((Vec::new(), bytes));
                    actions.push(action.id.clone());
                    Some(Doubt {
                        actions,
                        problem,
                        bytes,
                    })
                }
            };
        }
        Ok(edited.said)
    }

    /// No later action edits these paths. Edits that have left a file broken are taken back; answers the
    /// actions that made them, and what is wrong.
    pub(in crate::plan::check) fn judge(
        &mut self,
        paths: &BTreeSet<RelPath>,
    ) -> Vec<(Vec<ActionId>, Failure)> {
        let mut failed = Vec::new();
        for path in paths {
            let now = self
                .files
                .get_mut(path)
                .and_then(|entry| entry.now.as_mut());
            let Some((now, doubt)) = now.and_then(|now| now.doubt.take().map(|it| (now, it)))
            else {
                continue;
            };
            now.bytes = doubt.bytes;
            failed.push((doubt.actions, within(path, doubt.problem)));
        }
        for (actions, _) in &failed {
            for path in paths {
                if let Some(entry) = self.files.get_mut(path) {
                    entry.actions.retain(|action| !actions.contains(action));
                }
            }
        }
        failed
    }

    /// What is at a path now.
    pub(super) fn bytes(&self, path: &RelPath) -> &[u8] {
        let now = self.files.get(path).and_then(|entry| entry.now.as_ref());
        now.map_or(&[], |now| self.content(now.bytes.as_ref(), now))
    }

    /// The same, before the edits that have broken it.
    fn last_whole(&self, path: &RelPath) -> &[u8] {
        let now = self.files.get(path).and_then(|entry| entry.now.as_ref());
        now.map_or(&[], |now| {
            let bytes = now.doubt.as_ref().map_or(&now.bytes, |doubt| &doubt.bytes);
            self.content(bytes.as_ref(), now)
        })
    }

    fn content<'b>(&'b self, bytes: Option<&'b Vec<u8>>, now: &'b Now) -> &'b [u8] {
        match (bytes, &now.origin) {
            (Some(bytes), _) => bytes,
            (None, Some(origin)) => self
                .files
                .get(origin)
                .and_then(|entry| entry.before.as_ref())
                .map_or(&[], |before| &before.bytes),
            (None, None) => &[],
        }
    }
}

/// What an edit says of a file, with the file.
pub(super) fn within(path: &RelPath, error: EditError) -> Failure {
    let failure = Failure::from(error);
    let message = format!("`{path}`: {}", failure.message);
    Failure { message, ..failure }
}
