//! What an action does: 001 §2.2's operations, 001 §A.1's edits, and the spellings where 001 is silent.

use std::fmt::Display;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    plan::{
        edit::{JsonPath, Pattern},
        model::{Count, Edit, Operation},
    },
    task::{ActionType, Fault},
};

use super::{
    fields::{Fields, listed, quoted},
    findings::Findings,
    paths,
};

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
pub(super) fn read(
    kind: ActionType,
    place: &str,
    value: &Value,
    findings: &mut Findings,
) -> Option<Operation> {
    let mut fields = Fields::of(place, value, findings)?.with_inner("details", findings);
    let operation = match kind {
        ActionType::FileCreate => {
            only(&mut fields, "create", findings);
            create(&mut fields, findings)
        }
        ActionType::FileDelete => only(&mut fields, "delete", findings).map(|()| Operation::Delete),
        ActionType::FileRename => {
            only(&mut fields, "rename", findings);
            let meaning = "where the file is to go, relative to the root";
            fields
                .need("new_path", meaning, findings)
                .and_then(|(place, value)| paths::read(&place, value, findings))
                .map(|to| Operation::Rename { to })
        }
        ActionType::FileModify => edit(kind, &mut fields, findings).map(Operation::Modify),
        ActionType::SchemaUpdate => edit(kind, &mut fields, findings).map(Operation::SchemaUpdate),
        ActionType::SqlExecute | ActionType::PipelineRun => {
            findings.problem(
                Fault::OperationNotBuiltIn,
                format!("`{place}`: {kind} is not built in; take the action out of the plan"),
            );
            return None;
        }
    };
    fields.finish(findings);
    operation
}

/// The one `type` that an operation of this action can have.
fn only(fields: &mut Fields<'_>, word: &'static str, findings: &mut Findings) -> Option<()> {
    fields.need("type", &format!("write `\"type\": \"{word}\"`"), findings)?;
    fields.word("type", &[(word, ())], findings)
}

