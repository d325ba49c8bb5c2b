//! Several edits of one text. All places are found in one tree, and the splices are made together. The result is
//! parsed once and compared with the tree that contains every change.

use serde_json::Value;

use super::{
    CREATED, MissingKey, UPDATED, YamlEdit, choose, done, index,
    model::{self, Node},
    place::Place,
    said, set,
    splice::Spot,
    ways,
};
use crate::plan::edit::{
    Budget, EditError, JsonPath,
    path::{Step, item},
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
    /// For a new key, how many new keys of the same mapping come before it.
    earlier: Option<usize>,
    value: Value,
    splices: Vec<Splice>,
}

impl Change {
    /// Whether one of the two places holds the other.
    fn meets(&self, document: usize, path: &JsonPath) -> bool {
        let mut steps = self.path.steps().iter().zip(path.steps());
        self.document == document && steps.all(|(a, b)| a == b)
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

    /// Adds a change, and returns a sentence about it; `None` if it cannot be made together with those before it.
    pub(crate) fn update(
        &mut self,
        path: &JsonPath,
        document: Option<u64>,
        (value, missing): (&Value, MissingKey),
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        let new = (value, missing);
        let change = YamlEdit::Update {
            value: Value::Null,
            missing,
        };
        let (number, place) = match choose(&self.body, &self.documents, path, document, &change) {
            Ok(found) => found,
            // The tree does not contain the values of the earlier changes.
            Err(_) if !self.changes.is_empty() => {
                let only = (self.documents.len() == 1).then_some(0);
                let number = document.map_or(only, index);
                return number.map_or(Ok(None), |number| {
                    self.change_again(number, path, new, budget)
                });
            }
            Err(error) => return Err(error),
        };
        if self.changes.iter().any(|change| change.meets(number, path)) {
            return self.change_again(number, path, new, budget);
        }
        let is_new = matches!(place, Place::New { .. });
        let earlier = is_new.then(|| self.new_beside(number, path));
        let Some((splices, spot)) = ways(&self.body, &place, earlier, value).next() else {
            return Ok(None);
        };
        if !splices.iter().all(|splice| self.is_free(splice)) {
            return Ok(None);
        }
        let size = resized(self.size, &[], &splices, budget)?;
        let said = said(&self.expected, number, done(&change, &place), path);
        if let Some(root) = self.expected.get_mut(number) {
            set(root, path, value, spot);
        }
        self.size = size;
        self.changes.push(Change {
            document: number,
            path: path.clone(),
            earlier,
            value: value.clone(),
            splices,
        });
        Ok(Some(said))
    }

    /// How many keys the changes add to the mapping that holds this place.
    fn new_beside(&self, number: usize, path: &JsonPath) -> usize {
        let parent = |path: &JsonPath| path.first(path.steps().len().saturating_sub(1));
        let beside = |change: &&Change| {
            change.earlier.is_some()
                && change.document == number
                && parent(&change.path) == parent(path)
        };
        self.changes.iter().filter(beside).count()
    }

    /// Sets a place in the value of an earlier change; `None` if no single change holds the place, or if the
    /// change would then be written at other places of the text.
    fn change_again(
        &mut self,
        number: usize,
        path: &JsonPath,
        (value, missing): (&Value, MissingKey),
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        let all = self.changes.iter_mut();
        let mut meeting = all.filter(|change| change.meets(number, path));
        let (Some(change), None) = (meeting.next(), meeting.next()) else {
            return Ok(None);
        };
        let mut whole = change.value.clone();
        let within = path.steps().strip_prefix(change.path.steps());
        let Some(done) = within.and_then(|within| put(&mut whole, within, value, missing)) else {
            return Ok(None);
        };
        let asked = Some(number as u64 + 1);
        // The key of the earlier change is known to be missing or there.
        let known = YamlEdit::Update {
            value: Value::Null,
            missing: MissingKey::Created,
        };
        let (_, place) = choose(&self.body, &self.documents, &change.path, asked, &known)?;
        let Some((splices, _)) = ways(&self.body, &place, change.earlier, &whole).next() else {
            return Ok(None);
        };
        let old = change.splices.iter().map(|(range, _)| range);
        if !old.eq(splices.iter().map(|(range, _)| range)) {
            return Ok(None);
        }
        self.size = resized(self.size, &change.splices, &splices, budget)?;
        change.value = whole;
        change.splices = splices;
        let said = said(&self.expected, number, done, path);
        if let Some(root) = self.expected.get_mut(number) {
            set(root, path, value, Spot::After);
        }
        Ok(Some(said))
    }

    fn is_free(&self, (range, _): &Splice) -> bool {
        let mut others = self.changes.iter().flat_map(|change| &change.splices);
        others.all(|(other, _)| other.end <= range.start || range.end <= other.start)
    }

    /// Makes the changes; `false` if the result is wrong.
    pub(crate) fn settle(&mut self, budget: &Budget<'_>) -> Result<bool, EditError> {
        if self.changes.is_empty() {
            return Ok(true);
        }
        let all = self.changes.iter().flat_map(|change| &change.splices);
        let mut splices: Vec<Splice> = all.cloned().collect();
        // The sort is stable: splices of one place keep the order of the changes.
        splices.sort_by_key(|(range, _)| (range.start, range.end));
        let body = apply(&self.body, &splices, budget)?;
        let documents = match model::read(&body, budget) {
            Ok(documents) => documents,
            Err(error @ EditError::Stopped(_)) => return Err(error),
            Err(_) => return Ok(false),
        };
        if documents != self.expected {
            return Ok(false);
        }
        self.body = body;
        self.documents = documents;
        self.changes.clear();
        Ok(true)
    }
}

/// Sets a place in a value, and returns the word for it; `None` if the place does not exist and cannot be created.
fn put(
    value: &mut Value,
    steps: &[Step],
    new: &Value,
    missing: MissingKey,
) -> Option<&'static str> {
    let Some((step, rest)) = steps.split_first() else {
        value.clone_from(new);
        return Some(UPDATED);
    };
    let inner = match (step, value) {
        (Step::Name(name), Value::Object(members)) => match members.get_mut(name) {
            Some(inner) => inner,
            None if rest.is_empty() && missing == MissingKey::Created => {
                members.insert(name.clone(), new.clone());
                return Some(CREATED);
            }
            None => return None,
        },
        (Step::Index(index), Value::Array(items)) => {
            let index = item(*index, items.len())?;
            items.get_mut(index)?
        }
        _ => return None,
    };
    put(inner, rest, new, missing)
}
