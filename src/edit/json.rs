//! The JSON edits. One pass over the tokens finds where bytes are removed and inserted, so everything else stays
//! as it is. Added text looks like its neighbours. Comments and trailing commas are accepted in a file that has them
//! already (`tsconfig.json`). The document is never held as a tree: of each value, only its place is. Time and memory
//! are at most in proportion to the size. `jsonc-parser` can edit a tree (feature `cst`), but it breaks the line when
//! it adds to `{"a":1}`, and writes a blank after the colon of the new key.
//!
//! Three checks together prove that only the edited value differs: an edit touches no byte of another value, the value
//! that it writes is read as the one that is wanted, and in the result a new pass finds every value at its place, and
//! nothing else.

mod outline;
mod splice;
mod strict;

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Budget, EditError, Edited, JsonPath,
    error::unless_given_up,
    language::Grammar,
    text::{Text, apply},
};

use outline::{Outline, Swap, ValueKind, Whole};
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

/// Checks that it is one JSON value of a grammar that is allowed, without duplicate keys, and returns its grammar.
pub(super) fn check(
    text: Text<'_>,
    allowed: Grammar,
    budget: &Budget<'_>,
) -> Result<Grammar, EditError> {
    let (_, found) = Outline::read(text.body, budget)?;
    let found = Some(found).filter(|found| *found <= allowed);
    found.ok_or_else(|| strict::not_strict(text.body))
}

/// The value, checked in the same way.
pub(super) fn value(text: Text<'_>, budget: &Budget<'_>) -> Result<Value, EditError> {
    Outline::read(text.body, budget)?;
    strict::read(text.body, &outline::scan(text.body, 0).loose)
}

/// A text with edits that are not checked yet.
pub(crate) struct Draft<'a> {
    pub(super) body: Cow<'a, str>,
    grammar: Grammar,
    /// Where each value must be.
    outline: Outline,
    is_edited: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn begin(
        body: impl Into<Cow<'a, str>>,
        budget: &Budget<'_>,
    ) -> Result<Self, EditError> {
        let body = body.into();
        let (outline, grammar) = Outline::read(&body, budget)?;
        Ok(Self {
            body,
            grammar,
            outline,
            is_edited: false,
        })
    }

    /// Makes an edit, and says what it did. One that fails changes nothing.
    pub(super) fn edit(
        &mut self,
        path: &JsonPath,
        edit: &JsonEdit,
        budget: &Budget<'_>,
    ) -> Result<String, EditError> {
        let swap = self.swap(path, edit, budget)?;
        let after = apply(&self.body, &swap.splices, budget)?;
        self.outline.swap(&swap, &self.body, &after)?;
        self.body = Cow::Owned(after);
        self.is_edited = true;
        Ok(match edit {
            JsonEdit::Add { key, .. } => format!("Property '{key}' added successfully"),
            JsonEdit::Remove { key } => format!("Property '{key}' removed successfully"),
            JsonEdit::Update { .. } => format!("Value at {path} updated successfully"),
            JsonEdit::Append { .. } => format!("Value at {path} extended successfully"),
        })
    }

    /// What the edit puts in place of what.
    fn swap<'e>(
        &self,
        path: &JsonPath,
        edit: &'e JsonEdit,
        budget: &Budget<'_>,
    ) -> Result<Swap<'e>, EditError> {
        let (body, outline) = (&*self.body, &self.outline);
        let mut around = outline.find(body, path)?;
        let at = around.last().copied().unwrap_or_default();
        let (whole, kind) = (outline.whole(body, at), outline.kind(body, at));
        let style = Style::of(body, outline, budget);
        let end = outline.values(at).end;
        let last = whole.last().map_or(whole.start + 1, |last| last.end);
        let grown = |key: Option<&'e str>, value: &'e Value| {
            let splices = splice::add(&whole, &style, key, value)?;
            let gap = last..whole.end - 1;
            Ok((splices, gap, end..end, Some((key, value))))
        };
        let (splices, gap, gone, written) = match edit {
            JsonEdit::Add { key, value } => {
                may_grow(
                    path,
                    kind,
                    ValueKind::Object,
                    "json_add_property adds to objects",
                )?;
                if whole.member(key).is_some() {
                    let problem = "the key is there already; change it with json_update_value";
                    return Err(path.child(key).missing(problem));
                }
                grown(Some(key), value)?
            }
            JsonEdit::Append { value } => {
                may_grow(path, kind, ValueKind::Array, "json_append adds to arrays")?;
                grown(None, value)?
            }
            JsonEdit::Remove { key } => {
                let index = removed(&whole, kind, path, key)?;
                let part = whole.parts.get(index).map_or(at, |(at, _)| *at);
                let splices = splice::remove(&whole, index);
                (splices, whole.gap(index), outline.values(part), None)
            }
            JsonEdit::Update { value } => {
                around.pop();
                let parent = around.last().map(|parent| outline.whole(body, *parent));
                let splice = splice::update(&whole, parent.as_ref(), &style, value)?;
                let gap = whole.start..whole.end;
                (vec![splice], gap, at..end, Some((None, value)))
            }
        };
        Ok(Swap {
            splices,
            gap,
            gone,
            around,
            written,
        })
    }

    /// Checks that the text says what it must say; answers what is wrong with it. After a wrong
    /// result, no edit can follow.
    pub(super) fn settle(&mut self, budget: &Budget<'_>) -> Result<Result<(), String>, EditError> {
        if !self.is_edited {
            return Ok(Ok(()));
        }
        let problem = match unless_given_up(Outline::read(&self.body, budget))? {
            Err(error) => format!("is broken ({error})"),
            Ok((is, grammar)) if is == self.outline && grammar <= self.grammar => {
                self.is_edited = false;
                return Ok(Ok(()));
            }
            Ok(_) => "is not what was meant".to_owned(),
        };
        Ok(Err(problem))
    }
}

/// Checks that the place is of the kind to which the edit adds.
fn may_grow(
    path: &JsonPath,
    kind: ValueKind,
    wanted: ValueKind,
    adds: &str,
) -> Result<(), EditError> {
    if kind == wanted {
        return Ok(());
    }
    Err(path.clone().missing(format!(
        "it is {}; {adds} only, so name one, or write the whole value with json_update_value",
        kind.words()
    )))
}

/// The index of what `json_remove_property` takes out: a member of an object by its key, or an item of an array by its
/// decimal index.
fn removed(
    whole: &Whole<'_>,
    kind: ValueKind,
    path: &JsonPath,
    key: &str,
) -> Result<usize, EditError> {
    match kind {
        ValueKind::Object => {
            let index = whole.member(key);
            index.ok_or_else(|| path.child(key).missing(whole.without(key)))
        }
        ValueKind::Array => {
            let index = key
                .parse()
                .ok()
                .filter(|index: &usize| *index < whole.parts.len() && index.to_string() == key);
            index.ok_or_else(|| {
                path.clone().missing(format!(
                    "the array has {} items, and `{key}` is not the index of one of them; count from 0",
                    whole.parts.len()
                ))
            })
        }
        ValueKind::Scalar(_) => Err(path.clone().missing(format!(
            "it is {}, so nothing can be removed from it",
            kind.words()
        ))),
    }
}