fn create(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Operation> {
    let encodings = [("utf-8", false), ("base64", true)];
    let is_base64 = fields.word("encoding", &encodings, findings);
    let place = fields.place("content");
    let content = fields.need_text(
        "content",
        "the text of the new file, which may be empty",
        findings,
    );
    let mode = mode(fields, findings);
    let content = content?;
    let content = if is_base64.unwrap_or(false) {
        match STANDARD.decode(content) {
            Ok(bytes) => bytes,
            Err(error) => {
                findings.invalid(format!("`{place}` is not base64: {error}"));
                return None;
            }
        }
    } else {
        content.as_bytes().to_vec()
    };
    Some(Operation::Create { content, mode })
}

/// Permission bits as an octal text. A number is refused: 644 could mean two things.
fn mode(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<u32> {
    const OCTAL: &str = "permissions in octal as a text, such as \"0644\"";
    let (place, value) = fields.get("mode")?;
    let Some(text) = value.as_str() else {
        findings.wrong(&place, OCTAL, value);
        return None;
    };
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let octal =
        (3..=5).contains(&digits.len()) && digits.bytes().all(|c| (b'0'..=b'7').contains(&c));
    let Some(bits) = octal.then(|| u32::from_str_radix(digits, 8).ok()).flatten() else {
        findings.invalid(format!(
            "`{place}` must be {OCTAL}, and is {}",
            quoted(text)
        ));
        return None;
    };
    if bits > 0o777 {
        findings.problem(
            Fault::OperationNotAllowed,
            format!(
                "`{place}` is {}: a plan can set neither setuid nor setgid nor the sticky bit; 0777 is the most",
                quoted(text)
            ),
        );
        return None;
    }
    Some(bits)
}

fn edit(kind: ActionType, fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Edit> {
    let possible = EDITS.iter().filter(|(_, _, documents)| {
        kind == ActionType::FileModify || *documents == Documents::Schema
    });
    let possible: Vec<(&str, EditType)> = possible.map(|(name, edit, _)| (*name, *edit)).collect();
    let meaning = format!("one of {}", listed(possible.iter().map(|(name, _)| *name)));
    fields.need("type", &meaning, findings)?;
    match fields.word("type", &possible, findings)? {
        EditType::TextReplace => text_replace(fields, findings),
        EditType::LineInsert => {
            let line = fields.need_whole(
                "line_number",
                "the number the new line will have, from 1 on",
                findings,
            );
            let content = fields.need_text("content", "the line or lines to insert", findings);
            Some(Edit::LineInsert {
                line: line?,
                content: content?.to_owned(),
            })
        }
        EditType::LineDelete => {
            let first = fields.need_whole(
                "start_line",
                "the first line to delete, from 1 on",
                findings,
            );
            let last = fields.need_whole("end_line", "the last line to delete", findings);
            let (first, last) = (first?, last?);
            if last < first {
                findings.invalid(format!(
                    "`{}` is {last}, before `start_line`, which is {first}; both lines are deleted, too",
                    fields.place("end_line")
                ));
                return None;
            }
            Some(Edit::LineDelete { first, last })
        }
        EditType::JsonAdd => {
            let path = document_path(fields, findings);
            let key = fields.need_text("key", "the name of the property to add", findings);
            let value = any_value(fields, findings);
            Some(Edit::JsonAdd {
                path: path?,
                key: key?.to_owned(),
                value: value?,
            })
        }
        EditType::JsonRemove => {
            let path = document_path(fields, findings);
            let key = fields.need_text("key", "the name of the property to remove", findings);
            Some(Edit::JsonRemove {
                path: path?,
                key: key?.to_owned(),
            })
        }
        EditType::JsonUpdate => {
            let (path, value) = (document_path(fields, findings), any_value(fields, findings));
            Some(Edit::JsonUpdate {
                path: path?,
                value: value?,
            })
        }
        EditType::YamlUpdate => {
            let (path, value) = (document_path(fields, findings), any_value(fields, findings));
            let document = fields.whole("document", findings);
            Some(Edit::YamlUpdate {
                path: path?,
                document,
                value: value?,
            })
        }
    }
}

fn text_replace(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Edit> {
    let is_regex = fields.flag("regex", findings).unwrap_or(false);
    let place = fields.place("pattern");
    let pattern = fields
        .need_text("pattern", "the text to look for", findings)
        .and_then(|text| {
            let pattern = if is_regex {
                Pattern::regex(text)
            } else {
                Pattern::literal(text)
            };
            told(&place, pattern, findings)
        });
    let replacement = fields.need_text(
        "replacement",
        "the text to put there, which may be empty",
        findings,
    );
    let count = count(fields, findings);
    Some(Edit::TextReplace {
        pattern: pattern?,
        replacement: replacement?.to_owned(),
        count: count?,
    })
}

/// How often the pattern must be there: once, unless the plan says otherwise.
fn count(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Count> {
    let Some((place, value)) = fields.get("count") else {
        return Some(Count::Exactly(1));
    };
    if value.as_str() == Some("all") {
        return Some(Count::All);
    }
    let exactly = value.as_u64().filter(|count| *count >= 1);
    if exactly.is_none() {
        findings.wrong(
            &place,
            "how often the pattern is there (a whole number from 1 on) or \"all\"",
            value,
        );
    }
    exactly.map(Count::Exactly)
}

fn document_path(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<JsonPath> {
    let place = fields.place("path");
    let meaning = "the place in the document, such as `$.properties`";
    let text = fields.need_text("path", meaning, findings)?;
    told(&place, JsonPath::parse(text), findings)
}

fn any_value(fields: &mut Fields<'_>, findings: &mut Findings) -> Option<Value> {
    let found = fields.need("value", "any JSON value, `null` too", findings);
    found.map(|(_, value)| value.clone())
}

/// What an edit's part says of itself, with its place.
fn told<T, E: Display>(place: &str, part: Result<T, E>, findings: &mut Findings) -> Option<T> {
    part.map_err(|error| {
        findings.problem(Fault::PlanInvalid, format!("`{place}`: {error}"));
    })
    .ok()
}
