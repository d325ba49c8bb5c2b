//! `oneact schema plan` against the reader: what the reader accepts fits, and what does not fit is refused.

use std::fs;

use jsonschema::Validator;

use super::*;
use crate::task::ActionType;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../schemas/plan.schema.json")).unwrap()
}

fn validator() -> Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

/// What the reader gets of a document, if the protocol layer approved it.
fn order_of(document: &Value) -> Option<PlanOrder> {
    let said = document.get("protocol_validation");
    said.is_none_or(|said| *said == json!(true) || *said == json!("APPROVED"))
        .then(|| PlanOrder {
            system_config: document.get("system_config").cloned(),
            ..order(document.get("task_plan").unwrap_or(document).clone())
        })
}

/// Each document of the fixtures that is a plan, wrapped or bare, with the name of its folder.
fn fixtures() -> Vec<(String, Value)> {
    let folders = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/scenarios")).unwrap();
    let mut found = Vec::new();
    for folder in folders {
        let folder = folder.unwrap();
        let text = fs::read_to_string(folder.path().join("task.json")).unwrap_or_default();
        let Ok(task) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let inner = task.pointer("/payload/content").cloned();
        for document in [Some(task), inner].into_iter().flatten() {
            let is_plan =
                document.get("task_plan").is_some() || document.get("action_plan").is_some();
            if is_plan && document.get("capability_ids").is_none() && document.get("kind").is_none()
            {
                found.push((folder.file_name().to_string_lossy().into_owned(), document));
            }
        }
    }
    found
}

#[test]
fn every_plan_of_the_fixtures_that_the_reader_accepts_fits_the_schema() {
    let (validator, mut fits) = (validator(), 0);
    let bounds = Bounds::default().under(crate::task::Sanction::Sought);
    for (name, document) in fixtures() {
        let read = order_of(&document).map(|order| read(&order, &bounds, &Kept::default()));
        let Some(Ok(_)) = read else { continue };
        // The reader ignores keys that are like no known one.
        let strangers = name == "plan_unknown_keys";
        assert_eq!(
            validator.is_valid(&document),
            !strangers,
            "{name}: {document}"
        );
        fits += 1;
    }
    assert!(fits > 60, "{fits}");
}

/// An action type, its smallest operation, and a parameter with a wrong type.
type Sample = (&'static str, Value, (&'static str, Value));

fn edit(kind: &str, more: Value, wrong: (&'static str, Value)) -> Sample {
    let mut operation = more;
    operation["type"] = json!(kind);
    ("FILE_MODIFY", operation, wrong)
}

/// The edits that 001 does not name.
fn further_edits() -> Vec<Sample> {
    vec![
        edit(
            "yaml_update",
            json!({"path": "$.a", "value": 1}),
            ("create", json!("yes")),
        ),
        edit(
            "json_append",
            json!({"path": "$.a", "value": 1}),
            ("path", json!("a")),
        ),
        edit(
            "yaml_append",
            json!({"path": "$.a", "value": 1}),
            ("document", json!(0)),
        ),
        edit(
            "yaml_remove",
            json!({"path": "$.a"}),
            ("document", json!("1")),
        ),
        edit(
            "edit",
            json!({"old_string": "a", "new_string": ""}),
            ("replace_all", json!("all")),
        ),
        edit(
            "replace_content",
            json!({"content": ""}),
            ("encoding", json!("utf-16")),
        ),
    ]
}

/// For each type of operation that 001 names.
fn operations() -> Vec<Sample> {
    vec![
        (
            "FILE_CREATE",
            json!({"type": "create", "content": ""}),
            ("mode", json!(644)),
        ),
        (
            "FILE_DELETE",
            json!({"type": "delete"}),
            ("details", json!(1)),
        ),
        (
            "FILE_RENAME",
            json!({"type": "rename", "new_path": "b"}),
            ("new_path", json!(["b"])),
        ),
        edit(
            "text_replace",
            json!({"pattern": "a", "replacement": ""}),
            ("count", json!(0)),
        ),
        edit(
            "line_insert",
            json!({"line_number": 1, "content": ""}),
            ("line_number", json!("1")),
        ),
        edit(
            "line_delete",
            json!({"start_line": 1, "end_line": 1}),
            ("end_line", json!(0)),
        ),
        edit(
            "json_add_property",
            json!({"path": "$", "key": "k", "value": null}),
            ("key", json!(1)),
        ),
        edit(
            "json_remove_property",
            json!({"path": "$", "key": "k"}),
            ("path", json!("properties")),
        ),
        edit(
            "json_update_value",
            json!({"path": "$.a", "value": 1}),
            ("path", json!(1)),
        ),
        edit(
            "yaml_update",
            json!({"path": "$.a", "value": 1}),
            ("document", json!(0)),
        ),
        (
            "SCHEMA_UPDATE",
            json!({"type": "yaml_update", "path": "$.a", "value": 1}),
            ("type", json!("text_replace")),
        ),
        (
            "SQL_EXECUTE",
            json!({"type": "sql_execute"}),
            ("expect_results", json!("yes")),
        ),
        (
            "PIPELINE_RUN",
            json!({"type": "pipeline_run"}),
            ("parameters", json!([1])),
        ),
    ]
}

#[test]
fn the_schema_knows_each_operation_with_its_parameters_as_the_reader_does() {
    let validator = validator();
    let both = |action_type: &str, operation: &Value| {
        let plan = one(action_type, operation);
        let fits = validator.is_valid(&plan);
        let read = read(&order(plan), &Bounds::default(), &Kept::default());
        // The pipeline of the test is not in the catalog.
        let is_good = read.map_or_else(
            |error| error.failure().fault == Fault::OperationNotAllowed,
            |_| true,
        );
        (fits, is_good)
    };
    for (action_type, operation, (key, wrong)) in [operations(), further_edits()].concat() {
        let mut inner = operation.clone();
        let kind = inner.as_object_mut().unwrap().remove("type").unwrap();
        for good in [operation.clone(), json!({"type": kind, "details": inner})] {
            assert_eq!(both(action_type, &good), (true, true), "{good}");
        }
        let mut bad = operation.clone();
        bad[key] = wrong;
        assert_eq!(both(action_type, &bad), (false, false), "{bad}");
        // A key that is nearly a known one.
        let mut unknown = operation.clone();
        unknown["detail"] = json!({});
        assert_eq!(both(action_type, &unknown), (false, false), "{unknown}");
        for key in operation.as_object().unwrap().keys() {
            let mut without = operation.clone();
            without.as_object_mut().unwrap().remove(key);
            assert_eq!(both(action_type, &without), (false, false), "{without}");
        }
    }
}

#[test]
fn the_schema_lists_every_type_of_action() {
    let schema = schema();
    let listed: Vec<&str> = schema["$defs"]["action"]["anyOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| {
            action["properties"]["action_type"]["const"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(listed, ActionType::ALL.map(ActionType::name));
}
