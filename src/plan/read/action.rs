//! One item of `action_plan` (001 §3.3).

use std::collections::HashSet;

use serde_json::Value;

use crate::plan::{
    limits::action_timeout,
    model::{Action, ActionId, Operation},
};

use crate::task::ActionType;

use super::{
    config::RISKS,
    fields::{Fields, Shape, quoted},
    findings::{Findings, Subject},
    instructions::seconds,
    operation, paths,
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
pub(super) fn read(
    at: usize,
    item: &Value,
    files: &Files<'_>,
    findings: &mut Findings,
) -> Option<Action> {
    findings.subject = subject(item);
    let place = place(at);
    let mut fields = Fields::of(&place, item, findings)?;
    let id = id(
        &mut fields,
        "action_id",
        "a name of its own, such as `a001`",
        findings,
    );
    let types = ActionType::ALL.map(|kind| (kind.name(), kind));
    let kind = fields
        .need("action_type", "what to do, such as `FILE_MODIFY`", findings)
        .and_then(|_| fields.word("action_type", &types, findings));
    let target = fields
        .need("target", "the file, relative to the root", findings)
        .and_then(|(place, value)| paths::read(&place, value, findings));
    let operation = fields
        .need(
            "operation",
            "an object with `type` and its parameters",
            findings,
        )
        .and_then(|(place, value)| operation::read(kind?, &place, value, findings));
    let depends_on = fields.texts("depends_on", findings).unwrap_or_default();
    if fields.flag("reversible", findings) == Some(false) {
        findings.note(format!(
            "`{place}.reversible` is false; a checkpoint is made all the same, and the action can be undone"
        ));
    }
    let risk = fields.word("risk_level", &RISKS, findings);
    let said = fields.whole("timeout_seconds", findings);
    let stays_at = match &operation {
        Some(Operation::Rename { to }) => Some(to),
        _ => target.as_ref(),
    };
    let rules = fields.list("validation_rules", findings);
    let rules = rules.map(|(place, items)| rules::read(&place, items, stays_at, files, findings));
    fields.descriptive(
        &[
            ("estimated_duration_ms", Shape::Number),
            ("description", Shape::Text),
        ],
        findings,
    );
    fields.finish(findings);
    let (id, target, operation) = (id?, target?, operation?);
    if let Operation::Rename { to } = &operation
        && *to == target
    {
        findings.invalid(format!("`{place}` renames `{target}` to itself"));
        return None;
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
pub(super) fn id(
    fields: &mut Fields<'_>,
    key: &'static str,
    meaning: &str,
    findings: &mut Findings,
) -> Option<String> {
    let place = fields.place(key);
    let id = fields.need_text(key, meaning, findings)?;
    let problem = if id.is_empty() {
        "is empty".to_owned()
    } else if id.len() > LONGEST_ID {
        format!("is longer than {LONGEST_ID} bytes")
    } else if id.chars().any(char::is_control) {
        format!("is {}, which has control characters", quoted(id))
    } else {
        return Some(id.to_owned());
    };
    findings.invalid(format!("`{place}` {problem}; give {meaning}"));
    None
}

fn unique(ids: &[&str]) -> Vec<ActionId> {
    let mut seen = HashSet::new();
    let first = ids.iter().filter(|id| seen.insert(**id));
    first.map(|id| ActionId((*id).to_owned())).collect()
}
