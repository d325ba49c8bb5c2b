//! 001 §2.2's operations and 001 §A.1's edits.

use crate::task::ActionType;

use super::*;
use crate::edit::{Count, Edit, JsonEdit, MissingKey, Pattern, YamlEdit};

fn operation(action_type: &str, operation: &Value) -> Operation {
    good(one(action_type, operation))
        .actions
        .remove(0)
        .operation
}

pub(super) fn modify(edit: &Value) -> Edit {
    match operation("FILE_MODIFY", edit) {
        Operation::Modify(edit) => edit,
        other => panic!("{other:?}"),
    }
}

fn created(fields: &Value) -> (Vec<u8>, Option<u32>) {
    let mut create = json!({"type": "create", "content": "héllo"});
    for (key, value) in fields.as_object().unwrap() {
        create[key] = value.clone();
    }
    match operation("FILE_CREATE", &create) {
        Operation::Create { content, mode } => (content, mode),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_is_created_from_text_or_base64_with_a_mode_r_001_87() {
    assert_eq!(created(&json!({})), ("héllo".as_bytes().to_vec(), None));
    assert_eq!(created(&json!({"encoding": "utf-8", "content": ""})).0, b"");
    assert_eq!(
        created(&json!({"encoding": "base64", "content": "AP8="})).0,
        [0, 255]
    );
    for (mode, bits) in [
        ("0644", 0o644),
        ("666", 0o666),
        ("0o600", 0o600),
        ("00640", 0o640),
    ] {
        assert_eq!(created(&json!({"mode": mode})).1, Some(bits));
    }
    let executable = json!({"type": "create", "content": "", "mode": "755"});
    says(
        &bad(one("FILE_CREATE", &executable)),
        Fault::ProtectedFile,
        "`a.json` would be executable (class executes)",
    );
}

#[test]
fn a_creation_that_is_not_clear_is_refused() {
    for (operation, words) in [
        (
            json!({"content": ""}),
            "`action_plan[0].operation.type` is missing: one of `create`, `symlink`",
        ),
        (
            json!({"type": "write", "content": ""}),
            "is \"write\"; known are `create`",
        ),
        (
            json!({"type": "create"}),
            "`action_plan[0].operation.content` is missing",
        ),
        (
            json!({"type": "create", "content": {"a": 1}}),
            "must be a text, and is an object",
        ),
        (
            json!({"type": "create", "content": "x", "encoding": "latin-1"}),
            "known are `utf-8`, `base64`",
        ),
        (
            json!({"type": "create", "content": "?", "encoding": "base64"}),
            "`action_plan[0].operation.content` is not base64",
        ),
        (
            json!({"type": "create", "content": "", "mode": 644}),
            "in octal as a text",
        ),
        (
            json!({"type": "create", "content": "", "mode": "0888"}),
            "in octal as a text",
        ),
        (
            json!({"type": "create", "content": "", "mode": "rw-r--r--"}),
            "in octal as a text",
        ),
    ] {
        says(
            &bad(one("FILE_CREATE", &operation)),
            Fault::PlanInvalid,
            words,
        );
    }
}

#[test]
fn no_plan_sets_setuid_setgid_or_the_sticky_bit() {
    for mode in ["4755", "02755", "1777", "0o7777"] {
        let create = json!({"type": "create", "content": "", "mode": mode});
        says(
            &bad(one("FILE_CREATE", &create)),
            Fault::OperationNotAllowed,
            "setuid",
        );
    }
}

#[test]
fn a_file_is_deleted_or_renamed_r_001_89_and_90() {
    assert!(matches!(
        operation("FILE_DELETE", &json!({"type": "delete"})),
        Operation::Delete { diff: None }
    ));
    match operation("FILE_RENAME", &json!({"type": "rename", "new_path": "b/c"})) {
        Operation::Rename { to } => assert_eq!(to.as_str(), "b/c"),
        other => panic!("{other:?}"),
    }
    let out = one(
        "FILE_RENAME",
        &json!({"type": "rename", "new_path": "../b"}),
    );
    says(
        &bad(out),
        Fault::PathOutside,
        "Path traversal attempt detected: `action_plan[0].operation.new_path`",
    );
    let same = one(
        "FILE_RENAME",
        &json!({"type": "rename", "new_path": "a.json"}),
    );
    says(&bad(same), Fault::PlanInvalid, "to itself");
}

#[test]
fn all_seven_edits_of_001_a_1_are_read_r_001_182_to_188() {
    assert!(matches!(
        modify(&json!({"type": "text_replace", "pattern": "a", "replacement": ""})),
        Edit::TextReplace {
            pattern: Pattern::Literal(_),
            count: Count::Exactly(1),
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "line_insert", "line_number": 1, "content": "x"})),
        Edit::LineInsert { line: 1, .. }
    ));
    assert!(matches!(
        modify(&json!({"type": "line_delete", "start_line": 2, "end_line": 2})),
        Edit::LineDelete { first: 2, last: 2 }
    ));
    assert!(matches!(
        modify(&json!({"type": "json_add_property", "path": "$.a", "key": "k", "value": null})),
        Edit::Json {
            edit: JsonEdit::Add {
                value: Value::Null,
                ..
            },
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "json_remove_property", "path": "$.a", "key": "k"})),
        Edit::Json {
            edit: JsonEdit::Remove { .. },
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "json_update_value", "path": "$.a", "value": [1]})),
        Edit::Json {
            edit: JsonEdit::Update { .. },
            ..
        }
    ));
    assert!(matches!(
        modify(&json!({"type": "yaml_update", "path": "$.a", "value": "x"})),
        Edit::Yaml {
            document: None,
            edit: YamlEdit::Update {
                missing: MissingKey::Refused,
                ..
            },
            ..
        }
    ));
}

