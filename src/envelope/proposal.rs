//! The proposal dialect: an agent proposes one thing, which is of one of four kinds (003, "The four kinds").
//!
//! A standard action becomes the task that a dispatch of its entry would be. A suggestion and a clarification are never
//! performed.

mod improvised;
mod rules;

use serde_json::{Map, Value};

use crate::task::{
    Amplifiers, CapabilityTask, Clarification, Failure, Found, NamedAs, ProposalKind, Risk,
    Suggestion, Task,
};

use super::{
    dispatch,
    fields::{OF_PROPOSAL, found, names, shape},
    strict,
};
use rules::{is_given, says};

/// The kind of the proposal (R-003-03).
pub(super) fn kind(proposal: &Map<String, Value>) -> Result<ProposalKind, Failure> {
    let said = proposal.get("kind").unwrap_or(&Value::Null);
    let found = ProposalKind::ALL
        .into_iter()
        .find(|kind| said == kind.name());
    found.ok_or_else(|| {
        let kinds = ProposalKind::ALL
            .map(|kind| format!("`{}`", kind.name()))
            .join(", ");
        shape(format!("the `kind` of a proposal must be one of {kinds}"))
    })
}

pub(super) fn read(
    kind: ProposalKind,
    proposal: &Map<String, Value>,
    notes: &mut Vec<String>,
) -> Result<Task, Failure> {
    let given = Value::Object(given(proposal));
    let proposal = &found("", &given);
    rules::check(kind, proposal.object()?)?;
    let stated = claims(proposal)?;
    let card = card(proposal)?;
    Ok(match kind {
        ProposalKind::Standard => Task::Capabilities(Box::new(standard(proposal, stated, notes)?)),
        ProposalKind::Improvised => improvised::read(proposal, stated, notes)?,
        ProposalKind::Suggestion => {
            let texts = [&card.title, &card.summary].into_iter().flatten();
            if texts.into_iter().any(|text| text.trim_end().ends_with('?')) {
                let note = "The suggestion ends with a question mark; send a question as kind `clarification`.";
                notes.push(note.to_owned());
            }
            Task::Suggestion(card)
        }
        ProposalKind::Clarification => Task::Clarification(Clarification {
            blocked_on: blocked_on(proposal)?,
            texts: card.title.into_iter().chain(card.summary).collect(),
        }),
    })
}

/// The proposal without the fields that say nothing. A model that must fill every field writes null, `""` or `"{}"`.
fn given(proposal: &Map<String, Value>) -> Map<String, Value> {
    let mut given = proposal.clone();
    given.retain(|key, value| !names(OF_PROPOSAL, key) || is_given(Some(value)));
    given
}

/// The task of one capability that a dispatch of the same entry would be (R-003-05).
fn standard(
    proposal: &Found<'_>,
    stated: Risk,
    notes: &mut Vec<String>,
) -> Result<CapabilityTask, Failure> {
    let name = proposal.required("name", Found::name)?;
    let parameters = Value::Object(parameters(proposal)?);
    Ok(CapabilityTask {
        named_as: NamedAs::StandardAction,
        stated,
        ..dispatch::of_one(proposal, name, name, parameters, notes)?
    })
}

/// The parameters, which are JSON text or an object.
fn parameters(proposal: &Found<'_>) -> Result<Map<String, Value>, Failure> {
    let object = proposal.optional("parameters", Found::object)?;
    let object = object.cloned().unwrap_or_default();
    let what = "JSON text; put an object into `parameters`";
    let text = proposal.optional("parameters_json", |json| {
        json.value.as_str().ok_or_else(|| json.must_be(what))
    })?;
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
fn card(proposal: &Found<'_>) -> Result<Suggestion, Failure> {
    let confidence = |found: &Found<'_>| match found.value {
        Value::Number(number) if (0.0..=1.0).contains(&number.as_f64().unwrap_or(-1.0)) => {
            Ok(number.clone())
        }
        _ => Err(found.must_be("a number from 0 to 1")),
    };
    Ok(Suggestion {
        title: proposal.optional("title", Found::owned)?,
        summary: proposal.optional("plan_summary", Found::owned)?,
        rationale: proposal.optional("rationale", Found::owned)?,
        confidence: proposal.optional("confidence", confidence)?,
    })
}

/// The risk that the agent states. Also checks which clarification the proposal answers.
fn claims(proposal: &Found<'_>) -> Result<Risk, Failure> {
    let levels = ["irreversibility", "regret_potential"].into_iter();
    let levels = levels.filter_map(|key| Some((key.to_owned(), proposal.value.get(key)?.clone())));
    let amplifiers = Amplifiers::read(&levels.collect()).map_err(shape)?;
    let amplified = proposal.optional("risk_amplifier", Found::flag)?;
    proposal.optional("clarifies", Found::text)?;
    Ok(match amplified {
        Some(true) => amplifiers.risk().max(Risk::High),
        Some(false) | None => amplifiers.risk(),
    })
}

/// What is missing: a text, or a list of texts.
fn blocked_on(proposal: &Found<'_>) -> Result<Vec<String>, Failure> {
    let texts = proposal.optional("blocked_on", |found| match found.value {
        Value::Array(_) => found.each(Found::owned),
        Value::String(text) => Ok(vec![text.clone()]),
        _ => Err(found.must_be("a text, or an array of texts")),
    })?;
    let mut texts = texts.unwrap_or_default();
    texts.retain(|text| says(text));
    Ok(texts)
}
