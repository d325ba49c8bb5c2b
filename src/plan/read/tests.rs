//! What a plan may say, and what is said of one that may not.

mod actions;
mod configured;
mod edits;
mod mutations;
mod operations;
mod programs;
mod rules;
mod schema;
mod together;

use serde_json::{Value, json};

use super::{Named, PlanError, read};
use crate::{
    plan::{
        model::{Hashes, OnError, OnFailure, Operation, Permissions, Plan},
        protected::Kept,
    },
    task::{Bounds, Fault, PlanOrder, Risk, Validation, ValidationRule},
};

fn order(plan: Value) -> PlanOrder {
    PlanOrder {
        plan,
        system_config: None,
        validation: Validation::Approved,
        salt: None,
    }
}

fn good(plan: Value) -> Plan {
    read(&order(plan), &Bounds::default(), &Kept::default()).unwrap()
}

fn bad(plan: Value) -> PlanError {
    read(&order(plan), &Bounds::default(), &Kept::default()).unwrap_err()
}

/// The plan under this configuration.
fn under(config: Value, plan: Value) -> Result<Plan, PlanError> {
    let order = PlanOrder {
        system_config: Some(config),
        ..order(plan)
    };
    read(&order, &Bounds::default(), &Kept::default())
}

/// A plan of these actions.
fn plan(actions: &Value) -> Value {
    json!({"plan_id": "plan-001", "action_plan": actions})
}

/// A plan of one action of this type.
fn one(action_type: &str, operation: &Value) -> Value {
    plan(&json!([
        {"action_id": "a001", "action_type": action_type, "target": "a.json", "operation": operation}
    ]))
}

fn delete(id: &str, target: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_DELETE", "target": target, "operation": {"type": "delete"}})
}

/// That the first problem is of this class and says this.
#[track_caller]
fn says(error: &PlanError, fault: Fault, words: &str) {
    let failure = &error.problems[0].failure;
    assert_eq!(failure.fault, fault, "{}", failure.message);
    assert!(failure.message.contains(words), "{}", failure.message);
}

/// The action that a problem is about.
fn subject(error: &PlanError, problem: usize) -> &Named {
    &error.actions[error.problems[problem].action.unwrap()]
}

