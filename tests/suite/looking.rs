//! `history`, `show` and `replay`: what people see of what was done, at 80 columns and as JSON.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink},
    thread,
};

use serde_json::{Value, json};

use crate::program::{Answer, Root, run};

/// What a command that only looks came to.
pub(crate) struct Seen {
    pub(crate) exit: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap()
    }

    fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}

impl Root {
    pub(crate) fn look(&self, args: &[&str]) -> Seen {
        let done = self.command().args(args).output().unwrap();
        Seen {
            exit: done.status.code().unwrap(),
            out: String::from_utf8(done.stdout).unwrap(),
            err: String::from_utf8(done.stderr).unwrap(),
        }
    }

    /// The run of that number: 20 seconds after the one before, so that nothing is too old.
    pub(crate) fn at(&self, number: u64, task: &Value) -> Answer {
        let mut command = self.command();
        let (minute, second) = (number * 20 / 60, number * 20 % 60);
        let clock = format!("2026-02-24T10:{minute:02}:{second:02}+00:00[UTC]");
        command.args(["run", "--clock", &clock, "--seed", &number.to_string()]);
        run(command, task.to_string().as_bytes())
    }

    fn asset(&self, name: &str) -> String {
        format!("{}/agent_outputs/assets/sess-1/{name}", self.path)
    }
}

/// A task of session `sess-1`.
pub(crate) fn dispatch(task: &str, capability: &str, input: &Value, expected: &[&str]) -> Value {
    json!({
        "dispatch": {
            "task_id": task, "action": "", "capability_ids": [capability], "attempt": 1,
            "input_refs_resolved": input, "output_refs_expected": expected,
        },
        "metadata": {"session_id": "sess-1", "request_id": "req-1"},
    })
}

pub(crate) fn download(task: &str, what: &str) -> Value {
    let uri = format!("https://example-source.com/{what}");
    let input = json!([{"ref_id": "src_1", "storage_uri": uri, "status": "reference"}]);
    dispatch(task, "CAP-ACQ-002", &input, &["store_1"])
}

fn stored(id: &str, path: &str) -> Value {
    json!([{"ref_id": id, "storage_uri": format!("file://{path}"), "status": "stored"}])
}

fn with(mut task: Value, name: &str, value: Value) -> Value {
    task["dispatch"][name] = value;
    task
}

/// A session in which about everything happens: a failure, its retry, a conversion, its reuse, a retry that
/// works with less, something that must not happen twice, and an input that changes.
pub(crate) fn eventful() -> Root {
    let root = Root::new();
    let convert = |task: &str| {
        let input = stored("store_1", &root.asset("store_1.mp4"));
        dispatch(task, "CAP-PRE-001", &input, &["derived_1"])
    };
    let keep = |task: &str| {
        let task = dispatch(task, "CAP-DAT-002", &json!([]), &[]);
        with(task, "parameters", json!({"target_path": "/a/report.txt"}))
    };
    let listen = dispatch(
        "音声認識タスク_5",
        "CAP-AUD-001",
        &stored("derived_1", &root.asset("derived_1.wav")),
        &["derived_2"],
    );
    assert_eq!(root.at(0, &download("task_1", "video")).exit, 75);
    assert_eq!(
        root.at(1, &with(download("task_1", "fox"), "attempt", json!(2)))
            .exit,
        0
    );
    assert_eq!(root.at(2, &convert("task_3")).exit, 0);
    assert_eq!(root.at(3, &convert("task_4")).exit, 0);
    assert_eq!(root.at(4, &with(listen, "attempt", json!(2))).exit, 0);
    assert_eq!(root.at(5, &keep("task_6")).exit, 0);
    assert_eq!(root.at(6, &keep("task_7")).exit, 0);
    let mut video = fs::read(root.asset("store_1.mp4")).unwrap();
    video.extend(b"more");
    fs::write(root.asset("store_1.mp4"), video).unwrap();
    assert_eq!(root.at(7, &convert("task_8")).exit, 0);
    root
}

