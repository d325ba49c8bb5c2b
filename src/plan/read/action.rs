//! One item of `action_plan` (001 §3.3): 001 §2.2's operations, and the spellings where 001 is silent.

mod edits;

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    edit::{DiffRules, Edit, Patch},
    plan::{
        limits::action_timeout,
        model::{Action, ActionId, ModeChange, Operation},
    },
    task::{ActionType, Fault, RelPath, redact_presigned},
};

use edits::edit;

use super::{
    fields::{Fields, Found, NUMBER, TEXT, quoted},
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
        ActionType::FileModify if fields.says("type", "patch") => {
            fields.get("type");
            let patch = patch(target, &mut fields)?;
            if patch.is_empty() {
                return found.invalid("has a `diff` without a hunk");
            }
            Some(patch).map(|patch| Operation::Modify(Edit::Patch(patch)))
        }
        ActionType::FileModify => edit(kind, &mut fields).map(Operation::Modify),
        ActionType::SchemaUpdate => edit(kind, &mut fields).map(Operation::SchemaUpdate),
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
    let mode = fields.optional("mode", permissions);
    let content = content(fields)?;
    Some(Operation::Create { content, mode })
}

/// The bytes of a whole file: `content`, in its `encoding`.
fn content(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    let encodings = [("utf-8", Encoding::Utf8), ("base64", Encoding::Base64)];
    let encoding = fields.optional("encoding", |found| found.word(&encodings));
    let found = fields.need("content", "the text of the new file, which may be empty")?;
    let content = found.text()?;
    match encoding {
        Some(Encoding::Base64) => match STANDARD.decode(content) {
            Ok(bytes) => Some(bytes),
            Err(error) => found.invalid(format!("is not base64: {error}")),
        },
        Some(Encoding::Utf8) | None => Some(content.as_bytes().to_vec()),
    }
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
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            found.invalid(format!("is {}; give {meaning}", quoted(text)))
        }
        _ => permissions(found).map(ModeChange::Exactly),
    });
    change.map(Operation::SetMode)
}

/// The diff of the file of the action.
fn patch(target: Option<&RelPath>, fields: &mut Fields<'_>) -> Option<Patch> {
    let recount = fields.optional("recount", Found::flag);
    let require_index = fields.optional("require_index", Found::flag);
    let rules = DiffRules {
        recount: recount.unwrap_or_default(),
        require_index: require_index.unwrap_or_default(),
    };
    let meaning = "a unified diff of this file";
    fields.required("diff", meaning, |found| {
        found.good(Patch::parse(found.text()?, target?, rules))
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
