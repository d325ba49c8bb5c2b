//! What can only be said of all actions together: dependencies, cycles, conflicts, numbers.

use super::*;

fn create(id: &str, target: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_CREATE", "target": target,
           "operation": {"type": "create", "content": ""}})
}

fn modify(id: &str, target: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_MODIFY", "target": target,
           "operation": {"type": "line_insert", "line_number": 1, "content": "x"}})
}

fn rename(id: &str, target: &str, to: &str) -> Value {
    json!({"action_id": id, "action_type": "FILE_RENAME", "target": target,
           "operation": {"type": "rename", "new_path": to}})
}

fn after(mut action: Value, ids: &[&str]) -> Value {
    action["depends_on"] = json!(ids);
    action
}

#[test]
fn a_dependency_on_nothing_is_told_by_name() {
    let error = bad(plan(&json!([after(delete("a001", "f"), &["a009"])])));
    says(
        &error,
        Fault::UnknownDependency,
        "`action_plan[0].depends_on` names \"a009\"",
    );
    assert_eq!(subject(&error, 0).id.0, "a001");
}

#[test]
fn a_dependency_on_an_action_that_is_wrong_itself_is_not_told_as_missing() {
    let error = bad(plan(&json!([
        delete("a001", "/f"),
        after(delete("a002", "g"), &["a001"])
    ])));
    says(&error, Fault::PathOutside, "/f");
    assert!(error.problems.len() == 1);
}

#[test]
fn a_cycle_is_told_by_its_actions_r_001_94() {
    let error = bad(plan(&json!([
        after(delete("a001", "f"), &["a002"]),
        after(delete("a002", "g"), &["a001"])
    ])));
    says(&error, Fault::PlanCycle, "a001 → a002 → a001");
    assert_eq!(error.problems[0].failure.fault.number(), 1008);
}

#[test]
fn actions_that_cannot_both_hold_are_told_with_each_other() {
    for (actions, words) in [
        (
            json!([create("a1", "f"), create("a2", "f")]),
            "`action_plan[1]` (a2) creates `f`, which is there already: a1 creates it before",
        ),
        (
            json!([modify("a1", "f"), create("a2", "f")]),
            "(a2) creates `f`, which is there already: a1 changes it before",
        ),
        (
            json!([delete("a1", "f"), modify("a2", "f")]),
            "(a2) changes `f`, which is no longer there: a1 deletes it before",
        ),
        (
            json!([delete("a1", "f"), delete("a2", "f")]),
            "(a2) deletes `f`, which is no longer there",
        ),
        (
            json!([rename("a1", "f", "g"), modify("a2", "f")]),
            "a1 renames it before",
        ),
        (
            json!([rename("a1", "f", "h"), rename("a2", "g", "h")]),
            "a1 renames a file to it before",
        ),
        (
            json!([create("a1", "d"), create("a2", "d/f")]),
            "but `d` is a file for a1, not a directory",
        ),
        (
            json!([modify("a1", "d/e/f"), create("a2", "d")]),
            "creates `d`, which is a directory for the actions before it",
        ),
        (
            json!([after(modify("a1", "f"), &["a2"]), delete("a2", "f")]),
            "`action_plan[0]` (a1) changes `f`, which is no longer there: a2 deletes it before",
        ),
    ] {
        says(&bad(plan(&actions)), Fault::PlanConflict, words);
    }
}

#[test]
fn several_actions_on_one_file_that_make_sense_in_their_order_are_no_conflict() {
    for actions in [
        json!([
            create("a1", "f"),
            modify("a2", "f"),
            modify("a3", "f"),
            delete("a4", "f")
        ]),
        json!([delete("a1", "f"), create("a2", "f")]),
        json!([rename("a1", "f", "g"), modify("a2", "g"), create("a3", "f")]),
        json!([
            rename("a1", "f", "t"),
            rename("a2", "g", "f"),
            rename("a3", "t", "g")
        ]),
        json!([after(modify("a1", "f"), &["a2"]), create("a2", "f")]),
        json!([delete("a1", "d/f"), create("a2", "d")]),
    ] {
        assert!(
            read(&order(plan(&actions)), &Bounds::default(), &Kept::default()).is_ok(),
            "{actions}"
        );
    }
}

#[test]
fn a_hundred_files_are_the_most_and_a_renamed_one_is_one_r_001_174() {
    let files = |count: usize| {
        let mut actions: Vec<Value> = (0..count)
            .map(|n| modify(&format!("m{n}"), &format!("f{n}")))
            .collect();
        actions.push(rename("r", "f0", "g0"));
        actions.push(modify("m", "g0"));
        plan(&json!(actions))
    };
    good(files(100));
    let error = bad(files(101));
    says(
        &error,
        Fault::LimitExceeded,
        "the plan touches 101 files, and at most 100 are allowed",
    );
    assert_eq!(error.problems[0].failure.fault.number(), 1011);
}

#[test]
fn a_plan_of_ten_thousand_actions_is_refused_as_a_whole() {
    let actions: Vec<Value> = (0..10_000)
        .map(|n: usize| {
            after(
                delete(&n.to_string(), &format!("f{n}")),
                &[&(n + 1).to_string()],
            )
        })
        .collect();
    let error = bad(plan(&json!(actions)));
    says(
        &error,
        Fault::LimitExceeded,
        "has 10000 actions, but a plan can have at most 1000",
    );
    assert!(error.problems.len() == 1);
    assert_eq!(error.actions, []);
}

#[test]
fn the_longest_plan_may_be_one_chain() {
    let mut actions: Vec<Value> = (0..1000)
        .map(|n: usize| after(modify(&n.to_string(), "f"), &[&(n + 1).to_string()]))
        .collect();
    actions[999]["depends_on"] = json!([]);
    assert_eq!(good(plan(&json!(actions))).actions.len(), 1000);
}
