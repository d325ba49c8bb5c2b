//! The three JSON operations: bytes are cut and put in where the document's tree says.
//!
//! Everything else stays as it is by construction: key order, indentation, number text, escapes,
//! comments, byte order mark, line ends, final line end. What is added looks like its neighbours.
//! Comments and trailing commas are let in any file that has them already (`tsconfig.json`); a file
//! without them gets none.

mod document;
mod splice;
mod write;

use serde_json::Value;

use super::{EditError, Edited, JsonPath, text::Text};
pub(super) use document::Grammar;

use document::Document;
use splice::{Container, Splice};
use write::Style;

/// `json_add_property`: the path leads to an object that does not have the key yet.
pub(super) fn add(
    text: Text<'_>,
    path: &JsonPath,
    key: &str,
    value: &Value,
) -> Result<Edited, EditError> {
    let document = Document::read(text.body)?;
    let node = document.at(path)?;
    let Some(object) = node.as_object() else {
        return Err(EditError::PlaceNotFound {
            path: path.clone(),
            problem: format!(
                "it is {}; json_add_property adds to objects only, so name one, or write the whole \
                 value with json_update_value",
                document::kind(node)
            ),
        });
    };
    if object.get(key).is_some() {
        return Err(EditError::PlaceNotFound {
            path: path.child(key),
            problem: "the key is there already; change it with json_update_value".to_owned(),
        });
    }
    let container = Container::of_object(text.body, object);
    let style = Style::of(&document);
    let splices = splice::add(&container, &style, key, value);
    let mut expected = document.value.clone();
    if let Some(Value::Object(object)) = document::at_mut(&mut expected, path) {
        object.insert(key.to_owned(), value.clone());
    }
    let said = format!("Property '{key}' added successfully");
    finish(text, &document, &splices, &expected, said)
}

/// `json_remove_property`: a key of an object, or an item of an array by its decimal index. A comment
/// that follows on the same line goes with what is removed.
pub(super) fn remove(text: Text<'_>, path: &JsonPath, key: &str) -> Result<Edited, EditError> {
    let document = Document::read(text.body)?;
    let node = document.at(path)?;
    let missing = |problem: String| EditError::PlaceNotFound {
        path: path.clone(),
        problem,
    };
    let mut expected = document.value.clone();
    let slot = document::at_mut(&mut expected, path);
    let (container, index) = match (node.as_object(), node.as_array(), slot) {
        (Some(object), _, Some(Value::Object(members))) => {
            let mut names = object.properties.iter().map(|member| member.name.as_str());
            let index = names
                .position(|name| name == key)
                .ok_or_else(|| document::no_key(&path.child(key), object))?;
            members.shift_remove(key);
            (Container::of_object(text.body, object), index)
        }
        (_, Some(array), Some(Value::Array(items))) => {
            let index = key
                .parse()
                .ok()
                .filter(|index| *index < items.len())
                .ok_or_else(|| {
                    missing(format!(
                        "the array has {} items, and `{key}` is the index of none; count from 0",
                        items.len()
                    ))
                })?;
            items.remove(index);
            (Container::of_array(text.body, array), index)
        }
        _ => {
            return Err(missing(format!(
                "it is {}, so nothing can be removed from it",
                document::kind(node)
            )));
        }
    };
    let splices = splice::remove(&container, index);
    let said = format!("Property '{key}' removed successfully");
    finish(text, &document, &splices, &expected, said)
}

/// `json_update_value`: the place must be there.
pub(super) fn update(text: Text<'_>, path: &JsonPath, value: &Value) -> Result<Edited, EditError> {
    let document = Document::read(text.body)?;
    let node = document.at(path)?;
    let parent = match path.steps().len().checked_sub(1) {
        Some(depth) => Container::of(text.body, document.at(&path.first(depth))?),
        None => None,
    };
    let style = Style::of(&document);
    let splices = [splice::update(
        text.body,
        node,
        parent.as_ref(),
        &style,
        value,
    )];
    let mut expected = document.value.clone();
    if let Some(slot) = document::at_mut(&mut expected, path) {
        *slot = value.clone();
    }
    let said = format!("Value at {path} updated successfully");
    finish(text, &document, &splices, &expected, said)
}

/// Whether it is one JSON value of this grammar, without duplicate keys.
pub(super) fn check(text: Text<'_>, grammar: Grammar) -> Result<(), EditError> {
    let found = Document::read(text.body)?.grammar;
    if grammar.allows(found) {
        Ok(())
    } else {
        Err(document::not_strict(text.body))
    }
}

/// The value, checked in the same way.
pub(super) fn value(text: Text<'_>) -> Result<Value, EditError> {
    Document::read(text.body).map(|document| document.value)
}

/// Makes the splices, and lets the result out only if it is the document that was meant.
fn finish(
    text: Text<'_>,
    before: &Document<'_>,
    splices: &[Splice],
    expected: &Value,
    said: String,
) -> Result<Edited, EditError> {
    let body = splice::apply(text.body, splices);
    let wrong = |what: &str| {
        EditError::Refused(format!(
            "the edit cannot be made safely: its result {what}; make it with text_replace"
        ))
    };
    let after = Document::read(&body).map_err(|error| wrong(&format!("is broken ({error})")))?;
    if !document::same(&after.value, expected) {
        return Err(wrong("is not what was meant"));
    }
    if !before.grammar.allows(after.grammar) {
        return Err(wrong(
            "has comments or trailing commas, which were not there before",
        ));
    }
    Ok(Edited::whole(text.with(body), said))
}
