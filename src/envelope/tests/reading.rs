//! Which task a document carries, and who asked.

use serde_json::{Value, json};

use crate::{
    envelope::{Delivery, Received, read},
    task::{CapabilityTask, Failure, Fault, RefStatus, Task},
};

fn received(document: &Value) -> Received {
    read(document.to_string().as_bytes(), || "sess-fresh".to_owned())
}

fn failure(document: &Value) -> Failure {
    received(document).task.unwrap_err()
}

fn capabilities(received: &Received) -> &CapabilityTask {
    match received.task.as_ref().unwrap() {
        Task::Capabilities(task) => task,
        other => panic!("{other:?}"),
    }
}

fn bare() -> Value {
    json!({"task_id": "task_1", "capability_ids": ["CAP-ACQ-001"]})
}

#[test]
fn a_full_message_a_wrapped_and_a_bare_task_are_the_same_task_r_000_115() {
    let full = json!({"message_id": "msg-disp-1", "output": {"content": {"dispatch": bare()}}});
    let tasks = [full, json!({"dispatch": bare()}), bare()].map(|document| received(&document));
    for each in &tasks {
        assert_eq!(each.task, tasks[0].task);
        assert_eq!(each.echo, bare());
        assert_eq!(each.task_id, "task_1");
    }
    assert_eq!(capabilities(&tasks[0]).attempt, 1);
}

#[test]
fn session_and_request_are_inherited_and_the_sequence_goes_on_r_000_133_134() {
    let document = json!({
        "message_id": "msg-disp-9",
        "dispatch": bare(),
        "metadata": {"session_id": "sess-1", "request_id": "req-1", "sequence_number": 4, "parent_message_id": "older"},
    });
    let identity = received(&document).identity;
    assert_eq!(identity.session_id, "sess-1");
    assert_eq!(identity.request_id.as_deref(), Some("req-1"));
    assert_eq!(identity.sequence_number, 5);
    assert_eq!(identity.parent_message_id.as_deref(), Some("msg-disp-9"));
}

#[test]
fn without_metadata_a_session_is_made_and_said_to_be() {
    let received = received(&bare());
    assert_eq!(received.identity.session_id, "sess-fresh");
    assert_eq!(received.identity.sequence_number, 1);
    assert!(
        received
            .notes
            .iter()
            .any(|note| note.contains("names no session"))
    );
    assert!(
        received
            .notes
            .iter()
            .any(|note| note.contains("no attempt"))
    );
}

#[test]
fn more_than_one_task_is_refused_in_every_shape_r_000_108_112() {
    for document in [
        json!([bare(), bare()]),
        json!([]),
        json!({"tasks": [bare()]}),
        json!({"dispatch": [bare()]}),
        json!({"dispatch": {"tasks": [bare()]}}),
        json!({"a": bare(), "b": bare()}),
        json!({"task_decomposition": [{"id": "st001"}], "execution_groups": [["st001"]]}),
        json!({"output": {"content": {"dispatch": [bare()]}}}),
    ] {
        assert_eq!(failure(&document).fault, Fault::MultipleTasks, "{document}");
    }
}

#[test]
fn no_capability_is_invalid_input_r_000_109() {
    for ids in [json!(null), json!([])] {
        let document = json!({"task_id": "t", "capability_ids": ids});
        assert_eq!(failure(&document).fault, Fault::NoCapability);
    }
    assert_eq!(failure(&json!({"task_id": "t"})).fault, Fault::NoCapability);
}

#[test]
fn what_is_no_task_is_refused_with_what_to_send() {
    for document in [
        json!({}),
        json!("task"),
        json!(7),
        json!(null),
        json!({"dispatch": "x"}),
    ] {
        assert_eq!(failure(&document).fault, Fault::InvalidShape, "{document}");
    }
    assert!(
        failure(&json!({"foo": 1}))
            .message
            .contains("oneact schema task")
    );
}

