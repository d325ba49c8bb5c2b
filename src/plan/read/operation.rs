//! What an action does: 001 §2.2's operations, 001 §A.1's edits, and the spellings where 001 is silent.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    plan::{
        edit::{Count, JsonPath, Pattern},
        model::{Edit, Operation},
    },
    task::{ActionType, Fault},
};

use super::fields::{Fields, Found, listed, quoted};

/// The edits of 001 §A.1, and the actions that may make them.
const EDITS: [(&str, EditType, Documents); 7] = [
    ("text_replace", EditType::TextReplace, Documents::Any),
    ("line_insert", EditType::LineInsert, Documents::Any),
    ("line_delete", EditType::LineDelete, Documents::Any),
    ("json_add_property", EditType::JsonAdd, Documents::Schema),
    (
        "json_remove_property",
        EditType::JsonRemove,
        Documents::Schema,
    ),
    ("json_update_value", EditType::JsonUpdate, Documents::Schema),
    ("yaml_update", EditType::YamlUpdate, Documents::Schema),
];

#[derive(Debug, Clone, Copy)]
enum EditType {
    TextReplace,
    LineInsert,
    LineDelete,
    JsonAdd,
    JsonRemove,
    JsonUpdate,
    YamlUpdate,
}

/// What an edit can be made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Documents {
    Any,
    /// Also in a JSON or YAML schema.
    Schema,
}

/// Reads `operation`. `None` if it is wrong, which was told.
pub(super) fn read(kind: ActionType, found: &Found<'_>) -> Option<Operation> {
    let mut fields = found.fields()?.with_inner("details");
    let operation = match kind {
        ActionType::FileCreate => {
            only(&mut fields, "create");
            create(&mut fields)
        }
        ActionType::FileDelete => only(&mut fields, "delete").map(|()| Operation::Delete),
        ActionType::FileRename => {
            only(&mut fields, "rename");
            let meaning = "where the file is to go, relative to the root";
            let to = fields.need("new_path", meaning);
            let to = to.and_then(|to| to.path());
            to.map(|to| Operation::Rename { to })
        }
        ActionType::FileModify => edit(kind, &mut fields).map(Operation::Modify),
        ActionType::SchemaUpdate => edit(kind, &mut fields).map(Operation::SchemaUpdate),
        ActionType::SqlExecute | ActionType::PipelineRun => {
            let place = &found.place;
            let message =
                format!("`{place}`: {kind} is not built in; take the action out of the plan");
            let findings = found.findings;
            findings.problem(Fault::OperationNotBuiltIn, message);
            return None;
        }
    };
    fields.finish();
    operation
}

/// The one `type` that an operation of this action can have.
fn only(fields: &mut Fields<'_>, word: &'static str) -> Option<()> {
    let found = fields.need("type", &format!("write `\"type\": \"{word}\"`"))?;
    found.word(&[(word, ())])
}

#[derive(Debug, Clone, Copy)]
enum Encoding {
    Utf8,
    Base64,
}

fn create(fields: &mut Fields<'_>) -> Option<Operation> {
    let encodings = [("utf-8", Encoding::Utf8), ("base64", Encoding::Base64)];
    let encoding = fields.word("encoding", &encodings);
    let found = fields.need("content", "the text of the new file, which may be empty");
    let content = found.as_ref().and_then(Found::text);
    let mode = fields.get("mode").and_then(|mode| permissions(&mode));
    let (found, content) = (found?, content?);
    let content = match encoding {
        Some(Encoding::Base64) => match STANDARD.decode(content) {
            Ok(bytes) => bytes,
            Err(error) => return found.invalid(format!("is not base64: {error}")),
        },
        Some(Encoding::Utf8) | None => content.as_bytes().to_vec(),
    };
    Some(Operation::Create { content, mode })
}

