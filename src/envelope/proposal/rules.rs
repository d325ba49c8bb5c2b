//! The table of kinds and fields (003, "The four kinds"): what a proposal of a kind must have, may have and must not
//! have. A field without a row is refused.

use serde_json::{Map, Value};

use crate::task::{Failure, Fault, Kind};

use super::super::fields::OF_PROPOSAL;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Required,
    /// Required, unless that other field is given.
    RequiredWithout(&'static str),
    Allowed,
    Forbidden,
}

use Rule::{Allowed, Forbidden, Required, RequiredWithout};

/// The rule of some kinds for one field, and what to do if a proposal breaks it.
#[derive(Debug)]
struct Row(&'static [Kind], &'static str, Rule, &'static str);

const EVERY: &[Kind] = &Kind::ALL;
const STANDARD: &[Kind] = &[Kind::Standard];
const IMPROVISED: &[Kind] = &[Kind::Improvised];
const SUGGESTION: &[Kind] = &[Kind::Suggestion];
const CLARIFICATION: &[Kind] = &[Kind::Clarification];
const ALL_BUT_SUGGESTION: &[Kind] = &[Kind::Standard, Kind::Improvised, Kind::Clarification];
const NO_QUESTION: &[Kind] = &[Kind::Standard, Kind::Improvised, Kind::Suggestion];

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

#[rustfmt::skip]
const RULES: &[Row] = &[
    Row(STANDARD,           "name",             Required,                        NAME),
    Row(IMPROVISED,         "name",             Allowed,                         ""),
    Row(SUGGESTION,         "name",             Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "name",             Forbidden,                       NOTHING),
    Row(STANDARD,           "parameters_json",  Allowed,                         ""),
    Row(IMPROVISED,         "parameters_json",  Forbidden,                       OF_STEPS),
    Row(SUGGESTION,         "parameters_json",  Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "parameters_json",  Forbidden,                       NOTHING),
    Row(STANDARD,           "parameters",       Allowed,                         ""),
    Row(IMPROVISED,         "parameters",       Forbidden,                       OF_STEPS),
    Row(SUGGESTION,         "parameters",       Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "parameters",       Forbidden,                       NOTHING),
    Row(STANDARD,           "task_plan",        Allowed,                         ""),
    Row(IMPROVISED,         "task_plan",        Forbidden,                       PLAN_ALONE),
    Row(SUGGESTION,         "task_plan",        Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "task_plan",        Forbidden,                       NOTHING),
    Row(ALL_BUT_SUGGESTION, "title",            Allowed,                         ""),
    Row(SUGGESTION,         "title",            RequiredWithout("plan_summary"), CARD),
    Row(IMPROVISED,         "plan_summary",     Required,                        SUMMARY),
    Row(STANDARD,           "plan_summary",     Allowed,                         ""),
    Row(SUGGESTION,         "plan_summary",     Allowed,                         ""),
    Row(CLARIFICATION,      "plan_summary",     Allowed,                         ""),
    Row(EVERY,              "rationale",        Allowed,                         ""),
    Row(EVERY,              "confidence",       Allowed,                         ""),
    Row(NO_QUESTION,        "blocked_on",       Forbidden,                       QUESTION),
    Row(CLARIFICATION,      "blocked_on",       Required,                        MISSING),
    Row(EVERY,              "irreversibility",  Allowed,                         ""),
    Row(EVERY,              "regret_potential", Allowed,                         ""),
    Row(EVERY,              "risk_amplifier",   Allowed,                         ""),
    Row(STANDARD,           "steps",            Forbidden,                       ONE_ACTION),
    Row(IMPROVISED,         "steps",            RequiredWithout("grant"),        STEPS),
    Row(SUGGESTION,         "steps",            Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "steps",            Forbidden,                       NOTHING),
    Row(STANDARD,           "grant",            Forbidden,                       ONE_ACTION),
    Row(IMPROVISED,         "grant",            Allowed,                         ""),
    Row(SUGGESTION,         "grant",            Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "grant",            Forbidden,                       NOTHING),
    Row(EVERY,              "clarifies",        Allowed,                         ""),
    Row(STANDARD,           "under",            Allowed,                         ""),
    Row(IMPROVISED,         "under",            Forbidden,                       OF_CALLS),
    Row(SUGGESTION,         "under",            Forbidden,                       ADVICE),
    Row(CLARIFICATION,      "under",            Forbidden,                       NOTHING),
];

fn row(kind: Kind, key: &str) -> Option<&'static Row> {
    RULES
        .iter()
        .find(|Row(kinds, of, ..)| *of == key && kinds.contains(&kind))
}

/// Fails with the first rule that the proposal breaks.
pub(super) fn check(kind: Kind, proposal: &Map<String, Value>) -> Result<(), Failure> {
    check_with(kind, proposal, &row)
}

fn check_with(
    kind: Kind,
    proposal: &Map<String, Value>,
    row: &dyn Fn(Kind, &str) -> Option<&'static Row>,
) -> Result<(), Failure> {
    let given = |key: &str| is_given(proposal.get(key));
    let broken = OF_PROPOSAL.iter().find_map(|key| {
        let Some(Row(_, _, rule, to_do)) = row(kind, key) else {
            return given(key).then_some((key, "has", "leave it out"));
        };
        let why = match rule {
            Required if !given(key) => "lacks",
            RequiredWithout(other) if !given(key) && !given(other) => "lacks",
            Forbidden if given(key) => "has",
            Allowed | Required | RequiredWithout(_) | Forbidden => return None,
        };
        Some((key, why, *to_do))
    });
    broken.map_or(Ok(()), |(key, why, to_do)| {
        let message = format!(
            "the proposal of kind `{}` {why} `{key}`: {to_do}",
            kind.name()
        );
        Err(Failure::new(Fault::KindRule, message))
    })
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
