//! Facts about edits, and the words to state them in.

mod growth;
mod json;
mod json_random;
mod parts;
mod paths;
mod places;
mod schema;
mod texts;
mod together;
mod yaml;
mod yaml_material;
mod yaml_random;

use serde_json::Value;

use super::{
    Budget, Count, Draft, Edit, EditError, Edited, JsonEdit, JsonPath, MissingKey, Pattern, Sought,
    YamlEdit,
};
use crate::task::{Failure, Fault, RelPath};

const FREE: Budget<'_> = Budget {
    most: u64::MAX,
    stopped: &|| None,
};

fn name(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn path(text: &str) -> JsonPath {
    JsonPath::parse(text).unwrap()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// One edit that is the only one of its file.
fn edit(change: &Edit, name: &RelPath, before: &[u8]) -> Result<Edited, EditError> {
    alone(super::edit(change, name, before, before, &FREE))
}

fn alone(edited: Result<Edited, EditError>) -> Result<Edited, EditError> {
    let edited = edited?;
    edited.broken.clone().map_or(Ok(edited), Err)
}

/// The text after an edit.
fn text(edited: Edited) -> String {
    String::from_utf8(edited.bytes).unwrap()
}

fn done(file: &str, change: &Edit, before: &str) -> String {
    text(edit(change, &name(file), before.as_bytes()).unwrap())
}

fn said(file: &str, change: &Edit, before: &str) -> String {
    edit(change, &name(file), before.as_bytes()).unwrap().said
}

fn error(file: &str, change: &Edit, before: &str) -> EditError {
    edit(change, &name(file), before.as_bytes()).unwrap_err()
}

/// The class of the refusal, and its words.
fn fault(file: &str, change: &Edit, before: &str) -> (Fault, String) {
    let failure = Failure::from(error(file, change, before));
    (failure.fault, failure.message)
}

fn literal(pattern: &str, replacement: &str, count: Count) -> Edit {
    Edit::TextReplace {
        pattern: Pattern::literal(pattern).unwrap(),
        replacement: replacement.to_owned(),
        count,
        sought: Sought::Pattern,
    }
}

fn once(pattern: &str, replacement: &str) -> Edit {
    literal(pattern, replacement, Count::Exactly(1))
}

fn regex(pattern: &str, replacement: &str, count: Count) -> Edit {
    Edit::TextReplace {
        pattern: Pattern::regex(pattern).unwrap(),
        replacement: replacement.to_owned(),
        count,
        sought: Sought::Pattern,
    }
}

fn insert(line: u64, content: &str) -> Edit {
    let content = content.to_owned();
    Edit::LineInsert { line, content }
}

fn delete(first: u64, last: u64) -> Edit {
    Edit::LineDelete { first, last }
}

fn add(place: &str, key: &str, new: &str) -> Edit {
    let (key, value) = (key.to_owned(), value(new));
    json(place, JsonEdit::Add { key, value })
}

fn remove(place: &str, key: &str) -> Edit {
    let key = key.to_owned();
    json(place, JsonEdit::Remove { key })
}

fn update(place: &str, new: &str) -> Edit {
    let value = value(new);
    json(place, JsonEdit::Update { value })
}

fn json(place: &str, edit: JsonEdit) -> Edit {
    let path = path(place);
    Edit::Json { path, edit }
}

/// Sets a value, or makes the last key of the path.
fn yaml_update(place: &str, new: &str) -> Edit {
    yaml_update_at(path(place), None, value(new))
}

fn yaml_update_at(path: JsonPath, document: Option<u64>, value: Value) -> Edit {
    let missing = MissingKey::Created;
    Edit::Yaml {
        path,
        document,
        edit: YamlEdit::Update { value, missing },
    }
}

/// Sets a value that must be there.
fn yaml_set(place: &str, new: &str) -> Edit {
    let missing = MissingKey::Refused;
    let value = value(new);
    yaml(place, YamlEdit::Update { value, missing })
}

fn yaml_append(place: &str, new: &str) -> Edit {
    let value = value(new);
    yaml(place, YamlEdit::Append { value })
}

fn yaml_remove(place: &str) -> Edit {
    yaml(place, YamlEdit::Remove)
}

fn json_append(place: &str, new: &str) -> Edit {
    let value = value(new);
    json(place, JsonEdit::Append { value })
}

fn yaml(place: &str, edit: YamlEdit) -> Edit {
    Edit::Yaml {
        path: path(place),
        document: None,
        edit,
    }
}
