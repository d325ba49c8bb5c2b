//! The edits of a file (001 §A.1), and the ones that 001 does not name.

use serde_json::Value;

use crate::{
    edit::{Count, Edit, JsonEdit, JsonPath, MissingKey, Pattern, Sought, YamlEdit},
    task::ActionType,
};

use super::{
    super::fields::{Fields, Found, listed},
    content,
};

type ReadEdit = fn(&mut Fields<'_>) -> Option<Edit>;

/// In which files an edit can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Documents {
    Any,
    /// Also in a JSON or YAML schema.
    Schema,
}

const EDITS: &[(&str, Documents, ReadEdit)] = &[
    ("text_replace", Documents::Any, text_replace),
    ("line_insert", Documents::Any, line_insert),
    ("line_delete", Documents::Any, line_delete),
    ("json_add_property", Documents::Schema, json_add),
    ("json_remove_property", Documents::Schema, json_remove),
    ("json_update_value", Documents::Schema, json_update),
    ("yaml_update", Documents::Schema, yaml_update),
    ("json_append", Documents::Schema, json_append),
    ("yaml_append", Documents::Schema, yaml_append),
    ("yaml_remove", Documents::Schema, yaml_remove),
    ("edit", Documents::Any, old_to_new),
    ("replace_content", Documents::Any, replace_content),
];

pub(super) fn edit(kind: ActionType, fields: &mut Fields<'_>) -> Option<Edit> {
    let possible = EDITS.iter().filter(|(_, documents, _)| {
        kind == ActionType::FileModify || *documents == Documents::Schema
    });
    let possible: Vec<(&str, ReadEdit)> = possible.map(|(name, _, read)| (*name, *read)).collect();
    // These are read with the file of the action.
    let beside = ["patch", "set_mode"].into_iter();
    let beside = beside.filter(|_| kind == ActionType::FileModify);
    let known = listed(possible.iter().map(|(name, _)| *name).chain(beside));
    let meaning = format!("one of {known}");
    let read = fields.required("type", &meaning, |found| found.word_of(&possible, &known))?;
    read(fields)
}

fn line_insert(fields: &mut Fields<'_>) -> Option<Edit> {
    let meaning = "the number the new line will have, from 1 on";
    let line = fields.required("line_number", meaning, Found::whole);
    let content = fields.required("content", "the line or lines to insert", Found::text);
    Some(Edit::LineInsert {
        line: line?,
        content: content?.to_owned(),
    })
}

fn line_delete(fields: &mut Fields<'_>) -> Option<Edit> {
    let meaning = "the first line to delete, from 1 on";
    let first = fields.required("start_line", meaning, Found::whole);
    let end = fields.need("end_line", "the last line to delete");
    let last = end.as_ref().and_then(Found::whole);
    let (first, end, last) = (first?, end?, last?);
    if last < first {
        return end.invalid(format!(
            "is {last}, before `start_line`, which is {first}; both lines are deleted, too"
        ));
    }
    Some(Edit::LineDelete { first, last })
}

fn json_add(fields: &mut Fields<'_>) -> Option<Edit> {
    let path = document_path(fields);
    let key = fields.required("key", "the name of the property to add", Found::text);
    let value = any_value(fields);
    let (key, value) = (key?.to_owned(), value?);
    json(path, JsonEdit::Add { key, value })
}

fn json_remove(fields: &mut Fields<'_>) -> Option<Edit> {
    let path = document_path(fields);
    let key = fields.required("key", "the name of the property to remove", Found::text);
    let key = key?.to_owned();
    json(path, JsonEdit::Remove { key })
}

fn json_update(fields: &mut Fields<'_>) -> Option<Edit> {
    let (path, value) = (document_path(fields), any_value(fields));
    json(path, JsonEdit::Update { value: value? })
}

fn json(path: Option<JsonPath>, edit: JsonEdit) -> Option<Edit> {
    path.map(|path| Edit::Json { path, edit })
}