#[test]
fn a_session_reads_well_at_80_columns() {
    let root = eventful();
    let seen = root.look(&["history", "--session", "sess-1", "--utc"]);
    assert_eq!((seen.exit, seen.err.as_str()), (0, ""));
    let expected = "\
session sess-1 · default · AGENT_AUTONOMOUS · 2026-02-24 · 8 steps
#  time      task               action       state        took  note
0  10:00:00  task_1             CAP-ACQ-002  failed      0.0 s  timeout,
                                                                recoverable
1  10:00:20  task_1²            CAP-ACQ-002  done        0.0 s  → store_1
2  10:00:40  task_3             CAP-PRE-001  done        0.0 s  → derived_1
3  10:01:00  task_4             CAP-PRE-001  reused      0.0 s  from #2
4  10:01:20  音声認識タスク_5²  CAP-AUD-001  done        0.0 s  adjusted
                                                                beam_size 1,
                                                                batch_size 8
                                                                → derived_2
5  10:01:40  task_6             CAP-DAT-002  done        0.0 s
6  10:02:00  task_7             CAP-DAT-002  suppressed  0.0 s  from #5
7  10:02:20  task_8             CAP-PRE-001  done        0.0 s  → derived_1
                                                                again:
                                                                input_changed
";
    assert_eq!(seen.out, expected);
    let few = root.look(&["history", "--session", "sess-1", "--utc", "--limit", "2"]);
    assert_eq!(few.lines().len(), 6, "{}", few.out);
    assert!(
        few.out.contains("6 earlier steps are not shown"),
        "{}",
        few.out
    );
    let found = root
        .look(&[
            "history",
            "--session",
            "sess-1",
            "--grep",
            "REPORT.txt",
            "--json",
        ])
        .json();
    let steps: Vec<&Value> = found["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["step_index"])
        .collect();
    assert_eq!(steps, [5, 6]);
    let none = root.look(&["history", "--grep", "nowhere"]);
    assert!(
        none.out.contains("no step contains `nowhere`"),
        "{}",
        none.out
    );
}

#[test]
fn why_a_step_ran_or_did_not_is_told_with_the_file_that_changed() {
    let root = eventful();
    let because = root.look(&["history", "--why", "task_8"]);
    let flat: Vec<&str> = because.out.split_whitespace().collect();
    let flat = flat.join(" ");
    for part in [
        "task_8 CAP-PRE-001 (#7) was performed although #2 has the same request, because an input has changed since \
         (input_changed)",
        "/store_1.mp4 28 kB ",
        " then, ",
        " now",
    ] {
        assert!(flat.contains(part), "{part}: {flat}");
    }
    // Wherever a line ends.
    let why = |step: &str| {
        let out = root.look(&["history", "--why", step]).out;
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let answered = why("3");
    assert!(answered.contains("repeated the answer of #2"), "{answered}");
    let once = why("task_7");
    assert!(once.contains("must not be performed twice"), "{once}");
    let retried = why("task_1");
    assert!(retried.contains("performed again after #0"), "{retried}");
}

#[test]
fn an_answer_is_shown_with_where_its_parameters_came_from_and_its_links() {
    let root = eventful();
    let shown = root.look(&["show", "2", "--utc"]);
    assert_eq!(shown.exit, 0, "{}", shown.err);
    // Wherever a line ends.
    let flat: Vec<&str> = shown.out.split_whitespace().collect();
    let flat = flat.join(" ");
    for part in [
        "CAP-PRE-001 format_converter @ media-processing done in 0.0 s",
        "default, task_3, attempt 1, 2026-02-24 10:00:40",
        "no such request had been performed in this session",
        "store_1.mp4 from store_1",
        "target_format wav",
        "derived_1 audio_track file://",
        "output_exists ✓",
        "reserved ",
        " · dispatched ",
        " · succeeded ",
        "again returned as #3",
    ] {
        assert!(flat.contains(part), "{part}: {}", shown.out);
    }
    let retry = root.look(&["show", "4"]).out;
    assert!(retry.contains("8   changed by this attempt"), "{retry}");
    let operation = root.look(&["show", "2", "--json"]).json()["step"]["operation_id"].clone();
    let operation = operation.as_str().unwrap();
    let by_id = root.look(&["show", operation, "--utc"]);
    assert_eq!(by_id.out, shown.out);
    let several = root.look(&["show", "op_"]);
    assert_eq!((several.exit, several.out.as_str()), (1, ""));
    assert!(
        several.err.contains("the beginning of several ids"),
        "{}",
        several.err
    );
    let unknown = root.look(&["show", "op_ZZ"]);
    assert_eq!(unknown.exit, 1);
    assert!(
        unknown.err.contains("begins with `op_ZZ`"),
        "{}",
        unknown.err
    );
}

#[test]
fn the_stored_answer_is_printed_byte_for_byte_and_the_session_with_every_decision_r_004_59() {
    let root = eventful();
    let stored = root.look(&["replay", "2"]).out;
    assert_eq!(root.look(&["replay", "3"]).out, stored);
    let session = root.look(&["replay"]);
    assert!(
        session
            .out
            .contains(&format!("\"response\":{}", stored.trim_end()))
    );
    let session = session.json();
    let decided: Vec<&str> = session["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["decision"]["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        decided,
        [
            "new",
            "retry",
            "new",
            "reused",
            "new",
            "new",
            "suppressed",
            "input_changed"
        ]
    );
    let last = &session["steps"][7];
    assert_eq!(last["request"]["actionId"], "CAP-PRE-001");
    assert_eq!(last["decision"]["about"]["step_index"], 2);
    let events: Vec<&Value> = last["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| &link["event"])
        .collect();
    assert_eq!(events, ["reserved", "dispatched", "succeeded"]);
}

#[test]
fn what_is_printed_as_json_fits_its_schema() {
    let root = eventful();
    let schema: Value = serde_json::from_str(&root.look(&["schema", "ledger"]).out).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for args in [
        ["history", "--json"].as_slice(),
        &["history", "--session", "sess-1", "--json"],
        &["sessions", "--json"],
        &["history", "--why", "task_8", "--json"],
        &["show", "0", "--json"],
        &["replay"],
        &["replay", "4", "--json"],
        &["replay", "2", "--execute", "--json"],
        &["replay", "5", "--execute", "--json"],
    ] {
        let seen = root.look(args);
        let problems: Vec<String> = schema
            .iter_errors(&seen.json())
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(problems, Vec::<String>::new(), "{args:?}");
    }
}

#[test]
fn a_step_done_again_comes_out_the_same_or_otherwise_and_nothing_happens_twice() {
    let root = eventful();
    let same = root.look(&["replay", "4", "--execute"]);
    assert_eq!(same.exit, 0, "{}{}", same.out, same.err);
    assert!(
        same.out.contains(
            "CAP-AUD-001 is idempotent; it was performed again in the session\n  replay-"
        ),
        "{}",
        same.out
    );
    assert!(same.out.ends_with("differs: nothing\n"), "{}", same.out);
    let refused = root.look(&["replay", "5", "--execute"]);
    let sentence = "refused: CAP-DAT-002 has effects and is not idempotent, so replay never\n  performs it again.\n";
    assert_eq!((refused.exit, refused.out.as_str()), (2, sentence));
    // What it makes now is another file.
    let catalog = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    let catalog = catalog.replace("tool = \"video_downloader\"", "tool = \"format_converter\"");
    let catalog = catalog.replacen(
        "defaults = { format = \"mp4\" }",
        "defaults = { target_format = \"mp3\" }",
        1,
    );
    fs::write(root.path.join("catalog.toml"), catalog).unwrap();
    let otherwise = root.look(&["replay", "1", "--execute"]);
    assert_eq!(otherwise.exit, 1, "{}{}", otherwise.out, otherwise.err);
    assert!(otherwise.out.contains("differs: "), "{}", otherwise.out);
    // The session that was looked at is still the last one.
    let document = root.look(&["replay"]).json();
    assert_eq!(document["session"]["session_id"], "sess-1");
    assert_eq!(document["session"]["steps"], 8);
}

#[test]
fn looking_makes_no_ledger() {
    let root = Root::new();
    for (args, exit) in [
        (["history"].as_slice(), 1),
        (&["show", "0"], 1),
        (&["replay"], 1),
        // Where a tool was to be called, 1 would say that it came out otherwise.
        (&["replay", "0", "--execute"], 2),
    ] {
        let seen = root.look(args);
        assert_eq!((seen.exit, seen.out.as_str()), (exit, ""), "{args:?}");
        assert!(seen.err.contains("there is no ledger at"), "{}", seen.err);
    }
    assert!(!root.path.join(".oneact").exists());
}

#[test]
fn a_page_goes_into_what_its_name_stands_for() {
    let root = Root::new();
    root.at(0, &download("task_1", "fox"));
    let wrote = |file: &str| root.look(&["replay", "--html", file]);
    let page = |file: &str| fs::read_to_string(root.path.join(file)).unwrap();
    assert!(wrote("page.html").out.starts_with("Wrote "));
    let whole = page("page.html");
    assert!(whole.starts_with("<!doctype html>"));
    // Nothing else stands in what is printed.
    assert_eq!(wrote("/dev/stdout").out, whole);
    symlink("real.html", root.path.join("link.html")).unwrap();
    for _ in 0..2 {
        assert_eq!(wrote("link.html").exit, 0);
        let link = fs::read_link(root.path.join("link.html")).unwrap();
        assert_eq!(link.to_str(), Some("real.html"));
        assert_eq!(page("real.html"), whole);
        fs::write(root.path.join("real.html"), "old").unwrap();
    }
    let pipe = root.path.join("pipe");
    let made = root.within("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let read = thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read_to_string(&pipe).unwrap());
        assert_eq!(wrote("pipe").exit, 0);
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        reader.join().unwrap()
    });
    assert_eq!(read, whole);
    assert_eq!(wrote("/dev/null").exit, 0);
    let null = fs::metadata("/dev/null").unwrap();
    assert!(null.file_type().is_char_device());
}

#[test]
fn a_session_that_is_not_there_names_the_last_one() {
    let root = Root::new();
    root.at(0, &download("task_1", "fox"));
    let seen = root.look(&["history", "--session", "sess-2"]);
    assert_eq!(seen.exit, 1);
    assert!(
        seen.err
            .contains("no session `sess-2`; the last one that was used is `sess-1`"),
        "{}",
        seen.err
    );
    let seen = root.look(&["show", "7"]);
    assert!(
        seen.err.contains("has no step 7; its only step is 0"),
        "{}",
        seen.err
    );
}

#[test]
fn what_was_pruned_is_said_to_be() {
    let root = Root::new();
    root.at(0, &download("task_1", "fox"));
    assert_eq!(root.look(&["prune", "--older", "2d"]).exit, 0);
    let answer = root.look(&["replay", "0"]);
    assert_eq!((answer.exit, answer.out.as_str()), (1, ""));
    assert!(
        answer.err.contains("the answer of #0 was pruned"),
        "{}",
        answer.err
    );
    let history = root.look(&["history", "--session", "sess-1"]).out;
    assert!(history.contains("→ store_1; pruned"), "{history}");
    assert!(
        root.look(&["show", "0"])
            .out
            .contains("their hashes remain")
    );
    assert_eq!(
        root.look(&["replay"]).json()["steps"][0]["response"],
        Value::Null
    );
    let refused = root.look(&["replay", "0", "--execute"]);
    assert_eq!(refused.exit, 2);
    assert!(
        refused.out.starts_with("refused: the request was pruned"),
        "{}",
        refused.out
    );
}

/// A ledger with one row of before oneact, of that session and moment.
pub(crate) fn before_oneact(session: &str, timestamp: &str) -> Root {
    let root = Root::new();
    fs::create_dir(root.path.join(".oneact")).unwrap();
    let ledger = rusqlite::Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    ledger
        .execute_batch(
            "CREATE TABLE agent_actions (id TEXT PRIMARY KEY, agent_name TEXT, action_type TEXT, target_type TEXT,
               target_id TEXT, outcome TEXT, payload TEXT, confidence_score REAL, session_id TEXT, timestamp TEXT);",
        )
        .unwrap();
    ledger
        .execute(
            "INSERT INTO agent_actions VALUES ('h-1', 'planner', 'findUser', 'profile', NULL, 'success',
               '{\"success\": true }', 0.5, ?1, ?2)",
            [session, timestamp],
        )
        .unwrap();
    root
}

