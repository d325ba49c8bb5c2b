//! What was read may have changed since: when an old answer is not given any more (C-35).

use super::*;

const READERS: &str = r#"
[capability.glance]
effects = { read_only = true, idempotent = true, destructive = false, open_world = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.kept]
effects = { read_only = true }
on_duplicate = { mode = "reuse", ttl = "1h" }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.made]
effects = { idempotent = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
bind = { of = "input.path" }
result = { kind = "analysis", asset_type = "note" }
"#;

fn readers() -> Root {
    Root::with_catalog(&format!("{CATALOG}{READERS}"))
}

fn ask(root: &Root, capability: &str, task: &str) -> Answer {
    let mut asked = request(capability, task, &json!({"what": capability}));
    if capability == "made" {
        asked["dispatch"]["output_refs_expected"] = json!(["derived_1"]);
    }
    let answer = root.run(&asked);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    answer
}

#[test]
fn what_only_reads_and_is_given_no_asset_is_read_again() {
    let root = readers();
    assert_eq!(state(&ask(&root, "glance", "t1")), "done");
    let again = ask(&root, "glance", "t2");
    assert_eq!((state(&again), why(&again)), ("done", "repeat"));
    assert_eq!(happened(&root), ["glance", "glance"]);
}

#[test]
fn an_optional_input_that_is_not_given_is_no_ground_for_reuse() {
    let root = readers();
    for task in ["t1", "t2"] {
        let mut asked = request("look", task, &json!({"what": task}));
        asked["dispatch"]["parameters"] = json!({"what": "a"});
        asked["dispatch"]["input_refs_resolved"] = json!([]);
        assert_eq!(state(&root.run(&asked)), "done");
    }
    assert_eq!(happened(&root), ["a", "a"]);
}

#[test]
fn what_makes_an_asset_of_an_asset_is_reused_while_that_is_the_same_and_ends_no_reuse() {
    let root = readers();
    assert_eq!(state(&ask(&root, "kept", "t1")), "done");
    assert_eq!(state(&ask(&root, "made", "t2")), "done");
    assert_eq!(state(&ask(&root, "kept", "t3")), "reused");
    ask(&root, "once", "t4");
    assert_eq!(state(&ask(&root, "made", "t5")), "reused");
}

#[test]
fn declared_reuse_ends_with_a_call_or_a_plan_that_has_effects() {
    let plan = |task: &str| {
        json!({
            "task_id": task, "metadata": {"session_id": "s"}, "protocol_validation": true,
            "task_plan": {"plan_id": task, "action_plan": [{
                "action_id": "a1", "action_type": "FILE_CREATE", "target": "new.txt",
                "operation": {"type": "create", "content": "new"},
            }]},
        })
    };
    let root = readers();
    assert_eq!(state(&ask(&root, "kept", "t1")), "done");
    assert_eq!(state(&ask(&root, "kept", "t2")), "reused");
    let changes: [&dyn Fn(); 3] = [
        &|| drop(ask(&root, "once", "t3")),
        &|| drop(ask(&root, "again", "t4")),
        &|| assert_eq!(root.run(&plan("t5")).exit, 0),
    ];
    for (turn, change) in changes.into_iter().enumerate() {
        change();
        let after = ask(&root, "kept", &format!("after-{turn}"));
        assert_eq!(
            (state(&after), why(&after)),
            ("done", "state_may_have_changed")
        );
        assert_eq!(state(&ask(&root, "kept", &format!("and-{turn}"))), "reused");
    }
    whole(&root);
}
