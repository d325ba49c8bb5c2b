//! The size of an answer. Callers read 1 MiB (the buffer of Node's `execFile`) or 2 MiB (a payload of Temporal). An answer
//! therefore has less than 1 MiB, except for the task that it repeats, its resources, the questions of a tool and the
//! report of a plan.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    InvocationStatus, Outcome,
    json::{abridge_to, blob},
    visible_json,
};

/// The most bytes of a result, or of the diff of a preview, as it is printed.
pub(crate) const LARGEST_RESULT: usize = 512 << 10;

/// The most bytes of one sentence, or of another text of the outcome.
const TEXT: usize = 8 << 10;

/// The most bytes of a list of sentences, as it is printed.
const SENTENCES: usize = 64 << 10;

/// The most bytes of the parameters of all calls, as they are printed. The `MCPResponse` repeats them twice.
const PARAMETERS: usize = 64 << 10;

/// The most bytes of what a model was asked, or has answered, as it is printed.
const MODEL: usize = 64 << 10;

/// The length of the JSON text of a value as it is printed, in bytes.
pub(crate) fn printed(value: &impl Serialize) -> usize {
    let text = serde_json::to_string(value).unwrap_or_default();
    visible_json(&text).len()
}

impl Outcome {
    /// Shortens what is too long for an answer. What was left out is told.
    pub fn bound(&mut self) {
        for result in [&mut self.result_data, &mut self.unfit_result] {
            if let Some(value) = result
                .as_mut()
                .filter(|value| printed(value) > LARGEST_RESULT)
            {
                *value = blob(value);
            }
        }
        if let Some(failure) = &mut self.failure {
            shorten(&mut failure.message);
        }
        for call in &mut self.invocations {
            if let InvocationStatus::Error { detail } = &mut call.status {
                shorten(detail);
            }
        }
        let calls = self.invocations.iter_mut();
        abridge_all(calls.map(|call| &mut call.parameters).collect());
        let planned = self.plan.iter_mut().flat_map(|plan| &mut plan.steps);
        abridge_all(planned.map(|step| &mut step.parameters).collect());
        let ai = &mut self.ai;
        ai.prompt = ai.prompt.take().filter(|said| printed(said) <= MODEL);
        ai.response = ai.response.take().filter(|said| printed(said) <= MODEL);
        if let Some(preview) = &mut self.preview
            && let Some(start) = beginning(&preview.diff, LARGEST_RESULT)
        {
            let end = start.rfind('\n').map_or(0, |end| end + 1);
            let lines = start.get(..end).unwrap_or_default();
            preview.diff = told(lines, preview.diff.len()) + "\n";
        }
        let killed = self.server.iter_mut().map(|server| &mut server.killed);
        for list in killed.chain([&mut self.notes, &mut self.reasoning]) {
            shorten_all(list);
        }
    }
}

/// The room for what is told about what was left out.
const TOLD: usize = 64;

fn shorten(text: &mut String) {
    if text.len() > TEXT {
        let start = text.get(..text.floor_char_boundary(TEXT - TOLD));
        *text = told(start.unwrap_or_default(), text.len());
    }
}

fn told(start: &str, bytes: usize) -> String {
    format!("{start} … ({bytes} bytes in all)")
}

/// The beginning of a text that is too long when it is printed; `None` if it is not.
fn beginning(text: &str, most: usize) -> Option<&str> {
    let is_long = |end: usize, most| printed(&text.get(..end)) > most;
    if !is_long(text.len(), most) {
        return None;
    }
    let mut end = text.floor_char_boundary(most - TOLD);
    while is_long(end, most - TOLD) {
        end = text.floor_char_boundary(end / 2);
    }
    text.get(..end)
}

fn shorten_all(list: &mut Vec<String>) {
    list.iter_mut().for_each(shorten);
    let until = |most: usize, list: &[String]| {
        let mut bytes = 0;
        list.iter().position(|text| {
            bytes += printed(text);
            bytes > most
        })
    };
    if until(SENTENCES, list).is_some() {
        let kept = until(SENTENCES - TOLD, list).unwrap_or_default();
        let more = list.split_off(kept).len();
        list.push(format!("There are {more} more."));
    }
}

/// Replaces the long values of the objects by their hashes, if the objects are too long together.
fn abridge_all(mut objects: Vec<&mut Map<String, Value>>) {
    let bytes: usize = objects.iter().map(printed).sum();
    if bytes <= PARAMETERS {
        return;
    }
    let each = PARAMETERS / objects.len().max(1);
    for object in &mut objects {
        let mut all = Value::Object(std::mem::take(object));
        abridge_to(&mut all, each);
        if printed(&all) > each {
            all = blob(&all);
        }
        if let Value::Object(abridged) = all {
            **object = abridged;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::task::{Failure, Fault, Phase, Preview, State};

    fn long(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    #[test]
    fn what_is_short_stays_and_what_was_shortened_is_not_shortened_again() {
        let mut outcome = Outcome {
            unfit_result: Some(json!({"x": long(LARGEST_RESULT)})),
            notes: vec![long(TEXT); 20],
            reasoning: vec![long(TEXT)],
            preview: Some(Preview {
                hash: String::new(),
                diff: (long(99) + "\n").repeat(LARGEST_RESULT / 50),
            }),
            ..Outcome::nothing_done(
                State::Failed,
                Phase::Call,
                Some(Failure::new(Fault::ToolError, long(TEXT + 1))),
            )
        };
        outcome.bound();
        let message = &outcome.failure.as_ref().unwrap().message;
        assert!(message.len() <= TEXT && message.ends_with("… (8193 bytes in all)"));
        assert_eq!(outcome.reasoning, [long(TEXT)]);
        let unfit = outcome.unfit_result.as_ref().unwrap();
        assert_eq!(unfit["$blob"]["bytes"], LARGEST_RESULT + 8);
        assert_eq!(outcome.notes.last().unwrap(), "There are 13 more.");
        assert!(printed(&outcome.notes) <= SENTENCES);
        let diff = &outcome.preview.as_ref().unwrap().diff;
        assert!(
            printed(diff) <= LARGEST_RESULT && diff.ends_with("x\n … (1048500 bytes in all)\n")
        );
        let again = {
            let mut again = outcome.clone();
            again.bound();
            again
        };
        assert_eq!(again, outcome);
    }

    #[test]
    fn texts_of_characters_that_are_printed_as_escapes_are_shorter() {
        for text in ["\u{1}", "\u{85}", "\u{e0041}"].map(|letter| letter.repeat(TEXT)) {
            let start = beginning(&text, TEXT).unwrap();
            assert!(printed(&start) <= TEXT && printed(&start) > TEXT / 4);
        }
        assert_eq!(beginning("short", TEXT), None);
    }
}