#[test]
fn a_field_of_a_wrong_type_is_named() {
    for (field, value) in [
        ("task_id", json!(5)),
        ("task_id", json!("")),
        ("action", json!(["a"])),
        ("capability_ids", json!("CAP-ACQ-001")),
        ("input_refs_resolved", json!({})),
        ("output_refs_expected", json!([1])),
        ("parameters", json!([])),
        ("attempt", json!(0)),
        ("attempt", json!("1")),
        ("attempt", json!(1.5)),
    ] {
        let mut document = bare();
        document[field] = value;
        let failure = failure(&document);
        assert_eq!(failure.fault, Fault::InvalidShape, "{document}");
        assert!(failure.message.contains(field), "{}", failure.message);
    }
}

#[test]
fn an_input_must_be_there_r_000_54_55_113_c_13() {
    let with = |input: Value| {
        let mut document = bare();
        document["input_refs_resolved"] = json!([input]);
        received(&document)
    };
    for (input, fault) in [
        (
            json!({"ref_id": "store_1", "storage_uri": null, "status": "stored"}),
            Fault::InputUnresolved,
        ),
        (
            json!({"ref_id": "store_1", "status": "stored"}),
            Fault::InputUnresolved,
        ),
        (
            json!({"ref_id": "store_1", "storage_uri": "x", "status": "pending"}),
            Fault::InputUnresolved,
        ),
        (
            json!({"ref_id": "src_1", "storage_uri": "x", "status": "failed"}),
            Fault::InputUnresolved,
        ),
        (
            json!({"ref_id": "store_1", "storage_uri": "x", "status": "reference"}),
            Fault::InputUnresolved,
        ),
        (
            json!({"ref_id": "store_1", "storage_uri": "x"}),
            Fault::InputUnresolved,
        ),
        (
            json!({"storage_uri": "x", "status": "stored"}),
            Fault::InvalidShape,
        ),
        (
            json!({"ref_id": "../x", "storage_uri": "x", "status": "stored"}),
            Fault::InvalidShape,
        ),
    ] {
        assert_eq!(
            with(input.clone()).task.unwrap_err().fault,
            fault,
            "{input}"
        );
    }
    let received =
        with(json!({"ref_id": "src_1", "storage_uri": "https://x", "status": "reference"}));
    assert_eq!(
        capabilities(&received).inputs[0].status,
        RefStatus::Reference
    );
}

#[test]
fn inherited_resources_that_cannot_be_echoed_are_not_dropped_in_silence_c_02() {
    let document = json!({"dispatch": bare(), "resources": {"storage_refs": {"store_1": "x"}}});
    let failure = failure(&document);
    assert_eq!(failure.fault, Fault::InvalidShape);
    assert!(failure.message.contains("resources.storage_refs"));
}

#[test]
fn a_session_id_that_is_no_directory_name_is_refused() {
    for session in [
        "", "..", "a/b", ".hidden", "a\\b", "a\nb", "  ", "\u{3000}", "\u{200b}",
    ] {
        let document = json!({"dispatch": bare(), "metadata": {"session_id": session}});
        let received = received(&document);
        assert_eq!(
            received.task.unwrap_err().fault,
            Fault::InvalidShape,
            "{session:?}"
        );
        assert_eq!(received.identity.session_id, "sess-fresh");
    }
}

#[test]
fn parameters_of_several_capabilities_are_told_apart_by_id() {
    let mut document = bare();
    document["capability_ids"] = json!(["A", "B"]);
    document["parameters"] = json!({"B": {"x": 1}});
    let received = received(&document);
    let task = capabilities(&received);
    assert_eq!(task.parameters.len(), 2);
    assert!(task.parameters[0].is_empty());
    assert_eq!(task.parameters[1]["x"], 1);
    document["parameters"] = json!({"x": 1});
    assert!(
        failure(&document)
            .message
            .contains("is not one of these ids")
    );
}

