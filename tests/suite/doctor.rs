//! `oneact doctor`: every planted fault is found, and explained with what to do.

use std::{fs, os::unix::fs::PermissionsExt, process::Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Root, signal_child, text, until};

/// The server of one mode of `misbehaving.py`, with more lines of its entry.
fn server(mode: &str, more: &str) -> String {
    format!(
        "[server.s]\ncommand = [\"python3\", \"-SB\", \"servers/misbehaving.py\", \"{mode}\"]\n\
         env = {{ RECEIVED = \"received\", PIDS = \"pids\" }}\n{more}\n"
    )
}

/// A capability on its tool `echo`.
const ECHO: &str = "[capability.C]\nmcp = { server = \"s\", tool = \"echo\" }\n";

fn root(parts: &[&str]) -> Root {
    Root::with_catalog(&format!("catalog = 1\n{}", parts.join("\n")))
}

/// What `oneact doctor --json` found.
pub(crate) struct Diagnosis {
    pub(crate) exit: i32,
    pub(crate) report: Value,
}

pub(crate) fn examine(root: &Root, words: &[&str]) -> Diagnosis {
    let output = root
        .command()
        .args(["doctor", "--json"])
        .args(words)
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = include_str!("../../schemas/doctor.schema.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let misfits: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(misfits, Vec::<String>::new(), "{report}");
    assert_eq!(root.processes(), Vec::<i32>::new());
    assert_eq!(root.scratch().next(), None);
    Diagnosis {
        exit: output.status.code().unwrap(),
        report,
    }
}

impl Diagnosis {
    /// The findings of that name.
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let findings = self.report["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["finding"] == name)
            .collect()
    }

    /// The only finding of that name: its texts hold these words.
    fn says(&self, name: &str, level: &str, words: &[&str]) {
        let found = self.all(name);
        assert_eq!(found.len(), 1, "{name}: {}", self.report);
        assert_eq!(found[0]["level"], level);
        for word in words {
            assert!(found[0].to_string().contains(word), "{word}: {}", found[0]);
        }
        assert!(level == "good" || found[0]["remedy"].is_string());
    }
}

/// One server of that mode with one capability: its exit code and report.
fn planted(mode: &str, more: &str, entry: &str) -> Diagnosis {
    examine(&root(&[&server(mode, more), entry]), &[])
}

#[test]
fn a_sound_setup_is_well_and_its_servers_are_described() {
    let diagnosis = planted("good", "", ECHO);
    assert_eq!(
        (diagnosis.exit, &diagnosis.report["verdict"]),
        (0, &json!("well"))
    );
    let server = &diagnosis.report["servers"][0];
    let tools = server["tools"].as_array().unwrap().iter();
    let names: Vec<&Value> = tools.map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["first", "echo", "remote"]);
    assert_eq!(server["server_name"], "misbehaving");
    assert_eq!(
        (&server["era"], &server["ended"]),
        (&json!("legacy"), &json!("exit code 0"))
    );
    diagnosis.says("tool_good", "good", &["echo"]);
}

#[test]
fn no_tool_is_ever_called() {
    let root = root(&[&server("good", ""), ECHO]);
    examine(&root, &[]);
    let received = fs::read_to_string(root.path.join("received")).unwrap();
    assert!(received.contains("tools/list"));
    assert!(!received.contains("tools/call"), "{received}");
}

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
    diagnosis.says("end_ignored", "warning", &["250 ms", "shutdown_grace"]);
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
fn a_wrong_protocol_is_told_with_the_one_that_is_spoken() {
    let diagnosis = planted("modern", "protocol = \"legacy\"", ECHO);
    assert_eq!(diagnosis.exit, 1);
    let words = ["`protocol = \\\"legacy\\\"`", "2026-07-28"];
    diagnosis.says("protocol_wrong", "problem", &words);
    diagnosis.says("tool_good", "good", &[]);
}

#[test]
fn a_package_runner_is_a_hint_to_install() {
    let root = root(&["[server.s]\ncommand = [\"bin/npx\", \"server\"]\n", ECHO]);
    examine(&root, &[]).says("cold_start", "warning", &["install the package"]);
}

