//! The table of kinds and fields (003, "The four kinds"): what a proposal of a kind must have, may have and must not
//! have.

use serde_json::{Map, Value};

use crate::task::{Failure, Fault, ProposalKind};

/// The rule of a kind for a field, and what to do if a proposal breaks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldRule {
    Required(&'static str),
    /// Required, unless that other field is given.
    RequiredWithout(&'static str, &'static str),
    Allowed,
    Forbidden(&'static str),
}

use FieldRule::{Allowed, Forbidden, Required, RequiredWithout};

const NAME: &str = "add `name`, the id of a standard action of the catalog";
const ONE_ACTION: &str =
    "a standard action is one entry of the catalog; leave it out, or send kind `improvised`";
const OF_STEPS: &str = "parameters belong to the single `steps`";
const OF_CALLS: &str = "only a call of a standard action is made under a grant";
const PLAN_ALONE: &str = "send the file plan as a task of its own";
const SUMMARY: &str =
    "add `plan_summary`, which tells the person who approves it what will be done";
const STEPS: &str = "add `steps`, in their order, or a `grant`";
const CARD: &str = "add a `title` or a `plan_summary` that says what you advise";
const ADVICE: &str =
    "a suggestion is never performed; send an action to perform as kind `standard`";
const QUESTION: &str = "send a question as kind `clarification`";
const MISSING: &str = "add `blocked_on`, which says exactly what is missing";
const NOTHING: &str =
    "a clarification is never performed; if it is known what to do, send kind `standard`";

/// Each field with its rules, in the order of [`ProposalKind::ALL`].
#[rustfmt::skip]
const RULES: [(&str, [FieldRule; 4]); 16] = [
    //                   standard               improvised                       suggestion                             clarification
    ("name",             [Required(NAME),       Allowed,                         Forbidden(ADVICE),                     Forbidden(NOTHING)]),
    ("parameters_json",  [Allowed,              Forbidden(OF_STEPS),             Forbidden(ADVICE),                     Forbidden(NOTHING)]),
    ("parameters",       [Allowed,              Forbidden(OF_STEPS),             Forbidden(ADVICE),                     Forbidden(NOTHING)]),
    ("task_plan",        [Allowed,              Forbidden(PLAN_ALONE),           Forbidden(ADVICE),                     Forbidden(NOTHING)]),
    ("title",            [Allowed,              Allowed,                         RequiredWithout("plan_summary", CARD), Allowed]),
    ("plan_summary",     [Allowed,              Required(SUMMARY),               Allowed,                               Allowed]),
    ("rationale",        [Allowed; 4]),
    ("confidence",       [Allowed; 4]),
    ("blocked_on",       [Forbidden(QUESTION),  Forbidden(QUESTION),             Forbidden(QUESTION),                   Required(MISSING)]),
    ("irreversibility",  [Allowed; 4]),
    ("regret_potential", [Allowed; 4]),
    ("risk_amplifier",   [Allowed; 4]),
    ("steps",            [Forbidden(ONE_ACTION), RequiredWithout("grant", STEPS), Forbidden(ADVICE),                    Forbidden(NOTHING)]),
    ("grant",            [Forbidden(ONE_ACTION), Allowed,                        Forbidden(ADVICE),                     Forbidden(NOTHING)]),
    ("clarifies",        [Allowed; 4]),
    ("under",            [Allowed,              Forbidden(OF_CALLS),             Forbidden(ADVICE),                     Forbidden(NOTHING)]),
];

fn rule(kind: ProposalKind, field: &str) -> FieldRule {
    let rules = RULES.iter().find(|(name, _)| *name == field);
    let mut cells = rules
        .into_iter()
        .flat_map(|(_, rules)| ProposalKind::ALL.iter().zip(rules));
    cells
        .find(|(of, _)| **of == kind)
        .map_or(Allowed, |(_, rule)| *rule)
}

/// Fails with the first rule that the proposal breaks.
pub(super) fn check(kind: ProposalKind, proposal: &Map<String, Value>) -> Result<(), Failure> {
    check_with(kind, proposal, &rule)
}

fn check_with(
    kind: ProposalKind,
    proposal: &Map<String, Value>,
    rule: &dyn Fn(ProposalKind, &str) -> FieldRule,
) -> Result<(), Failure> {
    let given = |key: &str| is_given(proposal.get(key));
    for (key, _) in RULES {
        let (why, to_do) = match rule(kind, key) {
            Required(to_do) if !given(key) => ("lacks", to_do),
            RequiredWithout(other, to_do) if !given(key) && !given(other) => ("lacks", to_do),
            Forbidden(to_do) if given(key) => ("has", to_do),
            Required(_) | RequiredWithout(..) | Allowed | Forbidden(_) => continue,
        };
        let kind = kind.name();
        let message = format!("the proposal of kind `{kind}` {why} `{key}`: {to_do}");
        return Err(Failure::new(Fault::KindRule, message));
    }
    Ok(())
}

/// Whether a field says anything. A text that says something has a letter or a digit.
pub(super) fn is_given(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(_) | Value::Number(_)) => true,
        Some(Value::String(text)) => says(text),
        Some(Value::Array(items)) => items.iter().any(|item| is_given(Some(item))),
        Some(Value::Object(members)) => !members.is_empty(),
    }
}

pub(super) fn says(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests;
