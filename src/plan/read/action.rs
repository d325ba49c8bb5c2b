//! One item of `action_plan` (001 §3.3): 001 §2.2's operations, 001 §A.1's edits, and the spellings where 001
//! is silent.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    plan::{
        edit::{Count, Counts, Edit, Index, JsonEdit, JsonPath, Patch, Pattern},
        limits::action_timeout,
        model::{Action, ActionId, ModeChange, Operation},
    },
    task::{ActionType, Fault, RelPath, redact_presigned},
};

use super::{
    fields::{Fields, Found, NUMBER, TEXT, listed, quoted},
    findings::Subject,
    instructions::{self, seconds},
    programs,
    rules::{self, Files},
};

/// The longest id, in bytes.
const LONGEST_ID: usize = 256;

/// The longest target that a report contains, in bytes. No path of Linux is longer.
const LONGEST_TARGET: usize = 4096;

/// An id that a report can contain: it is short, and no link in it has credentials.
pub(super) fn fit_id(id: &Value) -> Option<&str> {
    let fits = |id: &&str| id.len() <= LONGEST_ID && !has_credentials(id);
    id.as_str().filter(fits)
}

fn has_credentials(id: &str) -> bool {
    redact_presigned(id) != id
}

/// Reads an action; `None` if it is invalid, which is in the findings.
pub(super) fn read(item: &Found<'_>, files: &Files<'_>) -> Option<Action> {
    let findings = item.findings;
    findings.about(subject(item.value));
    let place = &item.place;
    let mut fields = item.fields()?;
    let id = id(
        &mut fields,
        "action_id",
        "a name of its own, such as `a001`",
    );
    let types = ActionType::ALL.map(|kind| (kind.name(), kind));
    let meaning = "what to do, such as `FILE_MODIFY`";
    let kind = fields.required("action_type", meaning, |kind| kind.word(&types));
    let target = fields.required("target", "the file, relative to the root", Found::path);
    let meaning = "an object with `type` and its parameters";
    let operation = fields.required("operation", meaning, |it| {
        read_operation(kind?, target.as_ref(), it)
    });
    let depends_on = fields
        .optional("depends_on", Found::texts)
        .unwrap_or_default();
    match (fields.optional("reversible", Found::flag), kind) {
        (Some(true), Some(ActionType::PipelineRun)) => findings.note(format!(
            "`{place}.reversible` is true, but a pipeline cannot be undone"
        )),
        (Some(false), Some(ActionType::PipelineRun)) | (Some(true) | None, _) => {}
        (Some(false), _) => findings.note(format!(
            "`{place}.reversible` is false; a checkpoint is made anyway, and the action can be undone"
        )),
    }
    let risk = fields.optional("risk_level", instructions::risk);
    let said = fields.optional("timeout_seconds", Found::whole);
    let stays_at = match &operation {
        Some(Operation::Rename { to }) => Some(to),
        Some(Operation::Sql(sql)) => sql.changes().last(),
        Some(Operation::Pipeline { .. }) => None,
        _ => target.as_ref(),
    };
    let rules = fields.optional("validation_rules", |list| {
        Some(rules::read(list, stays_at, files))
    });
    fields.descriptive(&[("estimated_duration_ms", NUMBER), ("description", TEXT)]);
    fields.finish();
    let (id, target, operation) = (id?, target?, operation?);
    if let Operation::Rename { to } = &operation
        && *to == target
    {
        return item.invalid(format!("renames `{target}` to itself"));
    }
    let (default, most) = action_timeout(operation.action_type());
    let what = format!("`{place}.timeout_seconds`");
    Some(Action {
        timeout: seconds(&what, said, default, most, findings),
        depends_on: unique(&depends_on),
        risk: risk.unwrap_or_default(),
        rules: rules.unwrap_or_default(),
        id: ActionId(id),
        target,
        operation,
    })
}

/// Where an action is: `action_plan[2]`.
pub(super) fn place(at: usize) -> String {
    format!("action_plan[{at}]")
}

/// What a report says of an action, even of an invalid one.
fn subject(item: &Value) -> Subject {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let kind = text("action_type");
    let id = item.get("action_id").and_then(fit_id);
    Subject {
        action: id.map(|id| ActionId(id.to_owned())),
        target: text("target")
            .filter(|target| target.len() <= LONGEST_TARGET)
            .map(str::to_owned),
        operation: ActionType::ALL
            .into_iter()
            .find(|operation| Some(operation.name()) == kind),
    }
}

/// A name that can be printed.
pub(super) fn id(fields: &mut Fields<'_>, key: &'static str, meaning: &str) -> Option<String> {
    let found = fields.need(key, meaning)?;
    let id = found.text()?;
    let problem = if id.is_empty() {
        "is empty".to_owned()
    } else if id.len() > LONGEST_ID {
        format!("is longer than {LONGEST_ID} bytes")
    } else if id.chars().any(char::is_control) {
        format!("is {}, which has control characters", quoted(id))
    } else if has_credentials(id) {
        let shown = quoted(&redact_presigned(id));
        format!("is {shown}, a URL with credentials, which the reports would contain")
    } else {
        return Some(id.to_owned());
    };
    found.invalid(format!("{problem}; give {meaning}"))
}

fn unique(ids: &[&str]) -> Vec<ActionId> {
    let mut seen = HashSet::new();
    let first = ids.iter().filter(|id| seen.insert(**id));
    first.map(|id| ActionId((*id).to_owned())).collect()
}

