//! Edits of a file, and whether what they come to can stand.

use std::collections::BTreeSet;

use crate::{
    plan::{
        edit::{self, Budget, Draft, EditError, Edited},
        model::{Action, ActionId, Edit},
    },
    task::{Failure, RelPath},
};

use super::{Now, Overlay};

/// Edits of a file that are judged by their common result.
#[derive(Default)]
pub(super) struct Together<'a> {
    /// How many edits of documents there were.
    edits: usize,
    draft: Option<Draft>,
    /// Those that are made in the draft only.
    pending: Vec<(&'a Action, &'a Edit)>,
    /// Those that turned out to be impossible.
    failed: Vec<(Vec<ActionId>, Failure)>,
}

/// Edits that have broken a file between them, and none has mended it yet.
pub(super) struct Doubt {
    actions: Vec<ActionId>,
    problem: EditError,
    /// The bytes before them, as in [`Now`].
    bytes: Option<Vec<u8>>,
}

impl<'a> Overlay<'a> {
    /// Makes an edit of a document together with others of the same file; `None` if it has to be made
    /// alone: then nothing is pending.
    pub(super) fn edit_together(
        &mut self,
        action: &'a Action,
        path: &RelPath,
        change: &'a Edit,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<Option<String>, Failure> {
        let budget = self.budget(stopped);
        if let Some(together) = self.together(path) {
            together.edits += 1;
        }
        // Once to add it to those that are pending, and once more when they are made.
        for _ in 0..2 {
            let Some(mut draft) = self.draft(path, change, &budget) else {
                break;
            };
            let said = draft.edit(change, path, &budget);
            let Some(together) = self.together(path) else {
                break;
            };
            together.draft = Some(draft);
            if let Some(said) = said.map_err(|error| within(path, error))? {
                together.pending.push((action, change));
                return Ok(Some(said));
            }
            self.settle(path, stopped)?;
        }
        self.settle(path, stopped)?;
        if let Some(together) = self.together(path) {
            together.draft = None;
        }
        Ok(None)
    }

    /// The draft of a file. A single edit needs none.
    fn draft(&mut self, path: &RelPath, change: &Edit, budget: &Budget<'_>) -> Option<Draft> {
        let together = self.together(path)?;
        if let Some(draft) = together.draft.take() {
            return Some(draft);
        }
        let now = self.files.get(path)?.now.as_ref()?;
        let alone = now.together.edits < 2 || now.doubt.is_some();
        (!alone).then(|| Draft::begin(change, path, self.bytes(path), budget))?
    }

    fn together(&mut self, path: &RelPath) -> Option<&mut Together<'a>> {
        let now = self.files.get_mut(path)?.now.as_mut()?;
        Some(&mut now.together)
    }

    fn budget<'b>(&self, stopped: &'b dyn Fn() -> Option<Failure>) -> Budget<'b> {
        Budget {
            most: self.plan.limits.max_file_bytes,
            stopped,
        }
    }

    /// Makes the pending edits of a file: all at once, or one by one where their result is not what was
    /// meant.
    pub(super) fn settle(
        &mut self,
        path: &RelPath,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<(), Failure> {
        let budget = self.budget(stopped);
        let Some(together) = self.together(path) else {
            return Ok(());
        };
        let pending = std::mem::take(&mut together.pending);
        let (Some(mut draft), false) = (together.draft.take(), pending.is_empty()) else {
            return Ok(());
        };
        let made = draft.settle(&budget).map_err(|error| within(path, error))?;
        let mut failed = Vec::new();
        let (bytes, draft) = if let Some(bytes) = made {
            (bytes, Some(draft))
        } else {
            let mut bytes = self.bytes(path).to_vec();
            for (action, change) in pending {
                match edit::edit(change, path, &bytes, &bytes, &budget) {
                    Ok(edited) => bytes = edited.bytes,
                    Err(EditError::Stopped(failure)) => return Err(failure),
                    Err(error) => failed.push((vec![action.id.clone()], within(path, error))),
                }
            }
            (bytes, None)
        };
        if let Some(now) = self
            .files
            .get_mut(path)
            .and_then(|entry| entry.now.as_mut())
        {
            now.bytes = Some(bytes);
            now.together.draft = draft;
            now.together.failed.extend(failed);
        }
        Ok(())
    }

    /// Makes one edit of a file.
    pub(super) fn edit(
        &mut self,
        action: &Action,
        path: &RelPath,
        change: &Edit,
        edit: impl Fn(&Edit, &RelPath, &[u8], &[u8], &Budget<'_>) -> Result<Edited, EditError>,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<String, Failure> {
        let budget = self.budget(stopped);
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

    /// A file that the plan has created or edited must be valid for its new name, too. One whose edits are not
    /// complete is judged after the last of them.
    pub(super) fn fits_name(
        &mut self,
        path: &RelPath,
        name: &RelPath,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<(), Failure> {
        self.settle(path, stopped)?;
        let now = self.files.get(path).and_then(|entry| entry.now.as_ref());
        match now {
            Some(Now {
                bytes: Some(bytes),
                doubt: None,
                ..
            }) => edit::check_syntax(name, bytes, stopped).map_err(|error| within(name, error)),
            _ => Ok(()),
        }
    }

    /// No later action edits these paths. Edits that have left a file broken are taken back; answers the
    /// actions that made them, and what is wrong.
    pub(in crate::plan::check) fn judge(
        &mut self,
        paths: &BTreeSet<RelPath>,
        stopped: &dyn Fn() -> Option<Failure>,
    ) -> Result<Vec<(Vec<ActionId>, Failure)>, Failure> {
        let mut failed = Vec::new();
        for path in paths {
            self.settle(path, stopped)?;
            if let Some(together) = self.together(path) {
                together.draft = None;
                failed.append(&mut together.failed);
            }
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
        Ok(failed)
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

    fn content<'b>(&'b self, bytes: Option<&'b Vec<u8>>, now: &'b Now<'a>) -> &'b [u8] {
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
