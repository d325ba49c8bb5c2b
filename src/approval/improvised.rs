//! Improvised actions: what the proposal of a grant asks for, what a call under a grant is, and what an approval covers
//! (R-003-06, R-003-08).

use camino::Utf8Path;
use jiff::SignedDuration;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    catalog::{Access, ToolJob},
    envelope::Received,
    executor::{Context, GrantWork, Hidden, Work},
    ledger::{Ask, Asked, AskedStep, Effects, Signatures, StateChange, Under, home},
    task::{
        ApprovalRule, Grant, IMPROVISED, Need, Policy, Risk, Task, When, assess, canonical,
        hexadecimal,
    },
};

/// Why an improvised action waits.
const ALWAYS: &str = "an improvised action is always approved by a person";

/// Why a call under a grant waits.
const NOT_COVERED: &str = "a grant covers no call of high risk";

/// The request for a grant, and its parameters as the ledger may show them. A grant is opened for each delivery anew.
pub(crate) fn ask<'a>(grant: &GrantWork, base: Ask<'a>, hidden: &Hidden) -> (Ask<'a>, Value) {
    let lasts = SignedDuration::try_from(grant.lasts).unwrap_or_default();
    let entries: Vec<&String> = grant.entries.keys().collect();
    let parameters = json!({
        "plan_summary": grant.summary, "entries": entries, "max_calls": grant.max_calls, "for": format!("{lasts:#}"),
    });
    let args = hidden.value(parameters.clone());
    let shown = (args != parameters).then(|| args.as_object().cloned());
    let seals = canonical(&json!(grant.entries)).unwrap_or_default();
    let ask = Ask {
        asked: Asked {
            steps: vec![AskedStep {
                entry: IMPROVISED.to_owned(),
                parameters: parameters.as_object().cloned().unwrap_or_default(),
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
        change: StateChange::Nothing,
        ..base
    };
    (ask, args)
}

/// The operation under whose grant the task is.
pub(crate) fn operation(received: &Received) -> Option<&str> {
    match &received.task {
        Ok(Task::Capabilities(task)) => task.under.as_deref(),
        _ => None,
    }
}

/// The call of the only capability of a task, as its grant has to cover it.
pub(crate) fn under<'a>(
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
        seal: access.map(Access::seal).unwrap_or_default(),
        home: root(context),
    })
}

/// The name of the root. A root without a name counts by its path.
pub(crate) fn root(context: &Context<'_>) -> String {
    root_of(context.state_dir, context.desk.root)
}

pub(crate) fn root_of(state_dir: &Utf8Path, root: &Utf8Path) -> String {
    home(state_dir, root).unwrap_or_else(|| root.to_string())
}

/// The policy of an improvised action, with the reasons why it waits.
pub(crate) fn asked<'a>(
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
pub(crate) fn apart(job: &ToolJob) -> impl Iterator<Item = (&str, Risk)> {
    let each = job.steps.iter().map(|step| {
        let risk = assess(&step.entry.gated().hazards).risk;
        (step.entry.id.as_str(), risk)
    });
    each.filter(|(_, risk)| *risk >= Grant::NOT_COVERED)
}

/// The rule of a step of an approved improvised action. The action was approved under the rules of all its steps.
pub(crate) fn of_step(rule: ApprovalRule) -> ApprovalRule {
    ApprovalRule {
        when: When::From(Grant::NOT_COVERED),
        ..rule
    }
}

/// The policy of a call under a grant. The approval of the grant was given under the rules of the entry, so it is
/// enough for a call below high risk.
pub(crate) fn covered(mut policy: Policy) -> Policy {
    if policy.risk < Grant::NOT_COVERED {
        policy.need = Need::None;
    } else {
        policy.need = Need::Approval;
        policy.because.push(NOT_COVERED.to_owned());
    }
    policy
}