#[test]
fn what_old_rows_hold_for_a_moment_is_text_on_the_page_and_at_the_terminal() {
    let root = before_oneact("sess-1", "<meta http-equiv=refresh content=0>\u{1b}[2J");
    root.at(0, &download("task_1", "fox"));
    for args in [["history"].as_slice(), &["show", "0"]] {
        let seen = root.look(args).out;
        assert!(
            seen.contains("^[[2J") && !seen.contains('\u{1b}'),
            "{seen:?}"
        );
    }
    assert_eq!(root.look(&["replay", "--html", "page.html"]).exit, 0);
    let page = fs::read_to_string(root.path.join("page.html")).unwrap();
    assert!(
        page.contains("&lt;meta http-equiv=refresh") && !page.contains("<meta http-equiv=refresh")
    );
}

#[test]
fn steps_of_before_oneact_are_history() {
    let root = before_oneact("sess-1", "2025-01-01T00:00:00Z");
    root.at(0, &download("task_1", "fox"));
    let seen = root.look(&["history", "--utc", "--json"]).json();
    assert_eq!(seen["steps"][0]["state"], Value::Null);
    let table = root.look(&["history", "--session", "sess-1", "--utc"]).out;
    assert!(
        table.contains("findUser") && table.contains("before oneact"),
        "{table}"
    );
    assert_eq!(root.look(&["replay", "0"]).out, "{\"success\": true }\n");
    let why = root.look(&["history", "--why", "0"]).out;
    assert!(why.contains("recorded before oneact"), "{why}");
    let refused = root.look(&["replay", "0", "--execute"]);
    assert_eq!(refused.exit, 2);
}

