//! Servers that misbehave, each in one way (`tests/servers/rogues`), and what has to come of a run:
//! its fault within its limit, one envelope, and nothing left. A row is a test; the name of the row
//! is that of the mode.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt,
    process::Stdio,
    sync::{LazyLock, mpsc},
    thread,
    time::Duration,
};

use camino::Utf8Path;
use jsonschema::Validator;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Answer, Root, signal};

/// No row has a limit of more than four seconds unless it ends by itself at once, and no server ends
/// by itself within minutes: a run that takes longer than this hangs. A fast one takes a second.
const LONGEST: Duration = Duration::from_secs(25);

/// No envelope is longer, whatever a server says.
const ENVELOPE: usize = 16_000;

/// What every server is told and nobody else may learn.
const KEY: &str = "rogue-key-4711";

/// Nothing has to be asked for before the call.
const CALLED: &str = "parameter_schema_for_action = { type = 'object' }";
/// Progress keeps it alive, up to an end.
const PROGRESS: &str = "
    parameter_schema_for_action = { type = 'object' }
    timeout     = '2s'
    timeout_max = '3s'";
/// The server's own schema is asked for.
const LISTED: &str = "";
/// The call is to make a file.
const ASSET: &str = "
    bind   = { output_path = 'output.path' }
    result = { kind = 'asset', asset_type = 'transcript', format = 'text' }
    parameter_schema_for_action = { type = 'object' }";

/// It may name any file as its asset.
const ANY_FILE: &str = "files = ['/']";

/// One server's run.
struct Row {
    /// Lines of `[server.rogue]`.
    server: &'static str,
    /// Lines of `[capability.CAP-X]`.
    entry: &'static str,
    /// Bytes of a parameter.
    padding: usize,
    wanted: Wanted,
}

enum Wanted {
    Done {
        noise: u64,
    },
    Failed {
        exit: i32,
        fault: &'static str,
        effect: &'static str,
        /// In `error_message`.
        says: &'static str,
    },
}

const fn row(entry: &'static str, wanted: Wanted) -> Row {
    Row {
        server: "",
        entry,
        padding: 0,
        wanted,
    }
}

const fn done() -> Row {
    noisy(0)
}

/// Done, with so many lines on stdout that are no messages.
const fn noisy(noise: u64) -> Row {
    row(CALLED, Wanted::Done { noise })
}

const fn failed(
    entry: &'static str,
    exit: i32,
    fault: &'static str,
    effect: &'static str,
    says: &'static str,
) -> Row {
    let wanted = Wanted::Failed {
        exit,
        fault,
        effect,
        says,
    };
    row(entry, wanted)
}

/// Not there, or gone: worth another try.
const fn unreachable(effect: &'static str, says: &'static str) -> Row {
    failed(CALLED, 75, "server_unreachable", effect, says)
}

/// Something that another try does not change.
const fn wrong(entry: &'static str, effect: &'static str, says: &'static str) -> Row {
    failed(entry, 1, "tool_error", effect, says)
}

/// Too late to be ready.
const fn not_ready(says: &'static str) -> Row {
    let mut row = failed(CALLED, 75, "timeout", "none", says);
    row.server = "startup_timeout = '1s'";
    row
}

/// The same, with time to start and to say something first.
const fn not_ready_but_loud(says: &'static str) -> Row {
    let mut row = not_ready(says);
    row.server = "startup_timeout = '4s'";
    row
}

/// Too late to answer.
const fn late(effect: &'static str, says: &'static str) -> Row {
    const LIMITS: &str = "
        parameter_schema_for_action = { type = 'object' }
        timeout     = '400ms'
        timeout_max = '9s'";
    failed(LIMITS, 75, "timeout", effect, says)
}

/// The call ends well, the asset is not.
const fn bad_asset(fault: &'static str, says: &'static str) -> Row {
    failed(ASSET, 75, fault, "done", says)
}

/// A file that its server may not name.
const fn not_its_place() -> Row {
    let says = "where its server may not name files";
    failed(ASSET, 1, "output_missing", "done", says)
}

/// A link is not followed, wherever it leads, and nothing but a regular file is read.
const fn no_file(says: &'static str) -> Row {
    failed(ASSET, 1, "output_missing", "done", says)
}

/// A command that is none: nothing runs.
const fn no_server(command: &'static str, says: &'static str) -> Row {
    let mut row = failed(CALLED, 1, "server_not_found", "none", says);
    row.server = command;
    row
}

