//! What a task becomes: parameters, times, inputs and outputs of its steps.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    catalog::{Delivery, ResultKind, Take, ToolJob},
    task::{Format, RefStatus},
};

use super::{cut, input, object, parameters, ref_id, resolved, task};

/// `cut` with defaults, an extract rule and a schema of three parameters.
fn configurable() -> String {
    cut(r#"defaults = { size = 1, mood = "calm" }
extract = [{ from = "action", pattern = '(?i)size (?P<size>\d+)' }, { from = "action", pattern = '(?i)mood (?P<mood>\w+)' }]
[capability.cut.parameter_schema_for_action]
additionalProperties = false
properties.mood = { enum = ["calm", "wild"] }
properties.size = { type = "integer", minimum = 1 }
properties.depth = { type = "number" }
"#)
}

#[test]
fn a_result_without_a_kind_is_metadata() {
    for result in [
        "",
        "result = {}\n",
        "[capability.cut.result]\n",
        "result = { schema = {} }\n",
    ] {
        let job = resolved(&cut(result), &task(&["cut"])).unwrap();
        assert_eq!(
            job.steps[0].entry.result.kind,
            ResultKind::Metadata,
            "{result}"
        );
    }
}

#[test]
fn the_task_wins_over_the_action_text_and_that_over_defaults_r_000_63() {
    let mut task = task(&["cut"]);
    assert_eq!(
        parameters(&configurable(), &task),
        json!({"mood": "calm", "size": 1})
    );
    "Cut to size 7, mood WILD".clone_into(&mut task.action);
    assert_eq!(
        parameters(&configurable(), &task),
        json!({"mood": "wild", "size": 7})
    );
    task.parameters = vec![object(&json!({"size": 9}))];
    assert_eq!(
        parameters(&configurable(), &task),
        json!({"mood": "wild", "size": 9})
    );
}

#[test]
fn what_the_action_text_decided_is_said_and_what_it_did_not_is_not_c_09() {
    let mut task = task(&["cut"]);
    "Cut to size 7, mood wild".clone_into(&mut task.action);
    task.parameters = vec![object(&json!({"size": 9}))];
    let said = resolved(&configurable(), &task)
        .unwrap()
        .reasoning
        .join(" ");
    assert!(
        said.contains("Took mood = \"wild\" from the action text."),
        "{said}"
    );
    assert!(!said.contains("Took size"), "{said}");
}

#[test]
fn parameters_come_in_the_order_of_the_schema() {
    let mut task = task(&["cut"]);
    task.parameters = vec![object(&json!({"depth": 0.5, "size": 9}))];
    let text = parameters(&configurable(), &task).to_string();
    assert_eq!(text, r#"{"mood":"calm","size":9,"depth":0.5}"#);
}

fn on_attempt(attempt: u32, rules: &str) -> ToolJob {
    let text = cut(&format!(
        r#"timeout = "10s"
timeout_max = "35s"
defaults = {{ size = 1 }}
retry = [{rules}]
[capability.cut.parameter_schema_for_action]
properties.size = {{ type = "integer" }}
properties.batch = {{ type = "integer", minimum = 3 }}
properties.depth = {{ type = "number" }}
"#
    ));
    let mut task = task(&["cut"]);
    task.attempt = attempt;
    resolved(&text, &task).unwrap()
}

#[test]
fn a_retry_lengthens_the_time_up_to_timeout_max_r_000_64() {
    for (attempt, seconds) in [(1, 10), (2, 20), (3, 35), (u32::MAX, 35)] {
        let job = on_attempt(attempt, r#"{ timeout = "x2" }"#);
        assert_eq!(
            job.steps[0].timeout,
            Duration::from_secs(seconds),
            "attempt {attempt}"
        );
        assert_eq!(job.steps[0].entry.timeout_max, Duration::from_secs(35));
    }
}

#[test]
fn a_retry_scales_a_parameter_once_per_attempt_whole_and_not_below_its_minimum_r_000_65() {
    let rule = "{ multiply = { batch = 0.5, depth = 0.5 }, start = { batch = 15, depth = 1 } }";
    for (attempt, batch, depth) in [(2, 7, 0.5), (3, 3, 0.25), (4, 3, 0.125)] {
        let job = on_attempt(attempt, rule);
        let parameters = Value::Object(job.steps[0].parameters.clone());
        let wanted = json!({"size": 1, "batch": batch, "depth": depth});
        assert_eq!(parameters, wanted, "attempt {attempt}");
    }
    let first = on_attempt(1, rule);
    assert_eq!(
        Value::Object(first.steps[0].parameters.clone()),
        json!({"size": 1})
    );
}

#[test]
fn a_parameter_without_a_value_and_a_start_is_not_scaled() {
    let job = on_attempt(2, "{ multiply = { batch = 0.5 } }");
    assert_eq!(
        Value::Object(job.steps[0].parameters.clone()),
        json!({"size": 1})
    );
}

#[test]
fn a_retry_sets_parameters_and_says_so_r_000_66() {
    let job = on_attempt(2, "{ set = { size = 5 } }");
    assert_eq!(job.steps[0].parameters["size"], 5);
    assert!(
        job.reasoning
            .join(" ")
            .contains("Set size to 5 for attempt 2.")
    );
}

#[test]
fn a_rule_with_a_reason_lengthens_the_time_and_changes_no_parameter() {
    let rule =
        r#"{ after = ["oom"], timeout = "x2", set = { size = 5 }, multiply = { size = 3 } }"#;
    let job = on_attempt(2, rule);
    assert_eq!(job.steps[0].timeout, Duration::from_secs(20));
    assert_eq!(job.steps[0].parameters["size"], 1);
}

#[test]
fn times_come_from_the_entry_then_the_defaults_then_60_seconds() {
    let time = |text: &str| resolved(text, &task(&["cut"])).unwrap().steps[0].timeout;
    assert_eq!(time(&cut("")), Duration::from_mins(1));
    assert_eq!(
        time(&cut("[defaults]\ntimeout = \"1m30s\"")),
        Duration::from_secs(90)
    );
    assert_eq!(
        time(&cut("timeout = \"5s\"\n[defaults]\ntimeout = \"1m30s\"")),
        Duration::from_secs(5)
    );
}

#[test]
fn a_bound_parameter_is_filled_from_where_it_says_r_000_62() {
    let text = cut(
        r#"bind = { a = "input.uri", b = "input.path", c = "input_2.uri", d = "ref.store_9.uri", e = "source.uri", f = "session.id", g = "task.id", h = "output.path", i = "output.uri", j = "output.ref_id" }
result = { kind = "asset", asset_type = "audio_track", format = "wav" }"#,
    );
    let mut task = task(&["cut"]);
    task.inputs
        .push(input("store_9", "s3://bucket/nine.wav", RefStatus::Created));
    task.expected = vec![ref_id("derived_1")];
    assert_eq!(
        parameters(&text, &task),
        json!({
            "a": "media/fox.mp4", "b": "/project/media/fox.mp4", "c": "s3://bucket/nine.wav",
            "d": "s3://bucket/nine.wav", "e": "media/fox.mp4", "f": "sess-1", "g": "task_5",
            "h": "/scratch/derived_1.wav", "i": "file:///scratch/derived_1.wav", "j": "derived_1",
        })
    );
}

#[test]
fn an_optional_bound_parameter_is_left_out_when_no_input_fills_it() {
    let text = cut(r#"bind = { first = "input.uri", second = "input_2.uri" }
parameter_schema_for_action = { required = ["first"], properties = { first = {}, second = {} } }"#);
    assert_eq!(
        parameters(&text, &task(&["cut"])),
        json!({"first": "media/fox.mp4"})
    );
}

/// Two capabilities that make assets, and one between them that makes none.
const CHAIN: &str = r#"
catalog = 1
server.s.command = ["s"]
[capability.hear]
mcp = { server = "s", tool = "hear" }
bind = { from = "input.uri" }
result = { kind = "asset", asset_type = "audio_track", format = "wav" }
[capability.look]
mcp = { server = "s", tool = "look" }
bind = { at = "input.uri" }
[capability.write]
mcp = { server = "s", tool = "write" }
bind = { audio = "input.uri", more = "input_2.uri" }
parameter_schema_for_action = { required = ["audio"], properties = { audio = {}, more = {} } }
result = { kind = "analysis", asset_type = "transcript" }
"#;

#[test]
fn a_later_steps_input_is_the_asset_of_the_step_before_c_06() {
    let job = resolved(CHAIN, &task(&["hear", "write"])).unwrap();
    assert_eq!(job.steps[0].parameters["from"], "media/fox.mp4");
    let made = &job.steps[0].output.as_ref().unwrap().staged;
    assert_eq!(job.steps[1].parameters["audio"], format!("file://{made}"));
}

#[test]
fn the_asset_of_the_step_before_fills_one_input_only() {
    let mut task = task(&["hear", "write"]);
    let alone = resolved(CHAIN, &task).unwrap();
    assert!(!alone.steps[1].parameters.contains_key("more"));
    task.inputs
        .push(input("derived_8", "more.json", RefStatus::Created));
    let with = resolved(CHAIN, &task).unwrap();
    assert_eq!(with.steps[1].parameters["more"], "more.json");
}

#[test]
fn a_step_after_one_without_an_asset_gets_the_tasks_own_input() {
    let job = resolved(CHAIN, &task(&["look", "write"])).unwrap();
    assert!(job.steps[0].output.is_none());
    assert_eq!(job.steps[1].parameters["audio"], "media/fox.mp4");
}

/// Per step: the ref it makes, and whether that is stored.
fn made(expected: &[&str]) -> Vec<Option<(String, Delivery)>> {
    let mut task = task(&["hear", "look", "write"]);
    task.expected = expected.iter().map(|id| ref_id(id)).collect();
    let job = resolved(CHAIN, &task).unwrap();
    let outputs = job.steps.iter().map(|step| step.output.as_ref());
    outputs
        .map(|output| output.map(|output| (output.file_name.clone(), output.delivery)))
        .collect()
}

#[test]
fn the_last_steps_that_make_assets_make_the_expected_refs_in_order() {
    let stored = |name: &str| Some((name.to_owned(), Delivery::Stored));
    let between = Some(("task_5_step_1.wav".to_owned(), Delivery::Intermediate));
    assert_eq!(
        made(&["derived_1", "derived_2"]),
        [stored("derived_1.wav"), None, stored("derived_2.json")]
    );
    assert_eq!(
        made(&["derived_2"]),
        [between.clone(), None, stored("derived_2.json")]
    );
    // A name of ours makes way for one of the task's.
    assert_eq!(
        made(&["task_5_step_1"])[0],
        Some(("task_5_step_1_.wav".to_owned(), Delivery::Intermediate))
    );
    assert_eq!(made(&[]), [between, None, stored("task_5_output.json")]);
}

#[test]
fn a_tool_that_is_told_where_to_write_is_looked_for_there_first() {
    let take = |more: &str| {
        let text = cut(&format!(
            "{more}\nresult = {{ kind = \"asset\", asset_type = \"a\", format = \"wav\" }}"
        ));
        let job = resolved(&text, &task(&["cut"])).unwrap();
        job.steps[0].entry.result.take.clone()
    };
    let elsewhere = [
        Take::Pointer("/output_uri".to_owned()),
        Take::ResourceLink,
        Take::Blob,
    ];
    assert_eq!(take(""), elsewhere);
    let told = take("bind = { to = \"output.path\" }");
    assert_eq!((&told[0], &told[1..]), (&Take::Output, &elsewhere[..]));
}

#[test]
fn a_parameter_in_braces_names_the_assets_format() {
    let text = cut(r#"defaults = { to = "ogg" }
result = { kind = "asset", asset_type = "a", format = "{to}" }
parameter_schema_for_action = { properties = { to = { enum = ["ogg", "flac"] } } }"#);
    let mut task = task(&["cut"]);
    let format = |task: &_| {
        resolved(&text, task).unwrap().steps[0]
            .output
            .as_ref()
            .unwrap()
            .format
    };
    assert_eq!(format(&task), Format::Ogg);
    task.parameters = vec![object(&json!({"to": "flac"}))];
    assert_eq!(format(&task), Format::Flac);
}

#[test]
fn each_step_of_a_task_has_its_own_parameters() {
    let mut task = task(&["hear", "look"]);
    task.parameters = vec![object(&json!({"loud": true})), object(&json!({"wide": 2}))];
    let job = resolved(CHAIN, &task).unwrap();
    assert_eq!(job.steps[0].parameters["loud"], true);
    assert_eq!(job.steps[1].parameters["wide"], 2);
    assert!(!job.steps[1].parameters.contains_key("loud"));
}
