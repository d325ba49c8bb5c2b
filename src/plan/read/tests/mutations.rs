//! Whatever stands wherever in a plan: it is read, or refused with a reason.

use super::*;

fn everything() -> (Value, Value) {
    let plan = json!({
        "plan_id": "p",
        "version": "1",
        "decisions": [],
        "action_plan": [
            {"action_id": "a", "action_type": "FILE_CREATE", "target": "n", "reversible": true,
             "operation": {"type": "create", "content": "x", "mode": "0644", "encoding": "utf-8"}},
            {"action_id": "b", "action_type": "FILE_MODIFY", "target": "m", "depends_on": ["a"], "risk_level": "LOW",
             "operation": {"type": "text_replace", "details": {"pattern": "x", "replacement": "y", "count": 2}},
             "validation_rules": ["file_exists", {"type": "contains", "text": "y", "path": "n", "on_failure": "warn"}]},
            {"action_id": "c", "action_type": "FILE_RENAME", "target": "o", "timeout_seconds": 3,
             "operation": {"type": "rename", "new_path": "q"}}
        ],
        "execution_instructions": {"execution_order": "sequential", "stop_on_error": true, "timeout_seconds": 60}
    });
    let config = json!({
        "workflow_configuration": {"execution_mode": "mixed", "timeout_seconds": 60, "retry_policy": {"max_retries": 1}},
        "execution_constraints": {
            "max_files_modified": 9, "allowed_operations": ["CREATE", "MODIFY", "RENAME"],
            "forbidden_patterns": ["*.x"], "protected_files": ["*.y"], "max_file_size_bytes": 1024
        },
        "validation_rules": {
            "run_syntax_check": true, "custom_validators": [{"type": "json_schema", "path": "n", "schema": {}}]
        }
    });
    (plan, config)
}

/// The places of all values in a document.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| places(value, &format!("{here}/{key}"), all)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, value)| places(value, &format!("{here}/{at}"), all)),
        _ => {}
    }
}

#[test]
fn whatever_stands_wherever_is_read_or_refused_with_a_reason() {
    let (plan, config) = everything();
    assert!(under(config.clone(), plan.clone()).is_ok());
    let mut whole = json!({"plan": plan, "config": config});
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    let odd = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1e300),
        json!(u64::MAX),
        json!(""),
        json!("\u{0}\u{1b}[2J"),
        json!("../../etc/passwd"),
        json!([[]]),
        json!({"type": {}, "\u{7}": 1}),
    ];
    let (mut refused, mut taken) = (0, 0);
    for place in all.iter().filter(|place| place.matches('/').count() > 0) {
        for value in &odd {
            let kept = whole.pointer(place).unwrap().clone();
            whole.pointer_mut(place).unwrap().clone_from(value);
            match under(whole["config"].clone(), whole["plan"].clone()) {
                Ok(_) => taken += 1,
                Err(error) => {
                    refused += 1;
                    let failure = error.failure();
                    assert_ne!(failure.fault, Fault::Internal, "{place} {value}");
                    assert!(failure.message.len() > 20, "{place} {value}");
                    assert!(
                        !failure.message.contains(char::is_control),
                        "{place} {value}: {:?}",
                        failure.message
                    );
                }
            }
            whole.pointer_mut(place).unwrap().clone_from(&kept);
        }
    }
    assert!(
        refused > 300 && taken > 20,
        "{refused} refused, {taken} taken"
    );
}