/// The system has a shell try it, which fails.
const fn garbage() -> Row {
    let says = "before it was ready (stderr: ";
    let mut row = failed(CALLED, 1, "server_not_found", "none", says);
    row.server = "command = ['./garbage']";
    row
}

impl Row {
    const fn padded(mut self, bytes: usize) -> Self {
        self.padding = bytes;
        self
    }

    const fn on(mut self, server: &'static str) -> Self {
        self.server = server;
        self
    }

    const fn with(mut self, entry: &'static str) -> Self {
        self.entry = entry;
        self
    }

    fn catalog(&self, mode: &str) -> String {
        let command = if self.server.contains("command") {
            String::new()
        } else {
            format!("command = ['python3', '-SB', 'servers/rogues', '{mode}']")
        };
        let Self { server, entry, .. } = self;
        format!(
            "catalog = 1\n\
             [server.rogue]\n{command}\nenv_pass = ['ROGUE_KEY']\n{server}\n\
             [capability.CAP-X]\neffects = {{ idempotent = true }}\n\
             mcp = {{ server = 'rogue', tool = 'act' }}\n{entry}\n"
        )
    }

    fn task(&self) -> Value {
        let asset = self.entry == ASSET;
        json!({
            "dispatch": {
                "task_id": "task_1", "action": "", "capability_ids": ["CAP-X"], "attempt": 1,
                "output_refs_expected": if asset { vec!["derived_1"] } else { Vec::new() },
                "parameters": { "padding": "x".repeat(self.padding) },
            },
            "metadata": {"session_id": "sess-1"},
        })
    }
}

