//! Improvised actions: what the proposal of a grant asks for, what a call under a grant is, what an approval covers
//! (R-003-06, R-003-08), and what the action did, as a workflow is made of it (R-003-09).

use camino::Utf8Path;
use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    catalog::{Performed, Said, ToolJob, Trace, seal},
    envelope::{Received, read_response},
    executor::{Context, GrantWork, Hidden, Work},
    ledger::{
        Ask, Asked, AskedStep, Change, Effects, Improvisation, Made, Reading, Row, Signatures,
        Under, home,
    },
    task::{
        ApprovalRule, Grant, IMPROVISED, Need, Policy, Risk, Task, When, assess, canonical,
        hexadecimal,
    },
};

use super::OpenError;

/// Why an improvised action waits.
const ALWAYS: &str = "an improvised action is always approved by a person";

/// Why a call under a grant waits.
const NOT_COVERED: &str = "a grant covers no call of high risk";

/// The request for a grant, and its parameters as the ledger may show them. A grant is opened for each delivery anew.
pub(super) fn ask<'a>(grant: &GrantWork, base: Ask<'a>, hidden: &Hidden) -> (Ask<'a>, Value) {
    let lasts = SignedDuration::try_from(grant.lasts).unwrap_or_default();
    let entries: Vec<&String> = grant.entries.keys().collect();
    let parameters = json!({
        "plan_summary": grant.summary, "entries": entries, "max_calls": grant.max_calls, "for": format!("{lasts:#}"),
    });
    let args = hidden.value(parameters.clone());
    let shown = (args != parameters).then(|| object(&args));
    let seals = canonical(&json!(grant.entries)).unwrap_or_default();
    let ask = Ask {
        asked: Asked {
            steps: vec![AskedStep {
                entry: IMPROVISED.to_owned(),
                parameters: object(&parameters).unwrap_or_default(),
                shown: shown.flatten(),
                signatures: Signatures::Counted,
                ..AskedStep::default()
            }],
            salt: grant.salt.clone(),
            ..Asked::default()
        },
        entry_digest: hexadecimal(&Sha256::digest(seals)),
        effects: Effects::Idempotent,
        strictest: Effects::Idempotent,
        change: Change::Nothing,
        ..base
    };
    (ask, args)
}

/// The operation under whose grant the task is.
pub(super) fn operation(received: &Received) -> Option<&str> {
    match &received.task {
        Ok(Task::Capabilities(task)) => task.under.as_deref(),
        _ => None,
    }
}

/// The call of the only capability of a task, as its grant has to cover it.
pub(super) fn under<'a>(
    received: &'a Received,
    work: &Work,
    context: &Context<'_>,
) -> Option<Under<'a>> {
    let access = match work {
        Work::Tools(ready) => ready.job.steps.first().map(|step| &step.entry.access),
        Work::Files(files) => files.order.entry().map(|entry| &entry.access),
        Work::Grant(_) | Work::Said(_) => None,
    };
    Some(Under {
        operation_id: operation(received)?,
        seal: access.map(seal).unwrap_or_default(),
        home: root(context),
    })
}

/// The name of the root. A root without a name counts by its path.
pub(super) fn root(context: &Context<'_>) -> String {
    root_of(context.state_dir, context.root)
}

pub(super) fn root_of(state_dir: &Utf8Path, root: &Utf8Path) -> String {
    home(state_dir, root).unwrap_or_else(|| root.to_string())
}

/// The policy of an improvised action, with the reasons why it waits.
pub(super) fn asked<'a>(
    mut policy: Policy,
    apart: impl Iterator<Item = (&'a str, Risk)>,
) -> Policy {
    policy.because.push(ALWAYS.to_owned());
    policy.because.extend(apart.map(|(id, risk)| {
        format!("it does not cover {id}, whose risk is {risk}: each such call waits for an approval of its own")
    }));
    policy
}

/// The steps that the approval of an improvised action does not cover.
pub(super) fn apart(job: &ToolJob) -> impl Iterator<Item = (&str, Risk)> {
    let each = job.steps.iter().map(|step| {
        let risk = assess(&step.entry.gated().hazards).risk;
        (step.entry.id.as_str(), risk)
    });
    each.filter(|(_, risk)| *risk >= Grant::NOT_COVERED)
}

/// The rule of a step of an approved improvised action. The action was approved under the rules of all its steps.
pub(super) fn of_step(rule: ApprovalRule) -> ApprovalRule {
    ApprovalRule {
        when: When::From(Grant::NOT_COVERED),
        ..rule
    }
}

/// The policy of a call under a grant. The approval of the grant was given under the rules of the entry, so it is
/// enough for a call below high risk.
pub(super) fn covered(mut policy: Policy) -> Policy {
    if policy.risk < Grant::NOT_COVERED {
        policy.need = Need::None;
    } else {
        policy.need = Need::Approval;
        policy.because.push(NOT_COVERED.to_owned());
    }
    policy
}

/// The successful calls of an improvised action, in their order; or why they are not known.
pub(crate) fn trace(reading: &mut Reading, operation: &str) -> Result<Trace, OpenError> {
    let Improvisation { row, link, calls } = reading.improvised(operation)?;
    let calls = match calls {
        None => declared(&row),
        Some(rows) => {
            let each = (1..).zip(&rows).map(|(number, row)| call(number, row));
            each.collect()
        }
    };
    let calls = calls.ok_or_else(|| OpenError::Forgotten(row.operation_id.clone()))?;
    Ok(Trace {
        operation: row.operation_id,
        link: link.seq,
        entry_hash: link.entry_hash,
        calls,
    })
}

/// A call under a grant. None if its request was pruned.
fn call(number: usize, row: &Row) -> Option<Performed> {
    let request = request(row)?;
    let made = row.made().into_iter().find(Made::is_asset);
    let response = row.response.as_deref().and_then(read_response);
    Some(Performed {
        id: format!("step_{number}"),
        entry: row.action_type.clone()?,
        parameters: object(request.get("args")?)?,
        said: Said::Values,
        inputs: inputs(&request),
        asset: made.map(|made| made.storage_uri),
        result: response.and_then(|response| response.result_data),
    })
}

/// The declared steps. They contain their references already.
fn declared(row: &Row) -> Option<Vec<Performed>> {
    let request = request(row)?;
    let steps = request.pointer("/args/steps")?.as_array()?.iter();
    let step = |step: &Value| {
        let text = |key: &str| step.get(key)?.as_str().map(ToOwned::to_owned);
        Some(Performed {
            id: text("id")?,
            entry: text("name")?,
            parameters: object(step.get("parameters")?)?,
            said: Said::References,
            inputs: inputs(&request),
            asset: None,
            result: None,
        })
    };
    steps.map(step).collect()
}

fn request(row: &Row) -> Option<Value> {
    serde_json::from_str(row.request.as_deref()?).ok()
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

fn inputs(request: &Value) -> Vec<(String, String)> {
    let inputs = request.pointer("/context/inputs").and_then(Value::as_array);
    let text = |input: &Value, key: &str| input.get(key)?.as_str().map(ToOwned::to_owned);
    let input = |input: &Value| Some((text(input, "ref_id")?, text(input, "storage_uri")?));
    inputs.into_iter().flatten().filter_map(input).collect()
}
