//! Several edits of one text: the places of all are found in one tree, the splices are made together, and
//! the result is parsed once and held against the tree with every change made.

use serde_json::Value;

use super::{
    choose, meant,
    model::{self, Node},
    said,
    splice::{self, Splice},
    ways,
};
use crate::plan::edit::{Budget, EditError, JsonPath};

/// A text, and the changes of it that are not made yet.
pub(in crate::plan::edit) struct Draft {
    body: String,
    documents: Vec<Node>,
    /// The documents with the changes.
    expected: Vec<Node>,
    /// In the order of the text.
    splices: Vec<Splice>,
    /// The number of the document and the path in it.
    touched: Vec<(usize, JsonPath)>,
    /// Bytes of the text with the changes.
    size: usize,
}

impl Draft {
    pub(in crate::plan::edit) fn begin(
        body: String,
        budget: &Budget<'_>,
    ) -> Result<Self, EditError> {
        let documents = model::read(&body, &|| budget.go_on())?;
        Ok(Self {
            size: body.len(),
            expected: documents.clone(),
            body,
            documents,
            splices: Vec::new(),
            touched: Vec::new(),
        })
    }

    pub(in crate::plan::edit) fn body(&self) -> &str {
        &self.body
    }

    /// Adds a change, and says what it does; `None` if it cannot be made together with those before it.
    pub(in crate::plan::edit) fn update(
        &mut self,
        path: &JsonPath,
        document: Option<u64>,
        value: &Value,
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        let (number, place) = match choose(&self.body, &self.documents, path, document) {
            Ok(found) => found,
            // What the changes before it have made is not in the tree.
            Err(_) if !self.touched.is_empty() => return Ok(None),
            Err(error) => return Err(error),
        };
        let tied = |(other, touched): &(usize, JsonPath)| {
            *other == number
                && touched
                    .steps()
                    .iter()
                    .zip(path.steps())
                    .all(|(a, b)| a == b)
        };
        if self.touched.iter().any(tied) {
            return Ok(None);
        }
        let Some((splices, spot)) = ways(&self.body, &place, value).next() else {
            return Ok(None);
        };
        if !splices.iter().all(|splice| self.is_free(splice)) {
            return Ok(None);
        }
        let cut: usize = splices.iter().map(|(range, _)| range.len()).sum();
        let put: usize = splices.iter().map(|(_, text)| text.len()).sum();
        let size = (self.size + put).saturating_sub(cut);
        budget.fits(size as u64)?;
        let said = said(&self.expected, number, &place, path);
        if let Some(root) = self.expected.get_mut(number) {
            meant(root, path, &place, value, spot);
        }
        for splice in splices {
            self.splices.insert(self.turn(&splice), splice);
        }
        self.size = size;
        self.touched.push((number, path.clone()));
        Ok(Some(said))
    }

    /// Where a splice comes among the others: after those of the same place.
    fn turn(&self, (range, _): &Splice) -> usize {
        let key = (range.start, range.end);
        self.splices
            .partition_point(|(other, _)| (other.start, other.end) <= key)
    }

    /// Whether no other splice reaches into it.
    fn is_free(&self, splice: &Splice) -> bool {
        let at = self.turn(splice);
        let before = at
            .checked_sub(1)
            .and_then(|before| self.splices.get(before));
        let after = self.splices.get(at);
        before.is_none_or(|(before, _)| before.end <= splice.0.start)
            && after.is_none_or(|(after, _)| splice.0.end <= after.start)
    }

    /// Makes the changes; `false` if the result is not what was meant.
    pub(in crate::plan::edit) fn settle(&mut self, budget: &Budget<'_>) -> Result<bool, EditError> {
        if self.touched.is_empty() {
            return Ok(true);
        }
        let body = splice::apply(&self.body, &self.splices);
        let documents = match model::read(&body, &|| budget.go_on()) {
            Ok(documents) => documents,
            Err(error @ EditError::Stopped(_)) => return Err(error),
            Err(_) => return Ok(false),
        };
        if documents != self.expected {
            return Ok(false);
        }
        self.body = body;
        self.documents = documents;
        self.splices.clear();
        self.touched.clear();
        Ok(true)
    }
}