#[test]
fn every_broken_entry_is_told_with_its_line_and_the_good_ones_are_examined() {
    let broken = "[capability.A]\nmcp = { server = \"s\", tool = \"echo\" }\ntimout = \"3s\"\n\
                  [capability.B]\nmcp = { server = \"t\", tool = \"echo\" }\n";
    let diagnosis = planted("good", "", &format!("{ECHO}{broken}"));
    let told = diagnosis.all("entry_unusable");
    assert_eq!((diagnosis.exit, told.len()), (1, 2), "{}", diagnosis.report);
    let what = told[0]["what"].as_str().unwrap();
    assert!(
        what.contains("catalog.toml:11: ") && what.contains("`timeout`"),
        "{what}"
    );
    assert!(told[1]["what"].as_str().unwrap().contains("[server.t]"));
    diagnosis.says("tool_good", "good", &["\"C\""]);
}

#[test]
fn a_schema_that_does_not_compile_is_told_with_its_line() {
    let entry =
        format!("{ECHO}result = {{ kind = \"metadata\", schema = {{ type = \"objekt\" }} }}\n");
    let diagnosis = planted("good", "", &entry);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says(
        "entry_unusable",
        "problem",
        &["catalog.toml:9: the JSON Schema does not compile"],
    );
}

#[test]
fn a_missing_catalog_and_one_that_is_no_toml_are_told() {
    let missing = root(&[]);
    fs::remove_file(missing.path.join("catalog.toml")).unwrap();
    examine(&missing, &[]).says("catalog_unusable", "problem", &["oneact init"]);
    let diagnosis = examine(&root(&["[server"]), &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("catalog_unusable", "problem", &["catalog.toml:2: "]);
}

#[test]
fn only_the_capabilities_that_are_named_are_examined() {
    let root = root(&[
        &server("good", ""),
        ECHO,
        "[server.t]\ncommand = [\"no-such-server\"]\n[capability.TOOL-1]\nmcp = { server = \"t\", tool = \"t\" }\n",
    ]);
    assert_eq!(examine(&root, &["C"]).exit, 0);
    assert_eq!(examine(&root, &["C", "TOOL-1"]).exit, 1);
    let unknown = examine(&root, &["TOOL-2"]);
    assert_eq!(unknown.exit, 1);
    unknown.says(
        "capability_unknown",
        "problem",
        &["did you mean TOOL-1?", "on the command line"],
    );
}

#[test]
fn a_storage_that_cannot_be_written_to_is_told() {
    // A file in the way stops root too.
    let in_the_way = root(&["[storage]\nuri = \"catalog.toml/assets\""]);
    let diagnosis = examine(&in_the_way, &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says(
        "store_unusable",
        "problem",
        &["catalog.toml", "[storage] uri"],
    );
    let elsewhere = root(&["[storage]\nuri = \"s3://bucket/assets\""]);
    examine(&elsewhere, &[]).says("store_unusable", "problem", &["s3://bucket"]);
}

#[test]
fn the_examination_leaves_no_asset_directory_behind() {
    let root = root(&[&server("good", ""), ECHO]);
    examine(&root, &[]);
    root.assert_untouched();
}

#[test]
fn a_state_directory_that_others_can_look_into_is_a_warning() {
    let root = root(&[]);
    let dir = root.path.join(".oneact");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    let diagnosis = examine(&root, &[]);
    assert_eq!(diagnosis.exit, 0);
    diagnosis.says("scratch_open", "warning", &["0755", "chmod 700"]);
}

#[test]
fn a_state_directory_that_cannot_be_used_is_a_problem() {
    let root = root(&[&server("good", ""), ECHO]);
    fs::write(root.path.join(".oneact"), "").unwrap();
    let diagnosis = examine(&root, &[]);
    assert_eq!(diagnosis.exit, 1);
    diagnosis.says("scratch_unusable", "problem", &["ONEACT_STATE_DIR"]);
}

#[test]
fn what_a_killed_run_left_is_told_and_cleared_away() {
    let root = root(&[]);
    let staging = root.path.join(".oneact/staging");
    fs::create_dir_all(staging.join("op_dead")).unwrap();
    let diagnosis = examine(&root, &[]);
    diagnosis.says("scratch_left_over", "warning", &["op_dead"]);
    assert!(!staging.join("op_dead").exists());
}

#[test]
fn ctrl_c_ends_the_examination_and_the_server_it_has_started() {
    let root = root(&[&server("silent", ""), ECHO]);
    let mut command = root.command();
    command.args(["doctor", "--json"]).stdin(Stdio::null());
    let child = command.spawn().unwrap();
    until("the server is greeted", || {
        let received = fs::read_to_string(root.path.join("received")).ok()?;
        received.contains("initialize").then_some(())
    });
    signal_child(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["verdict"], "interrupted");
    root.assert_untouched();
}

#[test]
fn people_get_marks_and_remedies_on_eighty_columns_and_no_colour_in_a_pipe() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"ecco\" }\n";
    let root = root(&[&server("noisy_start", ""), entry]);
    let output = root.command().arg("doctor").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&*output.stdout);
    let has = |start: &str| said.lines().any(|line| line.starts_with(start));
    assert!(
        has("✓ server s: ") && has("! server s: ") && has("✗ capability C: "),
        "{said}"
    );
    assert!(
        has("  | Loading model...") && has("  → did you mean `echo`?"),
        "{said}"
    );
    assert!(
        said.ends_with(
            "\nSomething is wrong. Problems: 1, warnings: 1.\nReady: 0 of 1 capabilities. Not ready: C. Tasks that name one of these fail\nuntil it is set up; all others run.\n"
        ),
        "{said}"
    );
    assert!(!said.contains('\x1b'));
    let wide = |line: &&str| line.chars().count() > 80 && line.trim().contains(' ');
    assert_eq!(said.lines().find(wide), None);
}

