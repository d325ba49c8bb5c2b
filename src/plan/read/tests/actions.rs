//! One item of `action_plan`.

use super::*;

/// The plan of one deletion with these fields set.
fn with(fields: &Value) -> Value {
    let mut action = delete("a001", "f");
    for (key, value) in fields.as_object().unwrap() {
        action[key] = value.clone();
    }
    plan(&json!([action]))
}

#[test]
fn what_an_action_lacks_is_told_all_at_once() {
    let error = bad(plan(&json!([{}])));
    let told = error.failure().message;
    for key in ["action_id", "action_type", "target", "operation"] {
        assert!(
            told.contains(&format!("`action_plan[0].{key}` is missing")),
            "{told}"
        );
    }
}

#[test]
fn fields_of_a_wrong_type_are_told_by_their_place() {
    for (fields, words) in [
        (
            json!({"action_id": 1}),
            "`action_plan[0].action_id` must be a text",
        ),
        (
            json!({"action_type": "FILE_MOVE"}),
            "is \"FILE_MOVE\"; known are `FILE_CREATE`, `FILE_MODIFY`",
        ),
        (
            json!({"action_type": "file_delete"}),
            "`action_plan[0].action_type`",
        ),
        (
            json!({"target": ["f"]}),
            "`action_plan[0].target` must be a text, and is an array",
        ),
        (
            json!({"operation": "delete"}),
            "`action_plan[0].operation` must be an object",
        ),
        (
            json!({"depends_on": "a000"}),
            "`action_plan[0].depends_on` must be an array",
        ),
        (
            json!({"depends_on": [1]}),
            "`action_plan[0].depends_on[0]` must be a text",
        ),
        (
            json!({"reversible": 1}),
            "`action_plan[0].reversible` must be true or false",
        ),
        (
            json!({"risk_level": "low"}),
            "known are `LOW`, `MEDIUM`, `HIGH`, `CRITICAL`",
        ),
        (
            json!({"timeout_seconds": 0}),
            "must be a whole number from 1 on, and is the number 0",
        ),
        (
            json!({"estimated_duration_ms": "long"}),
            "must be a number, and is a text",
        ),
        (
            json!({"validation_rules": {}}),
            "`action_plan[0].validation_rules` must be an array",
        ),
    ] {
        says(&bad(with(&fields)), Fault::PlanInvalid, words);
    }
}

#[test]
fn every_spelling_of_a_way_out_of_the_root_is_refused_r_001_157() {
    for path in [
        "../etc/passwd",
        "a/../../b",
        "/etc/passwd",
        "..\\windows",
        "C:\\windows",
        "\\\\server\\share",
    ] {
        let error = bad(with(&json!({"target": path})));
        says(
            &error,
            Fault::PathOutside,
            "Path traversal attempt detected: `action_plan[0].target`",
        );
        assert_eq!(error.problems[0].failure.fault.number(), 3002);
        assert_eq!(subject(&error, 0).target.as_deref(), Some(path));
    }
    for path in ["a/", ".", "./", "a/.", "a/./", "", "a\u{0}b", "a\\b"] {
        let error = bad(with(&json!({"target": path})));
        says(&error, Fault::PathOutside, "`action_plan[0].target` is");
        assert!(
            !error.problems[0].failure.message.contains("traversal"),
            "{path:?}"
        );
    }
}

#[test]
fn a_path_may_be_spelled_with_components_that_lead_nowhere() {
    for path in ["a/b", "./a/b", "././a/./b", "a//b", ".//a/b"] {
        let plan = good(with(&json!({"target": path})));
        assert_eq!(plan.actions[0].target.as_str(), "a/b", "{path}");
    }
}

#[test]
fn a_path_in_a_message_is_printable_and_short() {
    let error = bad(with(
        &json!({"target": format!("a\u{1b}[31m{}", "x".repeat(10_000))}),
    ));
    let message = &error.problems[0].failure.message;
    assert!(
        message.len() < 300 && !message.contains('\u{1b}'),
        "{message}"
    );
}

#[test]
fn protected_files_are_rejected_also_as_the_place_a_file_is_renamed_to_r_001_25() {
    says(
        &bad(with(&json!({"target": "x/.GIT/hooks/pre-push"}))),
        Fault::ProtectedFile,
        "approval",
    );
    let error = bad(one(
        "FILE_RENAME",
        &json!({"type": "rename", "new_path": "setup.py"}),
    ));
    says(
        &error,
        Fault::ProtectedFile,
        "(`action_plan[0].operation.new_path`)",
    );
    says(
        &bad(with(&json!({"target": ".oneact/ledger"}))),
        Fault::ProtectedFile,
        "oneact's own",
    );
}

#[test]
fn an_action_that_calls_itself_irreversible_is_noted() {
    let plan = good(with(&json!({"reversible": false})));
    assert!(plan.notes[0].starts_with("`action_plan[0].reversible` is false"));
}

#[test]
fn an_actions_time_is_at_most_that_of_its_kind_r_001_169_and_170() {
    let action = &good(with(&json!({"timeout_seconds": 500}))).actions[0];
    assert_eq!(action.timeout.as_secs(), 120);
    let update = json!({"type": "json_update_value", "path": "$.a", "value": 1});
    let mut schema = one("SCHEMA_UPDATE", &update);
    schema["action_plan"][0]["timeout_seconds"] = json!(500);
    let plan = good(schema);
    assert_eq!(plan.actions[0].timeout.as_secs(), 60);
    assert_eq!(
        plan.notes,
        [
            "`action_plan[0].timeout_seconds` is 500 s, and 60 s is the most; the shorter time applies"
        ]
    );
}

#[test]
fn ids_are_unique_and_a_dependency_named_twice_is_one() {
    let error = bad(plan(&json!([
        delete("a", "f"),
        delete("b", "g"),
        delete("a", "h")
    ])));
    says(
        &error,
        Fault::PlanInvalid,
        "`action_plan[2].action_id` is \"a\", as `action_plan[0].action_id` is",
    );
    let mut twice = plan(&json!([delete("a", "f"), delete("b", "g")]));
    twice["action_plan"][1]["depends_on"] = json!(["a", "a"]);
    assert_eq!(good(twice).actions[1].depends_on.len(), 1);
}
