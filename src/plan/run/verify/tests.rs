//! What is asked between two rules, and how a text is looked for.

use std::{cell::Cell, fs};

use camino::Utf8Path;
use serde_json::json;
use tempfile::tempdir;

use super::*;
use crate::{
    plan::read,
    task::{Bounds, PlanOrder, Validation},
};

/// A plan that has three rules about one file.
fn plan_with_three_rules() -> Plan {
    let rule = json!({"type": "contains", "text": "a"});
    let action = json!({
        "action_id": "one", "action_type": "FILE_CREATE", "target": "a.txt",
        "operation": {"type": "create", "content": "a"}, "validation_rules": [rule, rule, rule],
    });
    let order = PlanOrder {
        plan: json!({"plan_id": "plan-001", "action_plan": [action]}),
        system_config: None,
        validation: Validation::Approved,
        salt: None,
    };
    read::read(
        &order,
        &Bounds::default(),
        &crate::plan::protected::Kept::default(),
    )
    .unwrap()
}

/// R-001-173: a plan stops between two of its rules.
#[test]
fn the_rules_end_when_the_plan_has_to_stop() {
    let plan = plan_with_three_rules();
    assert_eq!(plan.actions[0].rules.len(), 3);
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("a.txt"), "a").unwrap();
    let path = Utf8Path::from_path(dir.path()).unwrap();
    let root = Root::open(path).unwrap();
    let asked = Cell::new(0);
    let stopped = || {
        asked.set(asked.get() + 1);
        (asked.get() == 2).then(|| Failure::new(Fault::Cancelled, "cancelled by SIGTERM"))
    };
    let failure = verify(&plan, &root, &[], &|_| true, &stopped).unwrap_err();
    assert_eq!((failure.fault, asked.get()), (Fault::Cancelled, 2));
}

#[test]
fn a_rule_that_reads_a_document_ends_when_the_plan_has_to_stop() {
    let stopped = || Some(Failure::new(Fault::Cancelled, "cancelled by SIGTERM"));
    for name in ["a.json", "a.yaml", "a.txt"] {
        let path = RelPath::parse(name).unwrap();
        for rule in [Condition::ValidJson, Condition::ValidYaml] {
            let ended = condition(&rule, &path, b"[]", &stopped);
            assert_eq!(ended.unwrap_err().fault, Fault::Cancelled, "{name}");
        }
        let ended = fits(&json!({}), &path, b"[]", &stopped);
        assert_eq!(ended.unwrap_err().fault, Fault::Cancelled, "{name}");
    }
}

#[test]
fn a_text_is_found_beside_bytes_that_are_no_text() {
    let path = RelPath::parse("a.txt").unwrap();
    let holds = |text: &str, bytes: &[u8]| {
        let rule = Condition::Contains(text.to_owned());
        condition(&rule, &path, bytes, &|| None).unwrap().is_ok()
    };
    assert!(holds("b\u{e9}", b"\xff a b\xc3\xa9 \xc3"));
    assert!(!holds("\u{e9}b", b"\xff a b\xc3\xa9 \xc3"));
}
