//! Several edits of one text: each is made at once, and the result is read once and held against the
//! document with every change made.

use serde_json::Value;

use super::{
    Desk, Names, Planned, read,
    reading::{self, Grammar, Meaning, What},
    splice,
};
use crate::plan::{
    edit::{Budget, EditError, path::Step, text::Text},
    model::Edit,
};

/// A text with changes, and what it is to say.
pub(in crate::plan::edit) struct Draft {
    body: String,
    grammar: Grammar,
    expected: Value,
    settled: bool,
}

impl Draft {
    pub(in crate::plan::edit) fn begin(body: String) -> Result<Self, EditError> {
        let (_, grammar) = read(&body)?;
        Ok(Self {
            grammar,
            expected: reading::value(&body)?,
            body,
            settled: true,
        })
    }

    pub(in crate::plan::edit) fn body(&self) -> &str {
        &self.body
    }

    /// Makes a change, and says what it did; `None` if it has to be made alone.
    pub(in crate::plan::edit) fn edit(
        &mut self,
        change: &Edit,
        budget: &Budget<'_>,
    ) -> Result<Option<String>, EditError> {
        let desk = Desk {
            text: Text::bare(&self.body),
            grammar: self.grammar,
            budget,
            names: Names::Known,
        };
        let planned = desk.planned(change)?;
        let body = splice::apply(&self.body, &planned.splices, budget)?;
        self.settled = false;
        if planned.change(&mut self.expected).is_none() {
            return Ok(None);
        }
        let said = planned.said;
        self.body = body;
        Ok(Some(said))
    }

    /// Whether the text says what it is to say.
    pub(in crate::plan::edit) fn settle(&mut self, budget: &Budget<'_>) -> Result<bool, EditError> {
        if self.settled {
            return Ok(true);
        }
        budget.go_on()?;
        let Ok((is, grammar)) = read(&self.body) else {
            return Ok(false);
        };
        self.settled = is == Meaning::of(&self.expected) && self.grammar.allows(grammar);
        Ok(self.settled)
    }
}

impl Planned<'_> {
    /// Makes the change in the value; `None` if the place is not there.
    fn change(&self, value: &mut Value) -> Option<()> {
        match &self.what {
            What::Add { key, value: new } => {
                let object = at(value, &self.steps)?.as_object_mut()?;
                object.insert((*key).to_owned(), (*new).clone());
            }
            What::Update { value: new } => at(value, &self.steps)?.clone_from(new),
            What::Remove => {
                let (last, parents) = self.steps.split_last()?;
                match (at(value, parents)?, last) {
                    (Value::Object(members), Step::Name(name)) => {
                        members.shift_remove(name)?;
                    }
                    (Value::Array(items), Step::Index(index)) => {
                        let index = usize::try_from(*index).ok()?;
                        items.get(index)?;
                        items.remove(index);
                    }
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

/// The value at a place without indices from the end.
fn at<'v>(value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Name(name) => value.as_object_mut()?.get_mut(name),
        Step::Index(index) => value.as_array_mut()?.get_mut(usize::try_from(*index).ok()?),
    })
}
