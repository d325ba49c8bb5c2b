//! One item of `action_plan` (001 §3.3): 001 §2.2's operations, and the spellings where 001 is silent.

mod operation;

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    plan::{
        limits::action_timeout,
        model::{Action, ActionId, Operation},
    },
    task::{ActionType, Failure, Found, quoted, redact_presigned},
};

use super::{
    fields::{Fields, NUMBER, TEXT, path},
    findings::{Findings, Named},
    instructions::{self, seconds},
    rules,
};

/// The longest id, in bytes.
const LONGEST_ID: usize = 256;

/// The longest target that a report contains, in bytes. No path of Linux is longer.
const LONGEST_TARGET: usize = 4096;

/// Where an action is: `action_plan[2]`.
pub(super) fn place(at: usize) -> String {
    format!("action_plan[{at}]")
}

/// What a report says of an action, even of an invalid one.
pub(super) fn named((at, item): (usize, &Value)) -> Named {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let id = item.get("action_id").and_then(fit_id);
    let target = text("target").filter(|target| target.len() <= LONGEST_TARGET);
    let said = |kind: &ActionType| text("action_type") == Some(kind.name());
    Named {
        id: ActionId(id.map_or_else(|| place(at), str::to_owned)),
        target: target.map(str::to_owned),
        operation: ActionType::ALL.into_iter().find(said),
    }
}

/// An id that a report can contain: it is short, and no link in it has credentials.
pub(super) fn fit_id(id: &Value) -> Option<&str> {
    let fits = |id: &&str| id.len() <= LONGEST_ID && redact_presigned(id) == **id;
    id.as_str().filter(fits)
}

/// Reads an id, which can be printed; `meaning` is what to give.
pub(super) fn id(found: &Found<'_>, meaning: &str) -> Result<String, Failure> {
    let id = found.text()?;
    let problem = if id.is_empty() {
        "is empty".to_owned()
    } else if id.len() > LONGEST_ID {
        format!("is longer than {LONGEST_ID} bytes")
    } else if id.chars().any(char::is_control) {
        format!("is {}, which has control characters", quoted(id))
    } else if fit_id(found.value).is_none() {
        let shown = quoted(&redact_presigned(id));
        format!("is {shown}, a URL with credentials, which the reports would contain")
    } else {
        return Ok(id.to_owned());
    };
    Err(found.wrong(format!("{problem}; give {meaning}")))
}

/// Reads an action; `None` if it is invalid, which is in the findings.
pub(super) fn read<'a>(item: &Found<'a>, findings: Findings<'a>) -> Option<Action> {
    let place = &item.place;
    let mut fields = Fields::of(item, findings)?;
    let meaning = "a name of its own, such as `a001`";
    let id = fields.required("action_id", meaning, |found| id(found, meaning));
    let types = ActionType::ALL.map(|kind| (kind.name(), kind));
    let meaning = "what to do, such as `FILE_MODIFY`";
    let kind = fields.required("action_type", meaning, |kind| kind.word(&types));
    let target = fields.required("target", "the file, relative to the root", path);
    let meaning = "an object with `type` and its parameters";
    let operation = fields.required("operation", meaning, |found| Ok(found.clone()));
    let operation = operation.and_then(|found| {
        let fields = Fields::of(&found, findings)?.with_inner("details");
        operation::read(kind?, target.as_ref(), fields)
    });
    let depends_on = fields.optional("depends_on", |list| list.each(Found::text));
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
    let rules = fields.get("validation_rules");
    let rules = rules.map(|list| rules::read(&list, stays_at, findings));
    fields.descriptive("estimated_duration_ms", NUMBER);
    fields.descriptive("description", TEXT);
    fields.finish();
    let (id, target, operation) = (id?, target?, operation?);
    let terms = action_timeout(operation.action_type());
    let what = format!("`{place}.timeout_seconds`");
    let mut seen = HashSet::new();
    let once = depends_on
        .into_iter()
        .flatten()
        .filter(|id| seen.insert(*id));
    Some(Action {
        timeout: seconds(&what, said, terms, findings),
        depends_on: once.map(|id| ActionId(id.to_owned())).collect(),
        risk: risk.unwrap_or_default(),
        rules: rules.unwrap_or_default(),
        id: ActionId(id),
        target,
        operation,
    })
}
