//! The proposals that are answered and never performed (003, "The four kinds"). No rule of the catalog applies to them.

use crate::{
    catalog::{CatalogTables, enough_for},
    task::{
        Clarification, Failure, Fault, Outcome, Phase, State, Suggestion, Waiting, cut_links,
        decided,
    },
};

/// The card of a suggestion (R-003-12, R-003-13).
pub(super) fn suggestion(card: &Suggestion) -> Outcome {
    let mut card = card.clone();
    let texts = [&mut card.title, &mut card.summary, &mut card.rationale];
    texts.into_iter().flatten().for_each(cut_links);
    Outcome {
        suggestion: Some(card),
        reasoning: vec![decided(
            "The suggestion is a card for the user; a suggestion is never performed.".to_owned(),
        )],
        ..Outcome::nothing_done(State::Advised, Phase::Complete, None)
    }
}

/// The answer to a clarification (R-003-18 … R-003-20). It needs no catalog: without one, only the hint is missing.
pub(super) fn clarification(
    question: &Clarification,
    tables: Option<&CatalogTables<'_>>,
) -> Outcome {
    let mut blocked_on = question.blocked_on.clone();
    blocked_on.iter_mut().for_each(cut_links);
    let first: String = blocked_on
        .first()
        .map_or("", String::as_str)
        .chars()
        .take(LONGEST)
        .collect();
    let message = format!(
        "nothing was performed, because information is missing (`waiting.blocked_on`): {first}"
    );
    Outcome {
        waiting: Some(Waiting::Clarification {
            blocked_on,
            resume: "Find out what `blocked_on` names, then send a new task with it, in which `clarifies` is the \
                     `operation_id` of this answer.",
        }),
        notes: hint(question, tables).into_iter().collect(),
        ..Outcome::nothing_done(
            State::Pending,
            Phase::Read,
            Some(Failure::new(Fault::ClarificationRequired, message)),
        )
    }
}

/// The longest text in a message, in characters.
const LONGEST: usize = 200;

/// Names the action for which the texts of the clarification are enough (R-003-21).
fn hint(question: &Clarification, tables: Option<&CatalogTables<'_>>) -> Option<String> {
    let action = enough_for(tables?, &question.texts).ok()??;
    Some(decided(format!(
        "The text of the clarification is enough for the standard action {action}; it could be sent as kind `standard`."
    )))
}
