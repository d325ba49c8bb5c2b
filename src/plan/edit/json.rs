//! The JSON edits. One pass over the tokens finds where bytes are removed and inserted, so everything else stays
//! as it is. Added text looks like its neighbours. Comments and trailing commas are accepted in a file that has them
//! already (`tsconfig.json`). The document is never held as a tree: of each value, only its place is. Time and memory
//! are at most in proportion to the size. `jsonc-parser` can edit a tree (feature `cst`), but it breaks the line when
//! it adds to `{"a":1}`, and writes a blank after the colon of the new key.

mod outline;
mod reading;
mod splice;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Budget, EditError, Edited, JsonPath,
    path::Step,
    text::{Splice, Text, apply},
    unless_given_up,
};

pub(super) use reading::Grammar;

use outline::{Container, Found, Kind, Outline, Swap, no_key};
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
    /// A new last item of the array there.
    Append { value: Value },
}

/// An edit whose place was found.
struct Planned {
    splices: Vec<Splice>,
    swap: Swap,
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
    let mut draft = Draft::begin(text.body, budget)?;
    let said = draft.edit(path, edit, budget)?;
    let settled = draft.settle(budget)?;
    settled.map_err(|problem| EditError::risky(&problem))?;
    Ok(Edited::whole(text.with(draft.body.into_owned()), said))
}

/// `json_add_property`: the path leads to an object that does not have the key yet.
fn add(
    (body, outline): (&str, &Outline),
    path: &JsonPath,
    key: &str,
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let found = outline.find(body, path, Some(key))?;
    let Some(object) = found.node.as_ref().filter(|_| found.kind == Kind::Object) else {
        let problem = format!(
            "it is {}; json_add_property adds to objects only, so name one, or write the whole \
             value with json_update_value",
            found.kind.words()
        );
        return Err(path.clone().missing(problem));
    };
    if object.picked.is_some() {
        let problem = "the key is there already; change it with json_update_value";
        return Err(path.child(key).missing(problem));
    }
    let said = format!("Property '{key}' added successfully");
    grown(outline, &found, object, Some(key), value, said, budget)
}

/// `json_append`: the path leads to an array.
fn append(
    (body, outline): (&str, &Outline),
    path: &JsonPath,
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let found = outline.find(body, path, None)?;
    let Some(array) = found.node.as_ref().filter(|_| found.kind == Kind::Array) else {
        let problem = format!(
            "it is {}; json_append adds to arrays only, so name one, or write the whole value with \
             json_update_value",
            found.kind.words()
        );
        return Err(path.clone().missing(problem));
    };
    let said = format!("Value at {path} extended successfully");
    grown(outline, &found, array, None, value, said, budget)
}

/// A new last member of this object, or a new last item of this array.
fn grown(
    outline: &Outline,
    found: &Found<'_>,
    whole: &Container<'_>,
    key: Option<&str>,
    value: &Value,
    said: String,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let style = Style::of(&found.habits, budget);
    let after_last = found.trail.last().map_or(0, |at| outline.values(*at).end);
    let last = whole.last.as_ref();
    let from = last.map_or(whole.start + 1, |last| last.end);
    Ok(Planned {
        splices: splice::add(whole, &style, key, value)?,
        swap: Swap {
            gone: after_last..after_last,
            written: Some(from..whole.end - 1),
            around: found.trail.clone(),
        },
        steps: found.steps.clone(),
        said,
    })
}

