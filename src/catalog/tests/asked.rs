//! Answers that are checked against the questions they answer, as far as that can be known.

use serde_json::{Value, json};

use crate::task::{Elicited, Fault, Given, Input, Question, Response, ResponseKind};

use super::{BEGINNING, resolved, task};

/// What is wrong with these answers to these questions; nothing if they fit.
fn problem(
    requests: Option<Vec<(&str, Question)>>,
    responses: Vec<(&str, ResponseKind)>,
) -> Option<String> {
    let own = |name: &str| name.to_owned();
    let mut task = task(&["cut"]);
    task.input = Input::Given(Given {
        responses: Some(
            responses
                .into_iter()
                .map(|(name, kind)| {
                    let value = Value::Null;
                    (own(name), Response { kind, value })
                })
                .collect(),
        ),
        request_state: None,
        requests: requests.map(|all| all.into_iter().map(|(name, q)| (own(name), q)).collect()),
    });
    let failure = resolved(BEGINNING, &task).err()?;
    assert_eq!(failure.fault, Fault::ParamsInvalid);
    Some(failure.message)
}

fn accepted(content: &Value) -> ResponseKind {
    ResponseKind::Elicited(Elicited::Accepted(content.as_object().cloned()))
}

fn form(schema: Value) -> Question {
    Question::Form(Some(schema))
}

#[test]
fn answers_fit_their_questions() {
    let age = || {
        form(
            json!({"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}),
        )
    };
    let declined = || ResponseKind::Elicited(Elicited::Declined);
    for (question, response, said) in [
        (age(), accepted(&json!({"age": 7})), None),
        (age(), declined(), None),
        (
            age(),
            accepted(&json!({"age": "secret"})),
            Some("`content/age`"),
        ),
        (age(), accepted(&json!({})), Some("required")),
        (age(), accepted(&Value::Null), Some("no `content`")),
        (age(), ResponseKind::Roots, Some("`action`")),
        (Question::Form(None), accepted(&json!({"any": 1})), None),
        (Question::Url, accepted(&Value::Null), None),
        (Question::Url, accepted(&json!({})), Some("at its URL")),
        (Question::Sampling, ResponseKind::Sampled, None),
        (
            Question::Sampling,
            declined(),
            Some("the answer of a model"),
        ),
        (Question::Roots, ResponseKind::Roots, None),
        (Question::Roots, ResponseKind::Sampled, Some("`roots`")),
    ] {
        let shown = format!("{question:?} {response:?}");
        let problem = problem(Some(vec![("q", question)]), vec![("q", response)]);
        assert_eq!(problem.is_some(), said.is_some(), "{shown}: {problem:?}");
        if let (Some(problem), Some(said)) = (problem, said) {
            assert!(problem.contains(said), "{problem}");
            assert!(!problem.contains("secret"), "{problem}");
        }
    }
}

#[test]
fn what_cannot_be_known_here_is_left_to_the_server() {
    // Without the questions; with a schema that refers, and may stand for years of work; with none
    // that compiles.
    assert_eq!(problem(None, vec![("q", ResponseKind::Roots)]), None);
    for schema in [
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
        json!({"type": 7}),
    ] {
        let question = vec![("q", form(schema))];
        assert_eq!(
            problem(Some(question), vec![("q", accepted(&json!({})))]),
            None
        );
    }
}

#[test]
fn every_question_has_an_answer_and_every_answer_a_question() {
    let asked = || Some(vec![("q", Question::Roots)]);
    let missing = problem(asked(), vec![]).unwrap();
    assert!(
        missing.contains("`input_responses.q` is missing"),
        "{missing}"
    );
    let both = vec![("q", ResponseKind::Roots), ("r", ResponseKind::Roots)];
    let stranger = problem(asked(), both).unwrap();
    assert!(
        stranger.contains("`input_responses.r` answers no question"),
        "{stranger}"
    );
}

#[test]
fn a_task_of_several_capabilities_cannot_be_asked() {
    let mut several = task(&["cut", "cut"]);
    assert!(resolved(BEGINNING, &several).is_ok());
    several.input = Input::Accepted;
    let failure = resolved(BEGINNING, &several).unwrap_err();
    assert_eq!(failure.fault, Fault::ParamsInvalid);
    assert!(
        failure.message.contains("a separate task"),
        "{}",
        failure.message
    );
}
