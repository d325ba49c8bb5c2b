//! Plans with queries and pipelines, from outside.

use std::{
    fs,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use camino::Utf8Path;
use nix::errno::Errno;
use serde_json::{Value, json};

use crate::{
    crash::{lab::all, say},
    installed::installed,
    program::{Answer, Root, feed, fresh, run, until},
    tracer::{Act, Call, Follow, is_refused, nth, traced, traced_with},
};

const LIBRARY: &str = "duckdb_1.5.6/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so";

const CATALOG: &str = r#"catalog = 1
[pipeline.etl]
description = "Copies a file, and takes a moment"
command = ["/bin/sh", "-c", "cat *.txt > out/copy.csv; sleep 0.05; echo done > out/done.txt"]
writes = ["out/**"]

[pipeline.counts]
command = ["/bin/sh", "-c", "echo ran >> out/count.txt"]
writes = ["out/**"]

[pipeline.counts_and_fails]
command = ["/bin/sh", "-c", "echo ran >> out/count.txt; exit 3"]
writes = ["out/**"]

[pipeline.fails]
description = "Writes, and fails"
command = ["/bin/sh", "-c", "echo left > out/left.txt; exit 3"]
writes = ["out/**"]
"#;

fn root() -> Root {
    let root = Root::with_catalog(CATALOG);
    for (name, text) in [
        ("a.txt", "n\n1\n"),
        ("in.csv", "n\n7\n"),
        (
            "load.sql",
            "insert into numbers select n from read_csv('in.csv', columns = {'n': 'INTEGER'})",
        ),
        (
            "export.sql",
            "select n from numbers union all select n from read_csv('out/copy.csv', columns = {'n': 'INTEGER'}) order by n",
        ),
    ] {
        fs::write(root.path.join(name), text).unwrap();
    }
    assert_eq!(
        engine(
            &root,
            &[
                "numbers.duckdb",
                "-c",
                "create table numbers as select 1 as n"
            ]
        ),
        ""
    );
    root
}

/// DuckDB's own program.
fn engine(root: &Root, arguments: &[&str]) -> String {
    let output = Command::new(installed("duckdb_python/bin/duckdb"))
        .args(arguments)
        .current_dir(&root.path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn numbers(root: &Root) -> String {
    engine(
        root,
        &[
            "-readonly",
            "-csv",
            "-noheader",
            "numbers.duckdb",
            "-c",
            "select n from numbers order by n",
        ],
    )
}

fn command(root: &Root) -> Command {
    let mut command = root.command();
    command.env("ONEACT_DUCKDB", installed(LIBRARY));
    command
}

fn answer(root: &Root, actions: Value) -> Answer {
    run(command(root), plan(actions).to_string().as_bytes())
}

#[expect(clippy::needless_pass_by_value, reason = "`json!` gives values")]
fn plan(actions: Value) -> Value {
    json!({"plan_id": fresh(), "protocol_validation": true, "action_plan": actions})
}

fn query(id: &str, file: &str, more: Value) -> Value {
    let mut operation = more;
    operation["type"] = json!("sql_execute");
    json!({"action_id": id, "action_type": "SQL_EXECUTE", "target": file, "operation": operation})
}

fn pipeline(id: &str, name: &str) -> Value {
    json!({"action_id": id, "action_type": "PIPELINE_RUN", "target": name, "operation": {"type": "pipeline_run"}})
}

/// Files, the database, a pipeline, a query of all of them, and a file.
fn mixed() -> Value {
    json!([
        {"action_id": "a1", "action_type": "FILE_MODIFY", "target": "a.txt",
            "operation": {"type": "text_replace", "pattern": "1", "replacement": "2"}},
        query("a2", "load.sql", json!({"reads": ["in.csv"], "database": "numbers.duckdb"})),
        pipeline("a3", "etl"),
        query("a4", "export.sql", json!({
            "reads": ["out/copy.csv"], "database": "numbers.duckdb", "read_only": true,
            "expect_results": true, "save_results_to": "result.csv",
        })),
        {"action_id": "a5", "action_type": "FILE_CREATE", "target": "new/b.txt",
            "operation": {"type": "create", "content": "b\n"}},
    ])
}

/// What the plan changed: the file, the rows of the database, the results and the new file.
fn state(root: &Root) -> [String; 4] {
    let read = |name| fs::read_to_string(root.path.join(name)).unwrap_or_default();
    [
        read("a.txt"),
        numbers(root),
        read("result.csv"),
        read("new/b.txt"),
    ]
}

const OLD: [&str; 4] = ["n\n1\n", "1\n", "", ""];
const NEW: [&str; 4] = ["n\n2\n", "1\n7\n", "n\n1\n2\n7\n", "b\n"];

#[test]
fn files_queries_and_a_pipeline_make_one_plan_that_can_be_undone_r_001_20_21() {
    let root = root();
    let done = answer(&root, mixed());
    assert_eq!(done.exit, 0, "{}", done.envelope);
    assert_eq!(state(&root), NEW);
    let report = &done.envelope["output"]["content"]["execution_report"];
    assert_eq!(
        report["pipelines"][0]["files_changed"],
        json!(["out/copy.csv", "out/done.txt"])
    );
    let directory = root.path.join(report["change_log"].as_str().unwrap());
    let mut undo = command(&root);
    undo.args(["rollback", directory.parent().unwrap().as_str()]);
    assert!(undo.status().unwrap().success());
    assert_eq!(state(&root), OLD);
    assert!(root.path.join("out/done.txt").exists());
}

#[test]
fn a_dry_run_performs_queries_and_starts_no_pipeline() {
    let root = root();
    let mut dry = command(&root);
    dry.arg("--dry-run");
    let shown = run(dry, plan(mixed()).to_string().as_bytes());
    assert_eq!(shown.exit, 0, "{}", shown.envelope);
    assert_eq!(state(&root), OLD);
    assert!(!root.path.join("out").exists());
    let told = shown.envelope["audit"].to_string();
    assert!(
        told.contains("and run etl") && told.contains("cannot be undone"),
        "{told}"
    );
}

#[test]
fn a_pipeline_that_fails_leaves_files_and_database_as_before_and_names_what_stays_r_001_122() {
    let root = root();
    let mut actions = mixed();
    actions[2] = pipeline("a3", "fails");
    let failed = answer(&root, actions);
    assert_eq!(
        (failed.exit, failed.fault()),
        (1, &json!("pipeline_failed"))
    );
    assert_eq!(state(&root), OLD);
    let report = &failed.envelope["output"]["content"]["execution_report"];
    assert_eq!(
        (&report["status"], &report["pipelines"][0]["files_changed"]),
        (&json!("ROLLED_BACK"), &json!(["out/left.txt"]))
    );
}

#[test]
fn a_deterministic_query_makes_the_same_bytes_and_a_preview_binds_them() {
    let root = root();
    let actions = |out: &str| {
        json!([query(
            "a1",
            "load.sql",
            json!({
                "reads": ["in.csv"], "save_results_to": out, "deterministic": true,
            })
        )])
    };
    fs::write(
        root.path.join("load.sql"),
        "select n, n * 2 as m from read_csv('in.csv', columns = {'n': 'INTEGER'}) order by n",
    )
    .unwrap();
    for out in ["one.parquet", "two.parquet"] {
        let done = answer(&root, actions(out));
        assert_eq!(done.exit, 0, "{}", done.envelope);
    }
    let read = |name| fs::read(root.path.join(name)).unwrap();
    assert_eq!(read("one.parquet"), read("two.parquet"));
}

/// How many calls of a plan, and of what it starts, change something or start a program.
fn calls(actions: &Value) -> u64 {
    let root = root();
    let counted = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&counted);
    let count = move |_: &Call| {
        counter.fetch_add(1, Ordering::Relaxed);
        Act::Go
    };
    let followed = (&command(&root), Follow::Children);
    let ended = traced_with(followed, &root.path, &plan(actions.clone()), count);
    assert_eq!(ended.output.status.code(), Some(0), "{ended:?}");
    counted.load(Ordering::Relaxed)
}

/// Killed at its calls and at those of its queries and pipelines, the next start finds files and database as before or as
/// asked; what the pipeline wrote is named, and nothing is left running.
#[test]
fn killed_at_any_call_files_and_database_agree_and_what_stays_is_named() {
    if is_refused() {
        return;
    }
    let calls = calls(&mixed());
    let points = if all() { calls } else { 24 };
    let (mut old, mut new, mut named) = (0, 0, 0);
    for point in 0..points {
        let at = 1 + point * calls / points;
        let root = root();
        let kill = nth(|_| true, at, Act::Kill);
        let followed = (&command(&root), Follow::Children);
        let ended = traced_with(followed, &root.path, &plan(mixed()), kill);
        let mut recover = command(&root);
        recover.arg("recover");
        let recovered = recover.output().unwrap();
        let told = format!("killed at {at} of {calls}: {ended:?}, {recovered:?}");
        assert!(recovered.status.success(), "{told}");
        let now = state(&root);
        match (now == OLD, now == NEW) {
            (true, _) => old += 1,
            (_, true) => new += 1,
            _ => panic!("{told}: {now:?}"),
        }
        let wrote = ["copy.csv", "done.txt"]
            .into_iter()
            .filter(|name| root.path.join("out").join(name).exists());
        for name in wrote {
            if now == OLD {
                assert!(
                    String::from_utf8_lossy(&recovered.stdout).contains(name),
                    "{told}"
                );
                assert!(reports(&root).contains(&format!("out/{name}")), "{told}");
                named += 1;
            }
        }
        until("nothing is left running", || {
            root.processes().is_empty().then_some(())
        });
        assert!(
            !root.path.join("agent_outputs/reports/.scratch").exists(),
            "{told}"
        );
    }
    say(&format!(
        "a plan of files, queries and a pipeline, killed at {points} of {calls} calls: {old} old, {new} new, {named} named"
    ));
    assert!(old > 3 && new > 0, "{old} old, {new} new, {named} named");
}

/// A call that fails leaves files and database as before or as asked, or the answer says stuck.
#[test]
fn whatever_call_fails_files_and_database_agree() {
    if is_refused() {
        return;
    }
    let actions = mixed();
    let calls = calls(&actions);
    let points = if all() { calls } else { 24 };
    let (mut old, mut new) = (0, 0);
    for point in 0..points {
        let at = 1 + point * calls / points;
        let errno = [Errno::EIO, Errno::ENOSPC, Errno::EACCES][usize::try_from(point).unwrap() % 3];
        let root = root();
        let failing = nth(Call::is_of_plan, at, Act::Fail(errno));
        let ended = traced(&command(&root), &root.path, &plan(actions.clone()), failing);
        let told = format!("{errno} at {at} of {calls}: {ended:?}");
        let now = state(&root);
        let answer = Answer::of(ended.output);
        let is_whole = now == OLD || now == NEW;
        assert!(is_whole || answer.fault() == "stuck", "{told}: {now:?}");
        assert!(answer.exit != 0 || now == NEW, "{told}: {now:?}");
        let mut recover = command(&root);
        recover.arg("recover");
        assert!(recover.output().unwrap().status.success(), "{told}");
        match state(&root) {
            now if now == OLD => old += 1,
            now if now == NEW => new += 1,
            now => panic!("{told}: {now:?}"),
        }
    }
    assert!(old > 3 && new > 0, "{old} old, {new} new");
}

#[test]
fn a_plan_that_failed_after_a_pipeline_is_not_performed_again_under_the_same_request() {
    for actions in [
        json!([pipeline("a1", "counts"), {"action_id": "a2", "action_type": "FILE_DELETE", "target": "out/none",
            "operation": {"type": "delete"}}]),
        json!([{"action_id": "a1", "action_type": "FILE_CREATE", "target": "x.txt",
            "operation": {"type": "create", "content": ""}}, pipeline("a2", "counts_and_fails")]),
    ] {
        let root = root();
        let task = json!({
            "task_plan": plan(actions), "protocol_validation": true,
            "metadata": {"session_id": "sess-1", "request_id": "req-1", "sequence_number": 1},
        });
        let send = || run(command(&root), task.to_string().as_bytes());
        let first = send();
        assert_eq!(
            (
                first.exit,
                &first.envelope["output"]["content"]["oneact"]["effect"]
            ),
            (1, &json!("unknown")),
            "{}",
            first.envelope
        );
        let second = send();
        assert_eq!(
            second.fault(),
            &json!("outcome_unknown"),
            "{}",
            second.envelope
        );
        assert_eq!(
            fs::read_to_string(root.path.join("out/count.txt")).unwrap(),
            "ran\n"
        );
    }
}

#[test]
fn while_a_plan_changes_a_database_no_other_program_can_open_it_to_write() {
    let root = root();
    fs::write(
        root.path.join("load.sql"),
        "insert into numbers select n from read_csv('in.csv', columns = {'n': 'INTEGER'});
         select count(*) from range(3000) a, range(300000) b where a.range + b.range > 5",
    )
    .unwrap();
    let mut child = command(&root).spawn().unwrap();
    let load = query(
        "a2",
        "load.sql",
        json!({"reads": ["in.csv"], "database": "numbers.duckdb"}),
    );
    feed(&mut child, &plan(json!([load])));
    let library = "libduckdb.so";
    until("the query runs", || {
        let mut pids = root.processes().into_iter();
        pids.find(|pid| {
            fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains(library))
        })
    });
    let script =
        "import duckdb\nduckdb.connect('numbers.duckdb').execute('insert into numbers values (2)')";
    let mut other = root.within(installed("dbt/bin/python").as_str());
    let other = other.args(["-c", script]).output().unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let told = String::from_utf8_lossy(&other.stderr).into_owned();
    // A machine on which the query has ended first shows nothing.
    if !other.status.success() {
        assert!(told.contains("lock"), "{told}");
        assert_eq!(numbers(&root), "1\n7\n");
    }
}

/// All execution reports together.
fn reports(root: &Root) -> String {
    let reports = root.path.join("agent_outputs/reports").read_dir_utf8();
    let reports = reports.into_iter().flatten().flatten();
    let texts = reports
        .filter_map(|each| fs::read_to_string(each.path().join("execution_report.json")).ok());
    texts.collect()
}

#[test]
fn a_database_that_another_program_has_open_is_refused() {
    let root = root();
    let script = "import duckdb, sys, time\nc = duckdb.connect('numbers.duckdb')\nprint('open', flush=True)\nsys.stdin.read()";
    let mut other = root.within(installed("dbt/bin/python").as_str());
    let mut other = other.args(["-c", script]).spawn().unwrap();
    let mut line = [0; 4];
    std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut line).unwrap();
    let failed = answer(
        &root,
        json!([query(
            "a1",
            "load.sql",
            json!({"reads": ["in.csv"], "database": "numbers.duckdb"})
        )]),
    );
    assert_eq!(failed.exit, 75, "{}", failed.envelope);
    assert!(
        failed.envelope["error"]["error_message"]
            .as_str()
            .unwrap()
            .contains("has it open")
    );
    drop(other.stdin.take());
    other.wait().unwrap();
    thread::sleep(Duration::from_millis(10));
    let done = answer(
        &root,
        json!([query(
            "a1",
            "load.sql",
            json!({"reads": ["in.csv"], "database": "numbers.duckdb"})
        )]),
    );
    assert_eq!(done.exit, 0, "{}", done.envelope);
}

/// 001 Appendix A.2.
#[test]
fn the_example_makes_the_parquet_file_that_duckdbs_own_program_makes_r_001_189() {
    let root = root();
    let home = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/parquet");
    fs::create_dir(root.path.join("data")).unwrap();
    for name in ["totals.sql", "data/sales.csv"] {
        fs::copy(home.join(name), root.path.join(name)).unwrap();
    }
    let done = run(command(&root), &fs::read(home.join("plan.json")).unwrap());
    assert_eq!(done.exit, 0, "{}", done.envelope);
    let query = fs::read_to_string(home.join("totals.sql")).unwrap();
    let query = query
        .trim_end()
        .trim_end_matches(';')
        .replace("$least", "10");
    let own = format!("copy ({query}\n) to 'own.parquet' (format parquet)");
    engine(&root, &["-c", &own]);
    let compare = "import pyarrow.parquet as p
ours, own = p.read_table('totals.parquet'), p.read_table('own.parquet')
assert ours.equals(own) and ours.num_rows == 4, (ours, own)";
    let mut python = root.within(installed("duckdb_python/bin/python").as_str());
    let compared = python.args(["-c", compare]).output().unwrap();
    assert!(compared.status.success(), "{compared:?}");
}