#[test]
fn a_pattern_is_literal_and_there_once_unless_the_plan_says_otherwise() {
    let edit = json!({"type": "text_replace", "pattern": "a+", "replacement": "b", "regex": true, "count": "all"});
    assert!(matches!(
        modify(&edit),
        Edit::TextReplace {
            pattern: Pattern::Regex(_),
            count: Count::All,
            ..
        }
    ));
    let edit = json!({"type": "text_replace", "pattern": "a+", "replacement": "b", "regex": false, "count": 3});
    assert!(matches!(
        modify(&edit),
        Edit::TextReplace {
            pattern: Pattern::Literal(_),
            count: Count::Exactly(3),
            ..
        }
    ));
}

#[test]
fn an_edit_that_is_not_clear_is_refused_by_its_place() {
    let at = "`action_plan[0].operation.";
    for (edit, words) in [
        (
            json!({}),
            format!("{at}type` is missing: one of `text_replace`, `line_insert`"),
        ),
        (
            json!({"type": "sed"}),
            format!("{at}type` is \"sed\"; known are `text_replace`"),
        ),
        (
            json!({"type": "text_replace", "replacement": ""}),
            format!("{at}pattern` is missing"),
        ),
        (
            json!({"type": "text_replace", "pattern": "a"}),
            format!("{at}replacement` is missing"),
        ),
        (
            json!({"type": "text_replace", "pattern": "", "replacement": ""}),
            format!("{at}pattern`: "),
        ),
        (
            json!({"type": "text_replace", "pattern": "(", "replacement": "", "regex": true}),
            format!("{at}pattern`: "),
        ),
        (
            json!({"type": "text_replace", "pattern": "a", "replacement": "", "regex": "yes"}),
            format!("{at}regex` must be"),
        ),
        (
            json!({"type": "text_replace", "pattern": "a", "replacement": "", "count": 0}),
            format!("{at}count` must be how often"),
        ),
        (
            json!({"type": "text_replace", "pattern": "a", "replacement": "", "count": "2"}),
            format!("{at}count` must be how often"),
        ),
        (
            json!({"type": "line_insert", "line_number": 0, "content": ""}),
            format!("{at}line_number` must be a whole"),
        ),
        (
            json!({"type": "line_insert", "line_number": 1.5, "content": ""}),
            format!("{at}line_number` must be a whole"),
        ),
        (
            json!({"type": "line_insert", "line_number": "1", "content": ""}),
            format!("{at}line_number` must be a whole"),
        ),
        (
            json!({"type": "line_delete", "start_line": 3, "end_line": 2}),
            format!("{at}end_line` is 2, before"),
        ),
        (
            json!({"type": "json_add_property", "path": "a", "key": "k", "value": 1}),
            format!("{at}path`: "),
        ),
        (
            json!({"type": "json_add_property", "path": "$", "value": 1}),
            format!("{at}key` is missing"),
        ),
        (
            json!({"type": "json_add_property", "path": "$", "key": "k"}),
            format!("{at}value` is missing"),
        ),
        (
            json!({"type": "yaml_update", "value": 1}),
            format!("{at}path` is missing"),
        ),
    ] {
        says(&bad(one("FILE_MODIFY", &edit)), Fault::PlanInvalid, &words);
    }
}

