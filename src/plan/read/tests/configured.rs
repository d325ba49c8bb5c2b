//! `system_config`: it tightens, and it is told what it cannot do.

use super::*;

fn one_delete() -> Value {
    plan(&json!([delete("a", "f")]))
}

#[test]
fn yaml_text_and_an_object_say_the_same_r_001_27() {
    let yaml = "execution_constraints:\n  max_files_modified: 3\n  allowed_operations: [DELETE, FILE_MODIFY]\n";
    let object = json!({"execution_constraints": {
        "max_files_modified": 3, "allowed_operations": ["DELETE", "FILE_MODIFY"]
    }});
    for config in [json!(yaml), object] {
        let limits = under(config, one_delete()).unwrap().limits;
        assert_eq!(limits.max_files, 3);
        let names: Vec<&str> = limits.operations.iter().map(|kind| kind.name()).collect();
        assert_eq!(names, ["FILE_MODIFY", "FILE_DELETE"]);
    }
}

#[test]
fn a_configuration_that_is_none_is_refused_and_not_quoted() {
    for (config, words) in [
        (json!("a: [hunter2"), "`system_config` is not valid YAML"),
        (
            json!("a: hunter2\na: 2\n"),
            "`system_config` is not valid YAML",
        ),
        (json!(""), "`system_config` is empty"),
        (
            json!("- hunter2\n"),
            "`system_config` must be an object, and is an array",
        ),
        (
            json!(3),
            "`system_config` must be an object, and is the number 3",
        ),
        (
            json!(null),
            "`system_config` must be an object, and is null",
        ),
        (
            json!("execution_constraints:\n  max_files_modified: many\n"),
            "`system_config.execution_constraints.max_files_modified` must be a whole number from 1 on, and is a text",
        ),
        (
            json!({"execution_constraints": {"allowed_operations": ["CHMOD"]}}),
            "`system_config.execution_constraints.allowed_operations[0]` is \"CHMOD\"; known are `FILE_CREATE`",
        ),
        (
            json!({"execution_constraints": {"forbiden_patterns": ["x"]}}),
            "did you mean `forbidden_patterns`?",
        ),
        (
            json!({"execution_constraints": {"protected_files": ["!x"]}}),
            "`system_config.execution_constraints.protected_files[0]`: `!x` is no pattern",
        ),
        (
            json!({"execution_constraints": {"forbidden_patterns": ["a["]}}),
            "`system_config.execution_constraints.forbidden_patterns[0]`: `a[` is no pattern",
        ),
        (
            json!({"workflow_configuration": {"execution_mode": "chaotic"}}),
            "known are `sequential`, `parallel`, `mixed`",
        ),
    ] {
        let error = under(config, one_delete()).unwrap_err();
        says(&error, Fault::PlanInvalid, words);
        assert!(!error.problems[0].failure.message.contains("hunter2"));
    }
}

#[test]
fn constraints_without_allowed_operations_allow_modifications_alone_and_say_why() {
    let error = under(json!({"execution_constraints": {}}), one_delete()).unwrap_err();
    says(
        &error,
        Fault::OperationNotAllowed,
        "FILE_DELETE is not allowed; allowed is FILE_MODIFY, by the default of \
         `system_config.execution_constraints.allowed_operations`, which the plan does not give \
         (`action_plan[0].action_type`)",
    );
}

#[test]
fn forbidden_and_protected_patterns_hold_for_every_action() {
    let config = |key: &str| json!({"execution_constraints": {"allowed_operations": ["DELETE"], key: ["*.lock"]}});
    let locks = plan(&json!([delete("a", "f"), delete("b", "x/Cargo.LOCK")]));
    let error = under(config("forbidden_patterns"), locks.clone()).unwrap_err();
    says(
        &error,
        Fault::OperationNotAllowed,
        "(`action_plan[1].target`)",
    );
    let error = under(config("protected_files"), locks).unwrap_err();
    says(&error, Fault::ProtectedFile, "pattern `*.lock`");
}

#[test]
fn more_than_the_catalog_allows_is_no_error_but_a_note() {
    let config = json!({"execution_constraints": {
        "max_files_modified": 5000, "allowed_operations": ["DELETE"], "max_file_size_bytes": 99_999_999_999_u64
    }});
    let plan = under(config, one_delete()).unwrap();
    assert_eq!(
        (plan.limits.max_files, plan.limits.max_file_bytes),
        (100, 50 << 20)
    );
    assert_eq!(plan.notes.len(), 2, "{:?}", plan.notes);
}

#[test]
fn what_has_no_effect_is_noted() {
    let config = json!({
        "workflow_configuration": {
            "execution_mode": "parallel", "approval_threshold": "HIGH", "requires_approval": false,
            "retry_policy": {"max_retries": 3, "backoff_multiplier": 2.0, "initial_delay_ms": 100}
        },
        "validation_rules": {
            "verify_file_hashes": false, "run_syntax_check": false, "run_schema_validation": true
        },
        "mood": 1
    });
    let notes = under(config, one_delete()).unwrap().notes;
    for (key, note) in [
        "retry_policy",
        "verify_file_hashes",
        "run_syntax_check",
        "mood",
    ]
    .iter()
    .zip(&notes)
    {
        assert!(note.contains(key), "{note}");
    }
    assert_eq!(notes.len(), 4, "{notes:?}");
}

#[test]
fn hashes_are_verified_unless_the_plan_alone_says_otherwise_c_21() {
    let hashes = |config: Value| {
        let mut plan = one_delete();
        plan["execution_instructions"] = json!({"verify_hashes": false});
        let plan = under(json!({"validation_rules": config}), plan).unwrap();
        (plan.instructions.hashes, plan.notes.len())
    };
    assert_eq!(hashes(json!({})), (Hashes::Trust, 0));
    assert_eq!(
        hashes(json!({"verify_file_hashes": true})),
        (Hashes::Verify, 1)
    );
    assert_eq!(
        hashes(json!({"verify_file_hashes": false})),
        (Hashes::Trust, 1)
    );
}