/// `json_remove_property`: a key of an object, or an item of an array by its decimal index. A comment
/// that follows on the same line goes with what is removed.
fn remove(
    (body, outline): (&str, &Outline),
    path: &JsonPath,
    key: &str,
) -> Result<Planned, EditError> {
    let found = outline.find(body, path, Some(key))?;
    let missing = |problem: String| path.clone().missing(problem);
    let Some(container) = &found.node else {
        return Err(missing(format!(
            "it is {}, so nothing can be removed from it",
            found.kind.words()
        )));
    };
    let Some(picked) = &container.picked else {
        return Err(match found.kind {
            Kind::Object => no_key(path.child(key), container),
            _ => missing(format!(
                "the array has {} items, and `{key}` is not the index of one of them; count from 0",
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
        swap: Swap {
            gone: outline.values(picked.at),
            written: None,
            around: found.trail,
        },
        steps: [found.steps, vec![step]].concat(),
        said: format!("Property '{key}' removed successfully"),
    })
}

/// `json_update_value`: the place must be there.
fn update(
    (body, outline): (&str, &Outline),
    path: &JsonPath,
    value: &Value,
    budget: &Budget<'_>,
) -> Result<Planned, EditError> {
    let mut found = outline.find(body, path, None)?;
    let style = Style::of(&found.habits, budget);
    Ok(Planned {
        splices: vec![splice::update(body, &found, &style, value)?],
        swap: Swap {
            gone: found.trail.pop().map_or(0..0, |at| outline.values(at)),
            written: Some(found.place.whole()),
            around: found.trail,
        },
        steps: found.steps,
        said: format!("Value at {path} updated successfully"),
    })
}

/// Whether it is one JSON value of this grammar, without duplicate keys.
pub(super) fn check(
    text: Text<'_>,
    grammar: Grammar,
    budget: &Budget<'_>,
) -> Result<(), EditError> {
    let (_, found, _) = read(text.body, budget)?;
    if grammar.allows(found) {
        Ok(())
    } else {
        Err(reading::not_strict(text.body))
    }
}

/// The value, checked in the same way.
pub(super) fn value(text: Text<'_>, budget: &Budget<'_>) -> Result<Value, EditError> {
    budget.go_on()?;
    let value = reading::value(text.body)?;
    budget.go_on()?;
    Outline::read(text.body)?;
    Ok(value)
}

/// Reads a whole document, by both readers.
fn read(body: &str, budget: &Budget<'_>) -> Result<(Meaning, Grammar, Outline), EditError> {
    budget.go_on()?;
    let (meaning, grammar) = reading::read(body)?;
    budget.go_on()?;
    Ok((meaning, grammar, Outline::read(body)?))
}

/// A text with its edits. An independent reader computes what they make of it.
pub(super) struct Draft<'a> {
    pub(super) body: Cow<'a, str>,
    grammar: Grammar,
    outline: Outline,
    /// The text that was checked last, and the edits since; `None` if there were none.
    pending: Option<(Cow<'a, str>, Change)>,
}

impl<'a> Draft<'a> {
    pub(super) fn begin(
        body: impl Into<Cow<'a, str>>,
        budget: &Budget<'_>,
    ) -> Result<Self, EditError> {
        let body = body.into();
        budget.go_on()?;
        let (_, grammar) = reading::read(&body)?;
        budget.go_on()?;
        Ok(Self {
            outline: Outline::read(&body)?,
            body,
            grammar,
            pending: None,
        })
    }

    /// Makes an edit, and says what it did. One that fails changes nothing.
    pub(super) fn edit(
        &mut self,
        path: &JsonPath,
        edit: &JsonEdit,
        budget: &Budget<'_>,
    ) -> Result<String, EditError> {
        let text = (&*self.body, &self.outline);
        let planned = match edit {
            JsonEdit::Add { key, value } => add(text, path, key, value, budget)?,
            JsonEdit::Remove { key } => remove(text, path, key)?,
            JsonEdit::Update { value } => update(text, path, value, budget)?,
            JsonEdit::Append { value } => append(text, path, value, budget)?,
        };
        let after = apply(&self.body, &planned.splices, budget)?;
        self.outline.swap(planned.swap, self.body.len(), &after)?;
        let before = std::mem::replace(&mut self.body, Cow::Owned(after));
        let pending = self.pending.get_or_insert((before, Change::default()));
        pending.1.make(&planned.steps, edit);
        Ok(planned.said)
    }

    /// Checks that the text says what it must say; answers what is wrong with it. After a wrong
    /// result, no edit can follow.
    pub(super) fn settle(&mut self, budget: &Budget<'_>) -> Result<Result<(), String>, EditError> {
        let Some((before, change)) = &self.pending else {
            return Ok(Ok(()));
        };
        budget.go_on()?;
        let (expected, _) = reading::read_with(before, Some(change))?;
        // Only one outline is in memory at a time.
        self.outline = Outline::default();
        let problem = match unless_given_up(read(&self.body, budget))? {
            Err(error) => format!("is broken ({error})"),
            Ok((is, ..)) if is != expected => "is not what was meant".to_owned(),
            Ok((_, grammar, _)) if !self.grammar.allows(grammar) => {
                "has comments or trailing commas, which were not there before".to_owned()
            }
            Ok((.., outline)) => {
                self.outline = outline;
                self.pending = None;
                return Ok(Ok(()));
            }
        };
        Ok(Err(problem))
    }
}