#[test]
fn a_ledger_that_may_not_be_read_is_not_said_to_be_missing() {
    let root = Root::new();
    root.run(&download("task-1", "normal.mp4"));
    for (closed, place) in [
        (".oneact/ledger.db", ".oneact/ledger.db"),
        (".oneact", ".oneact/ledger.db"),
        ("elsewhere", "elsewhere/ledger.db"),
    ] {
        let path = root.path.join(closed);
        if closed == "elsewhere" {
            fs::create_dir(&path).unwrap();
        }
        for args in [&["history"][..], &["show", "0"], &["verify"]] {
            let mut command = root.as_nobody();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
            command.args(args).env("ONEACT_LEDGER", place);
            let done = command.output().unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            let expected = format!("{place} cannot be read: ");
            assert!(said.contains(&expected), "{args:?}: {said}");
            assert!(said.contains("Permission denied"), "{args:?}: {said}");
            assert!(matches!(done.status.code(), Some(1 | 2)), "{args:?}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn the_steps_of_several_years_are_listed_with_their_years() {
    let root = Root::new();
    let listed = |days: &[&str]| {
        for day in days {
            let mut command = root.command();
            let clock = format!("{day}T10:00:00+00:00[UTC]");
            command.args(["run", "--clock", &clock, "--seed", &day.replace('-', "")]);
            run(command, download(day, "normal.mp4").to_string().as_bytes());
        }
        root.look(&["history", "--session", "sess-1", "--utc"]).out
    };
    let year = listed(&["2026-02-20", "2026-02-21"]);
    assert!(year.contains("\n1  02-21 10:00:00  "), "{year}");
    let years = listed(&["2027-02-20"]);
    assert!(years.contains("\n1  2026-02-21 10:00:00  "), "{years}");
    assert!(years.contains("\n2  2027-02-20 10:00:00  "), "{years}");
}
