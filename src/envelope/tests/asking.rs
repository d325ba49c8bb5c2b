//! What a task says of questions: by the reader and by the schema that people are shown, alike.

use serde_json::{Value, json};

use crate::{
    envelope::read,
    task::{Elicited, Failure, Fault, Input, Question, ResponseKind, Task},
};

fn task(fields: &Value) -> Value {
    let mut task = json!({"task_id": "task_1", "capability_ids": ["A"]});
    for (name, value) in fields.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

fn received(document: &Value) -> Result<Task, Failure> {
    read(document.to_string().as_bytes(), || "sess-fresh".to_owned()).task
}

fn input(fields: &Value) -> Input {
    match received(&task(fields)).unwrap() {
        Task::Capabilities(task) => task.input,
        other => panic!("{other:?}"),
    }
}

fn fits_the_schema(document: &Value) -> bool {
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/task.schema.json")).unwrap();
    jsonschema::validator_for(&schema)
        .unwrap()
        .is_valid(document)
}

#[test]
fn a_task_that_says_nothing_is_not_asked() {
    for fields in [
        json!({}),
        json!({"accepts_input": false}),
        json!({"accepts_input": null, "input_responses": null, "request_state": null, "input_requests": null}),
    ] {
        assert_eq!(input(&fields), Input::Refused, "{fields}");
    }
    assert_eq!(input(&json!({"accepts_input": true})), Input::Accepted);
}

#[test]
fn answers_state_and_questions_are_read_as_they_are() {
    let fields = json!({
        "request_state": "a/\u{0} é\n",
        "input_responses": {
            "z": {"action": "accept", "content": {"n": 1}},
            "y": {"action": "cancel"},
            "a": {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"},
            "b": {"roots": [{"uri": "file:///data"}]},
        },
        "input_requests": {
            "z": {"method": "elicitation/create", "params": {"requestedSchema": {"type": "object"}}},
            "u": {"method": "elicitation/create", "params": {"mode": "url", "url": "https://example.com"}},
            "a": {"method": "sampling/createMessage"},
            "b": {"method": "roots/list"},
        },
    });
    assert!(fits_the_schema(&task(&fields)));
    let Input::Given(given) = input(&fields) else {
        panic!("not given")
    };
    assert_eq!(given.request_state.as_deref(), Some("a/\u{0} é\n"));
    let responses = given.responses.unwrap();
    for ((name, response), (wanted, value)) in responses
        .iter()
        .zip(fields["input_responses"].as_object().unwrap())
    {
        assert_eq!((name, &response.value), (wanted, value));
    }
    let kinds: Vec<&ResponseKind> = responses.iter().map(|(_, each)| &each.kind).collect();
    let content = json!({"n": 1}).as_object().cloned();
    assert_eq!(
        kinds,
        [
            &ResponseKind::Elicited(Elicited::Accepted(content)),
            &ResponseKind::Elicited(Elicited::Cancelled),
            &ResponseKind::Sampled,
            &ResponseKind::Roots,
        ]
    );
    let questions: Vec<Question> = given
        .requests
        .unwrap()
        .into_iter()
        .map(|(_, q)| q)
        .collect();
    assert_eq!(
        questions,
        [
            Question::Form(Some(json!({"type": "object"}))),
            Question::Url,
            Question::Sampling,
            Question::Roots,
        ]
    );
}

#[test]
fn what_cannot_be_an_answer_is_refused_by_reader_and_schema_alike() {
    for answer in [
        json!(null),
        json!("accept"),
        json!({}),
        json!({"action": "yes"}),
        json!({"action": "accept", "content": "Ada"}),
        json!({"action": "accept", "contents": {}}),
        json!({"action": "decline", "content": {}}),
        json!({"action": "accept", "role": "user"}),
        json!({"role": "system", "content": {}, "model": "m"}),
        json!({"role": "user", "content": "Paris", "model": "m"}),
        json!({"role": "user", "content": {}}),
        json!({"roots": {}}),
        json!({"roots": [{"name": "data"}]}),
    ] {
        let task = task(&json!({"input_responses": {"who": answer}}));
        let failure = received(&task).unwrap_err();
        assert_eq!(failure.fault, Fault::InvalidShape, "{task}");
        assert!(
            failure.message.starts_with("`input_responses.who"),
            "{}",
            failure.message
        );
        assert!(!fits_the_schema(&task), "{task}");
    }
}

#[test]
fn fields_of_a_wrong_type_are_refused_by_reader_and_schema_alike() {
    for fields in [
        json!({"accepts_input": "yes"}),
        json!({"input_responses": []}),
        json!({"request_state": 7}),
        json!({"request_state": "s", "input_requests": {"who": {"method": "tools/call"}}}),
        json!({"request_state": "s", "input_requests": ["who"]}),
    ] {
        let task = task(&fields);
        assert_eq!(
            received(&task).unwrap_err().fault,
            Fault::InvalidShape,
            "{task}"
        );
        assert!(!fits_the_schema(&task), "{task}");
    }
}

#[test]
fn fields_that_contradict_each_other_are_refused() {
    for fields in [
        json!({"accepts_input": false, "input_responses": {}}),
        json!({"accepts_input": false, "request_state": "s"}),
        json!({"accepts_input": true, "input_requests": {"who": {"method": "roots/list"}}}),
    ] {
        let failure = received(&task(&fields)).unwrap_err();
        assert_eq!(failure.fault, Fault::InvalidShape, "{fields}");
    }
}

#[test]
fn beside_the_task_they_would_be_overlooked() {
    let wrapped = |task: Value, beside: Value| {
        let mut document = beside;
        document["dispatch"] = task;
        received(&document)
    };
    let failure = wrapped(task(&json!({})), json!({"request_state": "s"})).unwrap_err();
    assert!(
        failure.message.contains("move it into the task"),
        "{}",
        failure.message
    );
    assert!(wrapped(task(&json!({"request_state": "s"})), json!({})).is_ok());
}
