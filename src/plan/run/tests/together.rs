//! Several edits of one document in a plan.

use super::*;

fn yaml(id: &str, target: &str, path: &str, value: &Value) -> Value {
    json!({"action_id": id, "action_type": "FILE_MODIFY", "target": target,
        "operation": {"type": "yaml_update", "path": path, "value": value, "create": true}})
}

fn json_update(id: &str, path: &str, value: &Value) -> Value {
    json!({"action_id": id, "action_type": "FILE_MODIFY", "target": "a.json",
        "operation": {"type": "json_update_value", "path": path, "value": value}})
}

#[test]
fn several_edits_of_a_document_are_made_whatever_stands_between_them() {
    let lab = Lab::new(&[
        ("a.yaml", "c: 1\nd: 2\ne: 3\na: |\n  x"),
        ("a.json", "{\"a\": 1, \"b\": [1, 2]}\n"),
    ]);
    let done = lab.run(plan(json!([
        yaml("a1", "a.yaml", "$.c", &json!(3)),
        yaml("a2", "a.yaml", "$.d", &json!(4)),
        json_update("j1", "$.a", &json!(2)),
        // In the first way it is tried, the text below it would gain a line end.
        yaml("a3", "a.yaml", "$.b", &json!(1)),
        json_update("j2", "$.b[-1]", &json!(3)),
        {"action_id": "a4", "action_type": "FILE_RENAME", "target": "a.yaml",
            "operation": {"type": "rename", "new_path": "b.yaml"}},
        yaml("a5", "b.yaml", "$.e", &json!("five")),
        json_update("j3", "$.b[0]", &json!({"x": []})),
        replace("a6", "b.yaml", "five", "six"),
        yaml("a7", "b.yaml", "$.e", &json!("seven")),
        json_update("j4", "$.b[0].x", &json!(null)),
    ])));
    assert_eq!(status(&done), Some(Status::Success), "{:?}", done.failure);
    assert_eq!(lab.read("b.yaml"), "c: 3\nd: 4\ne: seven\nb: 1\na: |\n  x");
    assert_eq!(
        lab.read("a.json"),
        "{\"a\": 2, \"b\": [{\"x\": null}, 3]}\n"
    );
}

#[test]
fn a_schema_update_between_edits_of_a_document_stays() {
    let lab = Lab::new(&[("a.json", "{\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4}\n")]);
    let mut update = json_update("s1", "$.c", &json!(30));
    update["action_type"] = json!("SCHEMA_UPDATE");
    let done = lab.run(plan(json!([
        json_update("j1", "$.a", &json!(10)),
        json_update("j2", "$.b", &json!(20)),
        update,
        json_update("j3", "$.d", &json!(40)),
    ])));
    assert_eq!(status(&done), Some(Status::Success), "{:?}", done.failure);
    assert_eq!(
        lab.read("a.json"),
        "{\"a\": 10, \"b\": 20, \"c\": 30, \"d\": 40}\n"
    );
}

#[test]
fn an_edit_among_several_that_fails_is_left_out_alone() {
    let lab = Lab::new(&[("a.json", "{\"a\": 1, \"b\": 2, \"c\": 3}\n")]);
    let mut order = plan(json!([
        json_update("j1", "$.a", &json!(10)),
        json_update("j2", "$.b", &json!(20)),
        json_update("j3", "$.none", &json!(0)),
        json_update("j4", "$.c", &json!(30)),
    ]));
    order["execution_instructions"] = json!({"stop_on_error": false, "rollback_on_failure": false});
    let done = lab.run(order);
    assert_eq!(status(&done), Some(Status::Partial));
    assert_eq!(lab.read("a.json"), "{\"a\": 10, \"b\": 20, \"c\": 30}\n");
}

/// Several actions on one file are one change, so what it is called in the end counts.
#[test]
fn a_file_that_the_plan_made_or_broke_gets_no_name_that_it_is_not_valid_for() {
    let rename = |id: &str, from: &str, to: &str| {
        json!({"action_id": id, "action_type": "FILE_RENAME", "target": from,
            "operation": {"type": "rename", "new_path": to}})
    };
    let create = json!({"action_id": "c", "action_type": "FILE_CREATE", "target": "f.txt",
        "operation": {"type": "create", "content": "{not json"}});
    let made = json!([create, rename("r", "f.txt", "f.json")]);
    let broken = json!([
        rename("r1", "a.json", "t.txt"),
        replace("e", "t.txt", "1", ""),
        rename("r2", "t.txt", "a.json"),
    ]);
    for actions in [made, broken] {
        let lab = Lab::new(&[("a.json", "{\"a\": 1}\n"), ("b.txt", "{no json")]);
        let done = lab.run(plan(actions));
        let failure = done.failure.unwrap();
        assert_eq!(failure.fault, Fault::ContentInvalid, "{}", failure.message);
        assert_eq!(lab.read("a.json"), "{\"a\": 1}\n");
    }
    // A file that is only renamed is as it was.
    let lab = Lab::new(&[("b.txt", "{no json")]);
    let done = lab.run(plan(json!([rename("r", "b.txt", "b.json")])));
    assert_eq!(status(&done), Some(Status::Success), "{:?}", done.failure);
}
