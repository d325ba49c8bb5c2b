//! Checks the caller's answers against the questions of a tool. This is possible before the server is started only
//! if the task repeats the questions, because nothing is kept of the run that was asked.

use serde_json::{Map, Value};

use crate::task::{
    CapabilityTask, Elicited, Failure, Fault, Given, Input, Question, Response, ResponseKind,
};

/// What the task says about questions, checked.
///
/// Only a task of one capability can accept questions: the answers do not name the step that asked.
pub(crate) fn check(task: &CapabilityTask) -> Result<Input, Failure> {
    if task.capability_ids.len() > 1 {
        of_several(task)?;
    }
    if let Input::Given(given) = &task.input {
        answers(given)?;
    }
    Ok(task.input.clone())
}

/// Refuses answers for one of several steps.
pub(crate) fn of_several(task: &CapabilityTask) -> Result<(), Failure> {
    if task.input == Input::Refused {
        return Ok(());
    }
    Err(unfit(
        "a task of several capabilities cannot accept input, because the answers come with another run, which does not \
         know whose they are; send the capability that asks as a separate task"
            .to_owned(),
    ))
}

/// Checks that every question has an answer, and every answer a question.
fn answers(given: &Given) -> Result<(), Failure> {
    let Some(requests) = &given.requests else {
        return Ok(());
    };
    let responses = given.responses.as_deref().unwrap_or_default();
    if let Some((stranger, _)) = responses
        .iter()
        .find(|(name, _)| !requests.iter().any(|(asked, _)| asked == name))
    {
        let asked: Vec<&str> = requests.iter().map(|(name, _)| name.as_str()).collect();
        return Err(unfit(format!(
            "`input_responses.{stranger}` answers no question; the questions are: {}",
            asked.join(", ")
        )));
    }
    for (name, question) in requests {
        let response = responses.iter().find(|(answered, _)| answered == name);
        let Some((_, response)) = response else {
            return Err(unfit(format!(
                "`input_responses.{name}` is missing: every question needs an answer, which may be a refusal"
            )));
        };
        fits(question, response).map_err(|why| unfit(format!("`input_responses.{name}` {why}")))?;
    }
    Ok(())
}

fn fits(question: &Question, response: &Response) -> Result<(), String> {
    use ResponseKind::{Elicited as Person, Roots, Sampled};
    let wrong = match (question, &response.kind) {
        (Question::Form(schema), Person(Elicited::Accepted(Some(content)))) => {
            return form(schema.as_ref(), content);
        }
        (Question::Form(_), Person(Elicited::Accepted(None))) => {
            "accepts a form but has no `content`; an empty form is `{}`"
        }
        (Question::Url, Person(Elicited::Accepted(Some(_)))) => {
            "has `content`, but the question is answered at its URL"
        }
        (Question::Form(_) | Question::Url, Person(_))
        | (Question::Sampling, Sampled)
        | (Question::Roots, Roots) => return Ok(()),
        (Question::Form(_) | Question::Url, _) => "must be the answer of a person, with `action`",
        (Question::Sampling, _) => {
            "must be the answer of a model, with `role`, `content` and `model`"
        }
        (Question::Roots, _) => "must be a list of `roots`",
    };
    Err(wrong.to_owned())
}

/// Checks the content of a form. The schema of a form is flat (2026-07-28, Requested Schema). A schema with
/// references may take very long to evaluate, so it is left to the server.
fn form(schema: Option<&Value>, content: &Map<String, Value>) -> Result<(), String> {
    const PROBLEMS: usize = 5;
    let Some(schema) = schema.filter(|schema| !refers(schema)) else {
        return Ok(());
    };
    let Ok(validator) = jsonschema::validator_for(schema) else {
        return Ok(());
    };
    let content = Value::Object(content.clone());
    let problems: Vec<String> = validator
        .iter_errors(&content)
        .take(PROBLEMS)
        // Only the server may see what a person typed.
        .map(|error| format!("`content{}`: {}", error.instance_path(), error.masked()))
        .collect();
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "does not match the question: {}",
        problems.join("; ")
    ))
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map
            .iter()
            .any(|(key, value)| key.ends_with("Ref") || key == "$ref" || refers(value)),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

fn unfit(message: String) -> Failure {
    Failure::new(Fault::ParamsInvalid, message)
}
