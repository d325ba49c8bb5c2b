//! What a task costs grows with its size and no faster, whatever its shape.

use std::{fs, io::Write, thread, time::Duration};

use serde_json::{Value, json};

use crate::program::{Answer, Root};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.happen]
effects = { idempotent = true }
mcp = { server = "counter", tool = "happen" }
parameter_schema_for_action = { type = "object" }
result = { kind = "metadata" }
"#;

/// Bytes of a large task.
const LARGE: usize = 4 << 20;

/// How much memory a run may take beyond that of a small one, in its task's sizes: ten times, and what the
/// allocator keeps of pieces that were given back.
const TIMES: usize = 12;

/// An answer, and the most memory that the run had, in bytes.
fn weighed(input: &[u8]) -> (Answer, usize) {
    let root = Root::with_catalog(CATALOG);
    let mut child = root.command().spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(input)));
        let watch = scope.spawn(move || {
            let mut peak = 0;
            // Gone, or a zombie without memory, when the run is over.
            while let Some(now) = fs::read_to_string(&status)
                .ok()
                .and_then(|text| most(&text))
            {
                peak = now;
                thread::sleep(Duration::from_millis(1));
            }
            peak
        });
        let answer = Answer::of(child.wait_with_output().unwrap());
        (answer, watch.join().unwrap())
    })
}

/// `VmHWM`, in bytes.
fn most(status: &str) -> Option<usize> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1024)
}

fn task(parameters: &Value) -> String {
    json!({"task_id": "t", "capability_ids": ["happen"], "attempt": 1, "parameters": parameters})
        .to_string()
}

fn plan(content: &str) -> String {
    let operation = json!({"type": "create", "content": content});
    json!({"plan_id": "p", "protocol_validation": true, "action_plan": [
        {"action_id": "a", "action_type": "FILE_CREATE", "target": "large.txt", "operation": operation}]})
    .to_string()
}

#[test]
fn a_large_task_of_any_shape_costs_a_few_times_its_size_in_memory() {
    let (small, base) = weighed(task(&json!({"what": "x"})).as_bytes());
    assert_eq!(small.exit, 0, "{}", small.envelope);
    let long = "x".repeat(LARGE);
    let refs: Vec<Value> = (0..1000)
        .map(|n| json!({"ref_id": format!("src_{n}"), "status": "reference", "storage_uri": format!("https://h.example/{}", "a".repeat(LARGE / 1000))}))
        .collect();
    for (shape, input, exit) in [
        ("one long text", task(&json!({"a": long})), 0),
        ("one long key", task(&json!({&*long: 1})), 0),
        ("many texts", task(&json!({"a": vec!["y".repeat(LARGE / 10_000); 10_000]})), 0),
        ("an echo", json!({"task_id": "t", "capability_ids": ["happen"], "more": long}).to_string(), 0),
        ("an action", json!({"task_id": "t", "capability_ids": ["happen"], "action": long}).to_string(), 0),
        ("an MCPRequest", json!({"actionId": "happen", "args": {"a": long}}).to_string(), 0),
        ("refs", json!({"task_id": "t", "capability_ids": ["happen"], "input_refs_resolved": refs}).to_string(), 0),
        ("resources", json!({"dispatch": {"task_id": "t", "capability_ids": ["happen"]}, "resources": {"source_refs": refs}}).to_string(), 0),
        ("a file", plan(&long), 0),
        ("a long id", json!({"task_id": "t", "capability_ids": [long]}).to_string(), 2),
        ("a long name", json!({"task_id": long, "capability_ids": ["happen"]}).to_string(), 2),
    ] {
        let (answer, peak) = weighed(input.as_bytes());
        assert_eq!(answer.exit, exit, "{shape}");
        let times = peak.saturating_sub(base).div_ceil(input.len());
        assert!(times <= TIMES, "{shape}: {times} times its size");
    }
}

/// In memory each value of these would take many times its text.
#[test]
fn many_small_values_are_refused_before_they_are_anything_in_memory() {
    let (_, base) = weighed(task(&json!({"what": "x"})).as_bytes());
    let many = |item: &str| format!("[{}0]", item.repeat(LARGE / item.len()));
    let keys = (0..LARGE / 12).map(|n| format!("\"{n:06}\":{n},"));
    let keys = format!("{{{}\"\":0}}", keys.collect::<String>());
    for (shape, values) in [
        ("numbers", many("1,")),
        ("texts", many("\"\",")),
        ("arrays", many("[],")),
        ("objects", many("{},")),
        ("arrays of one", many("[1],")),
        ("deep arrays", many("[[[[[[[[[[]]]]]]]]]],")),
        ("keys", keys),
    ] {
        for place in [
            "parameters",
            "capability_ids",
            "input_refs_resolved",
            "action_plan",
            "more",
        ] {
            let input = format!(r#"{{"task_id":"t","{place}":{values}}}"#);
            let (answer, peak) = weighed(input.as_bytes());
            assert_eq!(
                answer.fault(),
                &json!("limit_exceeded"),
                "{shape} in {place}"
            );
            let times = peak.saturating_sub(base).div_ceil(input.len());
            assert!(times <= TIMES, "{shape} in {place}: {times} times its size");
        }
    }
}

#[test]
fn a_long_parameter_is_recorded_by_its_hash_and_answered_in_full() {
    let root = Root::with_catalog(CATALOG);
    let task: Value =
        serde_json::from_str(&task(&json!({"a": "x".repeat(300_000), "what": "once"}))).unwrap();
    let answer = root.run(&task);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(answer.at("/input/content"), &task);
    let shown = "/output/content/task_result/tool_invocations/0/parameters";
    assert_eq!(
        answer.at(&format!("{shown}/a/$blob/bytes")),
        &json!(300_002)
    );
    assert_eq!(answer.at(&format!("{shown}/what")), &json!("once"));
    // Another long text is another request.
    let mut other = task.clone();
    other["parameters"]["a"] = json!("y".repeat(300_000));
    other["task_id"] = json!("u");
    let other = root.run(&other);
    let hash = "/output/content/oneact/request_hash";
    assert_ne!(answer.at(hash), other.at(hash));
    // What the record does not hold cannot be sent again.
    let again = root
        .command()
        .args(["replay", "0", "--execute"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(2));
    let said = [again.stdout, again.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let said: Vec<&str> = said.split_whitespace().collect();
    assert!(said.join(" ").contains("a long value"), "{said:?}");
}