#[test]
fn a_program_that_a_tool_starts_and_is_not_there_is_named() {
    let entry = "[capability.C]\nmcp = { server = \"s\", tool = \"frame_extractor\" }\n";
    let served = |env: &str| {
        format!("[server.s]\ncommand = [\"{{self}}\", \"serve\", \"media-processing\"]\n{env}\n")
    };
    let whole = examine(&root(&[&served(""), entry]), &[]);
    assert_eq!(whole.all("program_missing").len(), 0, "{}", whole.report);
    let bare = examine(
        &root(&[&served("env = { PATH = \"/nowhere\" }"), entry]),
        &[],
    );
    assert_eq!((bare.exit, bare.all("program_missing").len()), (1, 2));
    for word in [
        "ffmpeg",
        "ffprobe",
        "install FFmpeg",
        "PATH=/nowhere",
        "problem",
    ] {
        let found = bare.all("program_missing");
        assert!(
            found.iter().any(|each| each.to_string().contains(word)),
            "{word}: {found:?}"
        );
    }
}

#[test]
fn the_shipped_entries_and_the_built_in_tools_say_the_same_of_their_effects() {
    let shipped = Root::with_catalog(include_str!("../../catalog.toml"));
    let ids = [
        "CAP-ACQ-002",
        "CAP-PRE-001",
        "CAP-PRE-002",
        "CAP-PRE-003",
        "CAP-PRE-004",
        "CAP-PRE-005",
        "CAP-DAT-003",
    ];
    let diagnosis = examine(&shipped, &ids);
    assert_eq!(
        diagnosis.all("effects_better").len(),
        0,
        "{}",
        diagnosis.report
    );
    assert_eq!(
        diagnosis.all("tool_good").len(),
        ids.len(),
        "{}",
        diagnosis.report
    );
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
    same.says("tool_pin", "good", &["as it was pinned", &pin]);

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

#[test]
fn a_ledger_that_runs_cannot_record_in_is_found_and_none_is_made() {
    let root = root(&[&server("good", ""), ECHO]);
    let fresh = examine(&root, &[]);
    assert_eq!(fresh.all("ledger_good"), Vec::<&Value>::new());
    let path = root.path.join(".oneact/ledger.db");
    assert!(!path.exists());
    let task = json!({"task_id": "t1", "capability_ids": ["C"], "parameters": {"text": "a"}});
    root.run(&task);
    assert!(path.exists());
    examine(&root, &[]).says(
        "ledger_good",
        "good",
        &["ledger.db can be read and written"],
    );
    let ledger = rusqlite::Connection::open(&path).unwrap();
    let newer = "PRAGMA user_version = 99; \
                 INSERT INTO schema_migrations VALUES (99, 'n', 'c', '9.0.0', '')";
    ledger.execute_batch(newer).unwrap();
    drop(ledger);
    let newer = examine(&root, &[]);
    newer.says(
        "ledger_unusable",
        "problem",
        &["a newer oneact wrote it", "$ONEACT_LEDGER"],
    );
    assert_eq!((newer.exit, &newer.report["not_ready"]), (1, &json!(["C"])));
    fs::write(&path, "no database ".repeat(1000)).unwrap();
    examine(&root, &[]).says("ledger_unusable", "problem", &["is no ledger"]);
}
