//! The three JSON edits. One pass over the tokens finds where bytes are removed and inserted, so everything else stays
//! as it is. Added text looks like its neighbours. Comments and trailing commas are accepted in a file that has them
//! already (`tsconfig.json`). The document is never held as a tree: time and memory are at most in proportion to its
//! size. `jsonc-parser` can edit a tree (feature `cst`), but it breaks the line when it adds to `{"a":1}`, and writes a
//! blank after the colon of the new key.

mod outline;
mod reading;
mod splice;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Budget, EditError, Edited, JsonPath,
    path::Step,
    text::{Splice, Text, apply},
};

pub(super) use reading::Grammar;

use outline::{Kind, no_key, outline};
use reading::{Change, Meaning};
use splice::Style;

/// An edit at a place of a JSON document.
#[derive(Debug)]
pub(crate) enum JsonEdit {
    /// A new last member of the object there.
    Add { key: String, value: Value },
    /// A member of the object there, or an item of the array there.
    Remove { key: String },
    /// Another value of the place.
    Update { value: Value },
}

/// An edit whose place was found.
struct Planned {
    splices: Vec<Splice>,
    /// Of what is added to, removed or updated; without indices from the end.
    steps: Vec<Step>,
    said: String,
}

pub(super) fn edit(
    text: Text<'_>,
    path: &JsonPath,
    edit: &JsonEdit,
    budget: &Budget<'_>,
) -> Result<Edited, EditError> {
    budget.go_on()?;
    let mut draft = Draft::begin(text.body)?;
    let said = draft.edit(path, edit, budget)?;
    let settled = draft.settle(budget)?;
    settled.map_err(|problem| EditError::risky(&problem))?;
    Ok(Edited::whole(text.with(draft.body.into_owned()), said))
}

/// `json_add_property`: the path leads to an object that does not have the key yet.
fn add(
    body: &str,
    path: &JsonPath,
    key: &str,
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let found = outline(body, path, Some(key), budget)?;
    let place = &found.place;
    let Some(object) = place.node.as_ref().filter(|_| place.kind == Kind::Object) else {
        let problem = format!(
            "it is {}; json_add_property adds to objects only, so name one, or write the whole \
             value with json_update_value",
            place.kind.words()
        );
        return Err(path.clone().missing(problem));
    };
    if object.picked.is_some() {
        let problem = "the key is there already; change it with json_update_value";
        return Err(path.child(key).missing(problem));
    }
    let style = Style::of(&found.habits, budget);
    Ok(Planned {
        splices: splice::add(object, &style, key, value)?,
        steps: found.path.steps().to_vec(),
        said: format!("Property '{key}' added successfully"),
    })
}

/// `json_remove_property`: a key of an object, or an item of an array by its decimal index. A comment
/// that follows on the same line goes with what is removed.
fn remove(
    body: &str,
    path: &JsonPath,
    key: &str,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let found = outline(body, path, Some(key), budget)?;
    let missing = |problem: String| path.clone().missing(problem);
    let place = &found.place;
    let Some(container) = &place.node else {
        return Err(missing(format!(
            "it is {}, so nothing can be removed from it",
            place.kind.words()
        )));
    };
    let Some(picked) = &container.picked else {
        return Err(match place.kind {
            Kind::Object => no_key(path.child(key), container),
            _ => missing(format!(
                "the array has {} items, and `{key}` is not the index of one of them; count from 0",
                container.count
            )),
        });
    };
    let step = match place.kind {
        Kind::Object => Step::Name(key.to_owned()),
        _ => Step::Index(i64::try_from(picked.index).unwrap_or(i64::MAX)),
    };
    Ok(Planned {
        splices: splice::remove(container, picked),
        steps: [found.path.steps(), &[step]].concat(),
        said: format!("Property '{key}' removed successfully"),
    })
}

/// `json_update_value`: the place must be there.
fn update(
    body: &str,
    path: &JsonPath,
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let found = outline(body, path, None, budget)?;
    let style = Style::of(&found.habits, budget);
    Ok(Planned {
        splices: vec![splice::update(body, &found, &style, value)?],
        steps: found.path.steps().to_vec(),
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
    outline::check(text.body)?;
    Ok(value)
}

/// Reads a whole document, by both readers.
fn read(body: &str) -> Result<(Meaning, Grammar), EditError> {
    let read = reading::read(body)?;
    outline::check(body)?;
    Ok(read)
}

/// A text with its edits. An independent reader computes the expected meaning after each edit. The next edit
/// compares it with the text, and so does `settle`.
pub(super) struct Draft<'a> {
    pub(super) body: Cow<'a, str>,
    grammar: Grammar,
    /// What the text must say; `None` if it was not changed since it was checked.
    expected: Option<Meaning>,
    /// Whether every text before the last edit said what it had to say.
    as_meant: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn begin(body: impl Into<Cow<'a, str>>) -> Result<Self, EditError> {
        let body = body.into();
        let (_, grammar) = reading::read(&body)?;
        Ok(Self {
            body,
            grammar,
            expected: None,
            as_meant: true,
        })
    }

    /// Makes an edit, and says what it did. One that fails changes nothing.
    pub(super) fn edit(
        &mut self,
        path: &JsonPath,
        edit: &JsonEdit,
        budget: &Budget<'_>,
    ) -> Result<String, EditError> {
        let body = &*self.body;
        let planned = match edit {
            JsonEdit::Add { key, value } => add(body, path, key, value, budget)?,
            JsonEdit::Remove { key } => remove(body, path, key, budget)?,
            JsonEdit::Update { value } => update(body, path, value, budget)?,
        };
        budget.go_on()?;
        let path = &planned.steps;
        let (is, expected) = reading::read_with(body, Change { path, edit })?;
        let after = apply(body, &planned.splices, budget)?;
        self.as_meant &= self.expected.replace(expected).is_none_or(|it| it == is);
        self.body = Cow::Owned(after);
        Ok(planned.said)
    }

    /// Checks that the text says what it must say; answers what is wrong with it.
    pub(super) fn settle(&mut self, budget: &Budget<'_>) -> Result<Result<(), String>, EditError> {
        let Some(expected) = &self.expected else {
            return Ok(Ok(()));
        };
        budget.go_on()?;
        let problem = match read(&self.body) {
            Err(error) => format!("is broken ({error})"),
            Ok((is, _)) if !self.as_meant || is != *expected => "is not what was meant".to_owned(),
            Ok((_, grammar)) if !self.grammar.allows(grammar) => {
                "has comments or trailing commas, which were not there before".to_owned()
            }
            Ok(_) => {
                self.expected = None;
                return Ok(Ok(()));
            }
        };
        Ok(Err(problem))
    }
}