#[test]
fn the_plan_of_001_12_1_is_read_with_every_default_r_001_40() {
    let plan = good(json!({
        "plan_id": "plan-001",
        "action_plan": [{
            "action_id": "a001",
            "action_type": "FILE_MODIFY",
            "target": "esquemas/esquema_bd.json",
            "operation": {
                "type": "json_add_property",
                "path": "$.properties",
                "key": "new_field",
                "value": {"type": "string"}
            }
        }]
    }));
    assert_eq!(plan.plan_id, "plan-001");
    let action = &plan.actions[0];
    assert_eq!(action.id.0, "a001");
    assert_eq!(action.target.as_str(), "esquemas/esquema_bd.json");
    assert!(matches!(action.operation, Operation::Modify(_)));
    assert_eq!((action.risk, action.timeout.as_secs()), (Risk::Low, 30));
    let how = &plan.instructions;
    assert_eq!(
        (
            how.on_error,
            how.on_failure,
            how.permissions,
            how.hashes,
            how.timeout.as_secs()
        ),
        (
            OnError::Stop,
            OnFailure::RollBack,
            Permissions::Preserve,
            Hashes::Verify,
            300
        )
    );
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

#[test]
fn every_field_of_the_origins_schema_is_known() {
    let plan = good(json!({
        "plan_id": "6f1c0a52-1f0d-4f6e-9a53-0d1f7c1f2e11",
        "version": "1.0.0",
        "created_at": "2026-02-03T00:00:00Z",
        "inspector_version": "1.0.0",
        "task_summary": "Take a file away",
        "context_files_used": [],
        "decisions": [],
        "task_decomposition": [],
        "risk_assessment": {"overall_risk": "LOW"},
        "protocol_validation": true,
        "action_plan": [{
            "action_id": "a001", "action_type": "FILE_DELETE", "target": "a",
            "operation": {"type": "delete", "details": {}},
            "depends_on": [], "reversible": true, "risk_level": "CRITICAL",
            "validation_rules": [], "estimated_duration_ms": 12
        }],
        "execution_instructions": {
            "execution_order": "sequential", "stop_on_error": false, "rollback_on_failure": false,
            "preserve_permissions": false, "verify_hashes": false,
            "human_approval_required": false, "estimated_files_affected": 1, "timeout_seconds": 60
        }
    }));
    assert_eq!(
        plan.notes,
        ["The author of this plan states the risk critical."]
    );
    let how = &plan.instructions;
    assert_eq!(
        (how.on_error, how.on_failure),
        (OnError::GoOn, OnFailure::Keep)
    );
    assert_eq!(
        (how.permissions, how.hashes),
        (Permissions::Fresh, Hashes::Trust)
    );
    assert_eq!(how.timeout.as_secs(), 60);
    assert_eq!(plan.actions[0].risk, Risk::Critical);
}

#[test]
fn a_plan_that_nobody_approved_is_rejected_before_it_is_read_r_001_133() {
    let unsaid = PlanOrder {
        validation: Validation::Unsaid,
        ..order(json!({"plan_id": "p", "action_plan": [{"action_id": "x"}, 3]}))
    };
    let error = read(&unsaid, &Bounds::default(), &Kept::default()).unwrap_err();
    says(&error, Fault::NotValidated, "protocol_validation");
    assert_eq!(error.problems[0].failure.fault.number(), 1007);
    assert!(error.problems.len() == 1);
    assert_eq!(error.plan_id.as_deref(), Some("p"));
    let names: Vec<&str> = error.actions.iter().map(|it| it.id.0.as_str()).collect();
    assert_eq!(names, ["x", "action_plan[1]"]);
}

#[test]
fn a_catalog_may_do_without_validation_but_not_against_a_refusal() {
    let bounds = Bounds {
        validation: ValidationRule::None,
        ..Bounds::default()
    };
    let mut order = order(plan(&json!([delete("a", "f")])));
    order.validation = Validation::Unsaid;
    assert!(read(&order, &bounds, &Kept::default()).is_ok());
    order.validation = Validation::Refused("the checksum does not fit".to_owned());
    let error = read(&order, &bounds, &Kept::default()).unwrap_err();
    says(&error, Fault::NotValidated, "the checksum does not fit");
}

#[test]
fn a_plan_that_asks_for_a_person_needs_an_approval() {
    let mut waits = plan(&json!([delete("a", "f")]));
    waits["execution_instructions"] = json!({"human_approval_required": true});
    says(
        &bad(waits),
        Fault::ApprovalRequired,
        "`execution_instructions.human_approval_required` is true",
    );
    let config = json!({"workflow_configuration": {"requires_approval": true}});
    let error = under(config, plan(&json!([delete("a", "f")]))).unwrap_err();
    says(
        &error,
        Fault::ApprovalRequired,
        "`system_config.workflow_configuration.requires_approval` is true",
    );
}

#[test]
fn what_is_no_plan_is_told_by_key_and_type() {
    for (plan, words) in [
        (json!([]), "`task_plan` must be an object, and is an array"),
        (json!({"action_plan": []}), "`plan_id` is missing"),
        (
            json!({"plan_id": "", "action_plan": []}),
            "`plan_id` is empty",
        ),
        (
            json!({"plan_id": 7, "action_plan": []}),
            "`plan_id` must be a text, and is the number 7",
        ),
        (
            json!({"plan_id": "a\nb", "action_plan": []}),
            "control characters",
        ),
        (
            json!({"plan_id": "https://u:PW@h/", "action_plan": []}),
            r#"`plan_id` is "https://***@h/", a URL with credentials"#,
        ),
        (json!({"plan_id": "p"}), "`action_plan` is missing"),
        (
            json!({"plan_id": "p", "action_plan": {}}),
            "`action_plan` must be an array",
        ),
        (
            json!({"plan_id": "p", "action_plan": []}),
            "`action_plan` is empty",
        ),
        (
            json!({"plan_id": "p", "action_plan": [1]}),
            "`action_plan[0]` must be an object",
        ),
        (
            json!({"plan_id": "p", "action_plan": [delete("a", "f")], "decisions": "none"}),
            "`decisions` must be an array, and is a text",
        ),
        (
            json!({"plan_id": "p", "action_plan": [delete("a", "f")], "execution_instructions": null}),
            "`execution_instructions` must be an object, and is null; leave the key out",
        ),
        (
            json!({"plan_id": "p", "action_plan": [delete("a", "f")], "execution_instructions": {"stop_on_error": "no"}}),
            "`execution_instructions.stop_on_error` must be true or false, and is a text",
        ),
        (
            json!({"plan_id": "p", "action_plan": [delete("a", "f")], "execution_instructions": {"execution_order": "random"}}),
            "is \"random\"; known are `sequential`, `dependency_based`, `parallel`",
        ),
    ] {
        says(&bad(plan), Fault::PlanInvalid, words);
    }
}

#[test]
fn unknown_keys_are_noted_and_slips_of_the_pen_refused() {
    let mut strange = plan(&json!([delete("a", "f")]));
    strange["mood"] = json!("good");
    assert_eq!(
        good(strange.clone()).notes,
        ["`mood` is unknown and has no effect"]
    );
    strange["action_plan"][0]["depend_on"] = json!(["b"]);
    says(
        &bad(strange),
        Fault::PlanInvalid,
        "`action_plan[0].depend_on` is unknown; did you mean `depends_on`?",
    );
}

fn whole_plan() -> Value {
    json!({
        "plan_id": "p",
        "execution_instructions": {},
        "action_plan": [
            {"action_id": "a", "action_type": "FILE_MODIFY", "target": "a.yaml", "validation_rules": [{"type": "file_exists"}],
             "operation": {"type": "text_replace", "pattern": "a", "replacement": "b"}},
            {"action_id": "b", "action_type": "FILE_MODIFY", "target": "a.yaml", "operation": {
                "type": "yaml_update", "path": "$.a", "value": 1}},
            {"action_id": "c", "action_type": "FILE_CREATE", "target": "n", "operation": {"type": "create", "content": ""}},
        ],
    })
}

/// The key stands somewhere in a plan, and is refused with the key that is meant.
#[track_caller]
fn means(place: &str, key: &str, meant: &str) {
    let mut whole = whole_plan();
    good(whole.clone());
    whole.pointer_mut(place).unwrap()[key] = json!(true);
    says(
        &bad(whole),
        Fault::PlanInvalid,
        &format!("{key}` is unknown; did you mean `{meant}`?"),
    );
}

#[test]
fn keys_that_are_like_a_known_one_are_refused() {
    for (place, key, meant) in [
        (
            "/execution_instructions",
            "human_approval_requirement",
            "human_approval_required",
        ),
        (
            "/execution_instructions",
            "rollback_on_fail",
            "rollback_on_failure",
        ),
        ("/action_plan/0", "validation_ruleset", "validation_rules"),
        ("/action_plan/0", "depends_upon", "depends_on"),
    ] {
        means(place, key, meant);
    }
}

#[test]
fn keys_that_are_like_a_name_in_use_have_no_effect() {
    for (place, key) in [
        ("", "model"),
        ("", "mode"),
        ("", "checks"),
        ("", "limit"),
        ("/execution_instructions", "timeouts"),
        ("/action_plan/0/operation", "time"),
    ] {
        let mut whole = whole_plan();
        whole.pointer_mut(place).unwrap()[key] = json!("x");
        good(whole);
    }
}

#[test]
fn names_in_use_for_a_key_are_refused_with_the_key_that_is_meant() {
    for place in [
        "",
        "/execution_instructions",
        "/action_plan/0",
        "/action_plan/0/operation",
        "/action_plan/0/validation_rules/0",
    ] {
        for key in ["dry_run", "dryRun", "dry-run"] {
            means(place, key, "--dry-run");
        }
    }
    for place in [
        "",
        "/action_plan/0",
        "/action_plan/0/operation",
        "/action_plan/0/validation_rules/0",
    ] {
        for key in [
            "requires_approval",
            "human_approval_required",
            "approvalRequired",
        ] {
            means(place, key, "execution_instructions.human_approval_required");
        }
    }
    for (key, meant) in [
        (
            "rollbackOnFailure",
            "execution_instructions.rollback_on_failure",
        ),
        ("stop_on_error", "execution_instructions.stop_on_error"),
        ("config", "system_config"),
        ("system-config", "system_config"),
        ("validation", "protocol_validation"),
    ] {
        means("", key, meant);
    }
    means("/execution_instructions", "stopOnError", "stop_on_error");
    for (key, meant) in [
        ("validation", "validation_rules"),
        ("validations", "validation_rules"),
        ("depends", "depends_on"),
        ("dependsOn", "depends_on"),
    ] {
        means("/action_plan/0", key, meant);
    }
    for (key, meant) in [
        ("replace_all", "count: \"all\""),
        ("global", "count: \"all\""),
        ("cnt", "count"),
        ("isRegex", "regex"),
    ] {
        means("/action_plan/0/operation", key, meant);
    }
    means("/action_plan/0/validation_rules/0", "onFail", "on_failure");
    means("/action_plan/1/operation", "doc", "document");
    means("/action_plan/1/operation", "documents", "document");
    means("/action_plan/2/operation", "permissions", "mode");
    let config = json!({"execution_constraints": {"maxFilesModified": 1}});
    let error = under(config, plan(&json!([delete("a", "f")]))).unwrap_err();
    says(
        &error,
        Fault::PlanInvalid,
        "did you mean `max_files_modified`?",
    );
    // A limit that is not among the limits would have no effect.
    for key in ["protected_files", "allowedOperations"] {
        let mut config = json!({});
        config[key] = json!([]);
        let error = under(config, plan(&json!([delete("a", "f")]))).unwrap_err();
        let meant = "did you mean `system_config.execution_constraints.";
        says(&error, Fault::PlanInvalid, meant);
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once_and_the_first_decides() {
    let error = bad(json!({
        "plan_id": "p",
        "action_plan": [
            {"action_id": "a", "action_type": "FILE_DELETE", "target": "../x", "operation": {"type": "delete"}},
            {"action_id": "b", "action_type": "FILE_DELETE", "target": ".env", "operation": {"type": "delete"}},
            {"action_id": "c", "action_type": "FILE_DELETE", "target": "f", "operation": {"type": "delete"}, "depends_on": ["z"]}
        ]
    }));
    let faults: Vec<Fault> = error
        .problems
        .iter()
        .map(|problem| problem.failure.fault)
        .collect();
    assert_eq!(
        faults,
        [
            Fault::PathOutside,
            Fault::ProtectedFile,
            Fault::UnknownDependency
        ]
    );
    let named = subject(&error, 1);
    assert_eq!(named.id.0, "b");
    assert_eq!(named.target.as_deref(), Some(".env"));
    assert_eq!(named.operation.unwrap().name(), "FILE_DELETE");
    let told = error.failure();
    assert_eq!(told.fault, Fault::PathOutside);
    assert_eq!(
        told.message.matches("; also: ").count(),
        2,
        "{}",
        told.message
    );
}

#[test]
fn a_message_names_five_problems_and_counts_the_rest() {
    let actions: Vec<Value> = (0..9)
        .map(|n| delete(&n.to_string(), "/etc/passwd"))
        .collect();
    let told = bad(plan(&json!(actions))).failure().message;
    assert_eq!(told.matches("Path traversal").count(), 5);
    assert!(told.ends_with("; and 4 more"), "{told}");
}

#[test]
fn a_plans_time_is_the_shorter_of_both_and_never_more_than_an_hour_r_001_173() {
    let seconds = |instructions: Value, config: Value| {
        let mut plan = plan(&json!([delete("a", "f")]));
        plan["execution_instructions"] = instructions;
        let plan = under(json!({"workflow_configuration": config}), plan).unwrap();
        (plan.instructions.timeout.as_secs(), plan.notes.len())
    };
    assert_eq!(seconds(json!({}), json!({})), (300, 0));
    assert_eq!(
        seconds(
            json!({"timeout_seconds": 900}),
            json!({"timeout_seconds": 600})
        ),
        (600, 0)
    );
    assert_eq!(
        seconds(
            json!({"timeout_seconds": 90}),
            json!({"timeout_seconds": 600})
        ),
        (90, 0)
    );
    assert_eq!(
        seconds(json!({"timeout_seconds": 9000}), json!({})),
        (3600, 1)
    );
}
