//! `task_create`, `task_list` and `task_complete` (R-003-38).

use super::*;

fn create(desk: &DataFolder, text: &str) -> Value {
    desk.call("task_create", &json!({"task_text": text}))
}

/// The texts of the tasks in that state.
fn texts(desk: &DataFolder, state: &str) -> Vec<String> {
    let listed = desk.call("task_list", &json!({"state": state}));
    let tasks = listed["tasks"].as_array().unwrap();
    let text = |task: &Value| task["task_text"].as_str().unwrap().to_owned();
    tasks.iter().map(text).collect()
}

#[test]
fn a_task_is_open_until_it_is_completed() {
    let mut desk = DataFolder::new();
    desk.at(0);
    let ada = create(&desk, "  Call Ada ");
    create(&desk, "Buy milk");
    assert_eq!(
        ada,
        json!({
            "todo_id": "todo_1", "task_text": "Call Ada", "created_at": "2026-02-24T02:00:00Z", "duplicate": false
        })
    );
    assert_eq!(texts(&desk, "open"), ["Call Ada", "Buy milk"]);
    desk.at(60);
    let id = json!({"todo_id": "todo_1"});
    let done = desk.call("task_complete", &id);
    desk.at(120);
    assert_eq!(desk.call("task_complete", &id), done, "it stays as it is");
    assert_eq!(done["completed_at"], "2026-02-24T02:01:00Z");
    assert_eq!(texts(&desk, "open"), ["Buy milk"]);
    assert_eq!(texts(&desk, "completed"), ["Call Ada"]);
    assert_eq!(texts(&desk, "all"), ["Call Ada", "Buy milk"]);
}

#[test]
fn one_text_is_one_open_task() {
    let desk = DataFolder::new();
    let first = create(&desk, "Call Ada");
    let again = create(&desk, "Call Ada");
    assert_eq!(
        (&again["todo_id"], &again["created_at"], &again["duplicate"]),
        (&first["todo_id"], &first["created_at"], &json!(true))
    );
    desk.call("task_complete", &json!({"todo_id": first["todo_id"]}));
    let later = create(&desk, "Call Ada");
    assert_eq!(later["todo_id"], "todo_2", "a completed task is over");
    assert_eq!(later["duplicate"], false);
}

#[test]
fn a_list_has_a_limit_and_counts_all() {
    let desk = DataFolder::new();
    assert_eq!(
        desk.call("task_list", &json!({})),
        json!({"tasks": [], "total": 0})
    );
    for number in 0..5 {
        create(&desk, &format!("Task {number}"));
    }
    let listed = desk.call("task_list", &json!({"limit": 2}));
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(listed["total"], 5);
}

#[test]
fn a_blank_text_and_an_unknown_id_are_refused() {
    let desk = DataFolder::new();
    let problem = desk.refused("task_create", &json!({"task_text": " \n"}));
    assert!(problem.contains("blank"), "{problem}");
    create(&desk, "Call Ada");
    for id in ["todo_2", "todo_x", "1"] {
        let problem = desk.refused("task_complete", &json!({"todo_id": id}));
        assert!(problem.contains("there is no task"), "{problem}");
    }
    assert_eq!(texts(&desk, "open"), ["Call Ada"]);
}