#[test]
fn fields_without_effect_are_said_to_be_ignored() {
    let mut document = bare();
    document["invocation_context"] = json!("FSM_INTERNAL");
    document["workflow_progress"] = json!({"total_tasks": 3});
    let notes = received(&document).notes.join(" ");
    assert!(
        notes.contains("`invocation_context`") && !notes.contains("workflow_progress"),
        "{notes}"
    );
}

#[test]
fn several_tasks_in_a_messages_content_are_several_tasks_r_000_112() {
    for content in [
        json!({"tasks": [bare(), bare()]}),
        json!({"dispatch": bare(), "tasks": [bare()]}),
    ] {
        let failure = failure(&json!({"output": {"content": content}}));
        assert_eq!(failure.fault, Fault::MultipleTasks);
    }
}

#[test]
fn an_input_that_is_named_twice_is_refused() {
    let stored = |uri: &str| json!({"ref_id": "store_1", "storage_uri": uri, "status": "stored"});
    let mut task = bare();
    task["input_refs_resolved"] = json!([stored("a.wav"), stored("b.wav")]);
    let failure = failure(&task);
    assert_eq!(failure.fault, Fault::InvalidShape);
    assert!(failure.message.contains("`store_1` twice"));
}

#[test]
fn a_task_that_holds_another_is_two_and_neither_is_chosen_r_000_108() {
    let content = json!({"content": {"dispatch": bare()}});
    for document in [
        json!({"task_id": "task_1", "capability_ids": ["A"], "dispatch": bare()}),
        json!({"capability_ids": ["A"], "dispatch": null}),
        json!({"task_id": "task_1", "output": content}),
        json!({"dispatch": bare(), "output": content}),
    ] {
        let failure = failure(&document);
        assert_eq!(failure.fault, Fault::MultipleTasks, "{document}");
        assert!(failure.message.contains("dispatch"), "{}", failure.message);
    }
}

#[test]
fn what_belongs_around_a_task_is_refused_inside_it() {
    for key in ["metadata", "resources", "message_id"] {
        let mut task = bare();
        task[key] = json!({"session_id": "sess-1"});
        let failure = failure(&json!({"dispatch": task}));
        assert_eq!(failure.fault, Fault::InvalidShape, "{key}");
        let told = format!("`{key}` is inside `dispatch`");
        assert!(failure.message.starts_with(&told), "{}", failure.message);
        assert!(failure.message.contains("top level of the message"));
    }
}

#[test]
fn an_action_has_the_name_that_its_caller_gives_it_and_no_other() {
    let request =
        |task_id: Value| received(&json!({"actionId": "A", "args": {}, "taskId": task_id}));
    assert_eq!(request(json!("t-1")).delivery, Delivery::Named);
    for unsaid in [json!(null), json!("")] {
        let received = request(unsaid);
        assert_eq!(received.delivery, Delivery::Nameless);
        assert_eq!(received.task_id, "A");
        assert!(received.task.is_ok());
    }
    let failure = request(json!(42)).task.unwrap_err();
    assert_eq!(failure.fault, Fault::InvalidShape);
    assert!(failure.message.contains("`taskId`"), "{}", failure.message);
}

#[test]
fn names_that_the_record_looks_for_are_not_texts_of_any_length() {
    let named = |key: &str, bytes: usize| {
        let mut document = bare();
        document["metadata"] = json!({"request_id": "r"});
        let place = match key {
            "request_id" => &mut document["metadata"][key],
            _ => &mut document[key],
        };
        *place = json!("x".repeat(bytes));
        document
    };
    for key in ["task_id", "request_id", "idempotency_key"] {
        assert!(received(&named(key, 512)).task.is_ok(), "{key}");
        let failure = failure(&named(key, 513));
        assert_eq!(failure.fault, Fault::InvalidShape);
        assert!(
            failure
                .message
                .contains(&format!("`{key}` has 513 bytes, but can have at most 512"))
        );
    }
}
