//! What a catalog or a task is refused for, and in which words.

use serde_json::json;

use crate::{
    catalog::check,
    task::{Fault, RefStatus},
};

use super::{BEGINNING, Catalog, cut, input, object, ref_id, refused, task};

/// Why a task for the capability `cut` with these lines cannot be done: the catalog's fault.
fn wrong(more: &str) -> String {
    let failure = refused(&cut(more), &task(&["cut"]));
    assert_eq!(failure.fault, Fault::CatalogInvalid, "{}", failure.message);
    failure.message
}

/// The message begins with the line and names these.
fn says(more: &str, line: usize, parts: &[&str]) {
    let message = wrong(more);
    let place = format!("catalog.toml:{line}: ");
    assert!(message.starts_with(&place), "{message} is not at {place}");
    for part in parts {
        assert!(message.contains(part), "{message} does not say {part}");
    }
}

#[test]
fn an_unknown_key_is_named_with_its_line_and_the_nearest_key() {
    says(
        "timout = \"5s\"",
        6,
        &["unknown key `timout`", "did you mean `timeout`?"],
    );
    says(
        "timeout = \"5s\"\nresult = { kind = \"metadata\", shcema = {} }",
        7,
        &["`shcema`", "`schema`"],
    );
    says(
        "[server.t]\ncommand = [\"t\"]\n[defaults]\ntimeot = \"5s\"",
        9,
        &["`timeot`", "`timeout`"],
    );
}

#[test]
fn an_array_in_the_place_of_a_table_is_refused() {
    for lines in [
        "approval = []",
        "effects = [true]",
        "on_duplicate = [\"repeat\"]",
        "result = [\"metadata\"]",
        "requires_post_review = true\nreview = []",
        "retry = [[]]",
        "failure = [[\"x\", \"tool_error\", true]]",
    ] {
        let line = 5 + lines.lines().count();
        says(lines, line, &["capability cut: an array is in the place"]);
    }
    for top in [
        "approval",
        "defaults",
        "duckdb",
        "ledger",
        "profile.x",
        "storage",
    ] {
        let catalog = Catalog::from_text(&format!("catalog = 1\n{top} = []\n"));
        let problems = check(&catalog.tables().unwrap(), &[]).problems;
        let text = &problems.first().unwrap().text;
        let says = text.starts_with("catalog.toml:2: ") && text.contains("place of a table");
        assert!(says, "{text}");
    }
}

#[test]
fn a_failure_rule_cannot_give_a_class_that_only_oneact_can_know() {
    for class in [
        "cancelled",
        "request_in_flight",
        "in_flight",
        "review_open",
        "ledger_unavailable",
        "idempotency_conflict",
        "context_changed",
        "stuck",
        "journal_foreign",
        "internal",
    ] {
        let rule = format!("failure = [{{ match = \"x\", class = \"{class}\" }}]");
        says(&rule, 6, &[class, "only oneact itself can know"]);
    }
}

#[test]
fn a_catalog_that_is_no_utf_8_is_named_with_the_line() {
    let bytes = [BEGINNING.as_bytes(), b"description = \"caf\xe9\""].concat();
    let error = Catalog::from_bytes("catalog.toml".into(), bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "catalog.toml:6: this line is not UTF-8; save the catalog as UTF-8"
    );
}

#[test]
fn an_unknown_table_at_the_top_is_named_with_the_nearest() {
    says(
        "[capabilty.x]",
        6,
        &["unknown key `capabilty`", "did you mean `capability`?"],
    );
}