/// A test for each row, and their names.
macro_rules! rows {
    ($names:ident: $($mode:ident: $row:expr;)*) => {
        const $names: &[&str] = &[$(stringify!($mode)),*];
        $(#[test] fn $mode() { check(stringify!($mode), &$row); })*
    };
}

rows! { COMMANDS:
    a_program_that_is_not_there: no_server("command = ['no-such-server']", "no such program");
    a_program_that_may_not_run: no_server("command = ['./plain']", "it is not executable");
    a_program_that_is_a_directory: no_server("command = ['{root}']", "it is not executable");
    a_script_without_its_interpreter: no_server("command = ['./script']", "its `#!` line names none");
    a_file_that_is_no_program: garbage();
    a_directory_that_is_not_there: no_server("command = ['sh']\ncwd = 'nowhere'", "is not there");
}

rows! { MODES:
    works: done();

    // Before the handshake.
    exits_with_a_reason: failed(CALLED, 1, "server_not_found", "none", "ended with exit code 1 before it was ready (stderr: cannot start: no licence)");
    exits_without_a_word: unreachable("none", "ended with exit code 0 before it was ready");
    is_killed_at_its_start: unreachable("none", "signal 9 (SIGKILL) before it was ready");
    goes_to_the_background: unreachable("none", "ended with exit code 0 before it was ready");
    closes_its_stdout: unreachable("none", "closed its pipes, before it was ready");
    closes_its_stdin: not_ready("not ready after 1 s");
    never_listens: not_ready("not ready after 1 s");
    stops_itself: not_ready("not ready after 1 s");
    prints_without_end_at_its_start: not_ready_but_loud("no MCP message: Loading weights");
    boots_slowly: done();
    prints_a_banner: noisy(5);
    fills_stderr_at_its_start: done();

    // The handshake.
    never_answers_initialize: not_ready("not ready after 1 s");
    frames_like_a_language_server: not_ready_but_loud("no MCP message: Content-Length: ");
    answers_initialize_with_another_id: not_ready("not ready after 1 s");
    answers_initialize_with_null: wrong(CALLED, "none", "its `result` is null");
    answers_initialize_with_a_list: wrong(CALLED, "none", "its `result` is no handshake result: [");
    names_a_number_as_its_version: wrong(CALLED, "none", "its `result` is no handshake result: {");
    names_a_version_of_the_future: wrong(CALLED, "none", "it wants `2099-01-01`");
    refuses_both_eras: wrong(CALLED, "none", "the database is down");
    dies_of_discovery: unreachable("none", "exit code 6 before it was ready");
    dies_once_it_has_greeted: unreachable("none", "before it was ready");
    closes_its_stdin_once_it_has_greeted: unreachable("none", "closed its pipes, before it was ready");
    stops_reading_once_it_has_greeted: late("none", "idle limit of 0.4 s").padded(1 << 20);
    answers_initialize_twice: done();
    asks_before_it_greets: done();
    answers_before_it_is_asked: done();

    // Tools.
    has_no_such_tool: wrong(LISTED, "none", "has no tool `act`, but `akt`");
    lists_tools_without_end: wrong(LISTED, "none", "more than 100 pages");
    lists_null: wrong(LISTED, "none", "broke the protocol in its answer to `tools/list`");
    has_a_schema_that_explodes: wrong(LISTED, "none", "takes more than 1s, the time limit of the call").with("timeout = '1s'");
    has_a_schema_elsewhere: wrong(LISTED, "none", "schemas are not fetched");
    has_a_list_for_a_schema: wrong(LISTED, "none", "cannot be used");
    has_a_schema_that_nothing_fits: failed(LISTED, 1, "params_invalid", "none", "do not fit its input schema");
    says_the_tool_is_unknown: wrong(CALLED, "done", "error -32602: Unknown tool: act");

    // More than anybody reads.
    greets_with_a_megabyte: wrong(CALLED, "none", "its greeting has 1048");
    has_a_name_of_pages: done();
    refuses_in_pages: wrong(CALLED, "none", "yyy");
    names_a_version_of_pages: wrong(CALLED, "none", "it wants `yyy");
    has_a_schema_of_a_megabyte: wrong(LISTED, "none", "what it says of its tool `act` has 1048");
    has_a_large_tool_beside_it: done().with(LISTED);
    lists_megabytes: wrong(LISTED, "none", "its list of tools has");
    lists_megabytes_page_by_page: wrong(LISTED, "none", "its list of tools has");
    lists_a_million_nothings: wrong(LISTED, "none", "broke the protocol in its answer to `tools/list`");
    has_names_of_pages: wrong(LISTED, "none", "has no tool `act`;");
    fails_with_a_megabyte: wrong(CALLED, "done", "error -32000: xxx");
    fails_with_a_megabyte_of_data: wrong(CALLED, "done", "error -32000: too much");
    tells_of_its_progress_in_a_megabyte: done();
    notifies_in_megabytes: done();
    asks_with_a_megabyte: wrong(CALLED, "unknown", "a request of its own has 1048");
    asks_in_pages: failed(CALLED, 1, "input_required", "done", "yyy");
    wants_a_megabyte_of_input: wrong(CALLED, "unknown", "which the older era does not have");
    answers_in_too_many_blocks: wrong(CALLED, "unknown", "more than 10000 content blocks");
    answers_in_large_blocks_of_no_kind: done();
    answers_two_results_of_megabytes: wrong(CALLED, "unknown", "duplicate field `result`");

    // No answer.
    never_answers: late("unknown", "idle limit of 0.4 s");
    stops_itself_when_called: late("unknown", "idle limit of 0.4 s");
    answers_late: late("unknown", "idle limit of 0.4 s");
    reports_progress_without_end: late("unknown", "time limit of 3 s").with(PROGRESS);
    notifies_without_end: late("unknown", "idle limit of 0.4 s");
    asks_and_listens_without_end: wrong(CALLED, "unknown", "more than 10000 requests");
    complains_without_end: late("unknown", "idle limit of 0.4 s");
    answers_somebody_else: late("unknown", "idle limit of 0.4 s");
    answers_in_a_batch: late("unknown", "no MCP message: [{");
    answers_in_several_lines: late("unknown", "no MCP message: {");
    answers_in_utf_16: late("unknown", "no MCP message");
    ends_no_line: late("unknown", "idle limit of 0.4 s");
    exits_when_called: unreachable("unknown", "exit code 4 during `tools/call` (stderr: fatal: the model is missing)");
    exits_well_when_called: unreachable("unknown", "exit code 0 during `tools/call`");
    segfaults_when_called: unreachable("unknown", "signal 11 (SIGSEGV) during `tools/call`");
    dies_in_its_answer: unreachable("unknown", "exit code 4 during `tools/call`");
    closes_its_stdout_when_called: unreachable("unknown", "closed its pipes, during `tools/call`");
    sends_more_than_fits: wrong(CALLED, "unknown", "a line of more than 67108864 bytes");
    prints_one_endless_line: wrong(CALLED, "unknown", "a line of more than 67108864 bytes");

    // Odd answers.
    answers_nan: done();
    answers_in_latin_1: wrong(CALLED, "unknown", "it is not UTF-8");
    answers_half_a_surrogate_pair: wrong(CALLED, "unknown", "its `result` is no tool result");
    answers_half_a_pair_in_text: wrong(CALLED, "unknown", "its `result` is no tool result");
    answers_null: wrong(CALLED, "unknown", "its `result` is null");
    answers_a_list: wrong(CALLED, "unknown", "its `result` is not an object");
    answers_nothing: wrong(CALLED, "unknown", "neither `result` nor `error`");
    answers_content_that_is_text: wrong(CALLED, "unknown", "its `result` is no tool result");
    answers_with_a_word_as_its_error: wrong(CALLED, "unknown", "its `error` is no JSON-RPC error");
    answers_with_a_word_as_its_code: wrong(CALLED, "unknown", "its `error` is no JSON-RPC error");
    answers_two_results: wrong(CALLED, "unknown", "duplicate field `result`");
    answers_too_deep: wrong(CALLED, "unknown", "recursion limit exceeded");
    makes_a_task_of_it: wrong(CALLED, "unknown", "its `resultType` is `task`");
    asks_for_input_unbidden: wrong(CALLED, "unknown", "which the older era does not have");
    asks_while_it_is_called: failed(CALLED, 1, "input_required", "done", "Your name?");
    fails_and_says_so: wrong(CALLED, "done", "cannot open the file");
    fails_without_a_word: wrong(CALLED, "done", "said nothing about it");
    fails_in_its_data: wrong(CALLED, "done", "the disk is on fire");
    fails_with_its_key: wrong(CALLED, "done", "bad key ***");

    // Odd, and good all the same.
    tells_its_key: done();
    answers_an_empty_object: done();
    answers_with_an_error_of_null: done();
    answers_the_same_key_twice: done();
    answers_a_number_no_float_holds: done();
    answers_far_too_deep: done();
    answers_twice: done();
    answers_without_a_last_newline: done();
    answers_byte_by_byte: done();
    answers_with_carriage_returns: done();
    prints_before_it_answers: noisy(5);
    prints_on_the_line_of_its_answer: noisy(1);
    prints_after_its_answer: done();
    fills_stderr_when_called: done();

    // Processes.
    leaves_a_child_that_holds_the_pipes: done();
    dies_while_a_child_holds_the_pipes: unreachable("unknown", "exit code 5 during `tools/call`");
    leaves_a_child_of_another_session: done();
    leaves_daemons: done();
    leaves_a_child_that_ignores_sigterm: done();
    begets_when_told_to_end: done();
    begets_without_end: done();
    moves_to_another_process_group: done();
    changes_its_title: done();
    ignores_eof: done();
    ignores_eof_and_sigterm: done();
    stops_itself_after_its_answer: done();
    ends_badly_after_its_answer: done();

    // Assets.
    makes_no_file: bad_asset("output_missing", "gave no asset for derived_1");
    makes_an_empty_file: bad_asset("output_empty", "is empty");
    makes_a_directory: bad_asset("output_missing", "no regular file");
    makes_a_link_to_a_file: bad_asset("output_missing", "no regular file");
    makes_a_link_to_itself: bad_asset("output_missing", "no regular file");
    makes_a_fifo: bad_asset("output_missing", "no regular file");
    makes_a_device: bad_asset("output_missing", "no regular file");
    makes_another_format: bad_asset("output_format", "is corrupt or incomplete UTF-8 text");
    removes_its_directory: bad_asset("output_missing", "replaced its TMPDIR");
    locks_its_directory: bad_asset("output_missing", "gave no asset for derived_1");
    makes_a_link_of_its_directory: bad_asset("output_missing", "replaced its TMPDIR");
    names_a_file_that_is_not_there: bad_asset("output_missing", "No such file").on(ANY_FILE);
    names_a_file_of_the_root: not_its_place();
    names_a_file_that_it_may: done().on("files = ['.']").with(ASSET);
    names_a_file_of_the_system: not_its_place();
    names_a_file_that_is_not_there_elsewhere: not_its_place();
    names_the_record: not_its_place().on(ANY_FILE);
    names_the_record_by_another_way: not_its_place().on(ANY_FILE);
    names_its_environment: bad_asset("output_missing", "lies on no disk").on(ANY_FILE);
    names_a_device: no_file("`/dev/zero` is not a regular file").on(ANY_FILE);
    names_a_directory: not_its_place();
    names_a_link_that_leads_out: no_file("is a symbolic link").on("files = ['.']");
    names_a_link_in_its_directory: no_file("is a symbolic link");
    names_a_page: bad_asset("output_missing", "which is not on this machine");
}

#[test]
fn every_misbehaviour_has_its_row() {
    let root = Root::new();
    let output = root
        .within("python3")
        .args(["-SB", "servers/rogues"])
        .output();
    let printed = String::from_utf8(output.unwrap().stdout).unwrap();
    let known: BTreeSet<&str> = printed.lines().collect();
    assert_eq!(known, MODES.iter().copied().collect());
    assert!(MODES.len() + COMMANDS.len() > 100);
}

fn check(mode: &str, row: &Row) {
    let root = Root::with_catalog(&row.catalog(mode));
    for (name, bytes, permissions) in [
        ("plain", &b"#!/bin/sh\n"[..], 0o644),
        ("script", b"#!/no/such/interpreter\n", 0o755),
        ("garbage", b"\x00\x01\x02\x03", 0o755),
    ] {
        fs::write(root.path.join(name), bytes).unwrap();
        let permissions = fs::Permissions::from_mode(permissions);
        fs::set_permissions(root.path.join(name), permissions).unwrap();
    }
    let answer = within_its_limits(&root, &row.task());
    let left = left(&root);
    assert!(left.is_empty(), "processes are left:\n{left}");
    assert_eq!(root.scratch().next(), None, "scratch is left");
    fits(&answer);
    let line = answer.envelope.to_string();
    let most = ENVELOPE + 2 * row.padding;
    assert!(line.len() < most, "an envelope of {} bytes", line.len());
    assert!(
        !line.contains(KEY) && !answer.stderr.contains(KEY),
        "{line}\n{}",
        answer.stderr
    );

    let effect = answer.at("/output/content/oneact/effect");
    let error = answer.at("/error/error_message");
    match row.wanted {
        Wanted::Done { noise } => {
            assert_eq!(
                (answer.exit, answer.state()),
                (0, &json!("done")),
                "{error}"
            );
            assert_eq!(effect, "done");
            let seen = answer.at("/output/content/oneact/server/stdout_noise");
            // What comes beside or after the answer may be seen or not.
            assert!(seen.as_u64() >= Some(noise), "{seen} lines of noise");
        }
        Wanted::Failed {
            exit,
            fault,
            effect: wanted,
            says,
        } => {
            assert_eq!(
                (answer.exit, answer.fault()),
                (exit, &json!(fault)),
                "{error}"
            );
            assert_eq!(effect, wanted, "{error}");
            assert!(error.as_str().unwrap().contains(says), "{error}");
            assert!(
                !root.path.join("agent_outputs").exists(),
                "an asset is stored"
            );
        }
    }
}

/// Runs to its end. A run that hangs is killed, so that its test ends too.
fn within_its_limits(root: &Root, task: &Value) -> Answer {
    let mut command = root.command();
    let input = root.path.join("task.json");
    fs::write(&input, task.to_string()).unwrap();
    command.env("ROGUE_KEY", KEY);
    command.stdin(Stdio::from(fs::File::open(input).unwrap()));
    let child = command.spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let (sender, ended) = mpsc::channel();
    let waiting = thread::spawn(move || sender.send(child.wait_with_output()));
    let output = ended.recv_timeout(LONGEST).unwrap_or_else(|_| {
        signal(pid, Signal::KILL);
        panic!("the run hangs; beside it are:\n{}", left(root));
    });
    waiting.join().unwrap().unwrap();
    Answer::of(output.unwrap())
}

fn fits(answer: &Answer) {
    static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
        let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/envelope.schema.json");
        let schema = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let errors: Vec<String> = SCHEMA
        .iter_errors(&answer.envelope)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Who still lives of a run: all that work in its root or were told of it, all that the servers
/// wrote down, and all of their process groups and sessions.
fn left(root: &Root) -> String {
    let known = fs::read_to_string(root.path.join("processes")).unwrap_or_default();
    let known: Vec<(&str, &str)> = known
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    let near = root.processes();
    let mut left = String::new();
    for dir in Utf8Path::new("/proc").read_dir_utf8().unwrap().flatten() {
        let pid = dir.file_name();
        let Ok(stat) = fs::read_to_string(dir.path().join("stat")) else {
            continue;
        };
        // The name, in brackets, may hold anything (proc(5)).
        let Some((name, fields)) = stat.rsplit_once(") ") else {
            continue;
        };
        let fields: Vec<&str> = fields.split(' ').collect();
        let (state, group, session, start) = (fields[0], fields[2], fields[3], fields[19]);
        let noted = known.contains(&(pid, start));
        let kin = known.iter().any(|(id, _)| *id == group || *id == session);
        let near = pid.parse().is_ok_and(|pid| near.contains(&pid));
        if state != "Z" && (noted || kin || near) {
            writeln!(
                left,
                "{name}), state {state}, group {group}, session {session}"
            )
            .unwrap();
        }
    }
    left
}
