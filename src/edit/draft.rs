//! Several edits of one document that are checked by their common result. The document is read once before them
//! and once after them, instead of with each edit.

use crate::task::RelPath;

use super::{Budget, Edit, EditError, JsonEdit, Language, YamlEdit, json, text::Text, yaml};

/// The number of levels that `serde_json` reads. An edit with a longer path is made alone, so edits that are made together
/// cannot nest values much deeper.
const DEEPEST: usize = 128;

/// A document with edits that are not checked yet, and its byte order mark.
pub(crate) enum Draft {
    Json(&'static str, json::Draft<'static>),
    Yaml(&'static str, yaml::Draft),
}

impl Draft {
    /// `None` if this edit has to be made alone, or cannot be made.
    pub(crate) fn begin(
        change: &Edit,
        name: &RelPath,
        bytes: &[u8],
        budget: &Budget<'_>,
    ) -> Option<Self> {
        let text = Text::read(bytes).ok()?;
        let body = text.body.to_owned();
        Some(match change.language(name)? {
            Language::Json => Self::Json(text.mark, json::Draft::begin(body, budget).ok()?),
            Language::Yaml => Self::Yaml(text.mark, yaml::Draft::begin(body, budget).ok()?),
        })
    }

    /// Makes an edit, and returns a sentence about it; `None` if it cannot be made together with those before it.
    pub(crate) fn edit(
        &mut self,
        change: &Edit,
        name: &RelPath,
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        budget.go_on()?;
        if change.language(name).is_none() {
            return Ok(None);
        }
        match (self, change) {
            // The next edit may mean the new item by its index, so an item is appended alone.
            (
                Self::Json(..),
                Edit::Json {
                    edit: JsonEdit::Append { .. },
                    ..
                },
            ) => Ok(None),
            (Self::Json(_, draft), Edit::Json { path, edit }) if path.steps().len() < DEEPEST => {
                draft.edit(path, edit, budget).map(Some)
            }
            (
                Self::Yaml(_, draft),
                Edit::Yaml {
                    path,
                    document,
                    edit: YamlEdit::Update { value, missing },
                },
            ) => draft.update(path, *document, (value, *missing), budget),
            _ => Ok(None),
        }
    }

    /// The bytes with all edits; `None` if the check fails.
    pub(crate) fn settle(&mut self, budget: &Budget<'_>) -> Result<Option<Vec<u8>>, EditError> {
        let (as_meant, mark, body) = match self {
            Self::Json(mark, draft) => (draft.settle(budget)?.is_ok(), mark, &*draft.body),
            Self::Yaml(mark, draft) => (draft.settle(budget)?, mark, &*draft.body),
        };
        Ok(as_meant.then(|| [mark, body].concat().into_bytes()))
    }
}
