//! The proposal dialect (003, "The four kinds"): where it stands, what becomes of it, and what is refused.

use serde_json::{Map, Value, json};

use crate::{
    envelope::{Delivery, Received, read},
    task::{CapabilityTask, Fault, NamedAs, ProposalKind, Task},
};

fn received(document: &Value) -> Received {
    read(document.to_string().as_bytes(), || "sess-fresh".to_owned())
}

fn refused(document: &Value) -> (Fault, String) {
    let failure = received(document).task.expect_err(&document.to_string());
    (failure.fault, failure.message)
}

fn capabilities(document: &Value) -> CapabilityTask {
    match received(document).task {
        Ok(Task::Capabilities(task)) => *task,
        other => panic!("{document}: {other:?}"),
    }
}

fn standard() -> Value {
    json!({"kind": "standard", "name": "task_create", "parameters_json": "{\"task_text\": \"X\"}", "attempt": 1})
}

fn suggestion() -> Value {
    json!({"kind": "suggestion", "title": "Archive this", "confidence": 0.5})
}

fn clarification() -> Value {
    json!({"kind": "clarification", "blocked_on": ["the day", ""], "plan_summary": "A meeting"})
}

fn improvised() -> Value {
    json!({"kind": "improvised", "plan_summary": "Tidy up", "steps": [{"name": "a"}]})
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

#[test]
fn a_standard_action_is_the_task_that_a_dispatch_of_its_entry_is_r_003_05() {
    let dispatch = json!({
        "task_id": "task_create", "capability_ids": ["task_create"], "parameters": {"task_text": "X"}, "attempt": 1,
    });
    let mut wanted = capabilities(&dispatch);
    assert_eq!(wanted.named_as, NamedAs::Capability);
    wanted.named_as = NamedAs::StandardAction;
    assert_eq!(capabilities(&standard()), wanted);
    let mut object = with(standard(), "parameters", json!({"task_text": "X"}));
    object["parameters_json"] = json!("");
    assert_eq!(capabilities(&object), wanted);
}

#[test]
fn a_proposal_stands_where_a_dispatch_may_stand() {
    for proposal in [standard(), suggestion(), clarification(), improvised()] {
        let bare = received(&proposal);
        let wrapped = received(&json!({"dispatch": proposal}));
        let message = received(&json!({"output": {"content": {"dispatch": proposal}}}));
        assert!(bare.task.is_ok(), "{:?}", bare.task);
        for other in [wrapped, message] {
            assert_eq!(other.task, bare.task);
            assert_eq!((other.kind, &other.echo), (bare.kind, &bare.echo));
        }
        assert_eq!(proposal["kind"], bare.kind.name());
    }
    let two = with(suggestion(), "dispatch", standard());
    assert_eq!(refused(&two).0, Fault::MultipleTasks);
    let lost = json!({"dispatch": with(suggestion(), "metadata", json!({}))});
    assert!(refused(&lost).1.contains("top level"));
}

#[test]
fn there_are_exactly_four_kinds_r_003_03() {
    for said in [
        json!("todo"),
        json!("Suggestion"),
        json!(" standard"),
        json!(1),
        json!(["standard"]),
    ] {
        for proposal in [
            with(standard(), "kind", said.clone()),
            json!({"kind": said, "task_id": "t"}),
        ] {
            for document in [json!({"dispatch": proposal}), proposal] {
                let (fault, message) = refused(&document);
                assert_eq!(fault, Fault::InvalidShape);
                for kind in ProposalKind::ALL {
                    assert!(message.contains(&format!("`{}`", kind.name())), "{message}");
                }
                assert_eq!(received(&document).kind, ProposalKind::Standard);
            }
        }
    }
}

#[test]
fn a_kind_of_another_program_makes_no_proposal() {
    let dispatch = json!({"task_id": "t", "capability_ids": ["A"], "kind": "unit-of-work"});
    assert_eq!(capabilities(&dispatch).named_as, NamedAs::Capability);
    let around = json!({"kind": "message", "dispatch": {"task_id": "t", "capability_ids": ["A"]}});
    assert_eq!(capabilities(&around).named_as, NamedAs::Capability);
}

#[test]
fn what_is_no_action_is_performed_in_no_dialect_r_003_13_20() {
    let dispatch = json!({"task_id": "t", "capability_ids": ["A"]});
    let request = json!({"actionId": "A", "args": {}});
    let plan = json!({"plan_id": "p", "action_plan": []});
    for other in [dispatch, request, plan] {
        for proposal in [suggestion(), clarification(), improvised(), standard()] {
            for kind in [proposal["kind"].clone(), json!("SUGGESTION")] {
                let mut both: Map<String, Value> = other.as_object().unwrap().clone();
                both.extend(proposal.as_object().unwrap().clone());
                both.insert("kind".to_owned(), kind);
                let (fault, message) = refused(&both.into());
                assert_eq!(fault, Fault::InvalidShape, "{message}");
            }
        }
    }
}

#[test]
fn a_proposal_without_a_task_id_is_a_delivery_of_its_own() {
    let proposed = received(&standard());
    assert_eq!(
        (proposed.task_id.as_str(), proposed.delivery),
        ("task_create", Delivery::Nameless)
    );
    let named = received(&with(standard(), "task_id", json!("task_9")));
    assert_eq!(
        (named.task_id.as_str(), named.delivery),
        ("task_9", Delivery::Named)
    );
    assert_eq!(received(&suggestion()).task_id, "unknown");
}

#[test]
fn the_fields_have_their_types() {
    for (proposal, key, value) in [
        (standard(), "name", json!(1)),
        (standard(), "parameters_json", json!("[1]")),
        (standard(), "parameters_json", json!({"a": 1})),
        (standard(), "parameters", json!({"task_text": "Y"})),
        (standard(), "clarifies", json!(1)),
        (standard(), "under", json!(1)),
        (suggestion(), "clarifies", json!(1)),
        (suggestion(), "title", json!(["Archive"])),
        (suggestion(), "confidence", json!(1.5)),
        (suggestion(), "confidence", json!("high")),
        (suggestion(), "irreversibility", json!("none")),
        (suggestion(), "regret_potential", json!(3)),
        (suggestion(), "risk_amplifier", json!("yes")),
        (suggestion(), "task_id", json!("")),
        (suggestion(), "attempt", json!(0)),
        (clarification(), "blocked_on", json!(true)),
        (clarification(), "blocked_on", json!(["a", 1])),
        (improvised(), "steps", json!(["a"])),
        (improvised(), "grant", json!(["a"])),
    ] {
        let (fault, message) = refused(&with(proposal, key, value));
        assert_eq!(fault, Fault::InvalidShape, "{message}");
        assert!(message.contains(&format!("`{key}")), "{key}: {message}");
    }
    let twice = with(standard(), "parameters_json", json!(r#"{"a": 1, "a": 2}"#));
    assert_eq!(refused(&twice).0, Fault::InvalidJson);
}

#[test]
fn a_level_that_is_none_is_refused_with_the_words_of_its_field() {
    for (key, word) in [
        ("irreversibility", "moderate"),
        ("irreversibility", "none"),
        ("regret_potential", "huge"),
    ] {
        let (fault, message) = refused(&with(suggestion(), key, json!(word)));
        let said = format!("`{key}` is \"{word}\"; it must be `low`, `medium`, `high`");
        assert_eq!((fault, message), (Fault::InvalidShape, said));
    }
}

#[test]
fn a_key_that_was_meant_for_one_of_a_proposal_is_refused() {
    for (key, meant) in [
        ("capability_ids", "name"),
        ("action_name", "name"),
        ("params", "parameters"),
        ("action_plan", "task_plan"),
        ("bloked_on", "blocked_on"),
        ("dry_run", "--dry-run"),
    ] {
        let (_, message) = refused(&with(standard(), key, json!("x")));
        assert!(
            message.contains(&format!("did you mean `{meant}`?")),
            "{message}"
        );
    }
}

#[test]
fn a_suggestion_that_asks_earns_only_a_note_r_003_15() {
    let noted = |proposal: &Value| {
        let received = received(proposal);
        assert!(received.task.is_ok());
        received
            .notes
            .iter()
            .any(|note| note.contains("question mark"))
    };
    assert!(!noted(&suggestion()));
    assert!(noted(&with(suggestion(), "title", json!("Archive this? "))));
    assert!(noted(&with(
        suggestion(),
        "plan_summary",
        json!("Is this done?")
    )));
}

#[test]
fn what_a_clarification_waits_for_is_a_text_or_several_r_003_17() {
    let blocked_on = |proposal: &Value| match received(proposal).task {
        Ok(Task::Clarification(question)) => question.blocked_on,
        other => panic!("{other:?}"),
    };
    assert_eq!(blocked_on(&clarification()), ["the day"]);
    let one = with(clarification(), "blocked_on", json!("the hour"));
    assert_eq!(blocked_on(&one), ["the hour"]);
}

#[test]
fn a_task_of_any_kind_says_which_clarification_it_answers() {
    let dispatch = json!({"task_id": "t", "capability_ids": ["A"], "clarifies": "op_1"});
    let request = json!({"actionId": "A", "args": {}, "clarifies": "op_1"});
    for task in [
        dispatch,
        request,
        with(standard(), "clarifies", json!("op_1")),
    ] {
        assert_eq!(capabilities(&task).clarifies.as_deref(), Some("op_1"));
        assert_eq!(received(&task).echo["clarifies"], "op_1");
    }
}

#[test]
fn a_context_in_the_payload_has_no_effect_and_that_is_said_r_003_36_c_32() {
    let told = |document: &Value, key: &str| {
        let received = received(document);
        let told = received
            .notes
            .iter()
            .filter(|note| note.starts_with(&format!("`{key}` has no effect")));
        let told = told.count();
        assert!(told <= 1);
        (told == 1, received.notes.join(" "))
    };
    let dispatch = json!({"task_id": "t", "capability_ids": ["A"], "attempt": 1});
    let plan = json!({"task_plan": {"plan_id": "p", "action_plan": []}});
    let message = json!({
        "envelope": {"message_type": "STATUS_QUERY"}, "payload": {"task_id": "t"},
    });
    let request = json!({"actionId": "A", "args": {}});
    for task in [
        dispatch.clone(),
        plan,
        message,
        request.clone(),
        standard(),
        suggestion(),
    ] {
        assert!(!told(&task, "context").0);
        for word in ["USER_INVOCATION", "user_invocation"] {
            let (said, notes) = told(&with(task.clone(), "context", json!(word)), "context");
            assert!(said, "{task}: {notes}");
            assert!(!notes.contains("Ignored"), "{notes}");
        }
        let (said, _) = told(
            &with(task.clone(), "invocation_context", json!({})),
            "invocation_context",
        );
        assert!(said, "{task}");
        let around = with(
            task,
            "metadata",
            json!({"session_id": "s", "context": "FSM_INTERNAL"}),
        );
        assert!(told(&around, "context").0);
    }
    let inside = json!({"dispatch": with(dispatch, "context", json!("FSM_INTERNAL"))});
    assert!(told(&inside, "context").0);
    // The context of an MCPRequest is data, unless it is one of the five words.
    for data in [json!({"context": "FSM_INTERNAL"}), json!("a quiet office")] {
        let request = with(request.clone(), "context", data.clone());
        assert!(!told(&request, "context").0);
        assert_eq!(capabilities(&request).context, Some(data));
    }
}

#[test]
fn the_schema_of_tasks_accepts_what_the_reader_accepts() {
    let schema = serde_json::from_str(include_str!("../../../schemas/task.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let mut seen = [0, 0];
    let mut granted = improvised();
    granted["steps"] = json!([]);
    granted["grant"] = json!({"entries": ["a"], "max_calls": 5, "for": "10m"});
    for proposal in [
        standard(),
        suggestion(),
        clarification(),
        improvised(),
        granted,
    ] {
        let values = [
            json!(null),
            json!(""),
            json!([]),
            json!({}),
            json!("text"),
            json!({"a": 1}),
            json!([{"a": 1}]),
            json!(0.5),
            json!(true),
            json!("low"),
            json!("moderate"),
            json!(["text"]),
            json!("{}"),
            json!({"entries": ["a"], "max_calls": 5, "for": "10m"}),
            json!({"entries": ["a"], "max_calls": 51, "for": "10m"}),
        ];
        let keys = [
            "name",
            "parameters_json",
            "parameters",
            "task_plan",
            "title",
            "plan_summary",
            "rationale",
            "confidence",
            "blocked_on",
            "irreversibility",
            "regret_potential",
            "risk_amplifier",
            "steps",
            "grant",
            "clarifies",
            "under",
        ];
        for (key, value) in keys
            .into_iter()
            .flat_map(|key| values.iter().map(move |value| (key, value)))
        {
            let changed = with(proposal.clone(), key, value.clone());
            for document in [json!({"dispatch": changed}), changed] {
                let accepted = received(&document).task.is_ok();
                // What JSON text contains is beyond a schema.
                if key != "parameters_json" {
                    assert_eq!(schema.is_valid(&document), accepted, "{document}");
                }
                seen[usize::from(accepted)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 300), "{seen:?}");
}
