//! What an action does: 001 §2.2's operations with the edits of 001 §A.1, and the ones that 001 does not name.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    edit::{
        Count, DiffRules, Edit, JsonEdit, JsonPath, MissingKey, Patch, Pattern, Sought, YamlEdit,
    },
    plan::{
        model::{ModeChange, Operation},
        read::{
            fields::{Fields, path},
            programs,
        },
    },
    task::{
        ActionType::{
            self, FileCreate, FileDelete, FileModify, FileRename, PipelineRun, SchemaUpdate,
            SqlExecute,
        },
        Failure, Fault, Found, RelPath, listed, quoted,
    },
};

/// The target of the action, if it is valid.
type Target<'t> = Option<&'t RelPath>;

enum Read {
    Edit(fn(&mut Fields<'_>) -> Option<Edit>),
    Other(fn(&mut Fields<'_>, Target<'_>) -> Option<Operation>),
    /// Everything in it has a default.
    Program(fn(&mut Fields<'_>, Target<'_>) -> Operation),
}

const FILE: &[ActionType] = &[FileModify];
/// Also in a JSON or YAML schema.
const SCHEMA: &[ActionType] = &[FileModify, SchemaUpdate];

/// Every `type` of an operation, with the actions that can have it.
const OPERATIONS: &[(&str, &[ActionType], Read)] = &[
    ("text_replace", FILE, Read::Edit(text_replace)),
    ("line_insert", FILE, Read::Edit(line_insert)),
    ("line_delete", FILE, Read::Edit(line_delete)),
    ("json_add_property", SCHEMA, Read::Edit(json_add)),
    ("json_remove_property", SCHEMA, Read::Edit(json_remove)),
    ("json_update_value", SCHEMA, Read::Edit(json_update)),
    ("yaml_update", SCHEMA, Read::Edit(yaml_update)),
    ("json_append", SCHEMA, Read::Edit(json_append)),
    ("yaml_append", SCHEMA, Read::Edit(yaml_append)),
    ("yaml_remove", SCHEMA, Read::Edit(yaml_remove)),
    ("edit", FILE, Read::Edit(old_to_new)),
    ("replace_content", FILE, Read::Edit(replace_content)),
    ("patch", FILE, Read::Other(patch)),
    ("set_mode", FILE, Read::Other(set_mode)),
    ("create", &[FileCreate], Read::Other(create)),
    ("symlink", &[FileCreate], Read::Other(symlink)),
    ("delete", &[FileDelete], Read::Other(delete)),
    ("rename", &[FileRename], Read::Other(rename)),
    ("sql_execute", &[SqlExecute], Read::Program(programs::sql)),
    ("pipeline_run", &[PipelineRun], Read::Program(pipeline)),
];

/// Reads `operation`; `None` if it is invalid, which is in the findings.
pub(super) fn read(
    kind: ActionType,
    target: Target<'_>,
    mut fields: Fields<'_>,
) -> Option<Operation> {
    let possible = OPERATIONS.iter().filter(|(_, of, _)| of.contains(&kind));
    let words: Vec<(&str, &Read)> = possible.map(|(word, _, read)| (*word, read)).collect();
    let meaning = format!("one of {}", listed(words.iter().map(|(word, _)| *word)));
    let read = fields.required("type", &meaning, |found| found.word(&words));
    let operation = read.and_then(|read| match (read, kind) {
        (Read::Other(read), _) => read(&mut fields, target),
        (Read::Program(read), _) => Some(read(&mut fields, target)),
        (Read::Edit(read), SchemaUpdate) => read(&mut fields).map(Operation::SchemaUpdate),
        (Read::Edit(read), _) => read(&mut fields).map(Operation::Modify),
    });
    fields.finish();
    operation
}

fn create(fields: &mut Fields<'_>, _: Target<'_>) -> Option<Operation> {
    let mode = fields.optional("mode", permissions);
    let content = content(fields)?;
    Some(Operation::Create { content, mode })
}

/// The bytes of a whole file: `content`, in its `encoding`.
fn content(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    type Decode = fn(&str) -> Result<Vec<u8>, base64::DecodeError>;
    let plain: Decode = |text| Ok(text.as_bytes().to_vec());
    let encodings = [("utf-8", plain), ("base64", |text| STANDARD.decode(text))];
    let encoding = fields.optional("encoding", |found| found.word(&encodings));
    let meaning = "the text of the new file, which may be empty";
    fields.required("content", meaning, |found| {
        let decoded = encoding.unwrap_or(plain)(found.text()?);
        decoded.map_err(|error| found.wrong(format!("is not base64: {error}")))
    })
}

fn symlink(fields: &mut Fields<'_>, _: Target<'_>) -> Option<Operation> {
    let meaning = "where the link is to lead, from its own directory";
    fields.required("to", meaning, |found| match found.text()? {
        to if to.is_empty() || to.contains('\0') => Err(found.wrong("is no path")),
        to => Ok(Operation::Link { to: to.to_owned() }),
    })
}

fn delete(fields: &mut Fields<'_>, target: Target<'_>) -> Option<Operation> {
    let diff = match fields.get("diff") {
        Some(_) => Some(diff(fields, target)?),
        None => None,
    };
    Some(Operation::Delete { diff })
}

fn rename(fields: &mut Fields<'_>, target: Target<'_>) -> Option<Operation> {
    let meaning = "where the file is to go, relative to the root";
    fields.required("new_path", meaning, |found| match path(found)? {
        to if target == Some(&to) => Err(found.wrong(format!("renames `{to}` to itself"))),
        to => Ok(Operation::Rename { to }),
    })
}

fn pipeline(fields: &mut Fields<'_>, _: Target<'_>) -> Operation {
    let parameters = fields.optional("parameters", Found::object);
    let parameters = parameters.cloned().unwrap_or_default();
    Operation::Pipeline { parameters }
}

fn set_mode(fields: &mut Fields<'_>, _: Target<'_>) -> Option<Operation> {
    let meaning = "the permissions in octal as a text, such as \"0644\", or `+x` or `-x`";
    let change = fields.required("mode", meaning, |found| match found.value.as_str() {
        Some("+x") => Ok(ModeChange::Executable),
        Some("-x") => Ok(ModeChange::NotExecutable),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(found.wrong(format!("is {}; give {meaning}", quoted(text))))
        }
        _ => permissions(found).map(ModeChange::Exactly),
    });
    change.map(Operation::SetMode)
}

fn patch(fields: &mut Fields<'_>, target: Target<'_>) -> Option<Operation> {
    let patch = diff(fields, target)?;
    if patch.is_empty() {
        let place = fields.place("diff");
        let message = format!("`{place}` has no hunk, so nothing would change");
        fields.findings.invalid(message);
        return None;
    }
    Some(Operation::Modify(Edit::Patch(patch)))
}

/// The diff of the file of the action.
fn diff(fields: &mut Fields<'_>, target: Target<'_>) -> Option<Patch> {
    let rules = DiffRules {
        recount: fields.choice("recount", [false, true]),
        require_index: fields.choice("require_index", [false, true]),
    };
    let meaning = "a unified diff of this file";
    fields.required("diff", meaning, |found| {
        let parse = |file| found.fits(Patch::parse(found.text()?, file, rules));
        target.map(parse).transpose()
    })?
}

/// Reads permission bits from an octal text. A number is refused, because 644 could be octal or decimal.
fn permissions(found: &Found<'_>) -> Result<u32, Failure> {
    const OCTAL: &str = "permissions in octal as a text, such as \"0644\"";
    let text = found.value.as_str().ok_or_else(|| found.must_be(OCTAL))?;
    let digits = text.strip_prefix("0o").unwrap_or(text);
    let is_octal = (3..=5).contains(&digits.len()) && digits.bytes().all(|c| c.is_ascii_digit());
    match u32::from_str_radix(digits, 8) {
        Ok(bits @ ..=0o777) if is_octal => Ok(bits),
        Ok(_) if is_octal => Err(Failure::new(
            Fault::OperationNotAllowed,
            format!(
                "`{}` is {}: a plan can set neither setuid nor setgid nor the sticky bit; 0777 is the most",
                found.place,
                quoted(text)
            ),
        )),
        _ => Err(found.wrong(format!("must be {OCTAL}, and is {}", quoted(text)))),
    }
}

fn line_insert(fields: &mut Fields<'_>) -> Option<Edit> {
    let meaning = "the number the new line will have, from 1 on";
    let line = fields.required("line_number", meaning, Found::whole);
    let content = fields.required("content", "the line or lines to insert", Found::owned);
    let (line, content) = line.zip(content)?;
    Some(Edit::LineInsert { line, content })
}

fn line_delete(fields: &mut Fields<'_>) -> Option<Edit> {
    let meaning = "the first line to delete, from 1 on";
    let first = fields.required("start_line", meaning, Found::whole);
    let last = fields.required("end_line", "the last line to delete", |found| {
        match (found.whole()?, first) {
            (last, Some(first)) if last < first => Err(found.wrong(format!(
                "is {last}, before `start_line`, which is {first}; both lines are deleted, too"
            ))),
            (last, _) => Ok(last),
        }
    });
    let (first, last) = first.zip(last)?;
    Some(Edit::LineDelete { first, last })
}

fn json_add(fields: &mut Fields<'_>) -> Option<Edit> {
    let key = fields.required("key", "the name of the property to add", Found::owned);
    let value = any_value(fields);
    json(
        fields,
        key.zip(value)
            .map(|(key, value)| JsonEdit::Add { key, value }),
    )
}

fn json_remove(fields: &mut Fields<'_>) -> Option<Edit> {
    let key = fields.required("key", "the name of the property to remove", Found::owned);
    json(fields, key.map(|key| JsonEdit::Remove { key }))
}

fn json_update(fields: &mut Fields<'_>) -> Option<Edit> {
    let value = any_value(fields);
    json(fields, value.map(|value| JsonEdit::Update { value }))
}

fn json_append(fields: &mut Fields<'_>) -> Option<Edit> {
    let value = any_value(fields);
    json(fields, value.map(|value| JsonEdit::Append { value }))
}

fn json(fields: &mut Fields<'_>, edit: Option<JsonEdit>) -> Option<Edit> {
    let (path, edit) = document_path(fields).zip(edit)?;
    Some(Edit::Json { path, edit })
}

fn yaml_update(fields: &mut Fields<'_>) -> Option<Edit> {
    let value = any_value(fields);
    let missing = fields.choice("create", [MissingKey::Refused, MissingKey::Created]);
    let update = value.map(|value| YamlEdit::Update { value, missing });
    yaml(fields, update)
}

fn yaml_append(fields: &mut Fields<'_>) -> Option<Edit> {
    let value = any_value(fields);
    yaml(fields, value.map(|value| YamlEdit::Append { value }))
}

fn yaml_remove(fields: &mut Fields<'_>) -> Option<Edit> {
    yaml(fields, Some(YamlEdit::Remove))
}

fn yaml(fields: &mut Fields<'_>, edit: Option<YamlEdit>) -> Option<Edit> {
    let document = fields.optional("document", Found::whole);
    let (path, edit) = document_path(fields).zip(edit)?;
    Some(Edit::Yaml {
        path,
        document,
        edit,
    })
}

fn replace_content(fields: &mut Fields<'_>) -> Option<Edit> {
    content(fields).map(Edit::ReplaceContent)
}

/// `text_replace` of a literal, with the keys that other programs use.
fn old_to_new(fields: &mut Fields<'_>) -> Option<Edit> {
    let pattern = fields.required("old_string", "the text to look for", |found| {
        found.fits(Pattern::literal(found.text()?))
    });
    let meaning = "the text to put there, which may be empty";
    let replacement = fields.required("new_string", meaning, |found| {
        let text = found.owned()?;
        if matches!(&pattern, Some(Pattern::Literal(literal)) if *literal == text) {
            let problem = "is the same text as `old_string`, so nothing would change";
            return Err(found.wrong(problem));
        }
        Ok(text)
    });
    let count = fields.choice("replace_all", [Count::Exactly(1), Count::All]);
    Some(Edit::TextReplace {
        pattern: pattern?,
        replacement: replacement?,
        count,
        sought: Sought::OldString,
    })
}

fn text_replace(fields: &mut Fields<'_>) -> Option<Edit> {
    let parse = fields.choice("regex", [Pattern::literal, Pattern::regex]);
    let pattern = fields.required("pattern", "the text to look for", |found| {
        found.fits(parse(found.text()?))
    });
    let meaning = "the text to put there, which may be empty";
    let replacement = fields.required("replacement", meaning, Found::owned);
    let count = fields.optional("count", count);
    Some(Edit::TextReplace {
        pattern: pattern?,
        replacement: replacement?,
        // Once, unless the plan says otherwise.
        count: count.unwrap_or(Count::Exactly(1)),
        sought: Sought::Pattern,
    })
}

fn count(found: &Found<'_>) -> Result<Count, Failure> {
    let meaning = "how often the pattern is there (a whole number from 1 on) or \"all\"";
    match (found.value.as_str(), found.value.as_u64()) {
        (Some("all"), _) => Ok(Count::All),
        (_, Some(times @ 1..)) => Ok(Count::Exactly(times)),
        _ => Err(found.must_be(meaning)),
    }
}

fn document_path(fields: &mut Fields<'_>) -> Option<JsonPath> {
    let meaning = "the place in the document, such as `$.properties`";
    fields.required("path", meaning, |found| {
        found.fits(JsonPath::parse(found.text()?))
    })
}

fn any_value(fields: &mut Fields<'_>) -> Option<Value> {
    let meaning = "any JSON value, `null` too";
    fields.required("value", meaning, |found| Ok(found.value.clone()))
}
