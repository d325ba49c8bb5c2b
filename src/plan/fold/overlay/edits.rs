//! The edits of one file, and the check of their common result.

use crate::{
    edit::{self, Budget, Draft, Edit, EditError, Edited, Patch},
    plan::{
        limits::Limits,
        model::{Action, ActionId, Operation},
        planned::Original,
    },
    task::{Failure, RelPath},
};

/// A file after the actions so far.
#[derive(Default)]
pub(super) struct Now<'a> {
    /// `None`: those of the original that the file comes from.
    pub(super) bytes: Option<Vec<u8>>,
    /// The path of the original that the file comes from; `None` for a created file.
    pub(super) origin: Option<RelPath>,
    /// The permissions that the plan names.
    pub(super) mode: Option<u32>,
    /// Where a new symbolic link leads.
    pub(super) link: Option<String>,
    /// SHA-256 of the query that made the content, if the query may make another one the next time.
    pub(super) query: Option<String>,
    doubt: Option<Doubt>,
    edits: usize,
    /// The draft of edits that are checked by their common result.
    draft: Option<Draft>,
    pending: Vec<(&'a Action, &'a Edit)>,
    /// The edits that could not be made.
    failed: Vec<Failed>,
}

pub(in crate::plan::fold) type Failed = (Vec<ActionId>, Failure);

/// Edits that have left the file broken. A later edit may repair it.
struct Doubt {
    actions: Vec<ActionId>,
    problem: EditError,
    /// The bytes before them, as in [`Now`].
    bytes: Option<Vec<u8>>,
}

/// What is needed beside the file to edit it.
pub(super) struct FileContext<'d> {
    pub(super) path: &'d RelPath,
    /// The bytes of the original that the file comes from.
    pub(super) original: &'d [u8],
    pub(super) limits: &'d Limits,
    pub(super) stopped: &'d dyn Fn() -> Option<Failure>,
}

impl FileContext<'_> {
    fn budget(&self) -> Budget<'_> {
        Budget {
            most: self.limits.max_file_bytes,
            stopped: self.stopped,
        }
    }

    fn failure(&self, error: EditError) -> Failure {
        within(self.path, error)
    }
}

impl<'a> Now<'a> {
    /// A file as it was before the plan.
    pub(super) fn original(path: &RelPath) -> Self {
        Self {
            origin: Some(path.clone()),
            ..Self::default()
        }
    }

    pub(super) fn created(bytes: Vec<u8>, mode: Option<u32>) -> Self {
        Self {
            bytes: Some(bytes),
            mode,
            ..Self::default()
        }
    }

    pub(super) fn linked(to: &str) -> Self {
        Self {
            bytes: Some(to.as_bytes().to_vec()),
            link: Some(to.to_owned()),
            ..Self::default()
        }
    }

    /// Checks that a diff leaves nothing of the file.
    pub(super) fn emptied(&mut self, diff: &Patch, file: &FileContext<'_>) -> Result<(), Failure> {
        self.settle(file)?;
        let before = self.content(file.original);
        let edited =
            edit::patched(diff, before, file.stopped).map_err(|error| file.failure(error))?;
        if edited.bytes.is_empty() {
            return Ok(());
        }
        let lines = String::from_utf8_lossy(&edited.bytes).lines().count();
        let message = format!(
            "the diff deletes the file, but it has {lines} more lines than the diff removes"
        );
        Err(file.failure(EditError::NotFound(message)))
    }

    /// The same file with a content that a query made.
    pub(super) fn queried(self, bytes: Vec<u8>, query: Option<&str>) -> Self {
        Self {
            bytes: Some(bytes),
            query: query.map(str::to_owned),
            ..self
        }
    }

    /// Whether the plan leaves the permissions of the original.
    pub(super) fn keeps_mode(&self, before: &Original) -> bool {
        let mode = self.mode;
        mode.is_none_or(|mode| mode == before.version.facts.mode)
    }

    pub(super) fn content<'b>(&'b self, original: &'b [u8]) -> &'b [u8] {
        self.bytes.as_deref().unwrap_or(original)
    }

