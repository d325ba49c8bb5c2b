//! Several edits of one text. All places are found in one tree, and the splices are made together. The result is
//! parsed once and compared with the tree that contains every change.

use serde_json::Value;

use super::{
    MissingKey, YamlEdit, checked, choose, make,
    model::{self, Node},
    place::NodeChange,
    said,
    splice::Spot,
    splices,
    write::Form,
};
use crate::edit::{
    Budget, EditError, JsonPath,
    text::{Splice, resized},
};

/// A text, and its pending changes.
pub(crate) struct Draft {
    pub(crate) body: String,
    documents: Vec<Node>,
    /// The documents with the changes.
    expected: Vec<Node>,
    changes: Vec<Made>,
    /// Bytes of the text with the changes.
    size: usize,
}

/// How the values are written.
const WAY: (Form, Spot) = (Form::Lines, Spot::Last);

struct Made {
    document: usize,
    path: JsonPath,
    is_new: bool,
    splices: Vec<Splice>,
}

impl Made {
    /// Whether one of the two places holds the other.
    fn meets(&self, document: usize, path: &JsonPath) -> bool {
        let mut steps = self.path.steps().iter().zip(path.steps());
        self.document == document && steps.all(|(a, b)| a == b)
    }

    /// Whether its splices lie apart from these. One place can have two paths.
    fn is_apart(&self, splices: &[Splice]) -> bool {
        let others = splices.iter().map(|(other, _)| other);
        let mut pairs =
            others.flat_map(|other| self.splices.iter().map(move |(one, _)| (one, other)));
        pairs.all(|(one, other)| one.end <= other.start || other.end <= one.start)
    }

    /// Whether it adds a key to the mapping that holds this place.
    fn is_beside(&self, document: usize, path: &JsonPath) -> bool {
        let whole = |path: &JsonPath| path.first(path.steps().len().saturating_sub(1));
        self.is_new && self.document == document && whole(&self.path) == whole(path)
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
        let value = value.clone();
        let edit = YamlEdit::Update { value, missing };
        let (number, site) = match choose(&self.body, &self.documents, path, document, &edit) {
            Ok(found) => found,
            // The tree does not contain the values of the earlier changes.
            Err(_) if !self.changes.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.changes.iter().any(|it| it.meets(number, path)) {
            return Ok(None);
        }
        let changes = self.changes.iter();
        let earlier = changes.filter(|it| it.is_beside(number, path)).count();
        let splices = splices(&self.body, &site, earlier, WAY);
        if !self.changes.iter().all(|it| it.is_apart(&splices)) {
            return Ok(None);
        }
        self.size = resized(self.size, &splices, budget)?;
        let said = said(&self.expected, number, path, site.1);
        make(&mut self.expected, number, path, site.1, WAY.1);
        self.changes.push(Made {
            document: number,
            path: path.clone(),
            is_new: matches!(site.1, NodeChange::Add(..)),
            splices,
        });
        Ok(Some(said))
    }

    /// Makes the changes; `false` if the result is wrong.
    pub(crate) fn settle(&mut self, budget: &Budget<'_>) -> Result<bool, EditError> {
        if self.changes.is_empty() {
            return Ok(true);
        }
        // The trees are large.
        self.documents = Vec::new();
        let all = self.changes.drain(..).flat_map(|change| change.splices);
        let mut splices: Vec<Splice> = all.collect();
        // The sort is stable: splices of one place keep the order of the changes.
        splices.sort_by_key(|(range, _)| (range.start, range.end));
        match checked(&self.body, &splices, &self.expected, budget) {
            Ok(Ok((body, documents))) => {
                (self.body, self.documents) = (body, documents);
                Ok(true)
            }
            Ok(Err(_)) | Err(EditError::TooLong { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