/// Reads `operation`; `None` if it is invalid, which is in the findings.
fn read_operation(
    kind: ActionType,
    target: Option<&RelPath>,
    found: &Found<'_>,
) -> Option<Operation> {
    let mut fields = found.fields()?.with_inner("details");
    let operation = match kind {
        ActionType::FileCreate => {
            let kinds: [(&str, ReadOperation); 2] = [("create", create), ("symlink", symlink)];
            let meaning = "one of `create`, `symlink`";
            let read = fields.required("type", meaning, |found| found.word(&kinds));
            read.and_then(|read| read(&mut fields))
        }
        ActionType::FileDelete => {
            only(&mut fields, "delete");
            let diff = if fields.has("diff") {
                Some(patch(target, &mut fields)?)
            } else {
                None
            };
            Some(Operation::Delete { diff })
        }
        ActionType::FileRename => {
            only(&mut fields, "rename");
            let meaning = "where the file is to go, relative to the root";
            let to = fields.required("new_path", meaning, Found::path);
            to.map(|to| Operation::Rename { to })
        }
        ActionType::FileModify if fields.says("type", "set_mode") => set_mode(&mut fields),
        ActionType::FileModify => edit(kind, target, &mut fields).map(Operation::Modify),
        ActionType::SchemaUpdate => edit(kind, target, &mut fields).map(Operation::SchemaUpdate),
        ActionType::SqlExecute => {
            only(&mut fields, "sql_execute");
            Some(Operation::Sql(programs::sql(target, &mut fields)))
        }
        ActionType::PipelineRun => {
            only(&mut fields, "pipeline_run");
            let parameters = fields.optional("parameters", Found::object);
            let parameters = parameters.unwrap_or_default();
            Some(Operation::Pipeline { parameters })
        }
    };
    fields.finish();
    operation
}

/// The one `type` that an operation of this action can have.
fn only(fields: &mut Fields<'_>, word: &'static str) -> Option<()> {
    let meaning = format!("write `\"type\": \"{word}\"`");
    fields.required("type", &meaning, |found| found.word(&[(word, ())]))
}

#[derive(Debug, Clone, Copy)]
enum Encoding {
    Utf8,
    Base64,
}

fn create(fields: &mut Fields<'_>) -> Option<Operation> {
    let encodings = [("utf-8", Encoding::Utf8), ("base64", Encoding::Base64)];
    let encoding = fields.optional("encoding", |found| found.word(&encodings));
    let found = fields.need("content", "the text of the new file, which may be empty");
    let content = found.as_ref().and_then(Found::text);
    let mode = fields.optional("mode", permissions);
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

fn symlink(fields: &mut Fields<'_>) -> Option<Operation> {
    let meaning = "where the link is to lead, from its own directory";
    let to = fields.required("to", meaning, |found| {
        let to = found.text()?;
        let fits = !to.is_empty() && !to.contains('\0');
        fits.then_some(to).or_else(|| found.invalid("is no path"))
    });
    to.map(|to| Operation::Link { to: to.to_owned() })
}

fn set_mode(fields: &mut Fields<'_>) -> Option<Operation> {
    fields.get("type");
    let meaning = "the permissions in octal as a text, such as \"0644\", or `+x` or `-x`";
    let change = fields.required("mode", meaning, |found| match found.value.as_str() {
        Some("+x") => Some(ModeChange::Executable),
        Some("-x") => Some(ModeChange::NotExecutable),
        _ => permissions(found).map(ModeChange::Exactly),
    });
    change.map(Operation::SetMode)
}

/// The diff of the file of the action.
fn patch(target: Option<&RelPath>, fields: &mut Fields<'_>) -> Option<Patch> {
    let counts = match fields.optional("recount", Found::flag) {
        Some(true) => Counts::Recounted,
        Some(false) | None => Counts::Binding,
    };
    let index = match fields.optional("require_index", Found::flag) {
        Some(true) => Index::Required,
        Some(false) | None => Index::Told,
    };
    let meaning = "a unified diff of this file";
    fields.required("diff", meaning, |found| {
        found.good(Patch::parse(found.text()?, target?, counts, index))
    })
}

/// Reads permission bits from an octal text. A number is refused, because 644 could be octal or decimal.
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

type ReadOperation = fn(&mut Fields<'_>) -> Option<Operation>;

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
];

fn edit(kind: ActionType, target: Option<&RelPath>, fields: &mut Fields<'_>) -> Option<Edit> {
    if kind == ActionType::FileModify && fields.says("type", "patch") {
        fields.get("type");
        return patch(target, fields).map(Edit::Patch);
    }
    let possible = EDITS.iter().filter(|(_, documents, _)| {
        kind == ActionType::FileModify || *documents == Documents::Schema
    });
    let possible: Vec<(&str, ReadEdit)> = possible.map(|(name, _, read)| (*name, *read)).collect();
    let beside = ["patch", "set_mode"]
        .into_iter()
        .filter(|_| kind == ActionType::FileModify);
    let names = possible.iter().map(|(name, _)| *name).chain(beside);
    let known = listed(names);
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

fn yaml_update(fields: &mut Fields<'_>) -> Option<Edit> {
    let (path, value) = (document_path(fields), any_value(fields));
    let document = fields.optional("document", Found::whole);
    Some(Edit::YamlUpdate {
        path: path?,
        document,
        value: value?,
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