#[test]
fn a_fence_is_of_a_call_that_must_not_happen_twice_and_names_a_parameter() {
    for effects in ["read_only = true", "idempotent = true"] {
        let entry = format!("effects = {{ {effects} }}\nfence = [\"id\"]");
        says(&entry, 7, &["`fence` is of a call that may be repeated"]);
    }
    for fence in ["[]", "[\"\"]", "[\"/\"]"] {
        let entry = format!("fence = {fence}");
        says(&entry, 6, &["`fence` must name at least one parameter"]);
    }
    for fence in ["[\"file\"]", "[\"/file/0\"]"] {
        let entry = format!("fence = {fence}\nbind = {{ file = \"input.path\" }}");
        says(
            &entry,
            6,
            &["which `bind` fills: name a parameter of the task"],
        );
    }
    says("fence = \"id\"", 6, &["string", "sequence"]);
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_line() {
    says("\ntimeout = 5", 7, &["integer", "string"]);
    says("is_action = \"yes\"", 6, &["boolean"]);
    says("mpc = 1", 6, &["`mpc`"]);
}

#[test]
fn broken_toml_is_named_with_its_line() {
    says("description = ]", 6, &["expected `["]);
    says("[capability.cut]", 6, &["duplicate"]);
}

#[test]
fn a_catalog_says_its_format() {
    let failure = refused("[server.s]\ncommand = [\"s\"]", &task(&["cut"]));
    assert!(
        failure.message.contains("`catalog = 1`"),
        "{}",
        failure.message
    );
    let failure = refused("\ncatalog = 2", &task(&["cut"]));
    assert!(
        failure.message.starts_with("catalog.toml:2: "),
        "{}",
        failure.message
    );
}

#[test]
fn a_capability_without_a_tool_is_refused() {
    let failure = refused("catalog = 1\n[capability.cut]\n", &task(&["cut"]));
    assert_eq!(failure.fault, Fault::CatalogInvalid);
    assert!(failure.message.contains("`mcp`"), "{}", failure.message);
}

#[test]
fn a_duration_is_more_than_nothing_and_at_most_a_day() {
    for bad in ["soon", "0s", "-5s", "25h", "60"] {
        says(
            &format!("\ntimeout = {bad:?}"),
            7,
            &["is not a duration", bad],
        );
    }
    says(
        "timeout = \"9s\"\ntimeout_max = \"8s\"",
        4,
        &["`timeout_max` below its `timeout`"],
    );
}

#[test]
fn a_pattern_must_compile_and_an_extract_must_capture() {
    says(
        "\nfailure = [{ match = '(', class = \"oom\" }]",
        7,
        &["does not compile"],
    );
    says(
        "\nextract = [{ from = \"action\", pattern = 'in (en|ms)' }]",
        7,
        &["named capture"],
    );
}

#[test]
fn a_bind_names_something_there_is() {
    for bad in [
        "input",
        "input_0.uri",
        "input.url",
        "inputs.uri",
        "ref.store_1",
        "output",
    ] {
        says(&format!("bind = {{ x = {bad:?} }}"), 6, &["binds `x`", bad]);
    }
    says("bind = { x = 1 }", 6, &["not a string"]);
}

#[test]
fn an_asset_says_type_and_format_and_where_it_is() {
    says(
        "result = { kind = \"asset\", format = \"wav\" }",
        4,
        &["`result.asset_type`"],
    );
    says(
        "result = { kind = \"asset\", asset_type = \"a\" }",
        4,
        &["`result.format`"],
    );
    let asset =
        |more: &str| format!("\nresult = {{ kind = \"asset\", asset_type = \"a\", {more} }}");
    says(
        &asset("format = \"wave\""),
        7,
        &["`wave` is not a format", "wav"],
    );
    says(
        &asset("format = \"{kind}\""),
        7,
        &["`kind` is not a parameter"],
    );
    says(
        &asset("format = \"wav\", take = [\"file\"]"),
        7,
        &["`take` must contain"],
    );
}

#[test]
fn a_failure_class_is_one_of_the_table() {
    says(
        "\nfailure = [{ match = 'x', class = \"rate_limit\" }]",
        7,
        &["unknown failure class `rate_limit`", "`rate_limited`"],
    );
    says(
        "\nretry = [{ after = [\"timeouts\"] }]",
        7,
        &["`timeouts`", "`timeout`"],
    );
}

#[test]
fn a_secret_or_success_rule_points_somewhere() {
    says("secret = [\"token\"]", 6, &["JSON Pointer", "\"/token\""]);
    says(
        "success = [{ pointer = \"ok\", equals = true }]",
        6,
        &["\"/ok\""],
    );
}

#[test]
fn a_retry_factor_never_shortens() {
    for bad in ["2", "x0.5", "xinf", "twice"] {
        says(
            &format!("\nretry = [{{ timeout = {bad:?} }}]"),
            7,
            &["factor of 1 or more"],
        );
    }
    says("retry = [{ multiply = { n = 0 } }]", 6, &["multiplies `n`"]);
}

#[test]
fn a_schema_that_does_not_compile_is_the_catalogs_fault() {
    let message = wrong("parameter_schema_for_action = { type = \"strin\" }");
    assert!(message.contains("does not compile"), "{message}");
}

#[test]
fn a_schema_elsewhere_is_never_fetched() {
    let message =
        wrong("parameter_schema_for_action = { \"$ref\" = \"https://example.org/schema.json\" }");
    assert!(message.contains("does not compile"), "{message}");
}

#[test]
fn a_mistake_in_an_entry_that_the_task_does_not_name_stops_nobody() {
    let text = cut("[capability.other]\ntimout = 1");
    assert!(super::resolved(&text, &task(&["cut"])).is_ok());
}

#[test]
fn a_synthesis_capability_belongs_to_the_reasoning_agent_r_000_111() {
    let failure = refused(BEGINNING, &task(&["CAP-SYN-001"]));
    assert_eq!(failure.fault, Fault::MisroutedSynthesis);
    assert!(failure.message.contains("reasoning_agent"));
}

#[test]
fn an_unknown_capability_is_refused_with_the_nearest_name_r_000_110() {
    let failure = refused(BEGINNING, &task(&["cuts"]));
    assert_eq!(failure.fault, Fault::UnknownCapability);
    assert_eq!(
        failure.message,
        "unknown capability \"cuts\"; did you mean cut?"
    );
    let failure = refused(BEGINNING, &task(&["cut", "transcribe"]));
    assert_eq!(
        failure.message,
        "unknown capability \"transcribe\"; the catalog maps no tool to it"
    );
}

#[test]
fn a_server_that_is_not_declared_is_not_found_r_000_100() {
    let text = BEGINNING.replace("[server.s]", "[server.saw]");
    let failure = refused(
        &text.replace("\"s\", tool", "\"sew\", tool"),
        &task(&["cut"]),
    );
    assert_eq!(failure.fault, Fault::ServerNotFound);
    assert_eq!(
        failure.message,
        "catalog.toml:4: the catalog has no [server.sew]; did you mean `saw`?"
    );
    assert!(!failure.recoverable);
}

#[test]
fn a_bound_parameter_cannot_be_set_by_the_task() {
    let mut task = task(&["cut"]);
    task.parameters = vec![object(&json!({"from": "elsewhere"}))];
    let failure = refused(&cut("bind = { from = \"input.uri\" }"), &task);
    assert_eq!(failure.fault, Fault::ParamsInvalid);
    assert!(failure.message.contains("`from`"), "{}", failure.message);
}

#[test]
fn parameters_that_do_not_fit_the_schema_are_refused_before_anything_starts() {
    let schema = "[capability.cut.parameter_schema_for_action]\nadditionalProperties = false\nproperties.n = { type = \"integer\" }\n";
    for bad in [json!({"n": "2"}), json!({"m": 2})] {
        let mut task = task(&["cut"]);
        task.parameters = vec![object(&bad)];
        let failure = refused(&cut(schema), &task);
        assert_eq!(failure.fault, Fault::ParamsInvalid, "{}", failure.message);
    }
}

#[test]
fn a_secret_is_not_shown_when_it_does_not_fit() {
    let text = cut(
        "secret = [\"/key\"]\nparameter_schema_for_action = { properties = { key = { maxLength = 3 } } }",
    );
    let mut task = task(&["cut"]);
    task.parameters = vec![object(&json!({"key": "hunter2"}))];
    let failure = refused(&text, &task);
    assert!(failure.message.contains("/key"), "{}", failure.message);
    assert!(!failure.message.contains("hunter2"), "{}", failure.message);
}

#[test]
fn an_input_that_is_missing_or_raw_is_unresolved_r_000_113_140() {
    let text = cut("bind = { from = \"input.uri\" }");
    let mut task = task(&["cut"]);
    task.inputs = vec![input(
        "src_1",
        "https://example.org/v",
        RefStatus::Reference,
    )];
    assert_eq!(refused(&text, &task).fault, Fault::InputUnresolved);
    task.inputs.clear();
    assert_eq!(refused(&text, &task).fault, Fault::InputUnresolved);
}

#[test]
fn more_refs_than_the_capabilities_make_are_refused() {
    let mut task = task(&["cut"]);
    task.expected = vec![ref_id("derived_1")];
    let failure = refused(BEGINNING, &task);
    assert_eq!(failure.fault, Fault::InvalidShape);
    assert!(failure.message.contains("derived_1"), "{}", failure.message);
}

#[test]
fn a_format_that_a_parameter_names_must_be_one_that_can_be_checked() {
    let text = cut(
        "result = { kind = \"asset\", asset_type = \"a\", format = \"{to}\" }\nparameter_schema_for_action = { properties = { to = { type = \"string\" } } }",
    );
    let mut task = task(&["cut"]);
    let unset = refused(&text, &task);
    assert_eq!(unset.fault, Fault::ParamsInvalid);
    assert!(unset.message.contains("`to`"), "{}", unset.message);
    task.parameters = vec![object(&json!({"to": "aac"}))];
    let unknown = refused(&text, &task);
    assert_eq!(unknown.fault, Fault::ParamsInvalid);
    assert!(unknown.message.contains("aac"), "{}", unknown.message);
}

#[test]
fn words_about_a_parameter_hold_no_presign_part_and_not_all_of_a_large_value() {
    let catalog = cut("parameter_schema_for_action.properties.url.enum = [\"a\"]");
    let mut task = task(&["cut"]);
    let url = format!(
        "https://b.example/x?X-Amz-Signature=dead&{}",
        "y".repeat(9_000)
    );
    task.parameters = vec![object(&json!({ "url": url }))];
    let message = refused(&catalog, &task).message;
    assert!(message.contains("X-Amz-Signature=***"), "{message}");
    assert!(message.len() < 1_000, "{} bytes", message.len());
}

#[test]
fn a_secret_in_the_action_text_is_taken_and_not_told() {
    let catalog = cut(
        "secret = [\"/key\"]\nextract = [{ from = \"action\", pattern = 'key (?P<key>\\w+)' }]",
    );
    let mut task = task(&["cut"]);
    task.action = "key hunter2".to_owned();
    let job = super::resolved(&catalog, &task).unwrap();
    assert_eq!(job.steps[0].parameters["key"], "hunter2");
    assert!(!job.reasoning.concat().contains("hunter2"));
}

#[test]
fn duplicates_are_reused_only_where_that_can_be_right() {
    let lines = |effects: &str, duplicates: &str| {
        format!("effects = {{ {effects} }}\non_duplicate = {{ {duplicates} }}")
    };
    for (effects, duplicates, problem) in [
        (
            "idempotent = false",
            "mode = \"reuse\"",
            "cannot be `reuse`",
        ),
        (
            "destructive = true, idempotent = true",
            "mode = \"reuse\"",
            "cannot be `reuse`",
        ),
        (
            "open_world = false",
            "mode = \"reuse\"",
            "cannot be `reuse`",
        ),
        (
            "read_only = true, open_world = true",
            "mode = \"reuse\"",
            "needs a `ttl`",
        ),
        ("idempotent = true", "mode = \"reuse\"", "needs a `ttl`"),
        (
            "idempotent = true",
            "mode = \"suppress\", ttl = \"5m\"",
            "has a `ttl`",
        ),
        (
            "idempotent = true",
            "mode = \"reuse\", ttl = \"soon\"",
            "soon",
        ),
    ] {
        says(&lines(effects, duplicates), 7, &[problem]);
    }
}