    /// Makes an edit, if possible together with others of the same document.
    pub(super) fn modify(
        &mut self,
        action: &'a Action,
        change: &'a Edit,
        file: &FileContext<'_>,
    ) -> Result<String, Failure> {
        if matches!(action.operation, Operation::SchemaUpdate(_)) {
            return self.edit(action, change, edit::schema_update, file);
        }
        self.edits += 1;
        // The first edit needs no draft, and a broken document can have none.
        if self.edits < 2 || self.doubt.is_some() && self.draft.is_none() {
            return self.edit(action, change, edit::edit, file);
        }
        // The second try is made after the pending edits were settled.
        for _ in 0..2 {
            if self.draft.is_none() {
                let bytes = self.content(file.original);
                self.draft = Draft::begin(change, file.path, bytes, &file.budget());
            }
            let Some(draft) = &mut self.draft else {
                break;
            };
            let said = draft.edit(change, file.path, &file.budget());
            if let Some(said) = said.map_err(|error| file.failure(error))? {
                self.pending.push((action, change));
                return Ok(said);
            }
            self.settle(file)?;
        }
        self.edit(action, change, edit::edit, file)
    }

    /// Makes the pending edits: all at once, or one by one if their common result is wrong.
    pub(super) fn settle(&mut self, file: &FileContext<'_>) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        let (Some(mut draft), false) = (self.draft.take(), pending.is_empty()) else {
            return Ok(());
        };
        let budget = file.budget();
        let made = draft.settle(&budget).map_err(|error| file.failure(error))?;
        if let Some(bytes) = made {
            self.bytes = Some(bytes);
            self.draft = Some(draft);
            return Ok(());
        }
        let mut bytes = self.content(file.original).to_vec();
        for (action, change) in pending {
            match edit::edit(change, file.path, &bytes, &bytes, &budget) {
                Ok(edited) => bytes = edited.bytes,
                Err(EditError::Stopped(failure)) => return Err(failure),
                Err(error) => {
                    let failed = (vec![action.id.clone()], file.failure(error));
                    self.failed.push(failed);
                }
            }
        }
        self.bytes = Some(bytes);
        Ok(())
    }

    fn edit(
        &mut self,
        action: &Action,
        change: &Edit,
        edit: impl Fn(&Edit, &RelPath, &[u8], &[u8], &Budget<'_>) -> Result<Edited, EditError>,
        file: &FileContext<'_>,
    ) -> Result<String, Failure> {
        self.settle(file)?;
        self.draft = None;
        let whole = match &self.doubt {
            Some(doubt) => doubt.bytes.as_deref().unwrap_or(file.original),
            None => self.content(file.original),
        };
        let bytes = self.content(file.original);
        let edited = edit(change, file.path, bytes, whole, &file.budget())
            .map_err(|error| file.failure(error))?;
        file.limits
            .fits_file(file.path, edited.bytes.len() as u64)?;
        let bytes = self.bytes.replace(edited.bytes);
        self.doubt = edited.broken.map(|problem| {
            let (mut actions, bytes) = match self.doubt.take() {
                Some(doubt) => (doubt.actions, doubt.bytes),
                None => (Vec::new(), bytes),
            };
            actions.push(action.id.clone());
            Doubt {
                actions,
                problem,
                bytes,
            }
        });
        Ok(edited.said)
    }

    /// A file that the plan has created or edited must be valid for its new name, too. One whose edits are not
    /// complete is judged after the last of them.
    pub(super) fn fits_name(
        &mut self,
        name: &RelPath,
        file: &FileContext<'_>,
    ) -> Result<(), Failure> {
        self.settle(file)?;
        match (&self.bytes, &self.doubt) {
            (Some(bytes), None) => {
                edit::check_syntax(name, bytes, file.stopped).map_err(|error| within(name, error))
            }
            _ => Ok(()),
        }
    }

    /// Called when no later action edits the file. Edits that have left it broken are undone. Returns their
    /// actions, and what is wrong.
    pub(super) fn judge(&mut self, file: &FileContext<'_>) -> Result<Vec<Failed>, Failure> {
        self.settle(file)?;
        self.draft = None;
        let mut failed = std::mem::take(&mut self.failed);
        if let Some(doubt) = self.doubt.take() {
            self.bytes = doubt.bytes;
            failed.push((doubt.actions, file.failure(doubt.problem)));
        }
        Ok(failed)
    }
}

pub(super) fn within(path: &RelPath, error: EditError) -> Failure {
    let failure = Failure::from(error);
    let message = format!("`{path}`: {}", failure.message);
    Failure { message, ..failure }
}
