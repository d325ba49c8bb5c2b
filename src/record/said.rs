//! What an agent says without asking for a call: suggestions and clarifications. The ledger keeps them, and nothing is
//! performed (R-003-13, R-003-20).

use serde_json::{Value, json};

use crate::{
    envelope::Received,
    executor::Work,
    ledger::{Ask, AskedStep, Effects, StateChange},
    task::{Outcome, Task, abridged, redact_value},
};

/// What an agent says without asking for a call, as the ledger keeps it.
pub(super) fn ask<'a>(received: &Received, base: Ask<'a>) -> (Ask<'a>, Value) {
    let mut said = match &received.task {
        Ok(Task::Suggestion(card)) => json!(card),
        Ok(Task::Clarification(question)) => {
            json!({"blocked_on": question.blocked_on, "texts": question.texts})
        }
        _ => json!({}),
    };
    redact_value(&mut said);
    let Value::Object(parameters) = said else {
        return (base, said);
    };
    let mut ask = Ask {
        effects: Effects::None,
        strictest: Effects::None,
        change: StateChange::Nothing,
        ..base
    };
    ask.asked.steps.push(AskedStep {
        entry: received.kind.name().to_owned(),
        parameters: parameters.clone(),
        ..AskedStep::default()
    });
    (ask, Value::Object(abridged(parameters)))
}

/// The repeated answer with the card of its suggestion, which is the same because the request is.
pub(super) fn again(outcome: Outcome, work: &mut Work) -> Outcome {
    match work {
        Work::Said(said) => Outcome {
            suggestion: said.suggestion.take(),
            effect: said.effect,
            ..outcome
        },
        Work::Tools(_) | Work::Files(_) | Work::Grant(_) => outcome,
    }
}

/// The note of an answer that performs nothing and could not be recorded.
pub(crate) fn unrecorded(why: &str) -> String {
    let note = format!("The answer is not recorded: {}.", why.trim_end_matches('.'));
    tracing::warn!("{note}");
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_ends_with_one_full_stop() {
        let note = "The answer is not recorded: the disk is full.";
        assert_eq!(unrecorded("the disk is full"), note);
        assert_eq!(unrecorded("the disk is full."), note);
    }
}
