//! How deep the result of an answer may be nested: what is recorded has to be read again, and readers of
//! JSON have a limit.

use serde_json::{Value, json};

use crate::task::{Outcome, decided};

/// Arrays and objects inside each other. The reader of answers goes no deeper than 127, and around a result
/// there are a few levels more.
const LEVELS: usize = 100;

/// A result that is nested deeper becomes the text of its JSON.
pub(super) fn bound(outcome: &mut Outcome) {
    let Some(data) = &mut outcome.result_data else {
        return;
    };
    if !is_deeper(data, LEVELS) {
        return;
    }
    *data = json!({ "text": data.to_string() });
    let told = format!(
        "result_as_text: the result is nested deeper than {LEVELS} levels and is given as the text of its JSON"
    );
    tracing::warn!("{told}");
    outcome.notes.push(decided(format!("{told}.")));
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let inside = |value| match levels.checked_sub(1) {
        Some(left) => is_deeper(value, left),
        None => true,
    };
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(inside),
        Value::Object(members) => levels == 0 || members.values().any(inside),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::task::{Phase, State};

    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn what_is_nested_too_deep_becomes_a_text() {
        for (levels, is_text) in [(1, false), (100, false), (101, true), (126, true)] {
            let value = nested(levels);
            let mut outcome = Outcome {
                result_data: Some(value.clone()),
                ..Outcome::nothing_done(State::Done, Phase::Complete, None)
            };
            bound(&mut outcome);
            let expected = if is_text {
                json!({ "text": value.to_string() })
            } else {
                value
            };
            assert_eq!(outcome.result_data, Some(expected), "{levels}");
            assert_eq!(!outcome.notes.is_empty(), is_text, "{levels}");
        }
    }
}
