//! What a person approves: the calls as they would be made, and the contents of their inputs.

use serde_json::{Map, Value, json};

use crate::{
    assets::{Fresh, Objects, print},
    catalog::{Step, referring},
    executor::{Context, Hidden, Ready},
    ledger::{Ask, Asked, AskedStep, Ledger, LedgerError, Signatures},
    task::{Input, Links, Sight, Unseen, Uri, canonical},
};

use super::named::each;

const ANSWERS: &str = "input_responses";
const SUMMARY: &str = "plan_summary";

/// What the person who approves sees of a request.
#[derive(Default)]
pub(super) struct Approvable {
    pub(super) parameters: Value,
    /// The answers to the tool's questions.
    pub(super) answers: Option<Value>,
    /// The parameters in which characters are hidden, those at `secret` pointers not among them.
    pub(super) unseen: Vec<Unseen>,
    /// The effective call as it is hashed. Null for a plan.
    pub(super) call: Value,
}

impl Approvable {
    /// Of a file plan. Its diff states the hidden values.
    pub(super) fn of_plan(ask: &Ask<'_>) -> Self {
        let plan = ask.asked.steps.first();
        let shown = plan.map(|plan| plan.shown.as_ref().unwrap_or(&plan.parameters));
        Self {
            parameters: Value::Object(shown.cloned().unwrap_or_default()),
            ..Self::default()
        }
    }

    /// Of a grant.
    pub(super) fn of_grant(ask: &Ask<'_>, hidden: &Hidden) -> Self {
        let limits = ask.asked.steps.first();
        let limits = limits.map(|limits| limits.parameters.clone());
        let (shown, unseen) = hidden.secrets().approvable(limits.unwrap_or_default());
        Self {
            parameters: Value::Object(shown),
            unseen,
            ..Self::default()
        }
    }

    /// Adds parameters, and returns what is shown of them. `step` is the name of their step.
    fn add(
        &mut self,
        (shown, unseen): (Map<String, Value>, Vec<Unseen>),
        step: Option<&str>,
    ) -> Map<String, Value> {
        self.unseen.extend(unseen.into_iter().map(|each| Unseen {
            step: step.map(ToOwned::to_owned),
            ..each
        }));
        shown
    }
}

/// The hash of the calls as they would be made, and what people see of them.
pub(super) fn intended(
    ledger: &mut Ledger<'_>,
    ask: &Ask<'_>,
    ready: &Ready,
    hidden: &Hidden,
    context: &Context<'_>,
) -> Result<(String, Approvable), LedgerError> {
    let steps = ready.job.steps.iter();
    let objects = ready.store.objects();
    let mut inputs: Vec<Value> = steps.map(|step| contents(step, objects, context)).collect();
    let mut effective = ask.asked.clone();
    if ready.job.is_improvised() {
        effective.steps.splice(0..0, each(&ready.job, hidden));
        inputs.push(Value::Null);
    }
    complete(&mut effective, ready, hidden);
    let mut seen = seen(ask, &effective, ready, hidden);
    let (hash, call) = ledger.intent(ask, effective, &inputs)?;
    seen.call = call;
    Ok((hash, seen))
}

/// Completes the steps of the request as they would be sent.
fn complete(effective: &mut Asked, ready: &Ready, hidden: &Hidden) {
    for (asked, step) in effective.steps.iter_mut().zip(&ready.job.steps) {
        asked.parameters = referring(step);
        asked.parameters.extend(step.adjusted.clone());
        // A person approves what is sent, so nothing of it is left out.
        asked.volatile.clear();
        asked.signatures = Signatures::Counted;
        if let Input::Given(given) = &step.input {
            asked.answers = Some(json!([asked.answers, given.request_state]));
        }
        let shown = hidden.shown(&step.entry, &asked.parameters);
        asked.shown = (shown != asked.parameters).then_some(shown);
    }
}

/// What people see of the completed steps.
fn seen(ask: &Ask<'_>, effective: &Asked, ready: &Ready, hidden: &Hidden) -> Approvable {
    let mut seen = Approvable::default();
    let steps = effective.steps.iter().zip(&ready.job.steps);
    let steps: Vec<_> = steps.collect();
    seen.parameters = match steps.as_slice() {
        [(asked, step)] if !ready.job.is_improvised() => {
            Value::Object(seen.add(hidden.approvable(&step.entry, &asked.parameters), None))
        }
        several => together(&mut seen, ask, several, hidden),
    };
    let mut answers = ask.asked.steps.iter();
    if let Some(answers) = answers.find_map(|step| step.answers.clone()) {
        let answers = Map::from_iter([(ANSWERS.to_owned(), answers)]);
        let mut shown = seen.add(hidden.secrets().approvable(answers), None);
        seen.answers = shown.remove(ANSWERS);
    }
    seen
}

/// The parameters of an improvised action for people: those of each step are at its number and its entry.
fn together(
    seen: &mut Approvable,
    ask: &Ask<'_>,
    steps: &[(&AskedStep, &Step)],
    hidden: &Hidden,
) -> Value {
    let mut entries: Vec<&String> = steps.iter().map(|(_, step)| &step.entry.id).collect();
    entries.sort();
    entries.dedup();
    let action = ask.asked.steps.first();
    let summary = action.and_then(|action| action.parameters.get(SUMMARY));
    let summary = summary.cloned().unwrap_or_default();
    let summary = Map::from_iter([(SUMMARY.to_owned(), summary)]);
    let mut all = seen.add(hidden.secrets().approvable(summary), None);
    all.insert("entries".to_owned(), json!(entries));
    for (number, (asked, step)) in (1..).zip(steps) {
        let name = format!("{number} {}", step.entry.id);
        let shown = hidden.approvable(&step.entry, &asked.parameters);
        let shown = seen.add(shown, Some(&name));
        all.insert(name, Value::Object(shown));
    }
    Value::Object(all)
}

/// The content of each asset that a step gets, by parameter. A local file that can be opened but is not read completely is
/// described by the facts of the file system. Null if it cannot be opened.
fn contents(step: &Step, objects: &Objects, context: &Context<'_>) -> Value {
    let content = |uri: &str| {
        let uri = Uri::parse(uri).ok()?;
        let go_on = || context.go_on().is_ok();
        let print = objects
            .print(&uri, Fresh::No, &go_on)
            .unwrap_or_else(|| print::print(&uri, context.desk.root, Links::Followed, &go_on));
        match print.sight {
            Sight::Object(object) => Some(format!("object:{}", canonical(&json!(object)).ok()?)),
            Sight::Content(content) => Some(format!("blake3:{}", content.blake3)),
            Sight::Absent | Sight::Unknown => {
                let stat = print::stat(&uri, context.desk.root, Links::Followed)?;
                Some(format!("unread:{}", canonical(&json!(stat)).ok()?))
            }
        }
    };
    let each = step
        .assets()
        .map(|(parameter, uri)| (parameter.to_owned(), json!(content(uri))));
    Value::Object(each.collect::<Map<_, _>>())
}
