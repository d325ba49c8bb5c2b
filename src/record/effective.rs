//! What a person approves: the calls as they would be made, and the contents of their inputs.

use serde_json::{Map, Value, json};

use crate::{
    assets::print,
    catalog::Step,
    executor::{Context, Hidden, Ready},
    ledger::{Ask, Asked, Ledger, LedgerError, Signatures},
    task::{Input, Links, Sight, Uri, numbered},
};

/// The hash of the calls as they would be made, and their parameters for people.
pub(super) fn intended(
    ledger: &mut Ledger<'_>,
    ask: &Ask<'_>,
    ready: &Ready,
    hidden: &Hidden,
    context: &Context<'_>,
) -> Result<(String, Value), LedgerError> {
    let (effective, args) = effective(ask, ready, hidden);
    let steps = ready.job.steps.iter();
    let inputs: Vec<Value> = steps.map(|step| contents(step, context)).collect();
    Ok((ledger.intent(ask, effective, &inputs)?, args))
}

/// The calls as they would be made, for the hash; and their parameters for people.
fn effective(ask: &Ask<'_>, ready: &Ready, hidden: &Hidden) -> (Asked, Value) {
    let mut effective = ask.asked.clone();
    let mut args = Vec::new();
    for (asked, step) in effective.steps.iter_mut().zip(&ready.job.steps) {
        asked.parameters.extend(step.adjusted.clone());
        // A person approves what is sent, so nothing of it is left out.
        asked.volatile.clear();
        asked.signatures = Signatures::Counted;
        if let Input::Given(given) = &step.input {
            asked.answers = Some(json!([asked.answers, given.request_state]));
        }
        let shown = hidden.shown(&step.entry, &asked.parameters);
        asked.shown = (shown != asked.parameters).then(|| shown.clone());
        args.push((step.entry.id.clone(), Value::Object(shown)));
    }
    if let [(_, shown)] = args.as_mut_slice() {
        return (effective, shown.take());
    }
    let names = numbered(args.iter().map(|(id, _)| id.as_str()));
    let shown = args.iter().map(|(_, shown)| shown.clone());
    let named = names.into_iter().zip(shown).collect();
    (effective, Value::Object(named))
}

/// The parameters of a plan, without secrets.
pub(super) fn whole(ask: &Ask<'_>) -> Value {
    let shown = ask
        .asked
        .steps
        .first()
        .map(|step| step.shown.as_ref().unwrap_or(&step.parameters));
    Value::Object(shown.cloned().unwrap_or_default())
}

/// The content of each asset that a step gets, by parameter; null if it cannot be read.
fn contents(step: &Step, context: &Context<'_>) -> Value {
    let content = |uri: &str| {
        let uri = Uri::parse(uri).ok()?;
        let print = print::print(&uri, context.root, Links::Followed, &|| {
            context.go_on().is_ok()
        });
        match print.sight {
            Sight::Content(content) => Some(format!("blake3:{}", content.blake3)),
            Sight::Absent | Sight::Unknown => None,
        }
    };
    let each = step
        .assets()
        .map(|(parameter, uri)| (parameter.to_owned(), json!(content(uri))));
    Value::Object(each.collect::<Map<_, _>>())
}
