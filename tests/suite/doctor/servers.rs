//! What is told of a server: how it starts, speaks and ends, its tools, and their pins.

use super::*;

#[test]
fn a_missing_command_is_named() {
    let root = root(&["[server.s]\ncommand = [\"no-such-server\"]\n", ECHO]);
    let diagnosis = examine(&root, &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says(
        "command_missing",
        "problem",
        &["no-such-server", "PATH=", "[server.s]"],
    );
}

#[test]
fn a_command_that_cannot_be_executed_is_told_from_one_that_is_not_there() {
    let root = root(&["[server.s]\ncommand = [\"./catalog.toml\"]\n", ECHO]);
    examine(&root, &[]).says("command_not_executable", "problem", &["chmod +x"]);
}

#[test]
fn a_missing_working_directory_is_named() {
    let diagnosis = planted("good", "cwd = \"nowhere\"", ECHO);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("directory_missing", "problem", &["/nowhere", "cwd"]);
}

#[test]
fn every_variable_that_is_not_set_is_named() {
    let diagnosis = planted(
        "good",
        "env_pass = [\"NOT_SET\", \"NOR_THIS\", \"HOME\"]",
        ECHO,
    );
    let unset = diagnosis.all("variable_unset");
    assert_eq!((diagnosis.exit, unset.len()), (1, 2));
    assert!(
        unset[0]["remedy"]
            .as_str()
            .unwrap()
            .starts_with("export NOT_SET")
    );
}

#[test]
fn a_server_that_ends_at_its_start_is_shown_with_its_last_words() {
    let diagnosis = planted("exits", "", ECHO);
    assert_eq!(diagnosis.exit, 1);
    let words = [
        "exit code 3",
        "no key; hunter2 was refused",
        "misbehaving.py exits",
    ];
    diagnosis.says("server_failed", "problem", &words);
}

#[test]
fn input_schemas_are_shown_with_every_keyword_in_the_servers_order_and_numbers() {
    let diagnosis = planted("keywords", "", ECHO);
    let schema = &diagnosis.report["servers"][0]["tools"][1]["input_schema"];
    let whole = concat!(
        r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","##,
        r##""$defs":{"text":{"$anchor":"text","type":"string"}},"##,
        r##""properties":{"text":{"$ref":"#text"},"n":{"maximum":123456789012345678901234567890}},"##,
        r##""if":{"required":["n"]},"then":true,"else":{"not":false},"x-unknown":[null,"hunter2"]}"##,
    );
    assert_eq!(schema.to_string(), whole);
}

#[test]
fn a_value_of_env_pass_is_cut_out_of_what_is_shown() {
    let root = root(&[&server("exits", "env_pass = [\"KEY\"]"), ECHO]);
    let mut command = root.command();
    command.args(["doctor"]).env("KEY", "hunter2");
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(said.contains("no key; *** was refused"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_value_of_env_pass_is_cut_out_of_input_schemas() {
    let root = root(&[&server("keywords", "env_pass = [\"KEY\"]"), ECHO]);
    let mut command = root.command();
    command.args(["doctor", "--json"]).env("KEY", "hunter2");
    let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(said.contains(r#""x-unknown":[null,"***"]"#), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn a_server_that_hangs_at_its_start_is_given_up() {
    let diagnosis = planted("silent", "startup_timeout = \"1s\"", ECHO);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("server_failed", "problem", &["not ready after 1 s"]);
}

#[test]
fn a_tool_that_is_not_there_is_answered_with_a_near_name() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"ecco\" }\n";
    let diagnosis = planted("good", "", entry);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("tool_missing", "problem", &["did you mean `echo`?"]);
}

#[test]
fn a_parameter_that_the_tool_refuses_is_a_problem_with_a_near_name() {
    let entry = format!("{ECHO}defaults = {{ texts = \"hi\" }}\n");
    let diagnosis = planted("closed", "", &entry);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says(
        "parameter_unknown",
        "problem",
        &["`texts`", "did you mean `text`?"],
    );
}

#[test]
fn a_parameter_that_the_tool_merely_does_not_list_is_a_warning() {
    let entry = format!("{ECHO}defaults = {{ volume = 3 }}\n");
    let diagnosis = planted("good", "", &entry);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("parameter_unknown", "warning", &["`volume`"]);
}

#[test]
fn a_required_parameter_that_no_task_can_give_is_a_problem() {
    let schema =
        "parameter_schema_for_action = { type = \"object\", additionalProperties = false }";
    let diagnosis = planted("good", "", &format!("{ECHO}{schema}\n"));
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("parameter_missing", "problem", &["requires `text`"]);
}

#[test]
fn a_required_parameter_that_a_task_may_leave_out_is_a_warning() {
    let schema = "parameter_schema_for_action = { properties = { text = { type = \"string\" } } }";
    let diagnosis = planted("good", "", &format!("{ECHO}{schema}\n"));
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("parameter_missing", "warning", &["requires `text`"]);
}

#[test]
fn an_input_schema_that_cannot_be_used_is_a_problem_where_the_entry_has_none() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"remote\" }\n";
    let diagnosis = planted("good", "", entry);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("tool_schema_unusable", "problem", &["`remote`"]);
}

#[test]
fn effects_that_promise_more_than_the_server_are_warnings() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"first\" }\n\
                 effects = { read_only = true, destructive = false, idempotent = true, open_world = true }\n";
    let diagnosis = planted("good", "", entry);
    let better = diagnosis.all("effects_better");
    assert_eq!((diagnosis.exit, better.len()), (0, 3), "{better:?}");
}

#[test]
fn noise_on_stdout_is_counted_and_shown() {
    let diagnosis = planted("noisy_start", "", ECHO);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("noise", "warning", &["2 lines", "Loading model..."]);
}

#[test]
fn a_server_that_ignores_the_end_of_its_stdin_is_told_of_and_ended() {
    let diagnosis = planted("stubborn", "", ECHO);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("end_ignored", "warning", &["250ms", "shutdown_grace"]);
}

#[test]
fn processes_that_are_left_behind_are_named_and_ended() {
    let diagnosis = planted("daemon", "", ECHO);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("left_behind", "warning", &["sleep ("]);
}

#[test]
fn a_slow_start_is_a_warning_before_it_is_too_slow() {
    let diagnosis = planted("slow_start", "startup_timeout = \"7s\"", ECHO);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("slow", "warning", &["startup_timeout"]);
}

#[test]
fn a_wrong_protocol_is_told_with_the_other_one() {
    let diagnosis = planted("modern", "protocol = \"legacy\"", ECHO);
    assert_eq!(diagnosis.exit, 1);
    let words = ["another era", "protocol = \\\"modern\\\"", "[server.s]"];
    diagnosis.says("server_failed", "problem", &words);
}

#[test]
fn a_package_runner_is_a_hint_to_install() {
    let root = root(&["[server.s]\ncommand = [\"bin/npx\", \"server\"]\n", ECHO]);
    examine(&root, &[]).says("cold_start", "warning", &["install the package"]);
}

/// The pin of `echo` that the examination tells of.
fn pin_of(diagnosis: &Diagnosis) -> String {
    let what = diagnosis.all("tool_pin")[0]["what"].as_str().unwrap();
    what.split_whitespace().last().unwrap().to_owned()
}

#[test]
fn the_pin_of_a_tool_is_told_to_who_asks_for_its_capability() {
    let root = root(&[&server("good", ""), ECHO]);
    let diagnosis = examine(&root, &["C"]);
    diagnosis.says("tool_pin", "good", &["the pin of `echo` is sha256:"]);
    assert_eq!(examine(&root, &[]).all("tool_pin").len(), 0);
}

#[test]
fn a_tool_that_is_as_pinned_is_told_so_and_runs_and_one_that_is_not_is_a_problem() {
    let unpinned = root(&[&server("good", ""), ECHO]);
    let pin = pin_of(&examine(&unpinned, &["C"]));
    let pinned = |mode: &str, more: &str| {
        let entry = format!("{ECHO}pin = \"{pin}\"\n{more}");
        root(&[&server(mode, ""), &entry])
    };
    let same = examine(&pinned("good", ""), &[]);
    assert_eq!(same.exit, 0);
    same.says("tool_pin", "good", &["matches its pin", &pin]);

    // Its input schema is another.
    let words = [
        "its input schema differs",
        &pin,
        "now sha256:",
        "[capability.C]",
    ];
    let changed = examine(&pinned("closed", ""), &[]);
    assert_eq!(changed.exit, 1);
    changed.says("tool_changed", "problem", &words);
    let warned = examine(&pinned("closed", "on_drift = \"warn\"\n"), &[]);
    assert_eq!(warned.exit, 0);
    warned.says("tool_changed", "warning", &words);
}

/// docs/trust.md: at most 200 characters of a name are shown.
#[test]
fn long_names_of_tools_are_shortened_and_the_last_of_many_are_counted() {
    let server = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "s", "version": "1"}}
    elif asked.get("method") == "tools/list":
        tools = [{"name": "n" * 100000 + str(k), "inputSchema": {"type": "object"}} for k in range(23)]
        result = {"tools": tools}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;
    let root = root(&[
        "[server.s]\ncommand = [\"python3\", \"-SB\", \"named.py\"]\n",
        ECHO,
    ]);
    fs::write(root.path.join("named.py"), server).unwrap();
    let diagnosis = examine(&root, &[]);
    let longest = "n".repeat(200) + "…";
    diagnosis.says("tool_missing", "problem", &[&longest, "`, and 3 more"]);
    let tools = &diagnosis.report["servers"][0]["tools"];
    assert_eq!(
        (&tools[0]["name"], tools[22].is_object()),
        (&json!(longest), true)
    );
    for words in [&["doctor"][..], &["catalog", "check", "--live"]] {
        let said = text(&*root.command().args(words).output().unwrap().stdout);
        let parts: Vec<&str> = said.split_whitespace().collect();
        assert!(parts.join(" ").contains("`, and 3 more"), "{said}");
        assert!(!said.contains(&"n".repeat(201)), "{words:?}");
        assert!(said.len() < 10_000, "{words:?}: {}", said.len());
    }
}
