//! Validation rules: a closed list, each about a file of the plan.

use super::*;
use crate::plan::model::{Broken, Condition, FileRule};

fn ruled(rules: &Value) -> Value {
    let mut plan = plan(&json!([
        {"action_id": "a", "action_type": "FILE_RENAME", "target": "old.json",
         "operation": {"type": "rename", "new_path": "new.json"}},
        delete("b", "gone")
    ]));
    plan["action_plan"][0]["validation_rules"] = rules.clone();
    plan
}

fn rules(list: &Value) -> Vec<FileRule> {
    good(ruled(list)).actions.remove(0).rules
}

#[test]
fn a_rule_is_about_its_actions_file_where_that_will_be() {
    let rules = rules(
        &json!(["json_valid", {"type": "file_absent", "path": "gone", "on_failure": "warn"}]),
    );
    assert!(matches!(rules[0].condition, Condition::ValidJson));
    assert_eq!(
        (rules[0].target.as_str(), rules[0].on_failure),
        ("new.json", Broken::Error)
    );
    assert!(matches!(rules[1].condition, Condition::Absent));
    assert_eq!(
        (rules[1].target.as_str(), rules[1].on_failure),
        ("gone", Broken::Warn)
    );
}

#[test]
fn every_rule_of_the_list_is_read() {
    let hash = "AB".repeat(32);
    let rules = rules(&json!([
        "file_exists",
        {"type": "yaml_valid", "on_failure": "rollback"},
        {"type": "contains", "text": "x"},
        {"type": "not_contains", "text": "y"},
        {"type": "sha256", "value": hash},
        {"type": "json_schema", "schema": {"type": "object"}}
    ]));
    assert!(matches!(rules[0].condition, Condition::Exists));
    assert!(matches!(rules[1].condition, Condition::ValidYaml));
    assert_eq!(rules[1].on_failure, Broken::RollBack);
    assert!(matches!(&rules[2].condition, Condition::Contains(text) if text == "x"));
    assert!(matches!(&rules[3].condition, Condition::Lacks(text) if text == "y"));
    assert!(matches!(&rules[4].condition, Condition::Sha256(sum) if *sum == "ab".repeat(32)));
    assert!(matches!(&rules[5].condition, Condition::Schema(_)));
}

#[test]
fn no_rule_is_passed_over_in_silence() {
    for (rule, words) in [
        (
            json!("The tests pass"),
            "is \"The tests pass\"; known are `file_exists`",
        ),
        (
            json!("contains"),
            "contains needs parameters; write it as an object",
        ),
        (
            json!(3),
            "`action_plan[0].validation_rules[0]` must be an object",
        ),
        (
            json!({"type": "lint"}),
            "`action_plan[0].validation_rules[0].type` is \"lint\"; known are",
        ),
        (
            json!({"command": "make test"}),
            "`action_plan[0].validation_rules[0].type` is missing",
        ),
        (
            json!({"type": "contains"}),
            "validation_rules[0].text` is missing",
        ),
        (
            json!({"type": "contains", "text": ""}),
            "validation_rules[0].text` is empty",
        ),
        (
            json!({"type": "sha256", "value": "abc"}),
            "must be a SHA-256",
        ),
        (
            json!({"type": "json_schema", "schema": {"type": 3}}),
            "is no JSON Schema",
        ),
        (
            json!({"type": "json_schema", "schema": {"$ref": "https://example.com/s.json"}}),
            "nothing is fetched; put the definition that it names into `$defs`",
        ),
        (
            json!({"type": "file_exists", "on_failure": "ignore"}),
            "known are `warn`, `error`, `rollback`",
        ),
        (
            json!({"type": "file_exists", "path": "other"}),
            "`action_plan[0].validation_rules` has a rule about \"other\", which is no file of the plan",
        ),
    ] {
        says(&bad(ruled(&json!([rule]))), Fault::PlanInvalid, words);
    }
    let out = json!([{"type": "file_exists", "path": "../x"}]);
    says(&bad(ruled(&out)), Fault::PathOutside, "Path traversal");
}

#[test]
fn a_file_is_one_of_the_plan_however_the_plan_spells_it() {
    let mut plan = ruled(&json!([{"type": "file_absent", "path": "./gone"}]));
    plan["action_plan"][1]["target"] = json!(".//gone");
    assert_eq!(good(plan).actions[0].rules[0].target.as_str(), "gone");
}

#[test]
fn the_configurations_rules_go_to_the_last_action_on_their_file() {
    let validators = json!([{"type": "json_valid", "path": "new.json", "on_failure": "rollback"}]);
    for config in [
        json!({"validation_rules": {"custom_validators": validators}}),
        json!({"validation_rules": validators}),
    ] {
        let plan = under(config, ruled(&json!([]))).unwrap();
        assert_eq!(plan.actions[0].rules[0].target.as_str(), "new.json");
        assert!(plan.actions[1].rules.is_empty());
    }
}

#[test]
fn a_validator_of_the_configuration_that_is_not_known_or_about_nothing_is_refused() {
    for (validator, words) in [
        (
            json!({"name": "lint", "script": "x.py"}),
            "custom_validators[0].type` is missing",
        ),
        (
            json!({"type": "file_exists"}),
            "does not say which file it is about",
        ),
        (json!("file_exists"), "does not say which file it is about"),
        (
            json!({"type": "file_exists", "path": "other"}),
            "`system_config` has a rule about \"other\", which is no file of the plan",
        ),
    ] {
        let config = json!({"validation_rules": {"custom_validators": [validator]}});
        let error = under(config, ruled(&json!([]))).unwrap_err();
        says(&error, Fault::PlanInvalid, words);
    }
}
