//! The edits that 001 does not name, and other names for their keys.

use super::{operations::modify, *};
use crate::edit::{Count, Edit, JsonEdit, MissingKey, Sought, YamlEdit};

#[test]
fn the_edits_that_001_does_not_name_are_read() {
    assert!(matches!(
        modify(&json!({"type": "yaml_update", "path": "$.a", "value": "x", "create": true})),
        Edit::Yaml {
            edit: YamlEdit::Update {
                missing: MissingKey::Created,
                ..
            },
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "json_append", "path": "$.a", "value": null})),
        Edit::Json {
            edit: JsonEdit::Append { value: Value::Null },
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "yaml_append", "path": "$.a", "value": 1, "document": 2})),
        Edit::Yaml {
            document: Some(2),
            edit: YamlEdit::Append { .. },
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "yaml_remove", "path": "$.a", "document": 2})),
        Edit::Yaml {
            document: Some(2),
            edit: YamlEdit::Remove,
            ..
        }
    ));
    for (all, expected) in [(false, Count::Exactly(1)), (true, Count::All)] {
        let edit = modify(
            &json!({"type": "edit", "old_string": "a", "new_string": "", "replace_all": all}),
        );
        let Edit::TextReplace { count, sought, .. } = edit else {
            panic!("{edit:?}");
        };
        assert_eq!((count, sought), (expected, Sought::OldString));
    }
    for (encoding, content) in [("utf-8", "a"), ("base64", "YQ==")] {
        let edit = json!({"type": "replace_content", "content": content, "encoding": encoding});
        let edit = modify(&edit);
        assert!(
            matches!(&edit, Edit::ReplaceContent(bytes) if bytes == b"a"),
            "{edit:?}"
        );
    }
    let binary = one(
        "SCHEMA_UPDATE",
        &json!({"type": "replace_content", "content": ""}),
    );
    says(
        &bad(binary),
        Fault::PlanInvalid,
        "known are `json_add_property`",
    );
}

#[test]
fn other_names_for_the_keys_of_an_edit_are_refused_with_the_key_that_is_meant() {
    let strange = |operation: Value, key: &str, meant: &str| {
        let mut operation = operation;
        operation[key] = json!(true);
        let message = format!("{key}` is unknown; did you mean `{meant}`?");
        says(
            &bad(one("FILE_MODIFY", &operation)),
            Fault::PlanInvalid,
            &message,
        );
    };
    let edit = json!({"type": "edit", "old_string": "a", "new_string": "b"});
    for (key, meant) in [
        ("old_str", "old_string"),
        ("oldText", "old_string"),
        ("newString", "new_string"),
        ("newText", "new_string"),
        ("replaceAll", "replace_all"),
        ("all", "replace_all"),
    ] {
        strange(edit.clone(), key, meant);
    }
    let replace = json!({"type": "text_replace", "pattern": "a", "replacement": "b"});
    strange(replace.clone(), "old_string", "pattern");
    strange(replace, "newText", "replacement");
    let update = json!({"type": "yaml_update", "path": "$.a", "value": 1});
    strange(update, "createIfMissing", "create");
}
