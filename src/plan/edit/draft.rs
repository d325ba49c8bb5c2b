//! Several edits of one document that are judged by their common result: it is read once before them and
//! once after them, not with each.

use crate::{plan::model::Edit, task::RelPath};

use super::{Budget, EditError, Language, MAX_READ, json, text::Text, yaml};

/// A document with edits that are not judged yet.
pub(crate) struct Draft {
    /// The byte order mark, if there is one.
    mark: String,
    kind: Kind,
}

enum Kind {
    Json(json::Draft<'static>),
    Yaml(yaml::Draft),
}

impl Draft {
    /// `None` where this edit has to be made alone, or cannot be made.
    pub(crate) fn begin(
        change: &Edit,
        name: &RelPath,
        bytes: &[u8],
        budget: &Budget<'_>,
    ) -> Option<Self> {
        if bytes.len() > MAX_READ {
            return None;
        }
        let text = Text::read(bytes).ok()?;
        let body = text.body.to_owned();
        let kind = match (language(change)?, Language::of(name)) {
            (Language::Json, None | Some(Language::Json)) => {
                Kind::Json(json::Draft::begin(body).ok()?)
            }
            (Language::Yaml, None | Some(Language::Yaml)) => {
                Kind::Yaml(yaml::Draft::begin(body, budget).ok()?)
            }
            _ => return None,
        };
        Some(Self {
            mark: text.mark().to_owned(),
            kind,
        })
    }

    /// Makes an edit, and says what it did; `None` where it cannot be made together with those before it.
    pub(crate) fn edit(
        &mut self,
        change: &Edit,
        name: &RelPath,
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        budget.go_on()?;
        match (&mut self.kind, change, Language::of(name)) {
            (Kind::Json(draft), _, None | Some(Language::Json))
                if language(change) == Some(Language::Json) =>
            {
                draft.edit(change, budget).map(Some)
            }
            (
                Kind::Yaml(draft),
                Edit::YamlUpdate {
                    path,
                    document,
                    value,
                },
                None | Some(Language::Yaml),
            ) => draft.update(path, *document, value, budget),
            _ => Ok(None),
        }
    }

    /// The bytes with every edit; `None` if they are not what was meant.
    pub(crate) fn settle(&mut self, budget: &Budget<'_>) -> Result<Option<Vec<u8>>, EditError> {
        let (as_meant, body) = match &mut self.kind {
            Kind::Json(draft) => (draft.settle(budget)?.is_ok(), draft.body()),
            Kind::Yaml(draft) => (draft.settle(budget)?, draft.body()),
        };
        Ok(as_meant.then(|| [&self.mark, body].concat().into_bytes()))
    }
}

/// The language of the documents in which such an edit is made; none of an edit of text.
fn language(change: &Edit) -> Option<Language> {
    match change {
        Edit::JsonAdd { .. } | Edit::JsonRemove { .. } | Edit::JsonUpdate { .. } => {
            Some(Language::Json)
        }
        Edit::YamlUpdate { .. } => Some(Language::Yaml),
        Edit::TextReplace { .. } | Edit::LineInsert { .. } | Edit::LineDelete { .. } => None,
    }
}
