//! The three JSON operations: bytes are cut and put in where one pass over the document's tokens says.
//!
//! Everything else stays as it is by construction: key order, indentation, number text, escapes,
//! comments, byte order mark, line ends, final line end. What is added looks like its neighbours.
//! Comments and trailing commas are let in any file that has them already (`tsconfig.json`); a file
//! without them gets none. The document is never held as a tree: time and memory are at most in
//! proportion to its size.
//!
//! `jsonc-parser` can edit its own tree (feature `cst`). It was tried: adding to `{"a":1}` breaks the line,
//! and where keys are written `"a":1` the new one gets a blank after its colon.

mod outline;
mod reading;
mod splice;

use serde_json::Value;

use super::{Budget, EditError, Edited, JsonPath, path::Step, text::Text};
use crate::plan::model::Edit;

pub(super) use reading::Grammar;

use outline::{Kind, Outline, no_key, outline};
use reading::{Change, Meaning, What};
use splice::{Splice, Style};

/// What is known of the names of members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Two of one object may be the same, which is an error.
    Unknown,
    /// They were looked at, and are not looked at again.
    Known,
}

/// A document that was read, and what makes changes of it.
struct Desk<'a> {
    text: Text<'a>,
    grammar: Grammar,
    budget: &'a Budget<'a>,
    names: Names,
}

/// An edit whose place was found.
struct Planned<'c> {
    splices: Vec<Splice>,
    /// Without indices from the end.
    steps: Vec<Step>,
    what: What<'c>,
    said: String,
}

/// Makes one of the three edits.
pub(super) fn edit(
    text: Text<'_>,
    change: &Edit,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    let desk = Desk::of(text, budget)?;
    desk.finish(desk.planned(change)?)
}

/// `json_add_property`: the path leads to an object that does not have the key yet.
fn add<'c>(
    desk: &Desk<'_>,
    path: &JsonPath,
    key: &'c str,
    value: &'c Value,
) -> Result<Planned<'c>, EditError> {
    let found = desk.outline(path, Some(key))?;
    let Some(object) = found.node.as_ref().filter(|_| found.kind == Kind::Object) else {
        return Err(EditError::PlaceNotFound {
            path: path.clone(),
            problem: format!(
                "it is {}; json_add_property adds to objects only, so name one, or write the whole \
                 value with json_update_value",
                found.kind.words()
            ),
        });
    };
    if object.picked.is_some() {
        return Err(EditError::PlaceNotFound {
            path: path.child(key),
            problem: "the key is there already; change it with json_update_value".to_owned(),
        });
    }
    let style = Style::of(&found.habits, desk.budget);
    Ok(Planned {
        splices: splice::add(object, &style, key, value)?,
        steps: found.path.steps().to_vec(),
        what: What::Add { key, value },
        said: format!("Property '{key}' added successfully"),
    })
}

/// `json_remove_property`: a key of an object, or an item of an array by its decimal index. A comment
/// that follows on the same line goes with what is removed.
fn remove<'c>(desk: &Desk<'_>, path: &JsonPath, key: &str) -> Result<Planned<'c>, EditError> {
    let found = desk.outline(path, Some(key))?;
    let missing = |problem: String| EditError::PlaceNotFound {
        path: path.clone(),
        problem,
    };
    let Some(container) = &found.node else {
        return Err(missing(format!(
            "it is {}, so nothing can be removed from it",
            found.kind.words()
        )));
    };
    let Some(picked) = &container.picked else {
        return Err(match found.kind {
            Kind::Object => no_key(path.child(key), container.count, &found.keys),
            _ => missing(format!(
                "the array has {} items, and `{key}` is the index of none; count from 0",
                container.count
            )),
        });
    };
    let step = match found.kind {
        Kind::Object => Step::Name(key.to_owned()),
        _ => Step::Index(i64::try_from(picked.index).unwrap_or(i64::MAX)),
    };
    Ok(Planned {
        splices: splice::remove(container, picked),
        steps: [found.path.steps(), &[step]].concat(),
        what: What::Remove,
        said: format!("Property '{key}' removed successfully"),
    })
}

