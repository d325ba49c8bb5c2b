//! What a person approves: the calls as they would be made, and the contents of their inputs.

use serde_json::{Map, Value, json};

use crate::{
    assets::print,
    catalog::{Step, referring},
    executor::{Context, Hidden, Ready},
    ledger::{Ask, Asked, AskedStep, Ledger, LedgerError, Signatures},
    task::{Input, Links, Sight, Uri, canonical},
};

use super::ask::each;

/// The hash of the calls as they would be made, and their parameters for people.
pub(super) fn intended(
    ledger: &mut Ledger<'_>,
    ask: &Ask<'_>,
    ready: &Ready,
    hidden: &Hidden,
    context: &Context<'_>,
) -> Result<(String, Value), LedgerError> {
    let steps = ready.job.steps.iter();
    let mut inputs: Vec<Value> = steps.map(|step| contents(step, context)).collect();
    let mut effective = ask.asked.clone();
    if ready.job.is_improvised() {
        effective.steps.splice(0..0, each(&ready.job, hidden));
        inputs.push(Value::Null);
    }
    let args = complete(&mut effective, ready, hidden);
    let args = match args.as_slice() {
        [(_, shown)] if !ready.job.is_improvised() => shown.clone(),
        several => together(&whole(ask), several),
    };
    Ok((ledger.intent(ask, effective, &inputs)?, args))
}

/// Completes the steps of the request as they would be sent. Returns the id and the parameters of each for people.
fn complete(effective: &mut Asked, ready: &Ready, hidden: &Hidden) -> Vec<(String, Value)> {
    let steps = effective.steps.iter_mut().zip(&ready.job.steps);
    let complete = |(asked, step): (&mut AskedStep, &Step)| {
        asked.parameters = referring(step);
        asked.parameters.extend(step.adjusted.clone());
        // A person approves what is sent, so nothing of it is left out.
        asked.volatile.clear();
        asked.signatures = Signatures::Counted;
        if let Input::Given(given) = &step.input {
            asked.answers = Some(json!([asked.answers, given.request_state]));
        }
        let shown = hidden.shown(&step.entry, &asked.parameters);
        asked.shown = (shown != asked.parameters).then(|| shown.clone());
        (step.entry.id.clone(), Value::Object(shown))
    };
    steps.map(complete).collect()
}

/// The parameters of an improvised action for people: those of each step are at its number and its entry.
fn together(whole: &Value, steps: &[(String, Value)]) -> Value {
    let mut entries: Vec<&String> = steps.iter().map(|(id, _)| id).collect();
    entries.sort();
    entries.dedup();
    let mut all = json!({"plan_summary": whole.get("plan_summary"), "entries": entries});
    let each = (1..).zip(steps);
    let each = each.map(|(number, (id, shown))| (format!("{number} {id}"), shown.clone()));
    if let Some(all) = all.as_object_mut() {
        all.extend(each);
    }
    all
}

/// The parameters of a request that is one, without secrets.
pub(super) fn whole(ask: &Ask<'_>) -> Value {
    let shown = ask
        .asked
        .steps
        .first()
        .map(|step| step.shown.as_ref().unwrap_or(&step.parameters));
    Value::Object(shown.cloned().unwrap_or_default())
}

/// The content of each asset that a step gets, by parameter. A local file that can be opened but is not read completely is
/// described by the facts of the file system. Null if it cannot be opened.
fn contents(step: &Step, context: &Context<'_>) -> Value {
    let content = |uri: &str| {
        let uri = Uri::parse(uri).ok()?;
        let print = print::print(&uri, context.root, Links::Followed, &|| {
            context.go_on().is_ok()
        });
        match print.sight {
            Sight::Content(content) => Some(format!("blake3:{}", content.blake3)),
            Sight::Absent | Sight::Unknown => {
                let stat = print::stat(&uri, context.root, Links::Followed)?;
                Some(format!("unread:{}", canonical(&json!(stat)).ok()?))
            }
        }
    };
    let each = step
        .assets()
        .map(|(parameter, uri)| (parameter.to_owned(), json!(content(uri))));
    Value::Object(each.collect::<Map<_, _>>())
}
