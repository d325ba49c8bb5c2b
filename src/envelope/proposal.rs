//! The proposal dialect: an agent proposes one thing, which is of one of four kinds (003, "The four kinds").
//!
//! A standard action becomes the task that a dispatch of its entry would be. A suggestion and a clarification are never
//! performed.

mod improvised;
mod rules;

use serde_json::{Map, Value};

use crate::task::{
    Amplifiers, CapabilityTask, Clarification, Failure, Kind, NamedAs, Risk, Suggestion, Task,
};

use super::{
    dispatch,
    fields::{OF_PROPOSAL, optional, optional_text, required_text, shape},
    strict,
};
use rules::{is_given, says};

/// The kind of the proposal (R-003-03).
pub(super) fn kind(proposal: &Map<String, Value>) -> Result<Kind, Failure> {
    let said = proposal.get("kind").unwrap_or(&Value::Null);
    let found = Kind::ALL.into_iter().find(|kind| said == kind.name());
    found.ok_or_else(|| {
        let kinds = Kind::ALL
            .map(|kind| format!("`{}`", kind.name()))
            .join(", ");
        shape(format!("the `kind` of a proposal must be one of {kinds}"))
    })
}

pub(super) fn read(
    kind: Kind,
    proposal: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<Task, Failure> {
    let proposal = &given(proposal);
    rules::check(kind, proposal)?;
    let stated = claims(proposal)?;
    let card = card(proposal)?;
    Ok(match kind {
        Kind::Standard => Task::Capabilities(Box::new(standard(proposal, stated, notes)?)),
        Kind::Improvised => improvised::read(proposal, stated, notes)?,
        Kind::Suggestion => {
            let texts = [&card.title, &card.summary].into_iter().flatten();
            if texts.into_iter().any(|text| text.trim_end().ends_with('?')) {
                let note = "The suggestion ends with a question mark; send a question as kind `clarification`.";
                notes.push(note.to_owned());
            }
            Task::Suggestion(card)
        }
        Kind::Clarification => Task::Clarification(Clarification {
            blocked_on: blocked_on(proposal)?,
            texts: card.title.into_iter().chain(card.summary).collect(),
        }),
    })
}

/// The proposal without the fields that say nothing. A model that must fill every field writes null, `""` or `"{}"`.
fn given(proposal: &Map<String, Value>) -> Map<String, Value> {
    let mut given = proposal.clone();
    given.retain(|key, value| !OF_PROPOSAL.contains(&key.as_str()) || is_given(Some(value)));
    given
}

/// The task of one capability that a dispatch of the same entry would be (R-003-05).
fn standard(
    proposal: &Map<String, Value>,
    stated: Risk,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let name = required_text(proposal, "name")?;
    let parameters = Value::Object(parameters(proposal)?);
    Ok(CapabilityTask {
        named_as: NamedAs::StandardAction,
        stated,
        ..of_one(proposal, &name, &name, parameters, notes)?
    })
}

/// The task of one capability that has the other fields of the proposal.
fn of_one(
    proposal: &Map<String, Value>,
    task_id: &str,
    capability: &str,
    parameters: Value,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let mut task = proposal.clone();
    if matches!(task.get("task_id"), None | Some(Value::Null)) {
        task.insert("task_id".to_owned(), task_id.into());
    }
    task.insert("capability_ids".to_owned(), vec![capability].into());
    task.insert("parameters".to_owned(), parameters);
    dispatch::read(&task, notes)
}

/// The parameters, which are JSON text or an object.
fn parameters(proposal: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let object = optional(proposal, "parameters", "an object", Value::as_object)?;
    let object = object.cloned().unwrap_or_default();
    let what = "JSON text; put an object into `parameters`";
    let text = optional(proposal, "parameters_json", what, Value::as_str)?;
    let Some(text) = text else {
        return Ok(object);
    };
    if !object.is_empty() {
        return Err(shape(
            "the proposal has `parameters_json` and `parameters`; leave one of the two out",
        ));
    }
    match strict::parse(text.as_bytes()) {
        Ok(Value::Object(parameters)) => Ok(parameters),
        Ok(_) => Err(shape("`parameters_json` must contain a JSON object")),
        Err(error) => Err(Failure::new(
            error.fault(),
            format!("`parameters_json`: {error}"),
        )),
    }
}

/// The fields that a person reads.
fn card(proposal: &Map<String, Value>) -> Result<Suggestion, Failure> {
    let number = |value: &Value| match value {
        Value::Number(number) => Some(number.clone()),
        _ => None,
    };
    let confidence = |value: &Value| {
        let number = number(value)?;
        (0.0..=1.0).contains(&number.as_f64()?).then_some(number)
    };
    Ok(Suggestion {
        title: optional_text(proposal, "title")?,
        summary: optional_text(proposal, "plan_summary")?,
        rationale: optional_text(proposal, "rationale")?,
        confidence: optional(proposal, "confidence", "a number from 0 to 1", confidence)?,
    })
}

/// The risk that the agent states. Also checks which clarification the proposal answers.
fn claims(proposal: &Map<String, Value>) -> Result<Risk, Failure> {
    let levels = ["irreversibility", "regret_potential"].into_iter();
    let levels = levels.filter_map(|key| Some((key.to_owned(), proposal.get(key)?.clone())));
    let amplifiers = Amplifiers::read(&levels.collect()).map_err(shape)?;
    let amplified = optional(proposal, "risk_amplifier", "true or false", Value::as_bool)?;
    optional_text(proposal, "clarifies")?;
    Ok(match amplified {
        Some(true) => amplifiers.risk().max(Risk::High),
        Some(false) | None => amplifiers.risk(),
    })
}

/// What is missing: a text, or a list of texts.
fn blocked_on(proposal: &Map<String, Value>) -> Result<Vec<String>, Failure> {
    let texts = |value: &Value| {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            text => std::slice::from_ref(text),
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>()
    };
    let texts = optional(
        proposal,
        "blocked_on",
        "a text, or an array of texts",
        texts,
    )?;
    let mut texts = texts.unwrap_or_default();
    texts.retain(|text| says(text));
    Ok(texts)
}