/// `json_update_value`: the place must be there.
fn update<'c>(
    desk: &Desk<'_>,
    path: &JsonPath,
    value: &'c Value,
) -> Result<Planned<'c>, EditError> {
    let found = desk.outline(path, None)?;
    let style = Style::of(&found.habits, desk.budget);
    Ok(Planned {
        splices: vec![splice::update(desk.text.body, &found, &style, value)?],
        steps: found.path.steps().to_vec(),
        what: What::Update { value },
        said: format!("Value at {path} updated successfully"),
    })
}

/// Whether it is one JSON value of this grammar, without duplicate keys.
pub(super) fn check(text: Text<'_>, grammar: Grammar) -> Result<(), EditError> {
    let (_, found) = read(text.body)?;
    if grammar.allows(found) {
        Ok(())
    } else {
        Err(reading::not_strict(text.body))
    }
}

/// The value, checked in the same way.
pub(super) fn value(text: Text<'_>) -> Result<Value, EditError> {
    let value = reading::value(text.body)?;
    outline(text.body, &JsonPath::of(&[]), None, Names::Unknown, &|| {
        Ok(())
    })?;
    Ok(value)
}

/// Reads a whole document, by both readers.
fn read(body: &str) -> Result<(Meaning, Grammar), EditError> {
    let read = reading::read(body, None)?;
    outline(body, &JsonPath::of(&[]), None, Names::Unknown, &|| Ok(()))?;
    Ok(read)
}

impl<'a> Desk<'a> {
    fn of(text: Text<'a>, budget: &'a Budget<'a>) -> Result<Self, EditError> {
        budget.go_on()?;
        let (_, grammar) = reading::read(text.body, None)?;
        Ok(Self {
            text,
            grammar,
            budget,
            names: Names::Unknown,
        })
    }

    fn outline(&self, path: &JsonPath, pick: Option<&str>) -> Result<Outline<'a>, EditError> {
        let go_on = || self.budget.go_on();
        outline(self.text.body, path, pick, self.names, &go_on)
    }

    /// Where and how an edit is made.
    fn planned<'c>(&self, change: &'c Edit) -> Result<Planned<'c>, EditError> {
        match change {
            Edit::JsonAdd { path, key, value } => add(self, path, key, value),
            Edit::JsonRemove { path, key } => remove(self, path, key),
            Edit::JsonUpdate { path, value } => update(self, path, value),
            _ => Err(EditError::Unfit("the edit is none of JSON".to_owned())),
        }
    }

    /// Makes the splices, and lets the result out only if it is the document that was meant.
    fn finish(&self, planned: Planned<'_>) -> Result<Edited, EditError> {
        self.budget.go_on()?;
        let change = Change {
            path: &planned.steps,
            what: planned.what,
        };
        let (expected, _) = reading::read(self.text.body, Some(change))?;
        let body = splice::apply(self.text.body, &planned.splices, self.budget)?;
        let wrong = |what: &str| {
            EditError::Refused(format!(
                "the edit cannot be made safely: its result {what}; make it with text_replace"
            ))
        };
        self.budget.go_on()?;
        let (is, grammar) = read(&body).map_err(|error| wrong(&format!("is broken ({error})")))?;
        if is != expected {
            return Err(wrong("is not what was meant"));
        }
        if !self.grammar.allows(grammar) {
            return Err(wrong(
                "has comments or trailing commas, which were not there before",
            ));
        }
        Ok(Edited::whole(self.text.with(body), planned.said))
    }
}

/// A text with changes, and what it is to say. Each of several edits is made at once, and the result is read
/// once and held against the document with every change made.
pub(super) struct Draft {
    body: String,
    grammar: Grammar,
    expected: Value,
    settled: bool,
}

impl Draft {
    pub(super) fn begin(body: String) -> Result<Self, EditError> {
        let (_, grammar) = read(&body)?;
        Ok(Self {
            grammar,
            expected: reading::value(&body)?,
            body,
            settled: true,
        })
    }

    pub(super) fn body(&self) -> &str {
        &self.body
    }

    /// Makes a change, and says what it did; `None` if it has to be made alone.
    pub(super) fn edit(
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
    pub(super) fn settle(&mut self, budget: &Budget<'_>) -> Result<bool, EditError> {
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