fn json_append(fields: &mut Fields<'_>) -> Option<Edit> {
    let (path, value) = (document_path(fields), any_value(fields));
    json(path, JsonEdit::Append { value: value? })
}

fn yaml_update(fields: &mut Fields<'_>) -> Option<Edit> {
    let value = any_value(fields);
    let missing = match fields.optional("create", Found::flag) {
        Some(true) => MissingKey::Created,
        Some(false) | None => MissingKey::Refused,
    };
    yaml(
        fields,
        value.map(|value| YamlEdit::Update { value, missing }),
    )
}

fn yaml_append(fields: &mut Fields<'_>) -> Option<Edit> {
    let value = any_value(fields);
    yaml(fields, value.map(|value| YamlEdit::Append { value }))
}

fn yaml_remove(fields: &mut Fields<'_>) -> Option<Edit> {
    yaml(fields, Some(YamlEdit::Remove))
}

fn yaml(fields: &mut Fields<'_>, edit: Option<YamlEdit>) -> Option<Edit> {
    let path = document_path(fields);
    let document = fields.optional("document", Found::whole);
    Some(Edit::Yaml {
        path: path?,
        document,
        edit: edit?,
    })
}

fn replace_content(fields: &mut Fields<'_>) -> Option<Edit> {
    content(fields).map(Edit::ReplaceContent)
}

/// `text_replace` of a literal, with the keys that other programs use.
fn old_to_new(fields: &mut Fields<'_>) -> Option<Edit> {
    let pattern = fields.required("old_string", "the text to look for", |found| {
        found.good(Pattern::literal(found.text()?))
    });
    let meaning = "the text to put there, which may be empty";
    let replacement = fields.required("new_string", meaning, |found| {
        let text = found.text()?;
        if matches!(&pattern, Some(Pattern::Literal(literal)) if literal == text) {
            return found.invalid("is the same text as `old_string`, so nothing would change");
        }
        Some(text)
    });
    let count = match fields.optional("replace_all", Found::flag) {
        Some(true) => Count::All,
        Some(false) | None => Count::Exactly(1),
    };
    Some(Edit::TextReplace {
        pattern: pattern?,
        replacement: replacement?.to_owned(),
        count,
        sought: Sought::OldString,
    })
}

fn text_replace(fields: &mut Fields<'_>) -> Option<Edit> {
    let is_regex = fields.optional("regex", Found::flag).unwrap_or(false);
    let pattern = fields.required("pattern", "the text to look for", |found| {
        let text = found.text()?;
        found.good(if is_regex {
            Pattern::regex(text)
        } else {
            Pattern::literal(text)
        })
    });
    let meaning = "the text to put there, which may be empty";
    let replacement = fields.required("replacement", meaning, Found::text);
    // Once, unless the plan says otherwise.
    let count = match fields.get("count") {
        None => Some(Count::Exactly(1)),
        Some(found) => count(&found),
    };
    Some(Edit::TextReplace {
        pattern: pattern?,
        replacement: replacement?.to_owned(),
        count: count?,
        sought: Sought::Pattern,
    })
}

fn count(found: &Found<'_>) -> Option<Count> {
    const MEANING: &str = "how often the pattern is there (a whole number from 1 on) or \"all\"";
    match (found.value.as_str(), found.value.as_u64()) {
        (Some("all"), _) => Some(Count::All),
        (_, Some(times @ 1..)) => Some(Count::Exactly(times)),
        _ => found.wrong(MEANING),
    }
}

fn document_path(fields: &mut Fields<'_>) -> Option<JsonPath> {
    let meaning = "the place in the document, such as `$.properties`";
    fields.required("path", meaning, |found| {
        found.good(JsonPath::parse(found.text()?))
    })
}

fn any_value(fields: &mut Fields<'_>) -> Option<Value> {
    let meaning = "any JSON value, `null` too";
    fields.required("value", meaning, |found| Some(found.value.clone()))
}
