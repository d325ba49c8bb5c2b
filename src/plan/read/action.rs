//! One item of `action_plan` (001 §3.3).

use std::collections::HashSet;

use serde_json::Value;

use crate::plan::{
    limits::action_timeout,
    model::{Action, ActionId, Operation},
};
use crate::task::ActionType;

use super::{
    fields::{Fields, Found, Shape, quoted},
    findings::Subject,
    instructions::{RISKS, seconds},
    operation,
    rules::{self, Files},
};

/// The longest id, in bytes.
const LONGEST_ID: usize = 256;

/// The longest target that is told of an action, in bytes: no path of Linux is longer.
const LONGEST_TARGET: usize = 4096;

/// An id by which what it names can be told; one that is too long is in no report.
pub(super) fn short_id(id: &Value) -> Option<&str> {
    id.as_str().filter(|id| id.len() <= LONGEST_ID)
}

/// Reads an action. `None` if it is wrong, which was told.
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
    let kind = fields.need("action_type", "what to do, such as `FILE_MODIFY`");
    let kind = kind.and_then(|kind| kind.word(&types));
    let target = fields.need("target", "the file, relative to the root");
    let target = target.and_then(|target| target.path());
    let operation = fields.need("operation", "an object with `type` and its parameters");
    let operation = operation.and_then(|operation| operation::read(kind?, &operation));
    let depends_on = fields.texts("depends_on").unwrap_or_default();
    if fields.flag("reversible") == Some(false) {
        findings.note(format!(
            "`{place}.reversible` is false; a checkpoint is made all the same, and the action can be undone"
        ));
    }
    let risk = fields.word("risk_level", &RISKS);
    let said = fields.whole("timeout_seconds");
    let stays_at = match &operation {
        Some(Operation::Rename { to }) => Some(to),
        _ => target.as_ref(),
    };
    let rules = fields.get("validation_rules");
    let rules = rules.map(|list| rules::read(&list, stays_at, files));
    fields.descriptive(&[
        ("estimated_duration_ms", Shape::Number),
        ("description", Shape::Text),
    ]);
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

/// What of an action can be told even if it is wrong.
fn subject(item: &Value) -> Subject {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let kind = text("action_type");
    let id = item.get("action_id").and_then(short_id);
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
