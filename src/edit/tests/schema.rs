//! Facts about edits of schemas.

use super::*;
use crate::edit::schema_update;

fn update_schema(file: &str, change: &Edit, before: &str) -> Result<Edited, Failure> {
    let before = before.as_bytes();
    alone(schema_update(change, &name(file), before, before, &FREE)).map_err(Failure::from)
}

#[test]
fn a_schema_stays_a_schema() {
    let before = "{\"type\": \"object\", \"properties\": {}}";
    let change = add("$.properties", "new_field", "{\"type\": \"string\"}");
    let edited = update_schema("a.json", &change, before).unwrap();
    assert_eq!(edited.said, "Property 'new_field' added successfully");
    for bad in [
        add("$.properties", "new_field", "{\"type\": \"strnig\"}"),
        update("$.type", "5"),
        once("object", "obejct"),
    ] {
        let failed = update_schema("a.json", &bad, before).unwrap_err();
        assert_eq!(failed.fault, Fault::SchemaInvalid, "{}", failed.message);
    }
}

#[test]
fn a_schema_in_yaml_stays_a_schema() {
    let before = "$schema: http://json-schema.org/draft-07/schema#\ntype: object # c\n";
    let edited = update_schema("a.yaml", &yaml_update("$.type", "\"array\""), before).unwrap();
    assert!(text(edited).ends_with("type: array # c\n"));
    let failed = update_schema("a.yaml", &yaml_update("$.type", "1"), before).unwrap_err();
    assert_eq!(failed.fault, Fault::SchemaInvalid);
}

#[test]
fn a_document_of_another_kind_only_keeps_its_syntax() {
    let before = "tables:\n  a: 1\ntype: table\n";
    let edited = update_schema("db.yaml", &yaml_update("$.tables.b", "2"), before).unwrap();
    assert!(
        edited.said.contains("checked as YAML only"),
        "{}",
        edited.said
    );
    let unknown = "{\"$schema\": \"https://example.com/mine\", \"type\": 5}";
    let edited = update_schema("db.json", &update("$.type", "6"), unknown).unwrap();
    assert!(
        edited.said.contains("checked as JSON only"),
        "{}",
        edited.said
    );
}

#[test]
fn a_schema_that_was_none_may_become_one() {
    let edited = update_schema("a.json", &update("$.type", "\"string\""), "{\"type\": 5}").unwrap();
    assert_eq!(edited.said, "Value at $['type'] updated successfully");
}

#[test]
fn other_files_have_no_schema_update() {
    let failed = update_schema("a.sql", &once("a", "b"), "a").unwrap_err();
    assert_eq!(failed.fault, Fault::PlanInvalid);
}