#[test]
fn an_edits_parameters_may_lie_in_details_c_18() {
    let details = json!({"type": "line_insert", "details": {"line_number": 4, "content": "x"}});
    assert!(matches!(modify(&details), Edit::LineInsert { line: 4, .. }));
    let both = json!({"type": "line_insert", "line_number": 4, "details": {"line_number": 4, "content": "x"}});
    assert!(matches!(modify(&both), Edit::LineInsert { line: 4, .. }));
    let inside = json!({"details": {"type": "line_insert", "line_number": 4, "content": "x"}});
    assert!(matches!(modify(&inside), Edit::LineInsert { .. }));
}

#[test]
fn a_parameter_with_two_values_is_refused_c_18() {
    let two = json!({"type": "line_insert", "line_number": 5, "details": {"line_number": 4, "content": "x"}});
    says(
        &bad(one("FILE_MODIFY", &two)),
        Fault::PlanInvalid,
        "`action_plan[0].operation.line_number` and `action_plan[0].operation.details.line_number` are given with \
         different values",
    );
    let wrong = json!({"type": "line_insert", "details": {"line_number": 0, "content": "x"}});
    says(
        &bad(one("FILE_MODIFY", &wrong)),
        Fault::PlanInvalid,
        "`action_plan[0].operation.details.line_number` must be",
    );
    let text = json!({"type": "delete", "details": "none"});
    says(
        &bad(one("FILE_DELETE", &text)),
        Fault::PlanInvalid,
        "`action_plan[0].operation.details` must be an object",
    );
}

#[test]
fn a_schema_takes_the_json_and_yaml_edits_only_r_001_91() {
    let add = json!({"type": "json_add_property", "path": "$", "key": "k", "value": 1});
    let read = operation("SCHEMA_UPDATE", &add);
    assert_eq!(read.action_type(), ActionType::SchemaUpdate);
    let replace = json!({"type": "text_replace", "pattern": "a", "replacement": "b"});
    says(
        &bad(one("SCHEMA_UPDATE", &replace)),
        Fault::PlanInvalid,
        "is \"text_replace\"; known are `json_add_property`",
    );
}

#[test]
fn a_file_larger_than_allowed_is_not_created_r_001_175() {
    let bounds = Bounds {
        max_file_bytes: 4,
        ..Bounds::default()
    };
    let create = |content: &str| {
        order(one(
            "FILE_CREATE",
            &json!({"type": "create", "content": content}),
        ))
    };
    assert!(read(&create("1234"), &bounds, &Kept::default()).is_ok());
    let error = read(&create("12345"), &bounds, &Kept::default()).unwrap_err();
    says(
        &error,
        Fault::LimitExceeded,
        "`a.json` has 5 bytes, and at most 4 are allowed",
    );
}
