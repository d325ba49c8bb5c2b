//! What people see fits a terminal of 80 columns, whatever things are called.

use std::fs;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::program::{Root, run};
use crate::tracer::{
    is_refused,
    moments::{self, Moment},
};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.again-with-a-very-long-name-indeed]
effects = { idempotent = true, open_world = false }
on_duplicate = { mode = "reuse" }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.once-with-a-very-long-name-indeed]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
"#;

fn request(task: &str, capabilities: &[&str]) -> Value {
    let long = "x".repeat(500);
    let parameters = match capabilities {
        [_] => json!({"what": long}),
        several => several
            .iter()
            .map(|id| ((*id).to_owned(), json!({"what": long})))
            .collect(),
    };
    json!({
        "metadata": {"session_id": "s".repeat(128), "request_id": task},
        "dispatch": {
            "task_id": task, "attempt": 1, "capability_ids": capabilities, "parameters": parameters,
        },
    })
}

#[test]
fn no_line_is_wider_than_80_columns_whatever_things_are_called() {
    if is_refused() {
        return;
    }
    let root = Root::with_catalog(CATALOG);
    let again = "again-with-a-very-long-name-indeed";
    let once = "once-with-a-very-long-name-indeed";
    let on = |day: u32, task: &str, capabilities: &[&str]| {
        let mut command = root.command();
        let clock = format!("2026-02-{day:02}T10:00:00+00:00[UTC]");
        command.args(["run", "--clock", &clock]);
        run(command, request(task, capabilities).to_string().as_bytes());
    };
    let task = |end: &str| format!("音声認識タスク-a-task-with-a-very-long-name-{end}");
    on(10, &task("1"), &[again]);
    fs::write(
        root.path.join("catalog.toml"),
        CATALOG.replace("\"counted\"]", "\"counted\", \"and more\"]"),
    )
    .unwrap();
    on(11, &task("2"), &[again]);
    on(12, &task("3"), &[again, once]);
    on(13, &task("4"), &[again, once]);
    // Another call than the steps above, which are known already.
    let other = |task: &str| {
        let mut request = request(task, &[once]);
        request["dispatch"]["parameters"][once]["what"] = json!("another");
        request
    };
    moments::killed(&root, &other("t5"), Moment::Dispatched.of_the_task());
    run(root.command(), other("t6").to_string().as_bytes());
    let why = root.look(&["history", "--why", "1"]).out;
    assert!(why.contains("catalog_changed"), "{why}");
    let table = root.look(&["history"]).out;
    assert!(
        table.contains("suppressed") && table.contains("outcome unknown"),
        "{table}"
    );
    for args in [
        ["history", "--utc"].as_slice(),
        &["history", "--session", &"s".repeat(128)],
        &["sessions"],
        &["history", "--limit", "1"],
        &["history", "--why", "1"],
        &["history", "--why", "3"],
        &["show", "0"],
        &["show", "2"],
        &["show", "3"],
    ] {
        let seen = root.look(args);
        assert_eq!(seen.exit, 0, "{}", seen.err);
        for line in seen.out.lines() {
            assert!(line.width() <= 80, "{args:?} {}: {line}", line.width());
        }
    }
}
