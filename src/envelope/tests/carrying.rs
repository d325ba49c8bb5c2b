//! Plans inside tasks of capabilities and in files, and what the schema says of them.

use serde_json::{Value, json};

use super::planning::{failure, message, order, plan, received, with};
use crate::{
    envelope::read_plan,
    task::{CarriedIn, Fault, Task, Validation},
};

#[test]
fn actions_are_steps_of_one_task_and_tasks_are_not_r_000_108() {
    let two = json!({"plan_id": "p", "action_plan": [{"action_id": "a"}, {"action_id": "b"}], "task_decomposition": [{"id": "st001"}]});
    assert_eq!(order(&two).plan, two);
    for document in [
        json!({"plan_id": "p", "action_plan": [{"task_id": "t"}]}),
        json!({"task_plan": {"action_plan": [{"capability_ids": ["A"]}]}}),
        json!({"task_plan": [plan(), plan()]}),
        with(plan(), "task_plan", plan()),
        with(plan(), "tasks", json!([])),
        with(
            plan(),
            "dispatch",
            json!({"task_id": "t", "capability_ids": ["A"]}),
        ),
        with(
            message("TASK_REQUEST", json!({"content": plan()})),
            "task_plan",
            plan(),
        ),
    ] {
        assert_eq!(failure(&document).fault, Fault::MultipleTasks, "{document}");
    }
}

#[test]
fn a_task_of_capabilities_can_carry_a_plan_and_says_where() {
    let carried = |more: Value| {
        let mut document = json!({"task_id": "t", "capability_ids": ["apply_file_plan"]});
        for (key, value) in more.as_object().unwrap() {
            document[key] = value.clone();
        }
        match received(&document).task.unwrap() {
            Task::Capabilities(task) => task.carried,
            other => panic!("{other:?}"),
        }
    };
    let beside = carried(json!({"task_plan": plan(), "protocol_validation": true})).unwrap();
    assert_eq!(
        (beside.plan, beside.validation, beside.place),
        (Some(plan()), Validation::Approved, CarriedIn::Task)
    );
    for key in ["task_plan", "plan"] {
        let within =
            carried(json!({"parameters": {key: plan(), "protocol_validation": "REJECTED"}}))
                .unwrap();
        assert_eq!(
            (within.plan, within.place),
            (Some(plan()), CarriedIn::Parameters)
        );
        assert!(matches!(within.validation, Validation::Refused(_)));
    }
    let elsewhere = carried(json!({"protocol_validation": true})).unwrap();
    assert_eq!(
        (elsewhere.plan, elsewhere.validation),
        (None, Validation::Approved)
    );
    assert_eq!(carried(json!({"parameters": {"plan": "free text"}})), None);
    let both = json!({"task_id": "t", "capability_ids": ["A"], "task_plan": plan(), "parameters": {"plan": plan()}});
    assert_eq!(failure(&both).fault, Fault::MultipleTasks);
    let stray = json!({"task_id": "t", "capability_ids": ["A"], "action_plan": []});
    assert!(failure(&stray).message.contains("`task_plan`"));
}

#[test]
fn a_file_holds_a_plan_or_is_refused() {
    let bytes = json!({"task_plan": plan(), "protocol_validation": true}).to_string();
    let order = read_plan(bytes.as_bytes()).unwrap();
    assert_eq!(
        (order.plan, order.validation),
        (plan(), Validation::Approved)
    );
    for (bytes, fault) in [
        ("{\"plan_id\": \"p\"}", Fault::InvalidShape),
        ("[]", Fault::InvalidShape),
        ("{\"a\": 1, \"a\": 2}", Fault::InvalidJson),
        ("", Fault::InvalidJson),
    ] {
        assert_eq!(
            read_plan(bytes.as_bytes()).unwrap_err().fault,
            fault,
            "{bytes}"
        );
    }
}

#[test]
fn the_schema_that_people_are_shown_takes_the_plans_that_the_reader_takes() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/task.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (document, good) in [
        (plan(), true),
        (
            json!({"task_plan": plan(), "protocol_validation": true}),
            true,
        ),
        (message("TASK_REQUEST", json!({"content": plan()})), true),
        (message("CANCEL", json!({"task_id": "t"})), true),
        (
            json!({"task_id": "t", "capability_ids": ["A"], "task_plan": plan()}),
            true,
        ),
        (with(plan(), "task_plan", plan()), false),
        (message("ACK", json!({})), false),
        (
            json!({"plan_id": "p", "action_plan": [{"task_id": "t"}]}),
            false,
        ),
        (
            json!({"task_id": "t", "capability_ids": ["A"], "action_plan": []}),
            false,
        ),
    ] {
        assert_eq!(validator.is_valid(&document), good, "{document}");
        assert_eq!(received(&document).task.is_ok(), good, "{document}");
    }
}
