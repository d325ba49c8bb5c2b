//! Several edits of one text. All places are found in one tree, and the splices are made together. The result is
//! parsed once and compared with the tree that contains every change.

use serde_json::Value;

use super::{
    MissingKey, YamlEdit, choose,
    model::{self, Node},
    place::Place,
    said, set, ways,
};
use crate::edit::{
    Budget, EditError, JsonPath,
    path::Step,
    text::{Splice, apply, resized},
};

/// A text, and its pending changes.
pub(crate) struct Draft {
    pub(crate) body: String,
    documents: Vec<Node>,
    /// The documents with the changes.
    expected: Vec<Node>,
    changes: Vec<Change>,
    /// Bytes of the text with the changes.
    size: usize,
}

struct Change {
    document: usize,
    path: JsonPath,
    is_new: bool,
    splices: Vec<Splice>,
}

impl Change {
    /// Whether one of the two places holds the other.
    fn meets(&self, document: usize, path: &JsonPath) -> bool {
        let mut steps = self.path.steps().iter().zip(path.steps());
        self.document == document && steps.all(|(a, b)| a == b)
    }

    /// Whether it adds a key to the mapping that holds this place.
    fn is_beside(&self, document: usize, path: &JsonPath) -> bool {
        let parent = |path: &JsonPath| -> Vec<Step> {
            let (_, parent) = path.steps().split_last().unwrap_or((&Step::Index(0), &[]));
            parent.to_vec()
        };
        self.is_new && self.document == document && parent(&self.path) == parent(path)
    }
}

impl Draft {
    pub(crate) fn begin(body: String, budget: &Budget<'_>) -> Result<Self, EditError> {
        let documents = model::read(&body, budget)?;
        Ok(Self {
            size: body.len(),
            expected: documents.clone(),
            body,
            documents,
            changes: Vec::new(),
        })
    }

    /// Adds a change, and returns a sentence about it; `None` if it cannot be made together with those before it, as
    /// one in a value that one of them writes.
    pub(crate) fn update(
        &mut self,
        path: &JsonPath,
        document: Option<u64>,
        (value, missing): (&Value, MissingKey),
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        let change = YamlEdit::Update {
            value: Value::Null,
            missing,
        };
        let (number, place) = match choose(&self.body, &self.documents, path, document, &change) {
            Ok(found) => found,
            // The tree does not contain the values of the earlier changes.
            Err(_) if !self.changes.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        };
        let is_new = matches!(place, Place::New { .. });
        let beside = self.changes.iter().filter(|it| it.is_beside(number, path));
        let way = ways(&self.body, &place, beside.count(), value).next();
        let meets = self.changes.iter().any(|it| it.meets(number, path));
        let Some((splices, spot)) = way.filter(|(splices, _)| !meets && self.are_free(splices))
        else {
            return Ok(None);
        };
        self.size = resized(self.size, &splices, budget)?;
        let said = said(&self.expected, number, &change, &place, path);
        if let Some(root) = self.expected.get_mut(number) {
            set(root, path, value, spot);
        }
        self.changes.push(Change {
            document: number,
            path: path.clone(),
            is_new,
            splices,
        });
        Ok(Some(said))
    }

    /// Whether the splices lie apart from those of the changes.
    fn are_free(&self, splices: &[Splice]) -> bool {
        let others = self.changes.iter().flat_map(|change| &change.splices);
        let mut pairs = others.flat_map(|other| splices.iter().map(move |splice| (other, splice)));
        pairs.all(|((one, _), (other, _))| one.end <= other.start || other.end <= one.start)
    }

    /// Makes the changes; `false` if the result is wrong.
    pub(crate) fn settle(&mut self, budget: &Budget<'_>) -> Result<bool, EditError> {
        if self.changes.is_empty() {
            return Ok(true);
        }
        let all = self.changes.drain(..).flat_map(|change| change.splices);
        let mut splices: Vec<Splice> = all.collect();
        // The sort is stable: splices of one place keep the order of the changes.
        splices.sort_by_key(|(range, _)| (range.start, range.end));
        let body = apply(&self.body, &splices, budget)?;
        self.documents = match model::read(&body, budget) {
            Ok(documents) => documents,
            Err(error @ EditError::Stopped(_)) => return Err(error),
            Err(_) => return Ok(false),
        };
        self.body = body;
        Ok(self.documents == self.expected)
    }
}