/// Permission bits as an octal text. A number is refused: 644 could mean two things.
fn permissions(found: &Found<'_>) -> Option<u32> {
    const OCTAL: &str = "permissions in octal as a text, such as \"0644\"";
    let Some(text) = found.value.as_str() else {
        return found.wrong(OCTAL);
    };
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let octal =
        (3..=5).contains(&digits.len()) && digits.bytes().all(|c| (b'0'..=b'7').contains(&c));
    let Some(bits) = octal.then(|| u32::from_str_radix(digits, 8).ok()).flatten() else {
        return found.invalid(format!("must be {OCTAL}, and is {}", quoted(text)));
    };
    if bits > 0o777 {
        found.findings.problem(
            Fault::OperationNotAllowed,
            format!(
                "`{}` is {}: a plan can set neither setuid nor setgid nor the sticky bit; 0777 is the most",
                found.place,
                quoted(text)
            ),
        );
        return None;
    }
    Some(bits)
}

fn edit(kind: ActionType, fields: &mut Fields<'_>) -> Option<Edit> {
    let possible = EDITS.iter().filter(|(_, _, documents)| {
        kind == ActionType::FileModify || *documents == Documents::Schema
    });
    let possible: Vec<(&str, EditType)> = possible.map(|(name, edit, _)| (*name, *edit)).collect();
    let meaning = format!("one of {}", listed(possible.iter().map(|(name, _)| *name)));
    match fields.need("type", &meaning)?.word(&possible)? {
        EditType::TextReplace => text_replace(fields),
        EditType::LineInsert => {
            let meaning = "the number the new line will have, from 1 on";
            let line = fields.need("line_number", meaning);
            let line = line.and_then(|line| line.whole());
            let content = fields.need_text("content", "the line or lines to insert");
            Some(Edit::LineInsert {
                line: line?,
                content: content?.to_owned(),
            })
        }
        EditType::LineDelete => {
            let first = fields.need("start_line", "the first line to delete, from 1 on");
            let first = first.and_then(|first| first.whole());
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
        EditType::JsonAdd => {
            let path = document_path(fields);
            let key = fields.need_text("key", "the name of the property to add");
            let value = any_value(fields);
            Some(Edit::JsonAdd {
                path: path?,
                key: key?.to_owned(),
                value: value?,
            })
        }
        EditType::JsonRemove => {
            let path = document_path(fields);
            let key = fields.need_text("key", "the name of the property to remove");
            Some(Edit::JsonRemove {
                path: path?,
                key: key?.to_owned(),
            })
        }
        EditType::JsonUpdate => {
            let (path, value) = (document_path(fields), any_value(fields));
            Some(Edit::JsonUpdate {
                path: path?,
                value: value?,
            })
        }
        EditType::YamlUpdate => {
            let (path, value) = (document_path(fields), any_value(fields));
            let document = fields.whole("document");
            Some(Edit::YamlUpdate {
                path: path?,
                document,
                value: value?,
            })
        }
    }
}

fn text_replace(fields: &mut Fields<'_>) -> Option<Edit> {
    let is_regex = fields.flag("regex").unwrap_or(false);
    let pattern = fields.need("pattern", "the text to look for");
    let pattern = pattern.and_then(|found| {
        let text = found.text()?;
        found.good(if is_regex {
            Pattern::regex(text)
        } else {
            Pattern::literal(text)
        })
    });
    let meaning = "the text to put there, which may be empty";
    let replacement = fields.need_text("replacement", meaning);
    // Once, unless the plan says otherwise.
    let count = match fields.get("count") {
        None => Some(Count::Exactly(1)),
        Some(found) => count(&found),
    };
    Some(Edit::TextReplace {
        pattern: pattern?,
        replacement: replacement?.to_owned(),
        count: count?,
    })
}

/// How often the pattern must be there.
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
    let found = fields.need("path", meaning)?;
    found.good(JsonPath::parse(found.text()?))
}

fn any_value(fields: &mut Fields<'_>) -> Option<Value> {
    let found = fields.need("value", "any JSON value, `null` too")?;
    Some(found.value.clone())
}
